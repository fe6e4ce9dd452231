"""Passes: one epoch of visits, for kernel matrices, dense and sparse features.

Dense data are read a block of examples at a time, so that their scores are products of
matrices. Changes inside a block are added through its kernel matrix: the iterates are
those of visiting one example at a time. As in `visits`, `mixtures` is None on a forest.
"""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.coordinates import expand
from spanforest._compiled.decorators import compiled, merged
from spanforest._compiled.products import add_products, room_for_products, row_products
from spanforest._compiled.visits import MARGINALS, SCORES, visit_example


class Block(NamedTuple):
    """The buffers of the visits to a block of examples, one row for each."""

    scores: np.ndarray  # coordinates of F
    gram: np.ndarray  # kernel values between the examples of the block
    change: np.ndarray  # what is to be added to the weights
    before: np.ndarray  # (n_coordinates,) an example's weights before its change
    moved: np.ndarray  # whether there is a change


def block_buffers(block_size, n_coordinates):
    """Return the buffers of a block; `change` has a multiple of eight rows."""
    return Block(
        scores=room_for_products(block_size, n_coordinates),
        gram=room_for_products(block_size, block_size),
        change=np.zeros((-(-block_size // 8) * 8, n_coordinates)),
        before=np.empty(n_coordinates),
        moved=np.zeros(block_size, dtype=np.bool_),
    )


@merged
def _visit_block(rows, block, problem, state, mixtures):
    """Visit the examples of a block, `rows`, one after the other.

    Before, block.scores holds the scores from the weights as they are, and block.gram
    the kernel matrix, both without the constant feature. Afterwards the scores are
    those at the visits, and block.change is what is to be added to the weights. The
    intercept is updated.
    """
    scores, gram, change, moved = block.scores, block.gram, block.change, block.moved
    intercept, constant = state.intercept, state.constant
    n_coordinates = intercept.shape[0]
    for r in range(rows.shape[0]):
        for d in range(n_coordinates):
            scores[r, d] += constant * intercept[d]
        for p in range(r):
            if moved[p]:
                for d in range(n_coordinates):
                    scores[r, d] += gram[r, p] * change[p, d]
        expand(problem.layout, scores[r], problem.visit.cells[SCORES])
        norm = state.scale * (gram[r, r] + constant * constant)
        moved[r] = visit_example(rows[r], norm, problem, state, mixtures, change[r])
        if moved[r]:
            for d in range(n_coordinates):
                change[r, d] *= state.scale
                intercept[d] += constant * change[r, d]
        else:
            change[r, :] = 0.0


def kernel_pass(order, block_size, kernel, problem, state, mixtures, squared_norms):
    """Visit examples in the kernel form, a block at a time.

    `kernel` are `DenseRows` of kernel values. squared_norms[i] becomes <F_i, A_i> as of
    the visit.
    """
    block = block_buffers(block_size, len(kernel.weights))
    _kernel_pass(order, block, kernel, problem, state, mixtures, squared_norms)


@compiled
def _kernel_pass(order, block, kernel, problem, state, mixtures, squared_norms):
    """Do the work of `kernel_pass`."""
    weights, rounded = kernel.weights, kernel.rounded
    n_coordinates, block_size = weights.shape[0], block.moved.shape[0]
    F, A = problem.visit.cells[SCORES], problem.visit.cells[MARGINALS]  # free now
    before = block.before
    for start in range(0, order.shape[0], block_size):
        rows = order[start : start + block_size]
        row_products(kernel.data, rows, rounded, block.scores)
        for r in range(rows.shape[0]):
            for p in range(r + 1):
                block.gram[r, p] = kernel.data[rows[r], rows[p]]
        _visit_block(rows, block, problem, state, mixtures)
        for r in range(rows.shape[0]):
            i = rows[r]
            for d in range(n_coordinates):
                before[d] = weights[d, i]
                weights[d, i] += block.change[r, d]
                rounded[d, i] = weights[d, i]
            expand(problem.layout, block.scores[r], F)
            expand(problem.layout, before, A)
            squared_norms[i] = np.dot(F, A)


def dense_pass(order, block_size, features, problem, state, mixtures):
    """Visit examples in the linear form, `DenseRows` of features a block at a time."""
    block = block_buffers(block_size, len(features.weights))
    picked = np.empty_like(features.data, shape=(block_size, features.data.shape[1]))
    _dense_pass(order, block, features, picked, problem, state, mixtures)


@compiled
def _dense_pass(order, block, features, picked, problem, state, mixtures):
    """Do the work of `dense_pass`; `picked` has room for the features of a block."""
    X, weights, rounded = features.data, features.weights, features.rounded
    block_size = block.moved.shape[0]
    for start in range(0, order.shape[0], block_size):
        rows = order[start : start + block_size]
        row_products(X, rows, rounded, block.scores)
        for r in range(rows.shape[0]):
            for s in range(X.shape[1]):
                picked[r, s] = X[rows[r], s]
        row_products(X, rows, picked[: rows.shape[0]], block.gram)
        _visit_block(rows, block, problem, state, mixtures)
        block.change[rows.shape[0] :, :] = 0.0
        add_products(X, rows, block.change, weights)
        if rounded.itemsize != weights.itemsize:  # a copy in another precision
            for d in range(weights.shape[0]):
                for s in range(weights.shape[1]):
                    rounded[d, s] = weights[d, s]


class RowBuffers(NamedTuple):
    """The buffers of a visit to one example, each of shape (n_coordinates,)."""

    scores: np.ndarray  # coordinates of F_i
    change: np.ndarray
    changed: np.ndarray  # the coordinates that changed


def sparse_pass(order, features, weights, problem, state, mixtures):
    """Visit examples in the linear form, `SparseRows` of features one at a time.

    The weights (n_features, n_coordinates) are updated, and so is the intercept. The
    cost grows with the non-zeros, and in the update only with the coordinates that
    moved.
    """
    n = len(state.intercept)
    own = RowBuffers(np.empty(n), np.empty(n), np.empty(n, dtype=np.int64))
    _sparse_pass(order, features, weights, problem, state, mixtures, own)


@compiled
def _sparse_pass(order, features, weights, problem, state, mixtures, own):
    """Do the work of `sparse_pass`; `own` are the buffers of one example."""
    data, indices, indptr = features.data, features.indices, features.indptr
    intercept, constant = state.intercept, state.constant
    n_coordinates = intercept.shape[0]
    scores, change, changed = own.scores, own.change, own.changed
    for i in order:
        for d in range(n_coordinates):
            scores[d] = constant * intercept[d]
        norm = constant * constant
        for s in range(indptr[i], indptr[i + 1]):
            value, row = data[s], weights[indices[s]]
            norm += value * value
            for d in range(n_coordinates):
                scores[d] += value * row[d]
        norm *= state.scale
        expand(problem.layout, scores, problem.visit.cells[SCORES])
        if not visit_example(i, norm, problem, state, mixtures, change):
            continue
        n_changed = 0
        for d in range(n_coordinates):
            if change[d] != 0.0:
                change[n_changed] = state.scale * change[d]
                changed[n_changed] = d
                intercept[d] += constant * change[n_changed]
                n_changed += 1
        for s in range(indptr[i], indptr[i + 1]):
            value, row = data[s], weights[indices[s]]
            for place in range(n_changed):
                row[changed[place]] += value * change[place]


# stamp: e33d46e46192b681
