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
from spanforest._compiled.decorators import (
    compiled,
    from_python,
    inlined,
    internal,
    merged,
    pack,
    through_pointer,
)

CLOSE = 1e-10  # relative; a bound this close to a score is about to meet it
CERTIFYING_SWEEPS = 200  # of message passing, where an optimum is to be proven

# Directions of `reweighted_sweep`. CLIMB is one of them because that compiles faster.
FORWARD = 0
BACKWARD = 1
CLIMB = np.int64(2)  # with an int the routine would be compiled once more, for this 2


class Messages(NamedTuple):
    """The messages of a graph, and the buffers of passing them."""

    sent: np.ndarray  # one entry per edge, end and value of that end
    labels: np.ndarray  # (n_labels,) the labelling of the last sweep
    belief: np.ndarray  # (largest number of values,) of one label
    worth: np.ndarray  # the same: scores of the values that it may choose
    chosen: np.ndarray  # (n_labels,) whether a label of the labelling has its value
    tie: float  # relative; closer scores of labellings tie


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
        worth=np.empty(g.label["n_values"].max()),
        chosen=np.zeros(n_labels, dtype=np.bool_),
        tie=tie,
    )


@inlined
def _inbox(factor, j):
    """Return where the message along an edge into label j starts."""
    return factor["to_first"] if factor["first"] == j else factor["to_second"]


@merged
def _choose(scores, g, j, messages, labels):
    """Fill `belief` with the unary scores of label j plus all messages; choose label j.

    For the choice, neighbours that are chosen count by their value instead of their
    message; these sums are left in `worth`.
    """
    label, belief, worth = g.label[j], messages.belief, messages.worth
    unary, n_values = label["unary"], label["n_values"]
    for a in range(n_values):
        belief[a] = scores[unary + a] if unary >= 0 else 0.0
        worth[a] = belief[a]
    for s in range(label["incident_start"], label["incident_stop"]):
        edge = g.factor[g.incident[s]]
        other, inbox = other_end(edge, j), _inbox(edge, j)
        is_chosen = messages.chosen[other]
        for a in range(n_values):
            message = messages.sent[inbox + a]
            belief[a] += message
            if is_chosen:
                message = scores[edge_cell(edge, j, a, labels[other])]
            worth[a] += message
    choice = 0
    for a in range(1, n_values):
        if exceeds(worth[a], worth[choice], messages.tie):
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
def reweighted_sweep(scores, g, direction, messages, drops):
    """Pass messages once along the labels' order, or against it; return the bound.

    One sweep of sequential tree-reweighted message passing (Kolmogorov 2006), for a
    maximum. Label j splits its belief over its monotonic chains: as many as it has
    edges ahead or behind, whichever is more. The numbers that are subtracted to
    normalise the beliefs and the messages add up to a bound on every labelling's score,
    because no remaining score is positive. The labelling of the sweep stands in
    `messages.labels`. `drops`, unless it is empty, takes the beliefs: how far each
    value of each label is below the label's best one.

    If the direction is CLIMB, no messages are passed. Single labels of
    `messages.labels` change where that raises the score. Returns how many did.
    """
    n_labels = g.label.shape[0]
    belief, worth, labels = messages.belief, messages.worth, messages.labels
    messages.chosen[:] = direction == CLIMB
    bound = 0.0
    for turn in range(n_labels):
        j = n_labels - 1 - turn if direction == BACKWARD else turn
        label, before = g.label[j], labels[j]
        _choose(scores, g, j, messages, labels)
        if direction == CLIMB:
            if exceeds(worth[labels[j]], worth[before], messages.tie):
                bound += 1.0
            else:
                labels[j] = before
            continue
        top, n_ahead = -np.inf, 0
        for a in range(label["n_values"]):
            top = max(top, belief[a])
        bound += top
        start, stop = label["incident_start"], label["incident_stop"]
        for s in range(start, stop):
            if (other_end(g.factor[g.incident[s]], j) > j) == (direction == FORWARD):
                n_ahead += 1
        share = 1.0 / max(n_ahead, stop - start - n_ahead, 1)
        for a in range(label["n_values"]):
            if drops.shape[0] > 0:
                drops[label["start"] + a] = belief[a] - top
            belief[a] = share * (belief[a] - top)
        for s in range(start, stop):
            e = g.incident[s]
            if (other_end(g.factor[e], j) > j) == (direction == FORWARD):
                bound += _send(scores, g, e, j, messages, messages.sent)
    return bound


@merged
def climb(scores, g, messages, labels):
    """Change single labels as long as that raises the score."""
    for j in range(labels.shape[0]):
        messages.labels[j] = labels[j]
    while reweighted_sweep(scores, g, CLIMB, messages, messages.belief[:0]) > 0.0:
        pass
    for j in range(labels.shape[0]):
        labels[j] = messages.labels[j]


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


def tree_reweighted_rows(scores, g, max_sweeps, meet, labels, score, bound):
    """Decode every row of scores by tree-reweighted message passing, from no messages.

    See `pass_messages`. Shape: meet (n,).
    """
    messages = message_buffers(g, TIE)
    request = pack((scores, g, max_sweeps, meet, messages, labels, (score, bound)))
    from_python(searcher(pass_messages, request), (request.address,))()


def searcher(function, request):
    """Return a pointer to `pass_messages`, or to a function that stands in for it."""
    return through_pointer(function, (request,), request.kind)


def pass_messages(request):
    """Write labellings into `labels`; also their scores, and bounds on the best ones.

    `request` is a packed record: scores, g, max_sweeps, meet, messages, labels, and
    the pair of scores and bounds. So training and predictions share one routine.

    A bound meets a score if it is close, and above the score by at most `meet`. Then
    the labelling is optimal up to that, sweeping stops, and the bound becomes equal to
    the score. Sweeping also stops when a sweep in each direction hardly improved the
    bound; then at least no change of a single label is an improvement.
    """
    scores, g, max_sweeps, meet, messages, labels, results = request[0]
    no_drops = messages.belief[:0]
    for i in range(scores.shape[0]):
        row, best_labels = scores[i], labels[i]
        messages.sent[:] = 0.0
        least_distance = close_distance(row, g)
        score, bound, before, close = -np.inf, np.inf, np.inf, 0.0
        for sweep in range(max_sweeps):
            direction = sweep % 2  # FORWARD first
            latest = reweighted_sweep(row, g, direction, messages, no_drops)
            bound = min(bound, latest)
            value = labelling_score(row, g, messages.labels)
            if sweep == 0 or exceeds(value, score, messages.tie):
                score = value
                for j in range(best_labels.shape[0]):
                    best_labels[j] = messages.labels[j]
            close = least_distance + CLOSE * abs(bound)
            if bound - score <= min(meet[i], close):
                break
            if direction == BACKWARD:
                if not goes_on(before - bound, bound - score, close, meet[i]):
                    break
                before = bound
        if not bound - score <= min(meet[i], close):
            climb(row, g, messages, best_labels)
            score = labelling_score(row, g, best_labels)
        results[0][i], results[1][i] = score, bound
        if bound - score <= min(meet[i], close):
            results[1][i] = score


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
        for sweep in range(schedule.n_sweeps + 1):
            is_last = sweep == schedule.n_sweeps  # it sends nothing
            messages.chosen[:] = False
            for j in g.order:  # on a tree only descendants are not chosen
                _choose(scores[i], g, j, messages, labels[i])
                label = g.label[j]
                if not is_last:
                    for s in range(label["incident_start"], label["incident_stop"]):
                        _send(scores[i], g, g.incident[s], j, messages, fresh)
            if is_last:
                break
            change[i] = 0.0
            for s in range(sent.shape[0]):
                step = (1.0 - schedule.damping) * (fresh[s] - sent[s])
                change[i] = max(change[i], abs(step))
                sent[s] += step


# stamp: bf4b671b9d7ccd4c
