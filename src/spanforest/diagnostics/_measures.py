"""How well every single label is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class LabelMeasures(NamedTuple):
    """Quality of a prediction, label by label; each of shape (n_labels,)."""

    precision: NDArray[np.float64]  # nan where the label is never predicted
    recall: NDArray[np.float64]  # nan where no example has the label
    f1: NDArray[np.float64]  # nan where both are so
    accuracy: NDArray[np.float64]
    frequency: NDArray[np.float64]  # share of examples that have the label


class Positives(NamedTuple):
    """Which labels are on, in truth and prediction; shape (n_samples, n_labels).

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
        """Compare true and predicted labels, each of two values.

        Of two values the higher one is on, as in scikit-learn, whatever they are
        called. 0 is off and 1 is on even if the other one does not occur; any other
        value that is alone is off.

        Parameters
        ----------
        Y_true : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            True labels; 1-D for a single one.
        Y_pred : array-like, DataFrame or sparse matrix of the same shape
            Predicted labels.
        values : sequence of arrays, optional
            The values of every label in training, which need not all occur here.

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
        known: Sequence[Any] = values or [()] * truth.shape[1]
        on = np.empty(truth.shape[1], dtype=object)
        for j, training in enumerate(known):
            found = {*truth[:, j].tolist(), *predicted[:, j].tolist(), *training}
            on[j] = _value_that_is_on(found, j)
        return cls(truth == on, predicted == on)

    def measures(self) -> LabelMeasures:
        """Return precision, recall, F1, accuracy and frequency of every label."""
        n_right = (self.truth & self.predicted).sum(axis=0)
        n_true, n_predicted = self.truth.sum(axis=0), self.predicted.sum(axis=0)
        with np.errstate(invalid="ignore"):  # 0 / 0 is nan: not defined
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


def _value_that_is_on(found: set[Any], j: int) -> Any:
    if found <= {0, 1}:
        return 1
    if len(found) > 2:
        raise ValueError(
            f"labels must have two values; label {j} has {len(found)}. Look at one "
            "value at a time: Y == value."
        )
    return max(found) if len(found) == 2 else None
