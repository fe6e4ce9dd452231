"""Scores of the page, and what a constant answer can reach."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import f1_score, precision_recall_fscore_support
from strategies import trials

from spanforest._labels import read_labels
from spanforest.metrics import microlabel_accuracy, microlabel_f1, multilabel_accuracy
from spanforest.model_page._outcomes import UNKNOWN, Outcomes
from spanforest.model_page._scores import (
    LEVEL,
    calibration_p_value,
    headline,
    label_rows,
)


def outcomes_of(truth, predicted):
    names = [f"label{j}" for j in range(truth.shape[1])]
    coding = read_labels([[0] * len(names), [1] * len(names)])[1]
    return Outcomes(names, coding, predicted.astype(np.int32), truth.astype(np.int32))


def random_outcomes(seed, n_samples=12, n_labels=3, missing=0.0):
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(0, 2, size=(2, n_samples, n_labels))
    truth[rng.random(truth.shape) < missing] = UNKNOWN
    return outcomes_of(truth, predicted)


def scores_of(outcomes):
    return headline(outcomes, label_rows(outcomes, None))


@trials(30)
@given(seed=st.integers(0, 2**32 - 1))
def test_scores_are_those_of_the_library_and_of_scikit_learn(seed):
    outcomes = random_outcomes(seed)
    truth, predicted = outcomes.truth, outcomes.predicted
    expected = [
        multilabel_accuracy(truth, predicted),
        microlabel_accuracy(truth, predicted),
        microlabel_f1(truth, predicted),
    ]
    values = [score.value for score in scores_of(outcomes)]
    assert_allclose(values[:3], expected)
    occurring = (truth | predicted).any(axis=0)
    f1 = f1_score(truth, predicted, average=None, zero_division=0)
    assert_allclose(values[3], f1[occurring].mean())


@trials(30)
@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 0.3]))
def test_no_constant_answer_scores_more_than_the_one_compared_with(seed, share):
    outcomes = random_outcomes(seed, missing=share)
    if not (outcomes.truth > 0).any():
        return
    best = {score.name: score.constant for score in scores_of(outcomes)}
    reached = dict.fromkeys(best, 0.0)
    for answer in product((0, 1), repeat=3):
        constant = np.tile(answer, (outcomes.n_samples, 1))
        for score in scores_of(outcomes_of(outcomes.truth, constant)):
            reached[score.name] = max(reached[score.name], score.value)
    mean = "Mean F1 of labels"  # a label that never occurs is better left off
    never = ~(outcomes.truth > 0).any(axis=0)
    if never.any():
        best.pop(mean), reached.pop(mean)
    assert_allclose(list(reached.values()), list(best.values()))


def test_measures_of_labels_are_those_of_scikit_learn():
    outcomes = random_outcomes(1, n_samples=40)
    rows = label_rows(outcomes, None)
    expected = precision_recall_fscore_support(outcomes.truth, outcomes.predicted)
    for name, values in zip(("precision", "recall", "f1"), expected, strict=False):
        assert_allclose([getattr(row, name) for row in rows], values)
    assert [row.n_true for row in rows] == expected[3].tolist()


def test_only_known_labels_count():
    full = random_outcomes(2, n_samples=30)
    gaps = np.random.default_rng(0).random(full.truth.shape) < 0.4
    partial = outcomes_of(np.where(gaps, UNKNOWN, full.truth), full.predicted)
    known = ~gaps
    by_name = {score.name: score.value for score in scores_of(partial)}
    right = full.truth == full.predicted
    complete = known.all(axis=1)
    assert by_name["Labels right"] == pytest.approx(right[known].mean())
    assert by_name["All labels right"] == pytest.approx(right[complete].all(1).mean())
    for j, row in enumerate(label_rows(partial, None)):
        rows = known[:, j]
        expected = f1_score(full.truth[rows, j], full.predicted[rows, j])
        assert row.f1 == pytest.approx(expected)


def test_shares_of_nothing_are_not_defined():
    row = label_rows(outcomes_of(np.zeros((4, 1)), np.zeros((4, 1))), None)[0]
    assert (row.precision, row.recall, row.f1, row.share) == (None, None, None, 0.0)
    scores = scores_of(outcomes_of(np.zeros((4, 1)), np.zeros((4, 1))))
    assert [score.name for score in scores] == ["All labels right", "Labels right"]


@pytest.mark.parametrize(
    ("distort", "is_found"),
    [
        (lambda p: p, False),
        (lambda p: p**2, True),  # all too high
        (lambda p: 0.25 + 0.5 * p, True),  # too sure
        (lambda p: np.full(len(p), 0.5), True),  # no relation at all
    ],
)
def test_probabilities_that_do_not_fit_are_told_from_those_that_do(distort, is_found):
    rng = np.random.default_rng(0)
    n_found = 0
    for _ in range(200):
        p = rng.random(300)
        outcomes = rng.random(300) < distort(p)
        n_found += calibration_p_value(p, outcomes) < LEVEL
    if is_found:
        assert n_found > 190
    else:
        assert stats.binomtest(n_found, 200, LEVEL).pvalue > 0.001


def test_the_test_of_probabilities_needs_examples_and_no_variety():
    assert np.isnan(calibration_p_value(np.empty(0), np.empty(0, dtype=bool)))
    half = np.full(100, 0.5)
    expected = stats.chi2.sf((50 - 65) ** 2 / 25, 1)
    assert calibration_p_value(half, np.arange(100) < 65) == pytest.approx(expected)
    certain = np.array([0.0, 1.0])
    assert calibration_p_value(certain, np.array([False, True])) > 0.9
    assert calibration_p_value(certain, np.array([False, False])) < 1e-6
