"""The plain method: block-coordinate Frank-Wolfe, one step per visit, random order.

It has an exact line search but no acceleration. In all else it is as fast as ours: it
multiplies dense data in blocks, visits CSR data one example at a time, compiles the
inference, and verifies the gap by an exact pass. It knows the edge loss on a tree only.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from spanforest._compiled.cells import TRAINING_TIE
from spanforest._compiled.forests import walk_back, walk_buffers, walk_up

BLOCK_SIZE = 64


class Plain(NamedTuple):
    """Objective, gap and number of epochs when the plain method stopped."""

    dual: float
    gap: float
    n_epochs: int


def solve_plain(data, problem, is_kernel, rng, tol=0.01, max_iter=2000):
    """Train on a kernel matrix, or on features, with an intercept."""
    m, q = len(problem.Y), problem.factors.n_cells
    A, intercept = np.zeros((m, q)), np.zeros(q)
    weights = A if is_kernel else np.zeros((data.shape[1], q))
    task = (problem.factors.arrays, problem.factors.cells(problem.Y), problem.C)
    state = (A, weights, intercept)
    run = _sparse_epoch if sparse.issparse(data) else _dense_epoch
    everyone = np.arange(m)
    dual = 0.0
    for n_epochs in range(1, max_iter + 1):
        gap, rise = run(data, is_kernel, rng.permutation(m), task, state, True)
        dual += rise
        if gap <= tol * dual or n_epochs == max_iter:
            gap, _ = run(data, is_kernel, everyone, task, state, False)
            if gap <= tol * dual:
                break
    return Plain(dual, gap, n_epochs)


def _dense_epoch(data, is_kernel, order, task, state, move):
    A, weights, intercept = state
    gap = rise = 0.0
    for start in range(0, len(order), BLOCK_SIZE):
        block = order[start : start + BLOCK_SIZE]
        rows = data[block]
        scores = rows @ weights + intercept
        gram = (rows[:, block] if is_kernel else rows @ rows.T) + 1.0
        change = np.zeros_like(scores)
        block_gap, block_rise = _block(block, scores, gram, task, A, change, move)
        gap, rise = gap + block_gap, rise + block_rise
        if move:
            intercept += change.sum(axis=0)
            if not is_kernel:  # else the weights are A
                weights += rows.T @ change
    return gap, rise


def _sparse_epoch(data, is_kernel, order, task, state, move):
    return _csr(order, data.data, data.indices, data.indptr, task, state, move)


@njit(nogil=True)
def _visit(scores, norm, i, task, A, change, move, work):
    """Take one step on example i, given F_i (overwritten); return its gap and rise.

    The direction is d = C U(y^) - mu, with mu = C U(y_i) - A_i; `change` is that of A_i
    and `rise` that of the dual objective.
    """
    g, truth, C = task
    walk, labels, direction = work
    direction[:] = A[i]
    scores += 1.0  # the edge loss
    for cell in truth[i]:
        scores[cell] -= 1.0
        direction[cell] -= C
    walk_up(scores, g, walk)
    walk_back(g, walk, labels)
    for f in g.factor:
        direction[f.offset + labels[f.first] * f.n_second + labels[f.second]] += C
    gap = squares = 0.0
    for c in range(scores.shape[0]):
        gap += scores[c] * direction[c]
        squares += direction[c] * direction[c]
    if gap <= 0.0 or not move:
        change[:] = 0.0
        return gap, 0.0
    bend = norm * squares
    length = 1.0 if gap >= bend else gap / bend
    for c in range(scores.shape[0]):
        change[c] = -length * direction[c]
        A[i, c] += change[c]
    return gap, length * (gap - 0.5 * length * bend)


_walk_buffers = njit(walk_buffers)


@njit(nogil=True)
def _work(g, q):
    n_labels = g.label.shape[0]
    return (
        _walk_buffers(g, TRAINING_TIE),
        np.zeros(n_labels, dtype=np.int64),
        np.empty(q),
    )


@njit(nogil=True)
def _block(block, scores, gram, task, A, change, move):
    work = _work(task[0], scores.shape[1])
    gap = rise = 0.0
    for r in range(len(block)):
        if move:
            for p in range(r):
                for c in range(scores.shape[1]):
                    scores[r, c] += gram[r, p] * change[p, c]
        visited = _visit(
            scores[r], gram[r, r], block[r], task, A, change[r], move, work
        )
        gap, rise = gap + visited[0], rise + visited[1]
    return gap, rise


@njit(nogil=True)
def _csr(order, data, indices, indptr, task, state, move):
    A, weights, intercept = state
    q = len(intercept)
    work = _work(task[0], q)
    scores, change, cells = np.empty(q), np.empty(q), np.empty(q, dtype=np.int64)
    gap = rise = 0.0
    for i in order:
        scores[:] = intercept
        norm = 1.0
        for s in range(indptr[i], indptr[i + 1]):
            x, row = data[s], weights[indices[s]]
            norm += x * x
            for c in range(q):
                scores[c] += x * row[c]
        visited = _visit(scores, norm, i, task, A, change, move, work)
        gap, rise = gap + visited[0], rise + visited[1]
        n_changed = 0
        for c in range(q):
            if change[c] != 0.0:
                cells[n_changed] = c
                n_changed += 1
        intercept += change
        for s in range(indptr[i], indptr[i + 1]):
            x, row = data[s], weights[indices[s]]
            for c in cells[:n_changed]:
                row[c] += x * change[c]
    return gap, rise
