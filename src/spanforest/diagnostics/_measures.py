"""Precision, recall and other measures of every single label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._labels import LabelCoding


class LabelMeasures(NamedTuple):
    """Measures of a prediction, label by label; each of shape (n_labels,)."""

    precision: NDArray[np.float64]  # nan where the label is never predicted
    recall: NDArray[np.float64]  # nan where the label is never true
    f1: NDArray[np.float64]  # nan where the label is neither predicted nor true
    accuracy: NDArray[np.float64]
    frequency: NDArray[np.float64]  # share of examples whose label is on


class Positives(NamedTuple):
    """Whether labels are on, in truth and prediction; shape (n_samples, n_labels).

    Examples
    --------
    >>> from spanforest.diagnostics import Positives
    >>> both = Positives.of([["no"], ["yes"]], [["yes"], ["yes"]])
    >>> both.truth.tolist(), both.predicted.tolist()
    ([[False], [True]], [[True], [True]])
    >>> both.measures().precision
    array([0.5])
    """

    truth: NDArray[np.bool_]
    predicted: NDArray[np.bool_]

    @classmethod
    def of(cls, Y_true: Any, Y_pred: Any, values: Sequence[Any] | None = None) -> Self:
        """Read true and predicted labels of two values each.

        Of two values the higher one is on, as in scikit-learn. 0 is off and 1 is on
        even if the other one does not occur; any other value that is alone is off.

        Parameters
        ----------
        Y_true : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            True labels; 1-D for a single one.
        Y_pred : array-like, DataFrame or sparse matrix of the same shape
            Predicted labels.
        values : sequence of arrays, optional
            The values of every label in training; some may not occur in the labels.

        Returns
        -------
        Positives
            Boolean matrices.

        Raises
        ------
        ValueError
            If a label has more than two values, or the shapes differ.
        """
        truth, predicted = _matrix(Y_true), _matrix(Y_pred)
        if truth.shape != predicted.shape:
            raise ValueError(
                "Y_true and Y_pred must hold the same labels of the same examples; got "
                f"shapes {truth.shape} and {predicted.shape}."
            )
        training: Sequence[Any] = values or [()] * truth.shape[1]
        classes = [
            _two_values({*truth[:, j].tolist(), *predicted[:, j].tolist(), *known}, j)
            for j, known in enumerate(training)
        ]
        coding = LabelCoding(classes, None, is_vector=False, dtype=np.dtype(object))
        on = np.empty(len(classes), dtype=object)  # None: no value of the label is on
        for j, (both, is_on) in enumerate(zip(classes, coding.is_on, strict=True)):
            on[j] = next(iter(both[is_on]), None)
        return cls(truth == on, predicted == on)

    def measures(self) -> LabelMeasures:
        """Return precision, recall, F1, accuracy and frequency of every label."""
        n_right = (self.truth & self.predicted).sum(axis=0)
        n_true, n_predicted = self.truth.sum(axis=0), self.predicted.sum(axis=0)
        with np.errstate(invalid="ignore"):  # 0 / 0 is nan
            return LabelMeasures(
                precision=n_right / n_predicted,
                recall=n_right / n_true,
                f1=2 * n_right / (n_true + n_predicted),
                accuracy=(self.truth == self.predicted).mean(axis=0),
                frequency=self.truth.mean(axis=0),
            )


def _matrix(Y: Any) -> NDArray[Any]:
    array = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
    return array.reshape(len(array), -1)


def _two_values(values: set[Any], j: int) -> NDArray[Any]:
    if len(values) > 2:
        raise ValueError(
            f"labels must have two values; label {j} has {len(values)}. Look at one "
            "value at a time: Y == value."
        )
    return np.array(sorted(values), dtype=object)
