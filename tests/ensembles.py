"""Small models, and their scores by definition."""

import numpy as np
from strategies import PLAIN

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.diagnostics._models import FittedModel
from spanforest.factors import consensus_factors

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
X_new = rng.normal(size=(200, 4))
TOL = 0.5 if PLAIN else 0.05
Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(80, 5)) > 0).astype(int)
GRADES = np.digitize(X @ rng.normal(size=(4, 3)) + rng.normal(size=(80, 3)), [-1, 1])


def ensemble(n_estimators=5, **params):
    """Return an unfitted ensemble that converges on the data above."""
    defaults = {"kernel": "linear", "scaling": None, "tol": TOL, "max_iter": 1000}
    defaults["random_state"] = 0
    return RandomGraphEnsembleClassifier(n_estimators, **{**defaults, **params})


def single(**params):
    """Return an unfitted model of one graph that converges on the data above."""
    return MMCRFClassifier(**{"random_state": 0, "tol": TOL, **params})


def scores_of(model, X):
    """Return the scores of all cells, for examples that fit into one block."""
    fitted = FittedModel(model)
    (basis,) = fitted.row_chunks(X)
    return fitted.scores(basis)


def member_scores(fitted, member, X):
    """Return the scores of examples under one member."""
    return member._input.rows(X) @ member._weights + member.cell_intercept_


def average_scores(fitted, X):
    """Return the consensus factors and the members' scores averaged on them.

    A member without an edge scores it zero.
    """
    union = consensus_factors([member._factors for member in fitted.estimators_])
    total = np.zeros((len(X), union.n_cells))
    for member in fitted.estimators_:
        places = union.places_of(member._factors)
        total[:, places] += member_scores(fitted, member, X)
    return union, total / len(fitted.estimators_)
