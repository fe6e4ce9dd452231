"""Proofs of optimality: best labellings, and lists of them, on any graph.

On forests dynamic programming gives the best labelling and the k best. On graphs with
cycles tree-reweighted message passing gives a labelling and an upper bound on the best
score. Where these leave doubt, branch and bound goes on: one label is fixed to each of
its values in turn; every such part has a labelling and a bound of its own, and the
search ends when no part has a bound above the worst labelling of the list.
"""

from __future__ import annotations

import heapq
import time
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest import _compiled
from spanforest._compiled import FORBIDDEN
from spanforest.factors import FactorGraph
from spanforest.inference import (
    Decoding,
    decode,
    label_margins,
    score_labels,
    tree_reweighted,
)

__all__ = ["Limits", "Seeds", "TopLists", "decode_exactly", "k_best"]


class Limits(NamedTuple):
    """How far a search for one example may go."""

    n_edges: int = 10**6  # of all parts together; unlike a time, the same every day
    seconds: float = np.inf


class TopLists(NamedTuple):
    """The best labellings of every example, best first."""

    labels: NDArray[np.intp]  # (n, k, n_labels)
    scores: NDArray[np.float64]  # (n, k)
    bound: NDArray[np.float64]  # (n,) no labelling outside the list scores higher

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Whether each labelling is proven to have its place, up to rounding."""
        slack = 1e-9 * (1.0 + np.abs(self.scores))
        return self.scores >= self.bound[:, None] - slack


class Seeds(NamedTuple):
    """Labellings that are likely to score high, such as the members' best ones."""

    labels: NDArray[np.intp]  # (n, n_seeds, n_labels)
    bound: NDArray[np.float64]  # (n,) no other labelling scores higher; inf if unknown


def decode_exactly(
    factors: FactorGraph, scores: ArrayLike, limits: Limits | None = None
) -> Decoding:
    """Find best labellings and prove them best.

    Parameters
    ----------
    factors : FactorGraph
        The factors.
    scores : array-like of shape (n, n_cells)
        The scores.
    limits : Limits, optional
        How far to search for each example that message passing leaves open.

    Returns
    -------
    Decoding
        Score and bound agree wherever the search came to its end; elsewhere they are
        the best found within the limits.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.graphs import LabelGraph
    >>> triangle = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])
    >>> differ = np.tile([0.0, 1.0, 1.0, 0.0], 3)  # every pair would like to differ
    >>> found = decode_exactly(triangle, [differ])
    >>> found.score.tolist(), found.proven.tolist()
    ([2.0], [True])
    """
    found = decode(factors, scores)
    open_rows = np.flatnonzero(~found.proven)
    if len(open_rows) == 0:
        return found
    wide, spread = _with_unary_factors(factors, np.asarray(scores)[open_rows])
    for i, row in zip(open_rows, spread, strict=True):
        best = _List(1)
        best.add(found.labels[i], found.score[i])
        bound = _search(wide, row, best, found.bound[i], limits or Limits())
        found.labels[i], found.score[i] = best.labels[0], best.scores[0]
        found.bound[i] = max(bound, best.scores[0])
    return found


def k_best(
    factors: FactorGraph,
    scores: ArrayLike,
    k: int,
    seeds: Seeds | None = None,
    limits: Limits | None = None,
) -> TopLists:
    """Find the k best labellings of every example.

    Parameters
    ----------
    factors : FactorGraph
        The factors.
    scores : array-like of shape (n, n_cells)
        The scores.
    k : int
        How many; all labellings if there are fewer.
    seeds : Seeds, optional
        The better they are, the sooner the search on a graph with cycles ends; there
        is none where k of them reach the bound. Forests need no seeds.
    limits : Limits, optional
        How far to search for each example, on a graph with cycles.

    Returns
    -------
    TopLists
        On a forest all is proven; otherwise what the search proved.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> found = k_best(factors, [[0.0, 1.0, 2.0, 3.0]], k=2)
    >>> found.labels.tolist(), found.scores.tolist()
    ([[[1, 1], [1, 0]]], [[3.0, 2.0]])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    n, k = len(scores), min(k, factors.n_labellings)
    labels = np.zeros((n, k, factors.n_labels), dtype=np.intp)
    best = np.empty((n, k))
    if factors.graph.is_forest:
        _compiled.forest_k_best_rows(scores, factors.arrays, labels, best)
        return TopLists(labels, best, best[:, -1])
    found = decode(factors, scores)
    wide, spread = _with_unary_factors(factors, scores)
    bounds = np.empty(n)
    for i, row in enumerate(spread):
        top = _List(k)
        top.add(found.labels[i], found.score[i])
        outside = np.inf
        if seeds is not None:
            top.add_all(seeds.labels[i], wide, row)
            outside = seeds.bound[i]
        if top.threshold >= outside:
            bounds[i] = top.threshold
        else:
            bounds[i] = _search(wide, row, top, found.bound[i], limits or Limits())
        n_found = len(top.scores)  # fewer than k only if a limit was hit
        labels[i, :n_found], best[i, :n_found] = top.labels, top.scores
        best[i, n_found:] = -np.inf
    return TopLists(labels, best, bounds)


class _List:
    """The best labellings so far, at most k, best first."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.labels: list[NDArray[np.intp]] = []
        self.scores: list[float] = []
        self._known: set[bytes] = set()

    def add(self, labels: NDArray[np.intp], score: float) -> None:
        """Take a labelling into the list if it is new and good enough."""
        if self.is_full and score <= self.scores[-1]:
            return
        labels = np.ascontiguousarray(labels, dtype=np.intp).copy()
        if labels.tobytes() in self._known:
            return
        self._known.add(labels.tobytes())
        place = sum(score <= other for other in self.scores)
        self.labels.insert(place, labels)
        self.scores.insert(place, float(score))
        del self.labels[self.k :], self.scores[self.k :]

    def add_all(
        self, labels: NDArray[np.intp], factors: FactorGraph, row: NDArray[np.float64]
    ) -> None:
        """Take in those of many labellings of an example that are good enough."""
        labels = np.unique(labels, axis=0)
        scores = score_labels(factors, np.tile(row, (len(labels), 1)), labels)
        for one in np.argsort(-scores, kind="stable")[: self.k]:
            self.add(labels[one], scores[one])

    @property
    def is_full(self) -> bool:
        """Whether only a better labelling could still come in."""
        return len(self.scores) == self.k

    @property
    def threshold(self) -> float:
        """Score up to which labellings are of no interest."""
        return self.scores[-1] if self.is_full else -np.inf


class _Part(NamedTuple):
    """The labellings in which some labels are fixed; a heap gives the best bound."""

    minus_bound: float
    age: int  # between equal bounds the older goes first
    fixed: NDArray[np.intp]  # (n_labels,) codes, -1 where free
    labels: NDArray[np.intp]  # the labelling found in it


def _search(
    factors: FactorGraph,
    scores: NDArray[np.float64],
    best: _List,
    bound: float,
    limits: Limits,
) -> float:
    """Search for one example; fill `best`, return a bound on what is not in it.

    `factors` has a unary factor for every label; `best` has at least one labelling.
    """
    age = count()
    nothing = np.full(factors.n_labels, -1, dtype=np.intp)
    parts = [_Part(-float(bound), next(age), nothing, best.labels[0])]
    end = time.monotonic() + limits.seconds
    n_edges = 0
    while parts:
        bound = -parts[0].minus_bound
        if bound <= best.threshold + 1e-10 * (1.0 + abs(bound)):
            return best.threshold
        if n_edges >= limits.n_edges or time.monotonic() > end:
            return bound
        part = heapq.heappop(parts)
        j = _most_doubtful(factors, scores, part)
        if j is None:  # a single labelling, which the list has seen
            continue
        choices = np.repeat(part.fixed[None], factors.n_values[j], axis=0)
        choices[:, j] = np.arange(factors.n_values[j])
        found = tree_reweighted(factors, _restricted(factors, scores, choices))
        n_edges += len(choices) * factors.graph.n_edges
        for fixed, labels, score, new_bound in zip(choices, *found, strict=True):
            best.add(labels, score)
            lower = -min(bound, float(new_bound))
            heapq.heappush(parts, _Part(lower, next(age), fixed, labels))
    return best.threshold if best.is_full else -np.inf


def _most_doubtful(
    factors: FactorGraph, scores: NDArray[np.float64], part: _Part
) -> int | None:
    """Give the free label that costs least to change, given all others."""
    free = np.flatnonzero((part.fixed < 0) & (factors.n_values > 1))
    if len(free) == 0:
        return None
    decoding = Decoding(part.labels[None], np.zeros(1), np.zeros(1))
    margins = label_margins(factors, scores[None], decoding)
    doubts = [np.delete(margins[j][0], part.labels[j]).max() for j in free]
    return int(free[np.argmax(doubts)])


def _with_unary_factors(
    factors: FactorGraph, scores: NDArray[np.float64]
) -> tuple[FactorGraph, NDArray[np.float64]]:
    """Give every label a unary factor, through which it can be fixed."""
    wide = FactorGraph(factors.graph, factors.n_values, np.arange(factors.n_labels))
    spread = np.zeros((len(scores), wide.n_cells))
    spread[:, wide.places_of(factors)] = scores
    return wide, spread


def _restricted(
    factors: FactorGraph, scores: NDArray[np.float64], fixed: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Give the scores, a row per row of `fixed`, with the other values forbidden."""
    restricted = np.tile(scores, (len(fixed), 1))
    for row, codes in zip(restricted, fixed, strict=True):
        for j in np.flatnonzero(codes >= 0):
            start = factors.arrays.label["unary"][j]
            cells = row[start : start + factors.n_values[j]]
            kept = cells[codes[j]]
            cells[:] = FORBIDDEN
            cells[codes[j]] = kept
    return restricted
