"""Training problems, and oracles that know nothing of the solver: plain NumPy.

The oracles build U(y), losses and kernels from their definitions, solve the paper's
original dual (a variable per example and label set), and enumerate label sets for the
primal. The solver's objectives must agree with them. A label that is not observed has
the code -1. A factor counts for an example that teaches it: that has all its labels.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose
from scipy import sparse
from strategies import FORESTS, factor_graphs, random_graph, seeds

from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.solver import (
    DenseForm,
    KernelForm,
    Problem,
    SparseForm,
    linear_form,
    solve_path,
)

TREE = LabelGraph(3, [(0, 1), (1, 2)])
FOREST = LabelGraph(3, [(0, 2)])
TRIANGLE = LabelGraph(3, [(0, 1), (1, 2), (0, 2)])


class Task(NamedTuple):
    """A problem with its features, in terms the oracles understand."""

    factors: FactorGraph
    loss: str
    X: np.ndarray
    Y: np.ndarray
    C: float
    fit_intercept: bool = False
    sample_weight: np.ndarray | None = None
    label_weight: np.ndarray | None = None  # (n_samples, n_labels)

    @property
    def boxes(self):
        """C times the weight of every example, a column."""
        weight = np.ones(len(self.X))
        if self.sample_weight is not None:
            weight = np.asarray(self.sample_weight, dtype=float)
        return self.C * weight[:, None]

    @property
    def factor_weights(self):
        """The mean weight of the labels of every factor, for every example."""
        of_factors = factor_labels(self.factors)
        if self.label_weight is None:
            return np.ones((len(self.X), len(of_factors)))
        means = [self.label_weight[:, of].mean(axis=1) for of in of_factors]
        return np.array(means).T

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
        loss = self.factors.loss(self.loss)
        weights = self.sample_weight, self.label_weight
        return Problem(self.factors, loss, self.Y.astype(np.int32), self.C, *weights)

    def form(self, kind=linear_form):
        """Return a fresh form of this kind."""
        data = self.X @ self.X.T if kind is KernelForm else self.X
        if kind is SparseForm:
            data = sparse.csr_array(data)
        return kind(data, self.problem.coordinates, self.fit_intercept)

    def solve(self, form=linear_form, seed=0, **options):
        rng = np.random.default_rng(seed)
        return solve(self.form(form), self.problem, rng, **options)


def solve(form, problem, rng, **options):
    """Return the solution for the problem's own C."""
    return next(solve_path(form, problem, [problem.C], rng, **options))


def make_task(graph, n_values, *, seed=0, n=8, loss="edge", C=1.0, intercept=False):
    """Return a noisy task: labels follow a linear rule on three of four examples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    rule = X @ rng.normal(size=(3, len(n_values)))
    ranks = rule.argsort(axis=0).argsort(axis=0)
    Y = ranks * np.array(n_values) // n
    noise = rng.integers(n_values, size=Y.shape)
    Y = np.where(rng.random((n, 1)) < 0.25, noise, Y)
    return Task(FactorGraph(graph, n_values), loss, X, Y, C, intercept)


def hide_labels(task, seed=0):
    """Hide a third of the labels, and give every label a unary factor.

    Example 0 keeps no label, example 1 keeps all.
    """
    rng = np.random.default_rng(seed)
    Y = np.where(rng.random(task.Y.shape) < 1 / 3, -1, task.Y)
    Y[0], Y[1] = -1, task.Y[1]
    everyone = np.arange(task.factors.n_labels)
    factors = FactorGraph(task.factors.graph, task.factors.n_values, everyone)
    return task._replace(factors=factors, Y=Y)


def label_sets(factors):
    return np.array(list(np.ndindex(*factors.n_values)))


def factor_labels(factors):
    """Return the labels of every factor, in the order of the cells."""
    return [*factors.graph.edges.tolist(), *([j] for j in factors.unary_labels)]


def indicators(factors, Y):
    """Return U(y) of every row, cell by cell; 0 in factors that it does not teach."""
    columns = []
    for labels in factor_labels(factors):
        for values in np.ndindex(*factors.n_values[labels]):
            columns.append((Y[:, labels] == values).all(axis=1))
    return np.array(columns, dtype=float).T


def teaches(task):
    """Return whether each example has all labels of each factor."""
    observed = task.Y >= 0
    columns = [observed[:, of].all(axis=1) for of in factor_labels(task.factors)]
    return np.array(columns).T


def teaches_cells(task):
    """Return how often the factor of each cell counts, 0 if it is not taught."""
    sizes = [np.prod(task.factors.n_values[of]) for of in factor_labels(task.factors)]
    return np.repeat(teaches(task) * task.factor_weights, sizes, axis=1)


def losses(task, Z):
    """Return loss(y_i, z) of every example and row of Z, by counting.

    In the Hamming loss a label counts if its unary factor is taught. Without a unary
    factor it counts by the share of its edges that are taught. Every factor is
    multiplied by its weight.
    """
    wrong = task.Y[:, None] != Z[None]
    taught = teaches(task) * task.factor_weights
    of_factors = factor_labels(task.factors)
    total = np.zeros((len(task.Y), len(Z)))
    if task.loss == "edge":
        for f, labels in enumerate(of_factors):
            total += taught[:, f, None] * wrong[..., labels].any(axis=2)
        return total
    for j in range(task.factors.n_labels):
        own = [of_factors.index([j])] if [j] in of_factors else []
        own = own or [f for f, labels in enumerate(of_factors) if j in labels]
        total += taught[:, own].mean(axis=1, keepdims=True) * wrong[..., j]
    return total


def loss_cells(task):
    """Return the loss of every example and cell, 0 in factors it does not teach."""
    factors = task.factors
    n_edges = np.bincount(factors.graph.edges.ravel(), minlength=factors.n_labels)
    columns = []
    for labels in factor_labels(factors):
        share = np.ones(1)
        if len(labels) == 2:  # unary factors count their labels in full
            share = ~np.isin(labels, factors.unary_labels) / n_edges[labels]
        for values in np.ndindex(*factors.n_values[labels]):
            wrong = task.Y[:, labels] != values
            columns.append(wrong.any(axis=1) if task.loss == "edge" else wrong @ share)
    return np.array(columns, dtype=float).T * teaches_cells(task)


def primal_value(task, scores, squared_norm):
    """1/2 |w|^2 + C sum_i xi_i, the slacks by enumeration (equation soft_margin)."""
    Z = label_sets(task.factors)
    all_scores = (teaches_cells(task) * scores) @ indicators(task.factors, Z).T
    true_cells = teaches_cells(task) * indicators(task.factors, task.Y)
    own = (scores * true_cells).sum(axis=1)
    slack = (losses(task, Z) + all_scores).max(axis=1) - own
    return 0.5 * squared_norm + task.boxes[:, 0] @ slack


def primal_and_dual(task, A):
    """Return both objectives at the dual coefficients A, from scratch."""
    scores = task.kernel @ A
    squared_norm = (A * scores).sum()
    dual = (loss_cells(task) * marginals(task, A)).sum() - 0.5 * squared_norm
    return primal_value(task, scores, squared_norm), dual


def original_dual(task):
    """Return the paper's dual (orig_dual): losses (n, n_sets), Psi with K = Psi Psi^T.

    Row (i, y) of Psi is phi(x_i, y_i) - phi(x_i, y), the features written out.
    """
    Z = label_sets(task.factors)
    true_cells = indicators(task.factors, task.Y)[:, None]
    moved = teaches_cells(task)[:, None] * (true_cells - indicators(task.factors, Z))
    Psi = np.einsum("id,iyc->iydc", task.features, moved)
    return losses(task, Z), Psi.reshape(len(task.Y) * len(Z), -1)


def onto_capped_simplex(rows, caps):
    """Return the nearest points with entries >= 0 and row sums of at most `caps`."""
    clipped = np.maximum(rows, 0.0)
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - caps) / np.arange(1, rows.shape[1] + 1)
    last = np.maximum((falling > excess).sum(axis=1) - 1, 0)  # 0 if the cap is 0
    shift = excess[np.arange(len(rows)), last]
    on_face = np.maximum(rows - shift[:, None], 0.0)
    return np.where(clipped.sum(axis=1, keepdims=True) > caps, on_face, clipped)


def best_original_dual(task, rtol=1e-6, max_iter=50_000):
    """Return the optimum of the original dual, by accelerated projected gradient.

    Stops when primal minus dual is `rtol` of the dual, so the value is proven.
    """
    loss, Psi = original_dual(task)
    joint = Psi @ Psi.T
    step = 1.0 / max(np.linalg.eigvalsh(joint)[-1], 1e-12)
    alpha = ahead = np.zeros_like(loss)
    momentum = 1.0
    for iteration in range(max_iter):
        slope = loss - (joint @ ahead.ravel()).reshape(loss.shape)
        new = onto_capped_simplex(ahead + step * slope, task.boxes)
        if ((new - ahead) * (new - alpha)).sum() < 0:  # momentum points the wrong way
            momentum = 1.0
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + (momentum - 1.0) / faster * (new - alpha)
        alpha, momentum = new, faster
        if iteration % 50 == 0:
            w = Psi.T @ alpha.ravel()
            dual = (loss * alpha).sum() - 0.5 * w @ w
            slack = (loss - (Psi @ w).reshape(loss.shape)).max(axis=1)
            if 0.5 * w @ w + task.boxes[:, 0] @ slack - dual <= rtol * dual:
                return dual
    raise AssertionError("the oracle did not converge")


def assert_reaches_the_optimum(task):
    """Check that the solver's optimum is that of the original dual."""
    solution = task.solve(tol=1e-6, max_iter=5000)
    assert solution.converged
    assert_allclose(solution.dual_objective, best_original_dual(task), rtol=1e-5)


def dual_coefficients(task, form, solution):
    """Return A of a solution; linear forms keep W = phi(X)^T A, from which it follows.

    Only where the examples' features are independent: see `independent_features`.
    """
    if form is KernelForm:
        return solution.weights
    W = solution.weights
    if task.fit_intercept:
        W = np.vstack([W, solution.intercept])
    return np.linalg.pinv(task.features.T) @ W


def independent_features(task):
    singular = np.linalg.svd(task.features, compute_uv=False)
    return len(singular) == len(task.X) and singular[-1] > 0.05 * singular[0]


def marginals(task, A):
    weights = np.where(teaches_cells(task) > 0, teaches_cells(task), 1.0)
    return task.boxes * indicators(task.factors, task.Y) - A / weights


def tables(factors, row):
    """Split a row of cells into one table per factor: (labels, table)."""
    start = 0
    for labels in factor_labels(factors):
        shape = factors.n_values[labels]
        stop = start + np.prod(shape)
        yield labels, row[start:stop].reshape(shape)
        start = stop


@st.composite
def tasks(draw, kinds=FORESTS, max_labels=4, n_max=8, hidden=False):
    """Draw a task on any factor graph, with degenerate examples among the others."""
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
    if hidden:
        Y[rng.random(Y.shape) < draw(st.sampled_from([0.2, 0.5, 0.8, 1.0]))] = -1
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


def exact_scores(factors, row):
    """The score of every label set, without rounding: fractions by label set."""
    everything = label_sets(factors)
    exact = [Fraction(value) for value in row.tolist()]
    return {
        tuple(labels): sum(exact[c] for c in picked)
        for labels, picked in zip(
            everything.tolist(), factors.cells(everything).tolist(), strict=True
        )
    }


def miss(factors, row, labels):
    """By how much a label set misses the best score, without rounding."""
    exact = exact_scores(factors, row)
    return max(exact.values()) - exact[tuple(labels)]


def from_python(routine):
    """Return a function that calls a routine which only compiled code can call."""

    @njit
    def call(*arguments):
        return routine(*arguments)

    return call
