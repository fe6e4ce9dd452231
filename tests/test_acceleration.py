"""Smoothing of dual variables, and how much of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from spanforest._acceleration import Acceleration, Pace


@given(st.lists(st.floats(0.0, 30.0), min_size=1, max_size=12), seeds)
def test_acceleration_is_two_exponential_averages_in_a_row(kappas, seed):
    rng = np.random.default_rng(seed)
    value, A, once, twice = np.zeros((4, 5))
    acceleration = Acceleration([value])
    for kappa in kappas:
        acceleration.advance(kappa)
        change = rng.normal(size=5)
        A = A + change
        value += acceleration.scale * change  # as an epoch does
        rho = 1.0 - 1.0 / np.sqrt(1.0 + kappa)
        once = rho * once + (1.0 - rho) * A
        twice = rho * twice + (1.0 - rho) * once
        assert_allclose(value, twice, atol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0, 3), (7, 3)])
def test_averages_depend_neither_on_shape_nor_on_order(shape, order):
    averages = []
    for value in (np.ones(shape, order=order), np.ones(np.prod(shape, dtype=int))):
        acceleration = Acceleration([value])
        for kappa in (0.5, 3.0, 2.0):
            acceleration.advance(kappa)
            value += acceleration.scale * np.arange(value.size).reshape(value.shape)
        averages.append(value.ravel())
    assert_array_equal(*averages)


def test_the_pace_grows_to_its_cap_and_halves_when_the_gap_stalls():
    pace = Pace()
    chosen = []
    for epoch in range(60):
        chosen.append(pace.kappa(dual=100.0, squared_norm=1.0))
        pace.observe(max(1.0 - 0.1 * epoch, 0.2))  # no new minimum after a while
    assert chosen[0] == 0.0
    assert (np.diff(chosen[:9]) > 0).all()
    assert max(chosen) <= Pace.LARGEST
    assert chosen[-1] < 0.5 * max(chosen)
    assert Pace().kappa(dual=0.0, squared_norm=0.0) == 0.0
