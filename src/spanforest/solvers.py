"""Training: block-coordinate Frank-Wolfe on the factorised dual, with a certificate.

The solver keeps A (`dual_coef`) of the factorised dual and visits examples in random
order. How scores F = K A are computed is the business of a *form*: the kernel form
multiplies by rows of K, the linear forms keep W = X^T A. All forms walk the same
iterates, up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest import _compiled
from spanforest.graphs import FactorGraph
from spanforest.losses import FactorLoss

__all__ = ["DenseForm", "KernelForm", "Problem", "Solution", "SparseForm", "solve"]

BLOCK_SIZE = 64
STEPS_PER_VISIT = 10


class Problem(NamedTuple):
    """What is to be learned: labels on a factor graph, a loss, and C."""

    factors: FactorGraph
    loss: FactorLoss
    Y: NDArray[np.int32]  # (n_samples, n_labels) codes of the true labels
    C: float


class Solution(NamedTuple):
    """What the solver found and how sure it is."""

    dual_coef: NDArray[np.float64]  # A, (n_samples, n_cells)
    coef: NDArray[np.float64] | None  # W, (n_features, n_cells) in a linear form
    intercept: NDArray[np.float64]  # (n_cells,)
    dual_objective: float
    gaps: NDArray[np.float64]  # primal minus dual: an estimate per epoch, then exact
    n_iter: int
    tol: float

    @property
    def gap(self) -> float:
        """Primal minus dual objective, exact (an upper bound on graphs with cycles)."""
        return float(self.gaps[-1])

    @property
    def converged(self) -> bool:
        """Whether the gap is at most `tol` times the dual objective."""
        return self.gap <= self.tol * self.dual_objective


class _Form:
    """The dual variables of one problem, and how scores are computed from them.

    An intercept is a constant feature (`constant` is 1, or 0 for none): it adds
    constant ** 2 to the kernel.
    """

    def __init__(self, n_samples: int, n_cells: int, fit_intercept: bool) -> None:
        self.dual_coef = np.zeros((n_samples, n_cells))
        self.intercept = np.zeros(n_cells)
        self.coef: NDArray[np.float64] | None = None
        self.constant = float(fit_intercept)

    def epoch(self, order, problem, gaps, messages=None) -> float:
        """Visit examples in this order, blockwise; return the gain of the dual.

        `problem` is as the compiled routines take it; gaps[i] becomes the gap that
        example i had when it was visited.
        """
        gain = 0.0
        for start in range(0, len(order), BLOCK_SIZE):
            block = order[start : start + BLOCK_SIZE]
            rows = self._rows(block)
            scores = self._product(rows) + self.constant * self.intercept
            change = np.empty_like(scores)
            gram = self._gram(rows, block) + self.constant**2
            gain += _compiled.block_pass(
                block, scores, gram, problem, (self.dual_coef, gaps), messages, change
            )
            self.intercept += self.constant * change.sum(axis=0)
            self._absorb(rows, change)
        return gain

    def scores(self, block) -> NDArray[np.float64]:
        """Return F for some examples."""
        return self._product(self._rows(block)) + self.constant * self.intercept

    def _rows(self, block): ...

    def _product(self, rows): ...

    def _gram(self, rows, block): ...

    def _absorb(self, rows, change): ...


class KernelForm(_Form):
    """F = K A for a kernel matrix K of shape (n_samples, n_samples)."""

    def __init__(self, K, n_cells, fit_intercept=False) -> None:
        super().__init__(len(K), n_cells, fit_intercept)
        self.K = K

    def _rows(self, block):
        return self.K[block]

    def _product(self, rows):
        return rows @ self.dual_coef

    def _gram(self, rows, block):
        return rows[:, block]


class DenseForm(_Form):
    """F = X W with W = X^T A, for the linear kernel of dense features."""

    def __init__(self, X, n_cells, fit_intercept=False) -> None:
        super().__init__(len(X), n_cells, fit_intercept)
        self.X = X
        self.coef = np.zeros((X.shape[1], n_cells))

    def _rows(self, block):
        return self.X[block]

    def _product(self, rows):
        return rows @ self.coef

    def _gram(self, rows, block):
        return rows @ rows.T

    def _absorb(self, rows, change):
        self.coef += rows.T @ change


class SparseForm(_Form):
    """F = X W with W = X^T A, for CSR features; visits examples one at a time.

    Sparse rows gain nothing from blocks, and without them need no Gram matrix.
    """

    def __init__(self, X, n_cells, fit_intercept=False) -> None:
        super().__init__(X.shape[0], n_cells, fit_intercept)
        self.X = X
        self.coef = np.zeros((X.shape[1], n_cells))
        norms = X.multiply(X).sum(axis=1) + self.constant**2
        self.rows = (X.data, X.indices, X.indptr, norms, self.constant)

    def epoch(self, order, problem, gaps, messages=None) -> float:
        """Visit examples in this order; return the gain of the dual."""
        weights = (self.coef, self.intercept)
        return _compiled.sparse_pass(
            order, self.rows, weights, problem, (self.dual_coef, gaps), messages
        )

    def _rows(self, block):
        return self.X[block]

    def _product(self, rows):
        return rows @ self.coef


def solve(form, problem, rng, tol=1e-2, max_iter=100):
    """Maximise the dual"""
    compiled = (
        problem.factors.arrays,
        problem.loss,
        problem.Y,
        (float(problem.C), STEPS_PER_VISIT),
    )
    n_samples = len(problem.Y)
    gaps = np.full(n_samples, np.inf)
    history = []
    objective = 0.0
    exact = False
    for _ in range(max_iter):
        objective += form.epoch(rng.permutation(n_samples), compiled, gaps)
        history.append(gaps.sum())
        exact = history[-1] <= tol * objective
        if exact:
            objective = _certify(form, compiled, gaps)
            exact = gaps.sum() <= tol * objective
        if exact:
            break
    if not exact:
        objective = _certify(form, compiled, gaps)
    return Solution(
        form.dual_coef,
        form.coef,
        form.intercept,
        objective,
        np.array([*history, gaps.sum()]),
        len(history),
        tol,
    )


def _certify(form, problem, gaps, messages=None):
    objective = 0.0
    n = len(gaps)
    for start in range(0, n, 256):
        block = np.arange(start, min(start + 256, n))
        objective += _compiled.certify_rows(
            form.scores(block), block, problem, (form.dual_coef, gaps), messages
        )
    return objective
