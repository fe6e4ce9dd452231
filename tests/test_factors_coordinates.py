"""Coordinates of dual variables: complete, and none superfluous."""

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from oracles import indicators, label_sets
from strategies import any_factors, seeds, trials

from spanforest.factors import Coordinates, FactorGraph
from spanforest.graphs import LabelGraph


def basis(coordinates):
    """A row per coordinate: the tables that have it alone."""
    return coordinates.expand(np.eye(coordinates.n))


@given(any_factors, seeds)
@trials(100)
def test_every_difference_of_labellings_has_coordinates(factors, seed):
    rng = np.random.default_rng(seed)
    U = indicators(factors, rng.integers(factors.n_values, size=(8, factors.n_labels)))
    R = basis(Coordinates.of(factors))
    assert R.shape == (Coordinates.of(factors).n, factors.n_cells)

    values, *_ = np.linalg.lstsq(R.T, (U[:4] - U[4:]).T, rcond=None)

    assert_allclose(R.T @ values, (U[:4] - U[4:]).T, atol=1e-12)


@given(any_factors)
@trials(100)
def test_no_coordinate_is_superfluous(factors):
    """As many as differences of labellings have dimensions, and independent."""
    U = indicators(factors, label_sets(factors))
    dimensions = np.linalg.matrix_rank(U - U[0]) if len(U) > 1 else 0

    coordinates = Coordinates.of(factors)

    assert coordinates.n == dimensions
    if dimensions:
        assert np.linalg.matrix_rank(basis(coordinates)) == dimensions


@given(any_factors)
@trials(50)
def test_unshared_coordinates_give_every_table_that_sums_to_zero(factors):
    coordinates = Coordinates.of(factors, shared=False)
    assert coordinates.n == factors.n_cells - factors.n_factors
    tables = basis(coordinates)
    ends = np.cumsum(factors.arrays.factor["n_cells"])[:-1]
    for table in np.split(tables, ends, axis=1):
        assert_allclose(table.sum(axis=1), 0.0, atol=1e-12)
    if coordinates.n:
        assert np.linalg.matrix_rank(tables) == coordinates.n


def test_a_tree_of_binary_labels_needs_about_half_as_many_numbers_as_cells():
    chain = FactorGraph(LabelGraph(14, [(j, j + 1) for j in range(13)]), [2] * 14)
    assert (chain.n_cells, Coordinates.of(chain).n) == (52, 27)
    assert_array_equal(Coordinates.of(chain).expand(np.zeros((2, 27))), 0.0)
