"""The paper's three measures of a multilabel prediction, as functions and as scorers.

A *microlabel* is one label of one example; a *multilabel* is all labels of one example
together. Labels may be lists, arrays, data frames or sparse indicator matrices. True
and predicted labels need not be of the same kind. A 1-D target is one label.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import make_scorer

__all__ = [
    "MEASURES",
    "Measure",
    "microlabel_accuracy",
    "microlabel_accuracy_scorer",
    "microlabel_f1",
    "microlabel_f1_scorer",
    "multilabel_accuracy",
    "multilabel_accuracy_scorer",
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
    return float(np.average((truth == prediction).mean(axis=1), weights=sample_weight))


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
    return float(np.average((truth == prediction).all(axis=1), weights=sample_weight))


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
    weights = np.ones(len(truth)) if sample_weight is None else sample_weight
    # 2 TP + FP + FN
    n_positive = weights @ (truth.sum(axis=1) + prediction.sum(axis=1))
    if n_positive == 0:
        return 0.0
    return float(2 * (weights @ (truth & prediction).sum(axis=1)) / n_positive)


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


MEASURES: dict[str, Measure] = {
    "microlabel_accuracy": Measure("Microlabel accuracy", microlabel_accuracy),
    "multilabel_accuracy": Measure("Multilabel accuracy", multilabel_accuracy),
    "microlabel_f1": Measure("Microlabel F1", microlabel_f1),
}
"""The paper's measures by name."""


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
        matrix = np.asarray(Y, dtype=object)  # keeps numbers beside strings numbers
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


def _size(Y: np.ndarray) -> str:
    return f"{Y.shape[0]} examples x {Y.shape[1]} labels"


def _positives(Y: np.ndarray, name: str) -> np.ndarray:
    """Return which microlabels are 1; refuse values other than 0 and 1."""
    positive = Y == 1
    other = ~(positive | (Y == 0))
    if other.any():
        raise ValueError(
            f"The F1 score needs binary labels, 0 and 1; {name} holds "
            f"{Y[other].flat[0]!r}. Encode the positive value as 1 and the other as 0, "
            "or use an accuracy, which takes labels of any values."
        )
    return positive
