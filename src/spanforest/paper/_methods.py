"""The methods of the experiment: how each is set up, and on which inputs.

A *learner* is fitted; a *method* has rows of results. One ensemble is one learner and
three methods: MVE, AMM and MAM come from the same fit. The ensemble that tunes itself
is another learner.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning

from spanforest._compilation import clock
from spanforest.aggregation import AGGREGATIONS
from spanforest.diagnostics import relative_gaps
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.metrics import MEASURES
from spanforest.mmcrf import MMCRFClassifier
from spanforest.paper import _peers as peers
from spanforest.paper._fold_inputs import FoldInputs, FoldKernel, TrainTest
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

_WITH_TREES = ("ensemble", "selftuned")
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

    `params` are the chosen parameters; for a learner that tunes itself, lists of them.
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
    if name == "selftuned":
        result = result._replace(choice=_own_choice(estimator))
    return {name: result}


def fit_and_score(
    name: str, fold: FoldInputs, params: Params, effort: Effort, seed: int
) -> float:
    """Return the mean of all measures, by which parameters are chosen."""
    estimator, inputs = LEARNERS[name](fold, params, effort, seed)
    _fit(estimator, inputs.train, fold.Y.train)
    scores = score(fold.Y.test, estimator.predict(inputs.test))
    return float(np.mean(list(scores.values())))


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
    results = estimator.cv_results_
    candidates = [
        {"params": {"width": point["kernel"].width, "C": point["C"]}, "score": score}
        for point, score in zip(
            results["params"], results["mean_test_score"].tolist(), strict=True
        )
    ]
    return OwnChoice(candidates[estimator.best_index_]["params"], candidates)


def _svm(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    machine = svm_per_label(params["C"], kernel="precomputed")
    return Setup(machine, fold.kernel(params.get("width")))


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


def _selftuned(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    ensemble = RandomGraphEnsembleClassifierCV(
        effort.n_trees,
        kernels=[FoldKernel(fold, width) for width in params["width"]],
        Cs=params["C"],
        losses="edge",
        offsets=0.0,
        n_estimators_search=5,  # as in the choices of the other ensembles
        random_state=seed,
        **_TRAINING,
    )
    return Setup(ensemble, fold.numbers)


def _graph_inputs(fold: FoldInputs, params: Params) -> tuple[str, TrainTest]:
    """Return a kernel and its inputs: features if it is linear, else its matrix."""
    width = params.get("width")
    if fold.is_linear and width is None:
        return "linear", fold.unit_features
    return "precomputed", fold.kernel(width)


def _chains(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    chains = peers.ClassifierChains(params["C"], effort.n_chains, seed)
    return Setup(chains, fold.explicit_features(params.get("width")))


def _logistic(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    model = PerLabelClassifier(peers.logistic_regression(params["C"]))
    return Setup(model, fold.explicit_features(params.get("width")))


def _forest(fold: FoldInputs, params: Params, effort: Effort, seed: int) -> Setup:
    forest = RandomForestClassifier(effort.n_forest, **params, random_state=seed)
    return Setup(forest, fold.features)


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
    "ecc": _chains,
    "forest": _forest,
    "logistic": _logistic,
    "boomer": _boomer,
    "mlknn": _mlknn,
}
