"""Scores of a prediction: of all labels together, and of every label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from spanforest.model_page._confusions import count_rows
from spanforest.model_page._outcomes import UNKNOWN, Outcomes, Question

LEVEL = 0.05  # of the test of probabilities
_LEAST = 1e-6  # a probability of zero would make any surprise impossible

# gives the probability that the answer to a question is yes, for every example
Probabilities = Callable[[Question], NDArray[np.float64]]


class Score(NamedTuple):
    """A score of the whole prediction, with the best score of a constant answer."""

    name: str
    text: str  # what it counts
    value: float
    constant: float  # best score of a prediction that is the same for all examples


class LabelRow(NamedTuple):
    """Counts of the answers to one question; a share of nothing is None."""

    question: Question
    n_known: int  # examples whose true answer is known
    n_true: int
    n_predicted: int  # of all examples
    n_claimed: int  # of the examples whose true answer is known
    n_right: int  # of the claimed ones
    probability: float | None  # mean
    is_calibrated: bool | None

    @property
    def share(self) -> float | None:
        """Share of the known answers that are yes."""
        return _ratio(self.n_true, self.n_known)

    @property
    def precision(self) -> float | None:
        """Share of the predicted answers that are right."""
        return _ratio(self.n_right, self.n_claimed)

    @property
    def recall(self) -> float | None:
        """Share of the true answers that are predicted."""
        return _ratio(self.n_right, self.n_true)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        return _ratio(2 * self.n_right, self.n_true + self.n_claimed)


def _ratio(number: int, total: int) -> float | None:
    return number / total if total else None


def label_rows(outcomes: Outcomes, probability: Probabilities | None) -> list[LabelRow]:
    """Return a row for every question about the labels."""
    return [_label_row(outcomes, each, probability) for each in outcomes.questions]


def _label_row(
    outcomes: Outcomes, question: Question, probability: Probabilities | None
) -> LabelRow:
    predicted = outcomes.predicted[:, question.label] == question.code
    p = None if probability is None else probability(question)
    mean = None if p is None else float(p.mean())
    if outcomes.truth is None:
        n_predicted = int(predicted.sum())
        return LabelRow(question, 0, 0, n_predicted, 0, 0, mean, None)
    truth = outcomes.truth[:, question.label]
    known = truth != UNKNOWN
    is_true = truth == question.code
    p_value = np.nan if p is None else calibration_p_value(p[known], is_true[known])
    return LabelRow(
        question,
        n_known=int(known.sum()),
        n_true=int(is_true.sum()),
        n_predicted=int(predicted.sum()),
        n_claimed=int((known & predicted).sum()),
        n_right=int((is_true & predicted).sum()),
        probability=mean,
        is_calibrated=None if np.isnan(p_value) else p_value >= LEVEL,
    )


def calibration_p_value(p: NDArray[np.float64], is_true: NDArray[np.bool_]) -> float:
    """Return the p-value of Cox's test that probabilities fit outcomes.

    The test asks whether log odds a + b log(p / (1 - p)) would fit better than a = 0
    and b = 1. It is the score test, which needs no fit: with weights p (1 - p), the
    residuals are compared with their variance in both directions. Probabilities that
    are all equal leave one direction, and no examples leave none: nan.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.full(100, 0.9)
    >>> round(calibration_p_value(p, np.arange(100) < 90), 6)
    1.0
    >>> calibration_p_value(p, np.arange(100) < 50) < 1e-6
    True
    """
    if not len(p):
        return float("nan")
    p = np.clip(p, _LEAST, 1 - _LEAST)
    directions = np.column_stack([np.ones(len(p)), special.logit(p)])
    residual = directions.T @ (is_true - p)
    information = (directions.T * (p * (1 - p))) @ directions
    statistic = residual @ np.linalg.pinv(information, hermitian=True) @ residual
    rank = np.linalg.matrix_rank(information, hermitian=True)
    return float(stats.chi2.sf(statistic, rank))


def headline(outcomes: Outcomes, rows: Sequence[LabelRow]) -> list[Score]:
    """Return the scores of the whole prediction; none without any true label."""
    if outcomes.truth is None:
        return []
    has_few_values = [len(values) <= 2 for values in outcomes.coding.classes]
    asked = [row for row in rows if has_few_values[row.question.label]]
    scores = [_sets_right(outcomes), _labels_right(outcomes)]
    if any(row.n_true for row in asked):
        which = "all labels" if all(has_few_values) else "labels of two values"
        scores += [_pooled_f1(asked, which), _mean_f1(asked, which)]
    return [score for score in scores if score is not None]


def _sets_right(outcomes: Outcomes) -> Score | None:
    """Return the share of examples with all labels right (multilabel accuracy)."""
    rows: Any = outcomes.complete
    if outcomes.truth is None or not len(rows):
        return None
    right = 1 - float(outcomes.wrong(rows).any(axis=1).mean())
    most_frequent = count_rows(outcomes.truth[rows])[0].n / len(rows)
    text = "Examples whose labels are all right: multilabel accuracy"
    if len(rows) < outcomes.n_samples:
        text += f", of the {len(rows)} whose labels are all known"
    return Score("All labels right", text, right, most_frequent)


def _labels_right(outcomes: Outcomes) -> Score:
    """Return the share of labels that are right (microlabel accuracy)."""
    assert outcomes.truth is not None
    n_known = int((outcomes.truth != UNKNOWN).sum())
    n_best = 0
    for column, values in zip(outcomes.truth.T, outcomes.coding.classes, strict=True):
        n_best += int(np.bincount(column[column >= 0], minlength=len(values)).max())
    right = 1 - int(outcomes.wrong().sum()) / n_known
    text = "Labels that are right, of all examples: microlabel accuracy"
    if n_known < outcomes.truth.size:
        text += ", of those that are known"
    return Score("Labels right", text, right, n_best / n_known)


def _pooled_f1(rows: Sequence[LabelRow], which: str) -> Score:
    """Return F1 over all labels together (microlabel F1).

    The best constant answer switches on the most frequent labels: F1 is 2 TP / (TP + FP
    + positives), and of two labels the more frequent one adds more to the numerator for
    each unit that it adds to the denominator.
    """
    n_true = sum(row.n_true for row in rows)
    n_right = sum(row.n_right for row in rows)
    n_claimed = sum(row.n_claimed for row in rows)
    ordered = sorted(rows, key=lambda row: row.share or 0.0, reverse=True)
    hits = np.cumsum([row.n_true for row in ordered])
    sizes = np.cumsum([row.n_known for row in ordered])
    constant = float((2 * hits / (sizes + n_true)).max())
    value = 2 * n_right / (n_true + n_claimed)
    text = f"Precision and recall over {which} together: microlabel F1"
    return Score("F1 over labels", text, value, constant)


def _mean_f1(rows: Sequence[LabelRow], which: str) -> Score:
    """Return the mean of the F1 of the labels (macro F1).

    The best constant answer switches on every label that occurs.
    """
    value = float(np.mean([row.f1 for row in rows if row.f1 is not None]))
    occurring = [row for row in rows if row.n_true]
    constant = [2 * row.n_true / (row.n_true + row.n_known) for row in occurring]
    text = f"Mean over {which}, each counted alike: macro F1"
    return Score("Mean F1 of labels", text, value, float(np.mean(constant)))
