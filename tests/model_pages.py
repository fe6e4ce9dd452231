"""Models and their pages for the tests of the page about a model."""

from functools import cache

import numpy as np
import pandas as pd

from spanforest import RandomGraphEnsembleClassifier
from spanforest.diagnostics._models import FittedModel
from spanforest.model_page import make_model_page
from spanforest.model_page._outcomes import Outcomes

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(60, 5)) > 0.3).astype(int)
NAMES = ["happy", "sad", "calm", "loud", "quick"]
LABELS = pd.DataFrame(Y, columns=NAMES)
TRAIN, TEST = slice(0, 30), slice(30, 60)


def ensemble(**params):
    """Return an unfitted ensemble that trains in no time."""
    params = {"kernel": "linear", "tol": 0.2, "random_state": 0, **params}
    return RandomGraphEnsembleClassifier(3, **params)


@cache
def trained():
    """Return an ensemble of five labels with names."""
    return ensemble().fit(X[TRAIN], LABELS[TRAIN])


def outcomes_of(model, X, Y=None):
    fitted, X = FittedModel.of(model, X)
    return Outcomes.of(fitted, X, Y)


@cache
def example_page():
    return make_model_page(trained(), X[TEST], LABELS[TEST], n_examples=12)
