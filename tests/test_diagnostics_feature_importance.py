"""Permutation importance of features, for label sets and for every label."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.inspection import permutation_importance
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import MMCRFClassifier
from spanforest.diagnostics import feature_importance

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X[:, :2] + 0.2 * rng.normal(size=(60, 2)) > 0).astype(int)  # not the last
MODEL = MMCRFClassifier(tol=0.1, random_state=0)


def fall(**options):
    return feature_importance(MODEL.fit(X, Y), X, Y, random_state=0, **options)


def test_label_sets_agree_with_scikit_learn():
    expected = permutation_importance(MODEL.fit(X, Y), X, Y, random_state=0)
    found = fall()
    assert_allclose(found.label_sets, expected.importances_mean)
    assert_allclose(found.label_sets_deviation, expected.importances_std)


@pytest.mark.parametrize("j", [0, 1])
def test_each_label_agrees_with_scikit_learn(j):
    def score(estimator, X, Y):
        return balanced_accuracy_score(Y[:, j], estimator.predict(X)[:, j])

    model = MODEL.fit(X, Y)
    expected = permutation_importance(model, X, Y, scoring=score, random_state=0)
    found = fall(measure=balanced_accuracy_score)
    assert_allclose(found.labels[j], expected.importances_mean)
    assert_allclose(found.labels_deviation[j], expected.importances_std)


def test_the_strongest_features_come_first():
    found = fall()
    assert set(found.strongest(2)) == {0, 1}
    assert_array_equal(found.labels.argmax(axis=1), [0, 1])
    assert found.feature_names == ["x0", "x1", "x2"]


def test_missing_labels_do_not_count():
    gaps = Y.astype(float)
    gaps[:30, 0] = np.nan

    def share_of_known(estimator, X, Y):
        return ((estimator.predict(X) == gaps) | np.isnan(gaps)).all(axis=1).mean()

    model = MODEL.fit(X, Y)
    expected = permutation_importance(
        model, X, Y, scoring=share_of_known, random_state=0
    )
    found = feature_importance(model, X, gaps, random_state=0)
    assert_allclose(found.label_sets, expected.importances_mean)
    assert_allclose(found.labels[1], fall().labels[1])
    assert (found.labels[0] != fall().labels[0]).any()


def test_names_come_from_data_frames_and_pipelines_shuffle_their_own_features():
    names = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=["u", "v"])
    model = make_pipeline(StandardScaler(), MODEL).fit(*names)
    found = feature_importance(model, *names, random_state=0)
    assert (found.feature_names, found.label_names) == (list("abc"), ["u", "v"])
    swapped = feature_importance(model, names[0], names[1][["v", "u"]], random_state=0)
    assert_array_equal(found.labels, swapped.labels)


def test_labels_of_many_values_and_one_label_are_fine():
    grades = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), Y[:, 1]])
    found = feature_importance(MODEL.fit(X, grades), X, grades, random_state=0)
    assert_array_equal(found.labels.argmax(axis=1), [0, 1])
    words = np.array(["no", "yes"])[Y[:, 0]]
    found = feature_importance(MODEL.fit(X, words), X, words, random_state=0)
    assert_allclose(found.labels, found.label_sets[None])


def test_what_has_no_columns_to_shuffle_is_refused():
    with pytest.raises(ValueError, match=r"dense X.*toarray"):
        feature_importance(MODEL.fit(X, Y), sparse.csr_array(X), Y)
    kernel = MMCRFClassifier(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="needs features"):
        feature_importance(kernel, X @ X.T, Y)


TEXTS = ["rain and wind and snow", "sun all day", "fog, later sun", "rain"] * 15


@pytest.mark.parametrize("texts", [TEXTS, np.array(TEXTS), pd.Series(TEXTS)])
def test_texts_are_refused_in_a_short_line_that_says_what_to_do(texts):
    model = make_pipeline(TfidfVectorizer(), MODEL).fit(TEXTS, Y)
    with pytest.raises(ValueError, match=r"a list of 60 values") as caught:
        feature_importance(model, texts, Y)
    message = str(caught.value)
    assert "\n" not in message
    assert "snow" not in message
    assert len(message) < 250
    advice = re.search(r"feature_importance\(.*\)", message)[0]
    variables = {"model": model, "X": texts, "Y": Y}
    found = eval(advice, {"feature_importance": feature_importance, **variables})
    assert found.labels.shape == (2, len(model[0].vocabulary_))


def test_a_vector_for_a_single_classifier_is_refused_too():
    with pytest.raises(ValueError, match="Pass a table with a row per example"):
        feature_importance(MODEL.fit(X, Y), X[:, 0], Y)
