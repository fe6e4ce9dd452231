"""Small data sets and classifiers that several test files share."""

import math
import statistics
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal
from strategies import PLAIN

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
rule, noise = X @ rng.normal(size=(4, 4)), rng.normal(size=(60, 4))
X_new = rng.normal(size=(25, 4))
X_bits = (X > 0).astype(float)
X_new_bits = (X_new > 0).astype(float)

Y = (rule + 0.3 * noise > 0).astype(int)
NOISY_Y = (rule + 0.8 * noise > 0.2).astype(int)
WORDS = np.array(["no", "yes"])[Y]
GRADES = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), np.digitize(X[:, 1], [0])])

# labels that have nothing to do with the features
coin_rng = np.random.default_rng(7)
NOISE = coin_rng.normal(size=(300, 5))
COINS = coin_rng.integers(2, size=(300, 4))
# 1200 coins: four standard deviations of the share that a guess gets right
CHANCE = 0.5 + 4 * 0.5 / np.sqrt(COINS.size)

TRIANGLE = [(0, 1), (1, 2), (0, 2)]
STAR = [(0, 1), (0, 2), (0, 3)]
PATH = [(0, 1), (1, 2), (2, 3)]
CLASSIFIERS = ["one graph", "ensemble"]
CALIBRATED = ["one graph", "mam", "amm"]


def new_classifier(kind):
    """Return an unfitted classifier that converges on the data above."""
    tol = 0.5 if PLAIN else 0.01
    params = {"kernel": "linear", "scaling": None, "tol": tol, "max_iter": 1000}
    if kind == "one graph":
        return MMCRFClassifier(**params, random_state=0)
    return RandomGraphEnsembleClassifier(3, **params, random_state=0)


def new_calibrated(kind):
    """Return an unfitted classifier with probabilities: one graph, or an ensemble."""
    common = {"tol": 0.2, "random_state": 0, "probability": True}
    if kind == "one graph":
        return MMCRFClassifier(**common)
    return RandomGraphEnsembleClassifier(2, aggregation=kind, **common)


def names(array):
    """Return the array as a data frame whose columns have names."""
    return pd.DataFrame(array, columns=[f"label {j}" for j in range(array.shape[1])])


def weights(fitted):
    return fitted.cell_coef_ if hasattr(fitted, "cell_coef_") else fitted.dual_coef_


def assert_same_model(one, other):
    assert_array_equal(weights(one), weights(other))
    assert_array_equal(one.cell_intercept_, other.cell_intercept_)
    assert_array_equal(one.dual_objective_, other.dual_objective_)


def assert_same_problem(one, other):
    """The optimum lies in both certified intervals, here one thousandth wide.

    Rounding breaks ties between equally violating label sets, so that two forms of
    one problem may take different ways to it.
    """
    lower = np.maximum(one.dual_objective_, other.dual_objective_)
    upper = np.minimum(
        one.dual_objective_ + one.duality_gap_,
        other.dual_objective_ + other.duality_gap_,
    )
    assert np.all(lower <= upper * (1 + 1e-9))
    assert np.all(one.duality_gap_ <= 1e-3 * one.dual_objective_)


def largest_distance(one, other):
    """How far apart two solutions of one problem can be, by strong convexity."""
    return np.mean(np.sqrt(2 * one.duality_gap_) + np.sqrt(2 * other.duality_gap_))


def read_only(array):
    """Return a copy that cannot be written."""
    array = array.copy()
    array.flags.writeable = False
    return array


def draw_examples(seed, n_samples, n_features, dtype=np.float64):
    """Return small numbers with many zeros, a zero row and a repeated row."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(n_samples, n_features)) / 4
    X[rng.random(X.shape) < 0.4] = 0
    X[0] = 0
    X[-1] = X[n_samples // 2]
    return X.astype(dtype)


def gamma_by_hand(X):
    """One over the median squared distance; over the mean if that is zero, or 1."""
    pairs = combinations(np.asarray(X, dtype=float).tolist(), 2)
    squares = [math.dist(x, y) ** 2 for x, y in pairs]
    if not any(squares):
        return 1.0
    return 1 / (statistics.median(squares) or statistics.mean(squares))


def log_loss(P, Y):
    """Return the mean of -log of the probabilities that binary labels got."""
    return -np.log(np.where(Y, P, 1 - P)).mean()
