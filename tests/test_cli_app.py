"""The program: help, exit codes, errors, warnings and pipes."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from songs import BARE

from spanforest.cli import main

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
from spanforest.cli import _app


def command_names():
    return [
        info.callback.__name__.replace("_", "-")
        for info in _app.app.registered_commands
    ]


def example_of(text):
    match = re.search(r"\n +Example:\n +(spanforest .*)\n*$", text)
    assert match, f"the help does not end with an example:\n{text}"
    return match[1].strip()


@pytest.mark.parametrize("name", [*command_names(), ""])
def test_every_command_has_help_that_ends_with_an_example(ok, name):
    text = ok(*filter(None, [name]), "--help")
    assert len(text.split("\n\n")[1]) > 20, "a sentence that says what it does"
    assert shlex.split(example_of(text))[:2] == ["spanforest", name or "datasets"]


@pytest.mark.parametrize("name", command_names())
def test_every_option_is_explained(name):
    import inspect
    import typing

    function = next(
        info.callback
        for info in _app.app.registered_commands
        if info.callback.__name__ == name.replace("-", "_")
    )
    hints = typing.get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters:
        (option,) = hints[parameter].__metadata__
        assert option.help, f"{name}: {parameter} has no help"


@pytest.mark.needs_compiled
@pytest.mark.parametrize("name", sorted({*command_names()} - {"reproduce"}))
def test_the_example_in_the_help_runs(ok, songs, few_trees, name):
    files = {"train": "songs.spanforest", "predict": "predicted.csv"}
    files["report"] = "songs.html"
    words = {
        "train": "songs.spanforest: 20 graphs over 3 labels, tuned",
        "evaluate": "multilabel accuracy",
        "inspect": "happy",
        "datasets": "circle10",
        "warm-up": "compiled in",
    }
    if name in files:
        Path(files[name]).unlink(missing_ok=True)
    said = ok(*shlex.split(example_of(ok(name, "--help")))[1:])
    assert words.get(name, "") in said
    if name in files:
        assert Path(files[name]).stat().st_size > 0
    else:
        assert name in words


@pytest.mark.slow
def test_the_example_of_reproduce_runs_and_report_shows_it(ok, folder):
    reproduce = shlex.split(example_of(ok("reproduce", "--help")))[1:]
    ok(*reproduce)
    made = Path(reproduce[reproduce.index("--out") + 1])
    assert {"table2.md", "figure1.png"} <= {path.name for path in made.iterdir()}

    ok("report", made)
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html")


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from spanforest.cli import main; main(['train', '--help']);"
        "print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "scipy", "sklearn", "pandas", "numba", "matplotlib", "joblib"}
    assert not heavy & set(run.stdout.split())


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("train nowhere.csv --labels a -o m", "there is no file nowhere.csv"),
        ("train songs.csv --labels joy -o m", "'joy' not found"),
        ("train songs.csv --labels last:3 -o no/m", "there is no folder no"),
        ("train songs.csv --labels last:3 -o .", "is a folder"),
        ("train . --labels last:3 -o m", "is a folder"),
        ("train songs.csv --labels last:9 -o m", "6 columns, .* 1 and 6; got 9"),
        (
            "train songs.csv --labels last:3 --drop tempo,loudness,length -o m",
            "no column of songs.csv is left for the features",
        ),
        ("train bare.arff -o m", "which attributes are labels.* Use --labels with a"),
        ("train bare.arff --labels last:9 -o m", "2 attributes, .* 1 and 2; got 9"),
        ("train bare.arff --labels a -o m", "Leave it out: --drop title"),
        ("train titles.csv --labels happy -o m", "'title' has 3 .* --drop title"),
        ("train latin.csv --labels happy -o m", "line 2: .* Use --encoding 'latin-1'"),
        ("train ragged.csv --labels happy -o m", "line 3: expected 2 values"),
        ("train songs.csv --labels tempo -o m", "Is it a feature"),
        ("train empty.csv --labels a -o m", "empty.csv: expected"),
        ("train bad.arff --labels a -o m", "bad.arff, line 1"),
        ("predict nowhere.spanforest songs.csv", "nowhere.spanforest does not exist"),
        ("predict songs.csv songs.csv", "not a spanforest model file"),
        ("predict songs.spanforest bad.arff", "bad.arff, line 1"),
        ("evaluate songs.spanforest new_songs.csv", "'happy', 'sad', 'calm' not found"),
        ("datasets oak", "name must be one of"),
        ("train oak -o m", "no data set of that name"),
        ("train medical -o m", "Put medical.npz, .* --data-home DIR, or set .*FOREST_"),
        ("datasets medical", "--data-home DIR, or set the env"),
        ("predict songs.spanforest not.npz", "not.npz: expected a NumPy archive"),
        ("train not.npz -o m", "not.npz: expected a NumPy archive"),
        ("predict songs.spanforest not.parquet", "not.parquet: expected a Parquet"),
        ("predict songs.spanforest not.svm", "not.svm, line 1: expected lines like"),
    ],
)
def test_failures_are_one_line_and_exit_code_1(
    fails, songs, args, message, monkeypatch
):
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)
    Path("empty.csv").touch()
    Path("bad.arff").write_text("nothing\n")
    Path("bare.arff").write_text(BARE)
    Path("titles.csv").write_text("title,tempo,happy\na,1,0\nb,2,1\nc,4,0\n")
    Path("latin.csv").write_bytes(b"tempo,happy\n1,sch\xf6n\n")
    Path("ragged.csv").write_bytes(b"tempo,happy\n1,0\n1\n")
    for suffix in ("npz", "parquet", "svm"):
        Path(f"not.{suffix}").write_text("not what it seems\n")
    assert re.search(message.replace("(", r"\("), fails(*args.split()))
    assert not Path("m").exists()


@pytest.fixture
def broken(monkeypatch):
    """Make the command `inspect` fail with a given error."""

    def break_with(error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr("spanforest.cli._model.TrainedModel.load", fail)

    return break_with


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("oak"), "unexpected error: KeyError: 'oak' (--debug shows where)"),
        (MemoryError("90 GiB"), "not enough memory: 90 GiB (--debug"),
        (MemoryError(), "not enough memory (--debug shows where)"),
        (ValueError(), "unexpected error: ValueError: (--debug shows where)"),
        (ValueError("two\nlines"), "spanforest: two lines"),
        (OSError(28, "No space left", "m"), "spanforest: m: No space left"),
        (OSError(28, "No space left"), "spanforest: No space left"),
    ],
)
def test_any_error_is_one_line(fails, songs, broken, error, message):
    broken(error)
    assert message in fails("inspect", "songs.spanforest")


@pytest.mark.parametrize("args", ["--debug inspect m", "inspect m --debug"])
def test_debug_shows_the_traceback(capsys, broken, args):
    broken(KeyError("oak"))
    assert main(args.split()) == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert err.endswith("spanforest: unexpected error: KeyError: 'oak'\n")


def test_debug_is_an_argument_after_two_dashes(fails):
    assert "no data set" in fails("train", "-o", "m", "--", "--debug")


def test_ctrl_c_is_quiet_and_exit_code_130(capsys, broken):
    broken(KeyboardInterrupt())
    assert main(["inspect", "m"]) == 130
    assert capsys.readouterr().err == ""


def test_without_typer_the_extra_is_named(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "spanforest.cli._app")
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 1
    assert capsys.readouterr().err == (
        'spanforest: the command line needs typer: pip install "spanforest[cli]"\n'
    )


SPAM = r"""
import sys
from spanforest.cli import _app, main

@_app.app.command()
def spam(n: int):
    for i in range(n):
        sys.stdout.write(f'{i}\n')  # typer.echo would flush

sys.exit(main())
"""


@pytest.mark.parametrize("n_lines", [1, 100_000])  # less and more than a pipe holds
def test_a_reader_that_stops_early_causes_no_noise(tmp_path, n_lines):
    (tmp_path / "spam.py").write_text(SPAM)
    command = f"{shlex.quote(sys.executable)} spam.py spam {n_lines} | true"
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": ""},  # as on most machines
        capture_output=True,
        text=True,
    )
    assert (run.stdout, run.stderr) == ("", "")


def test_shells_can_complete_commands(spanforest):
    run = spanforest(_SPANFOREST_COMPLETE="source_bash")
    assert "complete -o default -F" in run.stdout
    words = {"COMP_WORDS": "spanforest ev", "COMP_CWORD": "1"}
    run = spanforest(_SPANFOREST_COMPLETE="complete_bash", **words)
    assert run.stdout.split() == ["evaluate"]
