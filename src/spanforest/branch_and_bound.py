"""Proofs of optimality: best labellings, and lists of them, on any graph.

On forests dynamic programming gives the best labelling and the k best. On graphs with
cycles tree-reweighted message passing gives a labelling, an upper bound on the best
score, and a bound for each value of each label. Where these prove nothing, branch and
bound goes on over parts: sets of labellings whose labels keep some of their values.
Values that cannot beat the worst labelling of the list are dropped, a label with one
value left leaves the graph, and the rest is split. A part starts from the messages of
the part that it came from. The search ends when no part has a bound above the worst
labelling of the list.
"""

from __future__ import annotations

import heapq
import time
from bisect import bisect_right
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest import _compiled
from spanforest._compiled import CERTIFYING_SWEEPS, TIE
from spanforest.factors import FactorGraph
from spanforest.inference import (
    MEET,
    Decoding,
    decode,
    reachable_scores,
    rounding_slack,
)

__all__ = ["Limits", "TopLists", "decode_exactly", "k_best"]

SMALL_PART = 2**8  # a part with at most this many labellings is enumerated
SCORE_COST = 0.1  # cost of adding an edge's score, relative to its messages
PATIENCE = 0.1  # two sweeps must close this share of the gap, or a part is split


class Limits(NamedTuple):
    """The most work that a search for one example may take."""

    n_edges: int = 5 * 10**7  # that messages pass; the same on any machine
    seconds: float = np.inf


class TopLists(NamedTuple):
    """The best labellings of every example, best first.

    Scores are sums of floating-point numbers, so that bounds hold up to `slack`, a few
    ulps of what was added up. Where a score and the bound agree up to that, the score
    is not below the bound.
    """

    # (n, k, n_labels) codes; values of Y in the result of `predict_topk`
    labels: NDArray[np.intp]
    scores: NDArray[np.float64]  # (n, k); -inf at places that could not be filled
    bound: NDArray[np.float64]  # (n,) on the score of any labelling not in the list
    slack: NDArray[np.float64]  # (n,) none of these scores more than bound + slack

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Whether each labelling has its place, up to differences of `slack`."""
        is_finite = np.isfinite(self.scores) & np.isfinite(self.slack)[:, None]
        return is_finite & (self.scores >= self.bound[:, None])


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
        How far to search for each example without a proof from message passing.

    Returns
    -------
    Decoding
        Score and bound agree wherever the search came to its end; elsewhere they are
        the best ones within the limits.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.graphs import LabelGraph
    >>> triangle = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])
    >>> differ = np.tile([0.0, 1.0, 1.0, 0.0], 3)  # pairs that differ score
    >>> decoding = decode_exactly(triangle, [differ])
    >>> decoding.score.tolist(), decoding.proven.tolist()
    ([2.0], [True])
    """
    decoding = decode(factors, scores)
    open_rows = np.flatnonzero(~decoding.proven)
    if len(open_rows) == 0:
        return decoding
    rows = np.ascontiguousarray(scores, dtype=np.float64)
    for i in open_rows:
        best, budget = _List(1), _Budget(limits or Limits())
        best.add(decoding.labels[i], decoding.score[i])
        start = _Proof(decoding.bound[i], decoding.slack[i])
        bound, decoding.slack[i] = _prove(factors, rows[i], best, start, budget)
        decoding.labels[i], decoding.score[i] = best.labels[0], best.scores[0]
        decoding.bound[i] = max(bound, best.scores[0])
    return decoding


def k_best(
    factors: FactorGraph,
    scores: ArrayLike,
    k: int,
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
    limits : Limits, optional
        How far to search for each example, on a graph with cycles.

    Returns
    -------
    TopLists
        On a forest everything is proven. Where a limit was hit before the search met k
        labellings, the scores of the last places are -inf.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> lists = k_best(factors, [[0.0, 1.0, 2.0, 3.0]], k=2)
    >>> lists.labels.tolist(), lists.scores.tolist()
    ([[[1, 1], [1, 0]]], [[3.0, 2.0]])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    n, k = len(scores), min(k, factors.n_labellings)
    labels = np.zeros((n, k, factors.n_labels), dtype=np.intp)
    best = np.empty((n, k))
    if factors.graph.is_forest:
        _compiled.forest_k_best_rows(scores, factors.arrays, labels, best)
        rows = reachable_scores(factors, scores, best[:, -1])
        return TopLists(labels, best, best[:, -1], rounding_slack(factors, rows))
    decoding = decode(factors, scores)
    bounds, slack = np.empty(n), np.empty(n)
    for i, row in enumerate(scores):
        top, budget = _List(k), _Budget(limits or Limits())
        top.add(decoding.labels[i], decoding.score[i])
        top.add_neighbours(factors, row, budget)
        start = _Proof(decoding.bound[i], decoding.slack[i])
        bounds[i], slack[i] = _prove(factors, row, top, start, budget)
        n_listed = len(top.scores)  # fewer than k only if a limit was hit
        labels[i, :n_listed], best[i, :n_listed] = top.labels, top.scores
        best[i, n_listed:] = -np.inf
    return TopLists(labels, best, bounds, slack)


class _Proof(NamedTuple):
    """No labelling that is not listed scores more than `bound` + `slack`."""

    bound: float
    slack: float


class _Problem(NamedTuple):
    """The problem of one example."""

    factors: FactorGraph
    scores: NDArray[np.float64]  # (n_cells,)
    meet: float  # a bound that exceeds a score by at most this meets it


class _Budget:
    """The work that is left to a search for one example; its time starts now."""

    def __init__(self, limits: Limits) -> None:
        self.n_edges: float = limits.n_edges
        self._end = time.monotonic() + limits.seconds

    def spend(self, n_edges: float) -> None:
        """Subtract the work of passing so many edges."""
        self.n_edges -= n_edges

    @property
    def is_spent(self) -> bool:
        """Whether a limit was hit."""
        return self.n_edges <= 0 or time.monotonic() > self._end


class _List:
    """The best labellings so far, at most k, best first."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.labels: list[NDArray[np.intp]] = []
        self.scores: list[float] = []
        self._known: set[bytes] = set()

    def add(self, labels: NDArray[np.intp], score: float) -> None:
        """Add a labelling to the list if it is new and good enough."""
        if self.is_full and score <= self.scores[-1]:
            return
        labels = np.ascontiguousarray(labels, dtype=np.intp).copy()
        if labels.tobytes() in self._known:
            return
        self._known.add(labels.tobytes())
        place = bisect_right(self.scores, -score, key=lambda other: -other)
        self.labels.insert(place, labels)
        self.scores.insert(place, float(score))
        del self.labels[self.k :], self.scores[self.k :]

    def add_neighbours(
        self, factors: FactorGraph, row: NDArray[np.float64], budget: _Budget
    ) -> None:
        """Add labellings that differ by one label from one in the list.

        One walk through the list, which grows on the way.
        """
        n_edges = factors.graph.n_edges
        label_of = np.repeat(np.arange(factors.n_labels), factors.n_values)
        margins = np.empty((1, len(label_of)))
        at = 0
        while at < len(self.labels) and not budget.is_spent:
            labels, score = self.labels[at], self.scores[at]
            at += 1
            budget.spend(n_edges * SCORE_COST)
            _compiled.flip_margins(row[None], factors.arrays, labels[None], margins)
            margins[0, factors.value_start + labels] = -np.inf
            values = score + margins[0]
            for s in np.argsort(-values, kind="stable")[: self.k]:
                if values[s] <= self.threshold:
                    break
                j, new = label_of[s], labels.copy()
                new[j] = s - factors.value_start[j]
                self.add(new, _compiled.labelling_score(row, factors.arrays, new))
                budget.spend(n_edges * SCORE_COST)

    @property
    def is_full(self) -> bool:
        """Whether only a better labelling could still come in."""
        return len(self.scores) == self.k

    @property
    def threshold(self) -> float:
        """Labellings up to this score cannot enter the list."""
        return self.scores[-1] if self.is_full else -np.inf


class _Messages(NamedTuple):
    """Messages between the free labels of a part."""

    alive: NDArray[np.bool_]  # the part they belong to
    messages: NDArray[np.float64]


class _Finding(NamedTuple):
    """The result of message passing in a part."""

    labels: NDArray[np.intp]  # (n_labels,) a labelling in it
    is_best: bool  # whether that is proven, up to rounding
    caps: NDArray[np.float64]  # (total number of values,) a bound for each value


class _Part(NamedTuple):
    """The labellings whose labels take values that are alive; an item of a heap."""

    minus_bound: float
    age: int  # between equal bounds the older goes first
    alive: NDArray[np.bool_]  # (total number of values,)
    earlier: _Messages | None  # its own, or those of a part around it
    finding: _Finding | None  # None before messages were passed


def _prove(
    factors: FactorGraph,
    scores: NDArray[np.float64],
    best: _List,
    proof: _Proof,
    budget: _Budget,
) -> _Proof:
    """Search for one example and fill `best`; return the new bound and its slack.

    `proof` is what is known before the search. A list that got better may show that no
    good labelling pays large penalties. Then the search starts anew without their
    rounding errors.
    """
    bound, slack = proof
    while True:
        row = reachable_scores(factors, scores[None], [best.threshold])
        (own,) = rounding_slack(factors, row)
        if own < 0.5 * slack:
            bound, slack = np.inf, own  # the bound had larger rounding errors
        slack = max(slack, own)  # the last place of a list may pay large penalties
        problem = _Problem(factors, row[0], MEET * slack)
        bound = _search(problem, best, bound, budget)
        row = reachable_scores(factors, scores[None], [best.threshold])
        is_clearer = rounding_slack(factors, row)[0] < 0.5 * slack
        if not is_clearer or budget.is_spent:
            return _Proof(bound, slack)


def _search(problem: _Problem, best: _List, bound: float, budget: _Budget) -> float:
    """Search for one example; fill `best`, return a bound on all other labellings."""
    search = _Search(problem, best, budget)
    search.add(float(bound), np.ones(len(search.label_of), dtype=bool), None)
    while search.parts:
        bound = -search.parts[0].minus_bound
        if bound <= search.target:
            break
        if budget.is_spent:
            return search.met(bound)
        part = heapq.heappop(search.parts)
        if part.finding is None:
            search.examine(part)
        else:
            search.split(part, part.finding)
    return best.threshold


class _Search:
    """The parts of a search for one example, and the list it fills."""

    def __init__(self, problem: _Problem, best: _List, budget: _Budget) -> None:
        factors, self.scores, self.meet = problem
        self.arrays = factors.arrays
        self.start = factors.value_start
        self.label_of = np.repeat(np.arange(factors.n_labels), factors.n_values)
        self.best = best
        self.budget = budget
        self.parts: list[_Part] = []
        self._age = count()

    @property
    def target(self) -> float:
        """The bound up to which labellings of a part cannot enter the list."""
        return self.best.threshold + self.meet

    def met(self, bound: float) -> float:
        """Return a bound, lowered to the last score of the list that it meets."""
        least = bound - self.meet
        return min([bound, *(score for score in self.best.scores if score >= least)])

    def add(
        self,
        bound: float,
        alive: NDArray[np.bool_],
        earlier: _Messages | None,
        finding: _Finding | None = None,
    ) -> None:
        """Put a part on the heap."""
        part = _Part(-bound, next(self._age), alive, earlier, finding)
        heapq.heappush(self.parts, part)

    def examine(self, part: _Part) -> None:
        """Pass messages in a part; put it back unless nothing in it can enter the list.

        Where dropping values left a label with one, the part is to be examined again.
        """
        rest = _compiled.restrict(self.scores, self.arrays, part.alive)
        self.budget.spend(len(self.arrays.incident) // 2)
        if rest.n_labellings <= SMALL_PART:
            self._try_all(part, rest)
            return
        messages = _compiled.message_buffers(rest.graph, TIE)
        if part.earlier is not None:
            alive, sent = part.earlier
            _compiled.carry_messages(
                self.arrays, alive, sent, part.alive, messages.sent
            )
        bound = -part.minus_bound
        labels = np.zeros(len(rest.n_values), dtype=np.intp)
        caps = np.empty(rest.n_values.sum())
        target = self.target - rest.constant
        stop = _compiled.StoppingRule(CERTIFYING_SWEEPS, target, PATIENCE, self.meet)
        score, own_bound, n_sweeps = _compiled.bound_part(
            rest.scores, rest.graph, stop, messages, labels, caps
        )
        self.budget.spend(n_sweeps * rest.n_edges)
        whole = self._list(part, labels)

        bound = min(bound, own_bound + rest.constant)
        counts = self._counts(part.alive)
        is_free = part.alive & (counts > 1)[self.label_of]
        all_caps = np.where(part.alive, bound, -np.inf)
        all_caps[is_free] = np.minimum(caps + rest.constant, bound)
        kept = self._counts(all_caps > self.target)
        if kept.min() == 0:
            return
        is_best = own_bound - score <= self.meet
        again = part._replace(
            minus_bound=-bound,
            earlier=_Messages(part.alive, messages.sent),
            finding=_Finding(whole, bool(is_best), all_caps),
        )
        if (kept > 1).sum() < len(labels):
            alive = all_caps > self.target
            again = again._replace(alive=alive, finding=None)
        heapq.heappush(self.parts, again)

    def split(self, part: _Part, finding: _Finding) -> None:
        """Split a part around its best labelling, or at a label if that is unknown."""
        bound = -part.minus_bound
        alive = finding.caps > self.target  # the list may have got better
        counts = self._counts(alive)
        if counts.min() == 0:
            return
        if not alive[self.start + finding.labels].all():
            self.add(bound, alive, part.earlier)
        elif finding.is_best:
            self._split_around(part, alive, finding)
        elif counts.max() > 1:
            j = self._most_doubtful(alive, finding.labels)
            values = self.label_of == j
            for s in np.flatnonzero(values & alive):
                child = alive & ~values
                child[s] = True
                self.add(min(bound, finding.caps[s]), child, part.earlier)

    def _split_around(
        self, part: _Part, alive: NDArray[np.bool_], finding: _Finding
    ) -> None:
        """Make a part for every label: the first that differs from the labelling.

        The labels that are least likely to differ come first: so in the parts with the
        highest bounds most labels are fixed.
        """
        ours = self.start + finding.labels
        others = np.where(alive, finding.caps, -np.inf)
        others[ours] = -np.inf
        rivals = np.maximum.reduceat(others, self.start)
        for j in np.argsort(rivals, kind="stable"):
            if rivals[j] == -np.inf:
                continue
            values = self.label_of == j
            child = alive.copy()
            child[ours[j]] = False
            self.add(min(-part.minus_bound, rivals[j]), child, part.earlier)
            alive = alive & ~values
            alive[ours[j]] = True

    def _most_doubtful(self, alive: NDArray[np.bool_], labels: NDArray[np.intp]) -> int:
        """Return the label that costs least to change, given all others."""
        margins = np.empty((1, len(alive)))
        _compiled.flip_margins(self.scores[None], self.arrays, labels[None], margins)
        doubts = np.where(alive, margins[0], -np.inf)
        doubts[self.start + labels] = -np.inf
        return int(self.label_of[np.argmax(doubts)])

    def _try_all(self, part: _Part, rest: _compiled.Subproblem) -> None:
        """List the best labellings of a small part by scoring all of them."""
        values = np.empty(rest.n_labellings)
        _compiled.score_all(rest.scores, rest.graph, values)
        self.budget.spend(len(values) * rest.n_edges * SCORE_COST)
        for place in np.argsort(-values, kind="stable")[: self.best.k]:
            if values[place] + rest.constant <= self.best.threshold:
                break
            labels = np.unravel_index(place, rest.n_values) if len(values) > 1 else ()
            self._list(part, np.array(labels, dtype=np.intp))

    def _list(self, part: _Part, labels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Complete a labelling of the free labels, add it to the list and return it."""
        counts = self._counts(part.alive)
        place = np.cumsum(counts) - counts
        place[counts > 1] += labels
        whole = np.flatnonzero(part.alive)[place] - self.start
        score = _compiled.labelling_score(self.scores, self.arrays, whole)
        self.best.add(whole, score)
        return whole

    def _counts(self, alive: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return how many values of each label are alive."""
        return np.add.reduceat(alive.astype(np.intp), self.start)
