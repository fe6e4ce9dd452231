"""Progress is shown on a terminal, and nowhere else."""

import io
import sys

import pytest

from spanforest._progress import track


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("verbose", [False, True])
def test_nothing_is_written_in_a_pipe(verbose, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(track(range(3), 3, "counting", verbose=verbose)) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""


def test_a_bar_is_shown_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(track(range(3), 3, "counting", verbose=True)) == [0, 1, 2]
    assert "counting" in sys.stderr.getvalue()


def test_items_come_without_rich_too(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert list(track(range(3), 3, "counting", verbose=True)) == [0, 1, 2]
