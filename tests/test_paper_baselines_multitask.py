"""Multitask feature learning: the trace-norm minimum, by another road."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paper_helpers import multilabel_data
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from spanforest.paper.baselines import (
    MultiTaskFeatureClassifier,
)


@pytest.fixture
def data():
    return multilabel_data()


def trace_norm_minimum(X, signs, gamma):
    """Minimum of |signs - X W|^2 + gamma |W|_tr^2 by another road.

    |W|_tr is the least (|A|^2 + |B|^2) / 2 over factors W = A B', so the problem is a
    smooth one in A and B, without false minima when these are wide enough.
    """
    n_features, n_labels = X.shape[1], signs.shape[1]
    width = min(n_features, n_labels)

    def objective(flat):
        A = flat[: n_features * width].reshape(n_features, width)
        B = flat[n_features * width :].reshape(n_labels, width)
        residual = X @ A @ B.T - signs
        norm = np.sum(flat**2) / 2
        slope = 2 * X.T @ residual
        gradient = np.concatenate([(slope @ B).ravel(), (slope.T @ A).ravel()])
        return np.sum(residual**2) + gamma * norm**2, gradient + 2 * gamma * norm * flat

    start = np.random.default_rng(0).normal(size=(n_features + n_labels) * width)
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    return optimize.minimize(
        objective, start, jac=True, method="L-BFGS-B", options=options
    ).fun


@pytest.mark.parametrize("gamma", [0.1, 3.0, 100.0])
@pytest.mark.parametrize(
    ("n_samples", "n_features", "n_labels"), [(40, 6, 3), (12, 20, 4), (30, 3, 8)]
)
def test_the_minimum_is_that_of_the_trace_norm_problem(
    n_samples, n_features, n_labels, gamma
):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_samples, n_features))
    scores = X @ rng.normal(size=(n_features, n_labels))
    Y = scores > np.median(scores, axis=0)
    model = MultiTaskFeatureClassifier(
        gamma, fit_intercept=False, epsilon=1e-4, tol=1e-5, max_iter=20_000
    ).fit(X, Y)

    signs = np.where(Y, 1.0, -1.0)
    W = model.coef_.T
    objective = np.sum((signs - X @ W) ** 2)
    objective += gamma * np.linalg.norm(W, "nuc") ** 2
    assert_allclose(model.objective_, objective)
    minimum = trace_norm_minimum(X, signs, gamma)
    assert objective <= minimum * (1 + 1e-5)
    assert objective - model.duality_gap_ <= minimum * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-8, 1e-3, 1.0])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 50.0])
def test_the_objective_never_increases(data, gamma, epsilon):
    X, Y = data
    model = MultiTaskFeatureClassifier(gamma, epsilon=epsilon, tol=0, max_iter=60)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model.fit(X, Y)
    history = model.objective_history_
    assert len(history) == model.n_iter_ == 60
    assert np.all(np.diff(history) <= 1e-12 * history[0])
    assert history[-1] >= model.objective_


def test_one_label_is_ridge_regression_of_the_same_norm(data):
    # with one label |W|_tr is the Euclidean norm, and the shared matrix is 1
    X, Y = data
    model = MultiTaskFeatureClassifier(gamma=2.0, fit_intercept=False).fit(X, Y[:, 0])
    signs = np.where(Y[:, 0], 1.0, -1.0)
    ridge = np.linalg.solve(X.T @ X + 2.0 * np.eye(X.shape[1]), X.T @ signs)
    assert_allclose(model.coef_[0], ridge)


@pytest.mark.parametrize("n_samples", [8, 80])
def test_the_intercept_makes_shifts_of_the_data_irrelevant(data, n_samples):
    X, Y = data
    X, Y = X[:n_samples], Y[:n_samples]
    near = MultiTaskFeatureClassifier(tol=1e-3).fit(X, Y)
    far = MultiTaskFeatureClassifier(tol=1e-3).fit(X + 30.0, Y)
    assert_allclose(far.coef_, near.coef_, atol=1e-7)
    assert_allclose(
        far.decision_function(X + 30.0), near.decision_function(X), atol=1e-7
    )


def test_rotating_the_features_rotates_the_weights(data):
    X, Y = data
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0]
    plain = MultiTaskFeatureClassifier().fit(X, Y)
    rotated = MultiTaskFeatureClassifier().fit(X @ rotation, Y)
    assert_allclose(rotated.coef_, plain.coef_ @ rotation, atol=1e-8)


def test_a_stronger_regulariser_puts_more_into_the_first_feature(data):
    X, Y = data
    shares = []
    for gamma in (1.0, 30.0, 1e3):
        model = MultiTaskFeatureClassifier(gamma, epsilon=1e-3, tol=1e-3).fit(X, Y)
        values = np.linalg.svd(model.coef_, compute_uv=False)
        shares.append(values[0] / values.sum())
    assert shares[0] + 0.01 < shares[1]
    assert shares[1] + 0.01 < shares[2]


def test_data_without_a_direction_give_zero_weights(data):
    _, Y = data
    model = MultiTaskFeatureClassifier().fit(np.ones((len(Y), 3)), Y)
    assert_array_equal(model.coef_, np.zeros((5, 3)))
    assert_array_equal(model.predict(np.ones((1, 3)))[0], Y.mean(axis=0) > 0.5)


def test_a_small_gap_ends_the_iteration_without_a_warning(data):
    X, Y = data
    model = MultiTaskFeatureClassifier(tol=1e-3).fit(X, Y)
    assert model.duality_gap_ <= 1e-3 * model.objective_
    assert model.n_iter_ < model.max_iter
