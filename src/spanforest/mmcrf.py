"""MMCRF: a max-margin structured classifier on one output graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from spanforest._blas import single_blas_thread
from spanforest._classifier import (
    GraphClassifier,
    Settings,
    TrainingSet,
    find_decoder,
)
from spanforest._progress import watch_gap
from spanforest._validation import (
    seed_sequence,
)
from spanforest.calibration import Calibration, fit_calibration
from spanforest.factors import FactorGraph, consensus_factors
from spanforest.graphs import LabelGraph, draw_graph
from spanforest.inference import label_margins
from spanforest.losses import find_loss
from spanforest.search import TopLists, k_best
from spanforest.solvers import KernelForm, Problem, Solution, linear_form, solve

__all__ = ["MMCRFClassifier"]

CALIBRATION_FOLDS = 5
CALIBRATION_MEMBERS = 10  # at most, that are trained anew on each fold


class Model(NamedTuple):
    """A trained member: F(x) = basis(x) @ weights + intercept, and how it was found."""

    graph: LabelGraph
    weights: NDArray[np.float64]  # W in the linear form, A in the kernel form
    intercept: NDArray[np.float64]
    dual_objective: float
    gaps: NDArray[np.float64]
    seconds: NDArray[np.float64]
    converged: bool


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
    """Yield the solution for every C, each found from where the one before it ended.

    Give the C in ascending order: dual variables that are feasible for one C are so for
    a larger C', times any factor from 1 to C'/C, and the best of these is the start.
    The solutions share their arrays: use one before you ask for the next.
    """
    ends = factors.arrays.factor
    loss = find_loss(settings.loss)(ends["first"], ends["second"])
    make_form = KernelForm if data.is_kernel else linear_form
    form = make_form(data.basis, factors.n_cells, settings.fit_intercept)
    found, previous = None, 0.0
    for C in Cs:
        with single_blas_thread():
            if found is not None:
                # the dual objective along the ray, D(f) = f <loss, mu> - ½ f² ‖w‖², is
                # highest where f is <loss, mu> / ‖w‖²
                squared_norm = form.squared_norm()
                peak = np.inf
                if squared_norm > 0.0:
                    peak = found.dual_objective / squared_norm + 0.5
                form.restart(min(C / previous, max(peak, 1.0)))
            found = solve(
                form,
                Problem(factors, loss, data.Y, C),
                rng,
                tol=settings.tol,
                max_iter=settings.max_iter,
                watch=watch,
            )
        previous = C
        yield found


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


class HeldOut(NamedTuple):
    """What is trained on a part of the data to see the margins of the others."""

    parts: list[FactorGraph]  # of the members, with every value of every label
    settings: Settings
    margins: Callable[..., list[NDArray[np.float64]]]  # of the parts and their scores

    @property
    def units(self) -> NDArray[np.float64]:
        """What it costs to have one label wrong, on average: the margin asked for."""
        total = np.zeros(self.parts[0].n_labels)
        for factors in self.parts:
            ends = factors.arrays.factor
            loss = find_loss(self.settings.loss)(ends["first"], ends["second"])
            np.add.at(total, ends["first"], loss.joint + loss.first)
            is_edge = ends["second"] >= 0
            at_second = (loss.joint + loss.second)[is_edge]
            np.add.at(total, ends["second"][is_edge], at_second)
        return total / len(self.parts)


def average_margins(
    parts: list[FactorGraph], scores: Iterable[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the average of the members' margins, one array per label: those of AMM."""
    total: Any = 0.0
    for factors, own in zip(parts, scores, strict=True):
        total = total + np.column_stack(label_margins(factors, own))
    return np.split(total / len(parts), parts[0].value_start[1:], axis=1)


def consensus_margins(
    parts: list[FactorGraph], scores: Iterable[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the margins of the average scores, one array per label: those of MAM."""
    union = consensus_factors(parts)
    total: Any = 0.0
    for factors, own in zip(parts, scores, strict=True):
        spread = np.zeros((len(own), union.n_cells))
        spread[:, union.places_of(factors)] = own
        total = total + spread
    return label_margins(union, total / len(parts))


def calibrate(
    data: TrainingSet,
    members: HeldOut,
    seed: np.random.SeedSequence,
    run: Callable[[list[Any]], list[Any]],
) -> Calibration:
    """Fit a calibration to margins of examples that members were not trained on.

    Some members suffice. Their margins are measured in units of what training asks of
    them, so that the calibration also holds for all members together. A single label
    gets no bias: its most probable value is the one predicted.

    Parameters
    ----------
    data : TrainingSet
        All of the training examples, which folds are made of.
    members : HeldOut
        All members.
    seed : SeedSequence
        Draws the folds, and the order of the examples in training.
    run : callable
        Runs a list of joblib tasks.
    """
    n_values = members.parts[0].n_values
    if n_values.max() == 1:
        return fit_calibration([np.zeros((0, 1))] * len(n_values), data.Y[:0])
    some = members._replace(parts=members.parts[:CALIBRATION_MEMBERS])
    n_samples = len(data.Y)
    n_folds = min(CALIBRATION_FOLDS, n_samples)
    *seeds, last = seed.spawn(n_folds + 1)
    fold = np.random.default_rng(last).permutation(np.arange(n_samples) % n_folds)
    tasks = [
        delayed(margins_of_fold)(
            data.basis, data.Y, data.is_kernel, fold == f, some, seeds[f]
        )
        for f in range(n_folds)
    ]
    margins = [np.empty((n_samples, size)) for size in n_values]
    for f, found in enumerate(run(tasks)):
        for j, unit in enumerate(some.units):
            margins[j][fold == f] = found[j] / unit
    found = fit_calibration(margins, data.Y, biases=len(n_values) > 1)
    return found.for_margins_of(members.units)


def margins_of_fold(
    basis: Any,
    Y: NDArray[np.int32],
    is_kernel: bool,
    held_out: NDArray[np.bool_],
    members: HeldOut,
    seed: np.random.SeedSequence,
) -> list[NDArray[np.float64]]:
    """Return the members' margins of some examples, learned from the others."""
    inside, outside = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    known, new = basis[inside], basis[outside]
    if is_kernel:
        known, new = np.ascontiguousarray(known[:, inside]), new[:, inside]
    data = TrainingSet(known, Y[inside], is_kernel)
    seeds = seed.spawn(len(members.parts))
    scores = []
    for factors, own in zip(members.parts, seeds, strict=True):
        found = learn(data, factors, np.random.default_rng(own), members.settings)
        scores.append(np.asarray(new @ found.weights) + found.intercept)
    return members.margins(members.parts, scores)


class MMCRFClassifier(GraphClassifier):
    """Max-margin conditional random field on one output graph.

    The classifier learns a score for every pair of values at every edge of a graph over
    the labels, and predicts the label set of highest total score. It minimises

        ½ ‖w‖² + C Σ_i max_y (loss(y_i, y) - score(x_i, y_i) + score(x_i, y))

    with kernels, to a duality gap that is reported.

    Parameters
    ----------
    graph : str, graph or callable, default="random_tree"
        ``"random_tree"`` (maximum spanning tree of random weights, as in the paper),
        ``"uniform_tree"``, ``"recursive_tree"``, ``"random_pairing"``,
        ``"chow_liu"`` (the tree of most mutual information between labels),
        ``"independent"`` (no edges); or a list of label pairs, an adjacency matrix, a
        networkx graph, a `spanforest.graphs.LabelGraph`; or a function of
        ``(n_labels, rng)`` that returns one. Graphs with cycles are allowed.
    kernel : str or callable, default="linear"
        ``"linear"``, ``"poly"``, ``"rbf"``, ``"tanimoto"``, ``"cosine"``,
        ``"precomputed"``, or a function of two feature matrices.
    gamma : float, optional
        Scale of "rbf" and "poly"; 1 / n_features by default.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant of "poly".
    kernel_params : dict, optional
        Keyword arguments for a callable kernel.
    normalize_kernel : bool, default=False
        Scale every example to unit length in feature space.
    C : float, default=1.0
        Weight of the training errors.
    loss : {"edge", "hamming"}, default="edge"
        What counts as an error: edges whose label pair is wrong (the paper), or wrong
        labels.
    fit_intercept : bool, default=True
        Add a constant feature (a constant to the kernel).
    tol : float, default=1e-2
        Stop when the duality gap is at most `tol` times the dual objective.
    max_iter : int, default=100
        Most passes over the data.
    missing_label : number or str, optional
        A value in `y` that means "not observed", such as -1. NaN, None and the masked
        entries of a masked array always mean so.
    random_state : int, RandomState, Generator or None
        Draws the graph and the order of the examples.
    verbose : int, default=0
        Show progress on a terminal if positive (needs rich).
    probability : bool, default=False
        Also fit what `predict_proba` and `predict_for` need, on held-out folds: five
        more trainings. Nothing else changes.

    Attributes
    ----------
    classes_ : ndarray or list of ndarray
        The values of a 1-D `y`; 0, ..., n_labels - 1 for an indicator matrix, as in
        scikit-learn; else a list with the values of every label.
    label_names_ : ndarray or None
        The column names if `y` was a DataFrame.
    graph_ : LabelGraph
        The output graph.
    has_node_factors_ : bool
        Whether every label has a factor of its own beside its edges: only if some
        labels were missing in `y`.
    coef_ : ndarray of shape (n_features, n_cells)
        Weights, with a linear kernel.
    dual_coef_ : ndarray of shape (n_samples, n_cells)
        Dual variables A, with any other kernel.
    intercept_ : ndarray of shape (n_cells,)
        Scores of the constant feature.
    X_fit_ : ndarray or sparse matrix
        The training examples, with a kernel that is neither linear nor precomputed.
    dual_objective_ : float
        Dual objective at the solution.
    duality_gap_ : float
        Primal minus dual objective, computed exactly at the end (on a graph with
        cycles, an upper bound on it).
    gap_history_ : ndarray
        The gap after every pass: an estimate where it was far from `tol`; the last
        entry is `duality_gap_`.
    gap_seconds_ : ndarray
        Seconds since training began, at the same moments.
    n_iter_ : int
        Number of passes made.
    calibration_ : Calibration
        What turns margins into probabilities, with ``probability=True``.
    n_features_in_ : int
        Number of features, or of training examples with a precomputed kernel.
    feature_names_in_ : ndarray
        Names of the features, if `X` was a DataFrame.

    See Also
    --------
    RandomGraphEnsembleClassifier : Many of these, on random graphs.

    References
    ----------
    Rousu, Saunders, Szedmak & Shawe-Taylor, "Efficient algorithms for max-margin
    structured classification", 2007. Su & Rousu, "Multilabel Classification through
    Random Graph Ensembles", ACML 2013.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> Y = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # the third is their OR
    >>> clf = MMCRFClassifier(graph=[(0, 2), (1, 2)], C=10, random_state=0).fit(X, Y)
    >>> clf.predict([[0, 1], [1, 1]])
    array([[0, 1, 1],
           [1, 1, 1]])
    >>> bool(clf.duality_gap_ <= 0.01 * clf.dual_objective_)
    True
    """

    def __init__(
        self,
        graph="random_tree",
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        normalize_kernel=False,
        C=1.0,
        loss="edge",
        fit_intercept=True,
        tol=1e-2,
        max_iter=100,
        missing_label=None,
        random_state=None,
        verbose=0,
        probability=False,
    ):
        self.graph = graph
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.missing_label = missing_label
        self.random_state = random_state
        self.verbose = verbose
        self.probability = probability

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from examples and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Labels: an indicator matrix, or any values; or 1-D for a single label. NaN,
            None and masked entries are labels that were not observed.

        Returns
        -------
        self
            The fitted classifier.
        """
        settings = self._settings()
        data = self._read_training_set(X, y)
        root = seed_sequence(self.random_state)
        rng = np.random.default_rng(root)
        graph = draw_graph(self.graph, data.Y, rng, self.label_names_)
        with watch_gap(settings.tol, verbose=bool(self.verbose)) as watch:
            model = train(data, graph, rng, settings, watch)
        self._store(model)
        if self.probability:
            (seed,) = root.spawn(1)
            members = HeldOut([self._factors], settings, average_margins)
            self.calibration_ = calibrate(data, members, seed, Parallel())
        if not model.converged:
            warn_not_converged(
                f"the duality gap is {self.duality_gap_:.3g} after {self.n_iter_} "
                f"passes, {relative_gap(model):.2g} times the dual objective; tol is "
                f"{self.tol:g}"
            )
        return self

    def _store(self, model: Model) -> None:
        self.graph_ = model.graph
        if self._is_linear:
            self.coef_ = model.weights
        else:
            self.dual_coef_ = model.weights
        self.intercept_ = model.intercept
        self.dual_objective_ = model.dual_objective
        self.gap_history_ = model.gaps
        self.gap_seconds_ = model.seconds
        self.duality_gap_ = float(model.gaps[-1])
        self.n_iter_ = len(model.gaps)

    @property
    def _factors(self) -> FactorGraph:
        return model_factors(
            self.graph_, self._coding.n_values, node_factors=self.has_node_factors_
        )

    @property
    def _decoding_factors(self) -> FactorGraph:
        return self._factors

    def _top_lists(self, basis: Any, k: int) -> TopLists:
        return k_best(self._factors, self._scores(basis), k)

    def predict(self, X: Any, inference: str = "certified") -> NDArray[Any]:
        """Predict the label sets of highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        inference : {"certified", "max_product"}, default="certified"
            Only for graphs with cycles: tree-reweighted message passing, or the
            paper's loopy max-product stopped at the graph's diameter.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,)
            Labels, of the form and type of `y`.
        """
        check_is_fitted(self)
        decoder, factors = find_decoder(inference), self._factors
        return self._decide(
            X, lambda basis: decoder(factors, self._scores(basis)).labels
        )

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return how strongly each label is predicted to be on.

        The difference in score between the best label sets with the label on and with
        it off. (On a graph with cycles the other labels stay as predicted.) A label
        that had one value in training gets 1 or -1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            For 1-D `y`: (n_samples,) with two classes, else (n_samples, n_classes).
        """
        check_is_fitted(self)
        return self._decisions(X, self._margins)


def relative_gap(model: Model) -> float:
    """Return the gap relative to the dual objective, infinite if that is not > 0."""
    if model.dual_objective <= 0.0:
        return np.inf
    return float(model.gaps[-1] / model.dual_objective)


def warn_not_converged(what: str) -> None:
    """Warn the caller of fit that training stopped short of its tolerance."""
    warnings.warn(
        f"Training did not converge: {what}. Raise max_iter or tol, lower C, or scale "
        "the data: StandardScaler for features of different sizes, and then "
        "normalize_kernel=True, which alone does not make up for it.",
        ConvergenceWarning,
        stacklevel=3,
    )
