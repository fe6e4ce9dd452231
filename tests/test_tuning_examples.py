"""Which of the training examples the search sees."""

import numpy as np
from numpy.testing import assert_array_equal

from spanforest.tuning._examples import MOST_COMPARED, search_rows


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
