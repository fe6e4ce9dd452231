"""Messages of the library are translated into options of the commands."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from songs import (
    BARE,
    FEW,
    make_songs,
)

from spanforest import MMCRFClassifier
from spanforest.cli import main
from spanforest.datasets import (
    load_arff,
    load_csv,
    load_dataset,
)

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

from spanforest.cli import _advice


def test_warnings_are_one_line_whose_advice_names_options(capsys, folder):
    args = ["train", "songs.csv", "--labels", "last:3", *FEW, "--max-iter", "1"]
    assert main([*args, "--tol", "1e-9", "-o", "m"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("spanforest: warning: Training did not converge: 3 of 3")
    assert "Raise --max-iter" in line
    assert "max_iter" not in line
    assert Path("m").exists()


def messages_of_the_library(folder):
    """What the functions say that the commands call."""
    (folder / "bare.arff").write_text(BARE)
    np.savez(folder / "emotions.npz", X=np.ones((2, 1)), Y=np.array([[0], [1]]))
    calls = [
        lambda: load_dataset("oak"),
        lambda: load_dataset("cal500", folder),
        lambda: load_dataset("emotions", folder),
        lambda: load_arff(folder / "bare.arff"),
        lambda: load_arff(folder / "bare.arff", ["a"]),
    ]
    for number, (mark, separator) in enumerate([";,", "|,", "\t,", ",\t"]):
        path = folder / f"one{number}.csv"
        path.write_text(f"x{mark}y\n1{mark}0\n2{mark}1\n")
        calls.append(partial(load_csv, path, -1, separator=separator))
    for call in calls:
        with pytest.raises((ValueError, OSError)) as caught:
            call()
        yield str(caught.value)
    with pytest.warns(ConvergenceWarning) as warned:
        MMCRFClassifier(max_iter=1, tol=1e-9).fit(*make_songs(40, 0))
    yield str(warned[0].message)
    yield "Invalid value for '--C': Value error, no number"


def test_advice_of_the_library_is_given_in_options(folder):
    messages = list(messages_of_the_library(folder))
    for phrase in _advice.PHRASES:  # else the library has changed its words
        assert any(re.search(phrase.library, each) for each in messages), phrase
    for message in messages:
        said = _advice.in_options(message)
        assert said != message
        assert not re.search(r"data_home|load_|labels=|drop=|max_iter|Value err", said)


def parameters_to_pass():
    """What the library advises to pass, except where no command leads.

    None tunes, and a file of edges without any is refused before it is a graph.
    """
    package = Path(_advice.__file__).parents[1]
    for path in package.rglob("*.py"):
        inside = path.relative_to(package)
        if inside.parts[0] not in ("cli", "tuning", "graphs.py"):
            yield from re.findall(r"Pass (\w+=)", path.read_text(encoding="utf-8"))


def test_whatever_the_library_advises_to_pass_is_an_option_in_commands(folder):
    messages = list(messages_of_the_library(folder))
    advised = set(parameters_to_pass())
    assert {"separator=", "labels="} <= advised
    for parameter in advised:
        assert any(f"Pass {parameter}" in each for each in messages), parameter
    for message in messages:
        assert not re.search(r"Pass \w+=", _advice.in_options(message))


@pytest.mark.parametrize(
    ("mark", "advice"),
    [
        (";", "'x;y'. Write the file with ','."),
        ("\t", "Use --format tsv, or write the file with ','."),
    ],
)
def test_other_separators_lead_to_what_a_command_can_do(capsys, folder, mark, advice):
    Path("x.csv").write_text(f"x{mark}y\n1{mark}0\n2{mark}1\n")
    assert main(["train", "x.csv", "--labels", "last:1", "-o", "m"]) == 1
    assert advice in capsys.readouterr().err
