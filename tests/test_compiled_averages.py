"""Exponential averages, in compiled code."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spanforest._compiled import Averages


@pytest.mark.parametrize("order", ["C", "F"])
def test_averages_have_the_bits_of_their_formula(order):
    rng = np.random.default_rng(0)
    values, once, past = (
        [
            np.asarray(rng.normal(size=shape), order=order)
            for shape in [(), (5,), (4, 3)]
        ]
        for _ in range(3)
    )
    rho, new_rho, scale, new_scale = 0.3, 0.45, 0.49, 0.3025
    expected = []
    for value, first, old in zip(values, once, past, strict=True):
        latest = (value - old) / scale
        new_once = rho * first + (1.0 - rho) * latest
        new_past = new_rho * value + (1.0 - new_rho) * new_rho * new_once
        expected.append((new_past + new_scale * latest, new_once, new_past))

    Averages(values, once, past).advance((rho, new_rho), (scale, new_scale))

    for computed, formula in zip(
        zip(values, once, past, strict=True), expected, strict=True
    ):
        for array, wanted in zip(computed, formula, strict=True):
            assert_array_equal(array, wanted)
