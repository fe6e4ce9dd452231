"""The most likely labels, and logarithms of probabilities."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_data import GRADES, X, X_new, Y, names, new_calibrated

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifierCV


def crf(**options):
    return MMCRFClassifier(tol=0.2, random_state=0, **options)


@pytest.mark.parametrize("k", [1, 3, 99])
def test_a_ranking_is_the_sorted_decision_function(k):
    model = crf().fit(X, Y)
    ranking = model.predict_ranking(X_new, k)
    decisions = model.decision_function(X_new)
    assert_array_equal(ranking.strengths, -np.sort(-decisions, axis=1)[:, :k])
    picked = np.take_along_axis(decisions, ranking.labels, axis=1)
    assert_array_equal(picked, ranking.strengths)


def test_a_ranking_has_probabilities_where_there_are_any():
    model = new_calibrated("mam").fit(X, Y)
    ranking = model.predict_ranking(X_new, k=2)
    expected = -np.sort(-model.predict_proba(X_new), axis=1)[:, :2]
    assert_array_equal(ranking.strengths, expected)


def test_labels_have_the_names_of_y():
    frame = names(Y)
    model = crf().fit(X, frame)
    expected = frame.columns.to_numpy()[crf().fit(X, Y).predict_ranking(X_new).labels]
    assert_array_equal(model.predict_ranking(X_new).labels, expected)


@pytest.mark.parametrize("probability", [False, True])
def test_of_a_single_label_the_classes_are_ranked(probability):
    for column, n_classes in ((GRADES[:, 0], 3), (Y[:, 0], 2)):
        words = np.array(["low", "mid", "top"])[column]
        model = crf(probability=probability).fit(X, pd.Series(words, name="grade"))
        ranking = model.predict_ranking(X_new)
        assert ranking.labels.shape == (len(X_new), n_classes)
        assert_array_equal(ranking.labels[:, 0], model.predict(X_new))


@pytest.mark.parametrize("probability", [False, True])
def test_labels_of_many_values_and_bad_numbers_are_refused(probability):
    model = crf(probability=probability).fit(X, GRADES)
    with pytest.raises(ValueError, match="labels with two values"):
        model.predict_ranking(X_new)
    with pytest.raises(ValueError, match="k must be a whole number"):
        model.predict_ranking(X_new, k=0)


def test_ties_go_to_the_first_label():
    model = crf(graph="independent").fit(
        X, np.column_stack([1 - Y[:, 0]] + [Y[:, 0]] * 3)
    )
    ranking = model.predict_ranking(X_new)
    first = np.where(model.predict(X_new)[:, :1] == 1, [[0, 1, 2, 3]], [[1, 2, 3, 0]])
    assert_array_equal(ranking.labels, first)


@pytest.mark.parametrize("labels", [Y, GRADES, GRADES[:, 0]], ids=["0/1", "3", "1-D"])
def test_logarithms_are_those_of_the_probabilities(labels):
    model = new_calibrated("one graph").fit(X, labels)
    logs, probabilities = model.predict_log_proba(X_new), model.predict_proba(X_new)
    if not isinstance(logs, list):
        logs, probabilities = [logs], [probabilities]
    for one, P in zip(logs, probabilities, strict=True):
        assert_allclose(np.exp(one), P)


def test_a_label_that_never_occurs_has_the_logarithm_of_zero():
    model = new_calibrated("one graph").fit(X, np.column_stack([Y, 0 * Y[:, 0]]))
    assert_array_equal(model.predict_log_proba(X_new)[:, -1], -np.inf)


def test_logarithms_need_probabilities():
    assert not hasattr(crf(), "predict_log_proba")
    assert not hasattr(RandomGraphEnsembleClassifierCV(), "predict_log_proba")


@pytest.mark.needs_compiled
def test_the_estimator_that_tunes_itself_has_these_methods_too():
    model = RandomGraphEnsembleClassifierCV(
        2, kernels="linear", Cs=1.0, losses="edge", probability=True, random_state=0
    ).fit(X, Y)
    inner = model.best_estimator_
    ranking, expected = (one.predict_ranking(X_new, 2) for one in (model, inner))
    assert_array_equal(ranking.labels, expected.labels)
    logs = model.predict_log_proba(X_new)
    assert_array_equal(logs, inner.predict_log_proba(X_new))
