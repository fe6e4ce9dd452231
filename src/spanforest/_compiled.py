"""All compiled routines: max-sum and message passing on factor graphs, solver passes.

Also lists of labellings, parts of a search, coordinates, and sums of products. They
stand in one file because Numba's cache on disk does not notice a change in another one.
They take and give arrays, and named tuples of arrays (`g` is always a `FactorArrays`),
draw no random numbers and check nothing: all of that is done above. No fastmath, since
-inf and ties matter, but in plain sums of products. Hot loops read arrays that were
taken out of their tuples before.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
compiled = njit(**OPTIONS)
# Hot routines: handing over a factor graph costs more than a small one of them does,
# and so does counting references to its arrays, which nobody takes away meanwhile. They
# and what they call must make no arrays, not even temporary ones.
try:
    inlined = njit(**OPTIONS, forceinline=True, _nrt=False)  # type: ignore[call-overload]
except KeyError:  # a Numba without this option: then they are only slower
    inlined = njit(**OPTIONS, forceinline=True)

# Sums of products, which only vectorise if their terms may change places.
summed = njit(**OPTIONS, fastmath=True)

ENOUGH = 0.3  # a visit ends when a step promises this share of the first one's
NEGLIGIBLE = 1e-14  # relative to its terms; less than that is zero but for rounding
EMPTY = 1e-12  # the same of cells, which are differences of sums over many epochs
FORBIDDEN = -1e300  # score of a cell that must not be picked; sums of it stay finite
TIE = 1e-12  # relative; closer scores are tied, so that rounding decides nothing
TIGHT = 1e-10  # relative; a bound that is closer than that to a score meets it
TRAINING_SWEEPS = 20  # of message passing, per step on a graph with cycles
CERTIFYING_SWEEPS = 200
TILE = 512  # entries of a row in a product: a few rows of so many fit the first cache
FEW_LABELLINGS = 2**12  # so many are tried one by one where no bound is tight


# The names of these classes stand in cached files: renaming one breaks old caches.


class FactorArrays(NamedTuple):
    """A factor graph; the fields of the records are listed in `factors`.

    Factors are numbered edges first, then the unary factors. Their tables lie one
    after the other in a vector of cells; cell (a, b) of the edge (u, v), u < v, is
    ``offset + a * n_second + b``.
    """

    label: np.ndarray  # (n_labels,) records
    factor: np.ndarray  # (n_factors,) records
    branch: np.ndarray  # records: edges of a spanning forest, from the roots down
    root: np.ndarray  # (n_components,) its roots
    order: np.ndarray  # (n_labels,) breadth first: parents before children
    incident: np.ndarray  # (2 * n_edges,) the edges at each label


class LossArrays(NamedTuple):
    """A loss: see `losses` for the three weights of a factor."""

    worst: np.ndarray  # (n_cells,) loss of a cell that is wrong at both ends
    joint: np.ndarray  # (n_factors,) and so below
    first: np.ndarray
    second: np.ndarray


class ProblemArrays(NamedTuple):
    """What is to be learned, and how many steps a visit makes.

    `taught` is empty if every label of every example is observed; else Y holds any code
    where one is not.
    """

    graph: FactorArrays
    coordinates: np.ndarray  # (n_factors,) records, see `factors.Coordinates`
    loss: LossArrays
    Y: np.ndarray  # (n_samples, n_labels) codes of the true labels
    taught: np.ndarray  # (n_samples, n_factors) whether all its labels are observed
    C: float
    max_steps: int


class State(NamedTuple):
    """What the visits of an epoch change, and how a change enters the weights."""

    dual_coef: np.ndarray  # (n_samples, n_coordinates)
    intercept: np.ndarray  # (n_coordinates,)
    hinge: np.ndarray  # (n_samples,) margin violation before the visit
    scale: float  # factor by which a change of the dual variables enters the weights
    constant: float  # the constant feature


@inlined
def _cell(factor, labels):
    """Return the cell of a factor that the labelling picks."""
    if factor["second"] < 0:
        return factor["offset"] + labels[factor["first"]]
    return (
        factor["offset"]
        + labels[factor["first"]] * factor["n_second"]
        + labels[factor["second"]]
    )


@compiled
def labelling_score(scores, g, labels):
    """Return <scores, U(labels)>."""
    factors = g.factor
    total = 0.0
    for f in range(factors.shape[0]):
        total += scores[_cell(factors[f], labels)]
    return total


# --- forests -----------------------------------------------------------------------


@inlined
def _exceeds(value, best):
    """Return whether a score is larger by more than rounding."""
    return value - best > TIE * (abs(value) + abs(best))


@compiled
def forest_work(g):
    """Return the buffers of a walk up a forest: scores of subtrees, choices."""
    return (
        np.empty(g.label["n_values"].sum()),
        np.empty(g.branch["n_parent"].sum(), dtype=np.int64),
    )


@inlined
def _walk_up(scores, g, work):
    """Fill upward[j, a], the best score of j's subtree if label j takes value a.

    Beside it, note for every branch and value of the parent which value of the child
    is best. Ties go to the lower value: after an exact line search two labellings tie
    as a rule, and rounding must not choose between them.
    """
    upward, choices = work
    factors, labels, branches = g.factor, g.label, g.branch
    upward[:] = 0.0
    for f in range(g.incident.shape[0] // 2, factors.shape[0]):  # the unary factors
        factor = factors[f]
        start = labels[factor["first"]]["start"]
        for a in range(factor["n_cells"]):
            upward[start + a] = scores[factor["offset"] + a]
    for e in range(branches.shape[0] - 1, -1, -1):  # leaves first
        branch = branches[e]
        mine, theirs = branch["child_start"], branch["parent_start"]
        row, step = branch["table"], branch["child_stride"]
        note = branch["choices"]
        if branch["n_child"] == 2 and branch["n_parent"] == 2:  # the common case
            other_row = row + branch["parent_stride"]
            low, high = upward[mine], upward[mine + 1]
            off, on = scores[row] + low, scores[row + step] + high
            upward[theirs] += on if on > off else off
            choices[note] = _exceeds(on, off)
            off, on = scores[other_row] + low, scores[other_row + step] + high
            upward[theirs + 1] += on if on > off else off
            choices[note + 1] = _exceeds(on, off)
            continue
        for a in range(branch["n_parent"]):
            best, choice = scores[row] + upward[mine], 0
            for b in range(1, branch["n_child"]):
                value = scores[row + b * step] + upward[mine + b]
                if _exceeds(value, best):
                    best, choice = value, b
            upward[theirs + a] += best
            choices[note + a] = choice
            row += branch["parent_stride"]


@inlined
def forest_max_sum(scores, g, work, labels):
    """Write a highest-scoring labelling into `labels` and return its score.

        y* = argmax_y <scores, U(y)>        (the paper's inference problem)

    scores has shape (n_cells,); `work` is from `forest_work`. Labels are decided from
    the roots down, each given its parent, so that ties cannot mix two optima.
    """
    _walk_up(scores, g, work)
    upward, choices = work
    label, branches, roots = g.label, g.branch, g.root
    total = 0.0
    for r in range(roots.shape[0]):
        j = roots[r]
        start = label[j]["start"]
        choice = 0
        for a in range(1, label[j]["n_values"]):
            if _exceeds(upward[start + a], upward[start + choice]):
                choice = a
        labels[j] = choice
        total += upward[start + choice]
    for e in range(branches.shape[0]):  # the parent is already decided
        branch = branches[e]
        labels[branch["child"]] = choices[branch["choices"] + labels[branch["parent"]]]
    return total


@compiled
def forest_max_sums(scores, g, labels, best):
    """Apply `forest_max_sum` to every row: labels (n, n_labels), best (n,)."""
    work = forest_work(g)
    for i in range(scores.shape[0]):
        best[i] = forest_max_sum(scores[i], g, work, labels[i])


@compiled
def _best_entries(lists, start, extra, score, value, rank):
    """Merge descending lists, one per value of a label, into the best entries of all.

    Entry (b, r) is worth ``lists[start + b, r] + extra[b]``. The best ones, with b in
    `value` and r in `rank`, fill `score` in descending order; -inf where none is left.
    """
    position = np.zeros(extra.shape[0], dtype=np.int64)
    for r in range(score.shape[0]):
        best, chosen = -np.inf, 0
        for b in range(extra.shape[0]):
            if position[b] < lists.shape[1]:
                entry = lists[start + b, position[b]] + extra[b]
                if entry > best:
                    best, chosen = entry, b
        if best == -np.inf:
            score[r:] = -np.inf
            return
        score[r], value[r], rank[r] = best, chosen, position[chosen]
        position[chosen] += 1


@compiled
def _sift_down(heap, size, key):
    """Move the first of a heap of indices, largest key first, to where it belongs."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if key[heap[child]] <= key[heap[at]]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@compiled
def _best_sums(ours, theirs, score, first, second):
    """Fill `score` with the largest sums of an entry of either descending list.

    `first` and `second` say of which; -inf where none is left. A heap holds the best
    sum not yet taken of every entry x of ours; x enters when the first sum of x - 1 has
    been taken. Takes O(k log k) for lists of k entries.
    """
    k = score.shape[0]
    key = np.empty(k)
    position = np.zeros(k, dtype=np.int64)
    heap = np.empty(k, dtype=np.int64)
    heap[0], key[0], size = 0, ours[0] + theirs[0], 1
    for r in range(k):
        x = heap[0]
        if key[x] == -np.inf:
            score[r:] = -np.inf
            return
        score[r], first[r], second[r] = key[x], x, position[x]
        position[x] += 1
        key[x] = -np.inf
        if position[x] < k:
            key[x] = ours[x] + theirs[position[x]]
        _sift_down(heap, size, key)
        if position[x] == 1 and x + 1 < k:
            at = size
            heap[at], key[x + 1] = x + 1, ours[x + 1] + theirs[0]
            size += 1
            while at > 0 and key[heap[at]] > key[heap[(at - 1) // 2]]:
                heap[at], heap[(at - 1) // 2] = heap[(at - 1) // 2], heap[at]
                at = (at - 1) // 2


@compiled
def list_work(g, k):
    """Return the buffers of `forest_k_best`: lists, and how they were put together.

    The latter is, per step and value of the parent: place in the parent's list before,
    and what the child's part is, as place in the last two, a value and a rank.
    """
    n_steps = g.branch.shape[0] + g.root.shape[0]
    shape = (n_steps, g.label["n_values"].max(), k)
    return (
        np.empty((g.label["n_values"].sum(), k)),
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.int32),
    )


@compiled
def forest_k_best(scores, g, work, labels, best):
    """Write the highest-scoring labellings into `labels` and their scores into `best`.

    Shapes: scores (n_cells,), labels (k, n_labels), best (k,) descending, -inf beyond
    the number of labellings. Every label and value keeps a list of the k best
    labellings of its subtree, each as places in the lists it was put together from.
    A branch costs O(k log k) for each value of its parent, plus O(k) for each pair of
    values of its ends; the labellings are read off in O(k n_labels). `work` is from
    `list_work`.
    """
    k, n_branches = best.shape[0], g.branch.shape[0]
    lists, before, part, value, rank = work
    lists[:] = -np.inf
    lists[:, 0] = 0.0
    for f in range(g.incident.shape[0] // 2, g.factor.shape[0]):  # the unary factors
        factor = g.factor[f]
        start = g.label[factor["first"]]["start"]
        for a in range(factor["n_cells"]):
            lists[start + a, 0] = scores[factor["offset"] + a]
    of_child, merged = np.empty(k), np.empty(k)
    for e in range(n_branches - 1, -1, -1):  # leaves first
        branch = g.branch[e]
        extra = np.empty(branch["n_child"])
        for a in range(branch["n_parent"]):
            row = branch["table"] + a * branch["parent_stride"]
            for b in range(branch["n_child"]):
                extra[b] = scores[row + b * branch["child_stride"]]
            _best_entries(
                lists, branch["child_start"], extra, of_child, value[e, a], rank[e, a]
            )
            ours = lists[branch["parent_start"] + a]
            _best_sums(ours, of_child, merged, before[e, a], part[e, a])
            ours[:] = merged
    best[:] = -np.inf
    best[0] = 0.0
    for c in range(g.root.shape[0]):  # trees of a forest add up
        root = g.label[g.root[c]]
        e = n_branches + c
        extra = np.zeros(root["n_values"])
        _best_entries(lists, root["start"], extra, of_child, value[e, 0], rank[e, 0])
        _best_sums(best, of_child, merged, before[e, 0], part[e, 0])
        best[:] = merged

    place = np.empty(g.label.shape[0], dtype=np.int64)
    for r in range(k):
        if best[r] == -np.inf:
            break
        position = r
        for c in range(g.root.shape[0] - 1, -1, -1):  # undo the steps, last one first
            e, j = n_branches + c, g.root[c]
            chosen = part[e, 0, position]
            labels[r, j], place[j] = value[e, 0, chosen], rank[e, 0, chosen]
            position = before[e, 0, position]
        for e in range(n_branches):
            branch = g.branch[e]
            u, j = branch["parent"], branch["child"]
            a = labels[r, u]
            chosen = part[e, a, place[u]]
            labels[r, j], place[j] = value[e, a, chosen], rank[e, a, chosen]
            place[u] = before[e, a, place[u]]


@compiled
def forest_k_best_rows(scores, g, labels, best):
    """Apply `forest_k_best` to every row of scores."""
    work = list_work(g, best.shape[1])
    for i in range(scores.shape[0]):
        forest_k_best(scores[i], g, work, labels[i], best[i])


@compiled
def _downward(scores, g, upward, downward):
    """Fill downward[j, a], the best score of all but j's subtree if j takes value a.

    Only j's own component counts. Returns the best score over all components.
    """
    total = 0.0
    for j in g.root:
        start = g.label[j]["start"]
        stop = start + g.label[j]["n_values"]
        downward[start:stop] = 0.0
        total += upward[start:stop].max()
    for e in range(g.branch.shape[0]):
        branch = g.branch[e]
        mine, step = branch["child_start"], branch["child_stride"]
        downward[mine : mine + branch["n_child"]] = -np.inf
        for a in range(branch["n_parent"]):
            row = branch["table"] + a * branch["parent_stride"]
            message = -np.inf  # what j's subtree had sent up for a
            for b in range(branch["n_child"]):
                message = max(message, scores[row + b * step] + upward[mine + b])
            theirs = branch["parent_start"] + a
            rest = downward[theirs] + upward[theirs] - message
            for b in range(branch["n_child"]):
                value = rest + scores[row + b * step]
                downward[mine + b] = max(downward[mine + b], value)
    return total


@compiled
def forest_max_marginals(scores, g, marginals):
    """Fill marginals[i, j, a] = max over y with y_j = a of <scores_i, U(y)>.

    One pass up and one down. Shapes: scores (n, n_cells), marginals (n, total number
    of values). Components other than j's enter by their best scores.
    """
    work = forest_work(g)
    upward, _ = work
    downward = np.empty_like(upward)
    for i in range(scores.shape[0]):
        _walk_up(scores[i], g, work)
        total = _downward(scores[i], g, upward, downward)
        for j in range(g.label.shape[0]):
            start = g.label[j]["start"]
            stop = start + g.label[j]["n_values"]
            within = upward[start:stop] + downward[start:stop]
            marginals[i, start:stop] = within + (total - within.max())


# --- graphs with cycles ------------------------------------------------------------


@compiled
def _other_end(factor, j):
    return factor["second"] if factor["first"] == j else factor["first"]


@compiled
def _inbox(factor, j):
    """Return where the message along an edge into label j starts."""
    return factor["to_first"] if factor["first"] == j else factor["to_second"]


@compiled
def _edge_cell(factor, j, a, b):
    """Return the cell of an edge where label j takes a and the other end takes b."""
    if factor["first"] == j:
        return factor["offset"] + a * factor["n_second"] + b
    return factor["offset"] + b * factor["n_second"] + a


@compiled
def _unary_scores(scores, label, out):
    for a in range(label["n_values"]):
        out[a] = scores[label["unary"] + a] if label["unary"] >= 0 else 0.0


@compiled
def _belief(scores, g, messages, j, belief):
    """Fill belief[a] with the unary score of j = a plus all messages into j."""
    label = g.label[j]
    _unary_scores(scores, label, belief)
    for s in range(label["incident_start"], label["incident_stop"]):
        inbox = _inbox(g.factor[g.incident[s]], j)
        for a in range(label["n_values"]):
            belief[a] += messages[inbox + a]


@compiled
def _decide(scores, g, messages, j, decided, labels, work):
    """Choose label j: decided neighbours count by their value, others by message."""
    label = g.label[j]
    _unary_scores(scores, label, work)
    for s in range(label["incident_start"], label["incident_stop"]):
        edge = g.factor[g.incident[s]]
        other = _other_end(edge, j)
        if decided[other]:
            for a in range(label["n_values"]):
                work[a] += scores[_edge_cell(edge, j, a, labels[other])]
        else:
            inbox = _inbox(edge, j)
            for a in range(label["n_values"]):
                work[a] += messages[inbox + a]
    choice = 0
    for a in range(1, label["n_values"]):
        if _exceeds(work[a], work[choice]):
            choice = a
    labels[j] = choice
    decided[j] = True


@compiled
def _send(scores, g, e, j, belief, messages, out):
    """Write to `out` the message along edge e from label j, 0 at its largest.

        m(b) = max_a  belief(a) - (message into j along e)(a) + score_e(a, b)

    Returns what was taken out to normalise it.
    """
    edge = g.factor[e]
    other = _other_end(edge, j)
    inbox, outbox = _inbox(edge, j), _inbox(edge, other)
    largest = -np.inf
    for b in range(g.label[other]["n_values"]):
        best = -np.inf
        for a in range(g.label[j]["n_values"]):
            value = belief[a] - messages[inbox + a]
            best = max(best, value + scores[_edge_cell(edge, j, a, b)])
        out[outbox + b] = best
        largest = max(largest, best)
    for b in range(g.label[other]["n_values"]):
        out[outbox + b] -= largest
    return largest


@compiled
def _reweighted_sweep(scores, g, messages, forward, labels, work, drops):
    """Pass messages once along the labels' order, or against it; return the bound.

    One sweep of sequential tree-reweighted message passing (Kolmogorov 2006), for a
    maximum. Label j splits its belief over its monotonic chains: as many as it has
    edges ahead or behind, whichever is more. What is taken out to normalise the
    beliefs and the messages adds up to a bound on every labelling's score, because
    what remains is nowhere positive. `drops`, unless it is empty, takes the beliefs:
    how far each value of each label is below the label's best one.
    """
    n_labels = g.label.shape[0]
    belief, decided = work
    decided[:] = False
    bound = 0.0
    for rank in range(n_labels):
        j = rank if forward else n_labels - 1 - rank
        label = g.label[j]
        _decide(scores, g, messages, j, decided, labels, belief)
        _belief(scores, g, messages, j, belief)
        top = -np.inf
        for a in range(label["n_values"]):
            top = max(top, belief[a])
        bound += top
        n_ahead = 0
        for s in range(label["incident_start"], label["incident_stop"]):
            if (_other_end(g.factor[g.incident[s]], j) > j) == forward:
                n_ahead += 1
        n_behind = label["incident_stop"] - label["incident_start"] - n_ahead
        share = 1.0 / max(n_ahead, n_behind, 1)
        for a in range(label["n_values"]):
            if drops.shape[0] > 0:
                drops[label["start"] + a] = belief[a] - top
            belief[a] = share * (belief[a] - top)
        for s in range(label["incident_start"], label["incident_stop"]):
            e = g.incident[s]
            if (_other_end(g.factor[e], j) > j) == forward:
                bound += _send(scores, g, e, j, belief, messages, messages)
    return bound


@compiled
def _climb(scores, g, messages, labels, work):
    """Change single labels as long as that raises the score."""
    belief, decided = work
    decided[:] = True
    improved = True
    while improved:
        improved = False
        for j in range(g.label.shape[0]):
            before = labels[j]
            _decide(scores, g, messages, j, decided, labels, belief)
            if labels[j] == before:
                continue
            if _exceeds(belief[labels[j]], belief[before]):
                improved = True
            else:
                labels[j] = before


@compiled
def rounding(scores, g):
    """Return what a bound may exceed a score by and still meet it, but for their size.

    To this comes TIGHT times the bound itself. With m_f the largest cell of factor f,
    the cells of a labelling have absolute values that sum to at most
    2 sum_f |m_f| + |score|, so the sum of |m_f| is their scale even where the score is
    near 0; and a large penalty, which nobody picks, does not blur the others' scores.
    It only enters by what it does to messages, which is rounding. There is no absolute
    part: scaled scores have the same proofs.
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
    return TIGHT * total + NEGLIGIBLE * largest


@compiled
def message_work(g):
    """Return the buffers of `tree_reweighted`: a labelling, a belief, decided flags."""
    n_labels = g.label.shape[0]
    return (
        np.zeros(n_labels, dtype=np.int64),
        np.empty(g.label["n_values"].max()),
        np.zeros(n_labels, dtype=np.bool_),
    )


@compiled
def tree_reweighted(scores, g, max_sweeps, messages, labels, work):
    """Write a labelling into `labels`; return its score and a bound on the best one.

    Where the two agree to rounding they are returned as equal: the labelling is
    optimal, and sweeping stops. It also stops when a sweep in each direction improved
    the bound by next to nothing; then at least no change of a single label is an
    improvement. `messages` holds zeros or any earlier messages; `work` is from
    `message_work`.
    """
    candidate, belief, decided = work
    nothing = belief[:0]
    score, bound = -np.inf, np.inf
    before, slack = np.inf, 0.0
    least_slack = rounding(scores, g)
    for sweep in range(max_sweeps):
        forward = sweep % 2 == 0
        found = _reweighted_sweep(
            scores, g, messages, forward, candidate, (belief, decided), nothing
        )
        bound = min(bound, found)
        value = labelling_score(scores, g, candidate)
        if sweep == 0 or _exceeds(value, score):
            score = value
            for j in range(labels.shape[0]):
                labels[j] = candidate[j]
        slack = least_slack + TIGHT * abs(bound)
        if bound - score <= slack:
            return score, score
        if not forward:
            if before - bound <= 10.0 * slack:
                break
            before = bound
    _climb(scores, g, messages, labels, (belief, decided))
    score = labelling_score(scores, g, labels)
    return score, score if bound - score <= slack else bound


@compiled
def tree_reweighted_rows(scores, g, max_sweeps, messages, labels, score, bound):
    """Apply `tree_reweighted` to every row of scores, each from zero messages."""
    work = message_work(g)
    for i in range(scores.shape[0]):
        messages[:] = 0.0
        score[i], bound[i] = tree_reweighted(
            scores[i], g, max_sweeps, messages, labels[i], work
        )


@compiled
def max_product_rows(scores, g, schedule, messages, labels, change):
    """Decode every row by damped max-product; change[i] is the last message change.

    `schedule` is (number of sweeps, damping). All messages of a sweep are computed
    from those of the sweep before (flooding); on a tree they are exact after as many
    undamped sweeps as its diameter.
    """
    n_sweeps, damping = schedule
    fresh = np.empty_like(messages)
    _, belief, decided = message_work(g)
    for i in range(scores.shape[0]):
        messages[:] = 0.0
        change[i] = 0.0
        for _ in range(n_sweeps):
            for j in range(g.label.shape[0]):
                _belief(scores[i], g, messages, j, belief)
                for s in range(
                    g.label[j]["incident_start"], g.label[j]["incident_stop"]
                ):
                    _send(scores[i], g, g.incident[s], j, belief, messages, fresh)
            change[i] = 0.0
            for c in range(messages.shape[0]):
                step = (1.0 - damping) * (fresh[c] - messages[c])
                change[i] = max(change[i], abs(step))
                messages[c] += step
        decided[:] = False
        for j in g.order:  # breadth first: on a tree only descendants are undecided
            _decide(scores[i], g, messages, j, decided, labels[i], belief)


@compiled
def flip_margins(scores, g, labels, margins):
    """Fill margins[i, j, a] with the score of labelling i after setting label j to a.

    Given as differences to the score of labelling i itself, so 0 at its own value.
    """
    for i in range(scores.shape[0]):
        margins[i] = 0.0
        for f in range(g.factor.shape[0]):
            factor = g.factor[f]
            now = scores[i, _cell(factor, labels[i])]
            for end in range(2):
                j = factor["first"] if end == 0 else factor["second"]
                if j < 0:
                    continue
                other = _other_end(factor, j)
                b = labels[i, other] if other >= 0 else 0
                start = g.label[j]["start"]
                for a in range(g.label[j]["n_values"]):
                    cell = _edge_cell(factor, j, a, b)
                    margins[i, start + a] += scores[i, cell] - now


@compiled
def exhaustive_max(scores, g, labels):
    """Try every labelling; write a best one into `labels` and return its score.

    Ties go to the first in lexicographic order.
    """
    n_labels = g.label.shape[0]
    candidate = np.zeros(n_labels, dtype=np.int64)
    best = -np.inf
    while True:
        value = labelling_score(scores, g, candidate)
        if value > best:
            best = value
            labels[:] = candidate
        j = n_labels - 1
        while j >= 0 and candidate[j] == g.label[j]["n_values"] - 1:
            candidate[j] = 0
            j -= 1
        if j < 0:
            return best
        candidate[j] += 1


@compiled
def exhaustive_rows(scores, g, labels, best):
    """Apply `exhaustive_max` to every row: labels (n, n_labels), best (n,)."""
    for i in range(scores.shape[0]):
        best[i] = exhaustive_max(scores[i], g, labels[i])


@compiled
def _has_few_labellings(g):
    count = 1
    for j in range(g.label.shape[0]):
        count *= g.label[j]["n_values"]
        if count > FEW_LABELLINGS:
            return False
    return True


# --- parts of a search -------------------------------------------------------------


@compiled
def restrict(scores, g, alive):
    """Return what is left of a problem when labels keep only their `alive` values.

    A label with one value left is taken out: its scores go to its neighbours, who all
    have a unary factor, and into a constant. Returns the scores, the factor graph
    (without what only forests need) and the constant. Labels, edges and values keep
    their order. Shape: alive (total number of values,), one or more true per label.
    """
    place, only, label = _free_labels(g, alive)
    kept = _free_edges(g, place)
    left = _part_graph(g, place, label, kept)
    part = np.zeros(left.factor["n_cells"].sum())
    _copy_tables(scores, g, alive, kept, part)
    constant = _add_decided(scores, g, alive, (place, only, label), part)
    return part, left, constant


@compiled
def _free_labels(g, alive):
    """Find the labels with several values left.

    Returns the place of each label among them, or -1; its last value left, which is the
    only one of a label that is not free; and records of the free labels, in which only
    the numbers of values are set.
    """
    n_labels = g.label.shape[0]
    place = np.full(n_labels, -1, dtype=np.int64)
    only = np.zeros(n_labels, dtype=np.int64)
    label = np.empty(n_labels, dtype=g.label.dtype)
    n_free, n_values = 0, 0
    for j in range(n_labels):
        start, n_alive = g.label[j]["start"], 0
        for a in range(g.label[j]["n_values"]):
            if alive[start + a]:
                only[j] = a
                n_alive += 1
        if n_alive > 1:
            place[j] = n_free
            label[n_free]["n_values"] = n_alive
            label[n_free]["start"] = n_values
            n_free += 1
            n_values += n_alive
    return place, only, label[:n_free].copy()


@compiled
def _free_edges(g, place):
    """Return the edges both of whose ends are free."""
    kept = np.empty(g.incident.shape[0] // 2, dtype=np.int64)
    n_kept = 0
    for e in range(kept.shape[0]):
        if place[g.factor[e]["first"]] >= 0 and place[g.factor[e]["second"]] >= 0:
            kept[n_kept] = e
            n_kept += 1
    return kept[:n_kept]


@compiled
def _part_graph(g, place, label, kept):
    """Return the factor graph of the free labels; their records are completed."""
    n_free, n_kept = label.shape[0], kept.shape[0]
    factor = np.empty(n_kept + n_free, dtype=g.factor.dtype)
    degree = np.zeros(n_free, dtype=np.int64)
    offset, inbox = 0, 0
    for s in range(n_kept):
        u, v = place[g.factor[kept[s]]["first"]], place[g.factor[kept[s]]["second"]]
        n_first, n_second = label[u]["n_values"], label[v]["n_values"]
        one = factor[s]
        one["first"], one["second"], one["n_second"] = u, v, n_second
        one["offset"], one["n_cells"] = offset, n_first * n_second
        one["to_first"], one["to_second"] = inbox, inbox + n_first
        offset += n_first * n_second
        inbox += n_first + n_second
        degree[u] += 1
        degree[v] += 1

    n_incident = 0
    for j in range(n_free):
        one = factor[n_kept + j]
        one["first"], one["second"], one["n_second"] = j, -1, 1
        one["offset"], one["n_cells"] = offset, label[j]["n_values"]
        one["to_first"], one["to_second"] = 0, 0
        label[j]["unary"] = offset
        label[j]["incident_start"] = n_incident
        label[j]["incident_stop"] = n_incident  # moves on with every edge below
        offset += label[j]["n_values"]
        n_incident += degree[j]

    incident = np.empty(n_incident, dtype=np.int64)
    for s in range(n_kept):
        for j in (factor[s]["first"], factor[s]["second"]):
            incident[label[j]["incident_stop"]] = s
            label[j]["incident_stop"] += 1
    return FactorArrays(label, factor, g.branch[:0], g.root[:0], g.order[:0], incident)


@compiled
def _copy_tables(scores, g, alive, kept, part):
    """Write the scores of the kept edges, without the values that are not alive."""
    at = 0
    for s in range(kept.shape[0]):
        edge = g.factor[kept[s]]
        first, second = g.label[edge["first"]], g.label[edge["second"]]
        for a in range(first["n_values"]):
            if alive[first["start"] + a]:
                row = edge["offset"] + a * edge["n_second"]
                for b in range(second["n_values"]):
                    if alive[second["start"] + b]:
                        part[at] = scores[row + b]
                        at += 1


@compiled
def _add_decided(scores, g, alive, free, part):
    """Add to the free labels' unary scores what other factors give them.

    `free` is from `_free_labels`. Returns the score of the factors that are decided.
    """
    place, only, label = free
    constant = 0.0
    for f in range(g.factor.shape[0]):
        old = g.factor[f]
        u, v = old["first"], old["second"]
        if place[u] >= 0 and v >= 0 and place[v] >= 0:
            continue
        if place[u] < 0 and (v < 0 or place[v] < 0):
            constant += scores[_cell(old, only)]
            continue
        j = u if place[u] >= 0 else v  # the end that is free, or a unary factor's
        other = 0 if v < 0 else only[_other_end(old, j)]
        cell, start = label[place[j]]["unary"], g.label[j]["start"]
        for a in range(g.label[j]["n_values"]):
            if alive[start + a]:
                part[cell] += scores[_edge_cell(old, j, a, other)]
                cell += 1
    return constant


@compiled
def carry_messages(g, alive, messages, alive_now, messages_now):
    """Write messages of a part into the place they have in a smaller part of it.

    Both parts are given by the values of `g` that are alive in them.
    """
    n_before = np.zeros(g.label.shape[0], dtype=np.int64)
    n_now = np.zeros(g.label.shape[0], dtype=np.int64)
    for j in range(g.label.shape[0]):
        start = g.label[j]["start"]
        for a in range(start, start + g.label[j]["n_values"]):
            n_before[j] += alive[a]
            n_now[j] += alive_now[a]
    read, written = 0, 0
    for e in range(g.incident.shape[0] // 2):
        edge = g.factor[e]
        u, v = edge["first"], edge["second"]
        if n_before[u] < 2 or n_before[v] < 2:
            continue
        is_kept = n_now[u] > 1 and n_now[v] > 1
        for j in (u, v):
            start = g.label[j]["start"]
            for a in range(start, start + g.label[j]["n_values"]):
                if not alive[a]:
                    continue
                if is_kept and alive_now[a]:
                    messages_now[written] = messages[read]
                    written += 1
                read += 1


@compiled
def bound_part(scores, g, stop, messages, labels, caps):
    """Bound the labellings of a part, and those in which a label takes a value.

    As `tree_reweighted`, from any messages. `stop` is (largest number of sweeps,
    target, patience): it also ends when the bound is down to the target, and when two
    sweeps closed less than this share of its gap above the target or the score. Shape:
    caps (total number of values,); no labelling with the value scores more than its
    cap. Returns score, bound and the number of sweeps made.

    Why caps hold: the sweep before has split the scores into chains whose maxima add
    up to its bound. When the next sweep comes to label j, the belief of j is the sum of
    the max-marginals of the chains through it; up to then chains have been averaged,
    which raises no sum of maxima. So a labelling with a value is below that bound at
    least by as much as the value's belief is below the best of its label.
    """
    max_sweeps, target, patience = stop
    candidate, belief, decided = message_work(g)
    drops = np.empty(caps.shape[0])
    score, bound, last = -np.inf, np.inf, np.inf
    before = np.inf
    least_slack = rounding(scores, g)
    caps[:] = np.inf
    n_sweeps = 0
    while n_sweeps < max_sweeps:
        forward = n_sweeps % 2 == 0
        found = _reweighted_sweep(
            scores, g, messages, forward, candidate, (belief, decided), drops
        )
        n_sweeps += 1
        for c in range(caps.shape[0]):
            caps[c] = min(caps[c], last + drops[c])
        last = found
        bound = min(bound, found)
        value = labelling_score(scores, g, candidate)
        if n_sweeps == 1 or _exceeds(value, score):
            score = value
            labels[:] = candidate
        slack = least_slack + TIGHT * abs(bound)
        if bound <= target:
            break
        if not forward:
            if bound - score <= slack or before - bound <= 10.0 * slack:
                break
            if before - bound <= patience * (bound - max(target, score)):
                break
            before = bound
    _climb(scores, g, messages, labels, (belief, decided))
    score = labelling_score(scores, g, labels)
    return score, max(bound, score), n_sweeps


@compiled
def score_all(scores, g, values):
    """Fill `values` with the score of every labelling, in lexicographic order."""
    n_labels = g.label.shape[0]
    labels = np.zeros(n_labels, dtype=np.int64)
    for i in range(values.shape[0]):
        values[i] = labelling_score(scores, g, labels)
        j = n_labels - 1
        while j >= 0 and labels[j] == g.label[j]["n_values"] - 1:
            labels[j] = 0
            j -= 1
        if j >= 0:
            labels[j] += 1


# --- coordinates -------------------------------------------------------------------


@inlined
def _expand(coordinates, values, cells):
    """Write the tables that have these coordinates.

    In a table whose cells sum to zero, the first row and the first column follow from
    the other cells and the sums of the other rows and columns.
    """
    for f in range(coordinates.shape[0]):
        at = coordinates[f]
        corner, n_first, n_second = at["cell"], at["n_first"], at["n_second"]
        row_sums, column_sums, inner = at["first"], at["second"], at["inner"]
        if n_first == 2 and n_second == 2:  # the common case
            row, column, both = values[row_sums], values[column_sums], values[inner]
            cells[corner] = both - row - column
            cells[corner + 1] = column - both
            cells[corner + 2] = row - both
            cells[corner + 3] = both
            continue
        total = 0.0
        for b in range(1, n_second):
            cells[corner + b] = values[column_sums + b - 1]
            total += values[column_sums + b - 1]
        for a in range(1, n_first):
            cell = corner + a * n_second
            rest = values[row_sums + a - 1]
            for b in range(1, n_second):
                value = values[inner]
                inner += 1
                cells[cell + b] = value
                cells[corner + b] -= value
                rest -= value
            cells[cell] = rest
            total += rest
        cells[corner] = -total


@inlined
def _contract(coordinates, cells, values):
    """Write the coordinates of tables, the inverse of `_expand`.

    Where tables share a label, its sums are taken from the last of them.
    """
    for f in range(coordinates.shape[0]):
        at = coordinates[f]
        corner, n_first, n_second = at["cell"], at["n_first"], at["n_second"]
        row_sums, column_sums, inner = at["first"], at["second"], at["inner"]
        if n_first == 2 and n_second == 2:  # the common case
            both = cells[corner + 3]
            values[row_sums] = cells[corner + 2] + both
            values[column_sums] = cells[corner + 1] + both
            values[inner] = both
            continue
        for b in range(1, n_second):
            total = 0.0
            for a in range(n_first):
                total += cells[corner + a * n_second + b]
            values[column_sums + b - 1] = total
        for a in range(1, n_first):
            cell = corner + a * n_second
            total = cells[cell]
            for b in range(1, n_second):
                total += cells[cell + b]
                values[inner] = cells[cell + b]
                inner += 1
            values[row_sums + a - 1] = total


@compiled
def expand_rows(coordinates, values, cells):
    """Apply `_expand` to every row."""
    for i in range(values.shape[0]):
        _expand(coordinates, values[i], cells[i])


@compiled
def squared_norm(coordinates, values):
    """Return the sum of the squares of all cells of these tables."""
    last = coordinates[-1]
    cells = np.empty(last["cell"] + last["n_first"] * last["n_second"])
    total = 0.0
    for i in range(values.shape[0]):
        _expand(coordinates, values[i], cells)
        for c in range(cells.shape[0]):
            total += cells[c] * cells[c]
    return total


# --- products ----------------------------------------------------------------------


@summed
def row_products(data, rows, others, products):
    """Fill products[r, c] = <data[rows[r]], others[c]>.

    The library's routine first copies the rows into an order of its own, which costs
    more than multiplying by the few columns that weights have; this one reads them
    where they are, four rows and three columns at a time, as many as registers hold.
    `products` must have room for a multiple of them; what is beyond is not to be read.
    """
    n_rows, n_columns, n_terms = len(rows), len(others), data.shape[1]
    products[:] = 0.0
    zero = others.dtype.type(0.0)
    for start in range(0, n_terms, TILE):
        stop = min(start + TILE, n_terms)
        for r in range(0, n_rows, 4):
            # where fewer are left, the last is taken again
            x0 = data[rows[r], start:stop]
            x1 = data[rows[min(r + 1, n_rows - 1)], start:stop]
            x2 = data[rows[min(r + 2, n_rows - 1)], start:stop]
            x3 = data[rows[min(r + 3, n_rows - 1)], start:stop]
            for c in range(0, n_columns, 3):
                w0 = others[c, start:stop]
                w1 = others[min(c + 1, n_columns - 1), start:stop]
                w2 = others[min(c + 2, n_columns - 1), start:stop]
                s00, s01, s02 = zero, zero, zero
                s10, s11, s12 = zero, zero, zero
                s20, s21, s22 = zero, zero, zero
                s30, s31, s32 = zero, zero, zero
                for j in range(stop - start):
                    a, b, d = w0[j], w1[j], w2[j]
                    s00 += x0[j] * a
                    s01 += x0[j] * b
                    s02 += x0[j] * d
                    s10 += x1[j] * a
                    s11 += x1[j] * b
                    s12 += x1[j] * d
                    s20 += x2[j] * a
                    s21 += x2[j] * b
                    s22 += x2[j] * d
                    s30 += x3[j] * a
                    s31 += x3[j] * b
                    s32 += x3[j] * d
                products[r, c] += s00
                products[r, c + 1] += s01
                products[r, c + 2] += s02
                products[r + 1, c] += s10
                products[r + 1, c + 1] += s11
                products[r + 1, c + 2] += s12
                products[r + 2, c] += s20
                products[r + 2, c + 1] += s21
                products[r + 2, c + 2] += s22
                products[r + 3, c] += s30
                products[r + 3, c + 1] += s31
                products[r + 3, c + 2] += s32


@compiled
def room_for_products(n_rows, n_columns):
    """Return an array for `row_products` of so many rows and columns."""
    return np.empty((-(-n_rows // 4) * 4, -(-n_columns // 3) * 3))


@summed
def add_products(data, rows, change, weights):
    """Add sum_r change[r, c] * data[rows[r]] to weights[c], eight rows at a time.

    `change` must have a multiple of eight rows, zero where there is no row left.
    """
    last = len(rows) - 1
    for r in range(0, len(rows), 8):
        x0, x1 = data[rows[r]], data[rows[min(r + 1, last)]]
        x2, x3 = data[rows[min(r + 2, last)]], data[rows[min(r + 3, last)]]
        x4, x5 = data[rows[min(r + 4, last)]], data[rows[min(r + 5, last)]]
        x6, x7 = data[rows[min(r + 6, last)]], data[rows[min(r + 7, last)]]
        for c in range(len(weights)):
            a0, a1, a2, a3 = change[r : r + 4, c]
            a4, a5, a6, a7 = change[r + 4 : r + 8, c]
            row = weights[c]
            for j in range(data.shape[1]):
                row[j] += (a0 * x0[j] + a1 * x1[j] + a2 * x2[j] + a3 * x3[j]) + (
                    a4 * x4[j] + a5 * x5[j] + a6 * x6[j] + a7 * x7[j]
                )


@compiled
def worst_pairs(matrix, lengths):
    """Find where a matrix is least symmetric, and where an entry is most too large.

    Returns the largest abs(m_ij - m_ji) with its i and j, and the largest abs(m_ij) -
    lengths_i lengths_j with its own. Pairs are looked at in tiles: half of the entries
    are read against the order of memory.
    """
    n, size = len(matrix), 64
    difference, i_difference, j_difference = 0.0, 0, 0
    excess, i_excess, j_excess = -np.inf, 0, 0
    for top in range(0, n, size):
        for left in range(top, n, size):
            for i in range(top, min(top + size, n)):
                for j in range(max(left, i), min(left + size, n)):
                    one, other = matrix[i, j], matrix[j, i]
                    if abs(one - other) > difference:
                        difference = abs(one - other)
                        i_difference, j_difference = i, j
                    if abs(one) - lengths[i] * lengths[j] > excess:
                        excess = abs(one) - lengths[i] * lengths[j]
                        i_excess, j_excess = i, j
    return (difference, i_difference, j_difference), (excess, i_excess, j_excess)


# --- solver ------------------------------------------------------------------------
#
# `problem` is a `ProblemArrays`, `state` a `State`. `messages` is None on a forest,
# else an array of them and what `message_work` gives; as that is part of its type,
# message passing is compiled only for graphs with cycles.


@inlined
def _find_cells(g, labels, cells):
    """Write the cells that a labelling picks."""
    factors = g.factor
    for f in range(factors.shape[0]):
        cells[f] = _cell(factors[f], labels)


@inlined
def _pick(scores, cells):
    """Return the sum of the scores at these cells."""
    total = 0.0
    for cell in cells:
        total += scores[cell]
    return total


@inlined
def add_loss(scores, g, true_cells, loss):
    """Add to the scores of one example the loss of every cell against the true ones.

    First the loss of a cell that is wrong at both ends, then less where it is right.
    """
    worst, joint, first, second = loss
    factors = g.factor
    for c in range(scores.shape[0]):
        scores[c] += worst[c]
    for f in range(factors.shape[0]):
        true = true_cells[f]
        scores[true] -= joint[f]
        if first[f] == 0.0 and second[f] == 0.0:
            continue
        factor = factors[f]
        start, n_second = factor["offset"], factor["n_second"]
        column = (true - start) % n_second
        row = true - column
        for b in range(n_second):
            scores[row + b] -= first[f]
        for cell in range(start + column, start + factor["n_cells"], n_second):
            scores[cell] -= second[f]


@inlined
def _load_marginals(dual_row, problem, true_cells, marginals):
    """Fill marginals with mu = C U(y) - A, rounding errors of zero cleared."""
    _expand(problem.coordinates, dual_row, marginals)
    for c in range(marginals.shape[0]):
        marginals[c] = -marginals[c]
    for cell in true_cells:
        marginals[cell] += problem.C
    largest = 0.0
    for c in range(dual_row.shape[0]):
        largest = max(largest, abs(dual_row[c]))
    for c in range(marginals.shape[0]):
        if marginals[c] < EMPTY * largest:
            marginals[c] = 0.0


@inlined
def _store_shift(shift, problem, dual_row, change):
    """Subtract a change of marginals from dual_row, and write what was added to it.

    The marginals themselves would do, but for rounding: beside a large C they say
    nothing of a small A. What comes back to zero does so exactly, or a rest would pass
    for mass, of which a step can move no more than there is.
    """
    _contract(problem.coordinates, shift, change)
    for c in range(change.shape[0]):
        before = dual_row[c]
        after = before - change[c]
        if abs(after) < EMPTY * abs(before):
            after = 0.0
        dual_row[c] = after
        change[c] = after - before


@inlined
def _is_taught(taught, i, f):
    """Return whether example i has all labels of factor f."""
    return taught.shape[0] == 0 or taught[i, f]


@inlined
def _silence(i, problem, values, filler):
    """Fill the cells of the factors that example i does not teach."""
    taught, factors = problem.taught, problem.graph.factor
    for f in range(taught.shape[1]):
        if not taught[i, f]:
            factor = factors[f]
            for c in range(factor["offset"], factor["offset"] + factor["n_cells"]):
                values[c] = filler


@inlined
def _loss_augmented(i, scores, problem, true_cells):
    """Add the loss to the scores of example i, F_i; return the score of its labels.

    Factors that it does not teach have neither score nor loss: they are as good as
    absent. There `true_cells` hold some cell.
    """
    _find_cells(problem.graph, problem.Y[i], true_cells)
    _silence(i, problem, scores, 0.0)
    true_score = _pick(scores, true_cells)
    add_loss(scores, problem.graph, true_cells, problem.loss)
    _silence(i, problem, scores, 0.0)
    return true_score


@inlined
def _find_parts(g, best, worst, C, parts):
    """Find the connected parts in which two labellings differ, and clear their sums.

    The number of a part is that of its topmost label; -1 where the labellings agree, as
    they do about a label that the example lacks: its values tie.
    """
    part, rise, size, room = parts
    roots, branches = g.root, g.branch
    for r in range(roots.shape[0]):
        j = roots[r]
        part[j] = j if best[j] != worst[j] else -1
        rise[j], size[j], room[j] = 0.0, 0.0, C
    for e in range(branches.shape[0]):
        branch = branches[e]
        j = branch["child"]
        if best[j] == worst[j]:
            part[j] = -1
            continue
        part[j] = part[branch["parent"]]
        if part[j] < 0:
            part[j] = j
            rise[j], size[j], room[j] = 0.0, 0.0, C


@inlined
def _find_moves(i, scores, marginals, problem, best, worst, parts, moves):
    """List the cells that lose mass, those that gain it, and their part of the forest.

    Returns how many. Beside it, sum up per part how much its move raises the score of
    a unit of mass and how many pairs of cells it touches, and find how long it may be.
    """
    factors, taught = problem.graph.factor, problem.taught
    part, rise, size, room = parts
    gone, new, owner = moves
    n_moves = 0
    for f in range(factors.shape[0]):
        factor = factors[f]
        first, second = factor["first"], factor["second"]
        p = part[first]
        if second >= 0:
            p = max(p, part[second])  # the same, unless one is -1
        if p < 0 or not _is_taught(taught, i, f):
            continue
        old, fresh = factor["offset"] + worst[first], factor["offset"] + best[first]
        if second >= 0:
            old += worst[first] * (factor["n_second"] - 1) + worst[second]
            fresh += best[first] * (factor["n_second"] - 1) + best[second]
        gone[n_moves], new[n_moves], owner[n_moves] = old, fresh, p
        n_moves += 1
        rise[p] += scores[fresh] - scores[old]
        size[p] += 1.0
        room[p] = min(room[p], marginals[old])
    return n_moves


@inlined
def _pairwise_visit(i, scores, marginals, problem, norm, shift, work):
    """Improve one example's marginals on a forest; return its best score before.

    `scores` are loss + F and `norm` is K_ii. Mass moves from the worst labelling that
    the marginals allow to the best labelling of all. On a forest the marginals are a
    mixture containing *every* labelling whose cells are all positive, and remain
    marginals as long as no cell becomes negative, so no list of label sets is needed
    (decomposition-invariant pairwise steps, Garber & Meshi 2016). Where the two
    labellings differ in several parts of the forest, each part is a move of its own,
    on cells of its own: it gets the step length that is best for it, and a cell with
    little mass holds up its own part only. Scores and marginals are updated in place;
    what the marginals gained is added to `shift`.
    """
    g, C = problem.graph, problem.C
    walk, masked, best, worst, parts, moves = work
    _, rise, size, room = parts
    gone, new, owner = moves
    first_top, first_rise, moved = 0.0, 0.0, False
    for step in range(problem.max_steps):
        top = forest_max_sum(scores, g, walk, best)
        for c in range(scores.shape[0]):
            masked[c] = -scores[c] if marginals[c] > 0.0 else FORBIDDEN
        total_rise = top + forest_max_sum(masked, g, walk, worst)
        if step == 0:
            first_top, first_rise = top, total_rise
        if total_rise <= max(ENOUGH * first_rise, NEGLIGIBLE * (1.0 + abs(top))):
            break
        _find_parts(g, best, worst, C, parts)
        n_moves = _find_moves(i, scores, marginals, problem, best, worst, parts, moves)
        for m in range(n_moves):
            p = owner[m]
            bend = 2.0 * norm * size[p]
            gain = max(rise[p], 0.0)  # rounding
            length = room[p] if gain >= room[p] * bend else gain / bend
            shift[new[m]] += length
            shift[gone[m]] -= length
            scores[new[m]] -= length * norm
            scores[gone[m]] += length * norm
            marginals[new[m]] += length
            marginals[gone[m]] -= length
            if marginals[gone[m]] < EMPTY * length:
                marginals[gone[m]] = 0.0
        moved = True
    return first_top, moved


@compiled
def _frank_wolfe_visit(i, scores, marginals, problem, norm, shift, messages, work):
    """Improve one example's marginals on any graph; return its bound before.

    Plain Frank-Wolfe steps towards the labellings that tree-reweighted message
    passing finds: a mixture of labellings stays one. The gap uses the bound, so it is
    not too small where the labelling is not optimal.
    """
    g, C = problem.graph, problem.C
    sent, message_buffers = messages
    _, _, labels, _, _, (cells, _, _) = work
    first_bound, first_rise, moved = 0.0, 0.0, False
    sent[:] = 0.0
    for c in range(shift.shape[0]):
        shift[c] = marginals[c]
    for step in range(problem.max_steps):
        top, bound = tree_reweighted(
            scores, g, TRAINING_SWEEPS, sent, labels, message_buffers
        )
        held, squares = 0.0, 0.0
        for c in range(scores.shape[0]):
            held += scores[c] * marginals[c]
            squares += marginals[c] * marginals[c]
        rise = C * top - held
        if step == 0:
            first_bound, first_rise = bound, rise
        if rise <= max(ENOUGH * first_rise, NEGLIGIBLE * C * (1.0 + abs(top))):
            break
        _find_cells(g, labels, cells)
        n_taught = 0
        for f in range(cells.shape[0]):
            if _is_taught(problem.taught, i, f):
                cells[n_taught] = cells[f]
                n_taught += 1
        for cell in cells[:n_taught]:
            squares += C * (C - 2.0 * marginals[cell])
        bend = norm * squares
        length = 1.0 if rise >= bend else rise / bend
        moved = True
        for c in range(scores.shape[0]):
            scores[c] += length * norm * marginals[c]
            marginals[c] *= 1.0 - length
        for cell in cells[:n_taught]:
            scores[cell] -= length * norm * C
            marginals[cell] += length * C
    for c in range(shift.shape[0]):
        shift[c] = marginals[c] - shift[c]
    return first_bound, moved


@compiled
def visit_work(g):
    """Return the buffers of a visit: true cells, marginals and their change, steps."""
    n_cells = g.factor[-1]["offset"] + g.factor[-1]["n_cells"]
    n_factors = g.factor.shape[0]
    n_labels = g.label.shape[0]
    pairwise = (
        forest_work(g),
        np.empty(n_cells),
        np.zeros(n_labels, dtype=np.int64),
        np.zeros(n_labels, dtype=np.int64),
        (
            np.empty(n_labels, dtype=np.int64),
            np.empty(n_labels),
            np.empty(n_labels),
            np.empty(n_labels),
        ),
        (
            np.empty(n_factors, dtype=np.int64),
            np.empty(n_factors, dtype=np.int64),
            np.empty(n_factors, dtype=np.int64),
        ),
    )
    true_cells = np.empty(n_factors, dtype=np.int64)
    return true_cells, np.empty(n_cells), np.empty(n_cells), pairwise


@inlined
def _visit(i, scores, norm, problem, state, messages, change, work):
    """Improve example i, given F_i in `scores`; return whether it moved.

    Row i of dual_coef is improved, and hinge[i] becomes the margin violation before
    the visit. `change` gets the row's movement, unless there is none. The scores are
    overwritten.
    """
    true_cells, marginals, shift, pairwise_work = work
    true_score = _loss_augmented(i, scores, problem, true_cells)
    _load_marginals(state.dual_coef[i], problem, true_cells, marginals)
    shift[:] = 0.0
    if messages is None:
        _silence(i, problem, marginals, problem.C)  # any cell may be picked there
        best, moved = _pairwise_visit(
            i, scores, marginals, problem, norm, shift, pairwise_work
        )
    else:
        _silence(i, problem, marginals, 0.0)
        best, moved = _frank_wolfe_visit(
            i, scores, marginals, problem, norm, shift, messages, pairwise_work
        )
    state.hinge[i] = max(best - true_score, 0.0)
    if moved:
        _store_shift(shift, problem, state.dual_coef[i], change)
    return moved


@inlined
def _block_visits(block, scores, gram, problem, state, messages, change, work):
    """Visit the examples of a block one after the other.

    scores[r] are the coordinates of F for row r, from the weights as they were before
    the block, and gram (b, b) is its kernel matrix, both without the constant feature:
    earlier changes inside the block are added through it, so the iterates are those of
    visiting one example at a time. The intercept is updated; change[r] becomes what is
    to be added to the weights. On return scores hold what they were at each visit.
    """
    visit_buffers, cells, moved = work
    intercept, constant = state.intercept, state.constant
    n = intercept.shape[0]
    for r in range(block.shape[0]):
        for c in range(n):
            scores[r, c] += constant * intercept[c]
        for p in range(r):
            if moved[p]:
                for c in range(n):
                    scores[r, c] += gram[r, p] * change[p, c]
        _expand(problem.coordinates, scores[r], cells)
        norm = state.scale * (gram[r, r] + constant * constant)
        moved[r] = _visit(
            block[r], cells, norm, problem, state, messages, change[r], visit_buffers
        )
        if moved[r]:
            for c in range(n):
                change[r, c] *= state.scale
                intercept[c] += constant * change[r, c]
        else:
            change[r] = 0.0


@compiled
def block_work(g, block_size, n_coordinates):
    """Return the buffers of `_block_visits`, and for scores, Gram matrix and change."""
    n_cells = g.factor[-1]["offset"] + g.factor[-1]["n_cells"]
    visits = (
        visit_work(g),
        np.empty(n_cells),
        np.zeros(block_size, dtype=np.bool_),
    )
    return (
        visits,
        room_for_products(block_size, n_coordinates),
        room_for_products(block_size, block_size),
        np.zeros((-(-block_size // 8) * 8, n_coordinates)),
    )


@compiled
def kernel_pass(
    order, block_size, kernel, weights, rounded, problem, state, messages, squared_norms
):
    """Visit examples in the kernel form, a block at a time.

    `weights` are (n_coordinates, n_samples) in double precision, `rounded` the same in
    the kernel's precision, or None if it has the same. squared_norms[i] becomes
    <F_i, A_i> as of the visit.
    """
    n = weights.shape[0]
    visits, scores, gram, change = block_work(problem.graph, block_size, n)
    F, A = np.empty_like(visits[1]), np.empty_like(visits[1])
    row = np.empty(n)
    for start in range(0, order.shape[0], block_size):
        block = order[start : start + block_size]
        if rounded is None:
            row_products(kernel, block, weights, scores)
        else:
            row_products(kernel, block, rounded, scores)
        for r in range(block.shape[0]):
            for p in range(r + 1):
                gram[r, p] = kernel[block[r], block[p]]
        _block_visits(block, scores, gram, problem, state, messages, change, visits)
        for r in range(block.shape[0]):
            i = block[r]
            for c in range(n):
                row[c] = weights[c, i]
                weights[c, i] += change[r, c]
                if rounded is not None:
                    rounded[c, i] = weights[c, i]
            _expand(problem.coordinates, scores[r], F)
            _expand(problem.coordinates, row, A)
            squared_norms[i] = np.dot(F, A)


@compiled
def dense_pass(order, block_size, X, weights, rounded, problem, state, messages):
    """Visit examples in the linear form with dense features, a block at a time.

    `weights` are (n_coordinates, n_features) in double precision, `rounded` the same in
    the precision of X, or None if it has the same.
    """
    visits, scores, gram, change = block_work(
        problem.graph, block_size, weights.shape[0]
    )
    for start in range(0, order.shape[0], block_size):
        block = order[start : start + block_size]
        if rounded is None:
            row_products(X, block, weights, scores)
        else:
            row_products(X, block, rounded, scores)
        row_products(X, block, X[block], gram)
        _block_visits(block, scores, gram, problem, state, messages, change, visits)
        change[block.shape[0] :] = 0.0
        add_products(X, block, change, weights)
        if rounded is not None:
            rounded[:] = weights


@compiled
def sparse_pass(order, rows, weights, problem, state, messages):
    """Visit examples in the linear form with sparse features.

    rows are the CSR arrays (data, indices, indptr), without duplicates; the weights
    (n_features, n_coordinates) are updated, and so is the intercept. The cost follows
    the non-zeros, and in the update only the coordinates that moved.
    """
    data, indices, indptr = rows
    intercept, constant = state.intercept, state.constant
    n = intercept.shape[0]
    work = visit_work(problem.graph)
    cells = np.empty_like(work[1])
    scores = np.empty(n)
    change = np.empty(n)
    changed = np.empty(n, dtype=np.int64)
    for i in order:
        scores[:] = constant * intercept
        norm = constant * constant
        for s in range(indptr[i], indptr[i + 1]):
            x, row = data[s], weights[indices[s]]
            norm += x * x
            for c in range(n):
                scores[c] += x * row[c]
        norm *= state.scale
        _expand(problem.coordinates, scores, cells)
        if not _visit(i, cells, norm, problem, state, messages, change, work):
            continue
        n_changed = 0
        for c in range(n):
            if change[c] != 0.0:
                change[n_changed] = state.scale * change[c]
                changed[n_changed] = c
                intercept[c] += constant * change[n_changed]
                n_changed += 1
        for s in range(indptr[i], indptr[i + 1]):
            x, row = data[s], weights[indices[s]]
            for r in range(n_changed):
                row[changed[r]] += x * change[r]


@compiled
def _upper_bound(scores, g, messages, work):
    """Return the best score of a labelling, or on cycles a bound on it.

    Where the bound of message passing is not tight and there are few labellings, all
    of them are tried.
    """
    walk, _, labels, _, _, _ = work
    if messages is None:
        bound = forest_max_sum(scores, g, walk, labels)
    else:
        sent, message_buffers = messages
        sent[:] = 0.0
        score, bound = tree_reweighted(
            scores, g, CERTIFYING_SWEEPS, sent, labels, message_buffers
        )
        if bound > score and _has_few_labellings(g):
            bound = exhaustive_max(scores, g, labels)
    return bound


@compiled
def hinge_rows(scores, block, problem, hinge, messages):
    """Write the margin violations of a block, given its F (overwritten).

        hinge_i = max_y loss(y_i, y) + <F_i, U(y)> - <F_i, U(y_i)>

    with the maximum replaced by an upper bound on graphs with cycles.
    """
    g = problem.graph
    true_cells, _, _, work = visit_work(g)
    for r in range(block.shape[0]):
        true_score = _loss_augmented(block[r], scores[r], problem, true_cells)
        bound = _upper_bound(scores[r], g, messages, work)
        hinge[block[r]] = max(bound - true_score, 0.0)


@compiled
def expected_loss(dual_coef, problem):
    """Return sum_i <loss_i, mu_i>, the linear term of the dual objective.

    The loss of the true cells is zero, so it is the same as -sum_i <loss_i, A_i>.
    """
    g = problem.graph
    true_cells, losses, A, _ = visit_work(g)
    total = 0.0
    for i in range(dual_coef.shape[0]):
        _expand(problem.coordinates, dual_coef[i], A)
        losses[:] = 0.0
        _find_cells(g, problem.Y[i], true_cells)
        add_loss(losses, g, true_cells, problem.loss)
        for c in range(losses.shape[0]):
            total -= losses[c] * A[c]
    return total
