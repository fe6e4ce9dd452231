"""Training on graphs with cycles: lists of labellings, and bounds on violations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import (
    TRIANGLE,
    assert_reaches_the_optimum,
    dual_coefficients,
    hide_labels,
    indicators,
    make_task,
    primal_and_dual,
)

from spanforest._cycles import Cycles
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.solver import KernelForm, solve_path

COMPLETE = LabelGraph(5, [(u, v) for v in range(5) for u in range(v)])


@pytest.mark.needs_compiled
def test_labels_with_two_four_and_three_values_reach_a_small_gap():
    task = make_task(TRIANGLE, [2, 4, 3], n=30, C=10.0, intercept=True)
    solution = task.solve(KernelForm, tol=1e-3, max_iter=500)
    assert solution.converged
    A = dual_coefficients(task, KernelForm, solution)
    primal, dual = primal_and_dual(task, A)
    assert_allclose(solution.gap, primal - dual, rtol=1e-6, atol=1e-9 * primal)


@pytest.mark.parametrize("hidden", [False, True])
def test_weights_of_examples_and_labels_keep_the_optimum(hidden):
    task = make_task(TRIANGLE, [2, 3, 2], n=6, intercept=True)
    if hidden:
        task = hide_labels(task)
    rng = np.random.default_rng(0)
    task = task._replace(
        sample_weight=rng.uniform(0.5, 2.0, 6),
        label_weight=rng.uniform(0.0, 2.0, (6, 3)),
    )
    assert_reaches_the_optimum(task)


@pytest.mark.needs_compiled
def test_a_copy_of_every_example_is_the_same_as_twice_the_weight():
    task = make_task(COMPLETE, [2] * 5, n=10, intercept=True)
    twice = task._replace(
        X=np.repeat(task.X, 2, axis=0), Y=np.repeat(task.Y, 2, axis=0)
    )
    heavy = task._replace(sample_weight=np.full(10, 2.0))
    one, other = (t.solve(tol=1e-5, max_iter=5000) for t in (twice, heavy))
    assert one.converged
    assert_allclose(one.dual_objective, other.dual_objective, rtol=2e-5)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_tiny_and_huge_values_of_c_converge(C):
    task = make_task(COMPLETE, [2] * 5, n=12, C=C, intercept=True)
    assert task.solve(KernelForm, tol=1e-2, max_iter=5000).converged


@pytest.mark.needs_compiled
def test_a_path_ends_at_the_optimum_of_every_c():
    task = make_task(COMPLETE, [2, 2, 3, 2, 2], n=15, intercept=True)
    rng = np.random.default_rng(0)
    form = task.form(KernelForm)
    path = solve_path(
        form, task.problem, [0.1, 1.0, 10.0], rng, tol=1e-5, max_iter=5000
    )
    for C, solution in zip([0.1, 1.0, 10.0], path, strict=True):
        alone = task._replace(C=C).solve(KernelForm, tol=1e-5, max_iter=5000)
        assert solution.converged
        assert_allclose(solution.dual_objective, alone.dual_objective, rtol=2e-5)


def test_lists_grow_and_keep_what_they_hold():
    Y = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.int32)
    cycles = Cycles(FactorGraph(TRIANGLE, [2, 2, 2]), Y)
    everyone, found = np.arange(2), np.array([[1, 1, 1], [0, 0, 1]])
    cells = indicators(cycles.factors, found)
    for _ in range(10):
        cycles.measure(everyone, cells.copy(), np.zeros(2))
        cycles.make_room()
    mixtures = cycles.mixtures
    assert_array_equal(mixtures.length, 11)
    assert_array_equal(mixtures.labels[mixtures.start], Y)
    for k in range(1, 11):
        assert_array_equal(mixtures.labels[mixtures.start + k], found)


def test_a_search_goes_on_until_the_excess_is_gone():
    cycles = Cycles(FactorGraph(TRIANGLE, [2, 2, 2]), np.zeros((3, 3), dtype=np.int32))
    cycles.most, proven = np.array([1.0, 3.0, 2.0]), []

    def prove(i):
        proven.append(i)
        cycles.most[i] = 0.0

    assert cycles.search(np.ones(3), 4.0, prove)
    assert proven == [1, 2]


@pytest.mark.parametrize("excess", [-1.0, 0.0, 7.0])
def test_a_search_that_is_not_needed_or_cannot_help_does_not_start(excess):
    cycles = Cycles(FactorGraph(TRIANGLE, [2, 2, 2]), np.zeros((3, 3), dtype=np.int32))
    cycles.most = np.array([1.0, 3.0, 2.0])
    assert not cycles.search(np.ones(3), excess, lambda i: pytest.fail("searched"))
