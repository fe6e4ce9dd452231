"""Training one member: from a training set, a graph and settings to a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from spanforest._blas import single_blas_thread
from spanforest._copies import Copies
from spanforest._inputs import Basis
from spanforest._offsets import offset_cells
from spanforest._several_inputs import of_member
from spanforest._starts import independent_start
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, draw_graph
from spanforest.solver import Form, Problem, Solution, Watch, solve_path


class TrainingSet(NamedTuple):
    """What all members of an ensemble learn from.

    Copies of an example are one example here, with the sum of their weights. Folds are
    made of examples as they were given.
    """

    basis: Basis
    Y: NDArray[np.int32]  # (n_samples, n_labels) codes, -1 where not observed
    label_names: Any = None
    sample_weight: NDArray[np.float64] | None = None  # (n_samples,) positive
    label_weight: NDArray[np.float64] | None = None  # (n_samples, n_labels) of the loss
    start: NDArray[np.float64] | None = None  # dual variables of the labels to start at
    copies: Copies | None = None  # None if there are none

    def prepared(self, tol: float) -> TrainingSet:
        """Add what makes training to this tolerance faster."""
        return self._replace(basis=self.basis.prepared(tol))

    def of_member(self, t: int) -> TrainingSet:
        """Return what member t learns from: of several kernels, its own."""
        return self._replace(basis=of_member(self.basis, t))

    @property
    def as_given(self) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
        """The labels and the weights of the examples as they were given."""
        if self.copies is None:
            return self.Y, self.sample_weight
        return self.Y[self.copies.place], self.copies.weight

    def fold(
        self, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> tuple[TrainingSet, Any]:
        """Return the training set of some examples, and the rows of the others.

        `train` and `test` are places of examples as they were given. Rows are what
        weights are multiplied by: see `Input.rows`.
        """
        weight = self.sample_weight
        if self.copies is not None:
            train, weight = self.copies.together(train)
            test = self.copies.place[test]
        elif weight is not None:
            weight = weight[train]
        basis, rows = self.basis.fold(train, test, weight)
        of_values = None if self.label_weight is None else self.label_weight[train]
        inside = TrainingSet(basis, self.Y[train], self.label_names, weight, of_values)
        return inside, rows

    def factors(self, graph: LabelGraph) -> FactorGraph:
        """Return the factors of a model on this graph that learns from these data.

        In a fold the numbers of values, and whether labels are missing, are the fold's.
        """
        return model_factors(
            graph, self.Y.max(axis=0) + 1, unary_everywhere=bool((self.Y < 0).any())
        )


class Settings(NamedTuple):
    """How a member learns."""

    C: float
    loss: str
    fit_intercept: bool
    tol: float
    max_iter: int
    offset: Any = 0.0  # of the trained member; one number, or one per label


class Draw(NamedTuple):
    """A member's graph parameter and seed: all its randomness comes from them."""

    graph: Any  # a graph, the name of a generator, or a generator
    seed: np.random.SeedSequence

    def make_factors(
        self, data: TrainingSet
    ) -> tuple[FactorGraph, np.random.Generator]:
        """Draw the member's graph; return its factors and the generator to go on with.

        Of the data only the labels and the weights of the examples matter. The same
        labels and weights give the same result every time: so tuning compares
        candidates on the same graphs.
        """
        rng = np.random.default_rng(self.seed)
        graph = draw_graph(
            self.graph, data.Y, rng, data.label_names, data.sample_weight
        )
        return data.factors(graph), rng


class Model(NamedTuple):
    """A trained member."""

    factors: FactorGraph
    solution: Solution


def train_member(
    data: TrainingSet, draw: Draw, settings: Settings, watch: Watch | None = None
) -> Model:
    """Draw a member's graph and train it, from `data.start` if there is one.

    On a graph with cycles training starts at zero: see `_cycles`.
    """
    factors, rng = draw.make_factors(data)
    form, problem = _pose(data, factors, settings)
    if data.start is not None and factors.graph.is_forest:
        with single_blas_thread():
            form.begin(independent_start(factors, data.Y, problem.box, data.start))
    path = _solve(form, problem, [settings.C], rng, settings, watch)
    return Model(factors, next(path))


def train_first(
    data: TrainingSet, draw: Draw, settings: Settings, watch: Watch | None = None
) -> tuple[Model, NDArray[np.float64] | None]:
    """Train the first member; return it, and the `start` of all others.

    Where labels are missing or have weights, the dual variables of a label differ
    between its factors. Then there is no start: the other members begin at zero.
    """
    factors, rng = draw.make_factors(data)
    form, problem = _pose(data, factors, settings)
    solution = next(_solve(form, problem, [settings.C], rng, settings, watch))
    start = None
    if problem.shares_sums:
        n_sums = int((factors.n_values - 1).sum())
        start = form.dual_coef[:, :n_sums].copy()
    return Model(factors, solution), start


def train_path(
    data: TrainingSet,
    factors: FactorGraph,
    rng: np.random.Generator,
    settings: Settings,
    Cs: Iterable[float],
) -> Iterator[Solution]:
    """Yield the solution for every C, in ascending order; see `solve_path`.

    The offset is part of the intercept. `settings.C` is not used.
    """
    form, problem = _pose(data, factors, settings)
    return _solve(form, problem, Cs, rng, settings)


def _pose(
    data: TrainingSet, factors: FactorGraph, settings: Settings
) -> tuple[Form, Problem]:
    """Return the solver's form of the examples, and the problem to solve."""
    weights = data.sample_weight, data.label_weight
    loss = factors.loss(settings.loss)
    problem = Problem(factors, loss, data.Y, settings.C, *weights)
    return data.basis.form(problem.coordinates, settings.fit_intercept), problem


def _solve(
    form: Form,
    problem: Problem,
    Cs: Iterable[float],
    rng: np.random.Generator,
    settings: Settings,
    watch: Watch | None = None,
) -> Iterator[Solution]:
    """Yield the solution for every C, with the offset in its intercept."""
    tol, max_iter = settings.tol, settings.max_iter
    path = solve_path(form, problem, Cs, rng, tol=tol, max_iter=max_iter, watch=watch)
    offset = offset_cells(problem.factors, settings.offset)
    return (one._replace(intercept=one.intercept + offset) for one in path)


def scores_of(
    rows: Any, weights: NDArray[np.float64], intercept: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the scores F of examples, of shape (n, n_cells)."""
    return np.asarray(rows @ weights) + intercept


def model_factors(
    graph: LabelGraph, n_values: NDArray[np.integer], *, unary_everywhere: bool
) -> FactorGraph:
    """Return the factors of a model.

    With `unary_everywhere` each label has a unary factor beside its edges. Models that
    learn from missing labels need them: an example that has a label but none of the
    labels it is joined with teaches no edge.
    """
    all_labels = np.arange(graph.n_labels) if unary_everywhere else None
    return FactorGraph(graph, n_values, all_labels)


def warn_not_converged(what: str, stacklevel: int = 3) -> None:
    """Warn the caller of `fit` that training stopped short of its tolerance."""
    warnings.warn(
        f"Training did not converge: {what}. Raise max_iter or tol, or lower C. If "
        'features are not scaled yet, set scaling="auto".',
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
