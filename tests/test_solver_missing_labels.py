"""Training with missing labels reaches the optimum and certifies it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import (
    is_taught,
    label_sets,
    make_task,
    optimum,
    primal_and_dual,
    tasks,
    taught_losses,
    true_indicators,
)
from strategies import FORESTS, random_graph

from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.solver import DenseForm, KernelForm, SparseForm

PATH = LabelGraph(3, [(0, 1), (1, 2)])
PAIR = LabelGraph(3, [(0, 2)])
TRIANGLE = LabelGraph(3, [(0, 1), (1, 2), (0, 2)])
CASES = [
    pytest.param(PATH, [2, 2, 2], id="path"),
    pytest.param(PATH, [2, 3, 1], id="path, other numbers of values"),
    pytest.param(PAIR, [2, 2, 3], id="pair"),
    pytest.param(LabelGraph(3, []), [2, 3, 2], id="no edges"),
]


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize(("graph", "n_values"), CASES)
def test_the_optimum_on_forests_is_that_of_a_general_purpose_solver(
    graph, n_values, loss
):
    task = make_task(graph, n_values, loss=loss)
    solution = task.solve(tol=1e-6, max_iter=5000)
    assert solution.converged
    assert_allclose(solution.dual_objective, optimum(task), rtol=1e-5)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_on_a_cycle_lies_between_the_dual_and_the_primal(loss, seed):
    task = make_task(TRIANGLE, [2, 2, 2], loss=loss, seed=seed, n=5)
    solution = task.solve(tol=1e-3, max_iter=3000)
    best = optimum(task)
    assert solution.dual_objective <= best * (1 + 1e-6)
    assert_allclose(solution.dual_objective, best, rtol=5e-3)
    assert solution.dual_objective + solution.gap >= best * (1 - 1e-6)


@given(tasks(FORESTS), st.integers(1, 20))
@settings(deadline=None, max_examples=60)
def test_primal_minus_dual_from_scratch_is_the_gap_on_forests(task, max_iter):
    solution = task.solve(tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, solution.weights)
    scale = 1e-7 * (1.0 + abs(primal))
    assert_allclose(solution.dual_objective, dual, rtol=1e-6, atol=scale)
    assert_allclose(solution.gap, primal - dual, rtol=1e-6, atol=scale)


@given(tasks([random_graph]), st.integers(1, 10))
@settings(deadline=None, max_examples=40)
def test_the_gap_on_cycles_is_never_too_small(task, max_iter):
    solution = task.solve(tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, solution.weights)
    scale = 1e-7 * (1.0 + abs(primal))
    assert_allclose(solution.dual_objective, dual, rtol=1e-6, atol=scale)
    assert solution.gap >= primal - dual - scale


@given(tasks([*FORESTS, random_graph]), st.integers(1, 10))
@settings(deadline=None, max_examples=60)
def test_an_example_moves_the_factors_it_teaches_and_no_others(task, max_iter):
    A = task.solve(tol=1e-3, max_iter=max_iter).weights
    n_cells = task.factors.arrays.factor["n_cells"]
    for i, row in enumerate(A):
        mu = np.split(task.C * true_indicators(task)[i] - row, np.cumsum(n_cells)[:-1])
        shares = {}  # of each label's values, one row per factor of the label
        for labels, table in zip(task.factor_labels, mu, strict=True):
            if not is_taught(task, i, labels):
                assert not table.any()
                continue
            table = table.reshape(task.factors.n_values[labels])
            assert table.min() >= -1e-9 * task.C
            assert_allclose(table.sum(), task.C, rtol=1e-9)
            for axis, j in enumerate(labels):
                other = tuple(k for k in range(table.ndim) if k != axis)
                shares.setdefault(j, []).append(table.sum(axis=other))
        for of_label in shares.values():
            assert_allclose(
                of_label, np.tile(of_label[0], (len(of_label), 1)), atol=1e-9
            )


@pytest.mark.parametrize("graph", [PATH, TRIANGLE])
def test_all_forms_walk_the_same_iterates(graph):
    task = make_task(graph, [2, 3, 2], n=9)
    solutions = {
        form: task.solve(form, tol=1e-9, max_iter=7)
        for form in (KernelForm, DenseForm, SparseForm)
    }
    W = task.X.T @ solutions[KernelForm].weights
    for form in (DenseForm, SparseForm):
        assert_allclose(solutions[form].weights, W, atol=1e-9)
        assert_allclose(solutions[form].gap, solutions[KernelForm].gap, rtol=1e-6)


@given(tasks([*FORESTS, random_graph]))
@settings(deadline=None, max_examples=30)
def test_the_hamming_loss_counts_the_wrong_labels_among_the_observed(task):
    everyone = np.arange(task.factors.n_labels)
    factors = FactorGraph(task.factors.graph, task.factors.n_values, everyone)
    task = task._replace(factors=factors, loss="hamming")
    Z = label_sets(factors)
    for i, y in enumerate(task.Y):
        expected = ((y != Z) & (y >= 0)).sum(axis=1)
        assert_allclose(taught_losses(task, i, Z), expected)
