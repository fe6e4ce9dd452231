"""Tables of the commands, in a pipe and on a terminal."""

import io
import sys

import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

from spanforest.cli import _output


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_tables_are_plain_in_a_pipe_and_drawn_on_a_terminal(capsys, monkeypatch):
    rows = [("[bold]a", "1.5"), ("b" * 200, "-10.25 %")]
    _output.print_table(("name", "value"), rows, "title")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "title"
    assert [line[-8:] for line in lines[1:]] == ["   value", "     1.5", "-10.25 %"]
    assert lines[1].startswith("name ")
    assert lines[2].startswith("[bold]a ")
    monkeypatch.setattr(sys, "stdout", Terminal())
    _output.print_table(("name", "value"), rows, "title")
    assert "[bold]a" in sys.stdout.getvalue()
    assert "─" in sys.stdout.getvalue()
