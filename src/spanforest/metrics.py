"""Measures of a multilabel prediction: the paper's three, and three of a ranking.

The paper's three are also there as scorers. A *microlabel* is one label of one example;
a *multilabel* is all labels of one example together. Labels may be lists, arrays, data
frames or sparse indicator matrices. True and predicted labels need not be of the same
kind. A 1-D target is one label.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import rankdata
from sklearn.metrics import make_scorer

from spanforest._parameters import check_sample_weight
from spanforest._wording import quoted

__all__ = [
    "MEASURES",
    "RANKING_MEASURES",
    "Measure",
    "average_precision",
    "coverage",
    "microlabel_accuracy",
    "microlabel_accuracy_scorer",
    "microlabel_f1",
    "microlabel_f1_scorer",
    "multilabel_accuracy",
    "multilabel_accuracy_scorer",
    "ranking_loss",
]


def microlabel_accuracy(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """Return the share of microlabels that are right: one minus the Hamming loss.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
        The true labels, of any values.
    Y_pred : array-like or sparse matrix of the same shape
        The predicted labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the examples.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the shapes differ, or there are no examples or no labels.

    Examples
    --------
    >>> from spanforest.metrics import microlabel_accuracy
    >>> microlabel_accuracy([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.75
    """
    truth, prediction = _aligned(Y_true, Y_pred)
    return _average((truth == prediction).mean(axis=1), sample_weight)


def multilabel_accuracy(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """Return the share of examples with all labels right: one minus the 0/1 loss.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
        The true labels, of any values.
    Y_pred : array-like or sparse matrix of the same shape
        The predicted labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the examples.

    Returns
    -------
    float
        Between 0 and 1, never above the microlabel accuracy.

    Raises
    ------
    ValueError
        If the shapes differ, or there are no examples or no labels.

    Examples
    --------
    >>> from spanforest.metrics import multilabel_accuracy
    >>> multilabel_accuracy([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.5
    """
    truth, prediction = _aligned(Y_true, Y_pred)
    return _average((truth == prediction).all(axis=1), sample_weight)


def microlabel_f1(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """Return the F1 score of the positive class over all microlabels pooled.

    This is 2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall. True
    positives, false positives and false negatives are counted over all labels of all
    examples. The score is 0, without a warning, if no true or predicted label is
    positive.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
        The true labels, each 0 or 1 (or False or True).
    Y_pred : array-like or sparse matrix of the same shape
        The predicted labels, each 0 or 1.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the examples.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the shapes differ, there are no examples or no labels, or a value is neither
        0 nor 1.

    Examples
    --------
    >>> from spanforest.metrics import microlabel_f1
    >>> microlabel_f1([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.8
    """
    truth, prediction = _aligned(Y_true, Y_pred)
    truth, prediction = _positives(truth, "Y_true"), _positives(prediction, "Y_pred")
    given = check_sample_weight(sample_weight, len(truth))
    weights = np.ones(len(truth)) if given is None else given
    # 2 TP + FP + FN
    n_positive = weights @ (truth.sum(axis=1) + prediction.sum(axis=1))
    if n_positive == 0:
        return 0.0
    return float(2 * (weights @ (truth & prediction).sum(axis=1)) / n_positive)


def coverage(Y_true: Any, strengths: Any, sample_weight: Any = None) -> float:
    """Return how many labels of a ranking must be read to see all that are on.

    The mean over the examples; one without labels that are on counts as 0. Of equal
    strengths, those that are off come first.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        The true labels, each 0 or 1 (or False or True).
    strengths : array-like of shape (n_samples, n_labels)
        How strongly each label is predicted: probabilities, or values of a
        `decision_function`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the examples.

    Returns
    -------
    float
        Between 0 and n_labels, lower for better rankings. The smallest possible value
        is the mean number of labels that are on.

    See Also
    --------
    sklearn.metrics.coverage_error : The same.

    Examples
    --------
    >>> from spanforest.metrics import coverage
    >>> coverage([[1, 0, 0], [0, 1, 1]], [[0.9, 0.5, 0.1], [0.8, 0.9, 0.7]])
    2.0
    """
    truth, ranks, _ = _ranked(Y_true, strengths)
    return _average((ranks * truth).max(axis=1), sample_weight)


def ranking_loss(Y_true: Any, strengths: Any, sample_weight: Any = None) -> float:
    """Return the share of pairs of labels that are in the wrong order.

    A pair is a label that is on and one that is off. It is wrong if the one that is on
    is not the stronger one. This is the mean over the examples; one without such pairs
    counts as 0.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        The true labels, each 0 or 1 (or False or True).
    strengths : array-like of shape (n_samples, n_labels)
        How strongly each label is predicted: probabilities, or values of a
        `decision_function`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the examples.

    Returns
    -------
    float
        Between 0 and 1, lower for better rankings.

    See Also
    --------
    sklearn.metrics.label_ranking_loss : The same.

    Examples
    --------
    >>> from spanforest.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 0], [0, 1, 1]], [[0.9, 0.5, 0.1], [0.8, 0.9, 0.7]])
    0.25
    """
    truth, ranks, among_on = _ranked(Y_true, strengths)
    n_wrong = ((ranks - among_on) * truth).sum(axis=1)
    n_on = truth.sum(axis=1)
    n_pairs = n_on * (truth.shape[1] - n_on)
    return _average(n_wrong / np.maximum(n_pairs, 1), sample_weight)


def average_precision(Y_true: Any, strengths: Any, sample_weight: Any = None) -> float:
    """Return the mean precision at the labels that are on.

    For each label that is on: the share of labels that are on among those at least as
    strong. The mean over these labels, and then over the examples. An example whose
    labels are all on, or all off, counts as 1.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        The true labels, each 0 or 1 (or False or True).
    strengths : array-like of shape (n_samples, n_labels)
        How strongly each label is predicted: probabilities, or values of a
        `decision_function`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the examples.

    Returns
    -------
    float
        Between 0 and 1, higher for better rankings.

    See Also
    --------
    sklearn.metrics.label_ranking_average_precision_score : The same.

    Examples
    --------
    >>> from spanforest.metrics import average_precision
    >>> average_precision([[1, 0, 0], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.8, 0.4, 0.7]])
    0.6666666666666666
    """
    truth, ranks, among_on = _ranked(Y_true, strengths)
    n_on = truth.sum(axis=1)
    mean = (among_on / ranks * truth).sum(axis=1) / np.maximum(n_on, 1)
    return _average(np.where(n_on > 0, mean, 1.0), sample_weight)


microlabel_accuracy_scorer = make_scorer(microlabel_accuracy)
"""`microlabel_accuracy` for the `scoring` parameter of scikit-learn's tools."""

multilabel_accuracy_scorer = make_scorer(multilabel_accuracy)
"""`multilabel_accuracy` for the `scoring` parameter of scikit-learn's tools."""

microlabel_f1_scorer = make_scorer(microlabel_f1)
"""`microlabel_f1` for the `scoring` parameter of scikit-learn's tools."""


class Measure(NamedTuple):
    """A measure of a prediction, and its name in tables and figures."""

    title: str
    function: Callable[..., float]
    counts: Literal["labels", "label sets", "positives"]  # what it looks at


MEASURES: dict[str, Measure] = {
    "microlabel_accuracy": Measure(
        "Microlabel accuracy", microlabel_accuracy, "labels"
    ),
    "multilabel_accuracy": Measure(
        "Multilabel accuracy", multilabel_accuracy, "label sets"
    ),
    "microlabel_f1": Measure("Microlabel F1", microlabel_f1, "positives"),
}
"""The paper's measures by name."""

RANKING_MEASURES: dict[str, Callable[..., float]] = {
    "average_precision": average_precision,
    "ranking_loss": ranking_loss,
    "coverage": coverage,
}
"""The measures of rankings by name: functions of true labels and strengths."""


def _ranked(Y_true: Any, strengths: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which labels are on, their ranks, and their ranks among those on.

    The rank of a label is the number of labels that are at least as strong.
    """
    truth, numbers = _aligned(Y_true, np.asarray(strengths, dtype=float))
    if not np.isfinite(numbers).all():
        raise ValueError("strengths must be finite numbers; got infinity or NaN.")
    on = _positives(truth, "Y_true")
    ranks = rankdata(-numbers, method="max", axis=1)
    among_on = rankdata(np.where(on, -numbers, np.inf), method="max", axis=1)
    return on, ranks, among_on


def _average(values: NDArray[Any], sample_weight: Any) -> float:
    """Return the mean over the examples; those of larger weight count more."""
    weights = check_sample_weight(sample_weight, len(values))
    return float(np.average(values, weights=weights))


def _aligned(Y_true: Any, Y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return both label matrices, dense and of one shape (n_samples, n_labels)."""
    truth, prediction = _as_matrix(Y_true, "Y_true"), _as_matrix(Y_pred, "Y_pred")
    _check_observed(Y_true, truth)
    if truth.shape != prediction.shape:
        raise ValueError(
            f"Y_true and Y_pred must hold the same labels of the same examples; got "
            f"{_size(truth)} and {_size(prediction)}."
        )
    if truth.size == 0:
        raise ValueError(
            f"At least one example and one label are needed; got {_size(truth)}."
        )
    kinds = {truth.dtype.kind, prediction.dtype.kind}
    if kinds & set("US") and kinds & set("biuf"):  # NumPy would find nothing equal
        raise ValueError(
            f"Y_true and Y_pred must hold the same kind of values; one holds strings "
            f"and the other numbers ({truth.dtype} and {prediction.dtype}). Encode "
            "both in the same way."
        )
    return truth, prediction


def _as_matrix(Y: Any, name: str) -> np.ndarray:
    matrix = Y.toarray() if issparse(Y) else np.asarray(Y)
    if isinstance(Y, list) and matrix.dtype.kind in "US":
        matrix = np.asarray(Y, dtype=object)  # keeps numbers that stand among texts
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ValueError(
            f"{name} must have one row per example and one column per label; "
            f"got {matrix.ndim} dimensions."
        )
    return matrix


def _check_observed(Y: Any, matrix: np.ndarray) -> None:
    missing = find_missing(matrix)
    if isinstance(Y, np.ma.MaskedArray):
        missing = missing | np.ma.getmaskarray(Y).reshape(matrix.shape)
    if missing.any():
        i, j = np.argwhere(missing)[0]
        raise ValueError(
            f"Y_true must be fully observed; label {j} of example {i} is missing. "
            "Leave such examples out, or compare only the observed labels: "
            "(Y_true == Y_pred)[observed].mean()."
        )


def find_missing(Y: np.ndarray) -> np.ndarray:
    """Return which entries of an array are None, NaN, pandas.NA or masked.

    Examples
    --------
    >>> find_missing(np.array([[0, None], [1, "a"]], dtype=object)).tolist()
    [[False, True], [False, False]]
    """
    missing = np.ma.getmaskarray(Y)
    values = np.asarray(Y)
    if values.dtype.kind == "f":
        return missing | np.isnan(values)
    if values.dtype.kind == "O":
        return missing | np.vectorize(is_missing, otypes=[bool])(values)
    return missing


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or pandas.NA.

    Examples
    --------
    >>> is_missing(float("nan")), is_missing("nan")
    (True, False)
    """
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # nor have the comparisons of an array
        return False


def _size(Y: np.ndarray) -> str:
    return f"{Y.shape[0]} examples x {Y.shape[1]} labels"


def _positives(Y: np.ndarray, name: str) -> np.ndarray:
    """Return which microlabels are 1; refuse values other than 0 and 1."""
    positive = Y == 1
    other = ~(positive | (Y == 0))
    if other.any():
        raise ValueError(
            f"This measure needs binary labels, 0 and 1; {name} holds "
            f"{quoted(Y[other].flat[0])}. Encode the positive value as 1 and the other "
            "as 0, or use an accuracy, which takes labels of any values."
        )
    return positive
