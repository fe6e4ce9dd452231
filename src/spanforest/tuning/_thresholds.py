"""Predictions by thresholds on probabilities, as the search compares them.

A label is on if its probability is larger than the threshold, each label by itself. The
probabilities of a fold's test examples are calibrated on those of the other folds, and
thresholds of single labels are learned from the others too. Folds may overlap: an
example is never calibrated on itself. The shares of a forest, which a fold grows on its
training examples, are probabilities as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.calibration import Calibration, fit_calibration
from spanforest.decisions import f1_thresholds, threshold_decisions

__all__ = ["BY_LABEL", "HeldOutMargins", "label_thresholds", "threshold_predictions"]

BY_LABEL = "labels"  # in place of a threshold: each label has its own, for its F1


class HeldOutMargins(NamedTuple):
    """How strongly each label of the test examples of a fold is predicted to be on."""

    rows: NDArray[np.intp]  # the examples, as places in the data of all folds
    margins: NDArray[np.float64]  # (n_test, n_labels); NaN if the label has none
    only_values: NDArray[np.integer]  # of labels with one value in the fold; else -1
    codes: NDArray[np.integer]  # true ones; -1 where not observed
    sample_weight: NDArray[np.float64] | None = None
    # of a forest, that labels are on; probabilities are then the mean with these
    shares: NDArray[np.float64] | None = None

    def without(self, rows: NDArray[np.intp]) -> HeldOutMargins:
        """Return the test examples that are not among these."""
        kept = ~np.isin(self.rows, rows)
        weight, shares = self.sample_weight, self.shares
        return HeldOutMargins(
            self.rows[kept],
            self.margins[kept],
            self.only_values,
            self.codes[kept],
            None if weight is None else weight[kept],
            None if shares is None else shares[kept],
        )

    def calibration(self) -> Calibration:
        """Fit a calibration as the final ensemble does."""
        return fit_calibration(
            self.in_pairs,
            self.known_codes,
            biases=self.margins.shape[1] > 1,
            sample_weight=self.sample_weight,
        )

    def probabilities(self, calibration: Calibration) -> NDArray[np.float64]:
        """Return the probability of every label; certain ones have 0 or 1."""
        columns = [p[:, 1] for p in calibration.probabilities(self.in_pairs)]
        P, is_certain = np.column_stack(columns), np.isnan(self.margins)
        if self.shares is not None:
            P = (P + self.shares) / 2
        return np.where(is_certain, self.only_values, P)

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
    folds: list[HeldOutMargins], thresholds: list[Any]
) -> list[list[NDArray[np.intp]]]:
    """Return the codes that each threshold predicts in each fold.

    Parameters
    ----------
    folds : list of HeldOutMargins
        Two folds or more, of labels with one value or two. No fold has all examples.
    thresholds : list of float, list of float or BY_LABEL
        Numbers between 0 and 1, lists with one per label, or those that the other
        folds say are best.

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
        calibration = others.calibration()
        P, of_labels = fold.probabilities(calibration), _best_of(others, calibration)
        limits = [of_labels if _is_by_label(one) else one for one in thresholds]
        predictions.append([threshold_decisions(P, one) for one in limits])
    return predictions


def label_thresholds(folds: list[HeldOutMargins]) -> list[float]:
    """Return a threshold for every label, learned from the examples of all folds.

    Examples
    --------
    >>> margins = np.linspace(-1, 1, 100).reshape(50, 2)
    >>> values, codes = np.array([-1, -1]), (margins > 0.5).astype(int)
    >>> one = HeldOutMargins(np.arange(50), margins, values, codes)
    >>> 0.3 < label_thresholds([one])[0] <= 0.5
    True
    """
    everyone = _joined(folds)
    return _best_of(everyone, everyone.calibration()).tolist()


def _is_by_label(threshold: Any) -> bool:
    return isinstance(threshold, str) and threshold == BY_LABEL


def _best_of(held_out: HeldOutMargins, calibration: Calibration) -> NDArray[np.float64]:
    """Return the best threshold of every label; a half if it has no margins."""
    P, known = held_out.probabilities(calibration), ~np.isnan(held_out.margins)
    thresholds = np.full(P.shape[1], 0.5)
    for j in np.flatnonzero(known.any(axis=0)):
        rows, weight = known[:, j], held_out.sample_weight
        weight = None if weight is None else weight[rows]
        thresholds[j] = f1_thresholds(P[rows, j, None], weight)[0]
    return thresholds


def _joined(folds: list[HeldOutMargins]) -> HeldOutMargins:
    """Return the examples of several folds together."""
    rows, margins, _, codes, weights, shares = zip(*folds, strict=True)
    return HeldOutMargins(
        np.concatenate(rows),
        np.concatenate(margins),
        folds[0].only_values,  # calibration does not need them
        np.concatenate(codes),
        None if weights[0] is None else np.concatenate(weights),
        None if shares[0] is None else np.concatenate(shares),
    )
