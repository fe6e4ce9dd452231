"""Models in commands: features and labels are matched by name, or by position."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from songs import (
    FEW,
    make_songs,
    predictions,
    write_libsvm,
)

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier, load, save
from spanforest.cli import main


def songs_of_keys(keys):
    """Songs whose labels depend on a feature of text."""
    happy = [int(key == "major") for key in keys]
    tempo = np.random.default_rng(0).normal(size=len(keys)).round(3)
    return pd.DataFrame({"tempo": tempo, "key": keys, "happy": happy, "sad": 0}).assign(
        sad=lambda frame: 1 - frame["happy"]
    )


@pytest.mark.needs_compiled
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_text_is_encoded_by_what_it_says_not_by_its_order(
    ok, warns, fails, folder, suffix
):
    def write(name, frame):
        getattr(frame, f"to_{suffix}")(f"{name}.{suffix}", index=False)
        return f"{name}.{suffix}"

    train = write("train", songs_of_keys(["blues", "major", "minor"] * 10))
    args = ("--labels", "happy,sad", *FEW, "--C", "10")
    printed = ok("train", train, *args, "-o", "m")
    assert printed.splitlines()[2] == (
        "1 feature of text, encoded by its categories (so many): key (3)"
    )
    for keys in (["minor", "major"] * 4, ["major"] * 3, ["minor", "blues", "major"]):
        test = songs_of_keys(keys)
        actual = predictions(ok, "m", write("test", test))
        assert_array_equal(actual, test[["happy", "sad"]])
    strange = write("strange", songs_of_keys(["major", "yodel", "minor"]))
    message = "'key' has values that did not occur in training"
    actual = predictions(partial(warns, message), "m", strange)
    assert actual["happy"].tolist()[::2] == [1, 0]
    numbers = write("numbers", songs_of_keys(["major"] * 3).assign(key=[1, 2, 3]))
    assert "'key' was text in training" in fails("predict", "m", numbers)
    words = write("words", songs_of_keys(["major"] * 3).assign(tempo="slow"))
    assert "'tempo' was numbers in training; found text" in fails("predict", "m", words)


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "options", [(), ("--kernel", "rbf"), ("--kernel", "forest")], ids=str
)
def test_python_and_the_commands_read_text_alike(ok, folder, few_trees, options):
    songs_of_keys(["blues", "major", "minor"] * 10).to_csv("train.csv", index=False)
    ok("train", "train.csv", "--labels", "happy,sad", *options, "-o", "m")
    test = songs_of_keys(["major", "minor", "major", "blues"])  # other codes
    test.to_csv("test.csv", index=False)
    X, expected = test[["tempo", "key"]], test[["happy", "sad"]]
    assert_array_equal(predictions(ok, "m", "test.csv"), expected)
    model = load("m")
    assert_array_equal(model.predict(X), expected)
    assert_array_equal(model.predict(X.astype({"key": "category"})), expected)
    with pytest.raises((ValueError, TypeError)):
        model.predict(X.assign(key=[1, 2, 1, 0]))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["rbf", "forest"])
def test_the_commands_read_text_as_a_model_of_python_does(ok, warns, folder, kernel):
    train = songs_of_keys(["blues", "major", "minor"] * 10)
    X = train[["tempo", "key"]].astype({"key": "category"})
    model = RandomGraphEnsembleClassifier(3, kernel=kernel, C=10, random_state=0)
    save(model.fit(X, train[["happy", "sad"]]), "m")
    test = songs_of_keys(["major", "minor", "major", "blues"])  # other codes
    test.to_csv("test.csv", index=False)
    actual = predictions(ok, "m", "test.csv")
    assert_array_equal(actual, test[["happy", "sad"]])
    songs_of_keys(["major", "yodel", "minor"]).to_csv("strange.csv", index=False)
    message = "'key' has values that did not occur in training"
    actual = predictions(partial(warns, message), "m", "strange.csv")
    assert actual["happy"].tolist()[::2] == [1, 0]


@pytest.mark.needs_compiled
def test_a_category_column_without_any_value_in_training_tells_nothing(ok, folder):
    train = songs_of_keys(["major", "minor"] * 10)
    X = train[["tempo"]].assign(key=pd.Categorical([None] * 20, ["major", "minor"]))
    model = RandomGraphEnsembleClassifier(3, kernel="rbf", random_state=0)
    save(model.fit(X, train[["happy", "sad"]]), "m")
    expected = model.predict(X)
    for key in (1, "major"):
        train.assign(key=key).to_csv("test.csv", index=False)
        assert_array_equal(predictions(ok, "m", "test.csv"), expected)


def test_models_that_commands_cannot_use_are_refused(fails, folder):
    save(MMCRFClassifier(), "unfitted")
    assert "holds a model that was not fitted" in fails("inspect", "unfitted")
    texts, Y = ["a b", "b c", "c a"], [[0, 1], [1, 0], [1, 1]]
    steps = TfidfVectorizer(token_pattern=r"\w+"), MMCRFClassifier(random_state=0)
    save(make_pipeline(*steps).fit(texts, Y), "texts")
    assert "it begins with TfidfVectorizer" in fails("inspect", "texts")


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("scale", ["auto", "standard", "max_abs", "none"])
def test_numbered_features_are_matched_by_position_with_a_warning(
    ok, capsys, folder, zero_based, scale
):
    args = ("--labels", "last:3", *FEW, "--tol", "0.5", "--scale", scale)
    ok("train", "songs.csv", *args, "-o", "m")
    write_libsvm(*make_songs(20, 1), "test.svm", zero_based=zero_based)
    for command in ("predict", "evaluate"):
        expected = ok(command, "m", "test_songs.csv")
        assert main([command, "m", "test.svm"]) == 0
        out, err = capsys.readouterr()
        assert out == expected
        assert err == (
            "spanforest: warning: test.svm does not name its features; they are "
            "matched with those of the model by position.\n"
        )


def test_numbered_features_are_refused_if_their_number_differs(fails, ok, songs):
    Path("few.svm").write_text("1 1:0.5 2:1\n")
    message = fails("predict", "songs.spanforest", "few.svm")
    assert "model has 3 features, and few.svm 2" in message
    assert "such as 3:0" in message
    Path("many.svm").write_text("1 1:0.5 4:1\n")
    message = fails("predict", "songs.spanforest", "many.svm")
    assert "model has 3 features, and many.svm 4" in message
    assert "such as" not in message
    np.savez("few.npz", X=make_songs(5, 0)[0][:, :2])
    message = fails("predict", "songs.spanforest", "few.npz")
    assert "has 3 features; found 2" in message


def test_columns_are_found_by_name_and_others_are_ignored(ok, songs):
    # other order, a column of text, no labels
    assert_array_equal(
        predictions(ok, "songs.spanforest", "new_songs.csv"),
        predictions(ok, "songs.spanforest", "test_songs.csv"),
    )


def test_a_missing_feature_is_named(fails, songs):
    pd.read_csv("new_songs.csv").drop(columns="tempo").to_csv("bad.csv", index=False)
    assert "needs are not there: 'tempo'" in fails(
        "predict", "songs.spanforest", "bad.csv"
    )


def test_a_model_of_sparse_labels_writes_the_labels_of_a_dense_one(ok, folder):
    X, Y = make_songs(40, 0)
    for name, labels in (("sparse", csr_array(Y)), ("dense", Y)):
        save(MMCRFClassifier(tol=0.2, random_state=0).fit(X, labels), name)
    np.savez("new.npz", X=X, Y=Y)
    for command in ("predict", "evaluate"):
        assert ok(command, "sparse", "new.npz") == ok(command, "dense", "new.npz")
