"""Parts of a branch and bound search as inference problems of their own."""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.cells import (
    edge_cell,
    exceeds,
    labelling_score,
    other_end,
    picked_cell,
)
from spanforest._compiled.decorators import compiled, internal, merged
from spanforest._compiled.messages import (
    BACKWARD,
    CLOSE,
    climb,
    close_distance,
    goes_on,
    reweighted_sweep,
)
from spanforest._compiled.records import FactorArrays, Subproblem


class FreeLabels(NamedTuple):
    """Which labels have several values left."""

    place: np.ndarray  # (n_labels,) place among the free labels, or -1
    only: np.ndarray  # (n_labels,) its last value left: the only one unless it is free
    kept: np.ndarray  # the edges between free labels


def restrict(scores, g, alive):
    """Return the problem that is left when labels keep only their `alive` values.

    A label with one value left leaves the graph: its scores go to its neighbours and
    into a constant. Every free label has a unary factor. Labels, edges and values keep
    their order. Shape: alive (total number of values,), one or more true per label.
    """
    n_labels, n_edges = len(g.label), len(g.incident) // 2
    sizes = (n_labels, n_labels, n_edges)
    free = FreeLabels(*(np.empty(size, dtype=np.int64) for size in sizes))
    label, factor = np.empty_like(g.label), np.empty(n_edges + n_labels, g.factor.dtype)
    rest = g._replace(label=label, factor=factor, incident=np.empty_like(g.incident))
    left = np.zeros(len(scores) + len(alive))
    n_free, n_kept, n_cells, constant = _restrict(scores, g, alive, free, rest, left)
    graph = FactorArrays(
        label=label[:n_free],
        factor=factor[: n_kept + n_free],
        branch=g.branch[:0],
        root=g.root[:0],
        order=g.order[:0],
        incident=rest.incident[: 2 * n_kept],
    )
    return Subproblem(left[:n_cells], graph, constant)


@compiled
def _restrict(scores, g, alive, free, rest, left):
    """Fill the graph `rest` and the scores `left`, which have more room than needed.

    Returns the numbers of free labels, of their edges and of the cells, and the
    constant.
    """
    n_free = _free_labels(g, alive, free, rest.label)
    n_kept = _free_edges(g, free)
    n_cells = _free_graph(g, free, n_kept, n_free, rest)
    _copy_tables(scores, g, alive, free.kept[:n_kept], left)
    constant = _add_fixed(scores, g, alive, free, rest.label, left)
    return n_free, n_kept, n_cells, constant


@merged
def _free_labels(g, alive, free, label):
    """Find the labels with several values left; return how many.

    In their records only the numbers of values and where these start are set.
    """
    n_free, n_values = 0, 0
    for j in range(g.label.shape[0]):
        start, n_alive = g.label[j]["start"], 0
        for a in range(g.label[j]["n_values"]):
            if alive[start + a]:
                free.only[j] = a
                n_alive += 1
        free.place[j] = -1
        if n_alive > 1:
            free.place[j] = n_free
            label[n_free]["n_values"] = n_alive
            label[n_free]["start"] = n_values
            n_free += 1
            n_values += n_alive
    return n_free


@merged
def _free_edges(g, free):
    """Find the edges both of whose ends are free; return how many."""
    place, n_kept = free.place, 0
    for e in range(g.incident.shape[0] // 2):
        if place[g.factor[e]["first"]] >= 0 and place[g.factor[e]["second"]] >= 0:
            free.kept[n_kept] = e
            n_kept += 1
    return n_kept


@merged
def _free_graph(g, free, n_kept, n_free, rest):
    """Fill the graph of the free labels, and complete their records.

    Returns the number of cells.
    """
    place, label, factor, incident = free.place, rest.label, rest.factor, rest.incident
    for j in range(n_free):
        label[j]["incident_stop"] = 0  # the number of edges, for the moment
    offset, inbox = 0, 0
    for s in range(n_kept):
        edge = g.factor[free.kept[s]]
        u, v = place[edge["first"]], place[edge["second"]]
        n_first, n_second = label[u]["n_values"], label[v]["n_values"]
        one = factor[s]
        one["first"], one["second"], one["n_second"] = u, v, n_second
        one["offset"], one["n_cells"] = offset, n_first * n_second
        one["to_first"], one["to_second"] = inbox, inbox + n_first
        offset += n_first * n_second
        inbox += n_first + n_second
        label[u]["incident_stop"] += 1
        label[v]["incident_stop"] += 1

    n_incident = 0
    for j in range(n_free):
        one = factor[n_kept + j]
        one["first"], one["second"], one["n_second"] = j, -1, 1
        one["offset"], one["n_cells"] = offset, label[j]["n_values"]
        one["to_first"], one["to_second"] = 0, 0
        label[j]["unary"] = offset
        label[j]["incident_start"] = n_incident
        n_incident += label[j]["incident_stop"]
        label[j]["incident_stop"] = label[j]["incident_start"]  # moves on below
        offset += label[j]["n_values"]

    for s in range(n_kept):
        for j in (factor[s]["first"], factor[s]["second"]):
            incident[label[j]["incident_stop"]] = s
            label[j]["incident_stop"] += 1
    return offset


@merged
def _copy_tables(scores, g, alive, kept, left):
    """Write the scores of the kept edges, without the values that are not alive."""
    c = 0
    for s in range(kept.shape[0]):
        edge = g.factor[kept[s]]
        first, second = g.label[edge["first"]], g.label[edge["second"]]
        for a in range(first["n_values"]):
            if alive[first["start"] + a]:
                row = edge["offset"] + a * edge["n_second"]
                for b in range(second["n_values"]):
                    if alive[second["start"] + b]:
                        left[c] = scores[row + b]
                        c += 1


@merged
def _add_fixed(scores, g, alive, free, label, left):
    """Add to the free labels' unary scores what factors with one free end give them.

    Returns the score of the factors that have no free end.
    """
    place, only = free.place, free.only
    constant = 0.0
    for f in range(g.factor.shape[0]):
        factor = g.factor[f]
        u, v = factor["first"], factor["second"]
        if place[u] >= 0 and v >= 0 and place[v] >= 0:
            continue
        if place[u] < 0 and (v < 0 or place[v] < 0):
            constant += scores[picked_cell(factor, only)]
            continue
        j = u if place[u] >= 0 else v  # the end that is free, or a unary factor's
        b = 0 if v < 0 else only[other_end(factor, j)]
        c, start = label[place[j]]["unary"], g.label[j]["start"]
        for a in range(g.label[j]["n_values"]):
            if alive[start + a]:
                left[c] += scores[edge_cell(factor, j, a, b)]
                c += 1
    return constant


@internal
def _is_free(label, alive):
    """Return whether a label has several values left."""
    n_alive = 0
    for s in range(label["start"], label["start"] + label["n_values"]):
        n_alive += alive[s]
    return n_alive > 1


@compiled
def carry_messages(g, alive, sent, alive_now, sent_now):
    """Copy the messages of a part to their places in a smaller part of it.

    Each part is described by the values of `g` that are alive in it.
    """
    read, written = 0, 0
    for e in range(g.incident.shape[0] // 2):
        edge = g.factor[e]
        u, v = edge["first"], edge["second"]
        first, second = g.label[u], g.label[v]
        if not (_is_free(first, alive) and _is_free(second, alive)):
            continue
        is_kept = _is_free(first, alive_now) and _is_free(second, alive_now)
        for j in (u, v):
            start = g.label[j]["start"]
            for a in range(g.label[j]["n_values"]):
                if not alive[start + a]:
                    continue
                if is_kept and alive_now[start + a]:
                    sent_now[written] = sent[read]
                    written += 1
                read += 1


def bound_part(scores, g, stop, messages, labels, caps):
    """Bound the labellings of a part, and those in which a label takes a value.

    As `pass_messages`, from any messages, and with a `StoppingRule`. The gap of its
    patience is the bound's distance above the target or the score. Shape: caps (total
    number of values,); no labelling with the value scores more than its cap. Returns
    score, bound and the number of sweeps made.

    Why caps hold: the sweep before has split the scores into chains whose maxima add
    up to its bound. When the next sweep comes to label j, the belief of j is the sum of
    the max-marginals of the chains through it; up to then chains have been averaged,
    which raises no sum of maxima. So a labelling with a value is below that bound at
    least by as much as the value's belief is below the best of its label.
    """
    drops = np.empty(len(caps))
    return _bound_part(scores, g, stop, messages, drops, labels, caps)


@compiled
def _bound_part(scores, g, stop, messages, drops, labels, caps):
    """Do the work of `bound_part`; `drops` is a buffer like `caps`."""
    score, bound, last = -np.inf, np.inf, np.inf
    before = np.inf
    least_distance = close_distance(scores, g)
    caps[:] = np.inf
    n_sweeps = 0
    while n_sweeps < stop.max_sweeps:
        direction = n_sweeps % 2  # FORWARD first
        latest = reweighted_sweep(scores, g, direction, messages, drops)
        n_sweeps += 1
        for s in range(caps.shape[0]):
            caps[s] = min(caps[s], last + drops[s])
        last = latest
        bound = min(bound, latest)
        value = labelling_score(scores, g, messages.labels)
        if n_sweeps == 1 or exceeds(value, score, messages.tie):
            score = value
            for j in range(labels.shape[0]):
                labels[j] = messages.labels[j]
        close = least_distance + CLOSE * abs(bound)
        if bound <= stop.target:
            break
        if direction == BACKWARD:
            if not goes_on(before - bound, bound - score, close, stop.meet):
                break
            if before - bound <= stop.patience * (bound - max(stop.target, score)):
                break
            before = bound
    climb(scores, g, messages, labels)
    score = labelling_score(scores, g, labels)
    return score, max(bound, score), n_sweeps


# stamp: bf4b671b9d7ccd4c
