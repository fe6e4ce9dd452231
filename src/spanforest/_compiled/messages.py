"""Message passing on graphs with cycles: labellings, and bounds on the best score."""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.cells import (
    FORBIDDEN,
    NEGLIGIBLE,
    TIE,
    edge_cell,
    exceeds,
    labelling_score,
    other_end,
)
from spanforest._compiled.decorators import compiled, internal, merged

CLOSE = 1e-10  # relative; a bound this close to a score is about to meet it
CERTIFYING_SWEEPS = 200  # of message passing, where an optimum is to be proven


class Messages(NamedTuple):
    """The messages of a graph, and the buffers of passing them."""

    sent: np.ndarray  # one entry per edge, end and value of that end
    labels: np.ndarray  # (n_labels,) the labelling of the last sweep
    belief: np.ndarray  # (largest number of values,) of one label
    chosen: np.ndarray  # (n_labels,) whether a label of the labelling has its value
    tie: float  # relative; closer scores of labellings tie


NO_MESSAGES = Messages(
    sent=np.zeros(0),
    labels=np.zeros(0, dtype=np.int64),
    belief=np.zeros(0),
    chosen=np.zeros(0, dtype=np.bool_),
    tie=0.0,
)


def message_buffers(g, tie):
    """Return messages that are zero; scores closer than `tie` (relative) will tie."""
    n_labels, n_edges = len(g.label), len(g.incident) // 2
    n_entries = 0
    if n_edges > 0:
        last = g.factor[n_edges - 1]
        n_entries = last["to_second"] + last["n_second"]
    return Messages(
        sent=np.zeros(n_entries),
        labels=np.zeros(n_labels, dtype=np.int64),
        belief=np.empty(g.label["n_values"].max()),
        chosen=np.zeros(n_labels, dtype=np.bool_),
        tie=tie,
    )


@merged
def _inbox(factor, j):
    """Return where the message along an edge into label j starts."""
    return factor["to_first"] if factor["first"] == j else factor["to_second"]


@merged
def _unary_scores(scores, label, belief):
    """Fill belief[a] with the unary score of value a."""
    for a in range(label["n_values"]):
        belief[a] = scores[label["unary"] + a] if label["unary"] >= 0 else 0.0


@merged
def _collect(scores, g, j, messages):
    """Fill belief[a] with the unary score of j = a plus all messages into j."""
    label, belief, sent = g.label[j], messages.belief, messages.sent
    _unary_scores(scores, label, belief)
    for s in range(label["incident_start"], label["incident_stop"]):
        inbox = _inbox(g.factor[g.incident[s]], j)
        for a in range(label["n_values"]):
            belief[a] += sent[inbox + a]


@internal
def _choose(scores, g, j, messages, labels):
    """Choose label j: chosen neighbours count by their value, others by message.

    The scores of its values are left in `belief`.
    """
    label, belief, sent = g.label[j], messages.belief, messages.sent
    _unary_scores(scores, label, belief)
    for s in range(label["incident_start"], label["incident_stop"]):
        edge = g.factor[g.incident[s]]
        other = other_end(edge, j)
        if messages.chosen[other]:
            for a in range(label["n_values"]):
                belief[a] += scores[edge_cell(edge, j, a, labels[other])]
        else:
            inbox = _inbox(edge, j)
            for a in range(label["n_values"]):
                belief[a] += sent[inbox + a]
    choice = 0
    for a in range(1, label["n_values"]):
        if exceeds(belief[a], belief[choice], messages.tie):
            choice = a
    labels[j] = choice
    messages.chosen[j] = True


@merged
def _send(scores, g, e, j, messages, out):
    """Write to `out` the message along edge e from label j, 0 at its largest.

        m(b) = max_a  belief(a) - (message into j along e)(a) + score_e(a, b)

    Returns what was subtracted to make the largest entry 0.
    """
    edge, belief, sent = g.factor[e], messages.belief, messages.sent
    other = other_end(edge, j)
    inbox, outbox = _inbox(edge, j), _inbox(edge, other)
    largest = -np.inf
    for b in range(g.label[other]["n_values"]):
        best = -np.inf
        for a in range(g.label[j]["n_values"]):
            value = belief[a] - sent[inbox + a]
            best = max(best, value + scores[edge_cell(edge, j, a, b)])
        out[outbox + b] = best
        largest = max(largest, best)
    for b in range(g.label[other]["n_values"]):
        out[outbox + b] -= largest
    return largest


@internal
def reweighted_sweep(scores, g, forward, messages, drops):
    """Pass messages once along the labels' order, or against it; return the bound.

    One sweep of sequential tree-reweighted message passing (Kolmogorov 2006), for a
    maximum. Label j splits its belief over its monotonic chains: as many as it has
    edges ahead or behind, whichever is more. The numbers that are subtracted to
    normalise the beliefs and the messages add up to a bound on every labelling's score,
    because no remaining score is positive. The labelling of the sweep stands in
    `messages.labels`. `drops`, unless it is empty, takes the beliefs: how far each
    value of each label is below the label's best one.
    """
    n_labels = g.label.shape[0]
    belief = messages.belief
    messages.chosen[:] = False
    bound = 0.0
    for s in range(n_labels):
        j = s if forward else n_labels - 1 - s
        label = g.label[j]
        _choose(scores, g, j, messages, messages.labels)
        _collect(scores, g, j, messages)
        top = -np.inf
        for a in range(label["n_values"]):
            top = max(top, belief[a])
        bound += top
        n_ahead = 0
        for e in g.incident[label["incident_start"] : label["incident_stop"]]:
            if (other_end(g.factor[e], j) > j) == forward:
                n_ahead += 1
        n_behind = label["incident_stop"] - label["incident_start"] - n_ahead
        share = 1.0 / max(n_ahead, n_behind, 1)
        for a in range(label["n_values"]):
            if drops.shape[0] > 0:
                drops[label["start"] + a] = belief[a] - top
            belief[a] = share * (belief[a] - top)
        for e in g.incident[label["incident_start"] : label["incident_stop"]]:
            if (other_end(g.factor[e], j) > j) == forward:
                bound += _send(scores, g, e, j, messages, messages.sent)
    return bound


@merged
def climb(scores, g, messages, labels):
    """Change single labels as long as that raises the score."""
    belief = messages.belief
    messages.chosen[:] = True
    improved = True
    while improved:
        improved = False
        for j in range(g.label.shape[0]):
            before = labels[j]
            _choose(scores, g, j, messages, labels)
            if labels[j] == before:
                continue
            if exceeds(belief[labels[j]], belief[before], messages.tie):
                improved = True
            else:
                labels[j] = before


@merged
def close_distance(scores, g):
    """Return the distance at which a bound of 0 is close to a score.

    For another bound add CLOSE times its size. Sweeps that bring less stop, unless the
    bound is close and may still meet the score. The scale is the sum of the largest
    cells of the factors, so that a large penalty, which no good labelling picks, enters
    only by its rounding errors in messages. There is no absolute term: scaled scores
    are swept as often.
    """
    total, largest = 0.0, 0.0
    for f in range(g.factor.shape[0]):
        start = g.factor[f]["offset"]
        top = scores[start]
        for c in range(start, start + g.factor[f]["n_cells"]):
            top = max(top, scores[c])
            if scores[c] > FORBIDDEN:
                largest = max(largest, abs(scores[c]))
        total += abs(top)
    return CLOSE * total + NEGLIGIBLE * largest


@merged
def goes_on(fall, distance, close, meet):
    """Return whether two more sweeps pay, after two that lowered the bound by `fall`.

    `distance` is how far the bound is above the score, `close` when it is close, and
    `meet` when it meets the score.
    """
    if distance <= close:
        return distance > meet and fall > 0.1 * meet
    return fall > 10.0 * close


@merged
def tree_reweighted(scores, g, max_sweeps, meet, messages, labels):
    """Write a labelling into `labels`; return its score and a bound on the best one.

    Also return whether the bound meets the score: it is close, and above the score by
    at most `meet`. Then the labelling is optimal up to that, and sweeping stops. It
    also stops when a sweep in each direction hardly improved the bound; then at least
    no change of a single label is an improvement. `messages.sent` holds zeros or any
    earlier messages.
    """
    no_drops = messages.belief[:0]
    score, bound = -np.inf, np.inf
    before, close = np.inf, 0.0
    least_distance = close_distance(scores, g)
    for sweep in range(max_sweeps):
        forward = sweep % 2 == 0
        bound = min(bound, reweighted_sweep(scores, g, forward, messages, no_drops))
        value = labelling_score(scores, g, messages.labels)
        if sweep == 0 or exceeds(value, score, messages.tie):
            score = value
            for j in range(labels.shape[0]):
                labels[j] = messages.labels[j]
        close = least_distance + CLOSE * abs(bound)
        if bound - score <= min(meet, close):
            return score, bound, True
        if not forward:
            if not goes_on(before - bound, bound - score, close, meet):
                break
            before = bound
    climb(scores, g, messages, labels)
    score = labelling_score(scores, g, labels)
    return score, bound, bound - score <= min(meet, close)


def tree_reweighted_rows(scores, g, max_sweeps, meet, labels, score, bound):
    """Apply `tree_reweighted` to every row of scores, each from zero messages.

    Bounds that meet the score become equal to it. Shape: meet (n,).
    """
    messages = message_buffers(g, TIE)
    _reweighted_rows(scores, g, max_sweeps, meet, messages, labels, (score, bound))


@compiled
def _reweighted_rows(scores, g, max_sweeps, meet, messages, labels, results):
    """Do the work of `tree_reweighted_rows`; `results` are scores and bounds."""
    score, bound = results
    for i in range(scores.shape[0]):
        messages.sent[:] = 0.0
        score[i], bound[i], met = tree_reweighted(
            scores[i], g, max_sweeps, meet[i], messages, labels[i]
        )
        if met:
            bound[i] = score[i]


def max_product_rows(scores, g, schedule, labels, change):
    """Decode every row by damped max-product; change[i] is the last message change.

    All messages of a sweep are computed from those of the sweep before (flooding); on
    a tree they are exact after as many undamped sweeps as its diameter.
    """
    messages = message_buffers(g, TIE)
    fresh = np.empty_like(messages.sent)
    _max_product_rows(scores, g, schedule, messages, fresh, labels, change)


@compiled
def _max_product_rows(scores, g, schedule, messages, fresh, labels, change):
    """Do the work of `max_product_rows`; `fresh` is a buffer for the new messages."""
    sent = messages.sent
    for i in range(scores.shape[0]):
        sent[:] = 0.0
        change[i] = 0.0
        for _ in range(schedule.n_sweeps):
            for j in range(g.label.shape[0]):
                label = g.label[j]
                _collect(scores[i], g, j, messages)
                for s in range(label["incident_start"], label["incident_stop"]):
                    _send(scores[i], g, g.incident[s], j, messages, fresh)
            change[i] = 0.0
            for s in range(sent.shape[0]):
                step = (1.0 - schedule.damping) * (fresh[s] - sent[s])
                change[i] = max(change[i], abs(step))
                sent[s] += step
        messages.chosen[:] = False
        for j in g.order:  # breadth first: on a tree only descendants are not chosen
            _choose(scores[i], g, j, messages, labels[i])


# stamp: e079918aeec19029
