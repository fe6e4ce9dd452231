"""Oracles of training with missing labels, which know nothing of the solver.

They write down the features and the loss of every example and label set, over the
factors whose labels the example has, and enumerate label sets.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import optimize, sparse
from strategies import factor_graphs, seeds

from spanforest._training import model_factors
from spanforest.factors import FactorGraph
from spanforest.losses import find_loss
from spanforest.solver import DenseForm, KernelForm, Problem, SparseForm, solve


class Task(NamedTuple):
    """A problem with its features; Y is -1 where a label was not observed."""

    factors: FactorGraph
    loss: str
    X: np.ndarray
    Y: np.ndarray
    C: float

    @property
    def factor_labels(self):
        """The labels of every factor, in the order of the cells."""
        singles = [[j] for j in self.factors.unary_labels.tolist()]
        return [*self.factors.graph.edges.tolist(), *singles]

    @property
    def weights_of_loss(self):
        ends = self.factors.arrays.factor
        return find_loss(self.loss)(ends["first"], ends["second"])

    @property
    def kernel(self):
        return self.X @ self.X.T

    def solve(self, form=KernelForm, seed=0, **options):
        data = {
            KernelForm: self.kernel,
            DenseForm: self.X,
            SparseForm: sparse.csr_array(self.X),
        }[form]
        problem = Problem(self.factors, self.weights_of_loss, self.Y, self.C)
        fresh = form(data, problem.coordinates)
        return solve(fresh, problem, np.random.default_rng(seed), **options)


def make_task(graph, n_values, *, loss="edge", seed=0, n=6, C=0.5):
    """Return a task with a third of its labels hidden.

    Example 0 has no label, example 1 has all.
    """
    rng = np.random.default_rng(seed)
    Y = rng.integers(n_values, size=(n, len(n_values)))
    Y[rng.random(Y.shape) < 1 / 3] = -1
    Y[0] = -1
    Y[1] = rng.integers(n_values)
    factors = model_factors(graph, np.array(n_values), node_factors=True)
    return Task(factors, loss, rng.normal(size=(n, 2)), Y.astype(np.int32), C)


@st.composite
def tasks(draw, kinds):
    """Draw a task on any factor graph: any labels hidden, node factors or none."""
    factors = draw(
        factor_graphs(st.sampled_from(kinds), max_labels=4, extra_unary=True)
    )
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, 6))
    Y = rng.integers(factors.n_values, size=(n, factors.n_labels))
    Y[rng.random(Y.shape) < draw(st.sampled_from([0.2, 0.5, 0.8, 1.0]))] = -1
    X = rng.normal(size=(n, 3))
    if draw(st.booleans()):
        X = np.round(X)  # ties, zero rows
    loss = draw(st.sampled_from(["edge", "hamming"]))
    C = draw(st.sampled_from([0.01, 0.5, 10.0]))
    return Task(factors, loss, X, Y.astype(np.int32), C)


def label_sets(factors):
    return np.array(list(np.ndindex(*factors.n_values)))


def is_taught(task, i, labels):
    """Return whether example i has all labels of a factor."""
    return all(task.Y[i, j] >= 0 for j in labels)


def taught_indicators(task, i, Z):
    """Return U(z) of every row of Z, cell by cell; 0 in factors i does not teach."""
    columns = []
    for labels in task.factor_labels:
        for values in np.ndindex(*task.factors.n_values[labels]):
            columns.append(
                (Z[:, labels] == values).all(axis=1) & is_taught(task, i, labels)
            )
    return np.array(columns, dtype=float).T


def taught_losses(task, i, Z):
    """Return the loss of every row of Z, summed over the factors that i teaches."""
    total = np.zeros(len(Z))
    weights = task.weights_of_loss
    for f, labels in enumerate(task.factor_labels):
        if is_taught(task, i, labels):
            wrong = Z[:, labels] != task.Y[i, labels]
            total += weights.joint[f] * wrong.any(axis=1)
            total += weights.first[f] * wrong[:, 0]
            if len(labels) == 2:
                total += weights.second[f] * wrong[:, 1]
    return total


def true_indicators(task):
    """Return U(y_i) of every example; 0 in factors that it does not teach."""
    return np.array(
        [taught_indicators(task, i, y[None])[0] for i, y in enumerate(task.Y)]
    )


def optimum(task):
    """Return the least value of the primal, its constraints written out, by SLSQP."""
    Z = label_sets(task.factors)
    n, (_, d), q = len(task.Y), task.X.shape, task.factors.n_cells
    true = true_indicators(task)
    rows, losses = [], []
    for i in range(n):  # <w, phi(x_i) (U(y_i) - U(z))> + slack_i >= loss_i(z)
        for z in np.unique(taught_indicators(task, i, Z), axis=0):
            rows.append(np.append(np.outer(task.X[i], true[i] - z), np.eye(n)[i]))
        _, first = np.unique(taught_indicators(task, i, Z), axis=0, return_index=True)
        losses += taught_losses(task, i, Z)[first].tolist()
    constraints, losses = np.array(rows), np.array(losses)
    is_weight = np.arange(d * q + n) < d * q
    minimum = optimize.minimize(
        lambda x: 0.5 * x[is_weight] @ x[is_weight] + task.C * x[~is_weight].sum(),
        np.append(np.zeros(d * q), np.full(n, losses.max())),
        jac=lambda x: np.where(is_weight, x, task.C),
        constraints={
            "type": "ineq",
            "fun": lambda x: constraints @ x - losses,
            "jac": lambda x: constraints,
        },
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    )
    assert minimum.success
    return minimum.fun


def primal_and_dual(task, A):
    """Return both objectives at the dual variables A, from scratch."""
    Z = label_sets(task.factors)
    scores = task.kernel @ A
    primal = 0.5 * (A * scores).sum()
    dual = -primal
    mu = task.C * true_indicators(task) - A
    for i, own in enumerate(true_indicators(task)):
        cells, losses = taught_indicators(task, i, Z), taught_losses(task, i, Z)
        primal += task.C * ((losses + cells @ scores[i]).max() - own @ scores[i])
        # the loss is linear in the cells: its weights follow from all label sets
        of_cells = np.linalg.lstsq(cells, losses, rcond=None)[0]
        dual += of_cells @ mu[i]
    return primal, dual
