"""Training: accelerated block-coordinate steps on the dual, ending with a certificate.

Three ideas, each in a few lines:

* *Forms.* A form computes the scores F = K A from the dual variables A (`dual_coef`):
  the kernel form multiplies by rows of K, the linear forms keep W = X^T A. Dense forms
  work on blocks of examples at the speed of a matrix product. All forms walk the same
  iterates, up to rounding. They multiply not tables but their coordinates, about half
  as many (`factors.Coordinates`).
* *Visits.* An *epoch* visits all examples once, in random order; users read *pass*.
  `max_iter` and `n_iter_` count them. A visit makes a few pairwise steps with exact
  line search on one row of A. On a graph with cycles they need a list of labellings
  for every example (`_cycles`).
* *Acceleration.* Scores are computed from an average of the A of past epochs instead of
  A itself (`Acceleration`). The average is dual feasible too: it is the solution.

The result is certified: the gap between primal and dual objective at the solution is
computed from scores that are all of the same moment.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest import _compiled
from spanforest._acceleration import Acceleration, Pace
from spanforest._blas import single_blas_thread
from spanforest._compilation import clock
from spanforest._cycles import Cycles
from spanforest._problem import Problem
from spanforest.factors import Coordinates

__all__ = [
    "DenseForm",
    "Form",
    "KernelForm",
    "Problem",
    "Solution",
    "SparseForm",
    "linear_form",
    "solve_path",
]

BLOCK_SIZE = 8  # examples whose scores are computed at once before they are visited
USUAL_RATIO = 0.75  # of an exact gap to its estimate, before the first one is known
Watch = Callable[[int, float], None]  # called with every epoch and its relative gap
Epoch = Callable[[], None]  # visits all examples


class Solution(NamedTuple):
    """A solution, and how close to the optimum it is proven to be."""

    weights: NDArray[np.float64]  # A in the kernel form, W = X^T A in a linear form
    intercept: NDArray[np.float64]  # (n_cells,)
    dual_objective: float
    gaps: NDArray[np.float64]  # primal minus dual after every epoch; exact at the last
    seconds: NDArray[np.float64]  # since the start, without compiling, at these moments
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
    def relative_gap(self) -> float:
        """Gap relative to the dual objective, infinite if that is not > 0."""
        return _relative(self.gap, self.dual_objective)

    @property
    def converged(self) -> bool:
        """Whether the gap is at most `tol` times the dual objective."""
        return self.gap <= self.tol * self.dual_objective


class Form(ABC):
    """Dual variables of one problem, and the weights that scores are computed from.

    Visits change `dual_coef`; `weights` and `intercept` belong to its average (see
    `Acceleration`). All three have a column per coordinate, not per cell. An intercept
    is the weight of a constant feature: `constant` is 1, or 0 for none, and adds its
    square to the kernel.

    Parameters
    ----------
    data : ndarray or CSR matrix of shape (n_samples, n_columns)
        Features, or the kernel matrix.
    coordinates : Coordinates
        Coordinates of the dual variables.
    fit_intercept : bool
        Whether there is a constant feature.
    """

    chunk_size = 256  # examples whose margin violations are computed at once

    def __init__(
        self, data: Any, coordinates: Coordinates, fit_intercept: bool = False
    ) -> None:
        self.data = data
        self.coordinates = coordinates
        self.constant = float(fit_intercept)
        self.dual_coef = np.zeros((data.shape[0], coordinates.n))
        self.weights = np.zeros((data.shape[1], coordinates.n))
        self.intercept = np.zeros(coordinates.n)
        self.scale = np.ones(1)  # changes of `dual_coef` enter the weights times it

    @abstractmethod
    def epochs(
        self,
        order: NDArray[np.intp],
        problem: _compiled.Packed,
        hinge: NDArray[np.float64],
        mixtures: _compiled.Mixtures | None,
    ) -> Epoch:
        """Return a function that visits examples in this order.

        It changes the dual variables and weights, and reads the order and the arrays
        of this form anew whenever it is called. `mixtures` are the lists of labellings,
        None on a forest. hinge[i] becomes the margin violation of example i when it was
        visited.
        """

    def begin(self, A: NDArray[np.float64]) -> None:
        """Start at these dual variables; compute the weights from them.

        The average of past epochs is dropped.
        """
        self.dual_coef[...] = A
        self.weights[...] = self._weights_of(A)
        self.intercept[...] = self.constant * A.sum(axis=0)

    def sharpen(self) -> None:  # noqa: B027
        """Multiply in full precision from now on, also for later values of C."""

    def scores(self, chunk: slice) -> NDArray[np.float64]:
        """Return F for some examples, in float64."""
        return self._expand(self.products(chunk))

    def products(self, chunk: slice) -> NDArray[np.float64]:
        """Return the data of some examples times the weights, in float64."""
        return self._products(self.data[chunk].astype(np.float64, copy=False))

    def note_products(self, chunk: slice, products: NDArray[np.float64]) -> None:  # noqa: B027
        """Take note of `products`, for forms that need them for ‖w‖²."""

    def squared_norm(self) -> float:
        """Return ‖w‖², the constant feature's weights included."""
        norm = self.coordinates.squared_norm
        return norm(self.weights) + norm(self.intercept[None])

    def _weights_of(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.data.T @ A

    def _products(self, rows: Any) -> NDArray[np.float64]:
        """Return rows of the data times the weights."""
        return rows @ self.weights

    def _expand(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return F from the products, which lack the constant feature."""
        return self.coordinates.expand(products + self.constant * self.intercept)

    def _state(self, hinge: NDArray[np.float64]) -> _compiled.State:
        return _compiled.State(
            self.dual_coef,
            self.intercept,
            hinge,
            self.scale,
            self.constant,
        )


class DenseForm(Form):
    """F = X W with W = X^T A, for the linear kernel of dense features.

    Epochs read a block of examples per matrix product. The weights of a coordinate lie
    side by side in memory.
    """

    def __init__(
        self, data: Any, coordinates: Coordinates, fit_intercept: bool = False
    ) -> None:
        super().__init__(data, coordinates, fit_intercept)
        self.weights = np.asfortranarray(self.weights)
        # what epochs multiply by; certificates use `data`
        self.epoch_data = np.ascontiguousarray(data)

    def epochs(
        self,
        order: NDArray[np.intp],
        problem: _compiled.Packed,
        hinge: NDArray[np.float64],
        mixtures: _compiled.Mixtures | None,
    ) -> Epoch:
        """Return a function that visits examples a block at a time."""
        rows, state = self._rows(), self._state(hinge)
        visit = _compiled.dense_pass(order, BLOCK_SIZE, rows, problem, state, mixtures)
        return _rounding_first(rows, visit)

    def _rows(self) -> _compiled.DenseRows:
        data, weights = _compiled.read_only(self.epoch_data), self.weights.T
        rounded = weights.astype(data.dtype, copy=False)
        return _compiled.DenseRows(data, weights, rounded)


def _rounding_first(rows: _compiled.DenseRows, visit: Epoch) -> Epoch:
    """Return epochs that begin by copying the weights to the data's precision."""
    if rows.rounded is rows.weights:
        return visit

    def epoch() -> None:
        rows.rounded[...] = rows.weights
        visit()

    return epoch


class KernelForm(DenseForm):
    """F = K A, for a kernel matrix K: the weights are A itself.

    `single`, a copy of K in single precision, makes epochs faster. ‖w‖² is the sum of
    <F_i, A_i>, each of the moment when F_i was last noted.
    """

    def __init__(
        self,
        data: Any,
        coordinates: Coordinates,
        fit_intercept: bool = False,
        single: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(data, coordinates, fit_intercept)
        if single is not None:
            self.epoch_data = np.ascontiguousarray(single)
        self._squared_norms = np.zeros(len(data))

    def epochs(
        self,
        order: NDArray[np.intp],
        problem: _compiled.Packed,
        hinge: NDArray[np.float64],
        mixtures: _compiled.Mixtures | None,
    ) -> Epoch:
        """Return a function that visits blocks of examples, and notes their scores."""
        rows, state, norms = self._rows(), self._state(hinge), self._squared_norms
        visit = _compiled.kernel_pass(
            order, BLOCK_SIZE, rows, problem, state, mixtures, norms
        )
        return _rounding_first(rows, visit)

    def sharpen(self) -> None:
        """Multiply by the kernel itself from now on, also for later values of C."""
        self.epoch_data = np.ascontiguousarray(self.data)

    def note_products(self, chunk: slice, products: NDArray[np.float64]) -> None:
        """Compute <F_i, A_i> of some examples."""
        A = self.coordinates.expand(self.weights[chunk])
        scores = self._expand(products)
        self._squared_norms[chunk] = np.einsum("ic,ic->i", scores, A)

    def squared_norm(self) -> float:
        """Return sum_i <F_i, A_i>."""
        return float(self._squared_norms.sum())

    def _weights_of(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        return A


class SparseForm(Form):
    """F = X W with W = X^T A, for CSR features.

    Sparse rows gain nothing from blocks, and without them need no Gram matrix.
    """

    chunk_size = 2048  # SciPy takes long to slice a matrix

    def __init__(
        self, data: Any, coordinates: Coordinates, fit_intercept: bool = False
    ) -> None:
        super().__init__(data, coordinates, fit_intercept)
        self.rows = _compiled.SparseRows.of(data)

    def epochs(
        self,
        order: NDArray[np.intp],
        problem: _compiled.Packed,
        hinge: NDArray[np.float64],
        mixtures: _compiled.Mixtures | None,
    ) -> Epoch:
        """Return a function that visits examples one at a time."""
        rows, state = self.rows, self._state(hinge)
        return _compiled.sparse_pass(
            order, rows, self.weights, problem, state, mixtures
        )


def linear_form(X: Any, coordinates: Coordinates, fit_intercept: bool = False) -> Form:
    """Return the linear form that suits dense or CSR features.

    Examples
    --------
    >>> from spanforest.factors import FactorGraph
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> type(linear_form(np.eye(3), Coordinates.of(factors))).__name__
    'DenseForm'
    """
    kind = SparseForm if sparse.issparse(X) else DenseForm
    return kind(X, coordinates, fit_intercept)


def solve_path(
    form: Form,
    problem: Problem,
    Cs: Iterable[float],
    rng: np.random.Generator,
    *,
    tol: float = 1e-2,
    max_iter: int = 100,
    watch: Watch | None = None,
) -> Iterator[Solution]:
    """Train for every C until the gap is at most `tol` times the dual objective.

    Each C starts from the last dual variables, multiplied by one factor. The factor is
    the one from 1 to C' / C at which the dual objective of the *smoothed* variables is
    highest: theirs is the objective that is known.

    Parameters
    ----------
    form : Form
        For the problem's examples and coordinates, fresh or started at feasible
        dual variables; it is moved along the path.
    problem : Problem
        The problem; its C is replaced.
    Cs : iterable of float
        In ascending order.
    rng : Generator
        Draws the order of the examples in every epoch.
    tol : float
        Relative tolerance.
    max_iter : int
        Largest number of epochs for one C.
    watch : callable, optional
        Called after every epoch with its number and the gap relative to the dual.

    Examples
    --------
    >>> from spanforest.factors import FactorGraph
    >>> from spanforest.graphs import LabelGraph
    >>> Y = np.array([[0, 0], [1, 1]], dtype=np.int32)
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> problem = Problem(factors, factors.loss("edge"), Y, C=1.0)
    >>> form = KernelForm(np.eye(2), problem.coordinates)
    >>> path = solve_path(form, problem, [0.1, 1.0], np.random.default_rng(0))
    >>> [solution.converged for solution in path]
    [True, True]
    """
    solution, previous, cycles = None, 0.0, None
    if not problem.factors.graph.is_forest:
        cycles = Cycles(problem.factors, np.maximum(problem.Y, 0))
        # lists hold the true labellings only: these have all mass at zero
        form.begin(np.zeros_like(form.dual_coef))
    for C in Cs:
        with single_blas_thread():
            if solution is not None:
                factor = _best_factor(form, solution, C / previous)
                form.begin(factor * form.dual_coef)
                if cycles is not None:
                    cycles.scale(factor)
            ascent = _Ascent(form, problem._replace(C=C), cycles)
            solution = ascent.run(rng, tol, max_iter, watch)
        previous = C
        yield solution


def _best_factor(form: Form, solution: Solution, largest: float) -> float:
    """Return the factor from 1 to `largest` that is best for the smoothed variables.

    The dual objective along the ray, D(factor) = factor <loss, mu> - ½ factor² ‖w‖², is
    highest where the factor is <loss, mu> / ‖w‖².
    """
    squared_norm = form.squared_norm()
    peak = np.inf
    if squared_norm > 0.0:  # <loss, mu> = D + ½‖w‖²
        peak = solution.dual_objective / squared_norm + 0.5
    return min(largest, max(peak, 1.0))


class _Ascent:
    """Epochs of ascent on the dual of one problem, and its objectives."""

    def __init__(
        self, form: Form, problem: Problem, cycles: Cycles | None = None
    ) -> None:
        self.form = form
        self.problem = compiled_problem(problem)
        self.cycles = cycles
        self.hinge = np.zeros(len(problem.Y))  # margin violations, when last computed
        self._order = np.arange(len(problem.Y))
        self._visit: Epoch | None = None  # made when it is first needed
        if cycles is None:
            state = form._state(self.hinge)
            self._inspect = _compiled.Inspection(self.problem, state)
        # <loss, mu> of A itself and of the smoothed A
        self._measure_loss = _compiled.LossTerm(self.problem, form.dual_coef)
        self.latest_loss_term = self._measure_loss()
        # 0-d array: Acceleration changes it in place
        self.loss_term = np.array(self.latest_loss_term)
        averaged = [form.weights, form.intercept, self.loss_term]
        self.acceleration = Acceleration(averaged)
        self.squared_norm = form.squared_norm()  # when last computed

    def run(
        self, rng: np.random.Generator, tol: float, max_iter: int, watch: Watch | None
    ) -> Solution:
        """Make epochs until the gap is small enough; see `solve_path`."""
        form, pace = self.form, Pace()
        gaps: list[float] = []
        seconds: list[float] = []
        start = clock()
        dual, certified, ratio = 0.0, False, USUAL_RATIO
        while not certified and len(gaps) < max_iter:
            self.epoch(pace.kappa(dual, self.squared_norm), rng)
            dual, estimate = self.dual_and_gap()
            gap = estimate
            # a certificate costs about an epoch: it waits until it may succeed
            if ratio * estimate <= tol * dual or len(gaps) + 1 == max_iter:
                at_least = self.measure_hinge(tol)
                dual, gap = self.dual_and_gap()
                certified = gap <= tol * dual
                ratio = at_least / estimate if estimate > 0.0 else 1.0
                if self.cycles is None:
                    ratio = min(ratio, 1.0)
            gaps.append(gap)
            seconds.append(clock() - start)
            stalled = not pace.observe(estimate)
            if stalled or (self.cycles is None and gap > estimate):
                form.sharpen()  # single precision may be what keeps the gap open
                self._visit = None
            if watch is not None:
                watch(len(gaps), _relative(gap, dual))
        expand, history = form.coordinates.expand, (np.array(gaps), np.array(seconds))
        weights, intercept = expand(form.weights), expand(form.intercept[None])[0]
        return Solution(weights, intercept, dual, *history, tol)

    def epoch(self, kappa: float, rng: np.random.Generator) -> None:
        """Smooth with a new κ, then visit all examples in random order.

        The margin violations become those just before each visit.
        """
        form, acceleration = self.form, self.acceleration
        acceleration.advance(kappa)
        self._order[:] = rng.permutation(len(self._order))
        if self.cycles is not None:
            self.cycles.make_room()  # this may need other arrays
            self._visit = None
        if self._visit is None:
            mixtures = None if self.cycles is None else self.cycles.mixtures
            self._visit = form.epochs(self._order, self.problem, self.hinge, mixtures)
        form.scale[0] = acceleration.scale
        self._visit()
        latest = self._measure_loss()
        self.loss_term += acceleration.scale * (latest - self.latest_loss_term)
        self.latest_loss_term = latest

    def measure_hinge(self, tol: float) -> float:
        """Compute all margin violations at the form's weights, of the same moment.

        On a graph with cycles they are upper bounds, which a search lowers where it may
        bring the gap down to `tol` times the dual objective. Returns the gap; or what
        it is at least, if that alone is too large and nothing was searched.
        """
        form, cycles = self.form, self.cycles
        for chunk in _chunks(len(self.hinge), form.chunk_size):
            products = form.products(chunk)
            form.note_products(chunk, products)
            if cycles is None:
                self._inspect(chunk.start, products)
            else:
                self._bound_hinge(cycles, chunk)
        dual, gap = self.dual_and_gap()
        if cycles is None:
            return gap
        box = self.problem.record.targets.box

        def prove(i: int) -> None:
            self._bound_hinge(cycles, slice(i, i + 1), exactly=True)

        if cycles.search(box, gap - tol * dual, prove):
            return self.dual_and_gap()[1]
        return gap - float(box @ (cycles.most - cycles.least))

    def _bound_hinge(self, cycles: Cycles, chunk: slice, exactly: bool = False) -> None:
        """Bound the margin violations of some examples on a graph with cycles."""
        scores, rows = self.form.scores(chunk), np.arange(chunk.start, chunk.stop)
        true_scores = np.empty(len(rows))
        _compiled.augment_rows(scores, rows, self.problem.record, true_scores)
        cycles.measure(rows, scores, true_scores, exactly=exactly)
        self.hinge[rows] = cycles.most[rows]

    def dual_and_gap(self) -> tuple[float, float]:
        """Return D = <loss, mu> - ½‖w‖², and P - D with P = ½‖w‖² + C sum of hinges.

        The sum is weighted by the weights of the examples. Both are exact after
        `measure_hinge`. After an epoch the gap is an estimate, and in the kernel form
        so is the dual: ‖w‖² is made of terms of different moments.
        """
        self.squared_norm = squared_norm = self.form.squared_norm()
        penalty = float(self.problem.record.targets.box @ self.hinge)
        loss_term = float(self.loss_term)
        gap = squared_norm + penalty - loss_term
        return loss_term - 0.5 * squared_norm, max(gap, 0.0)


def compiled_problem(problem: Problem) -> _compiled.Packed:
    """Return the problem as the compiled routines take it."""
    # visits are compiled for arrays that can be written
    arrays = [np.require(one, None, ["C", "W"]) for one in problem.factors.arrays]
    graph = _compiled.FactorArrays(*arrays)
    loss = np.empty(len(graph.factor), _compiled.LOSS_FIELDS)
    for name, weights in problem.loss._asdict().items():
        loss[name] = weights
    loss["worst"] = sum(problem.loss)
    targets = _compiled.Targets(
        loss=loss,
        # any code where not observed: it teaches nothing
        Y=np.require(np.maximum(problem.Y, 0), np.int32, ["C", "W"]),
        taught=problem.taught,
        box=problem.box,
        factor_weight=problem.factor_weight,
    )
    arrays_of_problem = _compiled.ProblemArrays(
        graph=graph,
        layout=problem.coordinates.layout,
        targets=targets,
        visit=_compiled.visit_buffers(graph),
    )
    return _compiled.pack(arrays_of_problem)


def _relative(gap: float, dual: float) -> float:
    """Return the gap relative to the dual objective, infinite if that is not > 0."""
    return gap / dual if dual > 0.0 else np.inf


def _chunks(n_samples: int, size: int) -> Iterator[slice]:
    """Cut the examples into chunks."""
    for start in range(0, n_samples, size):
        yield slice(start, min(start + size, n_samples))
