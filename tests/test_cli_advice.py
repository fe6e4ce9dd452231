"""Messages of the library are translated into options of the commands."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from songs import (
    BARE,
    FEW,
    make_songs,
)

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)
from spanforest.cli import main
from spanforest.datasets import (
    load_arff,
    load_csv,
    load_dataset,
)

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

import pandas as pd
import skops.io
from model_files import model_file

from spanforest.cli import _advice
from spanforest.model_page import make_model_page
from spanforest.persistence import load


def test_warnings_are_one_line_whose_advice_names_options(capsys, folder):
    args = ["train", "songs.csv", "--labels", "last:3", *FEW, "--max-iter", "1"]
    assert main([*args, "--tol", "1e-9", "-o", "m"]) == 0
    progress, line = capsys.readouterr().err.splitlines()
    assert progress.startswith("spanforest: other members: 2 of 2")
    assert line.startswith("spanforest: warning: Training did not converge: 3 of 3")
    assert "Raise --max-iter" in line
    assert "max_iter" not in line
    assert Path("m").exists()


def tuned_for(measure):
    return RandomGraphEnsembleClassifierCV(kernels="linear", scoring=measure)


def range_of(n_samples):
    return np.arange(float(n_samples))[:, None]


def plain(**params):
    return RandomGraphEnsembleClassifier(2, **params)


def calls_of_training(folder):
    """Return calls of what `train`, `predict` and `report` call, all with errors."""
    X, Y = make_songs(9, 0)
    K = X @ X.T + np.eye(9)
    unknown = np.where(np.arange(9)[:, None] < 3, np.nan, Y)
    folds = [(np.arange(3, 9), np.arange(3))]
    (folder / "model").write_bytes(b"no model")
    many = RandomGraphEnsembleClassifierCV(kernels="linear", cv=folds)
    return [
        lambda: plain(C=1e300).fit(X, Y),
        lambda: plain().fit(X, [[0, np.nan]] * 9),
        lambda: plain(graph=[("sky", "see")]).fit(X, named(Y)),
        lambda: plain().fit(X * 1e200, Y),
        lambda: plain(kernel="poly", degree=5000, scaling=None).fit(X * 1e3, Y),
        lambda: plain(kernel="rbf", gamma=1e300).fit(X.astype(np.float32), Y),
        lambda: plain(kernel="forest").fit(K, Y),
        lambda: plain(kernel=["linear", "rbf", "forest"]).fit(X, Y),
        lambda: plain(kernel=["linear", "rbf"], training="joint").fit(X, Y),
        lambda: plain(kernel="precomputed", normalize_kernel=True).fit(K, Y),
        lambda: many.fit(X, unknown),
        lambda: make_model_page(plain().fit(X, Y), X, Y + 7),
        lambda: load(folder / "model"),
        lambda: load(written(folder / "old", model_file(b"", version=1))),
    ]


def written(path, content):
    path.write_bytes(content)
    return path


def named(Y):
    return pd.DataFrame(Y, columns=["sky", "sea", "sun"])


def messages_of_the_library(folder):
    """What the functions say that the commands call."""
    (folder / "bare.arff").write_text(BARE)
    np.savez(folder / "emotions.npz", X=np.ones((2, 1)), Y=np.array([[0], [1]]))
    sparse_gap = csr_matrix([[np.nan], [1.0]])
    calls = [
        lambda: load_dataset("oak"),
        lambda: load_dataset("cal500", folder),
        lambda: load_dataset("emotions", folder),
        lambda: load_arff(folder / "bare.arff"),
        lambda: load_arff(folder / "bare.arff", ["a"]),
    ]
    (folder / "one.csv").write_text("x;y\n1;0\n2;1\n")
    (folder / "latin.csv").write_bytes(b"x;y\n1;\xf6\n")
    (folder / "id.csv").write_text("i;j;y\na;b;0\nb;c, d;1\nc;e;1\n")
    calls += [
        lambda: load_csv(folder / "one.csv", -1, delimiter=","),
        lambda: load_csv(folder / "latin.csv", -1),
        lambda: load_csv(folder / "one.csv", -1, max_memory=9),
        lambda: load_csv(folder / "id.csv", -1),
        lambda: MMCRFClassifier(kernel="forest").fit(sparse_gap, [0, 1]),
        lambda: RandomGraphEnsembleClassifierCV().fit([[1.0], [2.0]], [0, 1]),
        lambda: tuned_for("microlabel_f1").fit(range_of(9), np.arange(9) % 3),
        lambda: tuned_for("f1_samples").fit(range_of(9), np.arange(9) % 2),
        lambda: load_csv(folder / "one.csv", "y", drop="z"),
        lambda: load_csv(folder / "one.csv", "y", features=["z"]),
        lambda: load_arff(folder / "bare.arff", ["a"], encoding="klingon"),
        *calls_of_training(folder),
    ]
    for call in calls:
        with pytest.raises((ValueError, OSError)) as caught:
            call()
        yield str(caught.value)
    with pytest.warns(ConvergenceWarning) as warned:
        MMCRFClassifier(max_iter=1, tol=1e-9).fit(*make_songs(40, 0))
    yield str(warned[0].message)
    payload = skops.io.dumps(MMCRFClassifier())
    other = model_file(payload, versions={"scikit-learn": "0.1"})
    with pytest.warns(UserWarning, match="saved with scikit-learn") as warned:
        load(written(folder / "other", other))
    yield str(warned[0].message)
    yield "Invalid value for '--C': Value error, no number"


def test_advice_of_the_library_is_given_in_options(folder, monkeypatch):
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)  # messages would name it
    messages = list(messages_of_the_library(folder))
    for phrase in _advice.PHRASES:  # else the library has changed its words
        assert any(re.search(phrase.library, each) for each in messages), phrase
    for message in messages:
        said = _advice.in_options(message)
        assert said != message
        assert not re.search(
            r"data_home|load_|labels=|drop=|max_iter|Value err|max_memory|coding=|cv=|"
            r"scoring|RandomGraph|\bX\b|\bY\b|sklearn|spanforest\.|\w=[\w\"']|\bfit\b|"
            "n_estimators",
            said,
        )


_CHOSEN = {"kernels=", "offsets=", "threshold=", "thresholds="}


def parameters_to_pass():
    """What the library advises to pass, except where no command leads.

    The command that tunes chooses kernels, offsets and thresholds itself, and a file of
    edges without any is refused before it is a graph.
    """
    package = Path(_advice.__file__).parents[1]
    for path in package.rglob("*.py"):
        inside = path.relative_to(package)
        if inside.parts[0] not in ("cli", "graphs"):
            advised = re.findall(r"Pass (\w+=)", path.read_text(encoding="utf-8"))
            yield from {*advised} - _CHOSEN


def test_whatever_the_library_advises_to_pass_is_an_option_in_commands(folder):
    messages = list(messages_of_the_library(folder))
    advised = set(parameters_to_pass())
    assert {"delimiter=", "labels=", "encoding=", "max_memory="} <= advised
    for parameter in advised:
        assert any(f"Pass {parameter}" in each for each in messages), parameter
    for message in messages:
        assert not re.search(r"Pass \w+=", _advice.in_options(message))


def test_columns_to_drop_are_listed_as_the_option_takes_them(folder):
    for names, option in (
        (["a", "b, c"], 'a,"b, c"'),
        (["it's", "a]"], "it's,a]"),
        (['"'], '""""'),
    ):
        text = f"'x' is text: drop={names!r}. Or 'y'."
        said = f"'x' is text: --drop {option}. Or 'y'."
        assert _advice.in_options(text) == said
    assert _advice.in_options("Leave it out: drop=[...].") == "Leave it out: --drop."
