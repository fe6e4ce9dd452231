"""Exponential averages, in compiled code."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spanforest._compiled import advance_averages


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (5,), (4, 3)])
def test_averages_have_the_bits_of_their_formula(shape, order):
    rng = np.random.default_rng(0)
    values, once, past = (
        np.asarray(rng.normal(size=shape), order=order) for _ in range(3)
    )
    rho, new_rho, scale, new_scale = 0.3, 0.45, 0.49, 0.3025
    latest = (values - past) / scale
    new_once = rho * once + (1.0 - rho) * latest
    new_past = new_rho * values + (1.0 - new_rho) * new_rho * new_once
    new_values = new_past + new_scale * latest

    advance_averages(values, once, past, (rho, new_rho), (scale, new_scale))

    assert_array_equal(values, new_values)
    assert_array_equal(once, new_once)
    assert_array_equal(past, new_past)
