"""The solver against oracles that know nothing of it: plain NumPy over all label sets.

The oracles build U(y), losses and kernels from their definitions, solve the paper's
original dual (a variable per example and label set), and enumerate label sets for the
primal. The solver's objectives must agree with them.
"""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.svm import LinearSVC
from strategies import FORESTS, factor_graphs, random_graph, seeds

from spanforest import solver
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, random_spanning_tree
from spanforest.losses import find_loss
from spanforest.solver import (
    Acceleration,
    DenseForm,
    KernelForm,
    Pace,
    Problem,
    SparseForm,
    linear_form,
    solve,
)

TREE = LabelGraph(3, [(0, 1), (1, 2)])
FOREST = LabelGraph(3, [(0, 2)])
TRIANGLE = LabelGraph(3, [(0, 1), (1, 2), (0, 2)])


# --- problems and oracles ----------------------------------------------------------


class Task(NamedTuple):
    """A problem with its features, in terms the oracles understand."""

    factors: FactorGraph
    loss: str
    X: np.ndarray
    Y: np.ndarray
    C: float
    fit_intercept: bool = False

    @property
    def features(self):
        """phi(x): the features, with the constant one where there is an intercept."""
        ones = np.ones((len(self.X), int(self.fit_intercept)))
        return np.hstack([self.X, ones])

    @property
    def kernel(self):
        return self.features @ self.features.T

    @property
    def problem(self):
        ends = self.factors.arrays.factor
        loss = find_loss(self.loss)(ends["first"], ends["second"])
        return Problem(self.factors, loss, self.Y.astype(np.int32), self.C)

    def solve(self, form=linear_form, seed=0, **options):
        data = self.X @ self.X.T if form is KernelForm else self.X
        if form is SparseForm:
            data = sparse.csr_array(data)
        fresh = form(data, self.problem.coordinates, self.fit_intercept)
        return solve(fresh, self.problem, np.random.default_rng(seed), **options)


def make_task(graph, n_values, *, seed=0, n=8, loss="edge", C=1.0, intercept=False):
    """A noisy problem: labels follow a linear rule on three of four examples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    rule = X @ rng.normal(size=(3, len(n_values)))
    ranks = rule.argsort(axis=0).argsort(axis=0)
    Y = ranks * np.array(n_values) // n
    noise = rng.integers(n_values, size=Y.shape)
    Y = np.where(rng.random((n, 1)) < 0.25, noise, Y)
    return Task(FactorGraph(graph, n_values), loss, X, Y, C, intercept)


def label_sets(factors):
    return np.array(list(np.ndindex(*factors.n_values)))


def indicators(factors, Y):
    """U(y) of every row, written cell by cell."""
    columns = []
    for u, v in factors.graph.edges:
        for a in range(factors.n_values[u]):
            for b in range(factors.n_values[v]):
                columns.append((Y[:, u] == a) & (Y[:, v] == b))
    for j in factors.unary_labels:
        columns += [Y[:, j] == a for a in range(factors.n_values[j])]
    return np.array(columns, dtype=float).T


def losses(task, Z):
    """loss(y_i, z) of every example and row of Z, by counting."""
    wrong = task.Y[:, None] != Z[None]
    if task.loss == "hamming":
        return wrong.sum(axis=2).astype(float)
    u, v = task.factors.graph.edges.T
    pairs = (wrong[..., u] | wrong[..., v]).sum(axis=2)
    return pairs + wrong[..., task.factors.unary_labels].sum(axis=2).astype(float)


def loss_cells(task):
    """The loss of every example and cell: label sets of one factor at a time."""
    factors = task.factors
    n_factors = np.zeros(factors.n_labels)
    for j in [*factors.graph.edges.ravel(), *factors.unary_labels]:
        n_factors[j] += 1
    columns = []
    parts = [*factors.graph.edges.tolist(), *([j] for j in factors.unary_labels)]
    for part in parts:
        for values in np.ndindex(*factors.n_values[part]):
            wrong = task.Y[:, part] != values
            if task.loss == "edge":
                columns.append(wrong.any(axis=1))
            else:
                columns.append((wrong / n_factors[part]).sum(axis=1))
    return np.array(columns, dtype=float).T


def primal_value(task, scores, squared_norm):
    """1/2 |w|^2 + C sum_i xi_i, the slacks by enumeration (equation soft_margin)."""
    Z = label_sets(task.factors)
    all_scores = scores @ indicators(task.factors, Z).T
    own = (scores * indicators(task.factors, task.Y)).sum(axis=1)
    slack = (losses(task, Z) + all_scores).max(axis=1) - own
    return 0.5 * squared_norm + task.C * slack.sum()


def primal_and_dual(task, A):
    """Both objectives at the dual coefficients A, from scratch."""
    scores = task.kernel @ A
    squared_norm = (A * scores).sum()
    mu = task.C * indicators(task.factors, task.Y) - A
    dual = (loss_cells(task) * mu).sum() - 0.5 * squared_norm
    return primal_value(task, scores, squared_norm), dual


def original_dual(task):
    """The paper's dual (orig_dual): losses (n, n_sets) and Psi with K = Psi Psi^T.

    Row (i, y) of Psi is phi(x_i, y_i) - phi(x_i, y), the features written out.
    """
    Z = label_sets(task.factors)
    moved = (
        indicators(task.factors, task.Y)[:, None] - indicators(task.factors, Z)[None]
    )
    Psi = np.einsum("id,iyc->iydc", task.features, moved)
    return losses(task, Z), Psi.reshape(len(task.Y) * len(Z), -1)


def onto_capped_simplex(rows, C):
    """The nearest points with non-negative entries and row sums of at most C."""
    clipped = np.maximum(rows, 0.0)
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - C) / np.arange(1, rows.shape[1] + 1)
    last = (falling > excess).sum(axis=1) - 1
    shift = excess[np.arange(len(rows)), last]
    on_face = np.maximum(rows - shift[:, None], 0.0)
    return np.where(clipped.sum(axis=1, keepdims=True) > C, on_face, clipped)


def best_original_dual(task, rtol=1e-6, max_iter=50_000):
    """The optimum of the original dual, by accelerated projected gradient.

    Stops when primal minus dual is `rtol` of the dual, so the value is proven.
    """
    loss, Psi = original_dual(task)
    joint = Psi @ Psi.T
    step = 1.0 / max(np.linalg.eigvalsh(joint)[-1], 1e-12)
    alpha = ahead = np.zeros_like(loss)
    momentum = 1.0
    for iteration in range(max_iter):
        slope = loss - (joint @ ahead.ravel()).reshape(loss.shape)
        new = onto_capped_simplex(ahead + step * slope, task.C)
        if ((new - ahead) * (new - alpha)).sum() < 0:  # momentum points the wrong way
            momentum = 1.0
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + (momentum - 1.0) / faster * (new - alpha)
        alpha, momentum = new, faster
        if iteration % 50 == 0:
            w = Psi.T @ alpha.ravel()
            dual = (loss * alpha).sum() - 0.5 * w @ w
            slack = (loss - (Psi @ w).reshape(loss.shape)).max(axis=1)
            if 0.5 * w @ w + task.C * slack.sum() - dual <= rtol * dual:
                return dual
    raise AssertionError("the oracle did not converge")


def dual_coefficients(task, form, found):
    """A of a solution; the linear forms keep W = phi(X)^T A, from which it follows.

    Only where the examples' features are independent: see `independent_features`.
    """
    if form is KernelForm:
        return found.weights
    W = found.weights
    if task.fit_intercept:
        W = np.vstack([W, found.intercept])
    return np.linalg.pinv(task.features.T) @ W


def independent_features(task):
    singular = np.linalg.svd(task.features, compute_uv=False)
    return len(singular) == len(task.X) and singular[-1] > 0.05 * singular[0]


def marginals(task, A):
    return task.C * indicators(task.factors, task.Y) - A


def tables(factors, row):
    """Split a row of cells into one table per factor: ((labels), table)."""
    start = 0
    for u, v in factors.graph.edges.tolist():
        shape = factors.n_values[u], factors.n_values[v]
        stop = start + shape[0] * shape[1]
        yield (u, v), row[start:stop].reshape(shape)
        start = stop
    for j in factors.unary_labels.tolist():
        stop = start + factors.n_values[j]
        yield (j,), row[start:stop]
        start = stop


@st.composite
def tasks(draw, kinds=FORESTS, max_labels=4, n_max=8):
    """A task on any factor graph, with degenerate examples among the others."""
    factors = draw(
        factor_graphs(st.sampled_from(kinds), max_labels=max_labels, extra_unary=True)
    )
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, n_max))
    X = rng.normal(size=(n, draw(st.sampled_from([1, 3, 2 * n_max]))))
    if draw(st.booleans()):
        X = np.round(X)  # ties, zero rows
    if n > 1 and draw(st.booleans()):
        X[0] = X[-1]
    Y = rng.integers(factors.n_values, size=(n, factors.n_labels))
    return Task(
        factors,
        draw(st.sampled_from(["edge", "hamming"])),
        X,
        Y,
        draw(st.sampled_from([0.01, 0.5, 10.0])),
        draw(st.booleans()),
    )


forest_tasks = tasks()
cyclic_tasks = tasks(kinds=[random_graph])
FORMS = [KernelForm, DenseForm, SparseForm]
any_form = st.sampled_from(FORMS)


# --- the optimum -------------------------------------------------------------------

SMALL_CASES = [
    pytest.param(TREE, [2, 2, 2], id="tree"),
    pytest.param(TREE, [2, 3, 2], id="tree, three values"),
    pytest.param(FOREST, [2, 2, 3], id="forest"),
    pytest.param(LabelGraph(3, []), [2, 3, 2], id="no edges"),
]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize(("graph", "n_values"), SMALL_CASES)
def test_the_dual_optimum_is_that_of_the_original_dual_over_all_label_sets(
    graph, n_values, loss, intercept
):
    task = make_task(graph, n_values, n=6, loss=loss, intercept=intercept)
    found = task.solve(tol=1e-6, max_iter=5000)
    assert found.converged
    assert_allclose(found.dual_objective, best_original_dual(task), rtol=1e-5)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("seed", range(3))
def test_the_dual_optimum_on_a_cycle_is_that_of_the_original_dual(loss, seed):
    task = make_task(TRIANGLE, [2, 2, 2], seed=seed, n=6, loss=loss, C=0.3)
    found = task.solve(tol=1e-4, max_iter=2000)
    best = best_original_dual(task)
    assert found.dual_objective <= best * (1 + 1e-6)
    assert_allclose(found.dual_objective, best, rtol=5e-3)
    assert found.dual_objective + found.gap >= best * (1 - 1e-6)


def test_the_oracle_agrees_with_a_general_purpose_solver():
    task = make_task(TREE, [2, 2, 2], n=4)
    loss, Psi = original_dual(task)
    joint = Psi @ Psi.T
    found = optimize.minimize(
        lambda alpha: 0.5 * alpha @ joint @ alpha - loss.ravel() @ alpha,
        np.zeros(loss.size),
        jac=lambda alpha: joint @ alpha - loss.ravel(),
        bounds=[(0, None)] * loss.size,
        constraints={
            "type": "ineq",
            "fun": lambda alpha: task.C - alpha.reshape(loss.shape).sum(axis=1),
            "jac": lambda alpha: -np.kron(np.eye(4), np.ones(8)),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert_allclose(-found.fun, best_original_dual(task), rtol=1e-5)


# --- the certificate ---------------------------------------------------------------


@given(forest_tasks, any_form, st.integers(1, 20))
@settings(deadline=None, max_examples=100)
def test_primal_minus_dual_from_scratch_is_the_gap_on_forests(task, form, max_iter):
    form = form if independent_features(task) else KernelForm
    found = task.solve(form, tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, dual_coefficients(task, form, found))
    scale = 1e-9 * (1.0 + abs(primal))
    assert_allclose(found.dual_objective, dual, rtol=1e-6, atol=scale)
    assert_allclose(found.gap, primal - dual, rtol=1e-6, atol=scale)


@given(cyclic_tasks, any_form, st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_primal_minus_dual_from_scratch_is_at_most_the_gap(task, form, max_iter):
    form = form if independent_features(task) else KernelForm
    found = task.solve(form, tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, dual_coefficients(task, form, found))
    scale = 1e-9 * (1.0 + abs(primal))
    assert_allclose(found.dual_objective, dual, rtol=1e-6, atol=scale)
    assert primal - dual <= found.gap * (1 + 1e-6) + scale


@given(forest_tasks, st.sampled_from([DenseForm, SparseForm]), st.integers(1, 20))
@settings(deadline=None, max_examples=60)
def test_the_weights_have_the_primal_objective_of_the_certificate(task, form, epochs):
    found = task.solve(form, tol=1e-3, max_iter=epochs)
    squared_norm = (found.weights**2).sum() + (found.intercept**2).sum()
    scores = task.X @ found.weights + found.intercept
    primal = primal_value(task, scores, squared_norm)
    assert_allclose(found.dual_objective + found.gap, primal, rtol=1e-6, atol=1e-9)


@given(st.one_of(forest_tasks, cyclic_tasks))
@settings(deadline=None, max_examples=60)
def test_scores_through_the_kernel_are_scores_of_explicit_weights(task):
    """Lemma 1: <w, phi(x) (outer) U(y)> = sum_i K(x, x_i) <A_i, U(y)>."""
    found = task.solve(KernelForm, max_iter=3)
    mu = marginals(task, found.weights)
    own = indicators(task.factors, task.Y)
    w = np.einsum("id,ic->dc", task.features, task.C * own - mu)
    Z = indicators(task.factors, label_sets(task.factors))

    rng = np.random.default_rng(0)
    fresh = rng.normal(size=(5, task.X.shape[1]))
    phi = np.hstack([fresh, np.ones((5, int(task.fit_intercept)))])
    explicit = np.einsum("nd,yc,dc->ny", phi, Z, w)
    kernel = fresh @ task.X.T
    through_kernel = (kernel @ found.weights + found.intercept) @ Z.T
    assert_allclose(through_kernel, explicit, atol=1e-8 * (1 + np.abs(explicit).max()))


@given(st.one_of(forest_tasks, cyclic_tasks), any_form)
@settings(deadline=None, max_examples=60)
def test_the_intercept_is_the_weight_of_a_constant_feature(task, form):
    found = task.solve(form, max_iter=3)
    if not task.fit_intercept:
        assert_array_equal(found.intercept, 0.0)
    else:
        written_out = task._replace(X=task.features, fit_intercept=False)
        A = dual_coefficients(task, KernelForm, task.solve(KernelForm, max_iter=3))
        other = written_out.solve(KernelForm, max_iter=3)
        if form is KernelForm:
            assert_allclose(found.intercept, A.sum(axis=0), atol=1e-9 * (1 + task.C))
        gaps = found.gap + other.gap  # two points near one optimum
        assert abs(found.dual_objective - other.dual_objective) <= gaps + 1e-9


@given(forest_tasks, any_form, st.integers(1, 20))
@settings(deadline=None, max_examples=100)
def test_marginals_lie_in_the_marginal_polytope_of_a_forest(task, form, max_iter):
    form = form if independent_features(task) else KernelForm
    found = task.solve(form, tol=1e-6, max_iter=max_iter)
    mu = marginals(task, dual_coefficients(task, form, found))
    atol = 1e-9 * task.C if form is KernelForm else 1e-6 * task.C
    assert (mu >= -atol).all()
    for row in mu:
        seen = {}
        for labels, table in tables(task.factors, row):
            assert_allclose(table.sum(), task.C, atol=atol)
            for axis, j in enumerate(labels):
                other = tuple(a for a in range(len(labels)) if a != axis)
                single = table.sum(axis=other)
                assert_allclose(single, seen.setdefault(j, single), atol=atol)


@given(cyclic_tasks)
@settings(deadline=None, max_examples=30)
def test_marginals_on_a_cycle_are_a_mixture_of_label_sets(task):
    found = task.solve(KernelForm, max_iter=3)
    Z = indicators(task.factors, label_sets(task.factors))
    for row in marginals(task, found.weights) / task.C:
        system = np.vstack([Z.T, np.ones(len(Z))])
        _, residual = optimize.nnls(system, np.append(row, 1.0))
        assert residual <= 1e-7


# --- forms -------------------------------------------------------------------------


N_EPOCHS = 8


class Iterate(NamedTuple):
    """What must not depend on the form."""

    explicit: np.ndarray  # W, with the intercept's row
    dual_objective: float
    gaps: np.ndarray


def iterate(form, graph, intercept, n=100):
    task = make_task(graph, [2, 3, 2], n=n, intercept=intercept)
    found = task.solve(form, tol=1e-12, max_iter=N_EPOCHS)
    W = task.X.T @ found.weights if form is KernelForm else found.weights
    W = np.vstack([W, found.intercept])
    return Iterate(W, found.dual_objective, found.gaps)


def assert_same_iterate(found, expected):
    assert_allclose(found.explicit, expected.explicit, atol=1e-8)
    assert_allclose(found.dual_objective, expected.dual_objective)
    assert_allclose(found.gaps[-1], expected.gaps[-1], rtol=1e-6)


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
@settings(deadline=None, max_examples=30)
def test_all_forms_reach_the_same_objective(task):
    bounds = []
    for form in FORMS:
        found = task.solve(form, tol=1e-4, max_iter=1000)
        slack = 1e-9 * (1.0 + abs(found.dual_objective))
        bounds.append(
            (found.dual_objective - slack, found.dual_objective + found.gap + slack)
        )
    lower, upper = np.array(bounds).T
    assert lower.max() <= upper.min()  # every interval holds the one optimum


@pytest.mark.parametrize("form", FORMS)
def test_float32_data_end_at_a_gap_that_holds_in_float64(form):
    exact = make_task(TREE, [2, 3, 2], n=60, intercept=True)
    single = exact._replace(X=exact.X.astype(np.float32))
    found = single.solve(form, tol=1e-2)
    assert found.converged
    assert found.weights.dtype == np.float64
    best = exact.solve(KernelForm, tol=1e-4, max_iter=1000)
    assert found.dual_objective <= best.dual_objective + best.gap
    assert found.dual_objective + found.gap >= best.dual_objective
    if form is KernelForm:
        scores = single.X.astype(float) @ (single.X.T.astype(float) @ found.weights)
        squared_norm = ((scores + found.intercept) * found.weights).sum()
    else:
        scores = single.X.astype(float) @ found.weights
        squared_norm = (found.weights**2).sum() + (found.intercept**2).sum()
    primal = primal_value(exact, scores + found.intercept, squared_norm)
    assert_allclose(found.dual_objective + found.gap, primal, rtol=1e-5)


def kernel_form_with_copy(task):
    K = task.X @ task.X.T
    copy = K.astype(np.float32)
    return KernelForm(K, task.problem.coordinates, task.fit_intercept, copy)


def test_products_of_a_rounded_kernel_end_at_the_gap_of_the_kernel_itself():
    task = make_task(TREE, [2, 3, 2], n=60, intercept=True)
    form = kernel_form_with_copy(task)
    found = solve(form, task.problem, np.random.default_rng(0), tol=1e-2)
    assert found.converged
    assert form.epoch_data is not form.data
    K = form.data + 1.0
    scores = K @ found.weights
    primal = primal_value(task, scores, (scores * found.weights).sum())
    assert_allclose(found.dual_objective + found.gap, primal, rtol=1e-9)


def test_products_become_exact_where_rounding_keeps_the_gap_open():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 8))  # independent rows: any labels can be learned
    Y = rng.integers(2, size=(6, 3))
    # at this price a violation of 1e-9 is much, and single precision has 1e-7
    task = Task(FactorGraph(TREE, [2, 2, 2]), "edge", X, Y, C=1e6)
    form = kernel_form_with_copy(task)
    rng = np.random.default_rng(0)
    found = solve(form, task.problem, rng, tol=1e-3, max_iter=5000)
    assert found.converged
    assert form.epoch_data is form.data


def test_a_path_over_a_rounded_kernel_has_true_gaps_also_after_it_became_exact():
    task = make_task(TREE, [2, 2, 2], n=30, intercept=True)
    form = kernel_form_with_copy(task)
    K, factor = form.data + 1.0, 1.0
    for C in (0.1, 10.0, 1e5):
        form.restart(factor)
        problem = task.problem._replace(C=C)
        found = solve(form, problem, np.random.default_rng(0), tol=1e-3, max_iter=3000)
        scores = K @ found.weights
        squared_norm = (scores * found.weights).sum()
        primal = primal_value(task._replace(C=C), scores, squared_norm)
        assert_allclose(found.dual_objective + found.gap, primal, rtol=1e-6)
        factor = 10.0


def test_csr_matrices_are_as_good_as_csr_arrays():
    task = make_task(TREE, [2, 2, 2], n=20)
    expected = task.solve(SparseForm, max_iter=2)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        form = linear_form(kind(task.X), task.problem.coordinates)
        assert isinstance(form, SparseForm)
        found = solve(form, task.problem, np.random.default_rng(0), max_iter=2)
        assert_array_equal(found.weights, expected.weights)


def test_rows_without_entries_and_columns_without_rows_do_no_harm():
    task = make_task(TREE, [2, 2, 2], n=10, intercept=True)
    X = task.X.copy()
    X[3], X[:, 1] = 0.0, 0.0
    task = task._replace(X=X)
    for form in FORMS:
        found = task.solve(form, tol=1e-6, max_iter=5000)
        assert_allclose(found.dual_objective, best_original_dual(task), rtol=1e-5)
        if form is not KernelForm:
            assert_array_equal(found.weights[1], 0.0)


# --- special cases equal known machines --------------------------------------------


@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_a_pairing_is_one_problem_per_pair(loss):
    pairing = LabelGraph(5, [(0, 3), (1, 4)])  # label 2 stays alone
    task = make_task(pairing, [2, 2, 3, 3, 2], n=30, loss=loss, intercept=True)
    whole = task.solve(tol=1e-6, max_iter=5000)
    assert whole.converged
    separate = 0.0
    for part in ([0, 3], [1, 4], [2]):
        edges = [(0, 1)] if len(part) == 2 else []
        factors = FactorGraph(LabelGraph(len(part), edges), task.factors.n_values[part])
        alone = task._replace(factors=factors, Y=task.Y[:, part])
        found = alone.solve(tol=1e-6, max_iter=5000)
        assert found.converged
        separate += found.dual_objective
    assert_allclose(whole.dual_objective, separate, rtol=1e-5)


def one_step_each(task):
    """The dual variables after one visit of every example, one step per visit."""
    form = linear_form(task.X, task.problem.coordinates, task.fit_intercept)
    compiled = solver.compiled_problem(task.problem)._replace(max_steps=1)
    for _ in range(4):  # as many rounds: later ones start from mixtures of label sets
        form.epoch(np.arange(len(task.X)), compiled, np.zeros(len(task.X)), None)
    return form.coordinates.expand(form.dual_coef)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_trees_of_a_forest_take_the_steps_they_would_take_alone(loss):
    forest = LabelGraph(6, [(0, 1), (1, 2), (3, 4), (4, 5)])
    task = make_task(forest, [2, 2, 3, 3, 2, 2], n=30, loss=loss, intercept=True)
    alone = []
    for part in ([0, 1, 2], [3, 4, 5]):
        factors = FactorGraph(TREE, task.factors.n_values[part])
        alone.append(one_step_each(task._replace(factors=factors, Y=task.Y[:, part])))
    assert_allclose(one_step_each(task), np.hstack(alone), atol=1e-12)


def svm_value(svm, X, y, C):
    """1/2 |d|^2 + C sum of hinge losses, the constant feature regularised too."""
    d = np.append(svm.coef_, svm.intercept_ * svm.fit_intercept)
    margins = np.where(y == 1, 1, -1) * svm.decision_function(X)
    return 0.5 * d @ d + C * np.maximum(1.0 - margins, 0.0).sum()


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_one_label_of_two_values_is_a_binary_svm(C, intercept, loss):
    """With d = w_1 - w_0 and w_0 = -w_1 at the optimum, |w|^2 = |d|^2 / 2.

    So the objective is 1/4 |d|^2 + C sum_i hinge_i: half of an SVM's at 2 C.
    """
    task = make_task(LabelGraph(1, []), [2], n=40, loss=loss, C=C, intercept=intercept)
    y = task.Y[:, 0]
    found = task.solve(tol=1e-7, max_iter=20_000)
    assert found.converged
    svm = LinearSVC(
        loss="hinge",
        C=2 * C,
        fit_intercept=intercept,
        tol=1e-10,
        max_iter=10**6,
        random_state=0,
    ).fit(task.X, y)
    expected = svm_value(svm, task.X, y, 2 * C)
    assert_allclose(found.dual_objective, 0.5 * expected, rtol=1e-5)
    scores = task.X @ found.weights + found.intercept
    decisions = svm.decision_function(task.X)
    assert_allclose(scores[:, 1] - scores[:, 0], decisions, atol=5e-3)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_one_label_of_more_values_is_a_crammer_singer_svm(C, intercept):
    """1/2 sum_a |w_a|^2 + C sum_i max_a (1 - [a = y_i] + <w_a - w_yi, x_i>)."""
    task = make_task(LabelGraph(1, []), [4], n=40, C=C, intercept=intercept)
    found = task.solve(tol=1e-6, max_iter=20_000)
    assert found.converged
    svm = LinearSVC(
        multi_class="crammer_singer",
        C=C,
        fit_intercept=intercept,
        tol=1e-10,
        max_iter=10**6,
        random_state=0,
    ).fit(task.X, task.Y[:, 0])
    squared_norm = (svm.coef_**2).sum()
    squared_norm += (svm.intercept_**2).sum() if intercept else 0.0
    expected = primal_value(task, svm.decision_function(task.X), squared_norm)
    assert_allclose(found.dual_objective, expected, rtol=1e-5)
    scores = task.X @ found.weights + found.intercept
    centred = scores - scores.mean(axis=1, keepdims=True)
    theirs = svm.decision_function(task.X)
    theirs = theirs - theirs.mean(axis=1, keepdims=True)
    assert_allclose(centred, theirs, atol=1e-2)


def test_hamming_and_edge_loss_are_one_problem_without_edges():
    graph = LabelGraph(3, [])
    edge, hamming = (
        make_task(graph, [2, 3, 2], n=20, loss=loss).solve(tol=0, max_iter=5)
        for loss in ("edge", "hamming")
    )
    assert_allclose(edge.weights, hamming.weights, atol=1e-12)


# --- progress and reporting --------------------------------------------------------


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_without_acceleration_the_dual_never_decreases(graph, form, C, monkeypatch):
    monkeypatch.setattr(solver.Pace, "kappa", lambda *_: 0.0)
    task = make_task(graph, [2, 3, 2], n=20, C=C, intercept=True)
    reached = 0.0
    for max_iter in range(1, 12):
        found = task.solve(form, tol=0, max_iter=max_iter)
        assert found.dual_objective >= reached * (1 - 1e-10)
        reached = found.dual_objective


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_after_every_epoch_the_optimum_lies_between_dual_and_primal(graph, form, C):
    task = make_task(graph, [2, 2, 2], n=8, C=C, intercept=True)
    best = best_original_dual(task, rtol=1e-4)
    for max_iter in range(1, 12):
        found = task.solve(form, tol=0, max_iter=max_iter)
        assert found.dual_objective <= best * (1 + 1e-4)
        assert found.dual_objective + found.gap >= best * (1 - 1e-4)


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
@pytest.mark.parametrize("form", FORMS)
def test_a_longer_run_repeats_a_shorter_one(graph, form):
    task = make_task(graph, [2, 3, 2], n=20, intercept=True)
    shorter, longer = (task.solve(form, tol=0, max_iter=n) for n in (4, 9))
    assert (shorter.n_iter, longer.n_iter) == (4, 9)
    assert_array_equal(longer.gaps[:3], shorter.gaps[:3])  # the last one is exact


def test_the_gap_is_not_negative_where_only_rounding_is_left_of_it():
    factors = FactorGraph(LabelGraph(1, []), [2])
    for x in np.random.default_rng(1).normal(size=(200, 1, 1)):
        task = Task(factors, "edge", x, np.array([[0]]), C=0.01)
        assert task.solve(max_iter=1).gap >= 0, x


@given(st.one_of(forest_tasks, cyclic_tasks), st.integers(1, 6), seeds)
@settings(deadline=None, max_examples=60)
def test_what_is_reported_hangs_together(task, max_iter, seed):
    found = task.solve(seed=seed, tol=1e-2, max_iter=max_iter)
    assert found.gap == found.gaps[-1]
    assert found.gap >= -1e-12 * found.dual_objective
    assert 1 <= found.n_iter == len(found.gaps) <= max_iter
    assert found.dual_objective >= 0
    assert found.converged == (found.gap <= 1e-2 * found.dual_objective)
    assert found.converged or found.n_iter == max_iter
    assert found.weights.shape == (task.X.shape[1], task.factors.n_cells)
    assert found.intercept.shape == (task.factors.n_cells,)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [1, 5, 20])
def test_no_estimate_of_the_gap_is_negative(n, form):
    for seed in range(10):
        task = make_task(TREE, [2, 3, 2], n=n, seed=seed)
        found = task.solve(form, tol=0, max_iter=20)
        assert (found.gaps >= 0).all(), seed


def test_convergence_ends_training_and_more_epochs_change_nothing():
    task = make_task(TREE, [2, 2, 2], n=30)
    found = task.solve(tol=1e-2, max_iter=1000)
    assert found.converged
    assert found.n_iter < 1000
    longer = task.solve(tol=1e-2, max_iter=2000)
    assert_array_equal(longer.weights, found.weights)


@pytest.mark.parametrize("form", [KernelForm, DenseForm, SparseForm])
@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_restart_for_another_price_of_slack_ends_at_its_optimum(form, factor):
    task = make_task(TREE, [2, 2, 3], n=40, intercept=True)
    other = task._replace(C=factor * task.C)
    data = task.X @ task.X.T if form is KernelForm else task.X
    if form is SparseForm:
        data = sparse.csr_array(data)
    warm = form(data, task.problem.coordinates, fit_intercept=True)
    solve(warm, task.problem, np.random.default_rng(0), tol=1e-3, max_iter=2000)
    warm.restart(factor)

    again = solve(
        warm, other.problem, np.random.default_rng(0), tol=1e-4, max_iter=2000
    )

    cold = other.solve(form, tol=1e-4, max_iter=2000)
    assert again.converged
    assert_allclose(again.dual_objective, cold.dual_objective, rtol=2e-4)
    scores = warm.scores(np.arange(len(task.X)))
    primal = primal_value(other, scores, warm.squared_norm())
    assert_allclose(primal - again.dual_objective, again.gap, atol=1e-8)


def test_a_smaller_tolerance_gives_a_smaller_gap():
    task = make_task(TREE, [2, 3, 2], n=30, intercept=True)
    for tol in (1e-1, 1e-2, 1e-3, 1e-5):
        found = task.solve(tol=tol, max_iter=5000)
        assert found.gap <= tol * found.dual_objective


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_the_order_of_the_examples_does_not_matter_at_a_small_tolerance(graph):
    task = make_task(graph, [2, 2, 2], n=20, C=0.3, intercept=True)
    order = np.random.default_rng(1).permutation(20)
    shuffled = task._replace(X=task.X[order], Y=task.Y[order])
    one, other = (t.solve(tol=1e-5, max_iter=1000) for t in (task, shuffled))
    rtol = 2e-5 if graph.is_forest else 5e-3  # on cycles steps are slow
    assert_allclose(one.dual_objective, other.dual_objective, rtol=rtol)
    assert one.converged or not graph.is_forest


@given(forest_tasks)
@settings(deadline=None, max_examples=40)
def test_any_seed_leads_to_the_same_optimum(task):
    one, other = (task.solve(seed=seed, tol=1e-4, max_iter=2000) for seed in (0, 1))
    assert one.converged
    assert other.converged
    assert_allclose(one.dual_objective, other.dual_objective, rtol=2e-4, atol=1e-12)


# --- limits and degenerate data ----------------------------------------------------


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_weights_vanish_with_the_price_of_slack(graph):
    task = make_task(graph, [2, 2, 2], C=1e-9, intercept=True)
    found = task.solve(tol=1e-3)
    assert found.converged
    assert np.abs(found.weights).max() < 1e-7
    assert np.abs(found.intercept).max() < 1e-7
    Z = label_sets(task.factors)
    largest = losses(task, Z).max(axis=1).sum()
    assert_allclose(found.dual_objective, task.C * largest, rtol=2e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [1e4, 1e6, 1e8])
def test_a_huge_price_of_slack_reaches_the_hard_margin_and_certifies_it(C, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 8))  # independent rows: any labels can be learned
    Y = rng.integers(2, size=(6, 3))
    task = Task(FactorGraph(TREE, [2, 2, 2]), "edge", X, Y, C)
    found = task.solve(form, tol=1e-3, max_iter=5000)
    assert found.converged
    assert np.isfinite(found.weights).all()
    hard_margin = best_original_dual(task._replace(C=1e3))
    assert_allclose(found.dual_objective, hard_margin, rtol=2e-3)


@pytest.mark.parametrize("C", [1e8, 1e12])
def test_a_huge_price_of_slack_leaves_the_certificate_honest(C):
    task = make_task(TREE, [2, 2, 2], n=8, C=C)
    task = task._replace(X=np.ones((8, 1)))  # nothing can be separated
    found = task.solve(KernelForm, tol=1e-3, max_iter=50)
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.gaps).all()
    primal, dual = primal_and_dual(task, found.weights)
    assert_allclose(found.dual_objective, dual, rtol=1e-6)
    assert_allclose(found.gap, primal - dual, rtol=1e-3, atol=1e-6 * primal)


@pytest.mark.parametrize("form", FORMS)
def test_an_example_of_no_features_pays_its_largest_loss(form):
    task = make_task(TREE, [2, 2, 2], n=6)
    task = task._replace(X=np.vstack([task.X, np.zeros(3)]), Y=task.Y[[*range(6), 0]])
    with_zero = task.solve(form, tol=1e-6, max_iter=5000)
    rest = task._replace(X=task.X[:6], Y=task.Y[:6])
    without = rest.solve(form, tol=1e-6, max_iter=5000)
    assert with_zero.converged
    assert_allclose(
        with_zero.dual_objective - without.dual_objective, 2 * task.C, rtol=1e-4
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_without_features_every_example_pays_its_largest_loss(graph, form):
    task = make_task(graph, [2, 2, 2])
    task = task._replace(X=np.zeros((8, 2)))
    found = task.solve(form, tol=1e-4)
    assert found.converged
    assert_allclose(found.dual_objective, 8 * task.C * graph.n_edges, rtol=2e-4)


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_a_repeated_example_is_one_example_at_twice_the_price(graph):
    task = make_task(graph, [2, 2, 2], n=6, C=0.2)
    twice = task._replace(
        X=np.repeat(task.X, 2, axis=0), Y=np.repeat(task.Y, 2, axis=0)
    )
    found = twice.solve(tol=1e-6, max_iter=2000)
    expected = best_original_dual(task._replace(C=2 * task.C))
    rtol = 2e-6 if graph.is_forest else 5e-3
    assert_allclose(found.dual_objective, expected, rtol=rtol)
    assert found.dual_objective + found.gap >= expected * (1 - 1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("graph", [TREE, FOREST, TRIANGLE])
def test_constant_labels_cost_nothing_and_converge_in_one_epoch(graph, form):
    task = make_task(graph, [1, 1, 1], intercept=True)
    found = task.solve(form)
    assert found.converged
    assert (found.n_iter, found.gap, found.dual_objective) == (1, 0.0, 0.0)
    assert_array_equal(found.weights, 0.0)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_a_label_of_one_value_leaves_the_problem_of_the_others(loss):
    task = make_task(LabelGraph(3, [(0, 1)]), [2, 2, 1], n=10, loss=loss)
    found = task.solve(tol=1e-6, max_iter=5000)
    others = task._replace(
        factors=FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2]), Y=task.Y[:, :2]
    )
    expected = others.solve(tol=1e-6, max_iter=5000)
    assert_allclose(found.dual_objective, expected.dual_objective, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_one_example_is_learned(graph, form):
    task = make_task(graph, [2, 2, 2], n=1)
    found = task.solve(form, tol=1e-4, max_iter=1000)
    expected = best_original_dual(task)
    assert_allclose(found.dual_objective, expected, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_a_larger_problem_reaches_a_small_gap_that_holds_from_scratch(C, intercept):
    rng = np.random.default_rng(3)
    tree = random_spanning_tree(8, rng)
    task = make_task(tree, [2] * 8, n=120, C=C, intercept=intercept)
    found = task.solve(KernelForm, tol=1e-3, max_iter=2000)
    assert found.converged
    primal, dual = primal_and_dual(task, found.weights)
    assert_allclose(found.gap, primal - dual, rtol=1e-6)
    assert primal - dual <= 1e-3 * dual * (1 + 1e-6)


# --- acceleration ------------------------------------------------------------------


@given(st.lists(st.floats(0.0, 30.0), min_size=1, max_size=12), seeds)
@settings(deadline=None)
def test_acceleration_is_two_exponential_averages_in_a_row(kappas, seed):
    rng = np.random.default_rng(seed)
    value, A, once, twice = np.zeros((4, 5))
    acceleration = Acceleration()
    for kappa in kappas:
        acceleration.advance(kappa, [value])
        change = rng.normal(size=5)
        A = A + change
        value += acceleration.scale * change  # as an epoch does
        rho = 1.0 - 1.0 / np.sqrt(1.0 + kappa)
        once = rho * once + (1.0 - rho) * A
        twice = rho * twice + (1.0 - rho) * once
        assert_allclose(value, twice, atol=1e-9)


def test_the_pace_grows_to_its_cap_and_halves_when_the_gap_stalls():
    pace = Pace()
    chosen = []
    for epoch in range(60):
        chosen.append(pace.kappa(dual=100.0, squared_norm=1.0))
        pace.observe(gap=max(1.0 - 0.1 * epoch, 0.2))  # no new minimum after a while
    assert chosen[0] == 0.0
    assert (np.diff(chosen[:9]) > 0).all()
    assert max(chosen) <= 20.0
    assert chosen[-1] < 0.5 * max(chosen)
    assert Pace().kappa(dual=0.0, squared_norm=0.0) == 0.0
