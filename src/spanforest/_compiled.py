"""All compiled routines: max-sum and message passing on factor graphs, solver passes.

They stand in one file because Numba's cache on disk does not notice a change in another
one. They take and give arrays (`g` is always a `FactorArrays`), draw no random numbers
and check nothing: all of that is done above. No fastmath: -inf and ties matter.
"""

import numpy as np
from numba import njit

NEGLIGIBLE = 1e-12  # marginals below this share of C are rounding errors of zero
TRAINING_SWEEPS = 20  # of message passing, per step on a graph with cycles
CERTIFYING_SWEEPS = 200


@njit(cache=True, nogil=True)
def _cell(g, f, labels):
    """Return the cell of factor f that the labelling picks."""
    factor = g.factor[f]
    if factor["second"] < 0:
        return factor["offset"] + labels[factor["first"]]
    return (
        factor["offset"]
        + labels[factor["first"]] * factor["n_second"]
        + labels[factor["second"]]
    )


@njit(cache=True, nogil=True)
def labelling_score(scores, g, labels):
    """Return <scores, U(labels)>."""
    total = 0.0
    for f in range(g.factor.shape[0]):
        total += scores[_cell(g, f, labels)]
    return total


# --- forests -----------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _upward(scores, g, upward):
    """Fill upward[j, a], the best score of j's subtree if label j takes value a."""
    upward[:] = 0.0
    for j in range(g.label.shape[0]):
        label = g.label[j]
        if label["unary"] >= 0:
            for a in range(label["n_values"]):
                upward[label["start"] + a] = scores[label["unary"] + a]
    for rank in range(g.order.shape[0] - 1, -1, -1):  # leaves first
        label = g.label[g.order[rank]]
        if label["parent"] < 0:
            continue
        parent = g.label[label["parent"]]
        mine, theirs = label["start"], parent["start"]
        row, step = label["table"], label["child_stride"]
        if label["n_values"] == 2 and parent["n_values"] == 2:  # the common case
            other_row = row + label["parent_stride"]
            low, high = upward[mine], upward[mine + 1]
            upward[theirs] += max(scores[row] + low, scores[row + step] + high)
            upward[theirs + 1] += max(
                scores[other_row] + low, scores[other_row + step] + high
            )
            continue
        for a in range(parent["n_values"]):
            best = -np.inf
            for b in range(label["n_values"]):
                best = max(best, scores[row + b * step] + upward[mine + b])
            upward[theirs + a] += best
            row += label["parent_stride"]


@njit(cache=True, nogil=True)
def forest_max_sum(scores, g, upward, labels):
    """Write a highest-scoring labelling into `labels` and return its score.

        y* = argmax_y <scores, U(y)>        (the paper's inference problem)

    Shapes: scores (n_cells,), upward (total number of values,) is overwritten. Labels
    are decided from the roots down, each given its parent, so that ties cannot mix
    two optima. Ties go to the lower value.
    """
    _upward(scores, g, upward)
    total = 0.0
    for j in g.order:  # parents first: each is already decided
        label = g.label[j]
        has_parent = label["parent"] >= 0
        row = 0
        if has_parent:
            row = label["table"] + labels[label["parent"]] * label["parent_stride"]
        best = -np.inf
        choice = 0
        for b in range(label["n_values"]):
            value = upward[label["start"] + b]
            if has_parent:
                value += scores[row + b * label["child_stride"]]
            if value > best:
                best = value
                choice = b
        labels[j] = choice
        if not has_parent:
            total += best
    return total


@njit(cache=True, nogil=True)
def forest_max_sums(scores, g, labels, best):
    """Apply `forest_max_sum` to every row: labels (n, n_labels), best (n,)."""
    upward = np.empty(g.label["n_values"].sum())
    for i in range(scores.shape[0]):
        best[i] = forest_max_sum(scores[i], g, upward, labels[i])


@njit(cache=True, nogil=True)
def _downward(scores, g, upward, downward):
    """Fill downward[j, a], the best score of all but j's subtree if j takes value a.

    Only j's own component counts. Returns the best score over all components.
    """
    total = 0.0
    for j in g.order:
        label = g.label[j]
        start, n_values = label["start"], label["n_values"]
        if label["parent"] < 0:
            downward[start : start + n_values] = 0.0
            total += upward[start : start + n_values].max()
            continue
        downward[start : start + n_values] = -np.inf
        parent = g.label[label["parent"]]
        for a in range(parent["n_values"]):
            row = label["table"] + a * label["parent_stride"]
            message = -np.inf  # what j's subtree had sent up for a
            for b in range(n_values):
                cell = row + b * label["child_stride"]
                message = max(message, scores[cell] + upward[start + b])
            theirs = parent["start"] + a
            rest = downward[theirs] + upward[theirs] - message
            for b in range(n_values):
                value = rest + scores[row + b * label["child_stride"]]
                downward[start + b] = max(downward[start + b], value)
    return total


@njit(cache=True, nogil=True)
def forest_max_marginals(scores, g, marginals):
    """Fill marginals[i, j, a] = max over y with y_j = a of <scores_i, U(y)>.

    One pass up and one down. Shapes: scores (n, n_cells), marginals (n, total number
    of values). Components other than j's enter by their best scores.
    """
    upward = np.empty(marginals.shape[1])
    downward = np.empty(marginals.shape[1])
    for i in range(scores.shape[0]):
        _upward(scores[i], g, upward)
        total = _downward(scores[i], g, upward, downward)
        for j in range(g.label.shape[0]):
            start = g.label[j]["start"]
            stop = start + g.label[j]["n_values"]
            within = upward[start:stop] + downward[start:stop]
            marginals[i, start:stop] = within + (total - within.max())


# --- graphs with cycles ------------------------------------------------------------


@njit(cache=True, nogil=True)
def _other_end(factor, j):
    return factor["second"] if factor["first"] == j else factor["first"]


@njit(cache=True, nogil=True)
def _inbox(factor, j):
    """Return where the message along an edge into label j starts."""
    return factor["to_first"] if factor["first"] == j else factor["to_second"]


@njit(cache=True, nogil=True)
def _edge_cell(factor, j, a, b):
    """Return the cell of an edge where label j takes a and the other end takes b."""
    if factor["first"] == j:
        return factor["offset"] + a * factor["n_second"] + b
    return factor["offset"] + b * factor["n_second"] + a


@njit(cache=True, nogil=True)
def _unary_scores(scores, label, out):
    for a in range(label["n_values"]):
        out[a] = scores[label["unary"] + a] if label["unary"] >= 0 else 0.0


@njit(cache=True, nogil=True)
def _belief(scores, g, messages, j, belief):
    """Fill belief[a] with the unary score of j = a plus all messages into j."""
    label = g.label[j]
    _unary_scores(scores, label, belief)
    for s in range(label["incident_start"], label["incident_stop"]):
        inbox = _inbox(g.factor[g.incident[s]], j)
        for a in range(label["n_values"]):
            belief[a] += messages[inbox + a]


@njit(cache=True, nogil=True)
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
        if work[a] > work[choice]:
            choice = a
    labels[j] = choice
    decided[j] = True


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _reweighted_sweep(scores, g, messages, forward, labels, work):
    """Pass messages once along the labels' order, or against it; return the bound.

    One sweep of sequential tree-reweighted message passing (Kolmogorov 2006), for a
    maximum. Label j splits its belief over its monotonic chains: as many as it has
    edges ahead or behind, whichever is more. What is taken out to normalise the
    beliefs and the messages adds up to a bound on every labelling's score, because
    what remains is nowhere positive.
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
            belief[a] = share * (belief[a] - top)
        for s in range(label["incident_start"], label["incident_stop"]):
            e = g.incident[s]
            if (_other_end(g.factor[e], j) > j) == forward:
                bound += _send(scores, g, e, j, belief, messages, messages)
    return bound


@njit(cache=True, nogil=True)
def message_work(g):
    """Return the buffers of `tree_reweighted`: a labelling, a belief, decided flags."""
    n_labels = g.label.shape[0]
    return (
        np.zeros(n_labels, dtype=np.int64),
        np.empty(g.label["n_values"].max()),
        np.zeros(n_labels, dtype=np.bool_),
    )


@njit(cache=True, nogil=True)
def tree_reweighted(scores, g, max_sweeps, messages, labels, work):
    """Write a labelling into `labels`; return its score and a bound on the best one.

    Where the two agree to rounding the labelling is optimal, and sweeping stops. It
    also stops when a sweep in each direction improved the bound by next to nothing.
    `messages` holds zeros or any earlier messages; `work` is from `message_work`.
    """
    candidate, belief, decided = work
    score, bound = -np.inf, np.inf
    before = np.inf
    for sweep in range(max_sweeps):
        forward = sweep % 2 == 0
        found = _reweighted_sweep(
            scores, g, messages, forward, candidate, (belief, decided)
        )
        bound = min(bound, found)
        value = labelling_score(scores, g, candidate)
        if value > score:
            score = value
            labels[:] = candidate
        slack = 1e-10 * (1.0 + abs(bound))
        if bound - score <= slack:
            return score, max(bound, score)
        if not forward:
            if before - bound <= 10.0 * slack:
                break
            before = bound
    return score, bound


@njit(cache=True, nogil=True)
def tree_reweighted_rows(scores, g, max_sweeps, messages, labels, score, bound):
    """Apply `tree_reweighted` to every row of scores, each from zero messages."""
    work = message_work(g)
    for i in range(scores.shape[0]):
        messages[:] = 0.0
        score[i], bound[i] = tree_reweighted(
            scores[i], g, max_sweeps, messages, labels[i], work
        )


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def flip_margins(scores, g, labels, margins):
    """Fill margins[i, j, a] with the score of labelling i after setting label j to a.

    Given as differences to the score of labelling i itself, so 0 at its own value.
    """
    for i in range(scores.shape[0]):
        margins[i] = 0.0
        for f in range(g.factor.shape[0]):
            now = scores[i, _cell(g, f, labels[i])]
            factor = g.factor[f]
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


@njit(cache=True, nogil=True)
def exhaustive_rows(scores, g, labels, best):
    """Try every labelling of every row; ties go to the first in lexicographic order."""
    n_labels = g.label.shape[0]
    candidate = np.zeros(n_labels, dtype=np.int64)
    for i in range(scores.shape[0]):
        best[i] = -np.inf
        candidate[:] = 0
        while True:
            value = labelling_score(scores[i], g, candidate)
            if value > best[i]:
                best[i] = value
                labels[i] = candidate
            j = n_labels - 1
            while j >= 0 and candidate[j] == g.label[j]["n_values"] - 1:
                candidate[j] = 0
                j -= 1
            if j < 0:
                break
            candidate[j] += 1


# --- solver ------------------------------------------------------------------------
#
# `problem` is (g, loss, Y, settings): the factor graph, the `FactorLoss`, the codes of
# the true labels (n_samples, n_labels), and (C, steps per visit).
# `messages` is None on a forest; that it is None is part of its type, so message
# passing is compiled only for graphs with cycles.


@njit(cache=True, nogil=True)
def add_loss(scores, g, y, loss):
    """Add to the scores of one example the loss of every cell against its labels y."""
    for f in range(g.factor.shape[0]):
        factor = g.factor[f]
        true_a = y[factor["first"]]
        true_b = y[factor["second"]] if factor["second"] >= 0 else 0
        wrong_first = loss.joint[f] + loss.first[f]
        wrong_second = loss.joint[f] + loss.second[f]
        cell = factor["offset"]
        for a in range(g.label[factor["first"]]["n_values"]):
            for b in range(factor["n_second"]):
                if a != true_a:
                    scores[cell] += wrong_first
                    if b != true_b:
                        scores[cell] += loss.second[f]
                elif b != true_b:
                    scores[cell] += wrong_second
                cell += 1


@njit(cache=True, nogil=True)
def _load_marginals(dual_row, g, y, C, marginals):
    """Fill marginals with mu = C U(y) - A, rounding errors of zero cleared."""
    for c in range(marginals.shape[0]):
        marginals[c] = -dual_row[c]
    for f in range(g.factor.shape[0]):
        marginals[_cell(g, f, y)] += C
    for c in range(marginals.shape[0]):
        if marginals[c] < NEGLIGIBLE * C:
            marginals[c] = 0.0


@njit(cache=True, nogil=True)
def _store_marginals(marginals, g, y, C, dual_row, change):
    """Write A = C U(y) - mu into dual_row and how much it moved into change."""
    for f in range(g.factor.shape[0]):
        marginals[_cell(g, f, y)] -= C
    for c in range(marginals.shape[0]):
        change[c] = -marginals[c] - dual_row[c]
        dual_row[c] = -marginals[c]


@njit(cache=True, nogil=True)
def _pairwise_visit(scores, marginals, g, norm, settings, work):
    """Improve one example's marginals on a forest; return its gap and the gain.

    `scores` are loss + F and `norm` is K_ii. Mass moves from the worst labelling that
    the marginals allow to the best labelling of all. On a forest the marginals are a
    mixture containing *every* labelling whose cells are all positive, and remain
    marginals as long as no cell becomes negative, so no list of label sets is needed
    (decomposition-invariant pairwise steps, Garber & Meshi 2016). Both arrays are
    updated in place.
    """
    C, max_steps = settings
    upward, masked, better, worse = work
    gap, gain, first_rise = 0.0, 0.0, 0.0
    for step in range(max_steps):
        top = forest_max_sum(scores, g, upward, better)
        if step == 0:
            gap = C * top
            for c in range(scores.shape[0]):
                gap -= scores[c] * marginals[c]
            if gap <= NEGLIGIBLE * C * (1.0 + abs(top)):
                return max(gap, 0.0), gain
        for c in range(scores.shape[0]):
            masked[c] = -scores[c] if marginals[c] > 0.0 else -np.inf
        rise = top + forest_max_sum(masked, g, upward, worse)
        if step == 0:
            first_rise = rise
        if rise <= 0.01 * first_rise:
            break
        room = C
        n_moved = 0
        for f in range(g.factor.shape[0]):
            gone = _cell(g, f, worse)
            if gone != _cell(g, f, better):
                n_moved += 1
                room = min(room, marginals[gone])
        bend = 2.0 * n_moved * norm
        length = room if rise >= room * bend else rise / bend
        for f in range(g.factor.shape[0]):
            gone, new = _cell(g, f, worse), _cell(g, f, better)
            if gone != new:
                marginals[new] += length
                scores[new] -= length * norm
                scores[gone] += length * norm
                marginals[gone] -= length
                if marginals[gone] < NEGLIGIBLE * C:
                    marginals[gone] = 0.0
        gain += length * (rise - 0.5 * length * bend)
    return gap, gain


@njit(cache=True, nogil=True)
def _frank_wolfe_visit(scores, marginals, g, norm, settings, messages):
    """Improve one example's marginals on any graph; return its gap and the gain.

    Plain Frank-Wolfe steps towards the labellings that tree-reweighted message
    passing finds: a mixture of labellings stays one. The gap uses the bound, so it is
    not too small where the labelling is not optimal.
    """
    C, max_steps = settings
    labels = np.zeros(g.label.shape[0], dtype=np.int64)
    work = message_work(g)
    gap, gain = 0.0, 0.0
    messages[:] = 0.0
    for step in range(max_steps):
        top, bound = tree_reweighted(scores, g, TRAINING_SWEEPS, messages, labels, work)
        held, squares = 0.0, 0.0
        for c in range(scores.shape[0]):
            held += scores[c] * marginals[c]
            squares += marginals[c] * marginals[c]
        if step == 0:
            gap = max(C * bound - held, 0.0)
        rise = C * top - held
        if rise <= 0.01 * gap:
            break
        for f in range(g.factor.shape[0]):
            squares += C * (C - 2.0 * marginals[_cell(g, f, labels)])
        bend = norm * squares
        length = 1.0 if rise >= bend else rise / bend
        for c in range(scores.shape[0]):
            scores[c] += length * norm * marginals[c]
            marginals[c] *= 1.0 - length
        for f in range(g.factor.shape[0]):
            scores[_cell(g, f, labels)] -= length * norm * C
            marginals[_cell(g, f, labels)] += length * C
        gain += length * (rise - 0.5 * length * bend)
    return gap, gain


@njit(cache=True, nogil=True)
def visit_work(g):
    """Return the buffers of a visit: marginals, and what `_pairwise_visit` needs."""
    n_labels = g.label.shape[0]
    n_cells = g.factor[-1]["offset"] + g.factor[-1]["n_cells"]
    pairwise = (
        np.empty(g.label["n_values"].sum()),
        np.empty(n_cells),
        np.zeros(n_labels, dtype=np.int64),
        np.zeros(n_labels, dtype=np.int64),
    )
    return np.empty(n_cells), pairwise


@njit(cache=True, nogil=True)
def _visit(scores, norm, i, problem, state, messages, change, work):
    """Improve example i, given F_i in `scores`; return the gain of the dual objective.

    `state` is (dual_coef, gaps): row i of dual_coef is improved, gaps[i] becomes the
    gap before the visit. `change` gets the row's movement, unless the gain is zero.
    """
    g, loss, Y, settings = problem
    dual_coef, gaps = state
    marginals, pairwise_work = work
    add_loss(scores, g, Y[i], loss)
    _load_marginals(dual_coef[i], g, Y[i], settings[0], marginals)
    if messages is None:
        gaps[i], gain = _pairwise_visit(
            scores, marginals, g, norm, settings, pairwise_work
        )
    else:
        gaps[i], gain = _frank_wolfe_visit(
            scores, marginals, g, norm, settings, messages
        )
    if gain > 0.0:
        _store_marginals(marginals, g, Y[i], settings[0], dual_coef[i], change)
    return gain


@njit(cache=True, nogil=True)
def block_pass(block, scores, gram, problem, state, messages, change):
    """Visit the examples of a block one after the other; return the gain of the dual.

    scores (b, n_cells) are F for the block as it was before the pass, and gram (b, b)
    its kernel matrix: earlier changes inside the block are added through it, so the
    iterates are those of visiting one example at a time. `state` is as in `_visit`;
    change (b, n_cells) becomes the movement of the block's rows.
    """
    work = visit_work(problem[0])
    moved = np.zeros(block.shape[0], dtype=np.bool_)
    total = 0.0
    change[:] = 0.0
    for r in range(block.shape[0]):
        for p in range(r):
            if moved[p] and gram[r, p] != 0.0:
                for c in range(scores.shape[1]):
                    scores[r, c] += gram[r, p] * change[p, c]
        gain = _visit(
            scores[r], gram[r, r], block[r], problem, state, messages, change[r], work
        )
        moved[r] = gain > 0.0
        total += gain
    return total


@njit(cache=True, nogil=True)
def sparse_pass(order, rows, weights, problem, state, messages):
    """Visit examples in the linear form with sparse features; return the gain.

    rows are the CSR arrays (data, indices, indptr), the features' squared norms and
    the constant feature; weights are W (n_features, n_cells) and the intercept
    (n_cells,), both updated in place. The cost follows the non-zeros, and in the
    update only the cells that moved.
    """
    data, indices, indptr, norms, constant = rows
    coef, intercept = weights
    n_cells = intercept.shape[0]
    work = visit_work(problem[0])
    scores = np.empty(n_cells)
    change = np.empty(n_cells)
    moved = np.empty(n_cells, dtype=np.int64)
    total = 0.0
    for i in order:
        scores[:] = constant * intercept
        for s in range(indptr[i], indptr[i + 1]):
            x, row = data[s], coef[indices[s]]
            for c in range(n_cells):
                scores[c] += x * row[c]
        gain = _visit(scores, norms[i], i, problem, state, messages, change, work)
        if gain <= 0.0:
            continue
        total += gain
        n_moved = 0
        for c in range(n_cells):
            if change[c] != 0.0:
                moved[n_moved] = c
                n_moved += 1
                intercept[c] += constant * change[c]
        for s in range(indptr[i], indptr[i + 1]):
            x, row = data[s], coef[indices[s]]
            for r in range(n_moved):
                row[moved[r]] += x * change[moved[r]]
    return total


@njit(cache=True, nogil=True)
def _upper_bound(scores, g, messages, work):
    """Return the best score of a labelling, or on cycles a bound on it."""
    if messages is None:
        upward, _, labels, _ = work
        bound = forest_max_sum(scores, g, upward, labels)
    else:
        messages[:] = 0.0
        _, bound = tree_reweighted(
            scores, g, CERTIFYING_SWEEPS, messages, work[2], message_work(g)
        )
    return bound


@njit(cache=True, nogil=True)
def certify_rows(scores, block, problem, state, messages):
    """Return the block's share of the dual objective; write its exact gaps.

        D = sum_i <loss_i, mu_i> - 1/2 <F_i, A_i>
        g_i = C max_y <loss_i + F_i, U(y)> - <loss_i + F_i, mu_i>

    with the maximum replaced by an upper bound on graphs with cycles. `scores` holds
    F for the rows and is overwritten.
    """
    g, loss, Y, settings = problem
    dual_coef, gaps = state
    C = settings[0]
    marginals, work = visit_work(g)
    objective = 0.0
    for r in range(block.shape[0]):
        i = block[r]
        _load_marginals(dual_coef[i], g, Y[i], C, marginals)
        for c in range(marginals.shape[0]):
            objective -= scores[r, c] * (marginals[c] + 0.5 * dual_coef[i, c])
        add_loss(scores[r], g, Y[i], loss)
        held = 0.0
        for c in range(marginals.shape[0]):
            held += scores[r, c] * marginals[c]
        objective += held
        gaps[i] = max(C * _upper_bound(scores[r], g, messages, work) - held, 0.0)
    return objective
