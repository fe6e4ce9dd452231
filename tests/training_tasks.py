"""Training problems, and oracles that know nothing of the solver: plain NumPy.

The oracles build U(y), losses and kernels from their definitions, solve the paper's
original dual (a variable per example and label set), and enumerate label sets for the
primal. The solver's objectives must agree with them.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from strategies import FORESTS, factor_graphs, random_graph, seeds

from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.losses import find_loss
from spanforest.solver import (
    DenseForm,
    KernelForm,
    Problem,
    SparseForm,
    linear_form,
    solve,
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

    def form(self, kind=linear_form):
        """A fresh form of this kind."""
        data = self.X @ self.X.T if kind is KernelForm else self.X
        if kind is SparseForm:
            data = sparse.csr_array(data)
        return kind(data, self.problem.coordinates, self.fit_intercept)

    def solve(self, form=linear_form, seed=0, **options):
        rng = np.random.default_rng(seed)
        return solve(self.form(form), self.problem, rng, **options)


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
    ends = [*factors.graph.edges.tolist(), *([j] for j in factors.unary_labels)]
    for labels in ends:
        for values in np.ndindex(*factors.n_values[labels]):
            wrong = task.Y[:, labels] != values
            if task.loss == "edge":
                columns.append(wrong.any(axis=1))
            else:
                columns.append((wrong / n_factors[labels]).sum(axis=1))
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


def dual_coefficients(task, form, solution):
    """A of a solution; the linear forms keep W = phi(X)^T A, from which it follows.

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
