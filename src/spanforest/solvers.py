"""Training: block-coordinate steps on the factorised dual, ending with a certificate.

The solver keeps A (`dual_coef`) of the factorised dual and visits examples in random
order. How scores F = K A are computed is the business of a *form*: the kernel form
multiplies by rows of K, the linear forms keep W = X^T A. All forms walk the same
iterates, up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest import _compiled
from spanforest.graphs import FactorGraph
from spanforest.losses import FactorLoss

__all__ = [
    "DenseForm",
    "KernelForm",
    "Problem",
    "Solution",
    "SparseForm",
    "linear_form",
    "solve",
]

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
    tol: float

    @property
    def n_iter(self) -> int:
        """Number of epochs."""
        return len(self.gaps) - 1

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

    coef: NDArray[np.float64] | None = None

    def __init__(self, data: Any, n_cells: int, fit_intercept: bool = False) -> None:
        self.data = data
        self.dual_coef = np.zeros((data.shape[0], n_cells))
        self.intercept = np.zeros(n_cells)
        self.constant = float(fit_intercept)

    def scores(self, block: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return F for some examples."""
        return self._product(self.data[block]) + self.constant * self.intercept

    def epoch(
        self,
        order: NDArray[np.intp],
        problem: tuple,
        gaps: NDArray[np.float64],
        messages: NDArray[np.float64] | None,
    ) -> float:
        """Visit examples in this order, blockwise; return the gain of the dual.

        `problem` and `messages` are as the compiled routines take them; gaps[i]
        becomes the gap that example i had when it was visited.
        """
        gain = 0.0
        for start in range(0, len(order), BLOCK_SIZE):
            block = order[start : start + BLOCK_SIZE]
            rows = self.data[block]
            scores = self._product(rows) + self.constant * self.intercept
            gram = self._gram(rows, block) + self.constant**2
            change = np.empty_like(scores)
            gain += _compiled.block_pass(
                block, scores, gram, problem, (self.dual_coef, gaps), messages, change
            )
            self.intercept += self.constant * change.sum(axis=0)
            self._absorb(rows, change)
        return gain

    def _product(self, rows: Any) -> NDArray[np.float64]:
        raise NotImplementedError

    def _gram(self, rows: Any, block: NDArray[np.intp]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _absorb(self, rows: Any, change: NDArray[np.float64]) -> None:
        pass


class KernelForm(_Form):
    """F = K A, for a kernel matrix K of shape (n_samples, n_samples)."""

    def _product(self, rows):
        return rows @ self.dual_coef

    def _gram(self, rows, block):
        return rows[:, block]


class DenseForm(_Form):
    """F = X W with W = X^T A, for the linear kernel of dense features."""

    def __init__(self, data, n_cells, fit_intercept=False):
        super().__init__(data, n_cells, fit_intercept)
        self.coef = np.zeros((data.shape[1], n_cells))

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

    def __init__(self, data, n_cells, fit_intercept=False):
        super().__init__(data, n_cells, fit_intercept)
        self.coef = np.zeros((data.shape[1], n_cells))

    def epoch(self, order, problem, gaps, messages):
        """Visit examples in this order; return the gain of the dual."""
        X = self.data
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() + self.constant**2
        return _compiled.sparse_pass(
            order,
            (X.data, X.indices, X.indptr, norms, self.constant),
            (self.coef, self.intercept),
            problem,
            (self.dual_coef, gaps),
            messages,
        )

    def _product(self, rows):
        return rows @ self.coef


def linear_form(X: Any, n_cells: int, fit_intercept: bool = False) -> _Form:
    """Return the linear form that suits dense or CSR features.

    Examples
    --------
    >>> type(linear_form(np.eye(3), 4)).__name__
    'DenseForm'
    """
    kind = SparseForm if sparse.issparse(X) else DenseForm
    return kind(X, n_cells, fit_intercept)


def solve(
    form: _Form,
    problem: Problem,
    rng: np.random.Generator,
    *,
    tol: float = 1e-2,
    max_iter: int = 100,
) -> Solution:
    """Maximise the dual until the gap is at most `tol` times the dual objective.

    Parameters
    ----------
    form : KernelForm, DenseForm or SparseForm
        Fresh, for the problem's examples and cells; it is moved to the solution.
    problem : Problem
        The problem.
    rng : Generator
        Draws the order of the examples in every epoch.
    tol : float
        Relative tolerance.
    max_iter : int
        Most epochs to make.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> from spanforest.losses import edge_loss
    >>> Y = np.array([[0, 0], [1, 1]], dtype=np.int32)
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> problem = Problem(factors, edge_loss(np.array([0]), np.array([1])), Y, C=1.0)
    >>> form = KernelForm(np.eye(2), factors.n_cells)
    >>> solution = solve(form, problem, np.random.default_rng(0))
    >>> solution.converged
    True
    """
    compiled = (
        problem.factors.arrays,
        problem.loss,
        problem.Y,
        (float(problem.C), STEPS_PER_VISIT),
    )
    messages = None
    if not problem.factors.graph.is_forest:
        messages = np.empty(problem.factors.n_messages)
    n_samples = len(problem.Y)
    gaps = np.empty(n_samples)
    history = []
    objective = 0.0
    certified = False
    while len(history) < max_iter and not certified:
        objective += form.epoch(rng.permutation(n_samples), compiled, gaps, messages)
        history.append(gaps.sum())
        if history[-1] <= tol * objective:  # gaps of different moments: look again
            objective = _certify(form, compiled, gaps, messages)
            certified = gaps.sum() <= tol * objective
    if not certified:
        objective = _certify(form, compiled, gaps, messages)
    return Solution(
        form.dual_coef,
        form.coef,
        form.intercept,
        objective,
        np.array([*history, gaps.sum()]),
        tol,
    )


def _certify(
    form: _Form,
    problem: tuple,
    gaps: NDArray[np.float64],
    messages: NDArray[np.float64] | None,
) -> float:
    """Return the dual objective at the form's point; write the exact gaps there."""
    everyone = np.arange(len(gaps))
    objective = 0.0
    for start in range(0, len(gaps), BLOCK_SIZE):
        block = everyone[start : start + BLOCK_SIZE]
        objective += _compiled.certify_rows(
            form.scores(block), block, problem, (form.dual_coef, gaps), messages
        )
    return objective
