"""The critical-difference diagram: bars join methods that do not differ."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import trials

from spanforest.plots import CriticalDifferenceDisplay, method_colour


def groups(p_values):
    """Return the groups of methods that are already in the order of their ranks."""
    n = len(p_values)
    display = CriticalDifferenceDisplay(range(n), np.arange(1.0, n + 1), p_values)
    return [(group[0], group[-1]) for group in display.groups]


def test_bars_join_the_methods_that_do_not_differ():
    methods, ranks = ["SVM", "MTL", "MAM"], [2.8, 2.0, 1.2]
    p_values = [[1.0, 0.3, 0.01], [0.3, 1.0, 0.2], [0.01, 0.2, 1.0]]
    ax = CriticalDifferenceDisplay(methods, ranks, p_values).plot().ax_
    level = [line for line in ax.get_lines() if len(set(line.get_ydata())) == 1]
    joined = sorted(tuple(sorted(line.get_xdata())) for line in level)
    assert joined == [(1.2, 2.0), (2.0, 2.8)]
    shown = {text.get_text().strip(): text.get_color() for text in ax.texts}
    assert shown["MAM  1.20"] == method_colour("mam")
    assert "2.80  SVM" in shown


def test_the_points_of_a_bar_do_not_depend_on_the_order_of_a_set():
    methods, ranks = "abcdefgh", [3.0, 1.0, 7.0, 5.0, 2.0, 8.0, 4.0, 6.0]
    [bar] = CriticalDifferenceDisplay(methods, ranks, np.ones((8, 8))).plot().bars_
    assert bar.get_xdata().tolist() == sorted(ranks)


@pytest.mark.parametrize(
    ("methods", "ranks", "p_values"),
    [
        (["a", "b"], [1.0], np.ones((2, 2))),
        (["a", "b"], [1.0, 2.0], np.ones((2, 3))),
        (["a", "a"], [1.0, 2.0], np.ones((2, 2))),
    ],
)
def test_ranks_that_do_not_fit_the_methods_are_refused(methods, ranks, p_values):
    with pytest.raises(ValueError, match="one rank per method and one p-value per"):
        CriticalDifferenceDisplay(methods, ranks, p_values)


def test_a_bar_above_the_axis_is_as_long_as_the_critical_difference():
    ranks, p_values = [1.2, 2.0, 2.8], np.ones((3, 3))
    display = CriticalDifferenceDisplay(
        "abc", ranks, p_values, critical_difference=2.5
    ).plot()
    [joining] = display.bars_
    above = [
        line.get_xdata()
        for line in display.ax_.get_lines()
        if line is not joining and len(set(line.get_ydata())) == 1
    ]
    np.testing.assert_allclose(above, [[1.2, 3.7]])
    texts = [text.get_text().strip() for text in display.ax_.texts]
    assert "critical difference 2.50" in texts
    assert display.ax_.get_xlim()[1] >= 3.7


@given(st.integers(3, 7), st.integers(0, 2**32 - 1), st.booleans())
@trials(60)
def test_groups_are_the_maximal_runs_closer_than_the_critical_difference(
    n, seed, has_ties
):
    ranks = np.sort(np.random.default_rng(seed).uniform(1, n, n))
    if has_ties:
        ranks = np.round(ranks)
    distance = np.abs(ranks[:, None] - ranks)
    p_values = 0.1 / (1 + distance)  # falls with the distance, as Nemenyi's does
    alike = [
        (i, j)
        for i, j in itertools.combinations(range(n), 2)
        if (p_values[i : j + 1, i : j + 1] >= 0.05).all()
    ]
    maximal = [
        (i, j)
        for i, j in alike
        if not any(a <= i and j <= b and (a, b) != (i, j) for a, b in alike)
    ]
    assert groups(p_values) == maximal


@pytest.mark.parametrize("n", [3, 8])
def test_methods_of_equal_ranks_are_one_group_and_different_ones_are_none(n):
    assert groups(np.ones((n, n))) == [(0, n - 1)]
    assert groups(np.eye(n)) == []
    in_pairs = np.kron(np.eye(n), np.ones((2, 2)))  # equal groups of two
    assert groups(in_pairs) == [(k, k + 1) for k in range(0, 2 * n, 2)]
