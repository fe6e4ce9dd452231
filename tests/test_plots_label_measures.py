"""Measures of every label in one figure."""

import numpy as np
import pandas as pd
import pytest
from drawn_models import X, Y, fitted_ensemble
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import precision_recall_fscore_support

from spanforest import MMCRFClassifier
from spanforest.plots import (
    LabelMeasuresDisplay,
)


@pytest.mark.needs_compiled
def test_measures_of_labels_are_those_of_scikit_learn():
    ensemble = fitted_ensemble()
    predicted = ensemble.predict(X)
    assert predicted.any(axis=0).all()
    found = LabelMeasuresDisplay.from_estimator(ensemble, X, Y).measures
    precision, recall, f1, support = precision_recall_fscore_support(Y, predicted)
    assert_allclose(found.precision, precision)
    assert_allclose(found.recall, recall)
    assert_allclose(found.f1, f1)
    assert_allclose(found.accuracy, (predicted == Y).mean(axis=0))
    assert_allclose(found.frequency, support / len(Y))


def test_rows_of_labels_are_sorted_by_frequency():
    truth = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 0]])
    display = LabelMeasuresDisplay.from_predictions(truth, truth, ["a", "b", "c"])
    ax = display.ax_
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "c", "b"]
    assert_allclose([bar.get_width() for bar in ax.patches], [100, 100 / 3, 0])
    f1 = next(dots for dots in ax.collections if dots.get_label() == "F1")
    assert_allclose(f1.get_offsets().filled(np.nan)[:, 0], [100, 100, np.nan])
    assert ax.yaxis_inverted()


def test_what_is_not_defined_is_not_a_number():
    truth, predicted = np.array([[0, 1], [0, 1]]), np.array([[1, 0], [0, 0]])
    found = LabelMeasuresDisplay.from_predictions(truth, predicted).measures
    assert_array_equal(found.precision, [0, np.nan])
    assert_array_equal(found.recall, [np.nan, 0])
    assert_array_equal(found.f1, [0, 0])


def test_many_labels_show_the_most_frequent_and_say_so():
    truth = np.random.default_rng(0).integers(2, size=(50, 9))
    display = LabelMeasuresDisplay.from_predictions(truth, truth)
    ax = display.plot(max_labels=4).ax_
    assert len(ax.get_yticklabels()) == 4
    assert ax.get_ylabel() == "the 4 most frequent of 9"


def test_columns_of_data_frames_name_the_labels():
    frame = pd.DataFrame(Y, columns=list("abcde"))
    fitted = MMCRFClassifier(tol=0.1, random_state=0).fit(X, frame)
    reordered = frame[list("edcba")]
    display = LabelMeasuresDisplay.from_estimator(fitted, X, reordered)
    assert display.label_names == list("abcde")
    assert_allclose(display.measures.frequency, Y.mean(axis=0))
    shown = LabelMeasuresDisplay.from_predictions(reordered, Y[:, ::-1])
    assert shown.label_names == list("edcba")


@pytest.mark.parametrize(
    ("truth", "predicted", "names", "message"),
    [
        ([[0, 2], [1, 1], [1, 0]], np.ones((3, 2)), None, r"label 1 has 3. Look at"),
        (Y, Y[1:], None, r"shapes \(60, 5\) and \(59, 5\)"),
        (Y, Y, ["a"], "must name the 5 labels; got 1 names"),
    ],
)
def test_predictions_that_cannot_be_compared_are_refused(
    truth, predicted, names, message
):
    with pytest.raises(ValueError, match=message):
        LabelMeasuresDisplay.from_predictions(truth, predicted, names)
