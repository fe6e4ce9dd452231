"""The k best labellings of a forest."""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.decorators import compiled, internal, merged


class Lists(NamedTuple):
    """Lists of the k best labellings of subtrees, and how each list was made.

    A step merges the lists of a child, one per value, into one list, and adds that to
    the list of each value of the parent: step e belongs to branch e. The last steps,
    one per root, add up the trees of the forest. `before`, `merged`, `value` and `rank`
    have shape (n_steps, largest number of values, k).
    """

    score: np.ndarray  # (total number of values, k) descending
    before: np.ndarray  # place in the parent's list before the step
    merged: np.ndarray  # place in the merged list of the child
    value: np.ndarray  # the child's value at a place of its merged list,
    rank: np.ndarray  # and the place in the list of that value
    extra: np.ndarray  # (largest number of values,) added to the lists of a child
    of_child: np.ndarray  # (k,) scores of its merged list
    summed: np.ndarray  # (k,) scores of the new list of the parent
    key: np.ndarray  # (k,) buffer of the heap, as the next
    heap: np.ndarray
    place: np.ndarray  # (k or more,) places in lists


def list_buffers(g, k):
    """Return the buffers of `forest_k_best`."""
    n_steps, most = len(g.branch) + len(g.root), g.label["n_values"].max()
    shape = (n_steps, most, k)
    return Lists(
        score=np.empty((g.label["n_values"].sum(), k)),
        before=np.empty(shape, dtype=np.int32),
        merged=np.empty(shape, dtype=np.int32),
        value=np.empty(shape, dtype=np.int32),
        rank=np.empty(shape, dtype=np.int32),
        extra=np.empty(most),
        of_child=np.empty(k),
        summed=np.empty(k),
        key=np.empty(k),
        heap=np.empty(k, dtype=np.int64),
        place=np.empty(max(k, most, len(g.label)), dtype=np.int64),
    )


@internal
def _best_entries(lists, start, n_values, value, rank):
    """Merge descending lists, one per value of a label, into the best entries of all.

    Entry s of value b has the score ``lists.score[start + b, s] + lists.extra[b]``. The
    best ones, with b in `value` and s in `rank`, fill `lists.of_child` in descending
    order; -inf where none is left.
    """
    extra, place, best_scores = lists.extra, lists.place, lists.of_child
    for b in range(n_values):
        place[b] = 0
    for s in range(best_scores.shape[0]):
        best, chosen = -np.inf, 0
        for b in range(n_values):
            if place[b] < lists.score.shape[1]:
                entry = lists.score[start + b, place[b]] + extra[b]
                if entry > best:
                    best, chosen = entry, b
        if best == -np.inf:
            best_scores[s:] = -np.inf
            return
        best_scores[s], value[s], rank[s] = best, chosen, place[chosen]
        place[chosen] += 1


@merged
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


@internal
def _best_sums(lists, ours, first, second):
    """Replace `ours` by the largest sums of an entry of it and one of `lists.of_child`.

    Both lists descend. `first` and `second` name the two entries of a sum; the score is
    -inf where no sum is left. A heap holds, for every entry of ours, its best sum not
    yet taken; an entry enters when the first sum of the entry before it was taken.
    Takes O(k log k) for lists of k entries.
    """
    theirs, score = lists.of_child, lists.summed
    key, heap, place = lists.key, lists.heap, lists.place
    k = score.shape[0]
    for s in range(k):
        place[s] = 0
    heap[0], key[0], size = 0, ours[0] + theirs[0], 1
    for s in range(k):
        entry = heap[0]
        if key[entry] == -np.inf:
            score[s:] = -np.inf
            break
        score[s], first[s], second[s] = key[entry], entry, place[entry]
        place[entry] += 1
        key[entry] = -np.inf
        if place[entry] < k:
            key[entry] = ours[entry] + theirs[place[entry]]
        _sift_down(heap, size, key)
        if place[entry] == 1 and entry + 1 < k:
            at = size
            heap[at], key[entry + 1] = entry + 1, ours[entry + 1] + theirs[0]
            size += 1
            while at > 0 and key[heap[at]] > key[heap[(at - 1) // 2]]:
                heap[at], heap[(at - 1) // 2] = heap[(at - 1) // 2], heap[at]
                at = (at - 1) // 2
    for s in range(k):
        ours[s] = score[s]


@merged
def _fill_lists(scores, g, lists, best):
    """Make the lists of all subtrees, leaves first; `best` becomes that of the forest.

    A branch takes O(k log k) for each value of its parent, plus O(k) for each pair of
    values of its ends.
    """
    n_branches, extra = g.branch.shape[0], lists.extra
    lists.score[:, :] = -np.inf
    lists.score[:, 0] = 0.0
    for f in range(g.incident.shape[0] // 2, g.factor.shape[0]):  # the unary factors
        factor = g.factor[f]
        start = g.label[factor["first"]]["start"]
        for a in range(factor["n_cells"]):
            lists.score[start + a, 0] = scores[factor["offset"] + a]
    for e in range(n_branches - 1, -1, -1):  # leaves first
        branch = g.branch[e]
        start = branch["child_start"]
        for a in range(branch["n_parent"]):
            row = branch["offset"] + a * branch["parent_stride"]
            for b in range(branch["n_child"]):
                extra[b] = scores[row + b * branch["child_stride"]]
            value, rank = lists.value[e, a], lists.rank[e, a]
            _best_entries(lists, start, branch["n_child"], value, rank)
            ours = lists.score[branch["parent_start"] + a]
            _best_sums(lists, ours, lists.before[e, a], lists.merged[e, a])
    best[:] = -np.inf
    best[0] = 0.0
    for s in range(g.root.shape[0]):  # trees of a forest add up
        root = g.label[g.root[s]]
        step = n_branches + s
        extra[:] = 0.0
        value, rank = lists.value[step, 0], lists.rank[step, 0]
        _best_entries(lists, root["start"], root["n_values"], value, rank)
        _best_sums(lists, best, lists.before[step, 0], lists.merged[step, 0])


@merged
def forest_k_best(scores, g, lists, labels, best):
    """Write the highest-scoring labellings into `labels` and their scores into `best`.

    Shapes: scores (n_cells,), labels (k, n_labels), best (k,) descending, -inf beyond
    the number of labellings. Every value of every label keeps a list of the k best
    labellings of its subtree, as places in the lists that it was made from. The
    labellings are read off in O(k n_labels).
    """
    _fill_lists(scores, g, lists, best)
    before, merged, value, rank = lists.before, lists.merged, lists.value, lists.rank
    n_branches = g.branch.shape[0]
    place = lists.place
    for s in range(best.shape[0]):
        if best[s] == -np.inf:
            break
        at = s
        for step in range(before.shape[0] - 1, n_branches - 1, -1):  # the last first
            j = g.root[step - n_branches]
            chosen = merged[step, 0, at]
            labels[s, j], place[j] = value[step, 0, chosen], rank[step, 0, chosen]
            at = before[step, 0, at]
        for e in range(n_branches):
            branch = g.branch[e]
            u, j = branch["parent"], branch["child"]
            a = labels[s, u]
            chosen = merged[e, a, place[u]]
            labels[s, j], place[j] = value[e, a, chosen], rank[e, a, chosen]
            place[u] = before[e, a, place[u]]


def forest_k_best_rows(scores, g, labels, best):
    """Apply `forest_k_best` to every row of scores."""
    _k_best_rows(scores, g, list_buffers(g, best.shape[1]), labels, best)


@compiled
def _k_best_rows(scores, g, lists, labels, best):
    """Do the work of `forest_k_best_rows`."""
    for i in range(scores.shape[0]):
        forest_k_best(scores[i], g, lists, labels[i], best[i])


# stamp: bf4b671b9d7ccd4c
