"""Certificates: the gap is primal minus dual, computed from scratch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import (
    any_form,
    cyclic_tasks,
    dual_coefficients,
    forest_tasks,
    independent_features,
    indicators,
    label_sets,
    marginals,
    primal_and_dual,
    primal_value,
)
from strategies import trials

from spanforest.solver import (
    DenseForm,
    KernelForm,
    SparseForm,
)


@given(forest_tasks, any_form, st.integers(1, 20))
@trials(100)
def test_primal_minus_dual_from_scratch_is_the_gap_on_forests(task, form, max_iter):
    form = form if independent_features(task) else KernelForm
    solution = task.solve(form, tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, dual_coefficients(task, form, solution))
    scale = 1e-9 * (1.0 + abs(primal))
    assert_allclose(solution.dual_objective, dual, rtol=1e-6, atol=scale)
    assert_allclose(solution.gap, primal - dual, rtol=1e-6, atol=scale)


@given(cyclic_tasks, any_form, st.integers(1, 5))
@trials(60)
def test_primal_minus_dual_from_scratch_is_at_most_the_gap(task, form, max_iter):
    form = form if independent_features(task) else KernelForm
    solution = task.solve(form, tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, dual_coefficients(task, form, solution))
    scale = 1e-9 * (1.0 + abs(primal))
    assert_allclose(solution.dual_objective, dual, rtol=1e-6, atol=scale)
    assert primal - dual <= solution.gap * (1 + 1e-6) + scale


@given(forest_tasks, st.sampled_from([DenseForm, SparseForm]), st.integers(1, 20))
@trials(60)
def test_the_weights_have_the_primal_objective_of_the_certificate(task, form, epochs):
    solution = task.solve(form, tol=1e-3, max_iter=epochs)
    squared_norm = (solution.weights**2).sum() + (solution.intercept**2).sum()
    scores = task.X @ solution.weights + solution.intercept
    primal = primal_value(task, scores, squared_norm)
    assert_allclose(
        solution.dual_objective + solution.gap, primal, rtol=1e-6, atol=1e-9
    )


@given(st.one_of(forest_tasks, cyclic_tasks))
@trials(60)
def test_scores_through_the_kernel_are_scores_of_explicit_weights(task):
    """Lemma 1: <w, phi(x) (outer) U(y)> = sum_i K(x, x_i) <A_i, U(y)>."""
    solution = task.solve(KernelForm, max_iter=3)
    mu = marginals(task, solution.weights)
    own = indicators(task.factors, task.Y)
    w = np.einsum("id,ic->dc", task.features, task.C * own - mu)
    Z = indicators(task.factors, label_sets(task.factors))

    rng = np.random.default_rng(0)
    fresh = rng.normal(size=(5, task.X.shape[1]))
    phi = np.hstack([fresh, np.ones((5, int(task.fit_intercept)))])
    explicit = np.einsum("nd,yc,dc->ny", phi, Z, w)
    kernel = fresh @ task.X.T
    through_kernel = (kernel @ solution.weights + solution.intercept) @ Z.T
    assert_allclose(through_kernel, explicit, atol=1e-8 * (1 + np.abs(explicit).max()))


@given(st.one_of(forest_tasks, cyclic_tasks), any_form)
@trials(60)
def test_the_intercept_is_the_weight_of_a_constant_feature(task, form):
    solution = task.solve(form, max_iter=3)
    if not task.fit_intercept:
        assert_array_equal(solution.intercept, 0.0)
    else:
        written_out = task._replace(X=task.features, fit_intercept=False)
        A = dual_coefficients(task, KernelForm, task.solve(KernelForm, max_iter=3))
        other = written_out.solve(KernelForm, max_iter=3)
        if form is KernelForm:
            assert_allclose(solution.intercept, A.sum(axis=0), atol=1e-9 * (1 + task.C))
        gaps = solution.gap + other.gap  # two points near one optimum
        assert abs(solution.dual_objective - other.dual_objective) <= gaps + 1e-9
