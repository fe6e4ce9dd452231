"""Support vector machines per label, alone and in bags."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paper_helpers import multilabel_data
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from spanforest.paper.baselines import (
    BaggedSVMClassifier,
    PerLabelClassifier,
    svm_per_label,
)


@pytest.fixture
def data():
    return multilabel_data()


def test_svm_per_label_is_one_svc_per_label(data):
    X, Y = data
    scores = svm_per_label(C=0.3, kernel="rbf").fit(X, Y).decision_function(X)
    for j in range(Y.shape[1]):
        alone = SVC(C=0.3, kernel="rbf").fit(X, Y[:, j])
        assert_allclose(scores[:, j], alone.decision_function(X))


def test_probabilities_serve_where_there_is_no_decision_function(data):
    X, Y = data
    neighbours = KNeighborsClassifier(7)
    fitted = PerLabelClassifier(neighbours).fit(X, Y)
    alone = neighbours.fit(X, Y[:, 1]).predict_proba(X)[:, 1]
    assert_allclose(fitted.decision_function(X)[:, 1], 2 * alone - 1)


def test_per_label_classifiers_are_tuned_through_their_parameter(data):
    X, Y = data
    model = PerLabelClassifier(LogisticRegression()).set_params(estimator__C=0.01)
    assert model.fit(X, Y).estimators_[0].C == 0.01


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_bag_of_everything_predicts_as_one_svm_per_label(data, kernel):
    X, Y = data
    whole = BaggedSVMClassifier(kernel=kernel, n_estimators=1, max_samples=1.0)
    expected = svm_per_label(kernel=kernel).fit(X, Y)
    clear = np.abs(expected.decision_function(X)) > 1e-2  # two stopping points differ
    assert_array_equal(whole.fit(X, Y).predict(X)[clear], expected.predict(X)[clear])


def test_scores_of_a_bag_are_the_mean_of_votes_by_hand(data):
    X, _ = data
    Y = (X[:, :3] > np.median(X, axis=0)[:3]).astype(int)
    K = X @ X.T
    model = BaggedSVMClassifier(C=0.2, n_estimators=5, random_state=2).fit(X, Y)
    assert model.samples_.shape == (5, 32)
    votes = np.zeros(Y.shape)
    for rows in model.samples_:
        assert len(np.unique(rows)) == 32
        for j in range(Y.shape[1]):
            machine = SVC(C=0.2, kernel="precomputed")
            machine.fit(K[np.ix_(rows, rows)], Y[rows, j])
            votes[:, j] += np.where(machine.predict(K[:, rows]) == 1, 1, -1)
    assert_allclose(model.decision_function(X), votes / 5)


@pytest.mark.parametrize("make", [svm_per_label, BaggedSVMClassifier])
def test_a_kernel_matrix_gives_what_its_data_give(data, make):
    X, Y = data
    extra = {"random_state": 0} if make is BaggedSVMClassifier else {}

    def inner(A, B):
        return A @ B.T

    plain = make(**extra).fit(X, Y).decision_function(X[:9])
    given = make(kernel="precomputed", **extra).fit(X @ X.T, Y)
    called = make(kernel=inner, **extra).fit(X, Y)
    assert_allclose(given.decision_function(X[:9] @ X.T), plain, atol=2e-3)
    assert_allclose(called.decision_function(X[:9]), plain, atol=2e-3)


def test_a_precomputed_kernel_must_be_square(data):
    X, Y = data
    with pytest.raises(ValueError, match="must be square"):
        BaggedSVMClassifier(kernel="precomputed").fit(X, Y)


def test_bags_without_a_class_vote_for_the_other(data):
    X, Y = data
    Y[:, 0] = 0
    Y[5, 0] = 1
    model = BaggedSVMClassifier(n_estimators=40, kernel="rbf", random_state=0).fit(X, Y)
    without = ~(model.samples_ == 5).any(axis=1)
    assert 0 < without.sum() < 40
    assert_array_equal(model.intercept_[without, 0], -1.0)
    assert_array_equal(model.dual_coef_[without, :, 0], 0.0)
    assert model.decision_function(X)[5, 0] <= 1 - 2 * without.mean()


def test_fitting_is_quiet_about_labels_with_one_value(data):
    X, Y = data
    Y[:, 2] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svm_per_label().fit(X, Y)
        BaggedSVMClassifier(n_estimators=3).fit(X, Y)


def test_the_first_bags_do_not_depend_on_their_number(data):
    few = BaggedSVMClassifier(n_estimators=3, random_state=1).fit(*data)
    many = BaggedSVMClassifier(n_estimators=6, random_state=1).fit(*data)
    assert_array_equal(few.samples_, many.samples_[:3])


@pytest.mark.parametrize("gamma", ["scale", 0.05])
def test_gamma_means_what_it_means_for_svc(data, gamma):
    X, Y = data
    for given in (X, sparse.csr_array(X)):
        model = BaggedSVMClassifier(kernel="rbf", gamma=gamma, n_estimators=1)
        expected = 1 / (X.shape[1] * X.var()) if gamma == "scale" else gamma
        assert_allclose(model.fit(given, Y).gamma_, expected)
