"""A model to draw, and new examples for it."""

from functools import cache

import numpy as np

from spanforest import RandomGraphEnsembleClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(60, 5)) > 0).astype(int)
X_new = rng.normal(size=(40, 4))
Y_new = rng.integers(2, size=(40, 5))


@cache
def fitted_ensemble():
    """Return a fitted ensemble, always the same one: drawing changes no model."""
    return RandomGraphEnsembleClassifier(4, tol=0.1, random_state=0).fit(X, Y)


def lines(ax):
    """Return the lines of the axes by their labels."""
    return {line.get_label(): line for line in ax.get_lines()}
