"""Columns of categories: numbers in their order, NaN for what training never saw."""

import datetime

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from spanforest import RandomGraphEnsembleClassifier, RandomGraphEnsembleClassifierCV
from spanforest._category_columns import CategoryColumns, point_out_dates
from spanforest.kernels import ForestKernel, SumKernel

NAMING = ForestKernel(2, categories=["c"])
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
    assert known.categories == {0: ["small", "large"]}
    assert_array_equal(known.numbers(frame), [[0, 1.5], [1, np.nan], [np.nan, 2]])


@pytest.mark.parametrize("ordered", [False, True])
def test_a_category_that_is_declared_and_does_not_occur_is_unknown(ordered):
    sizes = pd.Categorical(["large", "small"], SIZES.categories, ordered)
    known = CategoryColumns.of(pd.DataFrame({"size": sizes}), None)
    new = pd.DataFrame({"size": pd.Categorical(["medium", "small"], SIZES.categories)})
    assert_array_equal(known.numbers(new), [[np.nan], [0]])
    assert_array_equal(known.indicators(new), [[0, 0], [1, 0]])


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


def test_indicators_have_a_column_for_every_category_that_occurs():
    frame = pd.DataFrame({"weight": [1.5, np.nan, 2.0], "size": SIZES})
    known = CategoryColumns.of(frame, None)
    expected = [[1.5, 1, 0], [np.nan, 0, 1], [2.0, 0, 0]]
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


DAYS = pd.Series(pd.date_range("2024-05-01", periods=20))
TIMES = {
    "dates": (DAYS, "dates or times"),
    "dates of a time zone": (DAYS.dt.tz_localize("UTC"), "dates or times"),
    "dates with gaps": (DAYS.where(DAYS.index > 3), "dates or times"),
    "periods": (DAYS.dt.to_period("D"), "dates or times"),
    "objects": (DAYS.dt.date, "dates or times"),
    "times of day": (pd.Series([datetime.time(12)] * 20), "dates or times"),
    "durations": (DAYS - DAYS[0], r"durations .*total_seconds"),
    "objects of durations": ((DAYS - DAYS[0]).astype(object), "durations"),
}


@pytest.mark.parametrize("with_categories", [False, True])
@pytest.mark.parametrize("kernel", ["auto", "forest"])
@pytest.mark.parametrize("name", TIMES)
def test_dates_and_durations_are_no_numbers(name, kernel, with_categories):
    """The unit of a date would decide what counts as near."""
    column, kind = TIMES[name]
    frame = pd.DataFrame({"size": np.arange(20.0), "when": column})
    if with_categories:
        frame["kind"] = pd.Categorical(["low", "high"] * 10)
    clf = RandomGraphEnsembleClassifier(2, kernel=kernel)
    message = f"column 'when' of X must hold numbers; it holds {kind}"
    with pytest.raises(ValueError, match=message):
        clf.fit(frame, np.arange(40).reshape(20, 2) % 3 % 2)


def test_dates_are_no_numbers_in_any_container():
    days = DAYS.to_numpy()
    arrays = [days[:, None], np.column_stack([days.astype(object), np.arange(20)])]
    frames = [pytest.importorskip("polars").DataFrame({"when": days})]
    frames.append(pytest.importorskip("pyarrow").table({"when": days}))
    for X, name in [*((X, 0) for X in arrays), *((X, "'when'") for X in frames)]:
        with pytest.raises(ValueError, match=f"column {name} of X must hold numbers"):
            RandomGraphEnsembleClassifier(2).fit(X, np.arange(20) % 2)


def test_other_columns_are_not_taken_for_dates():
    columns = {
        "date": [1.0, 2.0],
        "time": [True, False],
        "count": pd.array([1, None], dtype="Int64"),
        "kind": pd.Categorical(DAYS[:2]),
        "objects": np.array([1, 2.5], dtype=object),
        "empty": np.array([None, None], dtype=object),
    }
    point_out_dates(pd.DataFrame(columns))
    point_out_dates(sparse.eye_array(2))
    point_out_dates([[1, 2]])
    point_out_dates(np.array([[1, "a"]], dtype=object))


def test_dates_that_are_named_as_categories_are_categories():
    frame = pd.DataFrame({"when": DAYS[:3], "size": [1.0, 2.0, 3.0]})
    known = CategoryColumns.of(frame, ["when"])
    assert_array_equal(known.numbers(frame), [[0, 1], [1, 2], [2, 3]])


def test_complex_numbers_beside_categories_are_refused():
    frame = pd.DataFrame({"kind": pd.Categorical(["a", "b"]), "z": [1j, 2.0]})
    with pytest.raises(ValueError, match="Complex data not supported: column 'z'"):
        CategoryColumns.of(frame, None).numbers(frame)


@pytest.mark.parametrize("dtype", ["category", object])
@pytest.mark.parametrize("kind", [list, SumKernel])
def test_other_kernels_take_a_missing_category_as_no_category(kind, dtype):
    colours = np.array(["red", "blue", None] * 10, dtype=object)
    frame = pd.DataFrame({"a": np.arange(30.0), "c": pd.Series(colours, dtype=dtype)})
    X = np.column_stack([np.arange(30.0), colours == "blue", colours == "red"])
    Y = np.column_stack([colours == "red", np.arange(30) > 9]).astype(int)
    models = [
        RandomGraphEnsembleClassifier(2, kernel=kind([forest, "rbf"]), random_state=0)
        for forest in (NAMING, ForestKernel(2))
    ]
    decisions = models[0].fit(frame, Y).decision_function(frame)
    assert_array_equal(decisions, models[1].fit(X, Y).decision_function(X))


@pytest.mark.parametrize("kernel", ["auto", "linear", "forest"])
@pytest.mark.parametrize("dtype", ["float64", "Float64", "category"])
@pytest.mark.parametrize("values", [np.full(20, 1j), np.full(20, 1j).astype(object)])
def test_complex_columns_are_refused_beside_columns_of_any_type(kernel, dtype, values):
    frame = pd.DataFrame({"a": pd.Series(np.arange(20) % 3).astype(dtype), "z": values})
    with pytest.raises(ValueError, match="Complex data not supported: column 'z'"):
        RandomGraphEnsembleClassifier(2, kernel=kernel).fit(frame, np.arange(20) % 2)


@pytest.mark.parametrize("value", [[1], np.array([1, 2])])
@pytest.mark.parametrize("kernel", ["auto", "forest", NAMING])
def test_columns_of_lists_are_named(kernel, value):
    column = pd.Series([value] * 20, dtype=object)
    frame = pd.DataFrame({"a": np.arange(20.0), "c": column})
    message = "column 'c' of X must hold one value in each row; found .*[1:2]"
    with pytest.raises(ValueError, match=message):
        RandomGraphEnsembleClassifier(2, kernel=kernel).fit(frame, np.arange(20) % 2)
    known = CategoryColumns.of(frame.assign(c="red"), ["c"])
    with pytest.raises(ValueError, match=message):
        known.numbers(frame)
    with pytest.raises(ValueError, match="column 1 of X must hold one value"):
        RandomGraphEnsembleClassifier(2).fit(frame.to_numpy(), np.arange(20) % 2)


def test_codes_in_place_of_categories_are_refused():
    known = CategoryColumns.of([["red", 1], ["blue", 2]], columns=[0])
    with pytest.raises(ValueError, match="such as 'blue' in training; found 1"):
        known.numbers([[1, 5]])
    numbers = CategoryColumns.of([[3, 1], [4, 2]], columns=[0])
    with pytest.raises(ValueError, match=r"numbers as categories.* found 'red'"):
        numbers.numbers([["red", 5]])
    mixed = CategoryColumns.of([["red", 1], [4, 2]], columns=[0])
    assert np.isnan(mixed.numbers([["blue", 5], [7, 5]])[:, 0]).all()
    assert np.isnan(known.numbers([[None, 5], [np.nan, 5]])[:, 0]).all()


def test_a_column_that_is_nearly_right_is_suggested():
    X = pd.DataFrame({"colour": ["red", "blue"], "size": [1, 2]})
    with pytest.raises(ValueError, match=r"no column of X. Did you mean 'colour'\?"):
        CategoryColumns.of(X, ["color"])


def table_of(texts):
    n = len(texts)
    column = pd.Series(pd.Categorical(texts))
    return pd.DataFrame({"what": column, "size": np.arange(n) % 7}), np.arange(n) % 2


DATES = pd.date_range("2024-01-01", periods=100)
CV = {"kernels": ["linear", "forest"], "Cs": [1.0], "offsets": [0.0], "cv": 2}


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "estimator",
    [
        RandomGraphEnsembleClassifier(2, kernel="linear"),
        RandomGraphEnsembleClassifier(2, kernel=["forest", "rbf"]),
        RandomGraphEnsembleClassifierCV(2, **CV),
    ],
)
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([f"id {i}" for i in range(100)], "'what' has 100 categories in 100 examples"),
        ([f"id {i % 60}" for i in range(100)], "has 60 categories in 100 examples"),
        (np.arange(100), "has 100 categories in 100 examples"),
        (DATES.astype(str), "the feature 'what' are dates, such as '2024-01-01"),
        (DATES.repeat(10)[:100], "the feature 'what' are dates, such as '2024-01-01"),
    ],
)
def test_categories_that_name_examples_or_days_are_pointed_out_once(
    estimator, texts, message
):
    with pytest.warns(UserWarning, match=message) as caught:
        estimator.set_params(tol=0.1, random_state=0).fit(*table_of(texts))
    assert len(caught) == 1


def test_categories_that_recur_are_not_pointed_out():
    X, y = table_of([f"shop {i % 40}" for i in range(100)])
    RandomGraphEnsembleClassifier(2, tol=0.1, random_state=0).fit(X, y)
    X, y = table_of(["low", "high"])  # two rows tell nothing
    RandomGraphEnsembleClassifier(2, tol=0.1, random_state=0).fit(X, y)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["auto", "forest"])
def test_categories_that_are_declared_and_do_not_occur_change_nothing(kernel):
    X, y = table_of([f"shop {i % 3}" for i in range(100)])
    clf = RandomGraphEnsembleClassifier(2, kernel=kernel, tol=0.1, random_state=0)
    expected = clf.fit(X, y).decision_function(X)
    declared = [f"shop {i}" for i in range(1000)]
    X["what"] = X["what"].cat.set_categories(declared)
    assert_array_equal(clf.fit(X, y).decision_function(X), expected)


@pytest.mark.needs_compiled
def test_categories_of_identifiers_are_counted_in_the_rows():
    X, y = table_of([f"id {i}" for i in range(10)])
    X["what"] = X["what"].cat.add_categories(["id 10"])
    clf = RandomGraphEnsembleClassifier(2, tol=0.1, random_state=0)
    with pytest.warns(UserWarning, match="'what' has 10 categories in 10 examples"):
        clf.fit(X, y)
    clf.fit(pd.concat([X] * 3), np.concatenate([y] * 3))  # these are no identifiers
