"""From margins to probabilities: a softmax per label, with a prior all labels share.

Margins z_jv say how well value v of label j does. The probability of the value is

    P_j(v) = exp(a_j z_jv + b_jv) / sum_u exp(a_j z_ju + b_ju),    a_j >= 0,  b_j0 = 0,

for two values a sigmoid of a_j (z_j1 - z_j0) + b_j1. The slopes of all labels come from
one normal distribution, the biases from another, whose means and variances are
estimated with them (empirical Bayes): a label with few examples is calibrated like the
others, a label with many by its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax

__all__ = ["Calibration", "fit_calibration"]

N_ROUNDS = 10  # of estimating the labels and their prior in turn
N_STEPS = 50  # of Newton's method, at most
SMALLEST_SLOPE = 1e-3  # without biases: for margins of root mean square 1

Margins = Sequence[NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Slopes and biases that turn margins into probabilities.

    Parameters
    ----------
    slopes : ndarray of shape (n_labels,)
        a_j, none negative.
    biases : list of ndarray of shape (n_values,)
        b_j of every label; the first is 0.

    Examples
    --------
    >>> calibration = Calibration(np.array([2.0]), [np.array([0.0, 0.0])])
    >>> calibration.probabilities([np.array([[0.0, -1.0]])])[0].round(2).tolist()
    [[0.88, 0.12]]
    """

    slopes: NDArray[np.float64]
    biases: list[NDArray[np.float64]]

    def probabilities(self, margins: Margins) -> list[NDArray[np.float64]]:
        """Return the probability of each value of each label.

        Parameters
        ----------
        margins : sequence of ndarray of shape (n, n_values)
            One array per label, of the kind that the calibration was fitted to.

        Returns
        -------
        list of ndarray of shape (n, n_values)
            Rows sum to one. A label with one value has it for certain.
        """
        return [
            softmax(slope * np.asarray(margin, dtype=np.float64) + bias, axis=1)
            for slope, bias, margin in zip(
                self.slopes, self.biases, margins, strict=True
            )
        ]

    def for_margins_of(self, units: ArrayLike) -> Calibration:
        """Return the calibration of margins that are larger by `units`, one per label.

        Examples
        --------
        >>> one = Calibration(np.array([2.0]), [np.array([0.0, 0.5])])
        >>> one.for_margins_of([4.0]).slopes.tolist()
        [0.5]
        """
        return Calibration(self.slopes / np.asarray(units), self.biases)


def fit_calibration(
    margins: Margins, codes: ArrayLike, *, biases: bool = True
) -> Calibration:
    """Find slopes and biases from the margins of held-out examples.

    Parameters
    ----------
    margins : sequence of ndarray of shape (n, n_values)
        One array per label: margins of examples that the model was not trained on.
    codes : array-like of shape (n, n_labels)
        Their values, numbered from 0; -1 where a label is not known.
    biases : bool, default=True
        Without them the most probable value is always the one of highest margin.

    Returns
    -------
    Calibration
        Multiplying all margins by a number divides the slopes by it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=20_000)
    >>> codes = rng.random((20_000, 1)) < 1 / (1 + np.exp(1 - 3 * z[:, None]))
    >>> found = fit_calibration([np.column_stack([0 * z, z])], codes)
    >>> found.slopes.round(1).tolist(), found.biases[0].round(1).tolist()
    ([3.0], [0.0, -1.0])
    """
    codes = np.asarray(codes, dtype=np.intp)
    slopes = np.ones(len(margins))
    shifts = [np.zeros(np.shape(margin)[1]) for margin in margins]
    labels = [j for j, shift in enumerate(shifts) if len(shift) > 1]
    if not labels:
        return Calibration(slopes, shifts)
    parts = [Evidence.of(np.asarray(margins[j]), codes[:, j]) for j in labels]
    unit = _root_mean_square([part.margins for part in parts])
    parts = [part._replace(margins=part.margins / unit) for part in parts]
    fit = _fit_all if biases else _fit_slopes
    for j, found in zip(labels, fit(_smoothed(parts)), strict=True):
        slopes[j] = found[0] / unit
        shifts[j][1:] = found[1:]
    return Calibration(slopes, shifts)


class Evidence(NamedTuple):
    """What is known of one label; only differences of its margins matter."""

    margins: NDArray[np.float64]  # (n, n_values), 0 for the first value
    targets: NDArray[np.float64]  # (n, n_values), rows sum to one

    @classmethod
    def of(cls, margins: NDArray[np.floating], codes: NDArray[np.intp]) -> Evidence:
        """Return the evidence of the examples whose value is known."""
        known = codes >= 0
        margins, codes = margins[known].astype(np.float64), codes[known]
        targets = (codes[:, None] == np.arange(margins.shape[1])).astype(np.float64)
        return cls(margins - margins[:, :1], targets)


class Normal(NamedTuple):
    """Independent normal distributions of some parameters."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def _root_mean_square(arrays: list[NDArray[np.float64]]) -> float:
    values = np.concatenate([array[:, 1:].ravel() for array in arrays])
    return float(np.sqrt(np.mean(values**2))) if values.any() else 1.0


def _smoothed(parts: list[Evidence]) -> list[Evidence]:
    """Replace 1 and 0 by Platt's targets, with the counts of all labels together.

    If r examples have the value with number v, its target is (r + 1) / (r + n_values).
    So slopes are finite even where the margins separate all values. With the counts of
    a label alone, the targets would make rare values far too probable.
    """
    counts = np.zeros(max(part.targets.shape[1] for part in parts))
    for part in parts:
        counts[: part.targets.shape[1]] += part.targets.sum(axis=0)
    smoothed = []
    for margins, targets in parts:
        n_values = targets.shape[1]
        rest = 1.0 / (targets @ counts[:n_values] + n_values)[:, None]
        smoothed.append(Evidence(margins, targets * (1 - n_values * rest) + rest))
    return smoothed


def _fit_all(parts: list[Evidence]) -> list[NDArray[np.float64]]:
    """Return (a_j, b_j1, b_j2, ...) of every label, and learn their prior on the way.

    An expectation-maximisation in which the posterior of a label counts as normal. It
    begins with one slope and one bias for all labels.
    """
    ties = [_tie(part.margins.shape[1]) for part in parts]
    vague = Normal(np.zeros(2), np.full(2, 1e3))
    shared = _posterior(parts, ties, vague, np.zeros(2)).mean
    prior = Normal(shared, np.maximum(shared**2, 1.0))
    found = [tie @ shared for tie in ties]
    for _ in range(N_ROUNDS):
        labels = [
            _posterior_of_label(
                part, Normal(tie @ prior.mean, tie @ prior.variance), start
            )
            for part, tie, start in zip(parts, ties, found, strict=True)
        ]
        prior = _common_prior(labels)
        found = [label.mean for label in labels]
    return found


def _fit_slopes(parts: list[Evidence]) -> list[NDArray[np.float64]]:
    """Return (a_j, 0, 0, ...) of every label; the slopes are positive."""
    vague, found = Normal(np.zeros(1), np.full(1, 1e3)), []
    for part in parts:
        tie = _tie(part.margins.shape[1])[:, :1]
        slope = _posterior([part], [tie], vague, np.zeros(1)).mean
        found.append(tie @ np.maximum(slope, SMALLEST_SLOPE))
    return found


def _tie(n_values: int) -> NDArray[np.float64]:
    """Return the matrix that makes (a, b, b, ...) of a shared slope and bias."""
    tie = np.zeros((n_values, 2))
    tie[0, 0] = 1.0
    tie[1:, 1] = 1.0
    return tie


def _common_prior(labels: list[Normal]) -> Normal:
    """Return the distribution that the labels' slopes and biases seem to come from."""
    first, others = slice(0, 1), slice(1, None)
    moments = [
        _moments(
            np.concatenate([label.mean[part] for label in labels]),
            np.concatenate([label.variance[part] for label in labels]),
        )
        for part in (first, others)
    ]
    mean, variance = zip(*moments, strict=True)
    return Normal(np.array(mean), np.array(variance))


def _moments(
    values: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, float]:
    """Return mean and variance of uncertain values.

    The variance is that of the values and one more, which keeps it above zero: that one
    lies a third of the mean away from it.
    """
    mean = values.mean()
    total = np.sum((values - mean) ** 2 + variances) + 0.1 * mean**2 + 1e-3
    return mean, total / (len(values) + 1)


def _posterior_of_label(
    part: Evidence, prior: Normal, start: NDArray[np.float64]
) -> Normal:
    """Return the posterior of a label's slope and biases; the slope is not negative."""
    own = np.eye(len(start))
    found = _posterior([part], [own], prior, start)
    if found.mean[0] >= 0:
        return found
    # the objective is convex: with its minimum below 0, the best slope allowed is 0
    rest = Normal(prior.mean[1:], prior.variance[1:])
    biases = _posterior([part], [own[:, 1:]], rest, start[1:])
    return Normal(np.append(0.0, biases.mean), found.variance)


def _posterior(
    parts: list[Evidence],
    ties: list[NDArray[np.float64]],
    prior: Normal,
    start: NDArray[np.float64],
) -> Normal:
    """Return the normal distribution that touches a posterior at its mode.

    The parameters of parts[j] are ties[j] @ x; x has the prior, and is found from
    `start` by Newton's method with backtracking.
    """
    x = start
    value, gradient, curvature = _objective(x, parts, ties, prior)
    for _ in range(N_STEPS):
        direction = np.linalg.solve(curvature, gradient)
        decrease, step = gradient @ direction, 1.0
        if decrease <= 1e-9:
            break
        while step > 1e-9:
            found = _objective(x - step * direction, parts, ties, prior)
            if found[0] <= value - 0.1 * step * decrease:
                break
            step /= 2
        x = x - step * direction
        value, gradient, curvature = found
    return Normal(x, np.diag(np.linalg.inv(curvature)))


def _objective(
    x: NDArray[np.float64],
    parts: list[Evidence],
    ties: list[NDArray[np.float64]],
    prior: Normal,
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the negative log-posterior at x, its gradient and its Hessian matrix."""
    away = x - prior.mean
    value = 0.5 * np.sum(away**2 / prior.variance)
    gradient, hessian = away / prior.variance, np.diag(1.0 / prior.variance)
    for part, tie in zip(parts, ties, strict=True):
        cost, slope, curvature = _cross_entropy(tie @ x, part)
        value += cost
        gradient = gradient + tie.T @ slope
        hessian = hessian + tie.T @ curvature @ tie
    return value, gradient, hessian


def _cross_entropy(
    params: NDArray[np.float64], part: Evidence
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return -sum targets log P at (a, b_1, ...), its gradient and Hessian matrix."""
    margins, targets = part
    scores = params[0] * margins + np.append(0.0, params[1:])
    logs = log_softmax(scores, axis=1)
    P = np.exp(logs)
    excess = P - targets
    gradient = np.append(np.sum(excess * margins), excess[:, 1:].sum(axis=0))
    centred = margins - np.sum(P * margins, axis=1, keepdims=True)
    hessian = np.empty((len(params), len(params)))
    hessian[0, 0] = np.sum(P * centred**2)
    hessian[0, 1:] = hessian[1:, 0] = np.sum(P * centred, axis=0)[1:]
    hessian[1:, 1:] = np.diag(P.sum(axis=0)[1:]) - P[:, 1:].T @ P[:, 1:]
    return -float(np.sum(targets * logs)), gradient, hessian
