"""Compiling every routine ahead of time, for images and test machines."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from spanforest._compilation import quietly
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.inference import exhaustive_search
from spanforest.kernels import ForestKernel
from spanforest.mmcrf import MMCRFClassifier

__all__ = ["warm_up"]

N_LABELS = 13  # more labellings than are tried one by one, so that searches run


def warm_up() -> float:
    """Compile everything that `fit` and `predict` may need, and keep it on disk.

    Routines are compiled when they are first called with a kind of input, and are read
    from a cache in later processes. Call this once on a new machine, or when an image
    is built, so that no user waits in a first fit.

    Returns
    -------
    float
        The seconds it took; a few if everything was compiled before.

    Examples
    --------
    >>> import spanforest
    >>> spanforest.warm_up() > 0
    True
    """
    start = time.perf_counter()
    rng = np.random.default_rng(0)
    X = rng.random((24, 3))
    Y = rng.integers(0, 2, (24, N_LABELS))
    with warnings.catch_warnings(), quietly():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for classifier, inputs, labels in _cases(X, Y):
            # scaling would make the sparse matrix, which is full, a dense one
            classifier.set_params(max_iter=2, random_state=0, scaling=None)
            _use(classifier, inputs, labels)
        pair = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
        exhaustive_search(pair, np.zeros((1, 4)))  # predicting may need it, seldom
    return time.perf_counter() - start


def _cases(X: Any, Y: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield classifiers and data that reach all routines, in all precisions."""
    cycle = [(j, (j + 1) % N_LABELS) for j in range(N_LABELS)]
    gaps = np.where(np.arange(Y.size).reshape(Y.shape) % 5 == 0, np.nan, Y)
    for inputs in (X, X.astype(np.float32), sparse.csr_matrix(X)):
        for kernel in ("linear", "rbf"):
            yield RandomGraphEnsembleClassifier(3, kernel=kernel), inputs, Y
            yield MMCRFClassifier(cycle, kernel=kernel), inputs, Y
    yield RandomGraphEnsembleClassifier(3, kernel="rbf", probability=True), X, gaps
    yield MMCRFClassifier("independent"), X, Y[:, 0]
    yield MMCRFClassifier([(0, 1), (1, 2), (0, 2)]), X, Y[:, :3]  # few labellings
    yield MMCRFClassifier(kernel="precomputed"), X @ X.T, Y
    for inputs in (X, sparse.csr_matrix(X)):
        yield MMCRFClassifier(kernel=ForestKernel(5)), inputs, Y


def _use(classifier: Any, X: Any, y: Any) -> None:
    """Fit, and predict in every way."""
    classifier.fit(X, y)
    classifier.predict(X)
    classifier.predict(X, inference="max_product")
    classifier.decision_function(X)
    classifier.predict_certified(X)
    classifier.predict_topk(X[:2], k=3)
    if isinstance(classifier, RandomGraphEnsembleClassifier):
        classifier.predict(X, aggregation="mve")
