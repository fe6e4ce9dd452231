"""The command line: every command on small files, its errors, and how it is found."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.arff import Attribute, Relation, write_arff
from spanforest.cli import main
from spanforest.datasets import load_arff, load_csv, load_dataset, make_circle
from spanforest.diagnostics import edge_couplings
from spanforest.ensemble import AGGREGATIONS
from spanforest.graphs import FROM_LABELS, GENERATORS
from spanforest.kernels import KERNEL_NAMES
from spanforest.losses import LOSSES
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)
from spanforest.paper.baselines import svm_per_label

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from spanforest.cli import _app, _options, _output, _train_options, _words  # noqa: E402
from spanforest.persistence import load, save  # noqa: E402

DATA = os.environ.get("SPANFOREST_DATA")
needs_data = pytest.mark.skipif(
    DATA is None, reason="SPANFOREST_DATA does not name a folder with the data sets"
)

FEATURES = ["tempo", "loudness", "length"]
LABELS = ["happy", "sad", "calm"]
FEW = ("--trees", "3")


def make_songs(n_samples, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3)).round(3)
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] < 0.3, X[:, 1] + X[:, 2] > 0]).astype(int)
    return X, Y


def frame_of(X, Y):
    return pd.DataFrame(X, columns=FEATURES).join(pd.DataFrame(Y, columns=LABELS))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with songs to train on, to test on, and without labels."""
    monkeypatch.chdir(tmp_path)
    frame_of(*make_songs(40, 0)).to_csv("songs.csv", index=False)
    frame_of(*make_songs(20, 1)).to_csv("test_songs.csv", index=False)
    new = frame_of(*make_songs(20, 1))[["length", "tempo", "loudness"]]
    new.insert(0, "title", "a, b")
    new.to_csv("new_songs.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    frame_of(*make_songs(40, 0)).to_csv(path / "songs.csv", index=False)
    args = ["train", str(path / "songs.csv"), "--labels", "last:3", *FEW, *RAW]
    assert main([*args, "-o", str(path / "songs.spanforest")]) == 0
    return (path / "songs.spanforest").read_bytes()


@pytest.fixture
def songs(folder, model_bytes):
    """The same folder with a model."""
    (folder / "songs.spanforest").write_bytes(model_bytes)
    return folder


@pytest.fixture
def ok(capsys):
    """Run a command that must succeed, and return what it printed."""

    def run(*args):
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert (code, err) == (0, ""), err
        return out

    return run


@pytest.fixture
def warns(capsys):
    """Run a command that must succeed with a warning, and return what it printed."""

    def run(message, *args):
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert code == 0, err
        assert message in err
        assert all("spanforest: warning: " in line for line in err.splitlines())
        return out

    return run


@pytest.fixture
def fails(capsys):
    """Run a command that must fail, and return its one line on stderr."""

    def run(*args, code=1):
        assert main([str(arg) for arg in args]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("spanforest")
        assert err.count("\n") == 1, err
        return err

    return run


def predictions(ok, *args):
    """The predicted labels, or their scores where these were asked for."""
    frame = pd.read_csv(io.StringIO(ok("predict", *args)))
    if "--scores" not in args:
        return frame
    scores = frame.filter(regex=" score$")
    labels = frame.drop(columns=scores.columns)
    assert list(scores.columns) == [f"{name} score" for name in labels.columns]
    return scores.set_axis(labels.columns, axis="columns")


RAW = ("--scale", "none")


def reference(Y=None, **params):
    """What train makes without scaling, made in Python."""
    X, full = make_songs(40, 0)
    Y = full if Y is None else Y
    ensemble = RandomGraphEnsembleClassifier(3, random_state=0, **params)
    return ensemble.fit(X, Y)


# --- help


def command_names():
    return [info.callback.__name__ for info in _app.app.registered_commands]


def example_of(text):
    found = re.search(r"\n +Example:\n +(spanforest .*)\n*$", text)
    assert found, f"the help does not end with an example:\n{text}"
    return found[1].strip()


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
        if info.callback.__name__ == name
    )
    hints = typing.get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters:
        (option,) = hints[parameter].__metadata__
        assert option.help, f"{name}: {parameter} has no help"


@pytest.mark.parametrize("name", sorted({*command_names()} - {"reproduce", "report"}))
def test_the_example_in_the_help_runs(ok, songs, name):
    files = {"train": "songs.spanforest", "predict": "predicted.csv"}
    words = {
        "train": "songs.spanforest: 50 graphs over 3 labels",
        "evaluate": "multilabel accuracy",
        "inspect": "happy",
        "datasets": "circle10",
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
def test_the_examples_of_reproduce_and_report_run(ok, folder):
    reproduce = shlex.split(example_of(ok("reproduce", "--help")))[1:]
    ok(*reproduce)
    made = Path(reproduce[reproduce.index("--out") + 1])
    assert {"table2.md", "figure1.png"} <= {path.name for path in made.iterdir()}

    report = shlex.split(example_of(ok("report", "--help")))[1:]
    made.rename(report[1])
    ok(*report)
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html")


def test_the_choices_are_those_of_the_library():
    assert set(_train_options.GRAPHS) == {*GENERATORS, *FROM_LABELS}
    assert {*_train_options.Kernel} | {"precomputed"} == set(KERNEL_NAMES)
    assert {*_train_options.Loss} == set(LOSSES)
    assert {*_options.Aggregation} == set(AGGREGATIONS)


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


# --- train and predict


def test_train_and_predict_do_what_the_library_does(ok, folder):
    args = ("--labels", "last:3", *FEW, *RAW)
    line = ok("train", "songs.csv", *args, "-o", "m.spanforest")
    assert re.match(r"m.spanforest: 3 graphs over 3 labels, learnt from 40 exa", line)
    X, _ = make_songs(20, 1)
    found = predictions(ok, "m.spanforest", "test_songs.csv")
    assert found.columns.tolist() == LABELS
    assert_array_equal(found, reference().predict(X))
    scores = predictions(ok, "m.spanforest", "test_songs.csv", "--scores")
    assert_allclose(scores, reference().decision_function(X))


@pytest.mark.parametrize(
    ("options", "params"),
    [
        (("--kernel", "rbf", "--gamma", "0.5"), {"kernel": "rbf", "gamma": 0.5}),
        (("--kernel", "poly", "--degree", "2"), {"kernel": "poly", "degree": 2}),
        (("--normalize",), {"normalize_kernel": True}),
        (("--C", "0.1", "--loss", "hamming"), {"C": 0.1, "loss": "hamming"}),
        (("--graph", "recursive_tree"), {"graph": "recursive_tree"}),
        (("--tol", "0.2", "--max-iter", "50"), {"tol": 0.2, "max_iter": 50}),
        (("--aggregation", "amm", "--jobs", "2"), {"aggregation": "amm"}),
    ],
)
def test_every_option_of_train_reaches_the_estimator(ok, folder, options, params):
    ok("train", "songs.csv", "--labels", "last:3", *FEW, *RAW, *options, "-o", "m")
    X, _ = make_songs(20, 1)
    scores = predictions(ok, "m", "test_songs.csv", "--scores")
    assert_allclose(scores, reference(**params).decision_function(X), atol=1e-12)


def songs_with_gaps():
    """Songs of which some labels are missing, as integers and None."""
    X, Y = make_songs(40, 0)
    hidden = np.random.default_rng(0).random(Y.shape) < 0.2
    return X, np.where(hidden, None, Y.astype(object))


def write_gaps(X, Y, name):
    frame = frame_of(X, Y).astype(dict.fromkeys(LABELS, "Int64"))
    if name.endswith(".csv"):
        frame.to_csv(name, index=False)
    elif name.endswith(".parquet"):
        frame.to_parquet(name)
    elif name.endswith(".npz"):
        names = {"feature_names": FEATURES, "label_names": LABELS}
        np.savez(name, X=X, Y=Y.astype(float), **names)
    else:
        kinds = [Attribute(name, "numeric") for name in FEATURES]
        kinds += [Attribute(name, "nominal", ("0", "1")) for name in LABELS]
        write_arff(Relation("songs: -C -3", kinds, np.c_[X, Y].astype(float)), name)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arff", "a.npz"])
def test_a_file_with_missing_labels_trains_as_the_library_does(ok, folder, name):
    X, Y = songs_with_gaps()
    write_gaps(X, Y, name)
    which = () if name.endswith(("arff", "npz")) else ("--labels", "last:3")
    printed = ok("train", name, *which, *FEW, *RAW, "-o", "m.spanforest")
    n_missing = sum(value is None for value in Y.ravel())
    assert printed.splitlines()[1:] == [
        f"{n_missing} of 120 labels are missing in {name}; nothing was learnt from "
        "them."
    ]
    found = predictions(ok, "m.spanforest", "test_songs.csv")
    assert all(dtype.kind == "i" for dtype in found.dtypes)
    expected = reference(Y=Y).predict(make_songs(20, 1)[0])
    assert_array_equal(found, expected)
    facts = json.loads(ok("inspect", "m.spanforest", "--json"))
    assert [label["values"] for label in facts["labels"]] == [[0, 1]] * 3


def test_tfidf_of_negative_features_is_refused(fails, folder):
    args = ("--labels", "last:3", "--scale", "tfidf", "-o", "m")
    message = fails("train", "songs.csv", *args, code=2)
    assert "tfidf is for counts of words, none of them negative" in message


def test_a_label_with_three_values_hides_no_measure_of_the_others(ok, folder):
    X, Y = make_songs(40, 0)
    Y[:, 1] = np.digitize(X[:, 0], [-0.5, 0.5])
    frame_of(X, Y).to_csv("a.csv", index=False)
    ok("train", "a.csv", "--labels", "last:3", *FEW, *RAW, "-o", "m")
    found = json.loads(ok("evaluate", "m", "a.csv", "--per-label", "--json"))
    assert found["microlabel_f1"] is None
    first, wide, last = found["labels"]
    assert wide["f1"] is wide["n_true"] is None
    assert wide["accuracy"] > 0.5
    predicted = predictions(ok, "m", "a.csv").to_numpy()
    for j, label in ((0, first), (2, last)):
        expected = precision_recall_fscore_support(
            Y[:, j], predicted[:, j], average="binary"
        )[:3]
        assert_allclose([label[k] for k in ("precision", "recall", "f1")], expected)
        assert label["n_true"] == Y[:, j].sum()


def test_evaluate_refuses_missing_labels_and_says_where(ok, fails, songs):
    X, Y = make_songs(20, 1)
    Y = Y.astype(object)
    Y[4, 1] = Y[7, 0] = None
    write_gaps(X, Y, "gaps.csv")
    message = fails("evaluate", "songs.spanforest", "gaps.csv")
    assert "2 of 20 examples lack some, the first: 'sad' of row 5 (line 6)" in message
    ok("predict", "songs.spanforest", "gaps.csv")  # which needs no labels
    frame = pd.read_csv("test_songs.csv").assign(other=None)  # not of the model
    frame.to_csv("more.csv", index=False)
    ok("evaluate", "songs.spanforest", "more.csv")


def test_the_seed_alone_decides_the_graphs(ok, folder):
    args = ("songs.csv", "--labels", "last:3", "--trees", "9", "--tol", "0.5")
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


@pytest.mark.parametrize("scale", ["none", "standard", "unit", "minmax", "tfidf"])
def test_scaling_is_part_of_the_model(ok, folder, scale):
    frame = frame_of(*make_songs(40, 0))
    frame[FEATURES] = frame[FEATURES].abs() * [1, 2, 3]  # tfidf counts words
    frame.to_csv("a.csv", index=False)
    args = ("--labels", "last:3", *FEW, "--tol", "0.5")
    ok("train", "a.csv", *args, "--scale", scale, "-o", "m")
    frame.head(1).to_csv("one.csv", index=False)
    one = predictions(ok, "m", "one.csv", "--scores")  # scaled as in training
    assert_allclose(one, predictions(ok, "m", "a.csv", "--scores").head(1))


def test_columns_are_found_by_name_and_others_are_ignored(ok, songs):
    # other order, a column of text, no labels
    assert_array_equal(
        predictions(ok, "songs.spanforest", "new_songs.csv"),
        predictions(ok, "songs.spanforest", "test_songs.csv"),
    )


def test_a_missing_feature_is_named(fails, songs):
    pd.read_csv("new_songs.csv").drop(columns="tempo").to_csv("bad.csv", index=False)
    assert "'tempo' not found" in fails("predict", "songs.spanforest", "bad.csv")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".npz"])
@pytest.mark.parametrize("option", [(), ("--scores",)])
def test_every_output_format_holds_the_same_predictions(ok, songs, suffix, option):
    shown = predictions(ok, "songs.spanforest", "test_songs.csv", *option)
    name = f"out{suffix}"
    assert (
        ok("predict", "songs.spanforest", "test_songs.csv", "-o", name, *option) == ""
    )
    if suffix == ".npz":
        with np.load(name) as archive:
            found = pd.DataFrame(
                archive["scores" if option else "Y"], columns=archive["label_names"]
            )
            assert sorted(archive) == sorted(
                ["Y", "label_names", *(["scores"] if option else [])]
            )
            pd.testing.assert_frame_equal(found, shown)
            return
    if suffix == ".parquet":
        found = pd.read_parquet(name)
    else:
        found = pd.read_csv(name, sep="\t" if suffix == ".tsv" else ",")
    if option:
        found = found.filter(regex=" score$").set_axis(shown.columns, axis="columns")
    pd.testing.assert_frame_equal(found, shown)


def write_data(name, X, Y, features=FEATURES, labels=LABELS):
    """Write songs in the format that the name tells, with columns in a given order."""
    frame = frame_of(X, Y)[[*features, *labels]]
    if name.endswith(".parquet"):
        frame.to_parquet(name)
    elif name.endswith(".npz"):
        X, Y = frame[features].to_numpy(), frame[labels].to_numpy()
        np.savez(name, X=X, Y=Y, feature_names=features, label_names=labels)
    elif name.endswith(".arff"):
        attributes = [Attribute(name, "numeric", ()) for name in features]
        attributes += [Attribute(name, "nominal", ("0", "1")) for name in labels]
        relation = Relation("songs", tuple(attributes), frame.to_numpy(float))
        write_arff(relation, name)
    else:
        frame.to_csv(name, sep="\t" if name.endswith(".tsv") else ",", index=False)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.npz", "a.arff"])
def test_the_format_of_the_data_does_not_matter(ok, songs, name):
    write_data(name, *make_songs(40, 0))
    options = () if name == "a.npz" else ("--labels", ",".join(LABELS))
    ok("train", name, *options, *FEW, *RAW, "-o", "m")
    expected = predictions(ok, "songs.spanforest", "test_songs.csv")
    assert_array_equal(predictions(ok, "m", "test_songs.csv"), expected)
    test = f"test_{name}"  # columns are found by name, whatever their order
    write_data(test, *make_songs(20, 1), FEATURES[::-1], LABELS[::-1])
    assert_array_equal(predictions(ok, "songs.spanforest", test), expected)
    both = [
        json.loads(ok("evaluate", "songs.spanforest", path, "--json"))
        for path in (test, "test_songs.csv")
    ]
    assert both[0] == both[1]


def test_format_says_what_the_name_does_not(ok, fails, songs):
    Path("test_songs.csv").rename("data.txt")
    message = fails("predict", "songs.spanforest", "data.txt", code=2)
    assert "--format" in message
    ok("predict", "songs.spanforest", "data.txt", "--format", "csv")


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


# --- other data


def test_sparse_data_stay_sparse_and_keep_their_names(ok, folder):
    X, Y = make_songs(40, 0)
    X[X < -0.5] = 0
    X[0] = [1, 0, 0]  # feature 0 occurs: the file counts from 0
    labels = sparse.csr_matrix(Y)
    dump_svmlight_file(X, labels, "a.svm", zero_based=True, multilabel=True)
    ok("train", "a.svm", *FEW, "--kernel", "rbf", "-o", "m")
    model = load("m")
    assert sparse.issparse(model[-1].X_fit_)
    assert model.sparse_feature_names_ == ("0", "1", "2")
    Path("part.svm").write_text("2 1:0.5 2:1\n")  # no feature 0, and one label
    Path("part.csv").write_text("2,0,1\n1,0,0.5\n")
    part = predictions(ok, "m", "part.svm", "--scores")
    assert part.columns.tolist() == ["0", "1", "2"]
    assert_allclose(part, model.decision_function(sparse.csr_array([[0, 0.5, 1]])))
    assert_allclose(predictions(ok, "m", "part.csv", "--scores"), part)
    assert json.loads(ok("evaluate", "m", "part.svm", "--json"))["n_labels"] == 3


def test_labels_that_the_model_does_not_know_are_left_out_aloud(ok, capsys, folder):
    Path("a.svm").write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n 1:-1\n")
    ok("train", "a.svm", *FEW, "-o", "m")
    Path("b.svm").write_text("1,3 1:1\n")
    assert main(["evaluate", "m", "b.svm"]) == 0
    assert capsys.readouterr().err == (
        "spanforest: warning: b.svm: 1 labels are not among the expected ones and are "
        "left out: 3.\n"
    )


def test_kernel_matrices_are_used_as_they_are(ok, fails, folder):
    X, Y = make_songs(60, 0)
    K = (1 + X @ X.T) ** 2
    np.savez("k.npz", K=K[:40, :40], Y=Y[:40])
    np.savez("test.npz", K=K[40:, :40], Y=Y[40:])
    ok("train", "k.npz", *FEW, "--tol", "0.1", "-o", "m")
    expected = RandomGraphEnsembleClassifier(
        3, kernel="precomputed", tol=0.1, random_state=0
    ).fit(K[:40, :40], Y[:40])
    found = predictions(ok, "m", "test.npz")
    assert found.columns.tolist() == ["label0", "label1", "label2"]
    assert_array_equal(found, expected.predict(K[40:, :40]))
    facts = json.loads(ok("evaluate", "m", "test.npz", "--json"))
    assert facts["microlabel_accuracy"] == (found == Y[40:]).to_numpy().mean()
    np.savez("x.npz", X=X)
    assert "takes kernel values" in fails("predict", "m", "x.npz")
    for option in (("--kernel", "rbf"), ("--scale", "standard")):
        assert "kernel matrix" in fails("train", "k.npz", *option, "-o", "m", code=2)


def test_archives_need_names_and_labels_only_where_they_are_used(
    ok, fails, warns, folder
):
    X, Y = make_songs(40, 0)
    np.savez("a.npz", X=X, Y=Y)
    ok("train", "a.npz", *FEW, "-o", "m")
    np.savez("b.npz", X=X)
    csr = sparse.csr_array(X)
    parts = {"X_data": csr.data, "X_indices": csr.indices, "X_indptr": csr.indptr}
    np.savez("c.npz", **parts, X_shape=csr.shape)
    pd.DataFrame(X).to_csv("d.csv", index=False)
    expected = predictions(ok, "m", "a.npz")
    for name in ("b.npz", "c.npz", "d.csv"):
        assert_array_equal(predictions(ok, "m", name), expected)
    assert "has 3 labels; found 0" in fails("evaluate", "m", "b.npz")
    frame_of(X, Y).to_csv("e.csv", index=False)
    assert "name them with --labels" in fails("predict", "m", "e.csv")
    features = "the model has no names of features; those of e.csv are matched by"
    labels = "e.csv: labels are matched with those of the model by position"
    columns = ("e.csv", "--labels", "last:3")
    found = predictions(partial(warns, features), "m", *columns)
    assert_array_equal(found, expected)
    printed = warns(features, "evaluate", "m", *columns, "--json")
    assert json.loads(printed) == json.loads(ok("evaluate", "m", "a.npz", "--json"))
    warns(labels, "evaluate", "m", *columns)
    np.savez("f.npz", Z=X)
    assert "expected one of X, X_data (CSR) and K" in fails("predict", "m", "f.npz")


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


def test_nominal_features_get_a_column_per_value(ok, folder):
    """Folk lies between the others: with codes 0, 1, 2 no linear model finds it."""
    Path("a.arff").write_text(nominal_arff("rock, folk, jazz"))
    Path("b.arff").write_text(nominal_arff("jazz, rock, folk"))
    for name in "ab":
        ok("train", f"{name}.arff", "--drop", "title", *FEW, "--C", "10", "-o", name)
    found = json.loads(ok("evaluate", "a", "a.arff", "--json"))
    assert found["multilabel_accuracy"] == 1
    assert found["microlabel_f1"] is None  # mood has three values
    assert_array_equal(predictions(ok, "a", "a.arff"), predictions(ok, "b", "b.arff"))


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


def test_labels_may_be_words(ok, fails, folder):
    X, Y = make_songs(40, 0)
    frame = frame_of(X, Y)
    frame["happy"] = np.where(Y[:, 0], "yes", "no")
    frame["sad"] = np.select([X[:, 0] < -0.5, X[:, 0] > 0.5], ["blue", "bright"], "0")
    frame.to_csv("words.csv", index=False)
    ok("train", "words.csv", "--labels", "last:3", *FEW, "--C", "10", "-o", "m")
    found = predictions(ok, "m", "words.csv")
    assert set(found["sad"]) == {"blue", "bright", "0"}
    assert set(found["happy"]) == {"yes", "no"}
    ok("predict", "m", "words.csv", "-o", "words.npz")
    with np.load("words.npz") as archive:  # text, not pickles
        assert archive["Y"][:, 1].tolist() == found["sad"].tolist()
    facts = json.loads(ok("evaluate", "m", "words.csv", "--per-label", "--json"))
    assert facts["microlabel_f1"] is None
    right = (found.astype(str) == frame[LABELS].astype(str)).to_numpy()
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
    args = ("--labels", "last:3", "--graph", "edges.csv", "-o", "m")
    line = ok("train", "songs.csv", *args)
    (graph,) = load("m")[-1].graphs_  # one member is enough for one graph
    assert line.startswith("m: 1 graph over 3 labels, learnt from 40 examples")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    args = ("train", "songs.csv", "--labels", "last:3", "-o", "m", "--graph")
    Path("edges.csv").write_text("happy,sad,calm\n")
    assert "found happy, sad, calm" in fails(*args, "edges.csv")
    assert "random_tree" in fails(*args, "oak", code=2)


def test_data_sets_are_known_by_name(ok, fails, folder):
    args = ("--trees", "1", "--tol", "0.5", "-o", "m")
    ok("train", "Circle10", *RAW, *args)
    X, Y = make_circle(random_state=0)
    facts = json.loads(ok("evaluate", "m", "circle10", "--json"))
    expected = RandomGraphEnsembleClassifier(1, tol=0.5, random_state=0).fit(X, Y)
    assert facts["multilabel_accuracy"] == expected.score(X, Y)
    for option in ("--labels", "--drop"):
        assert "says itself" in fails("train", "circle10", option, "x", *args, code=2)


# --- evaluate, inspect, datasets


def test_evaluate_gives_the_measures_of_the_library(ok, songs):
    Path("songs.csv").rename("test_songs.csv")  # where every label is predicted
    X, Y = make_songs(40, 0)
    expected = reference().predict(X)
    text = ok("evaluate", "songs.spanforest", "test_songs.csv", "--per-label", "--json")
    facts = json.loads(text)
    assert facts["n_samples"] == 40
    for measure in (microlabel_accuracy, multilabel_accuracy, microlabel_f1):
        assert facts[measure.__name__] == measure(Y, expected)
    scores = precision_recall_fscore_support(Y, expected, average=None)
    for name, values in zip(
        ("precision", "recall", "f1", "n_true"), scores, strict=True
    ):
        assert_allclose([label[name] for label in facts["labels"]], values)
    n_predicted = [label["n_predicted"] for label in facts["labels"]]
    assert n_predicted == expected.sum(axis=0).tolist()
    shown = ok("evaluate", "songs.spanforest", "test_songs.csv", "--per-label")
    assert f"{100 * facts['multilabel_accuracy']:.2f} %" in shown
    assert all(name in shown for name in LABELS)


def test_a_label_that_never_occurs_has_no_recall(ok, folder):
    X, Y = make_songs(40, 0)
    Y[:, 0] = 0
    frame_of(X, Y).to_csv("a.csv", index=False)
    ok("train", "a.csv", "--labels", "last:3", *FEW, "-o", "m")
    facts = json.loads(ok("evaluate", "m", "a.csv", "--per-label", "--json"))
    first = facts["labels"][0]
    assert (first["n_true"], first["accuracy"], first["recall"]) == (0, 1, None)
    assert facts["microlabel_f1"] == microlabel_f1(Y, predictions(ok, "m", "a.csv"))


@pytest.mark.parametrize("words", [("no", "yes"), (1, 2), ("absent", "present")])
def test_f1_counts_the_higher_of_two_values(ok, folder, words):
    X, Y = make_songs(40, 0)
    np.savez("bits.npz", X=X, Y=Y)
    frame_of(X, np.array(words, dtype=object)[Y]).to_csv("words.csv", index=False)
    ok("train", "bits.npz", *FEW, "-o", "bits")
    ok("train", "words.csv", "--labels", "last:3", *FEW, "-o", "words")
    bits = json.loads(ok("evaluate", "bits", "bits.npz", "--json"))
    assert json.loads(ok("evaluate", "words", "words.csv", "--json")) == bits


@pytest.mark.parametrize("aggregation", ["mve", "amm", "mam"])
def test_members_are_combined_as_asked(ok, songs, aggregation):
    X, _ = make_songs(20, 1)
    args = ("songs.spanforest", "test_songs.csv", "--aggregation", aggregation)
    assert_array_equal(predictions(ok, *args), reference().predict(X, aggregation))
    expected = reference().set_params(aggregation=aggregation).decision_function(X)
    assert_allclose(predictions(ok, *args, "--scores"), expected)


def test_inspect_tells_what_the_model_is(ok, songs):
    facts = json.loads(ok("inspect", "songs.spanforest", "--json", "--couplings", "2"))
    model = reference()
    assert facts["n_graphs"] == 3
    assert facts["n_edges"] == model.consensus_graph_.n_edges
    assert facts["n_passes"] == model.n_iter_.tolist()
    gaps = model.duality_gap_ / model.dual_objective_
    assert facts["relative_gap"]["largest"] == pytest.approx(gaps.max())
    assert [label["name"] for label in facts["labels"]] == LABELS
    assert facts["parameters"]["n_estimators"] == 3
    assert {"spanforest", "numpy"} <= set(facts["versions"])
    first, second = facts["couplings"]
    assert abs(first["strength"]) >= abs(second["strength"]) > 0
    strength = edge_couplings(model, *make_songs(40, 0)).strength
    assert abs(first["strength"]) == pytest.approx(np.abs(strength).max())
    shown = ok("inspect", "songs.spanforest")
    for text in ("3: happy, sad, calm", "duality gap", "training examples", "C=1"):
        assert text in shown
    assert "over new_songs.csv" in ok(
        "inspect", "songs.spanforest", "--data", "new_songs.csv"
    )
    assert "couplings" not in ok("inspect", "songs.spanforest", "--couplings", "0")


def test_models_made_in_python_are_understood(ok, fails, songs):
    X, Y = make_songs(40, 0)
    np.savez("a.npz", X=X, Y=Y[:, :1])
    kernel = MMCRFClassifier(kernel="rbf", random_state=0).fit(X, Y[:, 0])  # 1-D
    save(kernel, "kernel.spanforest")
    found = predictions(ok, "kernel.spanforest", "a.npz")
    assert_array_equal(found["label0"], kernel.predict(X))
    assert predictions(ok, "kernel.spanforest", "a.npz", "--scores").shape == (40, 1)
    ok("evaluate", "kernel.spanforest", "a.npz")
    linear = MMCRFClassifier(random_state=0).fit(X, Y)
    save(linear, "linear.spanforest")
    facts = json.loads(ok("inspect", "linear.spanforest", "--json"))
    assert facts["couplings"] == []  # nothing to average over
    save(kernel.fit(X, Y), "kernel.spanforest")
    assert (
        len(json.loads(ok("inspect", "kernel.spanforest", "--json"))["couplings"]) == 2
    )
    args = ("linear.spanforest", "a.npz", "--aggregation", "mve")
    assert "only an ensemble" in fails("predict", *args, code=2)
    save(svm_per_label().fit(X, Y), "other.spanforest")
    assert "Use it from Python" in fails("inspect", "other.spanforest")


def test_datasets_lists_what_is_known(ok, folder, monkeypatch):
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)
    (folder / "medical.npz").touch()
    shown = ok("datasets", "--data-home", folder).splitlines()
    lines = {line.split()[0]: line.split() for line in shown}
    assert lines["circle10"] == ["circle10", "1000", "3", "10", "8.54", "generated"]
    assert lines["medical"][-1] == str(folder / "medical.npz")
    assert lines["cal500"][-1] == "no"
    listed = json.loads(ok("datasets", "--json"))
    assert {known["name"] for known in listed} == set(lines) - {"name"}
    facts = json.loads(ok("datasets", "circle10", "--json"))
    counts = [label["n_positive"] for label in facts["labels"]]
    assert counts == make_circle(random_state=0)[1].sum(axis=0).tolist()


# --- errors and warnings


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("train songs.csv -o m", "which columns of songs.csv are labels? Say --labels"),
        ("train songs.csv", "--output"),
        ("train songs.csv --labels last:3 -o m --kernel oak", "--kernel"),
        ("train songs.csv --labels last:3 -o m --trees 0", "--trees"),
        ("train songs.csv --labels last:3 -o m --C -1", "greater than 0; got -1"),
        ("train songs.csv --labels last:3 -o m --C 0", "'--C'"),
        ("train songs.csv --labels last:3 -o m --tol 0", "'--tol'"),
        ("train songs.csv --labels last:3 -o m --jobs 0", "'--jobs'"),
        ("train songs.csv --labels first:0 -o m", "at least one label is needed"),
        ("train songs.csv --labels , -o m", "at least one label is needed"),
        ("train songs.csv --labels songs.xml -o m", "ARFF files only"),
        ("predict songs.spanforest test_songs.csv -o out.xls", ".parquet"),
        ("predict songs.spanforest", "DATA"),
        ("plant", "No such command 'plant'"),
        ("train --colour", "No such option: --colour"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(fails, songs, args, message):
    line = fails(*args.split(), code=2)
    assert message in line
    command = args.split()[0].replace("plant", "")
    assert line.endswith(
        " ".join(filter(None, ["See spanforest", command, "--help.\n"]))
    )


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
        ("train bare.arff -o m", "which attributes are labels.* Say --labels with a"),
        ("train bare.arff --labels last:9 -o m", "2 attributes, .* 1 and 2; got 9"),
        ("train bare.arff --labels a -o m", "Leave it out: --drop title"),
        ("train new_songs.csv --labels tempo -o m", "'title' of row 1"),
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
        ("predict songs.spanforest not.svm", "not.svm: expected lines like"),
    ],
)
def test_failures_are_one_line_and_exit_code_1(
    fails, songs, args, message, monkeypatch
):
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)
    Path("empty.csv").touch()
    Path("bad.arff").write_text("nothing\n")
    Path("bare.arff").write_text(BARE)
    for suffix in ("npz", "parquet", "svm"):
        Path(f"not.{suffix}").write_text("not what it seems\n")
    assert re.search(message.replace("(", r"\("), fails(*args.split()))
    assert not Path("m").exists()


BARE = "@relation r\n@attribute title string\n@attribute a {0, 1}\n@data\nx,1\n"


def test_a_word_that_is_no_choice_is_told_plainly(fails, folder):
    message = fails("train", "songs.csv", "-o", "m", "--kernel", "oak", code=2)
    assert message.startswith(
        "spanforest train: Invalid value for '--kernel': 'oak' is not one of 'linear',"
    )


def test_data_home_is_where_named_data_sets_are_looked_for(ok, fails, folder):
    X, Y = make_songs(40, 0)
    np.savez("medical.npz", X=X, Y=Y)  # not what its name promises
    args = ("train", "medical", "-o", "m", "--data-home", folder)
    assert "medical must have" in fails(*args)


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
        (MemoryError("90 GiB"), "not enough memory: MemoryError: 90 GiB (--debug"),
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


def test_warnings_are_one_line_in_the_words_of_the_command(capsys, folder):
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
    for phrase in _words.PHRASES:  # else the library has changed its words
        assert any(re.search(phrase.library, each) for each in messages), phrase
    for message in messages:
        said = _words.in_words_of_commands(message)
        assert said != message
        assert not re.search(r"data_home|load_|labels=|drop=|max_iter|Value err", said)


def parameters_to_pass():
    """What the library advises to pass, except where no command leads.

    None tunes, and a file of edges without any is refused before it is a graph.
    """
    package = Path(_words.__file__).parents[1]
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
        assert not re.search(r"Pass \w+=", _words.in_words_of_commands(message))


@pytest.mark.parametrize(
    ("mark", "advice"),
    [
        (";", "'x;y'. Write the file with ','."),
        ("\t", "Say --format tsv, or write the file with ','."),
    ],
)
def test_other_separators_lead_to_what_a_command_can_do(capsys, folder, mark, advice):
    Path("x.csv").write_text(f"x{mark}y\n1{mark}0\n2{mark}1\n")
    assert main(["train", "x.csv", "--labels", "last:1", "-o", "m"]) == 1
    assert advice in capsys.readouterr().err


def test_without_typer_the_extra_is_named(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "spanforest.cli._app")
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 1
    assert capsys.readouterr().err == (
        'spanforest: the command line needs typer: pip install "spanforest[cli]"\n'
    )


# --- files and terminals


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


@pytest.fixture
def spanforest():
    """Run the command as a process of its own."""

    def run(*args, **env):
        return subprocess.run(
            [sys.executable, "-m", "spanforest", *args],
            capture_output=True,
            text=True,
            env={**os.environ, **env},
        )

    return run


def test_version_and_exit_codes_of_the_process(spanforest):
    run = spanforest("--version")
    assert re.fullmatch(r"spanforest \d+\.\d+\.\d+\S*\n", run.stdout)
    assert run.returncode == 0
    run = spanforest("train")
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1


def test_shells_are_told_how_to_complete(spanforest):
    run = spanforest(_SPANFOREST_COMPLETE="source_bash")
    assert "complete -o default -F" in run.stdout
    words = {"COMP_WORDS": "spanforest ev", "COMP_CWORD": "1"}
    run = spanforest(_SPANFOREST_COMPLETE="complete_bash", **words)
    assert run.stdout.split() == ["evaluate"]


# --- labels and features are matched by name, or by position if there are no names


def renamed_npz(name, X, Y, **names):
    np.savez(name, X=X, Y=Y, feature_names=FEATURES, **names)


def test_labels_of_other_names_are_refused_by_evaluate(fails, songs):
    X, Y = make_songs(20, 1)
    renamed_npz("a.npz", X, Y, label_names=["happy", "grief", "joy"])
    message = fails("evaluate", "songs.spanforest", "a.npz")
    assert "a.npz: its labels are not those of the model" in message
    assert "missing: 'sad', 'calm'; not in the model: 'grief', 'joy'" in message
    frame = frame_of(X, Y).rename(columns={"happy": "grief"})
    frame.to_csv("b.csv", index=False)
    message = fails("evaluate", "songs.spanforest", "b.csv", "--labels", "last:3")
    assert "missing: 'happy'; not in the model: 'grief'" in message
    write_data("c.arff", X, Y)
    text = Path("c.arff").read_text().replace("happy", "joy").replace("sad", "grief")
    Path("c.arff").write_text(text)
    message = fails("evaluate", "songs.spanforest", "c.arff")
    assert "missing: 'happy', 'sad'" in message


def test_reordered_labels_are_put_into_the_order_of_the_model(ok, songs):
    X, Y = make_songs(20, 1)
    renamed_npz("a.npz", X, Y[:, [2, 0, 1]], label_names=["calm", "happy", "sad"])
    expected = ok("evaluate", "songs.spanforest", "test_songs.csv", "--per-label")
    assert ok("evaluate", "songs.spanforest", "a.npz", "--per-label") == expected


def test_labels_without_names_are_matched_by_position_if_their_number_agrees(
    ok, warns, fails, songs
):
    X, Y = make_songs(20, 1)
    renamed_npz("a.npz", X, Y)
    expected = ok("evaluate", "songs.spanforest", "test_songs.csv")
    message = "a.npz: labels are matched with those of the model by position"
    assert warns(message, "evaluate", "songs.spanforest", "a.npz") == expected
    renamed_npz("b.npz", X, Y[:, :2])
    assert "has 3 labels; found 2" in fails("evaluate", "songs.spanforest", "b.npz")


def test_labels_that_the_model_was_not_trained_on_are_left_out_aloud(ok, capsys, songs):
    X, Y = make_songs(20, 1)
    names = ["other", *LABELS]
    renamed_npz("a.npz", X, np.column_stack([Y[:, 0], Y]), label_names=names)
    expected = ok("evaluate", "songs.spanforest", "test_songs.csv")
    assert main(["evaluate", "songs.spanforest", "a.npz"]) == 0
    out, err = capsys.readouterr()
    assert out == expected
    assert err == (
        "spanforest: warning: a.npz: labels that the model does not know are left out: "
        "'other'.\n"
    )


def libsvm_of(X, Y, name, **options):
    labels = sparse.csr_matrix(Y)
    dump_svmlight_file(X, labels, name, multilabel=True, **options)


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("scale", ["unit", "standard", "minmax", "none"])
def test_numbered_features_are_matched_with_names_by_position_aloud(
    ok, capsys, folder, zero_based, scale
):
    args = ("--labels", "last:3", *FEW, "--tol", "0.5", "--scale", scale)
    ok("train", "songs.csv", *args, "-o", "m")
    libsvm_of(*make_songs(20, 1), "test.svm", zero_based=zero_based)
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


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
@pytest.mark.parametrize("source", ["a.npz", "a.svm", "circle10"])
def test_data_that_know_their_labels_take_no_labels(fails, songs, command, source):
    X, Y = make_songs(40, 0)
    np.savez("a.npz", X=X, Y=Y)
    libsvm_of(X, Y, "a.svm")
    model = () if command == "train" else ("songs.spanforest",)
    output = ("-o", "m") if command == "train" else ()
    args = (command, *model, source, *output, "--labels", "last:2")
    assert "says itself what its labels and features are" in fails(*args, code=2)


# --- values that cannot be used


@pytest.fixture
def train_or_predict(songs):
    """Arguments of a command that reads a CSV file."""

    def args(command, path):
        if command == "train":
            return ("train", path, "--labels", "last:3", *FEW, "-o", "m")
        return (command, "songs.spanforest", path)

    return args


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", "1 value of a feature is missing: 'loudness' of row 3 (line 5)"),
        ("inf", "1 value of a feature is infinite: 'loudness' of row 3 (line 5)"),
        ("loudish", "'loudness' of row 3 (line 5) is 'loudish'"),
    ],
)
def test_a_value_that_is_no_number_is_named_with_file_column_row_and_line(
    fails, train_or_predict, command, value, expected
):
    lines = Path("songs.csv").read_text().splitlines()
    values = lines[3].split(",")
    values[1] = value
    lines[3] = ",".join(values)
    lines.insert(1, "")  # pandas counts no blank lines, editors do
    Path("bad.csv").write_text("\n".join(lines))
    message = fails(*train_or_predict(command, "bad.csv"))
    assert f"bad.csv: {expected}" in message or f"; {expected}" in message
    assert message.startswith("spanforest: bad.csv: ")
    if value == "":
        wanted = "--missing mean" if command == "train" else "train the model with --mi"
        assert wanted in message


def test_missing_values_of_other_formats_are_named_too(fails, songs):
    X, Y = make_songs(20, 1)
    X[4, 1] = np.nan
    write_data("a.arff", X, Y)
    message = fails("predict", "songs.spanforest", "a.arff")
    line = Path("a.arff").read_text().splitlines().index("@data") + 1 + 5
    expected = f"'loudness' of row 5 (line {line})"
    assert f"a.arff: 1 value of a feature is missing: {expected}" in message
    np.savez("a.npz", X=X, Y=Y)
    message = fails("train", "a.npz", *FEW, "-o", "m")
    assert "a.npz: 1 value of a feature is missing: column 2 of row 5." in message
    csr = sparse.csr_array(np.nan_to_num(X, nan=7.0))
    csr.data[csr.data == 7.0] = np.nan
    parts = {"X_data": csr.data, "X_indices": csr.indices, "X_indptr": csr.indptr}
    np.savez("b.npz", **parts, X_shape=csr.shape, Y=Y)
    message = fails("train", "b.npz", *FEW, "-o", "m")
    assert "b.npz: 1 value of a feature is missing: column 2 of row 5." in message


# --- scaling


def test_unit_length_does_not_hide_how_far_an_example_is_from_the_mean(ok, folder):
    X = np.linspace(-2, 2, 40)[:, np.newaxis]
    Y = np.column_stack([X > 1, X > -1]).astype(int)  # one feature: only its sign?
    np.savez("a.npz", X=X, Y=Y)
    ok("train", "a.npz", *FEW, "--C", "10", "--tol", "0.2", "-o", "m")
    found = json.loads(ok("evaluate", "m", "a.npz", "--json"))
    assert found["microlabel_accuracy"] > 0.95


def test_by_default_features_of_any_size_are_learnt_from(ok, folder):
    """Without scaling, `length` would drown the others and training not converge."""
    frame = frame_of(*make_songs(40, 0))
    frame["length"] = 1000 * frame["length"] + 200_000
    frame.to_csv("a.csv", index=False)
    ok("train", "a.csv", "--labels", "last:3", *FEW, "--C", "10", "-o", "m")
    found = json.loads(ok("evaluate", "m", "a.csv", "--json"))
    assert found["microlabel_accuracy"] > 0.85


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ((), ["StandardScaler", "PolynomialFeatures", "Normalizer"]),
        (("--kernel", "rbf"), ["StandardScaler"]),
        (("--kernel", "tanimoto"), []),
        (("--scale", "none"), []),
        (("--scale", "minmax"), ["MinMaxScaler"]),
    ],
)
def test_the_scaling_suits_the_kernel(ok, folder, options, steps):
    frame = frame_of(*make_songs(40, 0)).abs()  # as tanimoto needs
    frame.to_csv("a.csv", index=False)
    args = ("--labels", "last:3", *FEW, "--tol", "0.5", *options)
    ok("train", "a.csv", *args, "-o", "m")
    found = json.loads(ok("inspect", "m", "--json"))["steps"]
    assert found == [*steps, "RandomGraphEnsembleClassifier"]


def test_sparse_features_are_scaled_and_stay_sparse(ok, folder):
    X, Y = make_songs(40, 0)
    X[X < 0.5] = 0
    libsvm_of(X, Y, "a.svm")
    ok("train", "a.svm", *FEW, "--tol", "0.5", "-o", "m")
    model = load("m")
    assert [type(step).__name__ for step in model] == [
        *("MaxAbsScaler", "Normalizer", "RandomGraphEnsembleClassifier"),
    ]
    assert sparse.issparse(model[:-1].transform(sparse.csr_array(X)))
    ok("evaluate", "m", "a.svm")
    ok("inspect", "m")


# --- pipes, and stopping


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout here")
@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_predictions_go_through_a_pipe_by_any_name(ok, spanforest, songs, name):
    expected = ok("predict", "songs.spanforest", "test_songs.csv")
    run = spanforest("predict", "songs.spanforest", "test_songs.csv", "-o", name)
    assert (run.stdout, run.stderr, run.returncode) == (expected, "", 0)
    assert not Path("-").exists()


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="no /dev/stdin here")
def test_tables_come_through_a_pipe(ok, songs):
    expected = ok("predict", "songs.spanforest", "test_songs.csv")
    command = [sys.executable, "-m", "spanforest", "predict", "songs.spanforest", "-"]
    with open("test_songs.csv") as table:
        pipe = subprocess.Popen(["cat"], stdin=table, stdout=subprocess.PIPE)
        run = subprocess.run(
            [*command, "--format", "csv"],
            stdin=pipe.stdout,
            capture_output=True,
            text=True,
        )
        pipe.stdout.close()
        pipe.wait()
    assert (run.stdout, run.stderr) == (expected, "")


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
    assert err == "spanforest: stopped; nothing was written.\n"
    assert sorted(os.listdir()) == before


# --- real data


@needs_data
@pytest.mark.slow
def test_mulan_files_and_archives_of_the_same_data_agree(ok, tmp_path):
    model = tmp_path / "emotions.spanforest"
    arff = Path(DATA, "emotions.arff.bz2")
    args = (*FEW, "--scale", "standard", "--normalize", "-o", model)
    ok("train", arff, *args)
    found = [
        json.loads(ok("evaluate", model, source, "--json"))
        for source in (arff, Path(DATA, "emotions.npz"), "emotions")
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]["multilabel_accuracy"] > 0.25


@needs_data
@pytest.mark.slow
def test_meka_files_with_labels_of_several_values_work(ok, tmp_path):
    model, arff = tmp_path / "flare.spanforest", Path(DATA, "solar_flare.arff")
    ok("train", arff, *FEW, "--C", "10", "-o", model)
    assert predictions(ok, model, arff)["c-class"].nunique() > 1
    facts = json.loads(ok("inspect", model, "--json"))
    assert [len(label["values"]) for label in facts["labels"]] == [3, 4, 2]
