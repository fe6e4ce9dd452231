"""Tables of the commands, in a pipe and on a terminal."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

from spanforest.cli import _output, main


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


EVIL = "a\x1b[2Jb\x9b31m\nc\u202ed\x7f"


def test_nothing_that_a_terminal_obeys_is_printed(capsys, monkeypatch):
    def print_all():
        _output.echo(EVIL)
        _output.say(EVIL)
        _output.print_table(("name", "value"), [(EVIL, "1")], EVIL)
        _output.print_json({"name": EVIL})

    print_all()
    out, err = capsys.readouterr()
    assert "a\\x1b[2Jb\\x9b31m\\nc\\u202ed\\x7f" in out
    assert json.loads(out[out.index("{") :]) == {"name": EVIL}
    monkeypatch.setattr(sys, "stdout", Terminal())
    print_all()
    drawn = re.sub("\x1b\\[[0-9;]*m", "", sys.stdout.getvalue())  # rich's own
    for text in (out, err, drawn):
        assert "a" in text
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_names_of_labels_columns_and_files_cannot_move_the_cursor(capsys, folder):
    names = [f"{name}\x1b[2J\x9b" for name in ("tempo", "happy", "calm")]
    rows = "".join(f"{i},{i % 2},{i // 2 % 2}\n" for i in range(20))
    Path("b\x1b[1m.csv").write_text(",".join(names) + "\n" + rows)
    model = ("-o", "m\x1b[1m")
    commands = [
        ["train", "b\x1b[1m.csv", "--labels", "last:2", "--C", "1", *model],
        ["evaluate", model[1], "b\x1b[1m.csv", "--per-label"],
        ["inspect", model[1]],
        ["inspect", model[1], "--json"],
        ["predict", model[1], "nowhere\x1b[1m.csv"],
        ["predict", model[1], "songs.csv"],
        ["train", "b\x1b[1m.csv", "--labels", "\x1b[1m", "--debug", *model],
    ]
    for args in commands:
        main(args)
    text = "".join(capsys.readouterr())
    assert "happy\\x1b[2J" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


def test_predictions_are_escaped_on_a_terminal_only(monkeypatch, folder, capsys):
    rows = "".join(f"{i},{i % 2},{i // 2 % 2}\n" for i in range(20))
    Path("a.csv").write_text("tempo,happy\x1b[2J,calm\n" + rows)
    assert main(["train", "a.csv", "--labels", "last:2", "--C", "1", "-o", "m"]) == 0
    capsys.readouterr()
    assert main(["predict", "m", "a.csv"]) == 0
    assert capsys.readouterr().out.startswith("happy\x1b[2J,calm\n")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["predict", "m", "a.csv"]) == 0
    lines = sys.stdout.getvalue().splitlines()
    assert lines[0] == "happy\\x1b[2J,calm"
    assert len(lines) == 21
