"""Which of the training examples the search sees."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from spanforest.tuning._examples import MOST_COMPARED, Examples, search_rows


def test_the_search_sees_a_random_part_of_many_examples():
    Y = np.zeros((9000, 2), dtype=int)
    rows = search_rows(Y, ["rbf", "linear"], 3)
    assert len(np.unique(rows)) == MOST_COMPARED
    assert rows.max() < 9000
    assert_array_equal(rows, search_rows(Y, ["linear", "rbf"], 3))
    assert not np.array_equal(rows, search_rows(Y, ["rbf"], 4))
    assert search_rows(Y, ["linear"], 3) is None
    assert search_rows(Y[:MOST_COMPARED], ["rbf"], 3) is None


def test_the_part_has_an_example_of_every_label():
    Y = np.full((9000, 3), -1)
    Y[:, 0] = 0
    Y[[17, 18], 1] = 0
    Y[8999, 2] = 1
    for seed in range(5):
        assert (Y[search_rows(Y, ["rbf"], seed)] >= 0).any(axis=0).all()


def test_the_part_has_an_example_of_every_value_of_every_label():
    Y = np.zeros((9000, 2), dtype=int)
    Y[7, 0], Y[[4711, 4712], 0], Y[0, 1] = 1, 2, 1
    for seed in range(5):
        rows = search_rows(Y, ["rbf"], seed)
        assert [len(np.unique(column)) for column in Y[rows].T] == [3, 2]
        assert len(rows) <= MOST_COMPARED + 3


@pytest.mark.parametrize("form", ["coo", "dia", "bsr", "csr", "csc", "lil", "dok"])
def test_examples_are_selected_from_sparse_matrices_of_every_form(form):
    X, Y = np.diag([1.0, 2.0, 3.0]), np.eye(3, dtype=int)
    given = Examples(*(sparse.csr_array(one).asformat(form) for one in (X, Y)))
    chosen = given.select(np.array([2, 0]))
    assert_array_equal(chosen.X.toarray(), X[[2, 0]])
    assert_array_equal(chosen.y.toarray(), Y[[2, 0]])
    assert chosen.sample_weight is None
