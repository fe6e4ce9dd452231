"""Coordinates of tables, and the products that they are multiplied by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from oracles import indicators, label_sets
from strategies import FORESTS, factor_graphs, random_graph, seeds

from spanforest._compiled.coordinates import contract
from spanforest._compiled.products import add_products, room_for_products, row_products
from spanforest.factors import Coordinates, FactorGraph
from spanforest.graphs import LabelGraph

any_factors = factor_graphs(
    st.sampled_from([*FORESTS, random_graph]), max_labels=4, extra_unary=True
)


@njit
def call_contract(layout, cells, values):
    contract(layout, cells, values)  # only compiled code can call it


def basis(coordinates):
    """A row per coordinate: the tables that have it alone."""
    return coordinates.expand(np.eye(coordinates.n))


@given(any_factors, seeds)
@settings(deadline=None, max_examples=100)
def test_every_difference_of_labellings_has_coordinates(factors, seed):
    rng = np.random.default_rng(seed)
    U = indicators(factors, rng.integers(factors.n_values, size=(8, factors.n_labels)))
    R = basis(Coordinates.of(factors))
    assert R.shape == (Coordinates.of(factors).n, factors.n_cells)

    values, *_ = np.linalg.lstsq(R.T, (U[:4] - U[4:]).T, rcond=None)

    assert_allclose(R.T @ values, (U[:4] - U[4:]).T, atol=1e-12)


@given(any_factors)
@settings(deadline=None, max_examples=100)
def test_no_coordinate_is_superfluous(factors):
    """As many as differences of labellings have dimensions, and independent."""
    U = indicators(factors, label_sets(factors))
    dimensions = np.linalg.matrix_rank(U - U[0]) if len(U) > 1 else 0

    coordinates = Coordinates.of(factors)

    assert coordinates.n == dimensions
    if dimensions:
        assert np.linalg.matrix_rank(basis(coordinates)) == dimensions


@given(any_factors)
@settings(deadline=None, max_examples=50)
def test_unshared_coordinates_give_every_table_that_sums_to_zero(factors):
    coordinates = Coordinates.of(factors, shared=False)
    assert coordinates.n == factors.n_cells - factors.n_factors
    tables = basis(coordinates)
    ends = np.cumsum(factors.arrays.factor["n_cells"])[:-1]
    for table in np.split(tables, ends, axis=1):
        assert_allclose(table.sum(axis=1), 0.0, atol=1e-12)
    if coordinates.n:
        assert np.linalg.matrix_rank(tables) == coordinates.n


@given(any_factors, st.booleans(), seeds)
@settings(deadline=None, max_examples=50)
def test_contracting_undoes_expanding(factors, shared, seed):
    coordinates = Coordinates.of(factors, shared=shared)
    values = np.random.default_rng(seed).normal(size=coordinates.n)
    actual = np.empty(coordinates.n)
    call_contract(coordinates.layout, coordinates.expand([values])[0], actual)
    assert_allclose(actual, values, atol=1e-13)


@given(any_factors, st.booleans(), seeds)
@settings(deadline=None, max_examples=50)
def test_the_squared_norm_is_that_of_all_cells(factors, shared, seed):
    coordinates = Coordinates.of(factors, shared=shared)
    values = np.random.default_rng(seed).normal(size=(3, coordinates.n))
    expected = (coordinates.expand(values) ** 2).sum()
    assert_allclose(coordinates.squared_norm(values), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(st.integers(1, 9), st.integers(1, 8), st.integers(0, 1200), seeds)
@settings(deadline=None, max_examples=60)
def test_products_of_rows_are_those_of_numpy(dtype, n_rows, n_columns, n_terms, seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(12, n_terms)).astype(dtype)
    others = rng.normal(size=(n_columns, n_terms)).astype(dtype)
    rows = rng.permutation(12)[:n_rows]
    products = room_for_products(n_rows, n_columns)

    row_products(data, rows, others, products)

    actual = products[:n_rows, :n_columns]
    size = np.abs(data[rows]) @ np.abs(others).T
    rounding = 1e-14 if dtype is np.float64 else 1e-5
    exact = data[rows].astype(float) @ others.astype(float).T
    assert (np.abs(actual - exact) <= rounding * size + 1e-300).all()


@given(st.integers(1, 17), st.integers(1, 5), st.integers(0, 70), seeds)
@settings(deadline=None, max_examples=60)
def test_sums_of_rows_are_those_of_numpy(n_rows, n_columns, n_terms, seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(20, n_terms))
    rows = rng.permutation(20)[:n_rows]
    change = np.zeros((24, n_columns))
    change[:n_rows] = rng.normal(size=(n_rows, n_columns))
    weights = rng.normal(size=(n_columns, n_terms))
    expected = weights + change[:n_rows].T @ data[rows]

    add_products(data, rows, change, weights)

    assert_allclose(weights, expected, atol=1e-12)


def test_a_tree_of_binary_labels_needs_about_half_as_many_numbers_as_cells():
    chain = FactorGraph(LabelGraph(14, [(j, j + 1) for j in range(13)]), [2] * 14)
    assert (chain.n_cells, Coordinates.of(chain).n) == (52, 27)
    assert_array_equal(Coordinates.of(chain).expand(np.zeros((2, 27))), 0.0)
