"""Visits: steps that improve the dual variables of one example.

Passes call visits through a pointer: see `visitor`. So visits are compiled once for all
passes. In the same way visits call the steps on graphs with cycles, which are compiled
only for them.
"""

from typing import Any, NamedTuple

import numpy as np

from spanforest._compiled.cells import (
    EMPTY,
    FORBIDDEN,
    NEGLIGIBLE,
    TRAINING_TIE,
    picked_cell,
)
from spanforest._compiled.coordinates import contract, expand_rows
from spanforest._compiled.decorators import (
    Packed,
    Pointer,
    call_pointer,
    internal,
    keep_small,
    merged,
    pack,
    through_pointer,
)
from spanforest._compiled.forests import Walk, walk_back, walk_buffers, walk_up
from spanforest._compiled.labellings import listed_steps, pack_lists
from spanforest._compiled.records import (
    GAINING,
    LOSING,
    MARGINALS,
    MASKED,
    SCORES,
    SHIFT,
)

ENOUGH = 0.3  # a visit ends when a step promises at most this share of the first rise


# A connected region of a forest in which two labellings differ has the number of its
# topmost label; that record describes it.
REGION_FIELDS = np.dtype(
    [
        ("number", np.int64),  # region of the label, -1 where they agree
        ("rise", np.float64),  # by how much moving a unit of mass raises the score
        ("size", np.float64),  # number of moves, weighted as their bends
        ("room", np.float64),  # the most mass that can move
    ]
)
# Mass moves between cells of a factor.
MOVE_FIELDS = np.dtype(
    [
        ("source", np.int64),
        ("target", np.int64),
        ("region", np.int64),  # or the factor, on a graph with cycles
        ("weight", np.float64),  # of the factor
    ]
)

LOOK = 0  # value of `max_steps` in `visit_examples`: margin violations only

NO_ROUTINE = Pointer(0, 0)
NO_LISTS = Packed(0, (), None)


class Visit(NamedTuple):
    """The buffers of a visit."""

    cells: np.ndarray  # (4, n_cells), rows SCORES, MARGINALS, SHIFT and MASKED
    true_cells: np.ndarray  # (n_factors,) the cells that the example's labels pick
    weight: np.ndarray  # (n_factors,) how often they count; 0 if not taught
    labels: np.ndarray  # (2, n_labels) the labellings GAINING and LOSING mass
    region: np.ndarray  # (n_labels,) records
    move: np.ndarray  # (n_factors,) records
    walk: Walk


def visit_buffers(g):
    """Return the buffers of a visit."""
    n_cells = g.factor[-1]["offset"] + g.factor[-1]["n_cells"]
    n_factors, n_labels = len(g.factor), len(g.label)
    return Visit(
        cells=np.empty((4, n_cells)),
        true_cells=np.empty(n_factors, dtype=np.int64),
        weight=np.ones(n_factors),
        labels=np.zeros((2, n_labels), dtype=np.int64),
        region=np.empty(n_labels, REGION_FIELDS),
        move=np.empty(n_factors, MOVE_FIELDS),
        walk=walk_buffers(g, TRAINING_TIE),
    )


# --- scores and marginals of one example ---------------------------------------------


@merged
def _update_scores(r, block, constant, intercept):
    """Turn scores of the weights before the block into those at the r-th visit."""
    scores, gram, change, moved = block.scores[r], block.gram, block.change, block.moved
    for d in range(intercept.shape[0]):
        scores[d] += constant * intercept[d]
    for p in range(r):
        if moved[p]:
            for d in range(intercept.shape[0]):
                scores[d] += gram[r, p] * change[p, d]


@internal
def augment_with_loss(i, scores, factors, targets, true_cells):
    """Add the loss to the scores of example i, F_i; return the score of its labels.

    First add the loss of a cell that is wrong at both ends, then subtract where an end
    is right. Where a label is not observed, `true_cells` gets an arbitrary cell.
    """
    keep_small()
    loss, labels = targets.loss, targets.Y[i]
    true_score = 0.0
    for f in range(factors.shape[0]):
        factor, own_loss = factors[f], loss[f]
        true = picked_cell(factor, labels)
        true_cells[f] = true
        true_score += scores[true]
        start, stop = factor["offset"], factor["offset"] + factor["n_cells"]
        for c in range(start, stop):
            scores[c] += own_loss["worst"]
        scores[true] -= own_loss["joint"]
        if own_loss["first"] != 0.0 or own_loss["second"] != 0.0:
            n_second = factor["n_second"]
            column = (true - start) % n_second
            for c in range(true - column, true - column + n_second):
                scores[c] -= own_loss["first"]
            for c in range(start + column, stop, n_second):
                scores[c] -= own_loss["second"]
    return true_score


@merged
def weigh_scores(i, scores, factors, targets, true_cells, weight):
    """Multiply scores with the loss by how often each factor counts.

    Fill `weight` with that. A factor that example i does not teach has weight 0: it has
    neither score nor loss, as if it were absent. Returns the score of the true labels,
    whose loss is 0.
    """
    taught, weights = targets.taught, targets.factor_weight
    true_score = 0.0
    for f in range(factors.shape[0]):
        own = 1.0 if weights.shape[0] == 0 else weights[i, f]
        if taught.shape[0] > 0 and not taught[i, f]:
            own = 0.0
        weight[f] = own
        factor = factors[f]
        for c in range(factor["offset"], factor["offset"] + factor["n_cells"]):
            scores[c] *= own
        true_score += scores[true_cells[f]]
    return true_score


@merged
def _load_marginals(box, dual_row, true_cells, marginals):
    """Turn A into mu = C U(y) - A, and clear the rounding errors of zeros.

    `marginals` holds the cells of A. `box` is C times the weight of the example.
    """
    for c in range(marginals.shape[0]):
        marginals[c] = -marginals[c]
    largest = 0.0
    for d in range(dual_row.shape[0]):
        largest = max(largest, abs(dual_row[d]))
    for c in true_cells:
        marginals[c] += box
    for c in range(marginals.shape[0]):
        if marginals[c] < EMPTY * largest:
            marginals[c] = 0.0


def weigh_example(i, work, problem):
    """Prepare a visit to an example that lacks labels, or whose labels have weights.

    Before, the marginals hold the cells of A. They are divided by the weights of their
    factors. In factors that the example does not teach the marginals become positive,
    so that any cell may be picked. state.hinge[i] becomes the score of the true labels.
    Visits call this through a pointer: most examples do not need it.
    """
    keep_small()
    _, _, state = work[0]
    g, _, targets, visit = problem[0]
    factors, cells, true_cells = g.factor, visit.cells, visit.true_cells
    marginals, weight, box = cells[MARGINALS], visit.weight, targets.box[i]
    state.hinge[i] = weigh_scores(
        i, cells[SCORES], factors, targets, true_cells, weight
    )
    dual_row, largest = state.dual_coef[i], 0.0
    for d in range(dual_row.shape[0]):
        largest = max(largest, abs(dual_row[d]))
    for f in range(factors.shape[0]):
        factor = factors[f]
        for c in range(factor["offset"], factor["offset"] + factor["n_cells"]):
            if weight[f] > 0.0:
                marginals[c] /= -weight[f]
                largest = max(largest, abs(marginals[c]))
    for f in range(factors.shape[0]):
        factor = factors[f]
        marginals[true_cells[f]] += box
        for c in range(factor["offset"], factor["offset"] + factor["n_cells"]):
            if weight[f] == 0.0:
                marginals[c] = box
            elif marginals[c] < EMPTY * largest:
                marginals[c] = 0.0


@merged
def _inner_product(some, others):
    """Return the sum of the products of two arrays."""
    total = 0.0
    for c in range(some.shape[0]):
        total += some[c] * others[c]
    return total


@merged
def _store(change, dual_row, intercept, scale, constant):
    """Subtract a change of marginals from dual_row, and update the intercept.

    `change` holds the coordinates of the change. It becomes what is to be added to the
    weights. The new marginals themselves are not stored: beside a large C they lose the
    digits of a small A. A dual variable that returns to zero does so exactly. Otherwise
    the rounding error would count as mass, and a step can move no more mass than there
    is.
    """
    for d in range(change.shape[0]):
        before = dual_row[d]
        after = before - change[d]
        if abs(after) < EMPTY * abs(before):
            after = 0.0
        dual_row[d] = after
        change[d] = scale * (after - before)
        intercept[d] += constant * change[d]


# --- steps ---------------------------------------------------------------------------


@merged
def _find_regions(g, box, labels, regions):
    """Find the regions in which the gaining and the losing labelling differ.

    Their sums are cleared. The labellings agree about a label that the example lacks:
    its values tie.
    """
    gaining, losing = labels[GAINING], labels[LOSING]
    roots, branches = g.root, g.branch
    for s in range(roots.shape[0]):
        j = roots[s]
        region = regions[j]
        region["number"] = j if gaining[j] != losing[j] else -1
        region["rise"], region["size"], region["room"] = 0.0, 0.0, box
    for e in range(branches.shape[0]):
        j = branches[e]["child"]
        region = regions[j]
        if gaining[j] == losing[j]:
            region["number"] = -1
            continue
        region["number"] = regions[branches[e]["parent"]]["number"]
        if region["number"] < 0:
            region["number"] = j
            region["rise"], region["size"], region["room"] = 0.0, 0.0, box


@merged
def _find_moves(factors, visit):
    """List the moves from the losing to the gaining labelling; return how many.

    Also add up the rise and the size of each region, and find its room.
    """
    scores, marginals = visit.cells[SCORES], visit.cells[MARGINALS]
    gaining, losing = visit.labels[GAINING], visit.labels[LOSING]
    regions, moves, weights = visit.region, visit.move, visit.weight
    n_moves = 0
    for f in range(factors.shape[0]):
        factor = factors[f]
        j = regions[factor["first"]]["number"]
        if factor["second"] >= 0:  # the same, unless one is -1
            j = max(j, regions[factor["second"]]["number"])
        weight = weights[f]
        if j < 0 or weight == 0.0:
            continue
        source, target = picked_cell(factor, losing), picked_cell(factor, gaining)
        move, region = moves[n_moves], regions[j]
        move["source"], move["target"], move["region"] = source, target, j
        move["weight"] = weight
        n_moves += 1
        region["rise"] += scores[target] - scores[source]
        region["size"] += weight * weight
        region["room"] = min(region["room"], marginals[source])
    return n_moves


@merged
def _make_moves(n_moves, norm, visit):
    """Move mass in each region by the length that is best for it."""
    cells, moves, regions = visit.cells, visit.move, visit.region
    scores, marginals, shift = cells[SCORES], cells[MARGINALS], cells[SHIFT]
    for m in range(n_moves):
        move = moves[m]
        region = regions[move["region"]]
        source, target, room = move["source"], move["target"], region["room"]
        bend = 2.0 * norm * region["size"]
        gain = max(region["rise"], 0.0)  # may be negative by rounding
        length = room if gain >= room * bend else gain / bend
        moved = length * move["weight"]
        shift[target] += moved
        shift[source] -= moved
        drop = moved * norm * move["weight"]
        scores[target] -= drop
        scores[source] += drop
        marginals[target] += length
        marginals[source] -= length
        if marginals[source] < EMPTY * length:
            marginals[source] = 0.0


@merged
def _find_worst(scores, marginals, masked):
    """Fill `masked`, whose best labelling is the worst one that has mass."""
    for c in range(scores.shape[0]):
        masked[c] = -scores[c] if marginals[c] > 0.0 else FORBIDDEN


def visit_examples(routines, start, stop, max_steps, work, problem, lists):
    """Visit some examples of an order, a block of them, one after the other.

    Before, block.scores holds the scores from the weights as they are, and block.gram
    the kernel matrix, both without the constant feature. Afterwards the scores are
    those at the visits, and block.change is what is to be added to the weights. The
    intercept is updated, and so are the rows of dual_coef. hinge[i] becomes the margin
    violation before the visit, and squared_norms[i] becomes <F_i, A_i>. If max_steps is
    LOOK nothing moves.

    Mass moves from the worst labelling that the marginals allow to the best labelling
    of all. On a forest the marginals are a mixture containing *every* labelling whose
    cells are all positive, and remain marginals as long as no cell becomes negative, so
    no list of label sets is needed (decomposition-invariant pairwise steps, Garber &
    Meshi 2016). Where the two labellings differ in several regions of the forest, each
    region moves on its own, on cells of its own: it gets the step length that is best
    for it, and a cell with little mass holds up its own region only.

    On a graph with cycles `listed_steps` does that, with `lists`.
    """
    order, block, state = work[0]
    g, layout, targets, visit = problem[0]
    factors, cells, true_cells = g.factor, visit.cells, visit.true_cells
    scores, marginals, masked = cells[SCORES], cells[MARGINALS], cells[MASKED]
    labels, shift, walk = visit.labels, cells[SHIFT], visit.walk
    dual_coef, intercept, hinge, scales, constant, squared_norms = state
    scale = scales[0]
    is_forest = g.branch.shape[0] == g.incident.shape[0] // 2
    is_even = targets.taught.shape[0] == 0 and targets.factor_weight.shape[0] == 0
    weigh, steps = routines
    for r in range(stop - start):
        i = order[start + r]
        dual_row = dual_coef[i]
        expand_rows(layout, dual_coef[i : i + 1], cells[MARGINALS : MARGINALS + 1])
        _update_scores(r, block, constant, intercept)
        expand_rows(layout, block.scores[r : r + 1], cells[SCORES : SCORES + 1])
        if squared_norms.shape[0] > 0:
            expand_rows(layout, block.before[r : r + 1], cells[MASKED : MASKED + 1])
            squared_norms[i] = _inner_product(scores, masked)
        true_score = augment_with_loss(i, scores, factors, targets, true_cells)
        norm = scale * (block.gram[r, r] + constant * constant)
        shift[:] = 0.0
        first_top, first_rise, moved, n_steps = 0.0, 0.0, False, 0
        if not is_even:
            call_pointer(weigh, (i, work, problem))
            true_score = hinge[i]
        elif is_forest:
            _load_marginals(targets.box[i], dual_row, true_cells, marginals)
        if is_forest:
            n_steps = max(max_steps, 1)
        else:
            call_pointer(steps, (i, r, norm, work, problem, lists))
            first_top, moved = hinge[i], block.moved[r]
        for step in range(n_steps):
            top, rise = 0.0, 0.0
            for side in range(2):  # GAINING and LOSING; one call compiles faster
                walk_up(cells[MASKED * side], g, walk)
                best = walk_back(g, walk, labels[side])
                rise += best
                if side == 0:
                    top = best
                    _find_worst(scores, marginals, masked)
            if step == 0:
                first_top, first_rise = top, rise
            enough = max(ENOUGH * first_rise, NEGLIGIBLE * (1.0 + abs(top)))
            if rise <= enough or max_steps == LOOK:
                break
            _find_regions(g, targets.box[i], labels, visit.region)
            n_moves = _find_moves(factors, visit)
            _make_moves(n_moves, norm, visit)
            moved = True
        hinge[i], block.moved[r] = max(first_top - true_score, 0.0), moved
        change = block.change[r]
        change[:] = 0.0
        if moved:
            contract(layout, shift, change)
            _store(change, dual_row, intercept, scale, constant)


class Routines(NamedTuple):
    """Routines that visits call through a pointer, if they need them."""

    weigh: Any  # `weigh_example`, where labels are missing or have weights
    steps: Any  # `listed_steps`, on a graph with cycles


NONE_NEEDED = Routines(NO_ROUTINE, NO_ROUTINE)


class Call(NamedTuple):
    """How visits are called: the routine, and its first and last arguments.

    Some processors pass tuples of pointers like single numbers only at the beginning,
    where registers are free. Python passes single numbers.
    """

    visit: Any
    routines: Any
    work: Any
    problem: Any
    lists: Any


def visitor(order, block, problem, state, mixtures):
    """Return how to visit examples of an order, and what must stay alive until then.

    Compiled code calls visits through a pointer. So passes over data of other kinds
    compile only themselves, and graphs with cycles only their steps. `problem` is a
    packed `ProblemArrays`. `mixtures` is None on a forest, and where no steps are made.
    The first of what must stay alive is the packed order, block and state.
    """
    work, lists, request = pack((order, block, state)), NO_LISTS, None
    weigh, steps = NONE_NEEDED
    kinds, targets = (work.kind, problem.kind), problem.record.targets
    if targets.taught.size or targets.factor_weight.size:
        weigh = through_pointer(weigh_example, (0, work, problem), kinds)
    if mixtures is not None:
        lists, request = pack_lists(problem.record, mixtures)
        like_these = 0, 0, 0.0, work, problem, lists
        steps = through_pointer(listed_steps, like_these, (*kinds, lists.kind))
    arguments = NONE_NEEDED, 0, 0, 0, work, problem, 0
    visit = through_pointer(visit_examples, arguments, kinds)
    routines = Routines(weigh, steps)
    call = Call(visit, routines, work.address, problem.address, lists.address)
    return call, (work, problem, lists, request)


# stamp: bf4b671b9d7ccd4c
