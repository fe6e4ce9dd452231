"""Products of rows, and the search for entries that no kernel matrix can have."""

from typing import NamedTuple

import numpy as np

from spanforest._compiled.decorators import (
    compiled,
    pack,
    place,
    summed,
    through_pointer,
)

TILE = 512  # entries of a row in a product: a few such rows fit the first cache


class WorstPair(NamedTuple):
    """An entry of a matrix and by how much it breaks a rule."""

    excess: float
    row: int
    column: int


def room_for_products(n_rows, n_columns):
    """Return an array for `row_products`, with a few rows and columns to spare."""
    return np.empty((-(-n_rows // 4) * 4, -(-n_columns // 3) * 3))


def row_multiplier(rows, dense, products):
    """Return `row_products` for `DenseRows`: passes call it through a pointer."""
    arguments = dense.data, rows, dense.rounded, products
    kind = pack(arguments).kind
    return through_pointer(row_products, arguments, kind, fastmath=True)


def row_products(data, rows, others, products):
    """Fill products[r, d] = <data[rows[r]], others[d]>.

    A BLAS first copies the rows into an order of its own, which costs more than
    multiplying by the few columns that weights have. This routine reads them where they
    are, four rows and three columns at a time: as many sums as registers hold.
    `products` is from `room_for_products`; do not read its extra rows and columns.
    """
    n_rows, n_columns, n_terms = len(rows), len(others), data.shape[1]
    products[:] = 0.0
    zero = others.dtype.type(0.0)
    for start in range(0, n_terms, TILE):
        stop = min(start + TILE, n_terms)
        for r in range(0, n_rows, 4):
            # where fewer are left, the last is taken again
            i0, i1 = place(rows[r]), place(rows[min(r + 1, n_rows - 1)])
            i2 = place(rows[min(r + 2, n_rows - 1)])
            i3 = place(rows[min(r + 3, n_rows - 1)])
            for d in range(0, n_columns, 3):
                d0, d1 = place(d), place(min(d + 1, n_columns - 1))
                d2 = place(min(d + 2, n_columns - 1))
                s00, s01, s02 = zero, zero, zero
                s10, s11, s12 = zero, zero, zero
                s20, s21, s22 = zero, zero, zero
                s30, s31, s32 = zero, zero, zero
                for t in range(place(start), place(stop)):
                    v0, v1, v2, v3 = data[i0, t], data[i1, t], data[i2, t], data[i3, t]
                    y0, y1, y2 = others[d0, t], others[d1, t], others[d2, t]
                    s00 += v0 * y0
                    s01 += v0 * y1
                    s02 += v0 * y2
                    s10 += v1 * y0
                    s11 += v1 * y1
                    s12 += v1 * y2
                    s20 += v2 * y0
                    s21 += v2 * y1
                    s22 += v2 * y2
                    s30 += v3 * y0
                    s31 += v3 * y1
                    s32 += v3 * y2
                row = products[r]
                row[d] += s00
                row[d + 1] += s01
                row[d + 2] += s02
                row = products[r + 1]
                row[d] += s10
                row[d + 1] += s11
                row[d + 2] += s12
                row = products[r + 2]
                row[d] += s20
                row[d + 1] += s21
                row[d + 2] += s22
                row = products[r + 3]
                row[d] += s30
                row[d + 1] += s31
                row[d + 2] += s32


@summed
def add_products(data, rows, change, weights):
    """Add sum_r change[r, d] * data[rows[r]] to weights[d], eight rows at a time.

    `change` must have a multiple of eight rows, zero where there is no row left.
    """
    last = len(rows) - 1
    for r in range(0, len(rows), 8):
        x0, x1 = data[rows[r]], data[rows[min(r + 1, last)]]
        x2, x3 = data[rows[min(r + 2, last)]], data[rows[min(r + 3, last)]]
        x4, x5 = data[rows[min(r + 4, last)]], data[rows[min(r + 5, last)]]
        x6, x7 = data[rows[min(r + 6, last)]], data[rows[min(r + 7, last)]]
        for d in range(len(weights)):
            w0, w1, w2, w3 = change[r : r + 4, d]
            w4, w5, w6, w7 = change[r + 4 : r + 8, d]
            row = weights[d]
            for s in range(data.shape[1]):
                row[s] += (w0 * x0[s] + w1 * x1[s] + w2 * x2[s] + w3 * x3[s]) + (
                    w4 * x4[s] + w5 * x5[s] + w6 * x6[s] + w7 * x7[s]
                )


@compiled
def worst_pairs(matrix, lengths):
    """Return where a matrix is least symmetric, and where an entry is most too large.

    The first is the largest abs(m_rp - m_pr), the second the largest
    abs(m_rp) - lengths_r lengths_p. Pairs are read in tiles: half of the entries are
    read against the order of memory.
    """
    n_rows, size = len(matrix), 64
    asymmetry, at = 0.0, (0, 0)
    excess, at_excess = -np.inf, (0, 0)
    for top in range(0, n_rows, size):
        for left in range(top, n_rows, size):
            for r in range(top, min(top + size, n_rows)):
                for p in range(max(left, r), min(left + size, n_rows)):
                    one, other = matrix[r, p], matrix[p, r]
                    if abs(one - other) > asymmetry:
                        asymmetry, at = abs(one - other), (r, p)
                    if abs(one) - lengths[r] * lengths[p] > excess:
                        excess = abs(one) - lengths[r] * lengths[p]
                        at_excess = r, p
    return (
        WorstPair(asymmetry, at[0], at[1]),
        WorstPair(excess, at_excess[0], at_excess[1]),
    )


# stamp: bf4b671b9d7ccd4c
