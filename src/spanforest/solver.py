"""Training: accelerated block-coordinate steps on the dual, ending with a certificate.

Three ideas, each in a few lines:

* *Forms.* How scores F = K A follow from the dual variables A (`dual_coef`) is the
  business of a form: the kernel form multiplies by rows of K, the linear forms keep
  W = X^T A. Dense forms work on blocks of examples at the speed of a matrix product.
  All forms walk the same iterates, up to rounding. What is multiplied are not tables
  but their coordinates, half as many (`factors.Coordinates`).
* *Visits.* Every epoch visits all examples in random order; a visit makes a few
  pairwise steps (forests) or Frank-Wolfe steps (graphs with cycles) with exact line
  search on one row of A.
* *Acceleration.* Scores are computed not from A but from an average of the A's of past
  epochs (`Acceleration`), which is dual feasible too, and is the solution returned.

The result is certified: the gap between primal and dual objective at the returned point
is computed from scores that are all of the same moment.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest import _compiled
from spanforest._compiled import LossArrays, ProblemArrays, State
from spanforest.factors import Coordinates, FactorGraph
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

BLOCK_SIZE = 8  # examples that are visited with scores computed at once
CERTIFIED_AT_ONCE = 256  # examples whose violations are measured at once
STEPS_PER_VISIT = 3
# What the gap comes to of its estimate, if nothing is known; see `solve`.
USUAL_SHARE = 0.75


class Problem(NamedTuple):
    """What is to be learned: labels on a factor graph, a loss, and C."""

    factors: FactorGraph
    loss: FactorLoss
    Y: NDArray[np.int32]  # (n_samples, n_labels) true codes, -1 where not observed
    C: float

    @property
    def coordinates(self) -> Coordinates:
        """Of the dual variables: labels are shared if every example has all labels."""
        return Coordinates.of(self.factors, shared=bool((self.Y >= 0).all()))

    @property
    def taught(self) -> NDArray[np.bool_]:
        """Which factors each example teaches: those whose labels it has.

        Shape (n_samples, n_factors), or empty if every label is observed.
        """
        observed = self.Y >= 0
        if observed.all():
            return np.zeros((0, 0), dtype=bool)
        factor = self.factors.arrays.factor
        is_unary = factor["second"] < 0
        taught = observed[:, factor["first"]]
        taught &= observed[:, factor["second"]] | is_unary
        return np.ascontiguousarray(taught)  # else compiled anew for another layout


class Solution(NamedTuple):
    """What the solver found and how sure it is."""

    weights: NDArray[np.float64]  # A in the kernel form, W = X^T A in a linear form
    intercept: NDArray[np.float64]  # (n_cells,)
    dual_objective: float
    gaps: NDArray[np.float64]  # primal minus dual after every epoch; exact at the last
    seconds: NDArray[np.float64]  # since the start, at the same moments
    tol: float

    @property
    def n_iter(self) -> int:
        """Number of epochs."""
        return len(self.gaps)

    @property
    def gap(self) -> float:
        """Primal minus dual objective, exact (an upper bound on graphs with cycles)."""
        return float(self.gaps[-1])

    @property
    def converged(self) -> bool:
        """Whether the gap is at most `tol` times the dual objective."""
        return self.gap <= self.tol * self.dual_objective


class Form(ABC):
    """Dual variables of one problem, and the weights that scores are computed from.

    Visits change `dual_coef`; `weights` and `intercept` belong to its average (see
    `Acceleration`). All three are coordinates. An intercept is a constant feature:
    `constant` is 1, or 0 for none, and adds its square to the kernel.
    """

    def __init__(
        self, data: Any, coordinates: Coordinates, fit_intercept: bool = False
    ) -> None:
        self.data = data
        self.coordinates = coordinates
        self.constant = float(fit_intercept)
        self.dual_coef = np.zeros((data.shape[0], coordinates.n))
        self.weights = np.zeros((data.shape[1], coordinates.n))
        self.intercept = np.zeros(coordinates.n)

    @abstractmethod
    def epoch(
        self,
        order: NDArray[np.intp],
        problem: ProblemArrays,
        hinge: NDArray[np.float64],
        messages: tuple[Any, ...] | None,
        scale: float = 1.0,
    ) -> None:
        """Visit examples in this order.

        `problem` and `messages` are as the compiled routines take them. hinge[i]
        becomes the margin violation of example i when it was visited. Changes of the
        dual variables enter the weights times `scale`.
        """

    def restart(self, factor: float = 1.0) -> None:
        """Begin anew from the dual variables as they are, times a factor.

        What is feasible for C is feasible for C' times C' / C: a path of solutions for
        growing C needs few epochs for each.
        """
        self.dual_coef *= factor
        self.weights[...] = self._weights_of(self.dual_coef)
        self.intercept[...] = self.constant * self.dual_coef.sum(axis=0)

    def sharpen(self) -> None:  # noqa: B027
        """Go on without rounding, if there is any."""

    def scores(self, block: slice) -> NDArray[np.float64]:
        """Return F for some examples, in float64."""
        rows = self.data[block].astype(np.float64, copy=False)
        values = self._products(rows) + self.constant * self.intercept
        return self.coordinates.expand(values)

    def squared_norm(self) -> float:
        """Return ‖w‖², the constant feature's weights included."""
        norm = self.coordinates.squared_norm
        return norm(self.weights) + norm(self.intercept[None])

    def _weights_of(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.data.T @ A

    def _products(self, rows: Any) -> NDArray[np.float64]:
        """Return rows of the data times the weights."""
        return rows @ self.weights

    def _state(self, hinge: NDArray[np.float64], scale: float) -> State:
        return State(self.dual_coef, self.intercept, hinge, scale, self.constant)


class BlockedForm(Form):
    """A form of dense data, a block of examples per matrix product.

    Epochs multiply by `multiplied`, the data or a rounded copy of them, certificates by
    the data. The weights of a coordinate lie side by side.
    """

    def __init__(self, data, coordinates, fit_intercept=False, rounded=None):
        super().__init__(data, coordinates, fit_intercept)
        self.multiplied = data if rounded is None else rounded
        self.weights = np.asfortranarray(self.weights)

    def epoch(self, order, problem, hinge, messages, scale=1.0):
        """Visit examples in this order, a block at a time."""
        weights, rounded = self.weights.T, None
        if self.multiplied.dtype != weights.dtype:
            rounded = weights.astype(self.multiplied.dtype)
        factors = self.multiplied, weights, rounded
        state = self._state(hinge, scale)
        self._pass(order, BLOCK_SIZE, *factors, problem, state, messages)

    @abstractmethod
    def _pass(self, *arguments: Any) -> None:
        """Call the compiled routine."""

    def sharpen(self):
        """Go on with products of the data themselves."""
        self.multiplied = self.data

    def _products(self, rows):
        products = _compiled.room_for_products(len(rows), self.coordinates.n)
        everyone = np.arange(len(rows))
        _compiled.row_products(rows, everyone, self.weights.T, products)
        return products[: len(rows), : self.coordinates.n]


class KernelForm(BlockedForm):
    """F = K A, for a kernel matrix K: the weights are A itself.

    A copy of K in single precision makes epochs faster.
    """

    def __init__(self, data, coordinates, fit_intercept=False, rounded=None):
        super().__init__(data, coordinates, fit_intercept, rounded)
        self._squared_norms = np.zeros(len(data))  # <F_i, A_i> when last computed

    def _pass(self, *arguments):
        _compiled.kernel_pass(*arguments, self._squared_norms)

    def restart(self, factor=1.0):
        """Begin anew from the dual variables as they are, times a factor."""
        super().restart(factor)
        for block in _blocks(len(self.data)):
            self.scores(block)

    def scores(self, block):
        """Return F for some examples, in float64, and note what they say of ‖w‖²."""
        scores = super().scores(block)
        A = self.coordinates.expand(self.weights[block])
        self._squared_norms[block] = np.einsum("ic,ic->i", scores, A)
        return scores

    def squared_norm(self):
        """Return sum_i <F_i, A_i>, each of when the scores were last computed."""
        return float(self._squared_norms.sum())

    def _weights_of(self, A):
        return A


class DenseForm(BlockedForm):
    """F = X W with W = X^T A, for the linear kernel of dense features."""

    def _pass(self, *arguments):
        _compiled.dense_pass(*arguments)


class SparseForm(Form):
    """F = X W with W = X^T A, for CSR features.

    Sparse rows gain nothing from blocks, and without them need no Gram matrix.
    """

    def epoch(self, order, problem, hinge, messages, scale=1.0):
        """Visit examples in this order, one at a time."""
        X = self.data
        _compiled.sparse_pass(
            order,
            (X.data, X.indices, X.indptr),
            self.weights,
            problem,
            self._state(hinge, scale),
            messages,
        )


def linear_form(X: Any, coordinates: Coordinates, fit_intercept: bool = False) -> Form:
    """Return the linear form that suits dense or CSR features.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> type(linear_form(np.eye(3), Coordinates.of(factors))).__name__
    'DenseForm'
    """
    kind = SparseForm if sparse.issparse(X) else DenseForm
    return kind(X, coordinates, fit_intercept)


class Acceleration:
    """Smooths the dual variables over epochs, and everything that is linear in them.

    The primal is solved as a sequence of proximal problems, each with the term
    κ/2 ‖w - z‖² and given one epoch, where the centre z is extrapolated from the
    solutions before (Catalyst: Lin, Mairal & Harchaoui 2015). In the dual this is two
    exponential averages in a row, with ρ = 1 - (1 + κ)^(-1/2) and A_k the dual
    variables after epoch k:

        once_k  = ρ once_(k-1)  + (1 - ρ) A_k
        twice_k = ρ twice_(k-1) + (1 - ρ) once_k

    Scores are computed from the second average. During an epoch a change of A enters
    it times `scale` = (1 - ρ)² = 1 / (1 + κ), so that visits see a flatter objective
    and take longer steps. An average of dual feasible points is dual feasible.

    `values` holds the images of the second average and is updated in place; before the
    first epoch all are zero.
    """

    def __init__(self, values: list[NDArray[np.float64]]) -> None:
        self.values = values
        self.rho, self.scale = 0.0, 1.0
        self.once = [np.zeros_like(value) for value in values]
        self.past = [np.zeros_like(value) for value in values]  # value - scale * A

    def advance(self, kappa: float) -> None:
        """Begin an epoch with a new κ."""
        rho = 1.0 - 1.0 / np.sqrt(1.0 + kappa)
        scale = (1.0 - rho) ** 2
        for value, once, past in zip(self.values, self.once, self.past, strict=True):
            latest = (value - past) / self.scale
            once *= self.rho
            once += (1.0 - self.rho) * latest
            past[...] = rho * value + (1.0 - rho) * rho * once
            value[...] = past + scale * latest
        self.rho, self.scale = rho, scale


class Pace:
    """Chooses κ: more every epoch, up to a cap; less when the gap no longer shrinks.

    How much smoothing pays was measured: the longer training takes, the more; and more
    where ½‖w‖² is a small part of the objective, as with noisy labels.
    """

    PATIENCE = 10  # epochs without a new smallest gap

    def __init__(self) -> None:
        self.limit = 20.0
        self.n_epochs = 0
        self.best_gap = np.inf
        self.best_epoch = 0

    def observe(self, gap: float) -> bool:
        """Take note of the gap after an epoch; return whether there is progress."""
        self.n_epochs += 1
        if gap < self.best_gap:
            self.best_gap, self.best_epoch = gap, self.n_epochs
        elif self.n_epochs - self.best_epoch >= self.PATIENCE:
            self.limit *= 0.5
            self.best_epoch = self.n_epochs
            return False
        return True

    def kappa(self, dual: float, squared_norm: float) -> float:
        """Return κ for the next epoch."""
        cap = self.limit
        if squared_norm > 0.0:
            cap = min(cap, max(3.0 * dual / squared_norm, 3.5))
        return min(cap, 0.5 * self.n_epochs)


def solve(
    form: Form,
    problem: Problem,
    rng: np.random.Generator,
    *,
    tol: float = 1e-2,
    max_iter: int = 100,
    watch: Callable[[int, float], None] | None = None,
) -> Solution:
    """Train until the duality gap is at most `tol` times the dual objective.

    Parameters
    ----------
    form : KernelForm, DenseForm or SparseForm
        For the problem's examples and coordinates, fresh or restarted from dual
        variables that are feasible; it is moved to the solution.
    problem : Problem
        The problem.
    rng : Generator
        Draws the order of the examples in every epoch.
    tol : float
        Relative tolerance.
    max_iter : int
        Most epochs to make.
    watch : callable, optional
        Called after every epoch with its number and the gap relative to the dual.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> from spanforest.losses import edge_loss
    >>> Y = np.array([[0, 0], [1, 1]], dtype=np.int32)
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> problem = Problem(factors, edge_loss(np.array([0]), np.array([1])), Y, C=1.0)
    >>> form = KernelForm(np.eye(2), problem.coordinates)
    >>> solution = solve(form, problem, np.random.default_rng(0))
    >>> solution.converged
    True
    """
    compiled = compiled_problem(problem)
    messages = None
    if not problem.factors.graph.is_forest:
        buffers = _compiled.message_work(compiled.graph)
        messages = np.empty(problem.factors.n_messages), buffers
    n_samples = len(problem.Y)
    hinge = np.zeros(n_samples)
    # <loss, mu> of A; `loss` is that of the smoothed A
    latest_loss = _compiled.expected_loss(form.dual_coef, compiled)
    loss = np.array(latest_loss)
    acceleration = Acceleration([form.weights, form.intercept, loss])
    pace = Pace()
    history: list[float] = []
    seconds: list[float] = []
    start = time.perf_counter()
    dual = 0.0
    certified, share = False, USUAL_SHARE
    while not certified and len(history) < max_iter:
        acceleration.advance(pace.kappa(dual, form.squared_norm()))
        order = rng.permutation(n_samples)
        form.epoch(order, compiled, hinge, messages, acceleration.scale)
        expected_loss = _compiled.expected_loss(form.dual_coef, compiled)
        loss += acceleration.scale * (expected_loss - latest_loss)
        latest_loss = expected_loss
        dual, estimate = _dual_and_gap(form, loss, problem.C * hinge.sum())
        gap = estimate
        if share * estimate <= tol * dual or len(history) + 1 == max_iter:
            # the violations were those before visits: look again at one moment
            _measure_hinge(form, compiled, hinge, messages)
            dual, gap = _dual_and_gap(form, loss, problem.C * hinge.sum())
            certified = gap <= tol * dual
            share = min(gap / estimate, 1.0) if estimate > 0.0 else 1.0
        history.append(gap)
        seconds.append(time.perf_counter() - start)
        if not pace.observe(estimate) or gap > estimate:
            form.sharpen()  # rounding may be what keeps the gap open
        if watch is not None:
            watch(len(history), gap / dual if dual > 0.0 else np.inf)
    gaps, times = np.array(history), np.array(seconds)
    weights = form.coordinates.expand(form.weights)
    intercept = form.coordinates.expand(form.intercept[None])[0]
    return Solution(weights, intercept, dual, gaps, times, tol)


def solve_path(form, problem, Cs, rng, *, tol=1e-2, max_iter=100, watch=None):
    """Yield the solution for every C, each found from where the one before it ended."""
    from spanforest._blas import single_blas_thread

    found, previous = None, 0.0
    for C in Cs:
        with single_blas_thread():
            if found is not None:
                squared_norm = form.squared_norm()
                peak = np.inf
                if squared_norm > 0.0:
                    peak = found.dual_objective / squared_norm + 0.5
                form.restart(min(C / previous, max(peak, 1.0)))
            found = solve(
                form,
                problem._replace(C=C),
                rng,
                tol=tol,
                max_iter=max_iter,
                watch=watch,
            )
        previous = C
        yield found


def compiled_problem(problem: Problem) -> ProblemArrays:
    """Return the problem as the compiled routines take it."""
    graph = problem.factors.arrays
    worst = np.repeat(sum(problem.loss), graph.factor["n_cells"])
    return ProblemArrays(
        graph=graph,
        coordinates=problem.coordinates.arrays,
        loss=LossArrays(worst, *problem.loss),
        Y=np.maximum(problem.Y, 0),  # any code where not observed: it teaches nothing
        taught=problem.taught,
        C=float(problem.C),
        max_steps=STEPS_PER_VISIT,
    )


def _dual_and_gap(
    form: Form, loss: NDArray[np.float64], penalty: float
) -> tuple[float, float]:
    """Return D = <loss, mu> - ½‖w‖², and P - D with P = ½‖w‖² + penalty."""
    squared_norm = form.squared_norm()
    gap = squared_norm + penalty - float(loss)
    return float(loss) - 0.5 * squared_norm, max(gap, 0.0)  # rounding, or estimates


def _measure_hinge(
    form: Form,
    problem: ProblemArrays,
    hinge: NDArray[np.float64],
    messages: tuple[Any, ...] | None,
) -> None:
    """Compute every example's margin violation at the form's weights."""
    everyone = np.arange(len(hinge))
    for block in _blocks(len(hinge)):
        scores = form.scores(block)
        _compiled.hinge_rows(scores, everyone[block], problem, hinge, messages)


def _blocks(n_samples: int) -> Iterator[slice]:
    """Cut the examples into blocks."""
    for start in range(0, n_samples, CERTIFIED_AT_ONCE):
        yield slice(start, min(start + CERTIFIED_AT_ONCE, n_samples))
