"""Training with missing labels reaches the optimum and certifies it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import (
    FOREST,
    FORMS,
    TREE,
    TRIANGLE,
    assert_reaches_the_optimum,
    hide_labels,
    label_sets,
    losses,
    make_task,
    marginals,
    primal_and_dual,
    tables,
    tasks,
)
from strategies import FORESTS, random_graph, trials

from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.solver import DenseForm, KernelForm, SparseForm

CASES = [
    pytest.param(TREE, [2, 2, 2], id="tree"),
    pytest.param(TREE, [2, 3, 1], id="tree, other numbers of values"),
    pytest.param(FOREST, [2, 2, 3], id="forest"),
    pytest.param(LabelGraph(3, []), [2, 3, 2], id="no edges"),
]
any_task = tasks([*FORESTS, random_graph], hidden=True)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize(("graph", "n_values"), CASES)
def test_the_dual_optimum_is_that_of_the_original_dual_over_all_label_sets(
    graph, n_values, loss
):
    task = hide_labels(make_task(graph, n_values, loss=loss, n=6, C=0.5))
    assert_reaches_the_optimum(task)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("seed", range(2))
def test_the_dual_optimum_on_a_cycle_is_that_of_the_original_dual(loss, seed):
    task = make_task(TRIANGLE, [2, 2, 2], loss=loss, seed=seed, n=5, C=0.5)
    task = hide_labels(task, seed)
    assert_reaches_the_optimum(task)


@given(tasks(hidden=True), st.integers(1, 20))
@trials(60)
def test_primal_minus_dual_from_scratch_is_the_gap_on_forests(task, max_iter):
    solution = task.solve(KernelForm, tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, solution.weights)
    scale = 1e-7 * (1.0 + abs(primal))
    assert_allclose(solution.dual_objective, dual, rtol=1e-6, atol=scale)
    assert_allclose(solution.gap, primal - dual, rtol=1e-6, atol=scale)


@given(tasks([random_graph], hidden=True), st.integers(1, 10))
@trials(40)
def test_the_gap_on_cycles_is_never_too_small(task, max_iter):
    solution = task.solve(KernelForm, tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, solution.weights)
    scale = 1e-7 * (1.0 + abs(primal))
    assert_allclose(solution.dual_objective, dual, rtol=1e-6, atol=scale)
    assert solution.gap >= primal - dual - scale


@given(any_task, st.integers(1, 10))
@trials(60)
def test_an_example_moves_the_factors_it_teaches_and_no_others(task, max_iter):
    A = task.solve(KernelForm, tol=1e-3, max_iter=max_iter).weights
    for y, row in zip(task.Y, marginals(task, A), strict=True):
        shares = {}  # of each label's values, one row per factor of the label
        for labels, table in tables(task.factors, row):
            if (y[labels] < 0).any():
                assert not table.any()
                continue
            assert table.min() >= -1e-9 * task.C
            assert_allclose(table.sum(), task.C, rtol=1e-9)
            for axis, j in enumerate(labels):
                other = tuple(k for k in range(table.ndim) if k != axis)
                shares.setdefault(j, []).append(table.sum(axis=other))
        for of_label in shares.values():
            assert_allclose(
                of_label, np.tile(of_label[0], (len(of_label), 1)), atol=1e-9
            )


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_all_forms_walk_the_same_iterates(graph):
    task = hide_labels(make_task(graph, [2, 3, 2], n=9, C=0.5))
    solutions = {form: task.solve(form, tol=1e-9, max_iter=7) for form in FORMS}
    W = task.X.T @ solutions[KernelForm].weights
    for form in (DenseForm, SparseForm):
        assert_allclose(solutions[form].weights, W, atol=1e-9)
        assert_allclose(solutions[form].gap, solutions[KernelForm].gap, rtol=1e-6)


@given(any_task)
@trials(30)
def test_the_hamming_loss_counts_the_wrong_labels_among_the_observed(task):
    everyone = np.arange(task.factors.n_labels)
    factors = FactorGraph(task.factors.graph, task.factors.n_values, everyone)
    task = task._replace(factors=factors, loss="hamming")
    Z = label_sets(factors)
    for y, actual in zip(task.Y, losses(task, Z), strict=True):
        assert_allclose(actual, ((y != Z) & (y >= 0)).sum(axis=1))
