"""Training problems: what examples teach, and how much it counts."""

import numpy as np
from numpy.testing import assert_array_equal
from oracles import TREE, make_task


def test_the_box_is_c_times_the_weight_of_an_example():
    problem = make_task(TREE, [2, 3, 2], n=4).problem._replace(C=10.0)
    assert_array_equal(problem.box, 10.0)
    weights = np.array([0.0, 1.0, 2.0, 0.5])
    assert_array_equal(problem._replace(sample_weight=weights).box, 10.0 * weights)


def test_an_example_teaches_the_factors_whose_labels_it_has_and_that_count():
    problem = make_task(TREE, [2, 3, 2], n=3).problem
    assert problem.taught.size == 0  # all of them
    Y = problem.Y.copy()
    Y[0, 0] = -1
    factor = problem.factors.arrays.factor
    has_first = (factor["first"] == 0) | (factor["second"] == 0)
    assert_array_equal(problem._replace(Y=Y).taught[0], ~has_first)
    assert problem._replace(Y=Y).taught[1:].all()

    weights = np.ones(Y.shape)
    weights[1] = 0.0
    taught = problem._replace(label_weight=weights).taught
    assert_array_equal(taught.all(axis=1), [True, False, True])
    assert not taught[1].any()
