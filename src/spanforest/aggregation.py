"""How the members of an ensemble are combined: MVE, AMM and MAM.

All functions take the members' factor graphs, and for each member its scores of n
examples, of shape (n, n_cells of the member).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._wording import quoted
from spanforest.branch_and_bound import decode_exactly
from spanforest.factors import FactorGraph, average_scores, consensus_factors
from spanforest.inference import SLACK, decode, label_margins, rounding_slack

__all__ = [
    "AGGREGATIONS",
    "Ballot",
    "average_margins",
    "combine",
    "consensus_margins",
    "count_ballots",
    "margins_for",
    "predicted_margins",
]

AGGREGATIONS = ("mve", "amm", "mam")
MARGIN_SLACK = 8.0  # rounding errors of two margins, in units of N u T (see inference)


class Ballot(NamedTuple):
    """Votes and margins of some members; one array (n, n_values) per label."""

    votes: list[NDArray[np.float64]]  # how many members predict each value
    margins: list[NDArray[np.float64]]  # sum of the members' margins (see inference)
    n_members: int
    slack: NDArray[np.float64]  # (n,) bound on the error of a difference of margins

    def choose(self, aggregation: str) -> NDArray[np.intp]:
        """Return the codes that win: by votes (MVE) or by margins (AMM).

        Each breaks the ties of the other; what is left goes to the lower value.
        Margins tie if they differ by no more than `slack`: rounding may do that.
        """
        codes = []
        for votes, margins in zip(self.votes, self.margins, strict=True):
            by_votes, by_margins = (votes, 0.0), (margins, self.slack[:, None])
            order = {"mve": (by_votes, by_margins), "amm": (by_margins, by_votes)}
            is_open = np.ones(votes.shape, dtype=bool)
            for values, noise in order[aggregation]:
                values = np.where(is_open, values, -np.inf)
                is_open &= values >= values.max(axis=1, keepdims=True) - noise
            codes.append(is_open.argmax(axis=1))
        return np.column_stack(codes)

    def strengths(self, aggregation: str) -> list[NDArray[np.float64]]:
        """Return how strongly each value is supported, one array per label.

        Average max-marginals up to a constant (AMM), or shares of votes, to which the
        margins add less than half a vote (MVE).
        """
        n = self.n_members
        if aggregation == "mve":
            return [
                (votes + 0.5 * margins / (n + np.abs(margins))) / n
                for votes, margins in zip(self.votes, self.margins, strict=True)
            ]
        if aggregation == "amm":
            return [margins / n for margins in self.margins]
        raise ValueError(
            f"ballots say nothing of the aggregation {quoted(aggregation)}."
        )


def combine(
    aggregation: str,
    members: Sequence[FactorGraph],
    scores: Sequence[NDArray[np.float64]],
    union: FactorGraph | None = None,
) -> NDArray[np.intp]:
    """Return the codes an ensemble predicts, from the scores of each of its members.

    Parameters
    ----------
    aggregation : {"mve", "amm", "mam"}
        How they are combined.
    members : sequence of FactorGraph
        The factors of every member.
    scores : sequence of ndarray of shape (n, n_cells of the member)
        The scores of every member.
    union : FactorGraph, optional
        The members' `consensus_factors`, for callers that combine many scores.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> pair = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> scores = [np.array([[0.0, 3.0, 0.0, 2.0]]), np.array([[0.0, 0.0, 0.0, 2.0]])]
    >>> combine("mam", [pair, pair], scores).tolist()
    [[1, 1]]
    """
    if aggregation != "mam":
        *_, ballot = count_ballots(members, scores)
        return ballot.choose(aggregation)
    if union is None:
        union = consensus_factors(members)
    return decode_exactly(union, average_scores(union, members, scores)).labels


def count_ballots(
    members: Sequence[FactorGraph], scores: Iterable[NDArray[np.float64]]
) -> Iterator[Ballot]:
    """Yield the votes and margins of the first 1, 2, ... members.

    Parameters
    ----------
    members : sequence of FactorGraph
        The factors of every member.
    scores : iterable of ndarray of shape (n, n_cells of the member)
        The scores of every member.

    Yields
    ------
    Ballot
        The counts so far.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> alone = FactorGraph(LabelGraph(1, []), [2])
    >>> scores = [np.array([[0.0, 1.0]]), np.array([[3.0, 0.0]])]
    >>> [ballot.votes[0].tolist() for ballot in count_ballots([alone, alone], scores)]
    [[[0.0, 1.0]], [[1.0, 1.0]]]
    """
    votes: list[Any] = [0.0] * members[0].n_labels
    margins: list[Any] = [0.0] * members[0].n_labels
    slack: Any = 0.0
    added: Any = 0.0  # u T, summed over the members so far
    for t, (factors, member_scores) in enumerate(zip(members, scores, strict=True)):
        # without search, which costs too much per member: on a graph with cycles a
        # vote may differ from the member's own `predict`
        decoding = decode(factors, member_scores)
        for j, margin in enumerate(label_margins(factors, member_scores, decoding)):
            chosen = decoding.labels[:, j, None] == np.arange(margin.shape[1])
            votes[j] = votes[j] + chosen
            margins[j] = margins[j] + margin
        n_additions = 2 * factors.n_labels + factors.graph.n_edges
        one = rounding_slack(factors, member_scores) / (SLACK * n_additions)
        added = added + one
        slack = slack + MARGIN_SLACK * n_additions * one + 4.0 * added
        yield Ballot(list(votes), list(margins), t + 1, slack)


def average_margins(
    members: Sequence[FactorGraph], scores: Iterable[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the average of the members' margins, one array per label: those of AMM.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> alone = FactorGraph(LabelGraph(1, []), [2])
    >>> scores = [np.array([[0.0, 1.0]]), np.array([[3.0, 0.0]])]
    >>> average_margins([alone, alone], scores)[0].tolist()
    [[-0.5, -1.5]]
    """
    total: Any = 0.0
    for factors, member_scores in zip(members, scores, strict=True):
        total = total + np.column_stack(label_margins(factors, member_scores))
    return np.split(total / len(members), members[0].value_start[1:], axis=1)


def consensus_margins(
    members: Sequence[FactorGraph], scores: Iterable[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the margins of the average scores, one array per label: those of MAM.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> alone = FactorGraph(LabelGraph(1, []), [2])
    >>> scores = [np.array([[0.0, 1.0]]), np.array([[3.0, 0.0]])]
    >>> consensus_margins([alone, alone], scores)[0].tolist()
    [[0.0, -1.0]]
    """
    union = consensus_factors(members)
    return predicted_margins(union, average_scores(union, members, scores))


def margins_for(aggregation: str) -> Callable[..., list[NDArray[np.float64]]]:
    """Return the function that computes the margins that probabilities rest on.

    With MVE these are the margins of AMM: votes are too coarse.

    Examples
    --------
    >>> margins_for("mve").__name__
    'average_margins'
    """
    return consensus_margins if aggregation == "mam" else average_margins


def predicted_margins(
    factors: FactorGraph, scores: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return the margins around the label sets that are predicted, one per label.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> pair = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> first, second = predicted_margins(pair, np.array([[0.0, 3.0, 0.0, 2.0]]))
    >>> first.tolist(), second.tolist()
    ([[0.0, -1.0]], [[-3.0, 0.0]])
    """
    decoding = None if factors.graph.is_forest else decode_exactly(factors, scores)
    return label_margins(factors, scores, decoding)
