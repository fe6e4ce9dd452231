"""Weights of features per label: `coef_` and `intercept_`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import indicators, label_sets
from sklearn.feature_selection import RFE, SelectFromModel

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4)) + 3.0
Y = (X[:, :3] + 0.3 * rng.normal(size=(40, 3)) > 3.0).astype(int)  # not the last
GAPS = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
NEVER = np.column_stack([Y, np.zeros(40, dtype=int)])  # a label that never occurs


def crf(**options):
    return MMCRFClassifier(kernel="linear", random_state=0, **options)


def ensemble(**options):
    options = {"n_estimators": 3, **options}
    return RandomGraphEnsembleClassifier(kernel="linear", random_state=0, **options)


@pytest.mark.parametrize("y", [Y, GAPS, NEVER], ids=["full", "gaps", "never"])
@pytest.mark.parametrize("new", [crf, ensemble])
def test_they_contrast_the_mean_scores_of_label_sets_with_the_label_on_and_off(new, y):
    model = new().fit(X, y)
    factors, Z = model._factors, label_sets(model._factors)
    scores = (X @ model.cell_coef_ + model.cell_intercept_) @ indicators(factors, Z).T
    values = X @ model.coef_.T + model.intercept_
    assert model.coef_.shape == (y.shape[1], 4)
    for j in range(y.shape[1]):
        on = Z[:, j] == 1
        if on.any():
            contrast = scores[:, on].mean(axis=1) - scores[:, ~on].mean(axis=1)
            assert_allclose(values[:, j], contrast, atol=1e-10)
        else:
            assert_array_equal(values[:, j], 0.0)


def test_without_edges_they_give_the_decision_function():
    model = crf(graph="independent").fit(X, Y)
    decisions = model.decision_function(X)
    assert_allclose(X @ model.coef_.T + model.intercept_, decisions, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_single_label_has_a_row_per_class_and_one_row_for_two(n_classes):
    y = np.digitize(X[:, 0], [2.7, 3.3][: n_classes - 1])
    model = crf().fit(X, y)
    assert model.coef_.shape == (1 if n_classes == 2 else 3, 4)
    values = X @ model.coef_.T + model.intercept_
    if n_classes == 2:
        assert_allclose(values[:, 0], model.decision_function(X), atol=1e-10)
    assert_array_equal(
        model.predict(X), values[:, 0] > 0 if n_classes == 2 else values.argmax(axis=1)
    )


def test_other_kernels_and_labels_of_many_values_have_none():
    model = MMCRFClassifier(kernel="rbf")
    assert not hasattr(model, "coef_")
    assert not hasattr(model.fit(X, Y), "coef_")
    assert not hasattr(model, "intercept_")
    many = crf().fit(X, np.column_stack([Y, np.arange(40) % 3]))
    with pytest.raises(AttributeError, match="label 3 has 3"):
        many.coef_  # noqa: B018


def test_a_refit_with_another_kernel_forgets_them():
    model = crf().fit(X, Y)
    assert hasattr(model, "coef_")
    assert not hasattr(model.set_params(kernel="rbf").fit(X, Y), "coef_")


@pytest.mark.parametrize(
    "model",
    [
        crf(),
        ensemble(),
        RandomGraphEnsembleClassifierCV(2, kernels="linear", Cs=1.0, losses="edge"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_selectors_of_scikit_learn_drop_the_feature_that_says_nothing(model):
    chosen = SelectFromModel(model, threshold=-np.inf, max_features=3).fit(X, Y)
    assert_array_equal(chosen.get_support(), [True, True, True, False])
    if not hasattr(model, "cv"):
        ranked = RFE(model, n_features_to_select=3).fit(X, Y)
        assert_array_equal(ranked.ranking_, [1, 1, 1, 2])
