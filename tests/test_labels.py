"""Labels of any kind become codes, and codes become labels again."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from strategies import trials

from spanforest import (
    MMCRFClassifier,
)
from spanforest._labels import read_labels

INDICATOR = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0]])
WORDS = np.array([["no", "red"], ["yes", "blue"], ["no", "green"]])


def frame(**columns):
    return pd.DataFrame(columns)


columns = st.lists(
    st.sampled_from(
        [
            st.integers(-5, 5),
            st.sampled_from(["a", "b", "a long name"]),
            st.booleans(),
            st.integers(-3, 3).map(float),
        ]
    ),
    min_size=1,
    max_size=4,
)


@given(st.data(), st.integers(1, 6))
@trials(50)
def test_decoding_the_codes_returns_the_labels(data, n_samples):
    kinds = data.draw(columns)
    drawn = [
        data.draw(st.lists(kind, min_size=n_samples, max_size=n_samples))
        for kind in kinds
    ]
    Y = pd.DataFrame({f"label {j}": column for j, column in enumerate(drawn)})
    codes, coding = read_labels(Y)
    assert coding.to_labels(codes).tolist() == Y.to_numpy().tolist()
    assert (codes.max(axis=0) < coding.n_values).all()
    assert (codes.min(axis=0) == 0).all()
    for values in coding.classes:
        assert_array_equal(values, sorted(set(values.tolist())))


@pytest.mark.parametrize(
    ("Y", "dtype"),
    [
        (INDICATOR, "int64"),
        (INDICATOR.astype(np.uint8), "uint8"),
        (INDICATOR.astype(bool), "bool"),
        (INDICATOR.astype(float), "float64"),
        (INDICATOR.tolist(), "int64"),
        (sparse.csr_matrix(INDICATOR), "int64"),
        (sparse.csc_array(INDICATOR), "int64"),
        (frame(a=[0, 1, 0], b=[1, 1, 0]), "int64"),
        (frame(a=[False, True, False], b=[1, 1, 0]), "int64"),
        (frame(a=[0, 1, 0], b=[1.0, 1.0, 0.0]), "float64"),
        (frame(a=[0, 1, 0]).astype("Int64"), "int64"),
        (frame(a=[False, True, False]).astype("boolean"), "bool"),
        (WORDS, "<U5"),
        (WORDS.astype(object), "object"),
        (WORDS.tolist(), "<U5"),
        (frame(a=["no", "yes", "no"], b=["r", "b", "g"]), "<U3"),
        (frame(a=["no", "yes", "no"]).astype("string"), "<U3"),
        (frame(a=["no", "yes", "no"]).astype("category"), "<U3"),
        (frame(a=["no", "yes", "no"], b=[3, 1, 4]), "object"),
        ([["no", 3], ["yes", 1]], "object"),
        ([0, 1, 2], "int64"),
        (["b", "a"], "<U1"),
        (pd.Series(["b", "a"], dtype=object), "object"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_decoded_labels_have_the_type_of_the_labels(Y, dtype):
    codes, coding = read_labels(Y)
    decoded = coding.to_labels(codes)
    assert decoded.dtype == dtype
    dense = Y.toarray() if sparse.issparse(Y) else np.asarray(Y, dtype=object)
    assert decoded.tolist() == dense.tolist()


@pytest.mark.parametrize("Y", [[1, 0], [[1], [0]], [["a", "b"], ["c", "d"]]])
def test_decoded_labels_have_the_shape_of_the_labels(Y):
    codes, coding = read_labels(Y)
    assert codes.ndim == 2
    assert coding.to_labels(codes).shape == np.shape(Y)
    assert coding.is_vector == (np.ndim(Y) == 1)


def test_the_columns_of_a_data_frame_name_the_labels():
    assert read_labels(frame(a=[0, 1], b=[1, 0]))[1].names.tolist() == ["a", "b"]
    assert read_labels([[0, 1], [1, 0]])[1].names is None


@pytest.mark.parametrize("dtype", [int, bool, float, np.uint8])
def test_the_classes_of_an_indicator_matrix_are_the_numbers_of_its_labels(dtype):
    _, coding = read_labels(INDICATOR.astype(dtype))
    assert coding.n_values.tolist() == [2, 2, 1]
    assert_array_equal(coding.sklearn_classes, np.arange(len(coding.classes)))


@pytest.mark.parametrize("Y", [[[-1, 1], [1, 1]], [[2, 0], [1, 0]], WORDS])
def test_other_labels_have_a_list_of_classes(Y):
    _, coding = read_labels(Y)
    assert isinstance(coding.sklearn_classes, list)
    for j, found in enumerate(coding.sklearn_classes):
        assert_array_equal(found, np.unique(np.array(Y)[:, j]))


def test_the_classes_of_a_vector_are_one_array():
    assert read_labels(["b", "a", "b"])[1].sklearn_classes.tolist() == ["a", "b"]


NOT_OBSERVED = "fully observed; label {} of example 1 is .* means missing. Drop or fill"


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (None, "requires y to be passed"),
        (7, r"shape \(n_samples, n_labels\).*got an array with 0 dimensions"),
        (np.zeros((2, 2, 2)), r"got an array with 3 dimensions, shape \(2, 2, 2\)"),
        (np.zeros((0, 2)), r"at least one example and one label; got shape \(0, 2\)"),
        (np.zeros((2, 0)), r"at least one example and one label; got shape \(2, 0\)"),
        ([], r"at least one example and one label; got shape \(0,\)"),
        (frame().reindex(range(3)), r"at least one .* got shape \(3, 0\)"),
        (sparse.csr_array((0, 2)), r"at least one .* got shape \(0, 2\)"),
        ([["a"], ["a", "b"]], "rows of different lengths.*MultiLabelBinarizer"),
        ([{"a"}, {"a", "b"}], "got a set in label 0.*MultiLabelBinarizer"),
        (pd.Series([["a"], ["b"]]), "got a list in label 0.*MultiLabelBinarizer"),
        (pd.DataFrame({"tags": [["a"], ["b"]]}), "got a list in label tags of example"),
        ([[0.0, 1.0], [0.0, np.nan]], NOT_OBSERVED.format(1)),
        ([[0.0, 1.0], [0.0, np.inf]], "hold classes; label 1 of example 1 is infinity"),
        (np.ma.masked_array([0, 1], [False, True]), NOT_OBSERVED.format(0)),
        ([0.0, np.nan], NOT_OBSERVED.format(0)),
        (np.array(["a", None], dtype=object), NOT_OBSERVED.format(0)),
        (frame(x=["a", None]), NOT_OBSERVED.format("x")),
        (frame(x=["a", None]).astype("string"), NOT_OBSERVED.format("x")),
        (frame(x=["a", None]).astype("category"), NOT_OBSERVED.format("x")),
        (frame(x=[1, None]).astype("Int64"), NOT_OBSERVED.format("x")),
        (pd.Series(["a", None], dtype="string"), NOT_OBSERVED.format(0)),
        ([[0, 1.0], [0, 0.5]], "label 1 of example 1 is 0.5. Bin such values"),
        (frame(x=[1.0, 0.5]), "label x of example 1 is 0.5. Bin such values"),
        (np.array([1j, 2j]), "Complex data not supported"),
        (["a", 1], "comparable; label 0 mixes int and str. Convert"),
        (frame(x=["a", 1]), "comparable; label x mixes int and str. Convert"),
    ],
)
def test_labels_that_cannot_be_read_are_refused_with_a_reason(Y, message):
    with pytest.raises(ValueError, match=message):
        read_labels(Y)


def test_columns_of_the_same_name_are_refused():
    twice = pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        read_labels(twice)


@pytest.mark.parametrize(
    ("Y", "missing_label", "kind"),
    [
        (WORDS, -1, "which are text; got a number, -1"),
        (WORDS.tolist(), -1, "which are text; got a number, -1"),
        (INDICATOR, "?", "which are numbers; got text, '?'"),
        (INDICATOR.tolist(), "-1", "which are numbers; got text, '-1'"),
    ],
)
def test_a_missing_label_of_another_type_than_all_labels_is_refused(
    Y, missing_label, kind
):
    with pytest.raises(ValueError, match=f"missing_label must be of the type .*{kind}"):
        read_labels(Y, allow_missing=True, missing_label=missing_label)


@pytest.mark.parametrize("missing_label", [-1, "?"])
def test_a_missing_label_may_have_the_type_of_any_one_label(missing_label):
    Y = frame(colour=["red", "?", "blue"], size=[3, -1, 4])
    codes, _ = read_labels(Y, allow_missing=True, missing_label=missing_label)
    assert (codes[1] == -1).tolist() == [missing_label == "?", missing_label == -1]


def test_the_name_of_a_series_names_its_label():
    _, coding = read_labels(pd.Series([0, 1, 1], name="happy"))
    assert coding.names.tolist() == ["happy"]
    assert coding.is_vector
    assert read_labels(pd.Series([0, 1, 1]))[1].names is None
    assert read_labels(pd.Series([0, 1], name=("a", 1)))[1].names.tolist() == [("a", 1)]


# --- which value is on -------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1], [False, True]),
        ([0], [False]),
        ([1], [True]),
        ([True], [True]),
        ([False], [False]),
        ([1.0], [True]),
        ([0.0, 1.0], [False, True]),
        ([2], [False]),
        ([-1, 1], [False, True]),
        ([1, 2], [False, True]),
        ([0, 2], [False, True]),
        ([0, 1, 2], [False, True, True]),
        (["yes"], [False]),
        (["no", "yes"], [False, True]),
        (["blue", "green", "red"], [False, True, True]),
    ],
    ids=str,
)
def test_zero_is_off_one_is_on_and_of_other_values_the_lowest_is_off(values, expected):
    _, coding = read_labels([[value] for value in values])
    assert [is_on.tolist() for is_on in coding.is_on] == [expected]


def test_every_label_has_its_own_rule():
    _, coding = read_labels(frame(a=[1, 1], b=["x", "x"], c=[3, 4], d=[0, 0]))
    on = [is_on.tolist() for is_on in coding.is_on]
    assert on == [[True], [False], [False, True], [False]]


def test_missing_entries_do_not_change_which_value_is_on():
    _, coding = read_labels([[1, 3], [np.nan, np.nan]], allow_missing=True)
    assert [is_on.tolist() for is_on in coding.is_on] == [[True], [False]]


@pytest.mark.parametrize("large", [5, 2**63 + 5])
def test_whole_numbers_of_two_types_stay_whole(large):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"a": np.array([1, large], dtype=np.uint64), "b": np.array([-1, 2])}
    )
    codes, coding = read_labels(frame)
    assert coding.to_labels(codes).tolist() == [[1, -1], [large, 2]]
    assert coding.dtype.kind in "iO"


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_tables_of_other_libraries_keep_their_names_and_missing_values(library):
    """Columns in another order are put in order, or a score would be wrong."""
    make = pytest.importorskip(library)
    new_table = make.table if library == "pyarrow" else make.DataFrame
    table = new_table({"a": [0, 1, 1], "b": [True, None, False], "c": ["x", "y", "x"]})
    codes, coding = read_labels(table, allow_missing=True)
    assert codes.tolist() == [[0, 1, 0], [1, -1, 1], [1, 0, 0]]
    assert coding.names.tolist() == ["a", "b", "c"]


def test_columns_of_an_arrow_table_are_put_in_the_order_of_fit():
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    frame = pd.DataFrame({"a": X[:, 0].astype(int), "b": X[:, 1].astype(int)})
    table = pa.Table.from_pandas(frame)
    for y in (frame, table):
        model = MMCRFClassifier(C=10, random_state=0).fit(X, y)
        for other in (frame, table):
            assert model.score(X, other) == 1
        assert model.score(X, table.select(["b", "a"])) == 1
        with pytest.raises(ValueError, match="must be the labels of fit"):
            model.score(X, table.rename_columns(["a", "c"]))
    with pytest.raises(ValueError, match="must have different names"):
        model.fit(X, table.rename_columns(["a", "a"]))


def test_of_many_labels_that_never_vary_the_first_are_named():
    coding = read_labels(np.ones((2, 9)))[1]
    assert coding.constants.startswith("0 (always 1.0), 1 (always 1.0), ")
    assert coding.constants.endswith("4 (always 1.0), ... (9 in all)")
    assert read_labels([[0, 1], [1, 0]])[1].constants == ""
