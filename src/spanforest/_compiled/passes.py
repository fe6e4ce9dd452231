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
    from_python,
    keep_small,
    merged,
    pack,
    through_pointer,
)
from spanforest._compiled.products import (
    add_products,
    room_for_products,
    row_multiplier,
)
from spanforest._compiled.visits import LOOK, visitor

STEPS_PER_VISIT = np.int64(3)
LOOK_SIZE = 64  # examples whose margins are measured at once: a block has its square


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


class Pass:
    """Visits examples whenever it is called.

    It packs its arrays once, and reads what is in them at the time of the call: also
    the order and state.scale. `rows` are the data, and what else `function` needs.
    `visits` are from `visitor`.
    """

    def __init__(self, function, rows, visits):
        call, self._kept = visits
        self._work, self._rows = self._kept[0], pack((*rows, call))
        packed = self._rows, self._work
        pointer = through_pointer(function, packed, tuple(one.kind for one in packed))
        self._run = from_python(pointer, tuple(one.address for one in packed))

    def __call__(self):
        """Visit the examples of the order."""
        self._run()


def kernel_pass(order, block_size, kernel, problem, state, mixtures, squared_norms):
    """Return a `Pass` over examples in the kernel form, a block at a time.

    `kernel` are `DenseRows` of kernel values. squared_norms[i] becomes <F_i, A_i> as of
    the visit.
    """
    block = block_buffers(block_size, len(kernel.weights))
    state = state._replace(squared_norms=squared_norms)
    multiply = row_multiplier(order, kernel, block.scores)
    visits = visitor(order, block, problem, state, mixtures)
    return Pass(_kernel_pass, (kernel, multiply), visits)


@merged
def _visit(call, start, stop):
    """Visit a block of examples of the order."""
    visit, routines, work, problem, lists = call
    call_pointer(visit, (routines, start, stop, STEPS_PER_VISIT, work, problem, lists))


def _kernel_pass(rows, work):
    """Do the work of `kernel_pass`."""
    keep_small()
    kernel, multiply, call = rows[0]
    order, block, _ = work[0]
    data, weights, rounded = kernel
    gram, before, change = block.gram, block.before, block.change
    block_size = block.moved.shape[0]
    for start in range(0, order.shape[0], block_size):
        own = order[start : start + block_size]
        call_pointer(multiply, (data, own, rounded, block.scores))
        for r in range(own.shape[0]):
            i = own[r]
            for d in range(weights.shape[0]):
                before[r, d] = weights[d, i]
            for p in range(r + 1):
                gram[r, p] = data[i, own[p]]
        _visit(call, start, start + own.shape[0])
        for r in range(own.shape[0]):
            i = own[r]
            for d in range(weights.shape[0]):
                weights[d, i] += change[r, d]
                rounded[d, i] = weights[d, i]


def dense_pass(order, block_size, features, problem, state, mixtures):
    """Return a `Pass` in the linear form, `DenseRows` of features a block at a time."""
    block = block_buffers(block_size, len(features.weights))
    picked = np.empty_like(features.data, shape=(block_size, features.data.shape[1]))
    multiply = row_multiplier(order, features, block.scores)
    visits = visitor(order, block, problem, state, mixtures)
    return Pass(_dense_pass, (features, picked, multiply), visits)


def _dense_pass(rows, work):
    """Do the work of `dense_pass`; `picked` has room for the features of a block."""
    features, picked, multiply, call = rows[0]
    order, block, _ = work[0]
    X, weights, rounded = features
    block_size = block.moved.shape[0]
    for start in range(0, order.shape[0], block_size):
        own = order[start : start + block_size]
        call_pointer(multiply, (X, own, rounded, block.scores))
        for r in range(own.shape[0]):
            for s in range(X.shape[1]):
                picked[r, s] = X[own[r], s]
        call_pointer(multiply, (X, own, picked[: own.shape[0]], block.gram))
        _visit(call, start, start + own.shape[0])
        block.change[own.shape[0] :, :] = 0.0
        add_products(X, own, block.change, weights)
        if rounded.itemsize != weights.itemsize:  # a copy in another precision
            for d in range(weights.shape[0]):
                for s in range(weights.shape[1]):
                    rounded[d, s] = weights[d, s]


def sparse_pass(order, features, weights, problem, state, mixtures):
    """Return a `Pass` in the linear form, `SparseRows` of features one at a time.

    The weights (n_features, n_coordinates) are updated, and so is the intercept. The
    cost grows with the non-zeros, and in the update only with the coordinates that
    moved.
    """
    n = len(state.intercept)
    block, changed = block_buffers(1, n), np.empty(n, dtype=np.int64)
    visits = visitor(order, block, problem, state, mixtures)
    return Pass(_sparse_pass, (features, weights, changed), visits)


def _sparse_pass(rows, work):
    """Do the work of `sparse_pass`; `changed` has room for numbers of coordinates."""
    features, weights, changed, call = rows[0]
    order, block, _ = work[0]
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
        _visit(call, place, place + 1)
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


class Inspection:
    """Visits without steps: they write margin violations to the state.

        hinge_i = max_y loss(y_i, y) + <F_i, U(y)> - <F_i, U(y_i)>

    The graph is a forest.
    """

    def __init__(self, problem, state):
        everyone = np.arange(len(state.dual_coef))
        size = min(len(everyone), LOOK_SIZE)
        self._block = block_buffers(size, len(state.intercept))
        self._block.gram[:] = 0.0  # visits read it, although it does not matter here
        self._call, self._kept = visitor(everyone, self._block, problem, state, None)

    def __call__(self, first, scores):
        """Inspect the examples from `first` on that have these scores.

        They are the coordinates of F without the constant feature.
        """
        visit, routines, *rest = self._call
        for start in range(0, len(scores), LOOK_SIZE):
            own = scores[start : start + LOOK_SIZE]
            self._block.scores[: len(own), : own.shape[1]] = own
            place = first + start
            from_python(visit, (routines, place, place + len(own), LOOK, *rest))()


# stamp: bf4b671b9d7ccd4c
