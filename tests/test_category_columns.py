"""Columns of categories: numbers in their order, NaN for what training never saw."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from spanforest import RandomGraphEnsembleClassifier, RandomGraphEnsembleClassifierCV
from spanforest._category_columns import CategoryColumns

SIZES = pd.Categorical(["small", "large", None], ["small", "medium", "large"])


def test_documents_are_told_how_to_become_numbers():
    with pytest.raises(ValueError, match=r"found the text 'red .*TfidfVectorizer"):
        RandomGraphEnsembleClassifier().fit(["red green " * 9, "blue"], [[0], [1]])


def test_gaps_beside_categories_get_the_advice_of_gaps():
    kinds = pd.Categorical(["low", "high"] * 10)
    frame = pd.DataFrame({"kind": kinds, "size": [np.nan, 1.0] * 10})
    Y = np.arange(40).reshape(20, 2) % 3 % 2
    with pytest.raises(ValueError, match="kernel 'rbf' needs a number"):
        RandomGraphEnsembleClassifier(2, kernel="rbf").fit(frame, Y)


def test_the_order_of_a_pandas_category_is_kept():
    frame = pd.DataFrame({"size": SIZES, "weight": [1.5, np.nan, 2.0]})
    known = CategoryColumns.of(frame, None)
    assert known.categories == {0: ["small", "medium", "large"]}
    assert_array_equal(known.numbers(frame), [[0, 1.5], [2, np.nan], [np.nan, 2]])


def test_columns_that_are_told_are_sorted_and_unknown_values_are_missing():
    known = CategoryColumns.of([["b", 1], ["a", 2], [None, 3]], columns=[0])
    numbers = known.numbers([["a", 1], ["new", 1], [None, 1]])
    assert_array_equal(numbers, [[0, 1], [np.nan, 1], [np.nan, 1]])


def test_names_and_positions_tell_the_same_column():
    frame = pd.DataFrame({"n": [1, 2], "kind": ["x", "y"]})
    by_name, by_place = (CategoryColumns.of(frame, [c]) for c in ("kind", 1))
    assert by_name.categories == by_place.categories == {1: ["x", "y"]}


@pytest.mark.parametrize(
    "X", [np.eye(3), sparse.eye_array(3), pd.DataFrame({"a": [1]})]
)
def test_examples_without_categories_need_none(X):
    assert CategoryColumns.of(X, None) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CategoryColumns.of(sparse.eye_array(3), [0]), "need a dense X"),
        (lambda: CategoryColumns.of(np.eye(3), [3]), "positions from 0 to 2; got 3"),
        (lambda: CategoryColumns.of(np.eye(3), ["a"]), "'a', which is no column of X"),
        (
            lambda: CategoryColumns.of([["a", "b"]], [0]).numbers([["a", "b"]]),
            "column 1 of X must hold numbers; found 'b'",
        ),
        (
            lambda: CategoryColumns.of([[1, "b"]], [1]).numbers([[1]]),
            "a column for each feature of training",
        ),
    ],
)
def test_columns_that_cannot_be_read_are_refused_with_a_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_columns_of_an_arrow_table_are_read_like_those_of_a_frame():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]})
    known = CategoryColumns.of(table, columns=["colour"])
    assert [*known.categories] == [1]
    assert sorted(known.categories[1]) == ["blue", "red"]
    assert_array_equal(known.numbers(table), [[1, 1], [2, 0], [3, 1]])
    assert CategoryColumns.of(table.select(["size"]), None) is None


def test_indicators_have_a_column_for_every_category():
    frame = pd.DataFrame({"weight": [1.5, np.nan, 2.0], "size": SIZES})
    known = CategoryColumns.of(frame, None)
    expected = [[1.5, 1, 0, 0], [np.nan, 0, 0, 1], [2.0, 0, 0, 0]]
    assert_array_equal(known.indicators(frame), expected)


@pytest.mark.parametrize(
    "model", [RandomGraphEnsembleClassifier(), RandomGraphEnsembleClassifierCV()]
)
@pytest.mark.parametrize("dtype", [object, "string"])
def test_text_that_is_no_category_is_named_with_its_column(model, dtype):
    cities = pd.Series([None, "Rome", "Bern"], dtype=dtype)
    frame = pd.DataFrame({"age": [1.0, np.nan, 3.0], "city": cities})
    with pytest.raises(ValueError, match=r"column 'city' of X .* found 'Rome'. If it"):
        model.fit(frame, [[0, 1], [1, 0], [1, 1]])
    with pytest.raises(ValueError, match=r"column 1 of X .* found 'Rome'"):
        model.fit(frame.to_numpy(object), [[0, 1], [1, 0], [1, 1]])
