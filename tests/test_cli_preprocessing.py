"""Scaling and encoding of features before training."""

import json
from pathlib import Path

import numpy as np
import pytest
from arff_writer import write_arff
from numpy.testing import assert_allclose, assert_array_equal
from songs import (
    FEATURES,
    FEW,
    frame_of,
    make_songs,
    predictions,
    write_libsvm,
)

from spanforest.cli import main
from spanforest.datasets import Attribute, Relation

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

from spanforest.persistence import load


@pytest.mark.parametrize("scale", ["auto", "standard", "max_abs", "none"])
def test_scaling_is_part_of_the_model(ok, folder, scale):
    frame = frame_of(*make_songs(40, 0))
    frame[FEATURES] *= [1, 2, 3]
    frame.to_csv("a.csv", index=False)
    args = ("--labels", "last:3", *FEW, "--tol", "0.5")
    ok("train", "a.csv", *args, "--scale", scale, "-o", "m")
    assert load("m")[-1].scaling == (None if scale == "none" else scale)
    frame.head(1).to_csv("one.csv", index=False)
    one = predictions(ok, "m", "one.csv", "--scores")  # scaled as in training
    assert_allclose(one, predictions(ok, "m", "a.csv", "--scores").head(1))


NOMINAL = """@relation 'songs: -C 2'
@attribute happy {{no, yes}}
@attribute mood {{low, middle, high}}
@attribute title string
@attribute genre {{{genres}}}
@attribute tempo numeric
@data
{rows}
"""


def nominal_arff(genres):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(30):
        genre, tempo = rng.choice(["rock", "folk", "jazz"]), rng.normal()
        happy = "yes" if genre == "folk" else "no"
        mood = "low" if genre == "jazz" else "middle" if tempo < 0 else "high"
        rows.append(f"{happy},{mood},t{i},{genre},{tempo:.3f}")
    return NOMINAL.format(genres=genres, rows="\n".join(rows))


@pytest.mark.needs_compiled
def test_nominal_features_get_a_column_per_value(ok, folder):
    """Folk lies between the others: with codes 0, 1, 2 no linear model finds it."""
    Path("a.arff").write_text(nominal_arff("rock, folk, jazz"))
    Path("b.arff").write_text(nominal_arff("jazz, rock, folk"))
    for name in "ab":
        ok("train", f"{name}.arff", "--drop", "title", *FEW, "--C", "10", "-o", name)
    actual = json.loads(ok("evaluate", "a", "a.arff", "--json"))
    assert actual["multilabel_accuracy"] == 1
    assert actual["n_labels_of_f1"] == 1  # mood has three values
    assert_array_equal(predictions(ok, "a", "a.arff"), predictions(ok, "b", "b.arff"))


@pytest.mark.needs_compiled
def test_by_default_features_of_any_size_train_well(ok, folder):
    """Without scaling, `length` would drown the others and training not converge."""
    frame = frame_of(*make_songs(40, 0))
    frame["length"] = 1000 * frame["length"] + 200_000
    frame.to_csv("a.csv", index=False)
    ok("train", "a.csv", "--labels", "last:3", *FEW, "--C", "10", "-o", "m")
    actual = json.loads(ok("evaluate", "m", "a.csv", "--json"))
    assert actual["microlabel_accuracy"] > 0.85


@pytest.mark.parametrize(
    ("options", "kernel"),
    [((), "rbf"), (("--kernel", "linear"), "linear"), (("--scale", "none"), "rbf")],
)
def test_the_classifier_is_the_only_step_that_scales(ok, folder, options, kernel):
    frame_of(*make_songs(40, 0)).to_csv("a.csv", index=False)
    args = ("--labels", "last:3", *FEW, "--tol", "0.5", *options)
    ok("train", "a.csv", *args, "-o", "m")
    actual = json.loads(ok("inspect", "m", "--json"))
    assert actual["steps"] == ["RandomGraphEnsembleClassifier"]
    assert actual["kernel"] == kernel


def test_a_sparse_file_of_few_values_gets_a_linear_kernel(ok, folder):
    X, Y = make_songs(40, 0)
    X[X < 0.8] = 0
    write_libsvm(X, Y, "a.svm")
    ok("train", "a.svm", *FEW, "--tol", "0.5", "-o", "m")
    assert load("m")[-1].kernel_ == "linear"  # most entries are zero
    ok("evaluate", "m", "a.svm")
    ok("inspect", "m")


def write_titles(codes, n_declared):
    """Write songs whose title is a nominal attribute, with a code for each song."""
    X, _ = make_songs(len(codes), 0)
    attributes = (
        Attribute("title", "nominal", tuple(f"song {i}" for i in range(n_declared))),
        Attribute("tempo"),
        Attribute("happy", "nominal", ("0", "1")),
    )
    data = np.column_stack([codes, X[:, 0], X[:, 0] > 0])
    write_arff(Relation("songs: -C -1", attributes, data), "a.arff")


def messages_of_training(capsys, options):
    """Train on the file of `write_titles`; return what stdout and stderr show."""
    args = ("train", "a.arff", "--trees", "2", *options, "--seed", "0", "-o", "m")
    if not options:
        args += ("--time-limit", "0.1")
    assert main(list(args)) == 0
    return capsys.readouterr()


@pytest.mark.needs_compiled
@pytest.mark.parametrize("options", [("--C", "1"), ("--kernel", "forest"), ()])
def test_a_nominal_attribute_that_names_the_rows_is_pointed_out_once(
    capsys, folder, options
):
    write_titles(np.arange(40), n_declared=40)
    err = messages_of_training(capsys, options).err
    assert err.count("'title' has 40 categories in 40 examples, such as 'song 0'") == 1


@pytest.mark.needs_compiled
@pytest.mark.parametrize("options", [("--C", "1"), ("--kernel", "forest"), ()])
def test_values_that_are_declared_and_do_not_occur_do_not_count(
    capsys, folder, options
):
    write_titles(5 + np.arange(60) % 3, n_declared=60)
    out, err = messages_of_training(capsys, options)
    assert "'title' has" not in err
    assert "encoded by its categories (so many): title (3)\n" in out
    write_titles(5 + np.arange(40), n_declared=60)
    err = messages_of_training(capsys, options).err
    assert err.count("'title' has 40 categories in 40 examples, such as 'song 5'") == 1
