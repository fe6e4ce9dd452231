"""Products of rows against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import seeds, trials

from spanforest._compiled.decorators import summed
from spanforest._compiled.products import add_products, room_for_products, row_products

multiply = summed(row_products)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(st.integers(1, 9), st.integers(1, 8), st.integers(0, 1200), seeds)
@trials(60)
def test_products_of_rows_are_those_of_numpy(dtype, n_rows, n_columns, n_terms, seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(12, n_terms)).astype(dtype)
    others = rng.normal(size=(n_columns, n_terms)).astype(dtype)
    rows = rng.permutation(12)[:n_rows]
    products = room_for_products(n_rows, n_columns)

    multiply(data, rows, others, products)

    actual = products[:n_rows, :n_columns]
    size = np.abs(data[rows]) @ np.abs(others).T
    rounding = 1e-14 if dtype is np.float64 else 1e-5
    exact = data[rows].astype(float) @ others.astype(float).T
    assert (np.abs(actual - exact) <= rounding * size + 1e-300).all()


@given(st.integers(1, 17), st.integers(1, 5), st.integers(0, 70), seeds)
@trials(60)
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
