"""Training on graphs with cycles: lists of labellings, and margin violations.

On a forest the marginals of an example are all that training needs. On a graph with
cycles they do not tell how much mass a labelling has. There every example keeps a list
of labellings with their masses. At first it holds the true labelling only, which has
all mass: training starts at dual variables that are zero.

The best labelling is not always proven there. So each margin violation has two bounds:
one from a labelling, and one from message passing or a search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spanforest import _compiled
from spanforest.branch_and_bound import Limits, decode_exactly
from spanforest.factors import FactorGraph
from spanforest.inference import TINY, tree_reweighted

FIRST_ROOM = 6  # places of every list at the start
LIMITS = Limits(n_edges=20_000)  # of a search for one example


class Cycles:
    """The lists of labellings of all examples, and bounds on their violations.

    Parameters
    ----------
    factors : FactorGraph
        The factors.
    Y : ndarray of shape (n_samples, n_labels)
        Codes of the true labels, any code where one is not observed.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> triangle = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])
    >>> cycles = Cycles(triangle, np.array([[0, 1, 1], [1, 0, 0]], dtype=np.int32))
    >>> cycles.make_room()
    >>> cycles.mixtures.length.tolist()
    [1, 1]
    """

    def __init__(self, factors: FactorGraph, Y: NDArray[np.int32]) -> None:
        n_samples, n_labels = Y.shape
        self.factors = factors
        start = FIRST_ROOM * np.arange(n_samples)
        labels = np.zeros((FIRST_ROOM * n_samples, n_labels), dtype=Y.dtype)
        labels[start] = Y
        self.mixtures = _compiled.Mixtures(
            start=start,
            length=np.ones(n_samples, dtype=np.intp),
            labels=labels,
            mass=np.zeros(len(labels)),
            score=np.empty(FIRST_ROOM),
            messages=_compiled.message_buffers(factors.arrays, _compiled.TRAINING_TIE),
            sums=np.empty(n_labels),
            meet=np.full(1, np.inf),
            tries_all=int(factors.n_labellings <= TINY),
        )
        self.least = np.zeros(n_samples)  # lower bounds on the margin violations
        self.most = np.zeros(n_samples)  # upper bounds
        self._best: NDArray[np.intp] | None = None  # labellings of the last `measure`

    def scale(self, factor: float) -> None:
        """Multiply the dual variables by a factor; the true labellings get the rest."""
        self.mixtures.mass[:] *= factor

    def make_room(self) -> None:
        """Get ready for an epoch: each list has room for what a visit adds.

        The labellings of the last `measure` enter the lists, without mass. So visits
        know labellings that a short search does not find.
        """
        start, length = self.mixtures.start, self.mixtures.length
        room = np.diff(start, append=len(self.mixtures.mass))
        if (length + 2 > room).any():
            self._spread(length + 2 + length // 2 + 2)
        if self._best is not None:
            self.mixtures.labels[self.mixtures.start + length] = self._best
            self.mixtures.mass[self.mixtures.start + length] = 0.0
            length += 1
            self._best = None

    def _spread(self, room: NDArray[np.intp]) -> None:
        """Give each list this many places."""
        old, length = self.mixtures, self.mixtures.length
        start = np.cumsum(room) - room
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        before, after = (np.repeat(at, length) + within for at in (old.start, start))
        labels = np.zeros((room.sum(), old.labels.shape[1]), old.labels.dtype)
        mass = np.zeros(len(labels))
        labels[after], mass[after] = old.labels[before], old.mass[before]
        self.mixtures = old._replace(
            start=start, labels=labels, mass=mass, score=np.empty(room.max())
        )

    def measure(
        self,
        rows: NDArray[np.intp],
        scores: NDArray[np.float64],
        true_scores: NDArray[np.float64],
        *,
        exactly: bool = False,
    ) -> None:
        """Bound the margin violations of some examples.

        `scores` include the loss. Bounds come from message passing, or `exactly` from
        a search.
        """
        if exactly or self.mixtures.tries_all:
            decoding = decode_exactly(self.factors, scores, LIMITS)
        else:
            decoding = tree_reweighted(self.factors, scores)
        if self._best is None:
            self._best = np.zeros((len(self.least), self.factors.n_labels), np.intp)
        self._best[rows] = decoding.labels
        self.least[rows] = np.maximum(decoding.score - true_scores, 0.0)
        self.most[rows] = np.maximum(decoding.bound - true_scores, 0.0)

    def search(
        self,
        prices: NDArray[np.float64],
        excess: float,
        prove: Callable[[int], None],
    ) -> bool:
        """Compute violations exactly until their sum fell by `excess`, if it can.

        The sum is weighted by `prices`. `prove` calls `measure` for one example. The
        examples with most to gain come first. Returns whether any was searched.
        """
        doubts = prices * (self.most - self.least)
        left, searched = doubts.sum(), False
        for i in np.argsort(-doubts, kind="stable").tolist():
            if not 0.0 < excess <= left:
                break
            before, searched = self.most[i], True
            prove(i)
            excess -= prices[i] * (before - self.most[i])
            left -= doubts[i]
        return searched
