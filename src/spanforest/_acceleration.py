"""Acceleration: averages of the dual variables over epochs, and how much to smooth."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spanforest import _compiled


class Acceleration:
    """Smooths the dual variables A over epochs, and values that are linear in them.

    The primal is solved as a sequence of proximal problems, each with the term
    κ/2 ‖w - z‖² and given one epoch, where the centre z is extrapolated from the
    solutions before (Catalyst: Lin, Mairal & Harchaoui 2015). In the dual this is two
    exponential averages in a row, with ρ = 1 - (1 + κ)^(-1/2) and A_k the dual
    variables after epoch k:

        once_k  = ρ once_(k-1)  + (1 - ρ) A_k
        twice_k = ρ twice_(k-1) + (1 - ρ) once_k

    Scores are computed from the second average. During an epoch a change of A enters
    it times `scale` = (1 - ρ)² = 1 / (1 + κ), so that visits see a flatter objective
    and take longer steps. An average of dual feasible points is dual feasible.

    Every value that is linear in A is averaged in the same way.
    """

    def __init__(self, values: Sequence[NDArray[np.float64]]) -> None:
        """Take the arrays that are linear in the second average, in memory order.

        They are the weights, the intercept and the loss term, in the order of C or of
        Fortran.
        """
        self.rho, self.scale = 0.0, 1.0
        once = [np.zeros_like(value) for value in values]
        past = [np.zeros_like(value) for value in values]  # value - scale * A's own
        self._averages = _compiled.Averages(values, once, past)

    def advance(self, kappa: float) -> None:
        """Begin an epoch with a new κ, and change the values in place accordingly.

        Between two calls the caller adds `scale` times each change of A's own value.
        """
        rho = 1.0 - 1.0 / math.sqrt(1.0 + kappa)
        scale = (1.0 - rho) ** 2
        self._averages.advance((self.rho, rho), (self.scale, scale))
        self.rho, self.scale = rho, scale


class Pace:
    """Chooses κ: more every epoch, up to a cap; less when the gap no longer shrinks.

    Measurements showed that more smoothing pays the longer training takes, and where
    ½‖w‖² is a small share of the objective, as with noisy labels.
    """

    PATIENCE = 10  # epochs without a new smallest gap
    LARGEST = 20.0  # limit of κ, which is halved when PATIENCE ends
    SMALLEST_CAP = 3.5
    CAP_PER_RATIO = 3.0  # the cap, relative to D / ‖w‖²
    GROWTH = 0.5  # of κ per epoch

    def __init__(self) -> None:
        self.limit = self.LARGEST
        self.n_epochs = 0
        self.best_gap = np.inf
        self.best_epoch = 0

    def observe(self, gap: float) -> bool:
        """Note the gap's estimate after an epoch; return whether there is progress."""
        self.n_epochs += 1
        if gap < self.best_gap:
            self.best_gap, self.best_epoch = gap, self.n_epochs
        elif self.n_epochs - self.best_epoch >= self.PATIENCE:
            self.limit *= 0.5
            self.best_epoch = self.n_epochs
            return False
        return True

    def kappa(self, dual: float, squared_norm: float) -> float:
        """Return κ for the next epoch."""
        cap = self.limit
        if squared_norm > 0.0:
            ratio = self.CAP_PER_RATIO * dual / squared_norm
            cap = min(cap, max(ratio, self.SMALLEST_CAP))
        return min(cap, self.GROWTH * self.n_epochs)
