"""Coordinates of dual variables: compiled sums against the tables they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import from_python
from strategies import any_factors, seeds, trials

from spanforest._compiled import coordinates as compiled_coordinates
from spanforest.factors import Coordinates

contract = from_python(compiled_coordinates.contract)


@given(any_factors, st.booleans(), seeds)
@trials(50)
def test_contracting_undoes_expanding(factors, shared, seed):
    coordinates = Coordinates.of(factors, shared=shared)
    values = np.random.default_rng(seed).normal(size=coordinates.n)
    actual = np.empty(coordinates.n)
    contract(coordinates.layout, coordinates.expand([values])[0], actual)
    assert_allclose(actual, values, atol=1e-13)


@given(any_factors, st.booleans(), seeds)
@trials(50)
def test_the_squared_norm_is_that_of_all_cells(factors, shared, seed):
    coordinates = Coordinates.of(factors, shared=shared)
    values = np.random.default_rng(seed).normal(size=(3, coordinates.n))
    expected = (coordinates.expand(values) ** 2).sum()
    assert_allclose(coordinates.squared_norm(values), expected)
