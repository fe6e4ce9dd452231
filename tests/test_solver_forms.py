"""Forms: whichever way scores are computed, the iterates are the same."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from oracles import (
    FOREST,
    FORMS,
    TREE,
    TRIANGLE,
    Task,
    best_original_dual,
    forest_tasks,
    make_task,
    primal_value,
    solve,
)
from scipy import sparse
from strategies import trials

from spanforest import solver
from spanforest.factors import FactorGraph
from spanforest.solver import (
    DenseForm,
    KernelForm,
    SparseForm,
    linear_form,
)

N_EPOCHS = 8


class Iterate(NamedTuple):
    """The numbers that must not depend on the form."""

    explicit: np.ndarray  # W, with the intercept's row
    dual_objective: float
    gaps: np.ndarray


def iterate(form, graph, intercept, n=100):
    task = make_task(graph, [2, 3, 2], n=n, intercept=intercept)
    solution = task.solve(form, tol=1e-12, max_iter=N_EPOCHS)
    W = task.X.T @ solution.weights if form is KernelForm else solution.weights
    W = np.vstack([W, solution.intercept])
    return Iterate(W, solution.dual_objective, solution.gaps)


def assert_same_iterate(actual, expected):
    assert_allclose(actual.explicit, expected.explicit, atol=1e-8)
    assert_allclose(actual.dual_objective, expected.dual_objective)
    assert_allclose(actual.gaps[-1], expected.gaps[-1], rtol=1e-6)


@pytest.mark.parametrize("graph", [TREE, FOREST, TRIANGLE])
@pytest.mark.parametrize("intercept", [False, True])
def test_all_forms_walk_the_same_iterates(graph, intercept):
    kernel, dense, csr = (iterate(form, graph, intercept) for form in FORMS)
    assert np.abs(kernel.explicit).max() > 0.1
    assert_same_iterate(dense, kernel)
    assert_same_iterate(csr, kernel)


@pytest.mark.parametrize("form", [KernelForm, DenseForm])
@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_block_sizes_do_not_change_the_iterates(graph, form, monkeypatch):
    expected = iterate(form, graph, intercept=True)
    for size in (1, 4, 7, 1000):
        monkeypatch.setattr(solver, "BLOCK_SIZE", size)
        assert_same_iterate(iterate(form, graph, intercept=True), expected)


@given(forest_tasks)
@trials(30)
def test_all_forms_reach_the_same_objective(task):
    bounds = []
    for form in FORMS:
        solution = task.solve(form, tol=1e-4, max_iter=1000)
        slack = 1e-9 * (1.0 + abs(solution.dual_objective))
        bounds.append(
            (
                solution.dual_objective - slack,
                solution.dual_objective + solution.gap + slack,
            )
        )
    lower, upper = np.array(bounds).T
    assert lower.max() <= upper.min()  # every interval holds the one optimum


@pytest.mark.parametrize("form", FORMS)
def test_float32_data_end_at_a_gap_that_holds_in_float64(form):
    exact = make_task(TREE, [2, 3, 2], n=60, intercept=True)
    single = exact._replace(X=exact.X.astype(np.float32))
    solution = single.solve(form, tol=1e-2)
    assert solution.converged
    assert solution.weights.dtype == np.float64
    best = exact.solve(KernelForm, tol=1e-4, max_iter=1000)
    assert solution.dual_objective <= best.dual_objective + best.gap
    assert solution.dual_objective + solution.gap >= best.dual_objective
    if form is KernelForm:
        scores = single.X.astype(float) @ (single.X.T.astype(float) @ solution.weights)
        squared_norm = ((scores + solution.intercept) * solution.weights).sum()
    else:
        scores = single.X.astype(float) @ solution.weights
        squared_norm = (solution.weights**2).sum() + (solution.intercept**2).sum()
    primal = primal_value(exact, scores + solution.intercept, squared_norm)
    assert_allclose(solution.dual_objective + solution.gap, primal, rtol=1e-5)


def kernel_form_with_copy(task):
    K = task.X @ task.X.T
    copy = K.astype(np.float32)
    return KernelForm(K, task.problem.coordinates, task.fit_intercept, copy)


def test_products_in_single_precision_end_at_the_gap_of_the_kernel_itself():
    task = make_task(TREE, [2, 3, 2], n=60, intercept=True)
    form = kernel_form_with_copy(task)
    solution = solve(form, task.problem, np.random.default_rng(0), tol=1e-2)
    assert solution.converged
    assert form.epoch_data is not form.data
    K = form.data + 1.0
    scores = K @ solution.weights
    primal = primal_value(task, scores, (scores * solution.weights).sum())
    assert_allclose(solution.dual_objective + solution.gap, primal, rtol=1e-9)


def test_products_become_double_where_single_precision_keeps_the_gap_open():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 8))  # independent rows: any labels can be learned
    Y = rng.integers(2, size=(6, 3))
    # at this price a violation of 1e-9 is much, and single precision has 1e-7
    task = Task(FactorGraph(TREE, [2, 2, 2]), "edge", X, Y, C=1e6)
    form = kernel_form_with_copy(task)
    rng = np.random.default_rng(0)
    solution = solve(form, task.problem, rng, tol=1e-3, max_iter=5000)
    assert solution.converged
    assert form.epoch_data is form.data


@pytest.mark.needs_compiled
def test_a_path_in_single_precision_has_true_gaps_also_after_it_became_double():
    task = make_task(TREE, [2, 2, 2], n=30, intercept=True)
    form = kernel_form_with_copy(task)
    K, factor = form.data + 1.0, 1.0
    for C in (0.1, 10.0, 1e5):
        form.begin(factor * form.dual_coef)
        problem = task.problem._replace(C=C)
        solution = solve(
            form, problem, np.random.default_rng(0), tol=1e-3, max_iter=3000
        )
        scores = K @ solution.weights
        squared_norm = (scores * solution.weights).sum()
        primal = primal_value(task._replace(C=C), scores, squared_norm)
        assert_allclose(solution.dual_objective + solution.gap, primal, rtol=1e-6)
        factor = 10.0


def test_csr_matrices_give_the_weights_of_csr_arrays():
    task = make_task(TREE, [2, 2, 2], n=20)
    expected = task.solve(SparseForm, max_iter=2)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        form = linear_form(kind(task.X), task.problem.coordinates)
        assert isinstance(form, SparseForm)
        solution = solve(form, task.problem, np.random.default_rng(0), max_iter=2)
        assert_array_equal(solution.weights, expected.weights)


def test_empty_rows_and_columns_keep_the_optimum():
    task = make_task(TREE, [2, 2, 2], n=10, intercept=True)
    X = task.X.copy()
    X[3], X[:, 1] = 0.0, 0.0
    task = task._replace(X=X)
    for form in FORMS:
        solution = task.solve(form, tol=1e-6, max_iter=5000)
        assert_allclose(solution.dual_objective, best_original_dual(task), rtol=1e-5)
        if form is not KernelForm:
            assert_array_equal(solution.weights[1], 0.0)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_new_start_for_another_price_of_slack_ends_at_its_optimum(form, factor):
    task = make_task(TREE, [2, 2, 3], n=40, intercept=True)
    other = task._replace(C=factor * task.C)
    warm = task.form(form)
    solve(warm, task.problem, np.random.default_rng(0), tol=1e-3, max_iter=2000)
    warm.begin(factor * warm.dual_coef)

    again = solve(
        warm, other.problem, np.random.default_rng(0), tol=1e-4, max_iter=2000
    )

    cold = other.solve(form, tol=1e-4, max_iter=2000)
    assert again.converged
    assert_allclose(again.dual_objective, cold.dual_objective, rtol=2e-4)
    scores = warm.scores(np.arange(len(task.X)))
    primal = primal_value(other, scores, warm.squared_norm())
    assert_allclose(primal - again.dual_objective, again.gap, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_reading_scores_changes_nothing(form):
    task = make_task(TREE, [2, 3, 2], n=30, intercept=True)
    one = task.form(form)
    solve(one, task.problem, np.random.default_rng(0), tol=0, max_iter=3)
    one.weights *= 2.0  # so that the norms of the solver are not those of the weights
    before = one.squared_norm()
    assert_array_equal(one.scores(slice(0, 30)), one.scores(slice(0, 30)))
    assert one.squared_norm() == before
