"""The training problem of one graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.factors import Coordinates, FactorGraph
from spanforest.losses import FactorLoss


class Problem(NamedTuple):
    """A training problem: labels on a factor graph, a loss, C, and weights.

    The slack of example i counts sample_weight[i] times. Inside the slack, loss and
    score of a factor count as often as `factor_weight` says. By default all weights
    are 1.
    """

    factors: FactorGraph
    loss: FactorLoss
    Y: NDArray[np.int32]  # (n_samples, n_labels) true codes, -1 where not observed
    C: float
    sample_weight: NDArray[np.float64] | None = None  # (n_samples,) not negative
    label_weight: NDArray[np.float64] | None = None  # (n_samples, n_labels)

    @property
    def shares_sums(self) -> bool:
        """Whether the factors of a label agree about its sums: all count the same.

        They do if every example has all labels, and labels have no weights.
        """
        return self.label_weight is None and bool((self.Y >= 0).all())

    @property
    def coordinates(self) -> Coordinates:
        """Coordinates of A."""
        return Coordinates.of(self.factors, shared=self.shares_sums)

    @property
    def box(self) -> NDArray[np.float64]:
        """C times the weight of each example: its dual variables sum to this."""
        weight = 1.0 if self.sample_weight is None else self.sample_weight
        return np.full(len(self.Y), float(self.C)) * weight

    @property
    def factor_weight(self) -> NDArray[np.float64]:
        """The mean weight of the labels of each factor.

        Shape (n_samples, n_factors), or empty if labels have no weights.
        """
        if self.label_weight is None:
            return np.zeros((0, 0))
        factor = self.factors.arrays.factor
        first, second = factor["first"], factor["second"]  # -1 for a unary factor
        second = np.where(second < 0, first, second)
        ends = self.label_weight[:, first] + self.label_weight[:, second]
        return np.ascontiguousarray(ends / 2)

    @property
    def taught(self) -> NDArray[np.bool_]:
        """Whether each example has all labels of each factor, and it counts.

        Shape (n_samples, n_factors), or empty if all do.
        """
        observed, counts = self.Y >= 0, self.factor_weight > 0
        if observed.all() and counts.all():
            return np.zeros((0, 0), dtype=bool)
        factor = self.factors.arrays.factor
        first, second = factor["first"], factor["second"]  # -1 for a unary factor
        taught = observed[:, first] & (observed[:, second] | (second < 0))
        if counts.size:
            taught &= counts
        return np.ascontiguousarray(taught)  # the layout that routines are compiled for
