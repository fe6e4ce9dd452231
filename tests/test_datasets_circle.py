"""The generated Circle data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.model_selection import cross_val_predict
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import LinearSVC

from spanforest.datasets import (
    make_circle,
)


def is_separable(X, y):
    """Whether a linear function is at least 1 on one side and at most -1 beyond."""
    signs = 2 * y - 1
    actual = linprog(
        np.zeros(X.shape[1]),
        A_ub=-signs[:, np.newaxis] * X,
        b_ub=-np.ones(len(y)),
        bounds=(None, None),
    )
    return actual.status == 0


@pytest.mark.parametrize(("n_labels", "cardinality"), [(10, 8.54), (50, 35.63)])
@pytest.mark.parametrize("seed", range(20))
def test_circle_has_the_cardinality_of_table_1(n_labels, cardinality, seed):
    _, Y = make_circle(n_labels=n_labels, random_state=seed)
    assert_allclose(Y.sum(axis=1).mean(), cardinality, rtol=0.002)


def test_circle_points_are_uniform_in_the_unit_disc():
    X, _ = make_circle(n_samples=20_000, random_state=0)
    radius = np.hypot(X[:, 0], X[:, 1])
    assert radius.max() <= 1
    # uniform over the area: the squared radius and the angle are uniform
    for uniform in (radius**2, np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi) + 0.5):
        counts, _ = np.histogram(uniform, bins=10, range=(0, 1))
        assert_allclose(counts, 2000, atol=250)
    assert_array_equal(X[:, 2], 1)


@pytest.mark.parametrize(("n_labels", "n_planes"), [(2, 1), (10, 1), (50, 5)])
def test_circle_labels_are_a_few_half_planes_and_nothing_linear(n_labels, n_planes):
    X, Y = make_circle(n_labels=n_labels, random_state=0)
    separable = [is_separable(X, y) for y in Y.T]
    assert_array_equal(separable, np.arange(n_labels) < n_planes)


def test_circle_half_planes_imply_the_ors_they_are_part_of():
    _, Y = make_circle(n_labels=50, random_state=0)
    planes, ors = Y[:, :5], Y[:, 5:]
    for plane in planes.T:
        implied = (ors >= plane[:, np.newaxis]).all(axis=0)
        assert 6 <= implied.sum() < 45  # it is paired with three directions either side


@pytest.mark.parametrize("n_labels", [2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 75, 100])
def test_circle_labels_differ_and_vary_for_any_number_of_labels(n_labels):
    X, Y = make_circle(n_samples=2000, n_labels=n_labels, random_state=0)
    assert Y.shape == (2000, n_labels)
    assert X.shape == (2000, 3)
    assert set(np.unique(Y)) == {0, 1}
    assert Y.min(axis=0).max() == 0
    assert Y.max(axis=0).min() == 1
    assert len(np.unique(Y, axis=1).T) == n_labels
    assert 0.71 < Y.mean() < 0.86


def test_circle_depends_on_the_seed_alone():
    for one, other in zip(
        make_circle(random_state=3), make_circle(random_state=3), strict=True
    ):
        assert_array_equal(one, other)
    assert (make_circle(random_state=3)[1] != make_circle(random_state=4)[1]).any()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [({"n_samples": 0}, "n_samples .* got 0"), ({"n_labels": 1}, "n_labels .* got 1")],
)
def test_circle_refuses_sizes_that_make_no_sense(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_circle(**kwargs)


def test_circle_of_one_point():
    X, Y = make_circle(n_samples=1, random_state=0)
    assert X.shape == (1, 3)
    assert Y.shape == (1, 10)


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [10, 50])
def test_a_linear_svm_gets_about_95_percent_of_circle(n_labels):
    X, Y = make_circle(n_labels=n_labels, random_state=0)
    svm = MultiOutputClassifier(LinearSVC(C=10, dual=False))
    accuracy = (cross_val_predict(svm, X, Y, cv=5) == Y).mean()
    assert 0.94 < accuracy < 0.965
