"""Exact inference on forests: best labellings and max-marginals."""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.cells import TIE, exceeds
from spanforest._compiled.decorators import NEXT, compiled, merged, place


class Walk(NamedTuple):
    """The buffers of a walk up a forest."""

    upward: np.ndarray  # (total number of values,) best score of each subtree
    choices: np.ndarray  # per branch and value of the parent, the child's best value
    tie: float  # relative; closer scores tie


def walk_buffers(g, tie):
    """Return the buffers of a walk up a forest."""
    return Walk(
        upward=np.empty(g.label["n_values"].sum()),
        choices=np.empty(g.branch["n_parent"].sum(), dtype=np.int64),
        tie=tie,
    )


@merged
def walk_up(scores, g, walk):
    """Fill upward[j, a], the best score of j's subtree if label j takes value a.

    Also note, for every branch and value of the parent, the best value of the child.
    Ties go to the lower value: after an exact line search two labellings usually tie,
    and rounding errors must not choose between them.
    """
    upward, choices, tie = walk.upward, walk.choices, walk.tie
    factors, labels, branches = g.factor, g.label, g.branch
    upward[:] = 0.0
    for f in range(g.incident.shape[0] // 2, factors.shape[0]):  # the unary factors
        factor = factors[f]
        start = labels[factor["first"]]["start"]
        for a in range(factor["n_cells"]):
            upward[start + a] = scores[factor["offset"] + a]
    for e in range(branches.shape[0] - 1, -1, -1):  # leaves first
        branch = branches[place(e)]
        mine, theirs = place(branch["child_start"]), place(branch["parent_start"])
        row, step = place(branch["offset"]), place(branch["child_stride"])
        first_choice, next_row = place(branch["choices"]), branch["parent_stride"]
        if branch["n_child"] == 2 and branch["n_parent"] == 2:  # the common case
            other_row = row + place(next_row)
            low, high = upward[mine], upward[mine + NEXT]
            off, on = scores[row] + low, scores[row + step] + high
            upward[theirs] += on if on > off else off
            choices[first_choice] = exceeds(on, off, tie)
            off, on = scores[other_row] + low, scores[other_row + step] + high
            upward[theirs + NEXT] += on if on > off else off
            choices[first_choice + NEXT] = exceeds(on, off, tie)
            continue
        for a in range(branch["n_parent"]):
            best, choice = scores[row] + upward[mine], 0
            for b in range(1, branch["n_child"]):
                value = scores[row + place(b) * step] + upward[mine + place(b)]
                if exceeds(value, best, tie):
                    best, choice = value, b
            upward[theirs + place(a)] += best
            choices[first_choice + place(a)] = choice
            row += place(next_row)


@merged
def walk_back(g, walk, labels):
    """Write a highest-scoring labelling into `labels` and return its score.

        y* = argmax_y <scores, U(y)>        (the paper's inference problem)

    The scores are those of the last `walk_up`. Labels are chosen from the roots down,
    each given the value of its parent, so that ties cannot mix two optima.
    """
    upward, choices = walk.upward, walk.choices
    label, branches, roots = g.label, g.branch, g.root
    total = 0.0
    for s in range(roots.shape[0]):
        j = roots[s]
        start = label[j]["start"]
        choice = 0
        for a in range(1, label[j]["n_values"]):
            if exceeds(upward[start + a], upward[start + choice], walk.tie):
                choice = a
        labels[j] = choice
        total += upward[start + choice]
    for e in range(branches.shape[0]):  # the parent already has its value
        branch = branches[place(e)]
        value = place(labels[place(branch["parent"])])
        labels[place(branch["child"])] = choices[place(branch["choices"]) + value]
    return total


def forest_max_sums(scores, g, labels, best):
    """Find a best labelling of every row: labels (n, n_labels), best (n,)."""
    walk = walk_buffers(g, TIE)
    _decode_rows(scores, g, walk, labels, best, np.empty(0), np.empty((0, 0)))


@merged
def _walk_down(scores, g, upward, downward):
    """Fill downward[j, a], the best score of all but j's subtree if j takes value a.

    Only j's own component counts. Returns the best score over all components.
    """
    total = 0.0
    for j in g.root:
        start = g.label[j]["start"]
        best = upward[start]
        for s in range(start, start + g.label[j]["n_values"]):
            downward[s] = 0.0
            best = max(best, upward[s])
        total += best
    for e in range(g.branch.shape[0]):
        branch = g.branch[e]
        mine, step = branch["child_start"], branch["child_stride"]
        for b in range(branch["n_child"]):
            downward[mine + b] = -np.inf
        for a in range(branch["n_parent"]):
            row = branch["offset"] + a * branch["parent_stride"]
            message = -np.inf  # the child's share of upward, for the parent's value a
            for b in range(branch["n_child"]):
                message = max(message, scores[row + b * step] + upward[mine + b])
            theirs = branch["parent_start"] + a
            rest = downward[theirs] + upward[theirs] - message
            for b in range(branch["n_child"]):
                value = rest + scores[row + b * step]
                downward[mine + b] = max(downward[mine + b], value)
    return total


def forest_max_marginals(scores, g, marginals):
    """Fill marginals[i, j, a] = max over y with y_j = a of <scores_i, U(y)>.

    One walk up and one down. Shapes: scores (n, n_cells), marginals (n, total number
    of values). Components other than j's enter by their best scores.
    """
    walk = walk_buffers(g, TIE)
    labels, best = np.empty((1, len(g.label)), dtype=np.int64), np.empty(1)
    _decode_rows(scores, g, walk, labels, best, np.empty_like(walk.upward), marginals)


@compiled
def _decode_rows(scores, g, walk, labels, best, downward, marginals):
    """Do the work of `forest_max_sums` and `forest_max_marginals`.

    Together they compile faster: both walk up. Without marginals there is no walk down.
    All rows write the same labels if there is room for one row only.
    """
    upward = walk.upward
    for i in range(scores.shape[0]):
        r = min(i, labels.shape[0] - 1)
        walk_up(scores[i], g, walk)
        best[r] = walk_back(g, walk, labels[r])
        if marginals.shape[0] == 0:
            continue
        total = _walk_down(scores[i], g, upward, downward)
        for j in range(g.label.shape[0]):
            start = g.label[j]["start"]
            stop = start + g.label[j]["n_values"]
            top = -np.inf
            for s in range(start, stop):
                marginals[i, s] = upward[s] + downward[s]
                top = max(top, marginals[i, s])
            for s in range(start, stop):
                marginals[i, s] += total - top


# stamp: bf4b671b9d7ccd4c
