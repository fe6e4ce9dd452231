"""Progress is a bar on a terminal, and plain lines elsewhere."""

import io
import sys

import pytest

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
)
from spanforest._progress import track, watch_gap


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_silence_is_the_default(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(track(range(3), 3, "counting", verbose=False)) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""


def test_pipes_and_logs_get_plain_lines_now_and_then(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(track(range(3), 3, "counting", verbose=True)) == [0, 1, 2]
    assert sys.stderr.getvalue() == "spanforest: counting: 3 of 3, 0 s\n"


def test_brief_work_gets_lines_only_if_it_takes_long(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    options = {"verbose": True, "is_brief": True}
    assert list(track(range(3), 3, "counting", **options)) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("spanforest._progress.time.monotonic", lambda: next(clock))
    list(track(range(6), 6, "counting", **options))
    assert "counting: 2 of 6" in sys.stderr.getvalue()


def test_long_work_gets_a_line_every_few_seconds(monkeypatch):
    clock = iter(range(0, 1000, 3))  # three seconds later at every look
    monkeypatch.setattr("spanforest._progress.time.monotonic", lambda: next(clock))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(track(range(6), 6, "counting", verbose=True)) == list(range(6))
    lines = sys.stderr.getvalue().splitlines()
    assert len(lines) > 2
    assert lines[-1].startswith("spanforest: counting: 6 of 6")


def test_a_bar_is_shown_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(track(range(3), 3, "counting", verbose=True)) == [0, 1, 2]
    assert "counting" in sys.stderr.getvalue()


def test_without_rich_a_terminal_gets_lines_and_is_told_what_is_missing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("spanforest._progress.find_spec", lambda name: None)
    assert list(track(range(3), 3, "counting", verbose=True)) == [0, 1, 2]
    assert "install rich" in sys.stderr.getvalue()
    assert "counting: 3 of 3" in sys.stderr.getvalue()


def test_the_gap_is_written_in_a_pipe_when_the_goal_is_reached(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watch_gap(0.01, verbose=True) as watch:
        watch(3, 0.5)
        watch(4, 0.005)
    (line,) = sys.stderr.getvalue().splitlines()
    assert line.startswith("spanforest: pass 4: duality gap 0.50%")


def test_a_gap_is_shown_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with watch_gap(0.01, verbose=True) as watch:
        watch(3, 0.5)
    assert "gap 50.00% of the dual objective" in sys.stderr.getvalue()


@pytest.mark.parametrize(
    "estimator",
    [
        MMCRFClassifier(),
        RandomGraphEnsembleClassifier(2),
        RandomGraphEnsembleClassifier(2, training="joint"),
    ],
)
def test_verbose_estimators_show_progress_and_learn_the_same(estimator, monkeypatch):
    pytest.importorskip("rich")
    X, Y = [[0.0], [1.0], [2.0]], [[0, 1], [1, 1], [1, 0]]
    quiet = estimator.set_params(random_state=0, verbose=0).fit(X, Y)
    expected = quiet.decision_function(X)
    monkeypatch.setattr(sys, "stderr", Terminal())
    loud = estimator.set_params(verbose=1).fit(X, Y)
    assert sys.stderr.getvalue() != ""
    assert (loud.decision_function(X) == expected).all()
