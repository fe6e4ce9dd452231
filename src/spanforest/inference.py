"""Inference on factor graphs: best labellings, max-marginals, bounds on the best score.

Scores of n examples have shape (n, n_cells): one row per example and one column per
cell of the factor graph. All functions take many examples, are compiled, and run
without the GIL.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest import _compiled
from spanforest._compiled import CERTIFYING_SWEEPS, FEW_LABELLINGS, TIE
from spanforest.factors import FactorGraph

__all__ = [
    "Decoding",
    "decode",
    "exhaustive_search",
    "label_margins",
    "max_marginals",
    "max_product",
    "max_sum",
    "reachable_scores",
    "rounding_slack",
    "score_labels",
    "tree_reweighted",
]


TINY = 2**8  # a graph with at most this many labellings needs no message passing
TRIED_ROWS = 256  # examples whose labellings are tried at once: they fit a cache
SLACK = 32.0  # rounding errors, in units of N u T; see `rounding_slack`
MEET = 0.25  # share of the slack by which a bound may exceed a score that it meets


class Decoding(NamedTuple):
    """Labellings, their scores, and bounds on the best scores.

    Scores are sums of floating-point numbers, so that bounds hold up to `slack`, a few
    ulps of what was added up. Where score and bound agree up to that, they are equal.
    """

    # (n, n_labels) codes; values of Y in the result of `predict_certified`
    labels: NDArray[np.intp]
    score: NDArray[np.float64]  # (n,) score of the labelling
    bound: NDArray[np.float64]  # (n,) on the score of any labelling; inf if unknown
    slack: NDArray[np.float64]  # (n,) no labelling scores more than bound + slack

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Whether no labelling scores more than this one by more than `slack`.

        An infinite score, or one of infinite slack, proves nothing.
        """
        is_finite = np.isfinite(self.score) & np.isfinite(self.slack)
        return is_finite & (self.score >= self.bound)


def score_labels(
    factors: FactorGraph, scores: ArrayLike, labels: ArrayLike
) -> NDArray[np.float64]:
    """Return <scores_i, U(labels_i)>: the sum of the cells a labelling picks.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> score_labels(factors, [[0.0, 1.0, 2.0, 3.0]], [[1, 0]]).tolist()
    [2.0]
    """
    scores = _as_scores(factors, scores)
    return np.take_along_axis(scores, factors.cells(labels), axis=1).sum(axis=1)


def max_sum(factors: FactorGraph, scores: ArrayLike) -> Decoding:
    """Find a best labelling on a tree or forest by max-sum with backtracking.

    Ties go to lower values, but never to a mixture of two optima.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> max_sum(factors, [[0.0, 1.0, 2.0, 3.0]]).labels.tolist()
    [[1, 1]]
    """
    _need_forest(factors, "max_sum")
    scores = _as_scores(factors, scores)
    labels, best = _empty_result(factors, len(scores))
    _compiled.forest_max_sums(scores, factors.arrays, labels, best)
    slack = rounding_slack(factors, reachable_scores(factors, scores, best))
    return Decoding(labels, best, best, slack)


def max_marginals(factors: FactorGraph, scores: ArrayLike) -> list[NDArray[np.float64]]:
    """Return every label's max-marginals on a tree or forest.

    Element j has shape (n, n_values[j]): the best score of a labelling whose label j
    takes the value.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> max_marginals(factors, [[0.0, 1.0, 2.0, 3.0]])[0].tolist()
    [[1.0, 3.0]]
    """
    _need_forest(factors, "max_marginals")
    scores = _as_scores(factors, scores)
    flat = np.empty((len(scores), factors.n_values.sum()))
    _compiled.forest_max_marginals(scores, factors.arrays, flat)
    return np.split(flat, factors.value_start[1:], axis=1)


def tree_reweighted(
    factors: FactorGraph,
    scores: ArrayLike,
    max_sweeps: int = CERTIFYING_SWEEPS,
) -> Decoding:
    """Decode on any graph by sequential tree-reweighted message passing.

    Return a labelling and an upper bound on the best score for every example; where
    they meet, the labelling is proven optimal (Kolmogorov 2006).

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> triangle = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])
    >>> decoding = tree_reweighted(triangle, [[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]])
    >>> decoding.labels.tolist(), decoding.proven.tolist()
    ([[1, 1, 1]], [True])
    """
    scores = _as_scores(factors, scores)
    decoding = _pass_messages(factors, scores, max_sweeps)
    reachable = reachable_scores(factors, scores, decoding.score)
    if reachable is scores:
        return decoding
    blurred = np.flatnonzero(rounding_slack(factors, reachable) < decoding.slack)
    clear = _pass_messages(factors, reachable[blurred], max_sweeps)
    is_better = clear.score > decoding.score[blurred]
    better = blurred[is_better]
    decoding.labels[better] = clear.labels[is_better]
    decoding.score[better] = clear.score[is_better]
    decoding.bound[blurred] = np.where(
        clear.bound - decoding.score[blurred] <= MEET * clear.slack,
        decoding.score[blurred],
        clear.bound,
    )
    decoding.slack[blurred] = clear.slack
    return decoding


def _pass_messages(
    factors: FactorGraph, scores: NDArray[np.float64], max_sweeps: int
) -> Decoding:
    labels, score = _empty_result(factors, len(scores))
    bound, slack = np.empty_like(score), rounding_slack(factors, scores)
    _compiled.tree_reweighted_rows(
        scores, factors.arrays, max_sweeps, MEET * slack, labels, score, bound
    )
    return Decoding(labels, score, bound, slack)


def reachable_scores(
    factors: FactorGraph, scores: ArrayLike, reached: ArrayLike
) -> NDArray[np.float64]:
    """Return the scores, with penalties that no good labelling pays made smaller.

    With m_f the largest cell of factor f, a labelling that picks a cell s of factor f
    scores at most sum_f m_f - (m_f - s). Where that is below `reached`, the score of
    some labelling, the cell is in no labelling that is as good, but its rounding errors
    blur messages. Such cells are raised to a score that is still too low, if that makes
    the slack less than half as large.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> reachable_scores(factors, [[0.0, -1e9, 2.0, 3.0]], [3.0]).tolist()
    [[0.0, 0.0, 2.0, 3.0]]
    """
    scores = _as_scores(factors, scores)
    total, size, largest = _largest_sums(factors, scores).T
    with np.errstate(invalid="ignore", over="ignore"):
        room = 2.0 * (total - np.asarray(reached)) + size
    # otherwise half of the slack comes from the largest cells, which are not raised
    rows = np.flatnonzero((largest > 2.0 * size) & np.isfinite(room))
    if len(rows) == 0:
        return scores
    factor, some = factors.arrays.factor, scores[rows]
    top = _over_cells(np.maximum, factors, some)
    lowest = np.repeat(top - room[rows, None], factor["n_cells"], axis=1)
    raised = np.maximum(some, lowest)
    pays = _largest_sums(factors, raised)[:, 2] < 0.5 * largest[rows]
    scores = scores.copy()
    scores[rows[pays]] = raised[pays]
    return scores


def rounding_slack(factors: FactorGraph, scores: ArrayLike) -> NDArray[np.float64]:
    """Return by how much a labelling that is proven may miss the best score.

    This is 32 N u T. T is the sum over factors of the largest absolute score of a cell,
    N = 2 n_labels + n_edges is at least the number of additions that a cell goes
    through, and u = 2^-53 is the relative rounding error of one. The section about
    rounding in the docs' page on notation derives it.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> float(rounding_slack(factors, [[0.0, 1.0, 2.0, 3.0]])[0] * 2**53)
    480.0
    """
    n_additions = 2 * factors.n_labels + factors.graph.n_edges
    largest = _largest_sums(factors, _as_scores(factors, scores))[:, 2]
    with np.errstate(over="ignore", under="ignore"):
        one_error = 0.5 * np.finfo(np.float64).eps * largest
        # below the smallest normal number sums are exact, but not products
        return (
            SLACK * n_additions * (one_error + np.finfo(np.float64).smallest_subnormal)
        )


def _largest_sums(
    factors: FactorGraph, scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return three sums over factors, for every row of scores.

    They are the sums of m_f, |m_f| and M_f, with m_f the largest cell of factor f and
    M_f its largest absolute value. A cell that is not a number makes all three so.
    """
    top = _over_cells(np.maximum, factors, scores)
    largest = np.maximum(top, -_over_cells(np.minimum, factors, scores))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.stack([top.sum(1), np.abs(top).sum(1), largest.sum(1)], axis=1)


def _over_cells(
    extreme: np.ufunc, factors: FactorGraph, scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest or smallest cell of every factor, of shape (n, n_factors).

    If all factors have the same number of cells, columns of whole arrays are compared.
    That is ten times as fast as `reduceat`, and does not hold Python's lock.
    """
    factor = factors.arrays.factor
    n_cells = int(factor["n_cells"][0])
    if (factor["n_cells"] != n_cells).any():
        return extreme.reduceat(scores, factor["offset"], axis=1)
    return reduce(extreme, [scores[:, c::n_cells] for c in range(n_cells)])


def max_product(
    factors: FactorGraph,
    scores: ArrayLike,
    n_sweeps: int | None = None,
    damping: float | None = None,
) -> tuple[Decoding, NDArray[np.bool_]]:
    """Decode on any graph by damped loopy max-product, the paper's method.

    With the defaults it is exact on forests.

    Parameters
    ----------
    factors : FactorGraph
        The factors.
    scores : array-like of shape (n, n_cells)
        The scores.
    n_sweeps : int, optional
        Number of sweeps; by default the graph's diameter, the paper's early stopping.
    damping : float in [0, 1), optional
        Share of the old message that is kept; by default 0.5, but 0 on forests, where
        it is exact.

    Returns
    -------
    decoding : Decoding
        No bound comes with this method: it is infinite.
    converged : ndarray of shape (n,)
        Whether the last sweep changed the messages by no more than rounding.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> chain = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> decoding, _ = max_product(chain, [[0.0, 1.0, 2.0, 3.0]])
    >>> decoding.labels.tolist()
    [[1, 1]]
    """
    if damping is None:
        damping = 0.0 if factors.graph.is_forest else 0.5
    if not 0 <= damping < 1:
        raise ValueError(f"damping must lie in [0, 1); got {damping}.")
    scores = _as_scores(factors, scores)
    labels, change = _empty_result(factors, len(scores))
    if n_sweeps is None:
        n_sweeps = factors.graph.diameter
    schedule = _compiled.Schedule(int(n_sweeps), float(damping))
    _compiled.max_product_rows(scores, factors.arrays, schedule, labels, change)
    score = score_labels(factors, scores, labels)
    converged = change <= 1e-9 * np.abs(scores).max(axis=1, initial=0.0)
    slack = rounding_slack(factors, reachable_scores(factors, scores, score))
    return Decoding(labels, score, np.full_like(score, np.inf), slack), converged


def exhaustive_search(factors: FactorGraph, scores: ArrayLike) -> Decoding:
    """Find a best labelling by trying all of them: the oracle of the tests.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> exhaustive_search(factors, [[0.0, 1.0, 2.0, 3.0]]).score.tolist()
    [3.0]
    """
    if factors.n_labellings > 2**24:
        raise ValueError(
            f"exhaustive_search tries at most 2 ** 24 labellings; this graph has "
            f"{factors.n_labellings}. Use decode instead."
        )
    scores = _as_scores(factors, scores)
    labels, best = _empty_result(factors, len(scores))
    _compiled.exhaustive_rows(scores, factors.arrays, labels, best)
    slack = rounding_slack(factors, reachable_scores(factors, scores, best))
    return Decoding(labels, best, best, slack)


def decode(factors: FactorGraph, scores: ArrayLike) -> Decoding:
    """Find good labellings with bounds.

    Exact on forests, and where there are at most 256 labellings: all of them are tried.
    Elsewhere by tree-reweighted message passing; where that proves nothing and there
    are at most 16384 labellings, all of them are tried.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> decode(factors, [[0.0, 1.0, 2.0, 3.0]]).proven.tolist()
    [True]
    """
    if factors.graph.is_forest:
        return max_sum(factors, scores)
    scores = _as_scores(factors, scores)
    if factors.n_labellings <= TINY:
        return _try_all(factors, scores)
    decoding = tree_reweighted(factors, scores)
    open_rows = np.flatnonzero(~decoding.proven)
    if len(open_rows) and factors.n_labellings <= FEW_LABELLINGS:
        exact = exhaustive_search(factors, scores[open_rows])
        for values, proven in zip(decoding, exact, strict=True):
            values[open_rows] = proven
    return decoding


def _try_all(factors: FactorGraph, scores: NDArray[np.float64]) -> Decoding:
    """Find best labellings by trying all; ties go to the first in lexicographic order.

    With 256 labellings this takes about as long as message passing, with fewer less. It
    compiles nothing.
    """
    labellings = np.indices(factors.n_values.tolist()).reshape(factors.n_labels, -1).T
    cells = factors.cells(labellings)
    labels, score = _empty_result(factors, len(scores))
    for start in range(0, len(scores), TRIED_ROWS):
        rows = slice(start, start + TRIED_ROWS)
        by_cell = np.ascontiguousarray(scores[rows].T)
        values = np.zeros((len(cells), by_cell.shape[1]))
        with np.errstate(invalid="ignore", over="ignore"):
            for picked in cells.T:  # of one factor, by all labellings
                values += by_cell[picked]
            top = values.max(axis=0)
            enough = np.where(np.isfinite(top), top - 2.0 * TIE * np.abs(top), top)
        best = (values >= enough).argmax(axis=0)
        labels[rows] = labellings[best]
        score[rows] = values[best, np.arange(len(best))]
    slack = rounding_slack(factors, reachable_scores(factors, scores, score))
    return Decoding(labels, score, score.copy(), slack)


def label_margins(
    factors: FactorGraph, scores: ArrayLike, decoding: Decoding | None = None
) -> list[NDArray[np.float64]]:
    """Return how well each value of each label scores, relative to the best labelling.

    On a forest these are the max-marginals minus the maximum: what it costs to force a
    value when all other labels may follow. On a graph with cycles, where max-marginals
    cannot be computed, the other labels stay as decoded. Either way the decoded value
    has margin 0, and where the decoding is optimal no margin is positive.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> label_margins(factors, [[0.0, 1.0, 2.0, 3.0]])[1].tolist()
    [[-1.0, 0.0]]
    """
    if factors.graph.is_forest:
        return [
            marginals - marginals.max(axis=1, keepdims=True)
            for marginals in max_marginals(factors, scores)
        ]
    scores = _as_scores(factors, scores)
    if decoding is None:
        decoding = decode(factors, scores)
    flat = np.empty((len(scores), factors.n_values.sum()))
    _compiled.flip_margins(scores, factors.arrays, decoding.labels, flat)
    return np.split(flat, factors.value_start[1:], axis=1)


def _as_scores(factors: FactorGraph, scores: ArrayLike) -> NDArray[np.float64]:
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] != factors.n_cells:
        raise ValueError(
            f"scores must have shape (n, {factors.n_cells}), a column per cell of the "
            f"factor graph; got {scores.shape}."
        )
    return scores


def _empty_result(
    factors: FactorGraph, n: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    return np.zeros((n, factors.n_labels), dtype=np.intp), np.empty(n)


def _need_forest(factors: FactorGraph, what: str) -> None:
    if not factors.graph.is_forest:
        raise ValueError(
            f"{what} needs a graph without cycles; this one has "
            f"{factors.graph.n_edges} edges over {factors.n_labels} labels. "
            "Use tree_reweighted or decode."
        )
