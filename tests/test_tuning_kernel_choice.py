"""Which kernels are tried, and what is learned from the examples for them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_data import X, Y

from spanforest import RandomGraphEnsembleClassifier
from spanforest.kernels import median_gamma
from spanforest.tuning._candidates import Menu
from spanforest.tuning._examples import Examples
from spanforest.tuning._kernel_choice import read_kernels, read_menu

TEMPLATE = RandomGraphEnsembleClassifier(4, scaling=None, random_state=0)


@pytest.mark.parametrize("odd", [0.0, np.nan])
def test_examples_of_weight_zero_have_no_say_in_the_kernels_unless_they_have_gaps(odd):
    rows = np.full((500, 101), odd)
    many = np.random.default_rng(0).normal(size=(60, 101))
    weight = np.repeat([1.0, 0.0], [60, 500])
    zeros = Examples(np.r_[many, rows], np.r_[Y, np.zeros((500, 4), int)], weight)
    alone = Examples(many, Y)
    kernels = []
    for examples in (zeros, alone):
        menu = read_menu("auto", RandomGraphEnsembleClassifier(), examples)
        kernels.append(menu.kernels)
    assert ("rbf" in kernels[0]) == (odd == 0.0)
    assert (kernels[0] == kernels[1]) == (odd == 0.0)


def test_a_menu_that_was_named_is_taken_as_it_is():
    menu = read_menu(["rbf", "forest"], TEMPLATE, Examples(X, Y))
    assert menu.kernels == ["rbf", "forest"]
    assert not menu.is_open
    assert read_menu("auto", TEMPLATE, Examples(X, Y)).is_open


def test_scales_are_multiples_of_one_that_weights_and_copies_agree_on():
    times = np.random.default_rng(0).integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), times)
    menu = Menu(["linear", "rbf"], is_open=False)
    (_, *scaled), targets = read_kernels(
        menu, (0.5, 2.0), TEMPLATE, Examples(X, Y, times)
    )
    copied, _ = read_kernels(menu, (0.5, 2.0), TEMPLATE, Examples(X[copies], Y[copies]))
    assert [one["gamma"] for one in scaled] == [one["gamma"] for one in copied[1:]]
    unit = median_gamma(X[copies])
    assert_allclose([one["gamma"] for one in scaled], [0.5 * unit, 2.0 * unit])
    assert len(targets.Y) == (times > 0).sum()
