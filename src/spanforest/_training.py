"""Training one model: from a training set, a graph and settings to weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.losses import find_loss
from spanforest.solver import (
    Form,
    KernelForm,
    Problem,
    Solution,
    linear_form,
    solve_path,
)

SINGLE_SUFFICES = 1e-4  # tolerances from here on are far above float32's rounding
LARGEST_COPY = 2**30  # bytes


class TrainingSet(NamedTuple):
    """What all members of an ensemble learn from."""

    basis: Any  # features (n_samples, n_features), or the kernel matrix
    Y: NDArray[np.int32]  # (n_samples, n_labels) codes, -1 where not observed
    is_kernel: bool  # what the basis is
    rounded: NDArray[np.float32] | None = None  # copy of the kernel, for products

    @property
    def arrays(self) -> list[Any]:
        """The large arrays, which members share."""
        return [
            array for array in (self.basis, self.Y, self.rounded) if array is not None
        ]

    def with_rounded_kernel(self, tol: float) -> TrainingSet:
        """Add a copy of the kernel in single precision where that helps training.

        It is made once for all members. Half of the time of training is spent on
        reading the kernel matrix; the certificate is always that of the kernel itself.
        """
        K = self.basis
        is_wanted = self.is_kernel and K.dtype == np.float64 and tol >= SINGLE_SUFFICES
        if not is_wanted or K.nbytes > 2 * LARGEST_COPY:
            return self
        return self._replace(rounded=K.astype(np.float32))


class Settings(NamedTuple):
    """How a member learns."""

    C: float
    loss: str
    fit_intercept: bool
    tol: float
    max_iter: int


class Model(NamedTuple):
    """A trained member: F(x) = basis(x) @ weights + intercept, and how it was found."""

    graph: LabelGraph
    weights: NDArray[np.float64]  # W in the linear form, A in the kernel form
    intercept: NDArray[np.float64]
    dual_objective: float
    gaps: NDArray[np.float64]
    seconds: NDArray[np.float64]
    converged: bool

    @property
    def relative_gap(self) -> float:
        """The gap relative to the dual objective, infinite if that is not > 0."""
        if self.dual_objective <= 0.0:
            return np.inf
        return float(self.gaps[-1] / self.dual_objective)


def train(
    data: TrainingSet,
    graph: LabelGraph,
    rng: np.random.Generator,
    settings: Settings,
    watch: Callable[[int, float], None] | None = None,
) -> Model:
    """Learn one model on a graph; `watch` is told of every pass (see `solve`)."""
    found = learn(data, factors_for(data, graph), rng, settings, watch)
    return Model(
        graph=graph,
        weights=found.weights,
        intercept=found.intercept,
        dual_objective=found.dual_objective,
        gaps=found.gaps,
        seconds=found.seconds,
        converged=found.converged,
    )


def learn(
    data: TrainingSet,
    factors: FactorGraph,
    rng: np.random.Generator,
    settings: Settings,
    watch: Callable[[int, float], None] | None = None,
) -> Solution:
    """Train on the factors of a model."""
    return next(learn_path(data, factors, rng, settings, [settings.C], watch))


def learn_path(
    data: TrainingSet,
    factors: FactorGraph,
    rng: np.random.Generator,
    settings: Settings,
    Cs: Iterable[float],
    watch: Callable[[int, float], None] | None = None,
) -> Iterator[Solution]:
    """Yield the solution for every C, in ascending order: see `solve_path`."""
    ends = factors.arrays.factor
    loss = find_loss(settings.loss)(ends["first"], ends["second"])
    problem = Problem(factors, loss, data.Y, settings.C)
    if data.is_kernel:
        form: Form = KernelForm(
            data.basis, problem.coordinates, settings.fit_intercept, data.rounded
        )
    else:
        form = linear_form(data.basis, problem.coordinates, settings.fit_intercept)
    tol, max_iter = settings.tol, settings.max_iter
    return solve_path(form, problem, Cs, rng, tol=tol, max_iter=max_iter, watch=watch)


def factors_for(data: TrainingSet, graph: LabelGraph) -> FactorGraph:
    """Return the factors of a model that learns from these data."""
    return model_factors(
        graph, data.Y.max(axis=0) + 1, node_factors=bool((data.Y < 0).any())
    )


def model_factors(
    graph: LabelGraph, n_values: NDArray[np.integer], *, node_factors: bool
) -> FactorGraph:
    """Return the factors of a model, one for every label beside its edges if asked.

    Where labels are missing they are wanted: an example that has a label but none of
    the labels it is joined with teaches no edge.
    """
    everyone = np.arange(graph.n_labels) if node_factors else None
    return FactorGraph(graph, n_values, everyone)


def warn_not_converged(what: str) -> None:
    """Warn the caller of fit that training stopped short of its tolerance."""
    warnings.warn(
        f"Training did not converge: {what}. Raise max_iter or tol, lower C, or scale "
        "the data: StandardScaler for features of different sizes, and then "
        "normalize_kernel=True, which alone does not make up for it.",
        ConvergenceWarning,
        stacklevel=3,
    )
