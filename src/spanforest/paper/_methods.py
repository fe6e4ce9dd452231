"""The methods of the experiment: how each is set up, and on which inputs.

A *learner* is fitted; a *method* has rows of results. One ensemble is one learner and
three methods: MVE, AMM and MAM come from the same fit. The ensemble that tunes itself
is another learner.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning

from spanforest._compilation import clock
from spanforest.aggregation import AGGREGATIONS
from spanforest.diagnostics import relative_gaps
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel
from spanforest.metrics import MEASURES
from spanforest.mmcrf import MMCRFClassifier
from spanforest.paper import _peers as peers
from spanforest.paper._fold_inputs import FoldInputs, TrainTest
from spanforest.paper._stored_graph import StoredGraph
from spanforest.paper.baselines import (
    AdaBoostMHClassifier,
    BaggedSVMClassifier,
    MultiTaskFeatureClassifier,
    PerLabelClassifier,
    svm_per_label,
)
from spanforest.tuning import RandomGraphEnsembleClassifierCV

Params = Mapping[str, Any]
Scores = dict[str, float]

# Training ends at a duality gap of 5 % or after 100 passes; rows store the final gap.
# With 1 % the scores of emotions, scene, yeast and medical change by less than their
# deviation over folds. Folds scale the features themselves.
_TRAINING = {"tol": 0.05, "max_iter": 100, "scaling": None}

# Learners that choose their parameters by one measure.
TUNED_FOR = {measure: f"tuned_for_{measure}" for measure in MEASURES}

_TUNE_THEMSELVES = ("selftuned", *TUNED_FOR.values())
_WITH_TREES = ("ensemble", *_TUNE_THEMSELVES)
_WITH_GRAPHS = ("mmcrf", *_WITH_TREES)


class Effort(NamedTuple):
    """Sizes of the ensembles."""

    n_trees: int = 60
    n_bags: int = 60
    n_rounds: int = 100
    n_chains: int = 10
    n_forest: int = 100


class Setup(NamedTuple):
    """An estimator, not fitted, and its inputs."""

    estimator: Any
    inputs: TrainTest


class OwnChoice(NamedTuple):
    """The choice of a learner that tunes itself, and its candidates."""

    params: dict[str, Any]
    candidates: list[dict[str, Any]]  # each with its score


class Result(NamedTuple):
    """The outcome of a method on one fold."""

    scores: Scores
    n_positive: int
    seconds: dict[str, float]
    gap: float | None = None
    warnings: list[str] | None = None  # not empty: training did not converge
    curve: dict[str, list[float]] | None = None
    members: dict[str, list[float]] | None = None
    label_graph: dict[str, Any] | None = None  # only of MAM, which infers on it
    choice: OwnChoice | None = None


def score(Y: NDArray, prediction: NDArray) -> Scores:
    """Return all measures of a prediction."""
    return {name: each.function(Y, prediction) for name, each in MEASURES.items()}


def run_learner(
    name: str, fold: FoldInputs, params: Params, effort: Effort, seed: int
) -> dict[str, Result]:
    """Fit one of the `LEARNERS` to the training set and return a result per method.

    `params` are the chosen parameters; a learner that tunes itself needs none.
    """
    estimator, inputs = LEARNERS[name](fold, params, effort, seed)
    training = _fit(estimator, inputs.train, fold.Y.train)
    gap = None
    if name in _WITH_GRAPHS:
        gap = float(relative_gaps(estimator).max())
    if name == "ensemble":
        results = _ensemble_results(estimator, inputs.test, fold.Y.test, training, gap)
        graph = StoredGraph.of(
            estimator, inputs.train, fold.Y.train, fold.label_names
        ).as_field()
        return {**results, "mam": results["mam"]._replace(label_graph=graph)}
    result = _test(estimator, inputs.test, fold.Y.test, training, gap)
    if name in _TUNE_THEMSELVES:
        result = result._replace(choice=_own_choice(estimator))
    return {name: result}


def fit_and_score(
    name: str, fold: FoldInputs, candidates: Sequence[Params], effort: Effort, seed: int
) -> list[float]:
    """Return the mean of all measures for candidates that share one fit.

    Parameters are chosen by it. The candidates may differ in their threshold, and in
    nothing else.
    """
    estimator, inputs = LEARNERS[name](fold, candidates[0], effort, seed)
    _fit(estimator, inputs.train, fold.Y.train)
    means = []
    for params in candidates:
        if "threshold" in params:
            estimator.set_params(threshold=params["threshold"])
        scores = score(fold.Y.test, estimator.predict(inputs.test))
        means.append(float(np.mean(list(scores.values()))))
    return means


def methods_of(learner: str) -> tuple[str, ...]:
    """Return the methods whose rows come from one fit of a learner.

    Examples
    --------
    >>> methods_of("ensemble")
    ('mve', 'amm', 'mam')
    >>> methods_of("svm")
    ('svm',)
    """
    return tuple(AGGREGATIONS) if learner == "ensemble" else (learner,)


def has_trees(learner: str) -> bool:
    """Tell whether the number of trees changes what a learner does.

    Examples
    --------
    >>> has_trees("ensemble"), has_trees("mmcrf")
    (True, False)
    """
    return learner in _WITH_TREES


class _Training(NamedTuple):
    seconds: dict[str, float]  # by the clock, and on the processor
    warnings: list[str]


def _fit(estimator: Any, X: Any, Y: NDArray) -> _Training:
    start, busy = clock(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        estimator.fit(X, Y)
    seconds = {
        "fit": clock() - start,
        "fit_processor": time.process_time() - busy,
    }
    messages = dict.fromkeys(
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, ConvergenceWarning)
    )
    return _Training(seconds, list(messages))


def _test(
    estimator: Any,
    X: Any,
    Y: NDArray,
    training: _Training,
    gap: float | None,
    **how: str,
) -> Result:
    """Predict and score; `how` goes to `predict`."""
    start = clock()
    prediction = estimator.predict(X, **how)
    seconds = {**training.seconds, "predict": clock() - start}
    n_positive = int((prediction > 0).sum())
    scores = score(Y, prediction)
    return Result(scores, n_positive, seconds, gap, training.warnings)


def _ensemble_results(
    ensemble: RandomGraphEnsembleClassifier,
    X: Any,
    Y: NDArray,
    training: _Training,
    gap: float | None,
) -> dict[str, Result]:
    """Return the results and learning curves of all aggregations of one fit."""
    members = _series(Y, (member.predict(X) for member in ensemble.estimators_))
    results = {}
    for method in AGGREGATIONS:
        result = _test(ensemble, X, Y, training, gap, aggregation=method)
        curve = _series(Y, ensemble.staged_predict(X, aggregation=method))
        results[method] = result._replace(curve=curve, members=members)
    return results


def _series(Y: NDArray, predictions: Any) -> dict[str, list[float]]:
    """Return the measures of a sequence of predictions."""
    scores = [score(Y, prediction) for prediction in predictions]
    return {name: [round(one[name], 6) for one in scores] for name in MEASURES}


def _own_choice(estimator: RandomGraphEnsembleClassifierCV) -> OwnChoice:
    params = {
        name: value if isinstance(value, int | float | str | None) else str(value)
        for name, value in estimator.best_params_.items()
    }
    # rows store candidates of the protocol only; here the estimator chose its own
    return OwnChoice(params, [{"params": {}, "score": float(estimator.best_score_)}])


def _svm(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    machine = svm_per_label(params["C"], kernel="precomputed")
    return Setup(_deciding(machine, params), fold.kernel(params.get("width")))


def _bagging(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    bag = BaggedSVMClassifier(
        params["C"], "precomputed", n_estimators=effort.n_bags, random_state=seed
    )
    return Setup(bag, fold.kernel(params.get("width")))


def _adaboost(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    booster = AdaBoostMHClassifier(effort.n_rounds, **params, random_state=seed)
    return Setup(booster, fold.features)


def _mtl(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    # in the paper its inputs are the features, or the rows of the kernel matrix
    tuned = "width" in params
    inputs = fold.explicit_features(params["width"]) if tuned else fold.features
    return Setup(MultiTaskFeatureClassifier(params["gamma"]), inputs)


def _mmcrf(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    kernel, inputs = _graph_inputs(fold, params)
    tree = MMCRFClassifier(C=params["C"], kernel=kernel, random_state=seed, **_TRAINING)
    return Setup(tree, inputs)


def _ensemble(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    kernel, inputs = _graph_inputs(fold, params)
    ensemble = RandomGraphEnsembleClassifier(
        effort.n_trees, C=params["C"], kernel=kernel, random_state=seed, **_TRAINING
    )
    return Setup(ensemble, inputs)


def _selftuned(
    fold: FoldInputs,
    params: Params,
    effort: Effort,
    seed: int,
    scoring: str = "mean",
) -> Setup:
    kernels: Any = "auto"
    if fold.own_kernel_name == "tanimoto":
        kernels = ["tanimoto", ForestKernel(min_samples_leaf=5)]
    elif fold.own_kernel_name == "precomputed":
        kernels = "precomputed"
    ensemble = RandomGraphEnsembleClassifierCV(
        effort.n_trees, kernels=kernels, scoring=scoring, random_state=seed
    )
    return Setup(ensemble, fold.as_they_are)


def _graph_inputs(fold: FoldInputs, params: Params) -> tuple[str, TrainTest]:
    """Return a kernel and its inputs: features if it is linear, else its matrix."""
    width = params.get("width")
    if fold.is_linear and width is None:
        return "linear", fold.unit_features
    return "precomputed", fold.kernel(width)


def _chains(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    chains = peers.ClassifierChains(params["C"], effort.n_chains, seed)
    return Setup(_deciding(chains, params), fold.explicit_features(params.get("width")))


def _logistic(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    model = PerLabelClassifier(peers.logistic_regression(params["C"]))
    return Setup(_deciding(model, params), fold.explicit_features(params.get("width")))


def _forest(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    forest = RandomForestClassifier(
        effort.n_forest, **_without_threshold(params), random_state=seed
    )
    return Setup(_deciding(forest, params), fold.features)


def _extra_trees(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    forest = ExtraTreesClassifier(
        effort.n_forest, **_without_threshold(params), random_state=seed
    )
    return Setup(_deciding(forest, params), fold.features)


def _boosting(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    booster = HistGradientBoostingClassifier(
        max_iter=effort.n_rounds, **_without_threshold(params), random_state=seed
    )
    model = PerLabelClassifier(booster)
    inputs = TrainTest(*map(peers.as_dense, fold.features))  # it takes no sparse matrix
    return Setup(_deciding(model, params), inputs)


def _deciding(estimator: Any, params: Params) -> Any:
    """Return the classifier with the threshold of the candidate, if it has one."""
    if "threshold" not in params:
        return estimator
    return peers.Thresholded(estimator, params["threshold"])


def _without_threshold(params: Params) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "threshold"}


def _boomer(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    return Setup(peers.BoomerRules(**params, random_state=seed), fold.features)


def _mlknn(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    return Setup(peers.NearestNeighbours(**params), fold.features)


LEARNERS: dict[str, Callable[[FoldInputs, Params, Effort, int], Setup]] = {
    "svm": _svm,
    "bagging": _bagging,
    "adaboost": _adaboost,
    "mtl": _mtl,
    "mmcrf": _mmcrf,
    "ensemble": _ensemble,
    "selftuned": _selftuned,
    **{
        name: partial(_selftuned, scoring=measure)
        for measure, name in TUNED_FOR.items()
    },
    "ecc": _chains,
    "forest": _forest,
    "extra_trees": _extra_trees,
    "boosting": _boosting,
    "logistic": _logistic,
    "boomer": _boomer,
    "mlknn": _mlknn,
}
