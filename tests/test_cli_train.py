"""The command train: its options, labels, graphs, and the model file."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from arff_writer import write_arff
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from songs import (
    FEATURES,
    FEW,
    LABELS,
    RAW,
    frame_of,
    make_songs,
    predictions,
    reference,
    write_data,
)

from spanforest import RandomGraphEnsembleClassifier
from spanforest.cli import main
from spanforest.datasets import (
    Attribute,
    Relation,
)
from spanforest.kernels import SumKernel

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from spanforest.persistence import load  # noqa: E402


@pytest.mark.needs_compiled
def test_train_and_predict_do_what_the_library_does(ok, folder):
    args = ("--labels", "last:3", *FEW, *RAW)
    line = ok("train", "songs.csv", *args, "-o", "m.spanforest")
    assert re.match(r"m.spanforest: 3 graphs over 3 labels, trained on 40 exa", line)
    X, _ = make_songs(20, 1)
    actual = predictions(ok, "m.spanforest", "test_songs.csv")
    assert actual.columns.tolist() == LABELS
    assert_array_equal(actual, reference().predict(X))
    scores = predictions(ok, "m.spanforest", "test_songs.csv", "--scores")
    assert_allclose(scores, reference().decision_function(X))


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    ("options", "params"),
    [
        (("--kernel", "rbf", "--gamma", "0.5"), {"kernel": "rbf", "gamma": 0.5}),
        (("--kernel", "poly", "--degree", "2"), {"kernel": "poly", "degree": 2}),
        (("--kernel", "rbf, linear"), {"kernel": ["rbf", "linear"]}),
        (
            ("--kernel", "poly,rbf+linear"),
            {"kernel": ["poly", SumKernel(["rbf", "linear"])]},
        ),
        (("--normalize",), {"normalize_kernel": True}),
        (("--C", "0.1", "--loss", "hamming"), {"C": 0.1, "loss": "hamming"}),
        (("--graph", "recursive_tree"), {"graph": "recursive_tree"}),
        (("--class-weight", "balanced"), {"class_weight": "balanced"}),
        (("--tol", "0.2", "--max-iter", "50"), {"tol": 0.2, "max_iter": 50}),
        (("--aggregation", "amm", "--jobs", "2"), {"aggregation": "amm"}),
    ],
)
def test_every_option_of_train_reaches_the_estimator(ok, folder, options, params):
    ok("train", "songs.csv", "--labels", "last:3", *FEW, *RAW, *options, "-o", "m")
    X, _ = make_songs(20, 1)
    scores = predictions(ok, "m", "test_songs.csv", "--scores")
    assert_allclose(scores, reference(**params).decision_function(X), atol=1e-12)


@pytest.mark.needs_compiled
def test_train_says_which_labels_were_taken_and_how_often_they_are_on(ok, folder):
    frame = frame_of(*make_songs(40, 0))
    args = ("--labels", "last:3", *FEW, *RAW, "-o", "m")
    printed = ok("train", "songs.csv", *args).splitlines()[1]
    shares = frame[LABELS].mean()
    named = ", ".join(f"{name} ({100 * shares[name]:.2f} %)" for name in LABELS)
    average = frame[LABELS].sum(axis=1).mean()
    expected = f"3 labels, {average:.2f} of them on in an average example: {named}"
    assert printed == expected
    for j in range(3):
        frame.insert(0, f"more{j}", frame["calm"])
    frame.loc[:9, "calm"] = None
    frame.to_csv("more.csv", index=False)
    args = ("--labels", "calm,more0,more1,more2,sad,happy", *FEW, *RAW, "-o", "m")
    printed = ok("train", "more.csv", *args).splitlines()[1]
    assert f": calm ({100 * frame['calm'].mean():.2f} %), more0 (" in printed
    assert re.search(r", sad \([0-9.]+ %\), \.\.\.$", printed)


@pytest.mark.needs_compiled
def test_train_says_how_many_values_a_label_has_that_is_not_on_or_off(ok, folder):
    frame = frame_of(*make_songs(40, 0)).drop(columns="calm")
    frame["mood"] = ["low", "middle", "high", "low"] * 10
    frame.to_csv("moods.csv", index=False)
    args = ("--labels", "mood,sad", *FEW, *RAW, "-o", "m")
    printed = ok("train", "moods.csv", *args).splitlines()[1]
    share = 100 * frame["sad"].mean()
    assert printed == f"2 labels: mood (3 values), sad ({share:.2f} %)"


def songs_with_gaps():
    """Songs of which some labels are missing, as integers and None."""
    X, Y = make_songs(40, 0)
    hidden = np.random.default_rng(0).random(Y.shape) < 0.2
    return X, np.where(hidden, None, Y.astype(object))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arff", "a.npz"])
def test_a_file_with_missing_labels_trains_as_the_library_does(ok, folder, name):
    X, Y = songs_with_gaps()
    write_data(name, X, Y)
    which = () if name.endswith("npz") else ("--labels", "last:3")
    printed = ok("train", name, *which, *FEW, *RAW, "-o", "m.spanforest")
    n_missing = sum(value is None for value in Y.ravel())
    assert printed.splitlines()[2:] == [
        f"{n_missing} of 120 labels are missing in {name}; training ignored them."
    ]
    actual = predictions(ok, "m.spanforest", "test_songs.csv")
    assert all(dtype.kind == "i" for dtype in actual.dtypes)
    expected = reference(Y=Y).predict(make_songs(20, 1)[0])
    assert_array_equal(actual, expected)
    facts = json.loads(ok("inspect", "m.spanforest", "--json"))
    assert [label["values"] for label in facts["labels"]] == [[0, 1]] * 3


@pytest.mark.needs_compiled
def test_the_seed_alone_decides_the_graphs(ok, folder):
    args = ("songs.csv", "--labels", "last:3", *FEW, "--trees", "9", "--tol", "0.5")
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        ok("train", *args, "--seed", seed, "-o", name)
    graphs = [load(name)[-1].graphs_ for name in "abc"]
    assert graphs[0] == graphs[1] != graphs[2]


def test_a_model_is_a_pipeline_that_python_can_use(ok, folder):
    args = ("--scale", "standard", "--labels", "last:3", *FEW)
    ok("train", "songs.csv", *args, "-o", "m.spanforest")
    model = load("m.spanforest")
    X, Y = make_songs(40, 0)
    expected = make_pipeline(
        StandardScaler(), RandomGraphEnsembleClassifier(3, random_state=0)
    ).fit(X, Y)
    assert model[-1].label_names_.tolist() == LABELS
    frame = pd.DataFrame(X, columns=FEATURES)
    assert_array_equal(model.predict(frame), expected.predict(X))


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        ("last:3", LABELS),
        ("calm, happy,sad", ["calm", "happy", "sad"]),
        ('"calm",happy', ["calm", "happy"]),
        ("first:2", ["a, quoted", "happy"]),
    ],
)
def test_labels_are_named_or_counted(ok, folder, labels, order):
    frame = frame_of(*make_songs(40, 0))
    if "first" in labels:
        frame = frame[[*LABELS[:2], *FEATURES]].rename(columns={"happy": "a, quoted"})
        frame = frame.rename(columns={"sad": "happy"})
    frame.insert(0, "id", "x")
    frame.to_csv("a.csv", index=False)
    drop = "id" if len(order) != 2 or "first" in labels else "id,sad"
    ok("train", "a.csv", "--labels", labels, "--drop", drop, *FEW, "-o", "m")
    assert predictions(ok, "m", "a.csv").columns.tolist() == order


def test_counting_labels_skips_what_is_dropped_in_arff_too(ok, folder):
    X, Y = make_songs(40, 0)
    names = ["id", *LABELS, *FEATURES]
    attributes = [Attribute(name, "numeric", ()) for name in names]
    data = np.column_stack([np.arange(40), Y, X])
    write_arff(Relation("songs", tuple(attributes), data), "a.arff")
    ok("train", "a.arff", "--labels", "first:3", "--drop", "id", *FEW, "-o", "m")
    assert predictions(ok, "m", "a.arff").columns.tolist() == LABELS


@pytest.mark.parametrize("kernel", ["forest", "forest,forest", "forest+forest"])
def test_the_forest_kernel_takes_missing_features_and_no_scaling(ok, folder, kernel):
    frame = frame_of(*make_songs(40, 0))
    frame.loc[[2, 5], "tempo"] = np.nan
    frame.to_csv("gaps.csv", index=False)
    args = ("--labels", "last:3", "--trees", "2", "--kernel", kernel)
    ok("train", "gaps.csv", *args, "-o", "m.spanforest")
    assert [name for name, _ in load("m.spanforest").steps] == ["classifier"]
    assert len(predictions(ok, "m.spanforest", "gaps.csv")) == len(frame)
    facts = json.loads(ok("inspect", "m.spanforest", "--json"))
    assert facts["kernel"] == kernel.replace("+", " + ").replace(",", ", ")


def test_missing_features_are_refused_or_filled(ok, fails, folder):
    frame = frame_of(*make_songs(40, 0))
    frame.loc[3, "tempo"] = frame.loc[5, "tempo"] = np.nan
    frame.to_csv("gaps.csv", index=False)
    args = ("train", "gaps.csv", "--labels", "last:3", *FEW, "-o", "m")
    message = fails(*args)
    assert "2 values of features are missing, the first: 'tempo' of row 4" in message
    assert "--missing mean" in message
    ok(*args, "--missing", "mean")
    frame["tempo"] = frame["tempo"].fillna(frame["tempo"].mean())
    frame.to_csv("filled.csv", index=False)
    gaps = predictions(ok, "m", "gaps.csv", "--scores")
    assert_allclose(gaps, predictions(ok, "m", "filled.csv", "--scores"))


@pytest.mark.needs_compiled
def test_labels_may_be_words(ok, fails, folder):
    X, Y = make_songs(40, 0)
    frame = frame_of(X, Y)
    frame["happy"] = np.where(Y[:, 0], "yes", "no")
    frame["sad"] = np.select([X[:, 0] < -0.5, X[:, 0] > 0.5], ["blue", "bright"], "0")
    frame.to_csv("words.csv", index=False)
    ok("train", "words.csv", "--labels", "last:3", *FEW, "--C", "10", "-o", "m")
    actual = predictions(ok, "m", "words.csv")
    assert set(actual["sad"]) == {"blue", "bright", "0"}
    assert set(actual["happy"]) == {"yes", "no"}
    ok("predict", "m", "words.csv", "-o", "words.npz")
    with np.load("words.npz") as archive:  # text, not pickles
        assert archive["Y"][:, 1].tolist() == actual["sad"].tolist()
    facts = json.loads(ok("evaluate", "m", "words.csv", "--per-label", "--json"))
    assert facts["n_labels_of_f1"] == 2
    right = (actual.astype(str) == frame[LABELS].astype(str)).to_numpy()
    assert facts["microlabel_accuracy"] == pytest.approx(right.mean())
    assert [label["accuracy"] for label in facts["labels"]] == right.mean(
        axis=0
    ).tolist()
    only = frame[(frame["sad"] == "0")]  # read as numbers
    only.to_csv("only.csv", index=False)
    assert json.loads(ok("evaluate", "m", "only.csv", "--json"))["n_samples"] == len(
        only
    )
    assert "has 3. Leave out --scores" in fails("predict", "m", "words.csv", "--scores")
    frame["calm"] = "x"
    frame.to_csv("wrong.csv", index=False)
    assert "were numbers in training; found 'x'" in fails("evaluate", "m", "wrong.csv")


def test_a_known_graph_is_read_from_a_file(ok, fails, folder):
    Path("edges.csv").write_text("happy, sad\nsad,calm\n\n")
    args = ("--labels", "last:3", "--C", "1", "--graph", "edges.csv", "-o", "m")
    line = ok("train", "songs.csv", *args)
    (graph,) = load("m")[-1].graphs_  # one member is enough for one graph
    assert line.startswith("m: 1 graph over 3 labels, trained on 40 examples")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    args = ("train", "songs.csv", "--labels", "last:3", "-o", "m", "--graph")
    Path("edges.csv").write_text("happy,sad,calm\n")
    assert "found happy, sad, calm" in fails(*args, "edges.csv")
    assert "random_tree" in fails(*args, "oak", code=2)


@pytest.mark.skipif(os.name != "posix", reason="pipes are files on POSIX only")
def test_a_model_goes_to_an_ordinary_file_only(fails, folder):
    os.mkfifo("pipe")
    args = ("train", "songs.csv", "--labels", "last:3", *FEW)
    assert "not an ordinary file" in fails(*args, "-o", "pipe", code=2)


@pytest.mark.parametrize("where", ["read", "fit", "save"])
def test_train_says_that_a_stop_leaves_no_file(capsys, folder, monkeypatch, where):
    def stop(*_, **__):
        raise KeyboardInterrupt

    if where == "read":
        monkeypatch.setattr("pandas.read_csv", stop)
    elif where == "fit":
        monkeypatch.setattr(RandomGraphEnsembleClassifier, "fit", stop)
    else:
        monkeypatch.setattr("os.replace", stop)
    before = sorted(os.listdir())
    args = ["train", "songs.csv", "--labels", "last:3", *FEW, "-o", "m"]
    assert main(args) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("spanforest: stopped; nothing was written.\n")
    assert sorted(os.listdir()) == before


def test_dates_are_refused_with_the_option_that_leaves_them_out(fails, folder):
    songs = frame_of(*make_songs(40, 0))
    songs.insert(0, "day", ["2024-05-01", "2024-05-02"] * 20)
    songs.to_csv("dated.csv", index=False)
    args = ("dated.csv", "--labels", "last:3", *FEW, "-o", "m.spanforest")
    line = fails("train", *args)
    assert "'day' holds dates" in line
    assert line.endswith("--drop day.\n")
    assert main(["train", *args, "--drop", "day"]) == 0


def test_a_terminal_shows_the_choice_once(folder, few_trees, capsys, monkeypatch):
    args = ["train", "songs.csv", "--labels", "last:3", "--trees", "2"]
    args += ["--time-limit", "1", "-o", "m.spanforest"]
    assert main(args) == 0
    out, err = capsys.readouterr()
    assert (out + err).count("chosen: ") == 2  # one of them goes through a pipe
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(args) == 0
    out, err = capsys.readouterr()
    assert (out + err).count("chosen: ") == 1
