"""Scores of all labellings, and of all changes of one label."""

import numpy as np

from spanforest._compiled.cells import (
    edge_cell,
    labelling_score,
    other_end,
    picked_cell,
)
from spanforest._compiled.decorators import compiled, internal, merged

FEW_LABELLINGS = 2**12  # at most this many are tried where no bound is tight


@merged
def _next_labelling(g, labels):
    """Move on to the next labelling in lexicographic order; return False at the end."""
    j = g.label.shape[0] - 1
    while j >= 0 and labels[j] == g.label[j]["n_values"] - 1:
        labels[j] = 0
        j -= 1
    if j >= 0:
        labels[j] += 1
    return j >= 0


@merged
def exhaustive_max(scores, g, candidate, labels):
    """Try every labelling; write a best one into `labels` and return its score.

    Ties go to the first in lexicographic order. `candidate` is a buffer (n_labels,).
    """
    candidate[:] = 0
    best = -np.inf
    while True:
        value = labelling_score(scores, g, candidate)
        if value > best:
            best = value
            for j in range(labels.shape[0]):
                labels[j] = candidate[j]
        if not _next_labelling(g, candidate):
            return best


def exhaustive_rows(scores, g, labels, best):
    """Apply `exhaustive_max` to every row: labels (n, n_labels), best (n,)."""
    _exhaustive_rows(scores, g, np.empty(len(g.label), dtype=np.int64), labels, best)


@compiled
def _exhaustive_rows(scores, g, candidate, labels, best):
    """Do the work of `exhaustive_rows`."""
    for i in range(scores.shape[0]):
        best[i] = exhaustive_max(scores[i], g, candidate, labels[i])


def score_all(scores, g, values):
    """Fill `values` with the score of every labelling, in lexicographic order."""
    _score_all(scores, g, np.zeros(len(g.label), dtype=np.int64), values)


@compiled
def _score_all(scores, g, labels, values):
    """Do the work of `score_all`; `labels` are zeros."""
    for s in range(values.shape[0]):
        values[s] = labelling_score(scores, g, labels)
        _next_labelling(g, labels)


@internal
def has_few_labellings(g):
    """Return whether there are at most FEW_LABELLINGS."""
    count = 1
    for j in range(g.label.shape[0]):
        count *= g.label[j]["n_values"]
        if count > FEW_LABELLINGS:
            return False
    return True


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


# stamp: b67eeef6a28bb694
