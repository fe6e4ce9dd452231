"""Which label sets, and which labels, a model takes for others most often."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest.model_page._outcomes import UNKNOWN, Outcomes

N_SINGLE = 4  # pairs to show if every pair occurs once


class CountedRow(NamedTuple):
    """A row of an array, and how often it occurs."""

    row: NDArray[np.int32]
    n: int


class ConfusedSets(NamedTuple):
    """A true label set for which another one was predicted, and how often."""

    true: list[str]
    predicted: list[str]
    n: int


class PredictedSet(NamedTuple):
    """A label set, and for how many examples it was predicted."""

    labels: list[str]
    n: int


class Swap(NamedTuple):
    """A label that was missed where another one was predicted, and how often."""

    missed: str
    predicted: str
    n: int


def count_rows(array: NDArray[np.int32]) -> list[CountedRow]:
    """Return the different rows of an array, the most frequent ones first.

    Rows are compared by digests: a copy of every different row may not fit into memory.

    Examples
    --------
    >>> import numpy as np
    >>> rows = count_rows(np.array([[1, 2], [3, 4], [3, 4]]))
    >>> [(each.row.tolist(), each.n) for each in rows]
    [([3, 4], 2), ([1, 2], 1)]
    """
    counts: dict[bytes, list[int]] = {}  # the first row of a kind, and their number
    for i, row in enumerate(array):
        key = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
        counts.setdefault(key, [i, 0])[1] += 1
    ordered = sorted(counts.values(), key=lambda each: -each[1])
    return [CountedRow(array[i], n) for i, n in ordered]


def confused_sets(outcomes: Outcomes, number: int) -> list[ConfusedSets]:
    """Return the pairs of label sets that are confused most often.

    Only examples whose labels are all known count. If every pair occurs once, only a
    few are returned.
    """
    rows = outcomes.complete
    if outcomes.truth is None or not len(rows):
        return []
    rows = rows[outcomes.wrong(rows).any(axis=1)]
    pairs = count_rows(np.hstack([outcomes.truth[rows], outcomes.predicted[rows]]))
    if pairs and pairs[0].n == 1:
        number = min(number, N_SINGLE)
    confused = []
    for pair in pairs[:number]:
        true, predicted = map(outcomes.label_set, np.split(pair.row, 2))
        confused.append(ConfusedSets(true, predicted, pair.n))
    return confused


def predicted_sets(outcomes: Outcomes, number: int) -> list[PredictedSet]:
    """Return the label sets that are predicted most often."""
    return [
        PredictedSet(outcomes.label_set(each.row), each.n)
        for each in count_rows(outcomes.predicted)[:number]
    ]


def swapped_labels(outcomes: Outcomes, number: int) -> list[Swap]:
    """Return the pairs of labels of which one is missed where the other is predicted.

    Both mistakes are in the same example. Pairs that occur once are left out: they may
    be chance.
    """
    if outcomes.truth is None:
        return []
    missed, extra = [], []
    for question in outcomes.questions:
        truth = outcomes.truth[:, question.label]
        is_true = truth == question.code
        is_predicted = outcomes.predicted[:, question.label] == question.code
        missed.append(sparse.csc_array((is_true & ~is_predicted)[:, None]))
        wrong = is_predicted & ~is_true & (truth != UNKNOWN)
        extra.append(sparse.csc_array(wrong[:, None]))
    counts = (
        sparse.hstack(missed).astype(int).T @ sparse.hstack(extra).astype(int)
    ).tocoo()
    names = [question.name for question in outcomes.questions]
    order = np.argsort(-counts.data, kind="stable")[:number]
    return [
        Swap(names[counts.row[s]], names[counts.col[s]], int(counts.data[s]))
        for s in order
        if counts.data[s] > 1
    ]
