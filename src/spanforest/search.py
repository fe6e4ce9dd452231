"""Proofs of optimality: best labellings on graphs with cycles, by branch and bound.

Tree-reweighted message passing gives a labelling and an upper bound on the best score.
Where they differ, one label is fixed to each of its values in turn; every such part
has a labelling and a bound of its own, and parts whose bound is not above the best
labelling so far are done with.
"""

from __future__ import annotations

import heapq
import time
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest._compiled import FORBIDDEN
from spanforest.factors import FactorGraph
from spanforest.inference import Decoding, decode, label_margins, tree_reweighted

__all__ = ["Limits", "decode_exactly"]


class Limits(NamedTuple):
    """How far a search for one example may go."""

    n_edges: int = 10**6  # of all parts together; unlike a time, the same every day
    seconds: float = np.inf


class _Found(NamedTuple):
    """What is known of one example."""

    labels: NDArray[np.intp]  # (n_labels,)
    score: float
    bound: float


class _Part(NamedTuple):
    """The labellings in which some labels are fixed; a heap gives the best bound."""

    minus_bound: float
    age: int  # between equal bounds the older goes first
    fixed: NDArray[np.intp]  # (n_labels,) codes, -1 where free
    labels: NDArray[np.intp]  # the labelling found in it


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
    wide = FactorGraph(factors.graph, factors.n_values, np.arange(factors.n_labels))
    spread = np.zeros((len(open_rows), wide.n_cells))
    rows = np.asarray(scores, dtype=np.float64)[open_rows]
    spread[:, wide.places_of(factors)] = rows
    for i, row in zip(open_rows, spread, strict=True):
        start = _Found(found.labels[i], float(found.score[i]), float(found.bound[i]))
        end = _search(wide, row, start, limits or Limits())
        found.labels[i], found.score[i], found.bound[i] = end
    return found


def _search(
    factors: FactorGraph, scores: NDArray[np.float64], start: _Found, limits: Limits
) -> _Found:
    """Search for one example; `factors` has a unary factor for every label."""
    labels, best, bound = start
    age = count()
    nothing = np.full(factors.n_labels, -1, dtype=np.intp)
    parts = [_Part(-bound, next(age), nothing, labels)]
    end = time.monotonic() + limits.seconds
    n_edges = 0
    while parts:
        bound = -parts[0].minus_bound
        slack = 1e-10 * (1.0 + abs(best))
        if bound <= best + slack:
            return _Found(labels, best, best)
        if n_edges >= limits.n_edges or time.monotonic() > end:
            return _Found(labels, best, bound)
        part = heapq.heappop(parts)
        j = _most_doubtful(factors, scores, part)
        if j is None:  # all labels fixed: its score is its bound, up to rounding
            continue
        choices = np.repeat(part.fixed[None], factors.n_values[j], axis=0)
        choices[:, j] = np.arange(factors.n_values[j])
        found = tree_reweighted(factors, _restricted(factors, scores, choices))
        n_edges += len(choices) * factors.graph.n_edges
        for fixed, *one in zip(choices, *found, strict=True):
            new_labels, score, new_bound = one
            if score > best:
                labels, best = new_labels, float(score)
            new_bound = min(bound, float(new_bound))
            heapq.heappush(parts, _Part(-new_bound, next(age), fixed, new_labels))
    return _Found(labels, best, best)


def _most_doubtful(
    factors: FactorGraph, scores: NDArray[np.float64], part: _Part
) -> int | None:
    """Give the free label that costs least to change, given all others."""
    free = np.flatnonzero(part.fixed < 0)
    if len(free) == 0:
        return None
    decoding = Decoding(part.labels[None], np.zeros(1), np.zeros(1))
    margins = label_margins(factors, scores[None], decoding)
    doubts = []
    for j in free:
        others = np.delete(margins[j][0], part.labels[j])
        doubts.append(others.max(initial=-np.inf))
    return int(free[np.argmax(doubts)])


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
