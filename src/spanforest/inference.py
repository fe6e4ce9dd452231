"""Inference on factor graphs: best labellings, max-marginals, bounds on the best score.

Scores of n examples have shape (n, n_cells): one row per example and one column per
cell of the factor graph. All functions take many examples, are compiled, and run
without the GIL.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest import _compiled
from spanforest._compiled import CERTIFYING_SWEEPS, FEW_LABELLINGS
from spanforest.factors import FactorGraph

__all__ = [
    "Decoding",
    "decode",
    "exhaustive_search",
    "label_margins",
    "max_marginals",
    "max_product",
    "max_sum",
    "score_labels",
    "tree_reweighted",
]


class Decoding(NamedTuple):
    """Labellings, their scores, and bounds on the best scores.

    Where score and bound agree to rounding, relative to the scores of the factors, they
    are equal.
    """

    # (n, n_labels) codes; values of Y in the result of `predict_certified`
    labels: NDArray[np.intp]
    score: NDArray[np.float64]  # (n,) score of the labelling
    bound: NDArray[np.float64]  # (n,) no labelling scores higher; inf if unknown

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Whether the bound shows the labelling to be optimal (up to rounding).

        An infinite score proves nothing.
        """
        return np.isfinite(self.score) & (self.score >= self.bound)


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
    walk = _compiled.walk_buffers(factors.arrays)
    _compiled.forest_max_sums(scores, factors.arrays, walk, labels, best)
    return Decoding(labels, best, best)


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
    walk = _compiled.walk_buffers(factors.arrays)
    downward = np.empty_like(walk.upward)
    _compiled.forest_max_marginals(scores, factors.arrays, walk, downward, flat)
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
    labels, score = _empty_result(factors, len(scores))
    bound = np.empty_like(score)
    g = factors.arrays
    messages = _compiled.message_buffers(g)
    _compiled.tree_reweighted_rows(
        scores, g, max_sweeps, messages, labels, score, bound
    )
    return Decoding(labels, score, bound)


def max_product(
    factors: FactorGraph,
    scores: ArrayLike,
    n_sweeps: int | None = None,
    damping: float = 0.5,
) -> tuple[Decoding, NDArray[np.bool_]]:
    """Decode on any graph by damped loopy max-product, the paper's method.

    Parameters
    ----------
    factors : FactorGraph
        The factors.
    scores : array-like of shape (n, n_cells)
        The scores.
    n_sweeps : int, optional
        Number of sweeps; by default the graph's diameter, the paper's early stopping.
    damping : float in [0, 1)
        Share of the old message that is kept; 0 is exact on trees.

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
    >>> decoding, _ = max_product(chain, [[0.0, 1.0, 2.0, 3.0]], damping=0.0)
    >>> decoding.labels.tolist()
    [[1, 1]]
    """
    if not 0 <= damping < 1:
        raise ValueError(f"damping must lie in [0, 1); got {damping}.")
    scores = _as_scores(factors, scores)
    labels, change = _empty_result(factors, len(scores))
    if n_sweeps is None:
        n_sweeps = factors.graph.diameter
    schedule = _compiled.Schedule(int(n_sweeps), float(damping))
    g = factors.arrays
    messages = _compiled.message_buffers(g)
    fresh = np.empty_like(messages.sent)
    _compiled.max_product_rows(scores, g, schedule, messages, fresh, labels, change)
    score = score_labels(factors, scores, labels)
    converged = change <= 1e-9 * np.abs(scores).max(axis=1, initial=0.0)
    return Decoding(labels, score, np.full_like(score, np.inf)), converged


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
    candidate = np.zeros(factors.n_labels, dtype=np.intp)
    _compiled.exhaustive_rows(scores, factors.arrays, candidate, labels, best)
    return Decoding(labels, best, best)


def decode(factors: FactorGraph, scores: ArrayLike) -> Decoding:
    """Find good labellings with bounds.

    Exact on forests. Elsewhere by tree-reweighted message passing; where that proves
    nothing and there are at most 4096 labellings, all of them are tried.

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
    decoding = tree_reweighted(factors, scores)
    open_rows = np.flatnonzero(~decoding.proven)
    if len(open_rows) and factors.n_labellings <= FEW_LABELLINGS:
        exact = exhaustive_search(factors, scores[open_rows])
        for values, proven in zip(decoding, exact, strict=True):
            values[open_rows] = proven
    return decoding


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
