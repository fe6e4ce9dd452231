"""DATA of the commands: formats, names, kernel matrices, and bad values."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from arff_writer import write_arff
from data_folder import DATA, needs_data
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from songs import (
    FEATURES,
    FEW,
    LABELS,
    RAW,
    frame_of,
    make_songs,
    predictions,
    write_data,
    write_libsvm,
)

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import Attribute, Relation, make_circle

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from spanforest.persistence import load  # noqa: E402


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
    "options", [(), ("--delimiter", ";", "--decimal", ",", "--encoding", "latin-1")]
)
def test_tables_with_semicolons_and_decimal_commas_are_read(ok, songs, options):
    encoding = "latin-1" if options else "utf-8"
    for name in ("songs", "test_songs"):
        frame = pd.read_csv(f"{name}.csv").assign(größe=1)
        frame.to_csv(
            f"{name}2.csv", sep=";", decimal=",", index=False, encoding=encoding
        )
    columns = ("--labels", ",".join(LABELS), "--drop", "größe")
    ok("train", "songs2.csv", *columns, *FEW, *RAW, *options, "-o", "m")
    expected = predictions(ok, "songs.spanforest", "test_songs.csv", "--scores")
    actual = predictions(ok, "m", "test_songs2.csv", "--scores", *options)
    assert_allclose(actual, expected)
    ok("evaluate", "m", "test_songs2.csv", *options)
    ok("inspect", "m", "--data", "test_songs2.csv", *options)


def test_a_first_line_that_names_the_delimiter_is_no_header(ok, fails, songs):
    for name in ("songs", "test_songs"):
        rows = Path(f"{name}.csv").read_text().replace(",", ":")
        Path(f"{name}2.csv").write_text(f"sep=:\n{rows}")
    columns = ("--labels", ",".join(LABELS))
    ok("train", "songs2.csv", *columns, *FEW, *RAW, "-o", "m")
    expected = predictions(ok, "songs.spanforest", "test_songs.csv", "--scores")
    assert_allclose(predictions(ok, "m", "test_songs2.csv", "--scores"), expected)
    Path("gap.csv").write_text("sep=:\ntempo:loudness:length\n1:2:3\n:1:2\n")
    assert "'tempo' of row 2 (line 4)" in fails("predict", "m", "gap.csv")
    message = fails("predict", "m", "gap.csv", "--delimiter", ";")
    assert "Use --delimiter ':'" in message


def test_the_line_of_a_gap_is_found_in_any_dress(fails, songs):
    text = 'tempo;loudness;length\n"1,5";"2";3\n\n;1,5;2\n'
    Path("gap.csv").write_text(text)
    message = fails("predict", "songs.spanforest", "gap.csv")
    assert "'tempo' of row 2 (line 4)" in message


@pytest.mark.parametrize("values", [("m", "f"), ("f", "m"), ("x", "f", "m")])
def test_the_order_of_a_declaration_does_not_matter(ok, folder, values):
    sex = np.array(["m", "f"] * 20)

    def write(name, values):
        codes = [values.index(value) for value in sex]
        attributes = (
            Attribute("sex", "nominal", values),
            *(Attribute(name, "nominal", ("0", "1")) for name in ("tall", "short")),
        )
        data = np.column_stack([codes, sex == "m", sex == "f"]).astype(float)
        write_arff(Relation(name, attributes, data), name)

    write("train.arff", (*values[:-2], "m", "f"))
    write("test.arff", values)
    ok("train", "train.arff", "--labels", "tall,short", "--C", "100", *FEW, "-o", "m")
    actual = predictions(ok, "m", "test.arff")
    assert actual["tall"].tolist() == (sex == "m").astype(int).tolist()


def test_more_memory_than_allowed_is_not_taken(ok, fails, songs):
    args = ("train", "songs.csv", "--labels", "last:3", *FEW, "-o", "m")
    assert "Use --max-memory " in fails(*args, "--max-memory", "1kB")
    ok(*args, "--max-memory", "1MB")
    np.savez("a.npz", X=np.zeros((40, 3)), Y=np.zeros((40, 3)))
    write_data("a.arff", *make_songs(40, 0))
    write_libsvm(*make_songs(40, 0), "a.svm")
    write_data("a.parquet", *make_songs(40, 0))
    for name in ("a.npz", "a.arff", "a.svm", "a.parquet"):
        message = fails("predict", "m", name, "--max-memory", "100")
        assert f"{name}: its contents need more than 100 bytes" in message


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


@pytest.mark.needs_compiled
def test_kernel_matrices_are_used_as_they_are(ok, fails, folder):
    X, Y = make_songs(60, 0)
    K = (1 + X @ X.T) ** 2
    np.savez("k.npz", K=K[:40, :40], Y=Y[:40])
    np.savez("test.npz", K=K[40:, :40], Y=Y[40:])
    ok("train", "k.npz", *FEW, "--tol", "0.1", "-o", "m")
    expected = RandomGraphEnsembleClassifier(
        3, kernel="precomputed", tol=0.1, random_state=0
    ).fit(K[:40, :40], Y[:40])
    actual = predictions(ok, "m", "test.npz")
    assert actual.columns.tolist() == ["label0", "label1", "label2"]
    assert_array_equal(actual, expected.predict(K[40:, :40]))
    facts = json.loads(ok("evaluate", "m", "test.npz", "--json"))
    assert facts["microlabel_accuracy"] == (actual == Y[40:]).to_numpy().mean()
    np.savez("x.npz", X=X)
    assert "takes kernel values" in fails("predict", "m", "x.npz")
    for option in (("--kernel", "rbf"), ("--scale", "standard")):
        assert "kernel matrix" in fails("train", "k.npz", *option, "-o", "m", code=2)


@pytest.mark.needs_compiled
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
    actual = predictions(partial(warns, features), "m", *columns)
    assert_array_equal(actual, expected)
    printed = warns(features, "evaluate", "m", *columns, "--json")
    assert json.loads(printed) == json.loads(ok("evaluate", "m", "a.npz", "--json"))
    warns(labels, "evaluate", "m", *columns)
    np.savez("f.npz", Z=X)
    assert "expected one of X, X_data (CSR) and K" in fails("predict", "m", "f.npz")


@pytest.mark.needs_compiled
def test_data_sets_are_known_by_name(ok, fails, folder):
    args = (*FEW, "--trees", "1", "--tol", "0.5", "-o", "m")
    ok("train", "Circle10", *RAW, *args)
    X, Y = make_circle(random_state=0)
    facts = json.loads(ok("evaluate", "m", "circle10", "--json"))
    expected = RandomGraphEnsembleClassifier(1, tol=0.5, random_state=0).fit(X, Y)
    assert facts["multilabel_accuracy"] == expected.score(X, Y)
    for option in ("--labels", "--drop"):
        assert "says itself" in fails("train", "circle10", option, "x", *args, code=2)


def test_data_home_is_where_named_data_sets_are_looked_for(ok, fails, folder):
    X, Y = make_songs(40, 0)
    np.savez("medical.npz", X=X, Y=Y)  # not what its name promises
    args = ("train", "medical", "-o", "m", "--data-home", folder)
    assert "medical must have" in fails(*args)


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
@pytest.mark.parametrize("source", ["a.npz", "a.svm", "circle10"])
def test_data_that_know_their_labels_take_no_labels(fails, songs, command, source):
    X, Y = make_songs(40, 0)
    np.savez("a.npz", X=X, Y=Y)
    write_libsvm(X, Y, "a.svm")
    model = () if command == "train" else ("songs.spanforest",)
    output = ("-o", "m") if command == "train" else ()
    args = (command, *model, source, *output, "--labels", "last:2")
    assert "says itself what its labels and features are" in fails(*args, code=2)


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


@needs_data
@pytest.mark.slow
def test_mulan_files_and_archives_of_the_same_data_agree(ok, tmp_path):
    model = tmp_path / "emotions.spanforest"
    arff = Path(DATA, "emotions.arff.bz2")
    args = (*FEW, "--scale", "standard", "--normalize", "-o", model)
    ok("train", arff, *args)
    actual = [
        json.loads(ok("evaluate", model, source, "--json"))
        for source in (arff, Path(DATA, "emotions.npz"), "emotions")
    ]
    assert actual[0] == actual[1] == actual[2]
    assert actual[0]["multilabel_accuracy"] > 0.25


@needs_data
@pytest.mark.slow
def test_meka_files_with_labels_of_several_values_work(ok, tmp_path):
    model, arff = tmp_path / "flare.spanforest", Path(DATA, "solar_flare.arff")
    ok("train", arff, *FEW, "--C", "10", "-o", model)
    assert predictions(ok, model, arff)["c-class"].nunique() > 1
    facts = json.loads(ok("inspect", model, "--json"))
    assert [len(label["values"]) for label in facts["labels"]] == [3, 4, 2]


def test_names_that_are_nearly_right_are_suggested(fails, songs):
    train = ("train", "songs.csv", *FEW, "-o", "m")
    assert "Did you mean 'happy'?" in fails(*train, "--labels", "hapy,sad")
    message = fails(*train, "--labels", "last:3", "--drop", "temp")
    assert "--drop must be names of columns; 'temp' not found. Did you mean" in message
    assert "Did you mean 'emotions'?" in fails("train", "emotons", "-o", "m")
    frame = pd.read_csv("songs.csv").rename(columns={"tempo": "Tempo"})
    frame.to_csv("other.csv", index=False)
    assert "Did you mean 'Tempo'?" in fails("predict", "songs.spanforest", "other.csv")


def test_an_infinite_feature_is_an_error_without_a_warning(fails, songs):
    pd.read_csv("songs.csv").assign(tempo=np.inf).to_csv("a.csv", index=False)
    message = fails("train", "a.csv", "--labels", "last:3", *FEW, "-o", "m")
    assert "are infinite, the first: 'tempo' of row 1" in message
    assert "subtract" not in message
