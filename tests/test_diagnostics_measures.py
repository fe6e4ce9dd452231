"""Measures of every single label against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import precision_recall_fscore_support
from small_data import Y

from spanforest.diagnostics import (
    Positives,
)


def predictions():
    return np.where(np.random.default_rng(0).random(Y.shape) < 0.2, 1 - Y, Y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_measures_are_those_of_scikit_learn(form):
    predicted = predictions()
    measures = Positives.of(form(Y), form(predicted)).measures()
    expected = precision_recall_fscore_support(Y, predicted, average=None)
    for found, values in zip(measures[:3], expected[:3], strict=True):
        assert_allclose(found, values)
    assert_allclose(measures.accuracy, (predicted == Y).mean(axis=0))
    assert_allclose(measures.frequency, Y.mean(axis=0))


@pytest.mark.parametrize("words", [("no", "yes"), (1, 2), (False, True), (-1, 1)])
def test_the_higher_of_two_values_is_on_whatever_they_are(words):
    predicted = predictions()
    expected = Positives.of(Y, predicted)
    found = Positives.of(np.array(words)[Y], np.array(words)[predicted])
    assert_array_equal(found.truth, expected.truth)
    assert_array_equal(found.predicted, expected.predicted)


def test_a_prediction_of_one_value_is_read_with_the_other_in_view():
    both = Positives.of([["no"], ["yes"]], [["yes"], ["yes"]])
    assert both.predicted.all()
    alone = Positives.of([["yes"]], [["yes"]], values=[["no", "yes"]])
    assert alone.truth.all()
    assert not Positives.of([["yes"]], [["yes"]]).truth.any()
    assert Positives.of([1, 1], [1, 1]).truth.all()


def test_measures_that_are_not_defined_are_nan():
    measures = Positives.of([[0, 1], [0, 1]], [[0, 0], [0, 0]]).measures()
    assert np.isnan(measures.precision).all()
    assert np.isnan(measures.recall).tolist() == [True, False]
    assert np.isnan(measures.f1).tolist() == [True, False]


def test_labels_of_three_values_and_other_shapes_are_refused():
    with pytest.raises(ValueError, match="label 1 has 3"):
        Positives.of([[0, 1], [1, 2]], [[0, 0], [0, 0]])
    with pytest.raises(ValueError, match=r"shapes \(2, 1\) and \(1, 1\)"):
        Positives.of([[0], [1]], [[0]])
