"""Predictions by thresholds on probabilities, as the search compares them.

A label is on if its probability is larger than the threshold, each label by itself. The
probabilities of a fold's test examples are calibrated on those of the other folds.
Folds may overlap: an example is never calibrated on itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.calibration import fit_calibration
from spanforest.decisions import threshold_decisions

__all__ = ["HeldOutMargins", "threshold_predictions"]


class HeldOutMargins(NamedTuple):
    """How strongly each label of the test examples of a fold is predicted to be on."""

    rows: NDArray[np.intp]  # the examples, as places in the data of all folds
    margins: NDArray[np.float64]  # (n_test, n_labels); NaN if the label has none
    only_values: NDArray[np.integer]  # of labels with one value in the fold; else -1
    codes: NDArray[np.integer]  # true ones; -1 where not observed
    sample_weight: NDArray[np.float64] | None = None

    def without(self, rows: NDArray[np.intp]) -> HeldOutMargins:
        """Return the test examples that are not among these."""
        kept, weight = ~np.isin(self.rows, rows), self.sample_weight
        return HeldOutMargins(
            self.rows[kept],
            self.margins[kept],
            self.only_values,
            self.codes[kept],
            None if weight is None else weight[kept],
        )

    @property
    def known_codes(self) -> NDArray[np.integer]:
        """The true codes that come with a margin; -1 for others."""
        return np.where(np.isnan(self.margins), -1, self.codes)

    @property
    def in_pairs(self) -> list[NDArray[np.float64]]:
        """Margins of both values of every label; 0 where there is none."""
        margins = np.nan_to_num(self.margins)
        return [np.column_stack([np.zeros_like(on), on]) for on in margins.T]


def threshold_predictions(
    folds: list[HeldOutMargins], thresholds: list[float]
) -> list[list[NDArray[np.intp]]]:
    """Return the codes that each threshold predicts in each fold.

    Parameters
    ----------
    folds : list of HeldOutMargins
        Two folds or more, of labels with one value or two. No fold has all examples.
    thresholds : list of float
        Numbers between 0 and 1.

    Returns
    -------
    list of list of ndarray of shape (n_test, n_labels)
        By fold, then by threshold.

    Examples
    --------
    >>> margins = np.linspace(-1, 1, 100).reshape(50, 2)
    >>> values, codes = np.array([-1, -1]), (margins > 0.5).astype(int)
    >>> one = HeldOutMargins(np.arange(50), margins, values, codes)
    >>> other = one._replace(rows=np.arange(50, 100))
    >>> [[half], _] = threshold_predictions([one, other], [0.5])
    >>> bool((half == codes).mean() > 0.9)
    True
    """
    predictions = []
    for here, fold in enumerate(folds):
        others = _joined(
            [one.without(fold.rows) for there, one in enumerate(folds) if there != here]
        )
        calibration = fit_calibration(
            others.in_pairs,
            others.known_codes,
            biases=others.margins.shape[1] > 1,  # as in the final ensemble
            sample_weight=others.sample_weight,
        )
        P = np.column_stack([p[:, 1] for p in calibration.probabilities(fold.in_pairs)])
        P = np.where(np.isnan(fold.margins), fold.only_values, P)
        predictions.append([threshold_decisions(P, one) for one in thresholds])
    return predictions


def _joined(folds: list[HeldOutMargins]) -> HeldOutMargins:
    """Return the examples of several folds together."""
    rows, margins, _, codes, weights = zip(*folds, strict=True)
    has_weights = weights[0] is not None
    return HeldOutMargins(
        np.concatenate(rows),
        np.concatenate(margins),
        folds[0].only_values,  # calibration does not need them
        np.concatenate(codes),
        np.concatenate(weights) if has_weights else None,
    )
