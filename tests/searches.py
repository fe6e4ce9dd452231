"""Small searches over parameters."""

import numpy as np
from small_data import X
from strategies import PLAIN

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
        "n_estimators_search": 2,
        "scaling": None,
        "tol": 0.5 if PLAIN else 0.05,
        "max_iter": 1000,
        "random_state": 0,
    }
    if params.get("kernels", "rbf") not in ("rbf", "poly"):
        defaults["gammas"] = None
    return RandomGraphEnsembleClassifierCV(**(defaults | params))


def mean_of_three(truth, predicted):
    measures = (multilabel_accuracy, microlabel_accuracy, microlabel_f1)
    return np.mean([measure(truth, predicted) for measure in measures])
