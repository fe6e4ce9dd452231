"""The training problem of one graph, and its loss in coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.factors import Coordinates, FactorGraph
from spanforest.losses import FactorLoss

CHUNK_SIZE = 4096  # examples whose loss in all cells is in memory at once


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

    def loss_rows(self) -> NDArray[np.float64]:
        """Return the matrix L, like A in coordinates, with <L, A> = <loss, mu>.

        The loss of the true labels is 0, so <loss, mu> = -<loss, A>. The cells of a
        factor of A sum to 0. So only the cells in which a label is right count: there
        the loss is below its worst.
        """
        factor, coordinates = self.factors.arrays.factor, self.coordinates
        of = np.repeat(np.arange(len(factor)), factor["n_cells"])  # a cell's factor
        cell = np.arange(len(of)) - factor["offset"][of]
        joint, first, second = (weights[of] for weights in self.loss)
        value, other = np.divmod(cell, factor["n_second"][of])
        to_coordinates = coordinates.expand(np.eye(coordinates.n)).T
        rows = np.empty((len(self.Y), coordinates.n))
        for start in range(0, len(rows), CHUNK_SIZE):
            chunk = slice(start, start + CHUNK_SIZE)
            is_first = self.Y[chunk][:, factor["first"][of]] == value
            is_second = self.Y[chunk][:, factor["second"][of]] == other
            is_second |= factor["second"][of] < 0  # a unary factor
            below = joint * (is_first & is_second) + first * is_first
            below += second * is_second
            np.matmul(below, to_coordinates, out=rows[chunk])
        return rows
