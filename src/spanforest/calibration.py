"""From margins to probabilities: a softmax per label, with a prior that labels share.

The margin z_jv says how good value v of label j is. The probability of the value is

    P_j(v) = exp(a_j z_jv + b_jv) / sum_u exp(a_j z_ju + b_ju),    a_j >= 0,  b_j0 = 0,

for two values a sigmoid of a_j (z_j1 - z_j0) + b_j1. The slopes of all labels come from
one normal distribution and the biases from another. Their means and variances are
estimated together with the slopes and biases (empirical Bayes). So a label with few
examples is calibrated like the others, and a label with many by its own examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

__all__ = ["Calibration", "fit_calibration"]

N_ROUNDS = 10  # each estimates the labels, then their prior
N_STEPS = 50  # largest number of steps of Newton's method
SMALLEST_SLOPE = 1e-3  # used without biases; for margins of root mean square 1

Margins = Sequence[NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Slopes and biases that turn margins into probabilities.

    Parameters
    ----------
    slopes : ndarray of shape (n_labels,)
        a_j >= 0.
    biases : list of ndarray of shape (n_values,)
        b_j of every label; b_j0 is 0.

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
            One array per label: margins of the kind that the calibration was fitted to.

        Returns
        -------
        list of ndarray of shape (n, n_values)
            Rows sum to one. The only value of a label has probability 1.
        """
        return [
            softmax(slope * np.asarray(margin, dtype=np.float64) + bias, axis=1)
            for slope, bias, margin in zip(
                self.slopes, self.biases, margins, strict=True
            )
        ]

    def for_margins_of(self, units: ArrayLike) -> Calibration:
        """Return the calibration of margins multiplied by `units`, one per label.

        Examples
        --------
        >>> one = Calibration(np.array([2.0]), [np.array([0.0, 0.5])])
        >>> one.for_margins_of([4.0]).slopes.tolist()
        [0.5]
        """
        return Calibration(self.slopes / np.asarray(units), self.biases)


def fit_calibration(
    margins: Margins,
    codes: ArrayLike,
    *,
    biases: bool = True,
    sample_weight: ArrayLike | None = None,
) -> Calibration:
    """Estimate slopes and biases from the margins of held-out examples.

    Parameters
    ----------
    margins : sequence of ndarray of shape (n, n_values)
        One array per label: margins of examples that the model was not trained on.
    codes : array-like of shape (n, n_labels)
        Their values, numbered from 0; -1 where a label was not observed.
    biases : bool, default=True
        Whether to estimate biases. Without them the most probable value is always the
        one of highest margin.
    sample_weight : array-like of shape (n,), optional
        How often each example counts.

    Returns
    -------
    Calibration
        If all margins are multiplied by a number, the slopes are divided by it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=20_000)
    >>> codes = rng.random((20_000, 1)) < 1 / (1 + np.exp(1 - 3 * z[:, None]))
    >>> calibration = fit_calibration([np.column_stack([0 * z, z])], codes)
    >>> calibration.slopes.round(1).tolist(), calibration.biases[0].round(1).tolist()
    ([3.0], [0.0, -1.0])
    """
    codes = np.asarray(codes, dtype=np.intp)
    slopes = np.ones(len(margins))
    shifts = [np.zeros(np.shape(margin)[1]) for margin in margins]
    labels = [j for j, shift in enumerate(shifts) if len(shift) > 1]
    if not labels:
        return Calibration(slopes, shifts)
    weight = np.ones(len(codes))
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
    evidence = [
        Evidence.of(np.asarray(margins[j]), codes[:, j], weight) for j in labels
    ]
    unit = _root_mean_square(evidence)
    evidence = [one._replace(margins=one.margins / unit) for one in evidence]
    fit = _fit_all if biases else _fit_slopes
    for j, params in zip(labels, fit(_smoothed(evidence)), strict=True):
        slopes[j] = params[0] / unit
        shifts[j][1:] = params[1:]
    return Calibration(slopes, shifts)


class Evidence(NamedTuple):
    """Margins and true values of one label; only differences of margins matter.

    There is a row per value: sums over the few values are then sums of whole rows.
    """

    margins: NDArray[np.float64]  # (n_values, n), 0 for the first value
    targets: NDArray[np.float64]  # (n_values, n), columns sum to one
    weight: NDArray[np.float64]  # (n,)

    @classmethod
    def of(
        cls,
        margins: NDArray[np.floating],
        codes: NDArray[np.intp],
        weight: NDArray[np.float64],
    ) -> Evidence:
        """Return the evidence of the examples whose value was observed."""
        observed = codes >= 0
        rows, codes = margins[observed].T.astype(np.float64), codes[observed]
        targets = (codes == np.arange(len(rows))[:, None]).astype(np.float64)
        return cls(rows - rows[0], targets, weight[observed])

    @property
    def n_values(self) -> int:
        """How many values the label has."""
        return len(self.margins)


class Normal(NamedTuple):
    """Independent normal distributions of some parameters."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def _root_mean_square(evidence: list[Evidence]) -> float:
    values = np.concatenate([one.margins[1:].ravel() for one in evidence])
    if not values.any():
        return 1.0
    weights = [np.tile(one.weight, one.n_values - 1) for one in evidence]
    weight = np.concatenate(weights)
    return float(np.sqrt(np.sum(weight * values**2) / weight.sum()))


def _smoothed(evidence: list[Evidence]) -> list[Evidence]:
    """Replace 1 and 0 by Platt's targets, with the counts of all labels together.

    If n examples have value v, its target is (n + 1) / (n + n_values). So slopes are
    finite even where the margins separate all values. With the counts of a single
    label, the targets would make rare values far too probable.
    """
    counts = np.zeros(max(one.n_values for one in evidence))
    for one in evidence:
        counts[: one.n_values] += one.targets @ one.weight
    smoothed = []
    for one in evidence:
        rest = 1.0 / (counts[: one.n_values] @ one.targets + one.n_values)
        targets = one.targets * (1 - one.n_values * rest) + rest
        smoothed.append(one._replace(targets=targets))
    return smoothed


def _fit_all(evidence: list[Evidence]) -> list[NDArray[np.float64]]:
    """Return (a_j, b_j1, b_j2, ...) of every label, estimated together with the prior.

    This is expectation-maximisation with a normal approximation of each posterior. It
    starts from one slope and one bias for all labels.
    """
    ties = [_tie(one.n_values) for one in evidence]
    vague = Normal(np.zeros(2), np.full(2, 1e3))
    shared = _posterior(evidence, ties, vague, np.zeros(2)).mean
    prior = Normal(shared, np.maximum(shared**2, 1.0))
    params = [tie @ shared for tie in ties]
    for _ in range(N_ROUNDS):
        labels = [
            _posterior_of_label(
                one, Normal(tie @ prior.mean, tie @ prior.variance), start
            )
            for one, tie, start in zip(evidence, ties, params, strict=True)
        ]
        prior = _common_prior(labels)
        params = [label.mean for label in labels]
    return params


def _fit_slopes(evidence: list[Evidence]) -> list[NDArray[np.float64]]:
    """Return (a_j, 0, 0, ...) of every label; the slopes are positive."""
    vague, params = Normal(np.zeros(1), np.full(1, 1e3)), []
    for one in evidence:
        tie = _tie(one.n_values)[:, :1]
        slope = _posterior([one], [tie], vague, np.zeros(1)).mean
        params.append(tie @ np.maximum(slope, SMALLEST_SLOPE))
    return params


def _tie(n_values: int) -> NDArray[np.float64]:
    """Return the matrix that maps a shared slope and bias (a, b) to (a, b, b, ...)."""
    tie = np.zeros((n_values, 2))
    tie[0, 0] = 1.0
    tie[1:, 1] = 1.0
    return tie


def _common_prior(labels: list[Normal]) -> Normal:
    """Return the estimated distribution of slopes and biases over the labels."""
    slope, biases = slice(0, 1), slice(1, None)
    moments = [
        _moments(
            np.concatenate([label.mean[which] for label in labels]),
            np.concatenate([label.variance[which] for label in labels]),
        )
        for which in (slope, biases)
    ]
    mean, variance = zip(*moments, strict=True)
    return Normal(np.array(mean), np.array(variance))


def _moments(
    values: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, float]:
    """Return mean and variance of uncertain values.

    The variance includes one more value, about a third of the mean away from the mean,
    which keeps the variance above zero.
    """
    mean = values.mean()
    total = np.sum((values - mean) ** 2 + variances) + 0.1 * mean**2 + 1e-3
    return mean, total / (len(values) + 1)


def _posterior_of_label(
    one: Evidence, prior: Normal, start: NDArray[np.float64]
) -> Normal:
    """Return the posterior of a label's slope and biases; the slope is not negative."""
    own = np.eye(len(start))
    posterior = _posterior([one], [own], prior, start)
    if posterior.mean[0] >= 0:
        return posterior
    # the objective is convex: if its minimum has a negative slope, 0 is the best one
    rest = Normal(prior.mean[1:], prior.variance[1:])
    biases = _posterior([one], [own[:, 1:]], rest, start[1:])
    return Normal(np.append(0.0, biases.mean), posterior.variance)


def _posterior(
    evidence: list[Evidence],
    ties: list[NDArray[np.float64]],
    prior: Normal,
    start: NDArray[np.float64],
) -> Normal:
    """Return the normal approximation of a posterior at its mode (Laplace).

    There are a few `free` parameters, of which `prior` is the distribution. Those of
    label j are ties[j] @ free. The mode is computed from `start` by Newton's method
    with backtracking.
    """
    free = start
    value, gradient, curvature = _objective(free, evidence, ties, prior)
    for _ in range(N_STEPS):
        direction = np.linalg.solve(curvature, gradient)
        decrease, step = gradient @ direction, 1.0
        if decrease <= 1e-9:
            break
        while step > 1e-9:
            trial = _objective(free - step * direction, evidence, ties, prior)
            if trial[0] <= value - 0.1 * step * decrease:
                break
            step /= 2
        free = free - step * direction
        value, gradient, curvature = trial
    return Normal(free, np.diag(np.linalg.inv(curvature)))


def _objective(
    free: NDArray[np.float64],
    evidence: list[Evidence],
    ties: list[NDArray[np.float64]],
    prior: Normal,
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the negative log-posterior, its gradient and its Hessian matrix."""
    away = free - prior.mean
    value = 0.5 * np.sum(away**2 / prior.variance)
    gradient, hessian = away / prior.variance, np.diag(1.0 / prior.variance)
    for one, tie in zip(evidence, ties, strict=True):
        cost, slope, curvature = _cross_entropy(tie @ free, one)
        value += cost
        gradient = gradient + tie.T @ slope
        hessian = hessian + tie.T @ curvature @ tie
    return value, gradient, hessian


def _cross_entropy(
    params: NDArray[np.float64], one: Evidence
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return -sum targets log P at (a, b_1, ...), its gradient and Hessian matrix.

    The sum is weighted.
    """
    margins, targets, weight = one
    scores = params[0] * margins
    scores[1:] += params[1:, None]
    # log-softmax by hand: value and P share their exponentials, which take most time
    highest = scores.max(axis=0)
    P = np.exp(scores - highest)
    total = P.sum(axis=0)
    P /= total
    # targets sum to one over the values, so that the logarithm counts once
    value = weight @ (highest + np.log(total) - np.sum(targets * scores, axis=0))
    excess = weight * (P - targets)
    gradient = np.append(np.sum(excess * margins), excess[1:].sum(axis=1))
    weighted, centred = weight * P, margins - np.sum(P * margins, axis=0)
    hessian = np.empty((len(params), len(params)))
    hessian[0, 0] = np.sum(weighted * centred**2)
    hessian[0, 1:] = hessian[1:, 0] = np.sum(weighted[1:] * centred[1:], axis=1)
    hessian[1:, 1:] = np.diag(weighted[1:].sum(axis=1)) - weighted[1:] @ P[1:].T
    return float(value), gradient, hessian
