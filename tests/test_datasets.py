"""Data sets: generated, read from files, and by name."""

import os
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import get_data_home
from sklearn.model_selection import cross_val_predict
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from spanforest import datasets
from spanforest.arff import Attribute, Relation, write_arff
from spanforest.datasets import (
    PAPER_DATASETS,
    Dataset,
    drop_degenerate,
    load_arff,
    load_dataset,
    load_npz,
    make_circle,
)

DATA = os.environ.get("SPANFOREST_DATA")
needs_data = pytest.mark.skipif(
    DATA is None, reason="SPANFOREST_DATA does not name a folder with the data sets"
)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


# --- make_circle


@pytest.mark.parametrize(("n_labels", "cardinality"), [(10, 8.54), (50, 35.63)])
@pytest.mark.parametrize("seed", range(20))
def test_circle_has_the_cardinality_of_table_1(n_labels, cardinality, seed):
    _, Y = make_circle(n_labels=n_labels, random_state=seed)
    assert_allclose(Y.sum(axis=1).mean(), cardinality, rtol=0.002)


def test_circle_points_are_uniform_in_the_unit_disc():
    X, _ = make_circle(n_samples=20_000, random_state=0)
    radius = np.hypot(X[:, 0], X[:, 1])
    assert radius.max() <= 1
    # uniform over the area: the squared radius and the angle are uniform
    for uniform in (radius**2, np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi) + 0.5):
        counts, _ = np.histogram(uniform, bins=10, range=(0, 1))
        assert_allclose(counts, 2000, atol=250)
    assert_array_equal(X[:, 2], 1)


def is_separable(X, y):
    """Whether a linear function is at least 1 on one side and at most -1 beyond."""
    signs = 2 * y - 1
    found = linprog(
        np.zeros(X.shape[1]),
        A_ub=-signs[:, np.newaxis] * X,
        b_ub=-np.ones(len(y)),
        bounds=(None, None),
    )
    return found.status == 0


@pytest.mark.parametrize(("n_labels", "n_planes"), [(2, 1), (10, 1), (50, 5)])
def test_circle_labels_are_a_few_half_planes_and_nothing_linear(n_labels, n_planes):
    X, Y = make_circle(n_labels=n_labels, random_state=0)
    separable = [is_separable(X, y) for y in Y.T]
    assert_array_equal(separable, np.arange(n_labels) < n_planes)


def test_circle_half_planes_imply_the_ors_they_are_part_of():
    _, Y = make_circle(n_labels=50, random_state=0)
    planes, ors = Y[:, :5], Y[:, 5:]
    for plane in planes.T:
        implied = (ors >= plane[:, np.newaxis]).all(axis=0)
        assert 6 <= implied.sum() < 45  # it is paired with three directions either side


@pytest.mark.parametrize("n_labels", [2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 75, 100])
def test_circle_labels_differ_and_vary_for_any_number_of_labels(n_labels):
    X, Y = make_circle(n_samples=2000, n_labels=n_labels, random_state=0)
    assert Y.shape == (2000, n_labels)
    assert X.shape == (2000, 3)
    assert set(np.unique(Y)) == {0, 1}
    assert Y.min(axis=0).max() == 0
    assert Y.max(axis=0).min() == 1
    assert len(np.unique(Y, axis=1).T) == n_labels
    assert 0.71 < Y.mean() < 0.86


def test_circle_depends_on_the_seed_alone():
    for one, other in zip(
        make_circle(random_state=3), make_circle(random_state=3), strict=True
    ):
        assert_array_equal(one, other)
    assert (make_circle(random_state=3)[1] != make_circle(random_state=4)[1]).any()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [({"n_samples": 0}, "n_samples .* got 0"), ({"n_labels": 1}, "n_labels .* got 1")],
)
def test_circle_refuses_sizes_that_make_no_sense(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_circle(**kwargs)


def test_circle_of_one_point():
    X, Y = make_circle(n_samples=1, random_state=0)
    assert X.shape == (1, 3)
    assert Y.shape == (1, 10)


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [10, 50])
def test_a_linear_svm_gets_about_95_percent_of_circle(n_labels):
    X, Y = make_circle(n_labels=n_labels, random_state=0)
    svm = MultiOutputClassifier(LinearSVC(C=10, dual=False))
    accuracy = (cross_val_predict(svm, X, Y, cv=5) == Y).mean()
    assert 0.94 < accuracy < 0.965


# --- load_arff

TOY = """@relation '{name}'
@attribute id string
@attribute a numeric
@attribute b {{x, y, z}}
@attribute c {{YES, NO}}
@attribute p {{0, 1}}
@attribute q {{2, 0, 1}}
@data
i1, 1.5, z, NO, 1, 2
i2, ?, x, YES, 0, 1
"""


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.arff"
    path.write_text(TOY.format(name="toy"))
    return path


XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="q"></label><label name="p"><label name="c"/></label>
</labels>"""


def test_labels_by_number_by_name_and_by_file(toy, tmp_path):
    (tmp_path / "named.xml").write_text(XML)
    last = load_arff(toy, -2, drop="id")
    named = load_arff(toy, ["q", "p"], drop=["id"])
    xml = load_arff(toy, tmp_path / "named.xml", drop=["id"])

    assert last.label_names == ("p", "q")
    assert_array_equal(last.Y, [[1, 2], [0, 1]])
    assert last.feature_names == ("a", "b", "c")
    assert_array_equal(last.X, [[1.5, 2, 0], [np.nan, 0, 1]])
    assert_array_equal(last.nominal_features, [False, True, False])
    assert named.label_names == ("q", "p")
    assert_array_equal(named.Y, last.Y[:, ::-1])
    assert xml.label_names == ("q", "p", "c")
    assert xml.feature_names == ("a", "b")
    assert last.name == "toy"


@pytest.mark.parametrize(
    ("option", "labels"),
    [("toy: -C 2", ("a",)), ("toy: -C -2", ("p", "q")), ("-X -C  1 -Y", ())],
)
def test_labels_by_the_option_of_meka(toy, option, labels):
    text = TOY.format(name=option).replace("a numeric", "a integer")
    toy.write_text(text.replace("?", "1").replace("1.5", "7"))
    assert load_arff(toy, drop="id").label_names == labels


def test_an_xml_file_beside_comes_before_the_option(toy, tmp_path):
    toy.write_text(TOY.format(name="toy: -C 2"))
    (tmp_path / "toy.xml").write_text(XML)
    assert load_arff(toy, drop="id").label_names == ("q", "p", "c")


def test_sparse_files_give_what_dense_files_give(tmp_path):
    rng = np.random.default_rng(0)
    attributes = (
        Attribute("a"),
        Attribute("b", "nominal", ("YES", "NO")),  # omitted stands for 1
        Attribute("c", "nominal", ("3", "0")),
        Attribute("d", "nominal", ("x", "y", "z")),
        Attribute("p", "nominal", ("1", "0")),
        Attribute("q", "nominal", ("0", "1")),
    )
    codes = rng.integers(0, 2, size=(30, 6)).astype(float)
    codes[3, 1] = codes[4, 0] = np.nan
    write_arff(Relation("r", attributes, codes), tmp_path / "dense.arff")
    write_arff(
        Relation("r", attributes, sparse.csr_array(codes)), tmp_path / "sparse.arff.gz"
    )
    one = load_arff(tmp_path / "dense.arff", -2)
    other = load_arff(tmp_path / "sparse.arff.gz", -2)
    assert sparse.issparse(other.X)
    assert other.X.format == "csr"
    assert_array_equal(other.X.toarray(), one.X)
    assert_array_equal(other.Y, one.Y)
    assert_array_equal(one.Y[:, 0], 1 - codes[:, 4])
    assert other.name == "sparse"


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"labels": None, "drop": "id"}, "no toy.xml next to it, and no '-C n'"),
        ({"labels": 0}, "between 1 and 6"),
        ({"labels": -7}, "between 1 and 6"),
        ({"labels": ["p", "r"]}, "labels must be .* 'r' is none"),
        ({"labels": ["p", "p"]}, "labels must be .* twice"),
        ({"labels": ["p"], "drop": ["r"]}, "drop must be .* 'r' is none"),
        ({"labels": ["p"]}, r"'id' is a string, .* drop=\['id'\]"),
        ({"labels": ["id"]}, r"'id' is a string"),
        ({"labels": ["a"], "drop": "id"}, "label 'a' in line 9 is 1.5"),
    ],
)
def test_what_is_wrong_with_the_labels_is_told(toy, kwargs, message):
    with pytest.raises(ValueError, match=message):
        load_arff(toy, **kwargs)


def test_only_missing_labels_make_numbers_of_type_float(toy):
    toy.write_text(TOY.format(name="toy").replace("1.5", "2"))
    found = load_arff(toy, ["a", "p"], drop="id")
    assert found.Y.dtype == float
    assert_array_equal(found.missing_labels, np.isnan(found.Y))
    assert found.missing_labels.any(axis=0).tolist() == [True, False]
    assert load_arff(toy, ["p"], drop="id").Y.dtype == int


def test_a_label_with_one_known_value_is_degenerate():
    Y = np.array([[1, np.nan, 0], [np.nan, 0, 1], [1, 1, np.nan]])
    found = drop_degenerate(Dataset("toy", X=np.eye(3), Y=Y))
    assert_array_equal(found.Y, Y[:, 1:])
    text = np.array([["a", None], [None, "b"], ["c", "b"]], dtype=object)
    found = drop_degenerate(Dataset("toy", X=np.eye(3), Y=text))
    assert found.Y.tolist() == [["a"], [None], ["c"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<labels><label name='p'/>", r"bad\.xml, line 1"),
        ("<labels/>", "found 0 label"),
        ("<labels><label/></labels>", "0 of them with a name"),
    ],
)
def test_a_bad_xml_file_is_told(toy, tmp_path, text, message):
    (tmp_path / "bad.xml").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_arff(toy, tmp_path / "bad.xml")


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (("0", "1"), [0, 1]),
        (("1", "0"), [1, 0]),
        (("-1", "+1"), [-1, 1]),
        (("0", "1", "2", "3", "4"), [0, 1, 2, 3, 4]),
        (("2", "7"), [2, 7]),
        (("01", "1"), [0, 1]),
        (("YES", "NO"), [1, 0]),
        (("False", "true"), [0, 1]),
        (("no", "n"), [0, 1]),
        (("b", "a", "c"), [0, 1, 2]),
        (("1", "a"), [0, 1]),
    ],
)
def test_labels_keep_the_values_that_are_numbers(tmp_path, values, numbers):
    path = tmp_path / "r.arff"
    attributes = (Attribute("x"), Attribute("y", "nominal", values))
    codes = np.arange(len(values), dtype=float)
    write_arff(Relation("r", attributes, np.column_stack([codes, codes])), path)
    assert_array_equal(load_arff(path, ["y"]).Y[:, 0], numbers)


# --- load_npz


def test_npz_with_features_with_sparse_features_and_with_a_kernel(tmp_path):
    X = np.array([[0.0, 1.5], [2.0, 0.0]])
    Y = np.array([[0, 1], [1, 1]], dtype=np.uint8)
    parts = sparse.csr_array(X.astype(np.float32))
    np.savez(
        tmp_path / "a.npz", X=X, Y=Y, label_names=["p", "q"], split=[1, 1], other=[1]
    )
    np.savez(
        tmp_path / "b.npz",
        X_data=parts.data,
        X_indices=parts.indices,
        X_indptr=parts.indptr,
        X_shape=parts.shape,
        Y=Y,
    )
    np.savez(tmp_path / "c.npz", K=X @ X.T, Y=Y, feature_names=np.array([], dtype=str))

    a, b, c = (load_npz(tmp_path / f"{name}.npz") for name in "abc")
    assert a.name == "a"
    assert a.label_names == ("p", "q")
    assert a.split == (1, 1)
    assert_array_equal(a.X, X)
    assert_array_equal(b.X.toarray(), X)
    assert b.X.dtype == np.float64
    assert c.X is None
    assert c.n_features == 0
    assert_array_equal(c.K, X @ X.T)
    for dataset in (a, b, c):
        assert_array_equal(dataset.Y, Y)
        assert (dataset.Y - 1).min() == -1  # signed: uint8 would wrap around
        assert dataset.cardinality == 1.5
        assert dataset.density == 0.75


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros((2, 1))}, "expected Y .* found X"),
        ({"z": [1]}, "found none of these"),
        ({"X": np.zeros((2, 1)), "K": np.eye(2), "Y": np.eye(2)}, "one of"),
        ({"X": np.zeros((3, 1)), "Y": np.eye(2)}, r"\(2, 2\) and \(3, 1\)"),
        ({"X": np.zeros((2, 1)), "Y": np.ones(2)}, "must be a matrix"),
        ({"X": np.zeros(2), "Y": np.eye(2)}, "must be a matrix"),
        ({"K": np.ones((2, 3)), "Y": np.eye(2)}, "square"),
        ({"X_data": np.ones(1), "Y": np.eye(2)}, "CSR matrix"),
        ({"X": np.zeros((2, 1)), "Y": np.array([["a"], [None]])}, "plain arrays"),
    ],
)
def test_what_is_wrong_with_an_archive_is_told(tmp_path, arrays, message):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=r"bad\.npz: .*" + message):
        load_npz(tmp_path / "bad.npz")


def test_examples_to_predict_for_need_no_labels_and_no_square_kernel(tmp_path):
    path = tmp_path / "new.npz"
    np.savez(path, X=np.eye(3))
    with pytest.raises(ValueError, match="expected Y and one of X"):
        load_npz(path)
    assert load_npz(path, is_complete=False).Y.shape == (3, 0)
    np.savez(path, K=np.ones((2, 5)), Y=[[1], [0]])
    with pytest.raises(ValueError, match="K square"):
        load_npz(path)
    assert load_npz(path, is_complete=False).K.shape == (2, 5)
    np.savez(path, Y=[[1]])
    with pytest.raises(ValueError, match="expected one of X, X_data"):
        load_npz(path, is_complete=False)


def test_dropped_attributes_do_not_count_as_labels(toy):
    text = TOY.format(name="toy").replace("a numeric", "a integer")
    toy.write_text(text.replace("?", "1").replace("1.5", "7"))
    assert load_arff(toy, 1, drop="id").label_names == ("a",)
    assert load_arff(toy, -1, drop=["id", "q"]).label_names == ("p",)
    with pytest.raises(ValueError, match=r"5 attributes, .* between 1 and 5; got 6"):
        load_arff(toy, -6, drop="id")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04", None])
def test_what_is_no_archive_is_told(tmp_path, content):
    path = tmp_path / "bad.npz"
    if content is None:
        with path.open("wb") as file:
            np.save(file, np.eye(2))
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz: expected a NumPy archive"):
        load_npz(path)


# --- Dataset and drop_degenerate


def test_a_dataset_is_immutable():
    dataset = Dataset("toy", np.eye(2, dtype=int))
    with pytest.raises(FrozenInstanceError):
        dataset.name = "other"


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_zero_rows_and_constant_labels_are_dropped(container):
    X = np.array([[1.0, 0], [0, 0], [0, 2], [3, 1]])
    Y = np.array([[1, 0, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    dataset = Dataset(
        "toy", Y, container(X), label_names=("a", "b", "c"), split=(2, 2), note="n"
    )
    found = drop_degenerate(dataset)
    assert_array_equal(dense(found.X), X[[0, 2, 3]])
    assert_array_equal(found.Y, [[1], [1], [0]])  # "b" is constant once row 1 is gone
    assert found.label_names == ("c",)
    assert found.split == (1, 2)
    assert found.note == "n"
    assert drop_degenerate(found) is found


def test_examples_with_a_zero_diagonal_are_dropped():
    K = np.diag([1.0, 0.0, 2.0])
    found = drop_degenerate(Dataset("toy", np.array([[0], [1], [1]]), K=K))
    assert_array_equal(found.K, np.diag([1.0, 2.0]))
    assert_array_equal(found.Y, [[0], [1]])
    assert found.label_names == ()


# --- load_dataset


def openml_like(X, Y):
    """What scikit-learn's fetch_openml gives for a multilabel set."""
    return Bunch(
        data=X,
        target=np.where(Y > 0, "TRUE", "FALSE").astype(object),
        feature_names=[f"f{j}" for j in range(X.shape[1])],
        target_names=[f"l{j}" for j in range(Y.shape[1])],
    )


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)


@pytest.fixture
def openml(monkeypatch):
    """Replace OpenML by a function; give the list of its calls."""
    calls = []

    def install(answer):
        def fetch(**kwargs):
            calls.append(kwargs)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(datasets._named, "fetch_openml", fetch)
        return calls

    return install


def emotions_like():
    """Data with the size and cardinality of emotions."""
    Y = np.zeros((593, 6), dtype=int)
    Y.flat[np.arange(0, 593 * 6, 3)[:1108]] = 1
    return np.random.default_rng(0).normal(size=(593, 72)), Y


@pytest.mark.parametrize(("name", "n_labels"), [("Circle10", 10), ("CIRCLE50", 50)])
def test_circle_is_generated_by_name(no_data, name, n_labels):
    dataset = load_dataset(name)
    X, Y = make_circle(n_labels=n_labels, random_state=0)
    assert dataset.name == name.lower()
    assert_array_equal(dataset.X, X)
    assert_array_equal(dataset.Y, Y)
    assert len(dataset.label_names) == n_labels


@pytest.mark.parametrize("from_environment", [True, False])
@pytest.mark.parametrize("form", ["npz", "arff"])
def test_a_set_is_found_in_a_folder(monkeypatch, tmp_path, form, from_environment):
    X, Y = emotions_like()
    if form == "npz":
        np.savez(tmp_path / "emotions.npz", X=X, Y=Y)
    else:
        attributes = [Attribute(f"a{j}") for j in range(78)]
        data = np.hstack([X, Y])
        write_arff(Relation("e: -C -6", attributes, data), tmp_path / "emotions.arff")
    monkeypatch.setenv("SPANFOREST_DATA", str(tmp_path if from_environment else "none"))
    found = load_dataset("Emotions", None if from_environment else tmp_path)
    assert_array_equal(found.X, X)
    assert_array_equal(found.Y, Y)
    assert found.name == "emotions"


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_set_that_is_in_no_folder_is_fetched(no_data, openml, container):
    X, Y = emotions_like()
    calls = openml(openml_like(container(X), Y))
    found = load_dataset("emotions")
    assert_array_equal(dense(found.X), X)
    assert_array_equal(found.Y, Y)
    assert found.label_names == ("l0", "l1", "l2", "l3", "l4", "l5")
    assert [call["data_id"] for call in calls] == [40589]


def test_identifiers_are_dropped_from_what_is_fetched(no_data, openml):
    X = np.zeros((662, 1186))
    X[:, 0] = np.arange(662)
    Y = np.zeros((662, 27), dtype=int)
    Y.flat[np.arange(0, 662 * 27, 7)[:829]] = 1
    bunch = openml_like(X, Y)
    bunch.feature_names[0] = "protein"
    openml(bunch)
    assert not load_dataset("genbase").X.any()


def test_without_network_the_message_says_what_to_do(no_data, openml, tmp_path):
    openml(OSError("no route to host"))
    with pytest.raises(FileNotFoundError, match=r"no route.*needs a folder.*data_home"):
        load_dataset("yeast")
    with pytest.raises(FileNotFoundError, match=r"is not in .*SPANFOREST_DATA"):
        load_dataset("yeast", tmp_path)


def test_a_set_that_openml_lacks_is_not_asked_for(no_data, openml, tmp_path):
    calls = openml(AssertionError("not to be called"))
    with pytest.raises(FileNotFoundError, match=r"nci60_subset\.npz"):
        load_dataset("nci60", tmp_path)
    assert not calls


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"emotions, .*genbase; got 'iris'"):
        load_dataset("iris")


@pytest.mark.parametrize("change", ["row", "feature", "label", "cardinality"])
def test_data_that_are_not_the_set_are_refused(tmp_path, change):
    X, Y = emotions_like()
    if change == "row":
        X, Y = X[1:], Y[1:]
    elif change == "feature":
        X = X[:, 1:]
    elif change == "label":
        Y = Y[:, 1:]
    else:
        Y[0] = 1
    np.savez(tmp_path / "emotions.npz", X=X, Y=Y)
    with pytest.raises(ValueError, match=r"emotions must have .*emotions\.npz"):
        load_dataset("emotions", tmp_path)


def test_the_paper_has_ten_data_sets():
    assert len(set(PAPER_DATASETS)) == 10
    assert set(PAPER_DATASETS) <= set(datasets._named._KNOWN)


# --- the real data


@needs_data
@pytest.mark.parametrize("name", sorted(datasets._named._KNOWN))
def test_every_name_gives_its_data_set(name):
    dataset = load_dataset(name.upper())  # checks size and cardinality
    assert dataset.name == name
    assert (dataset.X is None) != (dataset.K is None)
    assert dataset.Y.min() == 0
    assert dataset.Y.max() == 1
    assert len(dataset.label_names) == dataset.n_labels
    assert len(dataset.feature_names) == dataset.n_features
    assert dataset.is_text == (name in ("enron", "medical", "bibtex", "tmc2007_500"))
    assert bool(dataset.note) == (name == "nci60")


@needs_data
@pytest.mark.parametrize("name", ["emotions", "yeast", "cal500", "enron", "medical"])
def test_arff_and_npz_hold_the_same_rows(name):
    arff = load_arff(Path(DATA, f"{name}.arff.bz2"))
    npz = load_npz(Path(DATA, f"{name}.npz"))
    assert arff.feature_names == npz.feature_names
    assert arff.label_names == npz.label_names
    rows = [np.hstack([dense(d.X), d.Y]) for d in (arff, npz)]
    # the order of the rows may differ: compare them sorted
    one, other = (matrix[np.lexsort(matrix.T)] for matrix in rows)
    assert_array_equal(one, other)


@needs_data
def test_the_xml_file_decides_where_the_option_is_out_of_date():
    path = Path(DATA, "medical.arff.bz2")  # its relation says -C 45, labels come last
    assert load_arff(path).label_names == load_arff(path, -45).label_names


@needs_data
def test_solar_flare_keeps_labels_of_many_values():
    flare = load_arff(Path(DATA, "solar_flare.arff"))
    assert flare.label_names == ("c-class", "m-class", "x-class")
    assert flare.X.shape == (323, 10)
    assert_array_equal(flare.Y.max(axis=0), [2, 4, 1])
    assert set(np.unique(flare.X[:, flare.feature_names.index("area")])) == {1, 2}


@needs_data
def test_the_fingerprint_set_has_two_labels_without_positives():
    assert drop_degenerate(load_dataset("fingerprint")).n_labels == 284


@pytest.mark.slow
@needs_data
def test_a_file_of_the_size_of_bibtex_is_read_in_seconds(tmp_path):
    bibtex = load_dataset("bibtex")
    data = sparse.csr_array(sparse.hstack([bibtex.X, sparse.csr_array(bibtex.Y)]))
    names = (*bibtex.feature_names, *bibtex.label_names)
    attributes = tuple(Attribute(name, "nominal", ("0", "1")) for name in names)
    path = tmp_path / "bibtex.arff.bz2"
    write_arff(Relation("bibtex: -C -159", attributes, data), path)
    found = load_arff(path)
    assert abs(found.X - bibtex.X).max() == 0
    assert_array_equal(found.Y, bibtex.Y)
    assert found.label_names == bibtex.label_names


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "yeast", "scene", "enron", "genbase"])
def test_openml_has_the_set(no_data, name):
    assert load_dataset(name).name == name
    assert Path(get_data_home()).is_dir()


def test_an_archive_keeps_missing_labels_and_refuses_other_strange_ones(tmp_path):
    path, Y = tmp_path / "gaps.npz", np.array([[0.0, np.nan], [1.0, 1.0]])
    np.savez(path, X=np.eye(2), Y=Y)
    assert_array_equal(load_npz(path).Y, Y)
    for strange in (np.inf, 0.5):
        np.savez(path, X=np.eye(2), Y=np.array([[0.0, strange], [1.0, 1.0]]))
        with pytest.raises(ValueError, match=r"gaps\.npz: Y must hold whole numbers"):
            load_npz(path)
