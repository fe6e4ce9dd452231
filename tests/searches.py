"""Small searches over parameters."""

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.base import clone
from small_data import X
from strategies import PLAIN

from spanforest import RandomGraphEnsembleClassifier
from spanforest.kernels import median_gamma
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)
from spanforest.tuning import RandomGraphEnsembleClassifierCV

UNIT = median_gamma(X)


def tuned(**params):
    """Return a small search that takes no time."""
    defaults = {
        "n_estimators": 4,
        "graph": "random_tree",
        "kernels": "rbf",
        "gammas": [1.0],
        "Cs": [0.1, 1.0],
        "losses": "edge",
        "offsets": 0.0,
        "thresholds": None,
        "n_estimators_search": 2,
        "training": "separate",
        "scaling": None,
        "tol": 0.5 if PLAIN else 0.05,
        "max_iter": 1000,
        "random_state": 0,
    }
    if params.get("kernels", "rbf") not in ("rbf", "poly"):
        defaults["gammas"] = None
    return RandomGraphEnsembleClassifierCV(**(defaults | params))


def automatic(**params):
    """Return a search that chooses its kernels itself."""
    options = {"kernels": "auto", "gammas": None, "scaling": "auto", "n_estimators": 2}
    return tuned(**options | params)


def fold_by_fold(X, Y, kernel, n_members=1, **params):
    """Check that a search scores folds as fits on them would; return both models.

    The members of an ensemble start at the first one, those of a search do not.
    `n_members=1` avoids the difference.
    """
    # a tolerance and passes that the search uses as they are
    shared = {"tol": 0.1, "max_iter": 50, "random_state": 0, **params}
    even, odd = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    folds, seen = [(even, odd), (odd, even)], []

    def remember(y_true, y_pred):
        seen.append(y_pred)
        return 1.0

    search = RandomGraphEnsembleClassifierCV(
        n_members,
        graph="random_tree",
        kernels=[kernel],
        Cs=1.0,
        losses="edge",
        offsets=0.0,
        thresholds=None,
        training="separate",
        cv=folds,
        scoring=remember,
        n_estimators_search=min(n_members, 2),  # a list of kernels needs them all
        **shared,
    ).fit(X, Y)
    plain = RandomGraphEnsembleClassifier(n_members, kernel=kernel, C=1.0, **shared)
    # the first call tries the function out
    for predicted, (rows, test) in zip(seen[1:], folds, strict=True):
        fitted = clone(plain).fit(X[rows], Y[rows])
        assert_array_equal(predicted, fitted.predict(X[test]))
    return search, plain.fit(X, Y)


def mean_of_three(truth, predicted):
    measures = (multilabel_accuracy, microlabel_accuracy, microlabel_f1)
    return np.mean([measure(truth, predicted) for measure in measures])
