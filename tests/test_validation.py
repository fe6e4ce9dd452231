"""Reading of labels, numbers, options and random states."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from spanforest._labels import read_labels
from spanforest._parameters import (
    check_count,
    check_number,
    check_option,
    seed_sequence,
)

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
@settings(deadline=None, max_examples=50)
def test_decoding_the_codes_gives_the_labels_back(data, n_samples):
    kinds = data.draw(columns)
    drawn = [
        data.draw(st.lists(kind, min_size=n_samples, max_size=n_samples))
        for kind in kinds
    ]
    Y = pd.DataFrame({f"label {j}": column for j, column in enumerate(drawn)})
    codes, coding = read_labels(Y)
    assert coding.decode(codes).tolist() == Y.to_numpy().tolist()
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
def test_predictions_get_the_type_of_the_labels(Y, dtype):
    codes, coding = read_labels(Y)
    decoded = coding.decode(codes)
    assert decoded.dtype == dtype
    dense = Y.toarray() if sparse.issparse(Y) else np.asarray(Y, dtype=object)
    assert decoded.tolist() == dense.tolist()


@pytest.mark.parametrize("Y", [[1, 0], [[1], [0]], [["a", "b"], ["c", "d"]]])
def test_one_dimension_in_is_one_dimension_out(Y):
    codes, coding = read_labels(Y)
    assert codes.ndim == 2
    assert coding.decode(codes).shape == np.shape(Y)
    assert coding.is_vector == (np.ndim(Y) == 1)


def test_only_data_frames_name_the_labels():
    assert read_labels(frame(a=[0, 1], b=[1, 0]))[1].names.tolist() == ["a", "b"]
    assert read_labels([[0, 1], [1, 0]])[1].names is None


@pytest.mark.parametrize("dtype", [int, bool, float, np.uint8])
def test_the_classes_of_an_indicator_matrix_are_its_labels_whatever_occurs(dtype):
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


NOT_OBSERVED = "fully observed; label {} of example 1 is .* Drop or fill"


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
def test_labels_that_make_no_sense_are_refused_with_a_reason(Y, message):
    with pytest.raises(ValueError, match=message):
        read_labels(Y)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3)])
def test_numbers_above_the_minimum_pass(value):
    number = check_number("C", value)
    assert number == value
    assert type(number) is float


def test_the_minimum_itself_passes_unless_strict():
    assert check_number("C", 0, strict=False) == 0.0
    with pytest.raises(ValueError, match="C must be a number greater than 0; got 0"):
        check_number("C", 0)
    with pytest.raises(ValueError, match="C must be a number at least 0; got -1"):
        check_number("C", -1, strict=False)


@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "1", None, True, [1]])
def test_what_is_not_a_finite_number_is_refused(value):
    with pytest.raises(ValueError, match="C must be a number greater than 0; got "):
        check_number("C", value)


@pytest.mark.parametrize("value", [0, -1, 1.0, "3", None, True])
def test_counts_are_whole_and_positive(value):
    assert check_count("max_iter", np.int32(4)) == 4
    with pytest.raises(ValueError, match="max_iter must be a whole number of at least"):
        check_count("max_iter", value)


@pytest.mark.parametrize("value", ["MAM", "", None, 1, ["mam"]])
def test_unknown_options_are_refused_with_the_known_ones(value):
    with pytest.raises(ValueError, match="must be one of 'mve', 'mam'; got "):
        check_option("aggregation", value, ("mve", "mam"))


def words(root):
    return root.generate_state(4).tolist()


def test_integers_and_equal_generators_give_equal_roots():
    for make in (lambda: 5, lambda: np.int64(5)):
        assert words(seed_sequence(make())) == words(np.random.SeedSequence(5))
    for make in (np.random.RandomState, np.random.default_rng):
        assert words(seed_sequence(make(1))) == words(seed_sequence(make(1)))
        assert words(seed_sequence(make(1))) != words(seed_sequence(make(2)))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_are_drawn_from(make):
    generator = make(0)
    assert words(seed_sequence(generator)) != words(seed_sequence(generator))


def test_no_random_state_is_new_every_time_and_leaves_the_global_one_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert words(seed_sequence(None)) != words(seed_sequence(None))
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("value", [-1, "seed", 1.5])
def test_other_random_states_are_refused(value):
    with pytest.raises(ValueError, match=r"[Ss]eed"):
        seed_sequence(value)


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
def test_a_missing_label_that_no_label_can_be_is_refused(Y, missing_label, kind):
    with pytest.raises(ValueError, match=f"missing_label must be of the kind .*{kind}"):
        read_labels(Y, allow_missing=True, missing_label=missing_label)


@pytest.mark.parametrize("missing_label", [-1, "?"])
def test_a_missing_label_need_be_of_the_kind_of_one_label_only(missing_label):
    Y = frame(colour=["red", "?", "blue"], size=[3, -1, 4])
    codes, _ = read_labels(Y, allow_missing=True, missing_label=missing_label)
    assert (codes[1] == -1).tolist() == [missing_label == "?", missing_label == -1]


def test_the_name_of_a_series_is_that_of_its_label():
    _, coding = read_labels(pd.Series([0, 1, 1], name="happy"))
    assert coding.names.tolist() == ["happy"]
    assert coding.is_vector
    assert read_labels(pd.Series([0, 1, 1]))[1].names is None
    assert read_labels(pd.Series([0, 1], name=("a", 1)))[1].names.tolist() == [("a", 1)]
