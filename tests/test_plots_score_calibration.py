"""Scores against shares of positives."""

import numpy as np
import pytest
from drawn_models import X, Y
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.plots import (
    ScoreCalibrationDisplay,
)


class Scorer:
    """A model that scores as it is told."""

    def __init__(self, scores):
        self.scores = scores

    def decision_function(self, X):
        return self.scores


def test_shares_of_positives_are_those_of_the_bins():
    scores = np.random.default_rng(0).permutation(np.arange(200.0)).reshape(40, 5)
    truth = scores >= 150
    display = ScoreCalibrationDisplay.from_estimator(
        Scorer(scores), None, truth, n_bins=4
    )
    assert_array_equal(display.count, [50, 50, 50, 50])
    assert_allclose(display.positive_share, [0, 0, 0, 1])
    assert_allclose(display.mean_score, [24.5, 74.5, 124.5, 174.5])
    (line, *_), labels = display.ax_.get_legend_handles_labels()
    assert labels == ["4 bins of 50 microlabels"]
    assert_allclose(line[0].get_ydata(), [0, 0, 0, 100])


def test_equal_scores_share_a_bin():
    scores = np.repeat([-1.0, 0.0, 1.0], [10, 80, 10]).reshape(20, 5)
    display = ScoreCalibrationDisplay.from_estimator(Scorer(scores), None, scores > 0)
    assert_array_equal(display.count, [10, 80, 10])
    assert_array_equal(display.mean_score, [-1, 0, 1])
    assert_array_equal(display.positive_share, [0, 0, 1])
    flat = Scorer(np.zeros((20, 5)))
    assert (
        len(ScoreCalibrationDisplay.from_estimator(flat, None, scores > 0).count) == 1
    )


def test_scores_of_the_right_chances_are_calibrated_aggregation():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 5))
    truth = rng.random(size=scores.shape) < 1 / (1 + np.exp(-2 * scores))
    display = ScoreCalibrationDisplay.from_estimator(Scorer(scores), None, truth)
    expected = 1 / (1 + np.exp(-2 * display.mean_score))
    assert_allclose(display.positive_share, expected, atol=0.06)


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "model",
    [
        RandomGraphEnsembleClassifier(3, tol=0.1, random_state=0),
        RandomGraphEnsembleClassifier(3, "mve", tol=0.1, random_state=0),
        make_pipeline(StandardScaler(), MMCRFClassifier(tol=0.1, random_state=0)),
        ClassifierChain(LogisticRegression()),
    ],
    ids=["mam", "mve", "pipeline", "scikit-learn"],
)
def test_any_model_with_a_decision_function_can_be_calibrated_aggregation(model):
    display = ScoreCalibrationDisplay.from_estimator(model.fit(X, Y), X, Y, n_bins=5)
    assert display.count.sum() == Y.size
    total = (display.positive_share * display.count).sum()
    assert total == pytest.approx(Y.sum())
    assert display.positive_share[-1] > display.positive_share[0]


def test_scores_that_do_not_fit_the_labels_are_refused():
    with pytest.raises(ValueError, match=r"300 in all; got 12. Labels must be binary"):
        ScoreCalibrationDisplay.from_estimator(Scorer(np.zeros((4, 3))), None, Y)
    with pytest.raises(ValueError, match="labels must have two values; label 0 has 3"):
        ScoreCalibrationDisplay.from_estimator(Scorer([]), None, [[0], [1], [2]])
