"""Visits on graphs with cycles: mass moves between labellings that are kept in lists.

On a graph with cycles, marginals do not tell which labellings they are a mixture of.
So every example keeps a list of labellings with their masses.
"""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.cells import (
    EMPTY,
    NEGLIGIBLE,
    TRAINING_TIE,
    exceeds,
    labelling_score,
    picked_cell,
)
from spanforest._compiled.decorators import (
    call_pointer,
    keep_small,
    merged,
    pack,
)
from spanforest._compiled.enumeration import exhaustive_max
from spanforest._compiled.messages import Messages, pass_messages, searcher
from spanforest._compiled.records import GAINING, SCORES, SHIFT

SWEEPS = 4  # of message passing, for each visit
MOST_STEPS = 10  # of a visit: they are cheap beside the sweeps


class Mixtures(NamedTuple):
    """The lists of all examples, and the buffers of a visit.

    The list of example i has length[i] places from start[i] on. The true labelling is
    the first of its list. It has the mass that the others leave.
    """

    start: np.ndarray  # (n_samples,)
    length: np.ndarray  # (n_samples,)
    labels: np.ndarray  # (n_places, n_labels) codes
    mass: np.ndarray  # (n_places,)
    score: np.ndarray  # (longest list,) scores of the labellings of one example
    messages: Messages
    sums: np.ndarray  # (n_labels,) buffer of a search
    meet: np.ndarray  # (1,) infinite: searches stop when a bound is close
    tries_all: int  # 1 if a visit tries every labelling: there are few

    def of(self, chunk):
        """Return the lists of a slice of the examples; their places stay."""
        return self._replace(start=self.start[chunk], length=self.length[chunk])


class Lists(NamedTuple):
    """The arrays of `Mixtures` that steps read and change."""

    start: np.ndarray
    length: np.ndarray
    labels: np.ndarray
    mass: np.ndarray
    score: np.ndarray


def try_all(request):
    """Find best labellings by trying all: it stands in for `pass_messages`.

    The bounds of the request are a buffer of shape (n_labels,).
    """
    keep_small()
    scores, g, _, _, messages, labels, (best, sums) = request[0]
    for i in range(scores.shape[0]):
        buffers = messages.labels, sums
        best[i] = exhaustive_max(scores[i], g, buffers, messages.tie, labels[i])


def pack_lists(problem, mixtures):
    """Return the packed record that steps take, and what must stay alive beside it.

    It consists of the lists and of the search for a labelling of high score, which
    steps call through a pointer: it reads the scores and writes into the row GAINING.
    """
    g, visit, messages = problem.graph, problem.visit, mixtures.messages
    cells, labels = visit.cells[:1], visit.labels[:1]
    results = mixtures.score, mixtures.sums
    request = pack((cells, g, SWEEPS, mixtures.meet, messages, labels, results))
    search = searcher(try_all if mixtures.tries_all else pass_messages, request)
    return pack((Lists(*mixtures[:5]), search, request.address)), request


@merged
def _load_list(i, top, scores, problem, mixtures):
    """Score the list of example i, and add a better labelling; return its length.

    The labelling that a search found has the score `top`. The true labelling gets its
    mass.
    """
    g, start, n = problem.graph, mixtures.start[i], mixtures.length[i]
    labels, mass, score = mixtures.labels, mixtures.mass, mixtures.score
    box = problem.targets.box[i]
    rest, best = box, -np.inf
    for s in range(n):
        score[s] = labelling_score(scores, g, labels[start + s])
        best = max(best, score[s])
        if s > 0:
            rest -= mass[start + s]
    mass[start] = rest if rest > EMPTY * box else 0.0
    if exceeds(top, best, TRAINING_TIE):
        for j in range(labels.shape[1]):
            labels[start + n, j] = problem.visit.labels[GAINING, j]
        mass[start + n], score[n] = 0.0, top
        n += 1
    return n


@merged
def _find_moves(losing, gaining, factors, weights, moves):
    """List the factors in which two labellings differ; return how many.

    Also return their number weighted as their bends. `region` is the factor.
    """
    n_moves, size = 0, 0.0
    for f in range(factors.shape[0]):
        source, target = (
            picked_cell(factors[f], losing),
            picked_cell(factors[f], gaining),
        )
        weight = weights[f]
        if source == target or weight == 0.0:
            continue
        move = moves[n_moves]
        move["source"], move["target"], move["region"] = source, target, f
        move["weight"] = weight
        n_moves += 1
        size += weight * weight
    return n_moves, size


@merged
def _move_mass(n_moves, length, norm, visit, factors, lists):
    """Move mass between two labellings; update cells and the scores of the list."""
    scores, shift, moves = visit.cells[SCORES], visit.cells[SHIFT], visit.move
    labels, score = lists
    for m in range(n_moves):
        move = moves[m]
        source, target = move["source"], move["target"]
        moved = length * move["weight"]
        shift[source] -= moved
        shift[target] += moved
        drop = moved * norm * move["weight"]
        scores[source] += drop
        scores[target] -= drop
        factor = factors[move["region"]]
        for s in range(labels.shape[0]):
            c = picked_cell(factor, labels[s])
            if c == source:
                score[s] += drop
            elif c == target:
                score[s] -= drop


@merged
def _drop_empty(i, n, mixtures):
    """Leave the labellings without mass out of the list; the true one stays."""
    start, labels, mass = mixtures.start[i], mixtures.labels, mixtures.mass
    kept = start + 1
    for s in range(start + 1, start + n):
        if mass[s] > 0.0:
            mass[kept] = mass[s]
            for j in range(labels.shape[1]):
                labels[kept, j] = labels[s, j]
            kept += 1
    mixtures.length[i] = kept - start


def listed_steps(i, r, norm, work, problem, lists):
    """Improve the marginals of example i, the r-th of its block, on any graph.

    `lists` are from `pack_lists`. `norm` is the curvature that steps see. Each step
    moves mass from the worst labelling that has some to the best one of the list.
    Scores and the shift of the marginals are updated. state.hinge[i] becomes the best
    score before the steps: that of the best labelling in the list, or of a better one
    that a search found. The caller makes a margin violation of it.
    """
    keep_small()
    _, block, state = work[0]
    problem = problem[0]
    mixtures, search, request = lists[0]
    visit, g = problem.visit, problem.graph
    scores = visit.cells[SCORES]
    visit.cells[SHIFT, :] = 0.0
    call_pointer(search, (request,))
    top = mixtures.score[0]
    n, start = _load_list(i, top, scores, problem, mixtures), mixtures.start[i]
    mass, score = mixtures.mass[start : start + n], mixtures.score
    labels = mixtures.labels[start : start + n]
    first_top, moved = 0.0, False
    for step in range(MOST_STEPS):
        high, low = 0, -1
        for s in range(n):
            if exceeds(score[s], score[high], TRAINING_TIE):
                high = s
            if mass[s] > 0.0 and (
                low < 0 or exceeds(score[low], score[s], TRAINING_TIE)
            ):
                low = s
        rise = score[high] - score[low]
        if step == 0:
            first_top = score[high]
        if rise <= NEGLIGIBLE * (1.0 + abs(first_top)):
            break
        n_moves, size = _find_moves(
            labels[low], labels[high], g.factor, visit.weight, visit.move
        )
        bend, room = 2.0 * norm * size, mass[low]
        length = room if rise >= room * bend else rise / bend
        mass[low] -= length  # exactly 0 if all of it moves
        mass[high] += length
        _move_mass(n_moves, length, norm, visit, g.factor, (labels, score))
        moved = True
    _drop_empty(i, n, mixtures)
    state.hinge[i], block.moved[r] = first_top, moved


# stamp: bf4b671b9d7ccd4c
