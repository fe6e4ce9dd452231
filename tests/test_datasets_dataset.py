"""The record of a data set, and examples and labels that are left out."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from spanforest.datasets import (
    Dataset,
    drop_degenerate,
)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


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
    actual = drop_degenerate(dataset)
    assert_array_equal(dense(actual.X), X[[0, 2, 3]])
    assert_array_equal(actual.Y, [[1], [1], [0]])  # "b" is constant once row 1 is gone
    assert actual.label_names == ("c",)
    assert actual.split == (1, 2)
    assert actual.note == "n"
    assert drop_degenerate(actual) is actual


def test_examples_with_a_zero_diagonal_are_dropped():
    K = np.diag([1.0, 0.0, 2.0])
    actual = drop_degenerate(Dataset("toy", np.array([[0], [1], [1]]), K=K))
    assert_array_equal(actual.K, np.diag([1.0, 2.0]))
    assert_array_equal(actual.Y, [[0], [1]])
    assert actual.label_names == ()


def test_a_label_with_one_known_value_is_degenerate():
    Y = np.array([[1, np.nan, 0], [np.nan, 0, 1], [1, 1, np.nan]])
    actual = drop_degenerate(Dataset("toy", X=np.eye(3), Y=Y))
    assert_array_equal(actual.Y, Y[:, 1:])
    text = np.array([["a", None], [None, "b"], ["c", "b"]], dtype=object)
    actual = drop_degenerate(Dataset("toy", X=np.eye(3), Y=text))
    assert actual.Y.tolist() == [["a"], [None], ["c"]]


def test_a_label_is_on_unless_it_is_0_the_lowest_value_or_missing():
    Y = np.array([[0, 1, "no", None], [2, 1, None, None], [1, 1, "yes", None]])
    dataset = Dataset("toy", Y)
    expected = [[0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    assert_array_equal(dataset.is_on, np.array(expected, dtype=bool))
    assert dataset.cardinality == 2
    signs = Dataset("signs", np.array([[-1.0, np.nan], [1.0, 1.0]]))
    assert_array_equal(signs.is_on, [[False, False], [True, True]])
