"""Kinds of input, alone and through the estimators."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import (
    cosine_similarity,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.preprocessing import normalize
from small_data import (
    CLASSIFIERS,
    X,
    X_bits,
    X_new,
    X_new_bits,
    Y,
    assert_same_model,
    assert_same_problem,
    largest_distance,
    new_classifier,
    weights,
)

from spanforest.kernels import median_gamma, tanimoto_kernel, unit_diagonal


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return new_classifier(request.param)


# --- kinds of input through the estimators -------------------------------------------


def scaled_rbf(X, Z, scale):
    return rbf_kernel(X, Z, gamma=1 / scale)


def median_rbf(X, Z):
    return rbf_kernel(X, Z, gamma=median_gamma(X_bits))


@pytest.mark.parametrize(
    ("params", "function"),
    [
        ({"kernel": "rbf"}, median_rbf),
        ({"kernel": "rbf", "gamma": 2.0}, lambda X, Z: rbf_kernel(X, Z, gamma=2.0)),
        (
            {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 3},
            lambda X, Z: polynomial_kernel(X, Z, gamma=0.5, degree=2, coef0=3),
        ),
        ({"kernel": "cosine"}, cosine_similarity),
        ({"kernel": "tanimoto"}, tanimoto_kernel),
        ({"kernel": rbf_kernel}, rbf_kernel),
        (
            {"kernel": scaled_rbf, "kernel_params": {"scale": 3.0}},
            lambda X, Z: scaled_rbf(X, Z, 3.0),
        ),
    ],
    ids=["rbf", "rbf gamma", "poly", "cosine", "tanimoto", "callable", "kernel_params"],
)
@pytest.mark.parametrize("normalized", [False, True])
def test_a_kernel_equals_its_precomputed_matrix(
    classifier, params, function, normalized
):
    K, K_new = function(X_bits, X_bits), function(X_new_bits, X_bits)
    if normalized:
        own = np.diag(function(X_new_bits, X_new_bits))
        K_new = unit_diagonal(K_new, own, K.diagonal())
        K = unit_diagonal(K, K.diagonal(), K.diagonal())
    classifier.set_params(tol=1e-3)
    given = clone(classifier).set_params(kernel="precomputed").fit(K, Y)
    fitted = classifier.set_params(**params, normalize_kernel=normalized).fit(X_bits, Y)
    assert_same_problem(fitted, given)
    assert_allclose(fitted._input.rows(X_new_bits), K_new, rtol=1e-9, atol=1e-12)
    assert_array_equal(given._input.rows(K_new), K_new)
    assert given.predict(K_new).shape == fitted.predict(X_new_bits).shape
    assert fitted.dual_coef_.shape[0] == len(X)
    assert not hasattr(fitted, "coef_")


def test_the_default_gamma_is_derived_from_the_training_examples_and_kept(classifier):
    classifier.set_params(kernel="rbf").fit(X, Y)
    width, predicted = median_gamma(X), classifier.predict(X_new)
    assert classifier.gamma_ == width
    for member in getattr(classifier, "estimators_", []):
        assert member.gamma_ == width
    again = clone(classifier).set_params(gamma=width).fit(X, Y)
    assert_array_equal(again.predict(X_new), predicted)
    assert_array_equal(weights(again), weights(classifier))
    assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict(X_new), predicted)
    classifier.fit(10 * X, Y)  # an earlier fit leaves nothing behind
    assert classifier.gamma_ == pytest.approx(width / 100)
    assert_array_equal(classifier.predict(10 * X_new), predicted)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"kernel": "poly"}, 1 / X.shape[1]),
        ({"kernel": "rbf", "gamma": 2.0}, 2.0),
        ({"kernel": "linear", "gamma": 2.0}, None),
        ({"kernel": rbf_kernel, "gamma": 2.0}, None),
    ],
    ids=str,
)
def test_only_kernels_that_use_gamma_get_one(classifier, params, expected):
    assert classifier.set_params(**params).fit(X, Y).gamma_ == expected


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_linear_form_equals_the_kernel_form(classifier, fit_intercept):
    classifier.set_params(fit_intercept=fit_intercept, tol=1e-3)
    linear = clone(classifier).fit(X, Y)
    kernel = classifier.set_params(kernel="precomputed").fit(linear_kernel(X), Y)
    assert_same_problem(linear, kernel)
    distance = np.linalg.norm(linear.coef_ - X.T @ kernel.dual_coef_)
    assert distance <= largest_distance(linear, kernel)
    distance = np.linalg.norm(linear.intercept_ - kernel.intercept_)
    assert distance <= largest_distance(linear, kernel)
    assert_allclose(kernel.intercept_, fit_intercept * kernel.dual_coef_.sum(axis=0))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "tanimoto"])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_examples_equal_dense_ones(classifier, kernel, form):
    classifier.set_params(kernel=kernel, normalize_kernel=kernel == "linear", tol=1e-3)
    dense = clone(classifier).fit(X_bits, Y)
    fitted = classifier.fit(form(X_bits), Y)
    assert_same_problem(fitted, dense)
    assert_allclose(
        fitted.decision_function(form(X_new_bits)),
        fitted.decision_function(X_new_bits),
        rtol=1e-6,
        atol=1e-9,
    )


def test_normalizing_the_linear_kernel_is_normalizing_rows(classifier):
    rows = clone(classifier).fit(normalize(X), Y)
    fitted = classifier.set_params(normalize_kernel=True).fit(X, Y)
    assert_same_model(fitted, rows)
    assert_array_equal(fitted.predict(X_new), rows.predict(normalize(X_new)))


def test_cross_validation_slices_rows_and_columns_of_a_precomputed_kernel(classifier):
    classifier.set_params(kernel="precomputed")
    K, folds = rbf_kernel(X), KFold(4)
    predicted = cross_val_predict(classifier, K, Y, cv=folds)
    for train, test in folds.split(K):
        fitted = clone(classifier).fit(K[np.ix_(train, train)], Y[train])
        assert_array_equal(predicted[test], fitted.predict(K[np.ix_(test, train)]))
    search = GridSearchCV(classifier, {"C": [0.1, 1.0]}, cv=folds).fit(K, Y)
    assert search.predict(K).shape == Y.shape


def test_single_precision_examples_give_nearly_the_same_model(classifier):
    double = clone(classifier).set_params(tol=1e-3).fit(X, Y)
    single = classifier.set_params(tol=1e-3).fit(X.astype(np.float32), Y)
    assert_allclose(single.dual_objective_, double.dual_objective_, rtol=2e-3)


def split_entries(X, parts=3):
    """The same sparse matrix with every entry stored in several parts."""
    rows, columns = np.nonzero(X)
    return sparse.csr_array(
        (
            np.repeat(X[rows, columns] / parts, parts),
            np.repeat(columns, parts),
            np.concatenate([[0], np.cumsum(parts * np.count_nonzero(X, axis=1))]),
        ),
        shape=X.shape,
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("normalize_kernel", [False, True])
def test_duplicate_sparse_entries_are_added_up(classifier, kernel, normalize_kernel):
    classifier.set_params(kernel=kernel, normalize_kernel=normalize_kernel)
    expected = clone(classifier).fit(X, Y)
    fitted = clone(classifier).fit(split_entries(X), Y)
    assert_allclose(fitted.dual_objective_, expected.dual_objective_, rtol=1e-6)
    assert_allclose(
        fitted.decision_function(split_entries(X_new)),
        expected.decision_function(X_new),
        atol=1e-6,
    )


def test_a_kernel_may_keep_the_matrix_it_returns(classifier):
    kept = {}

    def kernel(A, B):
        key = len(A), len(B)
        if key not in kept:
            kept[key] = A @ B.T + 1.0
            kept[key].setflags(write=False)
        return kept[key]

    classifier.set_params(kernel=kernel, normalize_kernel=True).fit(X, Y)
    assert_allclose(kept[60, 60], X @ X.T + 1.0)


def test_changing_the_training_array_changes_no_prediction(classifier):
    mine = X.copy()
    classifier.set_params(kernel="rbf").fit(mine, Y)
    expected = classifier.decision_function(X_new)
    mine[:] = 0.0
    assert_array_equal(classifier.decision_function(X_new), expected)
