"""Data sets from ARFF files."""

from pathlib import Path

import numpy as np
import pytest
from arff_writer import write_arff
from data_folder import DATA, needs_data
from numpy.testing import assert_array_equal
from scipy import sparse

from spanforest.datasets import (
    Attribute,
    Relation,
    load_arff,
    load_dataset,
    load_npz,
)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


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
        ({"labels": ["p", "r"]}, "labels must be .* 'r' not found"),
        ({"labels": ["p", "p"]}, "labels must be .* twice"),
        ({"labels": ["p"], "drop": ["r"]}, "drop must be .* 'r' not found"),
        ({"labels": ["p"]}, r"'id' is a string, .* drop=\['id'\]"),
        ({"labels": ["id"]}, r"'id' is a string"),
        ({"labels": ["a"], "drop": "id"}, "label 'a' in line 9 is 1.5"),
    ],
)
def test_an_error_names_what_is_wrong_with_the_labels(toy, kwargs, message):
    with pytest.raises(ValueError, match=message):
        load_arff(toy, **kwargs)


def test_only_missing_labels_make_numbers_of_type_float(toy):
    toy.write_text(TOY.format(name="toy").replace("1.5", "2"))
    actual = load_arff(toy, ["a", "p"], drop="id")
    assert actual.Y.dtype == float
    assert_array_equal(actual.missing_labels, np.isnan(actual.Y))
    assert actual.missing_labels.any(axis=0).tolist() == [True, False]
    assert load_arff(toy, ["p"], drop="id").Y.dtype == int


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


def test_dropped_attributes_do_not_count_as_labels(toy):
    text = TOY.format(name="toy").replace("a numeric", "a integer")
    toy.write_text(text.replace("?", "1").replace("1.5", "7"))
    assert load_arff(toy, 1, drop="id").label_names == ("a",)
    assert load_arff(toy, -1, drop=["id", "q"]).label_names == ("p",)
    with pytest.raises(ValueError, match=r"5 attributes, .* between 1 and 5; got 6"):
        load_arff(toy, -6, drop="id")


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
def test_solar_flare_keeps_labels_of_many_values():
    flare = load_arff(Path(DATA, "solar_flare.arff"))
    assert flare.label_names == ("c-class", "m-class", "x-class")
    assert flare.X.shape == (323, 10)
    assert_array_equal(flare.Y.max(axis=0), [2, 4, 1])
    assert set(np.unique(flare.X[:, flare.feature_names.index("area")])) == {1, 2}


@pytest.mark.slow
@needs_data
def test_a_file_of_the_size_of_bibtex_is_read_in_seconds(tmp_path):
    bibtex = load_dataset("bibtex")
    data = sparse.csr_array(sparse.hstack([bibtex.X, sparse.csr_array(bibtex.Y)]))
    names = (*bibtex.feature_names, *bibtex.label_names)
    attributes = tuple(Attribute(name, "nominal", ("0", "1")) for name in names)
    path = tmp_path / "bibtex.arff.bz2"
    write_arff(Relation("bibtex: -C -159", attributes, data), path)
    actual = load_arff(path)
    assert abs(actual.X - bibtex.X).max() == 0
    assert_array_equal(actual.Y, bibtex.Y)
    assert actual.label_names == bibtex.label_names
