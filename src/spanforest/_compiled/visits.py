"""Visits: steps that improve the dual variables of one example.

`messages` is None on a forest and a `Messages` on a graph with cycles. Numba compiles a
routine for the type of each argument, so message passing is compiled only for graphs
with cycles.
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
from spanforest._compiled.decorators import compiled, inlined
from spanforest._compiled.forests import Walk, forest_max_sum, walk_buffers
from spanforest._compiled.messages import TRAINING_SWEEPS, tree_reweighted

ENOUGH = 0.3  # a visit ends when a step promises at most this share of the first rise
EMPTY = 1e-12  # as NEGLIGIBLE, for cells, whose rounding errors add up over epochs


class Regions(NamedTuple):
    """Connected regions of a forest in which two labellings differ.

    Each has the number of its topmost label; that entry of the last three fields, each
    of shape (n_labels,), describes it.
    """

    number: np.ndarray  # (n_labels,) region of a label, -1 where they agree
    rise: np.ndarray  # by how much moving a unit of mass raises the score
    size: np.ndarray  # number of moves, weighted by the squares of factor weights
    room: np.ndarray  # the most mass that can move


class Moves(NamedTuple):
    """Moves of mass between cells of a factor; each field has shape (n_factors,)."""

    source: np.ndarray
    target: np.ndarray
    region: np.ndarray
    bend: np.ndarray  # squared weight of the factor


class Visit(NamedTuple):
    """The buffers of a visit."""

    scores: np.ndarray  # (n_cells,) F_i, and then loss + F_i
    true_cells: np.ndarray  # (n_factors,) the cells that the example's labels pick
    marginals: np.ndarray  # (n_cells,)
    shift: np.ndarray  # (n_cells,) what the marginals gained
    masked: np.ndarray  # minus the scores where there is mass, FORBIDDEN elsewhere
    cells: np.ndarray  # (n_factors,) the cells of a Frank-Wolfe step
    gaining: np.ndarray  # (n_labels,) labelling that gains mass
    losing: np.ndarray  # (n_labels,) labelling that loses mass
    walk: Walk
    regions: Regions
    moves: Moves


@compiled
def visit_buffers(g):
    """Return the buffers of a visit."""
    n_cells = g.factor[-1]["offset"] + g.factor[-1]["n_cells"]
    n_factors = g.factor.shape[0]
    n_labels = g.label.shape[0]
    return Visit(
        scores=np.empty(n_cells),
        true_cells=np.empty(n_factors, dtype=np.int64),
        marginals=np.empty(n_cells),
        shift=np.empty(n_cells),
        masked=np.empty(n_cells),
        cells=np.empty(n_factors, dtype=np.int64),
        gaining=np.zeros(n_labels, dtype=np.int64),
        losing=np.zeros(n_labels, dtype=np.int64),
        walk=walk_buffers(g, TRAINING_TIE),
        regions=Regions(
            number=np.empty(n_labels, dtype=np.int64),
            rise=np.empty(n_labels),
            size=np.empty(n_labels),
            room=np.empty(n_labels),
        ),
        moves=Moves(
            source=np.empty(n_factors, dtype=np.int64),
            target=np.empty(n_factors, dtype=np.int64),
            region=np.empty(n_factors, dtype=np.int64),
            bend=np.empty(n_factors),
        ),
    )


# --- scores and marginals of one example ---------------------------------------------


@inlined
def _pick(scores, cells):
    """Return the sum of the scores at these cells."""
    total = 0.0
    for c in cells:
        total += scores[c]
    return total


@inlined
def add_loss(scores, g, true_cells, loss):
    """Add to the scores of one example the loss of every cell against the true ones.

    First add the loss of a cell that is wrong at both ends, then subtract where an end
    is right.
    """
    joint, first, second = loss.joint, loss.first, loss.second
    factors = g.factor
    for c in range(scores.shape[0]):
        scores[c] += loss.worst[c]
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
        for c in range(start + column, start + factor["n_cells"], n_second):
            scores[c] -= second[f]


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
def _weight_of(weights, i, f):
    """Return how often factor f of example i counts."""
    return 1.0 if weights.shape[0] == 0 else weights[i, f]


@inlined
def _weigh(i, problem, values):
    """Multiply the cells of every factor by how often it counts for example i."""
    weights, factors = problem.factor_weight, problem.graph.factor
    for f in range(weights.shape[1]):
        factor = factors[f]
        for c in range(factor["offset"], factor["offset"] + factor["n_cells"]):
            values[c] *= weights[i, f]


@inlined
def augment_with_loss(i, scores, problem, true_cells):
    """Add the loss to the scores of example i, F_i; return the score of its labels.

    A factor that it does not teach has neither score nor loss, as if it were absent.
    There `true_cells` holds an arbitrary cell. Score and loss of the other factors are
    multiplied by how often they count.
    """
    find_cells(problem.graph, problem.Y[i], true_cells)
    _silence(i, problem, scores, 0.0)
    true_score = _pick(scores, true_cells)
    add_loss(scores, problem.graph, true_cells, problem.loss)
    _silence(i, problem, scores, 0.0)
    if problem.factor_weight.shape[0] > 0:
        _weigh(i, problem, scores)
        true_score = _pick(scores, true_cells)  # the loss is 0 there
    return true_score


@inlined
def _load_marginals(i, dual_row, problem, true_cells, marginals):
    """Fill marginals with mu = C U(y) - A, and clear the rounding errors of zeros.

    C is multiplied by the weight of the example. A is divided by those of the factors.
    """
    weights, factors = problem.factor_weight, problem.graph.factor
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
        marginals[c] += problem.box[i]
    for c in range(marginals.shape[0]):
        if marginals[c] < EMPTY * largest:
            marginals[c] = 0.0


@inlined
def _store_shift(shift, problem, dual_row, change):
    """Subtract a change of marginals from dual_row; write into `change` what was added.

    The new marginals themselves are not stored: beside a large C they lose the digits
    of a small A. A dual variable that returns to zero does so exactly. Otherwise the
    rounding error would count as mass, and a step can move no more mass than there is.
    """
    contract(problem.layout, shift, change)
    for d in range(change.shape[0]):
        before = dual_row[d]
        after = before - change[d]
        if abs(after) < EMPTY * abs(before):
            after = 0.0
        dual_row[d] = after
        change[d] = after - before


# --- steps ---------------------------------------------------------------------------


@inlined
def _find_regions(g, box, visit):
    """Find the regions in which the gaining and the losing labelling differ.

    Their sums are cleared. The labellings agree about a label that the example lacks:
    its values tie.
    """
    gaining, losing, regions = visit.gaining, visit.losing, visit.regions
    number, rise, size, room = regions.number, regions.rise, regions.size, regions.room
    roots, branches = g.root, g.branch
    for s in range(roots.shape[0]):
        j = roots[s]
        number[j] = j if gaining[j] != losing[j] else -1
        rise[j], size[j], room[j] = 0.0, 0.0, box
    for e in range(branches.shape[0]):
        branch = branches[e]
        j = branch["child"]
        if gaining[j] == losing[j]:
            number[j] = -1
            continue
        number[j] = number[branch["parent"]]
        if number[j] < 0:
            number[j] = j
            rise[j], size[j], room[j] = 0.0, 0.0, box


@inlined
def _find_moves(i, problem, visit):
    """List the moves from the losing to the gaining labelling; return how many.

    Also add up the rise and the size of each region, and find its room.
    """
    factors, taught = problem.graph.factor, problem.taught
    scores, marginals = visit.scores, visit.marginals
    gaining, losing, moves = visit.gaining, visit.losing, visit.moves
    regions = visit.regions
    number, rise, size, room = regions.number, regions.rise, regions.size, regions.room
    n_moves = 0
    for f in range(factors.shape[0]):
        factor = factors[f]
        j = number[factor["first"]]
        if factor["second"] >= 0:
            j = max(j, number[factor["second"]])  # the same, unless one is -1
        if j < 0 or not _is_taught(taught, i, f):
            continue
        source, target = picked_cell(factor, losing), picked_cell(factor, gaining)
        moves.source[n_moves], moves.target[n_moves] = source, target
        moves.region[n_moves] = j
        weight = _weight_of(problem.factor_weight, i, f)
        moves.bend[n_moves] = weight * weight
        n_moves += 1
        rise[j] += scores[target] - scores[source]
        size[j] += weight * weight
        room[j] = min(room[j], marginals[source])
    return n_moves


@inlined
def _make_moves(n_moves, norm, visit):
    """Move mass in each region by the length that is best for it."""
    scores, marginals, shift = visit.scores, visit.marginals, visit.shift
    rise, size, room = visit.regions.rise, visit.regions.size, visit.regions.room
    sources, targets = visit.moves.source, visit.moves.target
    for m in range(n_moves):
        j = visit.moves.region[m]
        bend = 2.0 * norm * size[j]
        gain = max(rise[j], 0.0)  # may be negative by rounding
        length = room[j] if gain >= room[j] * bend else gain / bend
        shift[targets[m]] += length
        shift[sources[m]] -= length
        drop = length * norm * visit.moves.bend[m]
        scores[targets[m]] -= drop
        scores[sources[m]] += drop
        marginals[targets[m]] += length
        marginals[sources[m]] -= length
        if marginals[sources[m]] < EMPTY * length:
            marginals[sources[m]] = 0.0


@inlined
def _pairwise_steps(i, norm, problem, visit):
    """Improve one example's marginals on a forest; return its best score before.

    Also return whether it moved. `norm` is as in `visit_example`. Mass moves from the
    worst labelling that the marginals allow to the best labelling of all. On a forest
    the marginals are a mixture containing *every* labelling whose cells are all
    positive, and remain marginals as long as no cell becomes negative, so no list of
    label sets is needed (decomposition-invariant pairwise steps, Garber & Meshi 2016).
    Where the two labellings differ in several regions of the forest, each region moves
    on its own, on cells of its own: it gets the step length that is best for it, and a
    cell with little mass holds up its own region only. Scores, marginals and their
    shift are updated.
    """
    g, scores, marginals = problem.graph, visit.scores, visit.marginals
    masked = visit.masked
    visit.shift[:] = 0.0
    first_top, first_rise, moved = 0.0, 0.0, False
    for step in range(problem.max_steps):
        top = forest_max_sum(scores, g, visit.walk, visit.gaining)
        for c in range(scores.shape[0]):
            masked[c] = -scores[c] if marginals[c] > 0.0 else FORBIDDEN
        rise = top + forest_max_sum(masked, g, visit.walk, visit.losing)
        if step == 0:
            first_top, first_rise = top, rise
        if rise <= max(ENOUGH * first_rise, NEGLIGIBLE * (1.0 + abs(top))):
            break
        _find_regions(g, problem.box[i], visit)
        _make_moves(_find_moves(i, problem, visit), norm, visit)
        moved = True
    return first_top, moved


@compiled
def _frank_wolfe_steps(i, norm, problem, visit, messages):
    """Improve one example's marginals on any graph; return its bound before.

    Also return whether it moved. These are plain Frank-Wolfe steps towards the
    labellings that tree-reweighted message passing finds: a mixture of labellings stays
    one. The gap uses the bound, so it is not too small where a labelling is not
    optimal.
    """
    g, C = problem.graph, problem.box[i]
    scores, marginals, shift = visit.scores, visit.marginals, visit.shift
    labels, cells = visit.gaining, visit.cells
    bends = visit.masked  # (n_cells,) squared weights of the factors
    bends[:] = 1.0
    _weigh(i, problem, bends)
    _weigh(i, problem, bends)
    first_bound, first_rise, moved = 0.0, 0.0, False
    messages.sent[:] = 0.0
    for c in range(shift.shape[0]):  # the marginals before, until the last loop
        shift[c] = marginals[c]
    for step in range(problem.max_steps):
        top, bound, met = tree_reweighted(
            scores, g, TRAINING_SWEEPS, np.inf, messages, labels
        )
        if met:
            bound = top
        held, squares = 0.0, 0.0
        for c in range(scores.shape[0]):
            held += scores[c] * marginals[c]
            squares += marginals[c] * marginals[c] * bends[c]
        rise = C * top - held
        if step == 0:
            first_bound, first_rise = bound, rise
        if rise <= max(ENOUGH * first_rise, NEGLIGIBLE * C * (1.0 + abs(top))):
            break
        find_cells(g, labels, cells)
        n_taught = 0
        for f in range(cells.shape[0]):
            if _is_taught(problem.taught, i, f):
                cells[n_taught] = cells[f]
                n_taught += 1
        for c in cells[:n_taught]:
            squares += C * (C - 2.0 * marginals[c]) * bends[c]
        bend = norm * squares
        length = 1.0 if rise >= bend else rise / bend
        moved = True
        for c in range(scores.shape[0]):
            scores[c] += length * norm * marginals[c] * bends[c]
            marginals[c] *= 1.0 - length
        for c in cells[:n_taught]:
            scores[c] -= length * norm * C * bends[c]
            marginals[c] += length * C
    for c in range(shift.shape[0]):
        shift[c] = marginals[c] - shift[c]
    return first_bound, moved


@inlined
def visit_example(i, norm, problem, state, visit, messages, change):
    """Improve row i of dual_coef, given F_i in `visit.scores`; return whether it moved.

    `norm` is the example's kernel value with itself, constant feature included, times
    `state.scale`: the curvature that steps see. hinge[i] becomes the margin violation
    before the visit. `change` becomes the change of the row; if there is none, it is
    left as it was. The scores are overwritten.
    """
    scores, true_cells, marginals = visit.scores, visit.true_cells, visit.marginals
    true_score = augment_with_loss(i, scores, problem, true_cells)
    _load_marginals(i, state.dual_coef[i], problem, true_cells, marginals)
    if messages is None:
        _silence(i, problem, marginals, problem.box[i])  # any cell may be picked there
        top, moved = _pairwise_steps(i, norm, problem, visit)
    else:
        _silence(i, problem, marginals, 0.0)
        top, moved = _frank_wolfe_steps(i, norm, problem, visit, messages)
    state.hinge[i] = max(top - true_score, 0.0)
    if moved:
        _weigh(i, problem, visit.shift)
        _store_shift(visit.shift, problem, state.dual_coef[i], change)
    return moved


# stamp: 93069ea48388e907
