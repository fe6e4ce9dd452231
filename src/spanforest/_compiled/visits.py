"""Visits: steps that improve the dual variables of one example.

There is a routine for forests and one for graphs with cycles. Passes call them through
a pointer, see `visitor`. So visits are compiled once, and what graphs with cycles need
is compiled only for them.
"""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.cells import (
    FORBIDDEN,
    NEGLIGIBLE,
    TRAINING_TIE,
    find_cells,
    picked_cell,
)
from spanforest._compiled.coordinates import contract, expand
from spanforest._compiled.decorators import inlined, merged, through_pointer
from spanforest._compiled.forests import Walk, forest_max_sum, walk_buffers
from spanforest._compiled.labellings import NO_MIXTURES, listed_steps

ENOUGH = 0.3  # a visit ends when a step promises at most this share of the first rise
EMPTY = 1e-12  # as NEGLIGIBLE, for cells, whose rounding errors add up over epochs


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
        ("bend", np.float64),  # squared weight of the factor
    ]
)

# Rows of `Visit.cells`. One array compiles faster than four.
SCORES = 0  # F_i, and then loss + F_i
MARGINALS = 1
SHIFT = 2  # what the marginals gained
MASKED = 3  # minus the scores where there is mass, FORBIDDEN elsewhere

# Rows of `Visit.labels`.
GAINING = 0
LOSING = 1


class Visit(NamedTuple):
    """The buffers of a visit."""

    cells: np.ndarray  # (4, n_cells), see above
    true_cells: np.ndarray  # (n_factors,) the cells that the example's labels pick
    labels: np.ndarray  # (2, n_labels) the labellings that gain and lose mass
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
        labels=np.zeros((2, n_labels), dtype=np.int64),
        region=np.empty(n_labels, REGION_FIELDS),
        move=np.empty(n_factors, MOVE_FIELDS),
        walk=walk_buffers(g, TRAINING_TIE),
    )


# --- scores and marginals of one example ---------------------------------------------


@merged
def add_loss(scores, factors, true_cells, loss):
    """Add to the scores of one example the loss of every cell against the true ones.

    First add the loss of a cell that is wrong at both ends, then subtract where an end
    is right.
    """
    for f in range(factors.shape[0]):
        factor, weights = factors[f], loss[f]
        start, stop = factor["offset"], factor["offset"] + factor["n_cells"]
        for c in range(start, stop):
            scores[c] += weights["worst"]
        true = true_cells[f]
        scores[true] -= weights["joint"]
        if weights["first"] == 0.0 and weights["second"] == 0.0:
            continue
        n_second = factor["n_second"]
        column = (true - start) % n_second
        row = true - column
        for b in range(n_second):
            scores[row + b] -= weights["first"]
        for c in range(start + column, stop, n_second):
            scores[c] -= weights["second"]


@inlined
def _silence(i, factors, taught, values, filler):
    """Fill the cells of the factors that example i does not teach."""
    for f in range(taught.shape[1]):
        if not taught[i, f]:
            factor = factors[f]
            for c in range(factor["offset"], factor["offset"] + factor["n_cells"]):
                values[c] = filler


@inlined
def _weigh(i, factors, weights, values):
    """Multiply the cells of every factor by how often it counts for example i."""
    for f in range(weights.shape[1]):
        factor = factors[f]
        for c in range(factor["offset"], factor["offset"] + factor["n_cells"]):
            values[c] *= weights[i, f]


@inlined
def _pick(scores, cells):
    """Return the sum of the scores at these cells."""
    total = 0.0
    for c in cells:
        total += scores[c]
    return total


@merged
def augment_with_loss(i, scores, problem, true_cells):
    """Add the loss to the scores of example i, F_i; return the score of its labels.

    A factor that it does not teach has neither score nor loss, as if it were absent.
    There `true_cells` holds an arbitrary cell. Score and loss of the other factors are
    multiplied by how often they count.
    """
    factors, taught = problem.graph.factor, problem.taught
    find_cells(factors, problem.Y[i], true_cells)
    _silence(i, factors, taught, scores, 0.0)
    true_score = _pick(scores, true_cells)
    add_loss(scores, factors, true_cells, problem.loss)
    _silence(i, factors, taught, scores, 0.0)
    if problem.factor_weight.shape[0] > 0:
        _weigh(i, factors, problem.factor_weight, scores)
        true_score = _pick(scores, true_cells)  # the loss is 0 there
    return true_score


@merged
def _load_marginals(i, dual_row, problem, true_cells, marginals):
    """Fill marginals with mu = C U(y) - A, and clear the rounding errors of zeros.

    C is multiplied by the weight of the example. A is divided by those of the factors.
    """
    weights, factors, box = problem.factor_weight, problem.graph.factor, problem.box[i]
    expand(problem.layout, dual_row, marginals)
    for c in range(marginals.shape[0]):
        marginals[c] = -marginals[c]
    largest = 0.0
    for d in range(dual_row.shape[0]):
        largest = max(largest, abs(dual_row[d]))
    for f in range(weights.shape[1]):
        if weights[i, f] > 0.0:
            factor = factors[f]
            for c in range(factor["offset"], factor["offset"] + factor["n_cells"]):
                marginals[c] /= weights[i, f]
                largest = max(largest, abs(marginals[c]))
    for c in true_cells:
        marginals[c] += box
    for c in range(marginals.shape[0]):
        if marginals[c] < EMPTY * largest:
            marginals[c] = 0.0


@merged
def _store_shift(shift, layout, dual_row, change):
    """Subtract a change of marginals from dual_row; write into `change` what was added.

    The new marginals themselves are not stored: beside a large C they lose the digits
    of a small A. A dual variable that returns to zero does so exactly. Otherwise the
    rounding error would count as mass, and a step can move no more mass than there is.
    """
    contract(layout, shift, change)
    for d in range(change.shape[0]):
        before = dual_row[d]
        after = before - change[d]
        if abs(after) < EMPTY * abs(before):
            after = 0.0
        dual_row[d] = after
        change[d] = after - before


# --- steps ---------------------------------------------------------------------------


@merged
def _find_regions(g, box, visit):
    """Find the regions in which the gaining and the losing labelling differ.

    Their sums are cleared. The labellings agree about a label that the example lacks:
    its values tie.
    """
    gaining, losing = visit.labels[GAINING], visit.labels[LOSING]
    regions = visit.region
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
def _find_moves(i, problem, visit):
    """List the moves from the losing to the gaining labelling; return how many.

    Also add up the rise and the size of each region, and find its room.
    """
    factors, taught = problem.graph.factor, problem.taught
    weights = problem.factor_weight
    scores, marginals = visit.cells[SCORES], visit.cells[MARGINALS]
    gaining, losing = visit.labels[GAINING], visit.labels[LOSING]
    regions, moves = visit.region, visit.move
    n_moves = 0
    for f in range(factors.shape[0]):
        factor = factors[f]
        j = regions[factor["first"]]["number"]
        if factor["second"] >= 0:  # the same, unless one is -1
            j = max(j, regions[factor["second"]]["number"])
        if j < 0 or (taught.shape[0] > 0 and not taught[i, f]):
            continue
        source, target = picked_cell(factor, losing), picked_cell(factor, gaining)
        move, region = moves[n_moves], regions[j]
        weight = 1.0 if weights.shape[0] == 0 else weights[i, f]
        move["source"], move["target"], move["region"] = source, target, j
        move["bend"] = weight * weight
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
        shift[target] += length
        shift[source] -= length
        drop = length * norm * move["bend"]
        scores[target] -= drop
        scores[source] += drop
        marginals[target] += length
        marginals[source] -= length
        if marginals[source] < EMPTY * length:
            marginals[source] = 0.0


@inlined
def _curvature(r, block, state):
    """Return the kernel value of an example with itself, times `state.scale`.

    The constant feature is included. This is the curvature that steps see.
    """
    return state.scale * (block.gram[r, r] + state.constant * state.constant)


@merged
def _begin(r, i, block, problem, state):
    """Prepare the visit to example i in row r of a block; return its labels' score.

    F_i, of the weights before the block, becomes the one at the moment of the visit.
    Loss and F_i are left in the buffers, and so are the marginals.
    """
    scores, intercept = block.scores[r], state.intercept
    cells, true_cells = problem.visit.cells, problem.visit.true_cells
    for d in range(intercept.shape[0]):
        scores[d] += state.constant * intercept[d]
    for p in range(r):
        if block.moved[p]:
            for d in range(intercept.shape[0]):
                scores[d] += block.gram[r, p] * block.change[p, d]
    expand(problem.layout, scores, cells[SCORES])
    true_score = augment_with_loss(i, cells[SCORES], problem, true_cells)
    _load_marginals(i, state.dual_coef[i], problem, true_cells, cells[MARGINALS])
    return true_score


@merged
def _finish(r, i, block, problem, state):
    """Store what the visit to example i changed, if block.moved[r] says that it did."""
    change, intercept = block.change[r], state.intercept
    if not block.moved[r]:
        change[:] = 0.0
        return
    shift = problem.visit.cells[SHIFT]
    _weigh(i, problem.graph.factor, problem.factor_weight, shift)
    _store_shift(shift, problem.layout, state.dual_coef[i], change)
    for d in range(change.shape[0]):
        change[d] *= state.scale
        intercept[d] += state.constant * change[d]


def visit_on_forest(rows, block, problem, state, mixtures):
    """Visit the examples of a block, `rows`, one after the other, on a forest.

    Before, block.scores holds the scores from the weights as they are, and block.gram
    the kernel matrix, both without the constant feature. Afterwards the scores are
    those at the visits, and block.change is what is to be added to the weights. The
    intercept is updated, and so are the rows of dual_coef. hinge[i] becomes the margin
    violation before the visit.

    Mass moves from the worst labelling that the marginals allow to the best labelling
    of all. On a forest the marginals are a mixture containing *every* labelling whose
    cells are all positive, and remain marginals as long as no cell becomes negative, so
    no list of label sets is needed (decomposition-invariant pairwise steps, Garber &
    Meshi 2016). Where the two labellings differ in several regions of the forest, each
    region moves on its own, on cells of its own: it gets the step length that is best
    for it, and a cell with little mass holds up its own region only.
    """
    g, visit, cells = problem.graph, problem.visit, problem.visit.cells
    scores, marginals, masked = cells[SCORES], cells[MARGINALS], cells[MASKED]
    for r in range(rows.shape[0]):
        i = rows[r]
        true_score = _begin(r, i, block, problem, state)
        # any cell may be picked where the example teaches nothing
        _silence(i, g.factor, problem.taught, marginals, problem.box[i])
        norm = _curvature(r, block, state)
        cells[SHIFT, :] = 0.0
        first_top, first_rise, block.moved[r] = 0.0, 0.0, False
        for step in range(max(problem.max_steps, 1)):
            top, rise = 0.0, 0.0
            for side in range(2):  # GAINING and LOSING; one call compiles faster
                best = forest_max_sum(
                    cells[MASKED * side], g, visit.walk, visit.labels[side]
                )
                rise += best
                if side == 0:
                    top = best
                    for c in range(scores.shape[0]):
                        masked[c] = -scores[c] if marginals[c] > 0.0 else FORBIDDEN
            if step == 0:
                first_top, first_rise = top, rise
            enough = max(ENOUGH * first_rise, NEGLIGIBLE * (1.0 + abs(top)))
            if rise <= enough or problem.max_steps == 0:
                break
            _find_regions(g, problem.box[i], visit)
            _make_moves(_find_moves(i, problem, visit), norm, visit)
            block.moved[r] = True
        state.hinge[i] = max(first_top - true_score, 0.0)
        _finish(r, i, block, problem, state)


def visit_on_cycles(rows, block, problem, state, mixtures):
    """Visit the examples of a block as `visit_on_forest` does, on any graph.

    The best score that a search found stands in for the best score of all.
    """
    for r in range(rows.shape[0]):
        i = rows[r]
        true_score = _begin(r, i, block, problem, state)
        norm = _curvature(r, block, state)
        top, moved = listed_steps(i, norm, problem, mixtures)
        block.moved[r] = moved
        state.hinge[i] = max(top - true_score, 0.0)
        _finish(r, i, block, problem, state)


def visitor(rows, block, problem, state, mixtures):
    """Return lists of labellings, and the function that visits blocks with them.

    Compiled code calls it through a pointer. So passes over data of other kinds compile
    only themselves. For the same reason a forest has lists too, empty ones.
    """
    function = visit_on_cycles
    if mixtures is None:
        function, mixtures = visit_on_forest, NO_MIXTURES
    arguments = rows, block, problem, state, mixtures
    return mixtures, through_pointer(function, arguments)


# stamp: e079918aeec19029
