"""Columns of a file: which are labels, and labels as whole numbers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spanforest.datasets._columns import Columns, whole_labels

COLUMNS = Columns(["a", "b", "c", "d"], "songs.csv")


@pytest.mark.parametrize(
    ("labels", "names"),
    [("b", ["b"]), (["d", "a"], ["d", "a"]), (1, ["a"]), (-2, ["c", "d"]), (4, "abcd")],
)
def test_labels_are_given_by_name_or_counted_from_one_end(labels, names):
    assert COLUMNS.choose(labels) == list(names)


@pytest.mark.parametrize("number", [0, 5, -5])
def test_a_number_of_labels_that_no_file_of_this_size_has_is_refused(number):
    with pytest.raises(ValueError, match=r"songs.csv: .* between 1 and 4; got"):
        COLUMNS.choose(number)


def test_dropped_columns_are_gone_and_the_others_keep_their_order():
    assert COLUMNS.without("b").names == ["a", "c", "d"]
    assert COLUMNS.without(["d", "a"]).names == ["b", "c"]
    with pytest.raises(ValueError, match=r"drop must be names of columns; 'e' not"):
        COLUMNS.without("e")
    with pytest.raises(ValueError, match="must be distinct; 'a' is there twice"):
        COLUMNS.without(["a", "a"])


def place(i, j):
    return f"row {i}, column {j}"


def test_labels_are_integers_unless_some_are_missing():
    whole = whole_labels(np.array([[0.0, 3.0]]), "songs.csv", place)
    assert whole.dtype == int
    missing = np.array([[0.0, np.nan], [2.0, 1.0]])
    assert_array_equal(whole_labels(missing, "songs.csv", place), missing)


@pytest.mark.parametrize("value", [0.5, np.inf, 2.0**60])
def test_a_label_that_is_no_whole_number_is_named_with_its_place(value):
    Y = np.array([[0.0, 1.0], [1.0, value]])
    with pytest.raises(ValueError, match=r"songs.csv: .* row 1, column 1 is"):
        whole_labels(Y, "songs.csv", place)


def test_a_name_that_is_nearly_right_is_suggested():
    columns = Columns(["tempo", "loudness", *map(str, range(20)), "happy"], "songs.csv")
    for wrong in ("hapy", "Happy"):
        with pytest.raises(ValueError, match=r"not found. Did you mean 'happy'\? The"):
            columns.check([wrong], "labels")
    with pytest.raises(ValueError, match=r"Did you mean 'tempo'\?"):
        columns.without("temp")
