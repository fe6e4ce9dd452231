"""Passes: one epoch of visits, for kernel matrices, dense and sparse features.

Dense data are read a block of examples at a time, so that their scores are products of
matrices. Changes inside a block are added through its kernel matrix: the iterates are
those of visiting one example at a time. `mixtures` is None on a forest. `call` is from
`visits.visitor`, and `multiply` is the routine that multiplies rows.
"""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.decorators import (
    call_pointer,
    compiled,
    from_python,
    keep_small,
)
from spanforest._compiled.products import (
    add_products,
    room_for_products,
    row_multiplier,
)
from spanforest._compiled.visits import ADD_UP, LOOK, visitor

LOOK_SIZE = 256  # examples whose margins are measured at once: a block has its square


class Block(NamedTuple):
    """The buffers of the visits to a block of examples, one row for each."""

    scores: np.ndarray  # coordinates of F
    gram: np.ndarray  # kernel values between the examples of the block
    change: np.ndarray  # what is to be added to the weights
    before: np.ndarray  # the examples' own weights, in the kernel form
    moved: np.ndarray  # whether there is a change


def block_buffers(block_size, n_coordinates):
    """Return the buffers of a block; `change` has a multiple of eight rows."""
    return Block(
        scores=room_for_products(block_size, n_coordinates),
        gram=room_for_products(block_size, block_size),
        change=np.zeros((-(-block_size // 8) * 8, n_coordinates)),
        before=np.empty((block_size, n_coordinates)),
        moved=np.zeros(block_size, dtype=np.bool_),
    )


def kernel_pass(order, block_size, kernel, problem, state, mixtures, squared_norms):
    """Visit examples in the kernel form, a block at a time.

    `kernel` are `DenseRows` of kernel values. squared_norms[i] becomes <F_i, A_i> as of
    the visit.
    """
    block = block_buffers(block_size, len(kernel.weights))
    state = state._replace(squared_norms=squared_norms)
    call, _kept = visitor(order, block, problem, state, mixtures)
    multiply = row_multiplier(order, kernel, block.scores)
    _kernel_pass(order, block, kernel, call, multiply)


@compiled
def _kernel_pass(order, block, kernel, call, multiply):
    """Do the work of `kernel_pass`."""
    keep_small()
    visit, work, steps, lists = call
    data, weights, rounded = kernel.data, kernel.weights, kernel.rounded
    gram, before, change = block.gram, block.before, block.change
    block_size = block.moved.shape[0]
    for start in range(0, order.shape[0], block_size):
        rows = order[start : start + block_size]
        call_pointer(multiply, (data, rows, rounded, block.scores))
        for r in range(rows.shape[0]):
            i = rows[r]
            for d in range(weights.shape[0]):
                before[r, d] = weights[d, i]
            for p in range(r + 1):
                gram[r, p] = data[i, rows[p]]
        call_pointer(visit, (start, start + rows.shape[0], work, steps, lists))
        for r in range(rows.shape[0]):
            i = rows[r]
            for d in range(weights.shape[0]):
                weights[d, i] += change[r, d]
                rounded[d, i] = weights[d, i]


def dense_pass(order, block_size, features, problem, state, mixtures):
    """Visit examples in the linear form, `DenseRows` of features a block at a time."""
    block = block_buffers(block_size, len(features.weights))
    picked = np.empty_like(features.data, shape=(block_size, features.data.shape[1]))
    call, _kept = visitor(order, block, problem, state, mixtures)
    multiply = row_multiplier(order, features, block.scores)
    _dense_pass(order, block, (*features, picked), call, multiply)


@compiled
def _dense_pass(order, block, features, call, multiply):
    """Do the work of `dense_pass`; `picked` has room for the features of a block."""
    visit, work, steps, lists = call
    X, weights, rounded, picked = features
    block_size = block.moved.shape[0]
    for start in range(0, order.shape[0], block_size):
        rows = order[start : start + block_size]
        call_pointer(multiply, (X, rows, rounded, block.scores))
        for r in range(rows.shape[0]):
            for s in range(X.shape[1]):
                picked[r, s] = X[rows[r], s]
        call_pointer(multiply, (X, rows, picked[: rows.shape[0]], block.gram))
        call_pointer(visit, (start, start + rows.shape[0], work, steps, lists))
        block.change[rows.shape[0] :, :] = 0.0
        add_products(X, rows, block.change, weights)
        if rounded.itemsize != weights.itemsize:  # a copy in another precision
            for d in range(weights.shape[0]):
                for s in range(weights.shape[1]):
                    rounded[d, s] = weights[d, s]


def sparse_pass(order, features, weights, problem, state, mixtures):
    """Visit examples in the linear form, `SparseRows` of features one at a time.

    The weights (n_features, n_coordinates) are updated, and so is the intercept. The
    cost grows with the non-zeros, and in the update only with the coordinates that
    moved.
    """
    n = len(state.intercept)
    block, changed = block_buffers(1, n), np.empty(n, dtype=np.int64)
    call, _kept = visitor(order, block, problem, state, mixtures)
    _sparse_pass(order, block, (features, weights, changed), call)


@compiled
def _sparse_pass(order, block, rows, call):
    """Do the work of `sparse_pass`; `changed` has room for numbers of coordinates."""
    visit, work, steps, lists = call
    features, weights, changed = rows
    data, indices, indptr = features.data, features.indices, features.indptr
    n_coordinates = weights.shape[1]
    scores, change = block.scores[0], block.change[0]
    for place in range(order.shape[0]):
        i = order[place]
        for d in range(n_coordinates):
            scores[d] = 0.0
        norm = 0.0
        for s in range(indptr[i], indptr[i + 1]):
            value, row = data[s], weights[indices[s]]
            norm += value * value
            for d in range(n_coordinates):
                scores[d] += value * row[d]
        block.gram[0, 0] = norm
        call_pointer(visit, (place, place + 1, work, steps, lists))
        if not block.moved[0]:
            continue
        n_changed = 0
        for d in range(n_coordinates):
            if change[d] != 0.0:
                change[n_changed] = change[d]
                changed[n_changed] = d
                n_changed += 1
        for s in range(indptr[i], indptr[i + 1]):
            value, row = data[s], weights[indices[s]]
            for d in range(n_changed):
                row[changed[d]] += value * change[d]


def hinge_rows(rows, scores, problem, state):
    """Write the margin violations of some examples, `rows`, into state.hinge.

        hinge_i = max_y loss(y_i, y) + <F_i, U(y)> - <F_i, U(y_i)>

    The graph is a forest. `scores` are the coordinates of F without the constant
    feature. These are visits without steps.
    """
    block = block_buffers(min(len(rows), LOOK_SIZE), len(state.intercept))
    block.gram[:] = 0.0  # visits read it, although it does not matter here
    problem = problem._replace(max_steps=LOOK)
    call, _kept = visitor(rows, block, problem, state, None)
    for start in range(0, len(rows), LOOK_SIZE):
        own = scores[start : start + LOOK_SIZE]
        block.scores[: len(own), : len(state.intercept)] = own
        from_python(call.visit, (start, start + len(own), *call[1:]))()


class LossTerm:
    """Computes sum_i <loss_i, mu_i>, the linear term of the dual objective.

    It reads state.dual_coef anew whenever it is called.
    """

    def __init__(self, problem, state):
        rows = np.arange(len(state.dual_coef))
        self._block = block_buffers(1, len(state.intercept))
        problem = problem._replace(max_steps=ADD_UP)
        call, self._kept = visitor(rows, self._block, problem, state, None)
        self._add_up = from_python(call.visit, (0, len(rows), *call[1:]))

    def __call__(self):
        """Return the sum."""
        self._add_up()
        return float(self._block.gram[0, 0])


# stamp: c10441d68cdfd243
