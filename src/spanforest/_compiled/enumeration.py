"""Scores of all labellings, and of all changes of one label."""

import numpy as np

from spanforest._compiled.cells import (
    edge_cell,
    exceeds,
    labelling_score,
    other_end,
    picked_cell,
)
from spanforest._compiled.decorators import compiled, merged

FEW_LABELLINGS = 2**14  # at most this many are tried where no bound is tight


@merged
def _next_labelling(g, labels):
    """Move on to the next labelling in lexicographic order.

    Returns the first label that changed, or -1 at the end.
    """
    j = g.label.shape[0] - 1
    while j >= 0 and labels[j] == g.label[j]["n_values"] - 1:
        labels[j] = 0
        j -= 1
    if j >= 0:
        labels[j] += 1
    return j


@merged
def exhaustive_max(scores, g, buffers, tie, labels):
    """Try every labelling; write a best one into `labels` and return its score.

    Scores closer than `tie` (relative) tie, and ties go to the first in lexicographic
    order. The buffers have shape (n_labels,). One holds the candidate, the other sums:
    sums[j] is the score of the factors between labels up to j. From one labelling to
    the next, only the last labels change, and only their sums.
    """
    candidate, sums = buffers
    candidate[:] = 0
    best, changed, is_first = 0.0, 0, True
    while changed >= 0:
        for j in range(changed, g.label.shape[0]):
            label = g.label[j]
            total = sums[j - 1] if j > 0 else 0.0
            if label["unary"] >= 0:
                total += scores[label["unary"] + candidate[j]]
            for s in range(label["incident_start"], label["incident_stop"]):
                edge = g.factor[g.incident[s]]
                if edge["second"] == j:
                    total += scores[picked_cell(edge, candidate)]
            sums[j] = total
        value = sums[g.label.shape[0] - 1]
        if is_first or exceeds(value, best, tie):
            best, is_first = value, False
            for j in range(labels.shape[0]):
                labels[j] = candidate[j]
        changed = _next_labelling(g, candidate)
    return best


def exhaustive_rows(scores, g, labels, best):
    """Apply `exhaustive_max` to every row: labels (n, n_labels), best (n,)."""
    n_labels = len(g.label)
    candidate, sums = np.empty(n_labels, dtype=np.int64), np.empty(n_labels)
    _exhaustive_rows(scores, g, (candidate, sums), labels, best)


@compiled
def _exhaustive_rows(scores, g, buffers, labels, best):
    """Do the work of `exhaustive_rows`."""
    for i in range(scores.shape[0]):
        best[i] = exhaustive_max(scores[i], g, buffers, 0.0, labels[i])


def score_all(scores, g, values):
    """Fill `values` with the score of every labelling, in lexicographic order."""
    _score_all(scores, g, np.zeros(len(g.label), dtype=np.int64), values)


@compiled
def _score_all(scores, g, labels, values):
    """Do the work of `score_all`; `labels` are zeros."""
    for s in range(values.shape[0]):
        values[s] = labelling_score(scores, g, labels)
        _next_labelling(g, labels)


@compiled
def flip_margins(scores, g, labels, margins):
    """Fill margins[i, j, a] with the score of labelling i after setting label j to a.

    Margins are differences to the score of labelling i itself, so 0 at its own value.
    """
    for i in range(scores.shape[0]):
        margins[i, :] = 0.0
        for f in range(g.factor.shape[0]):
            factor = g.factor[f]
            now = scores[i, picked_cell(factor, labels[i])]
            for j in (factor["first"], factor["second"]):
                if j < 0:
                    continue
                other = other_end(factor, j)
                b = labels[i, other] if other >= 0 else 0
                start = g.label[j]["start"]
                for a in range(g.label[j]["n_values"]):
                    c = edge_cell(factor, j, a, b)
                    margins[i, start + a] += scores[i, c] - now


# stamp: bf4b671b9d7ccd4c
