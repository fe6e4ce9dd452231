"""Start training from another member's dual variables.

Members on different graphs share the labels. Near the optimum they also share most of
what their dual variables say about single labels. A member that starts there needs
about half of the epochs. Graphs with cycles do not start there: see `_cycles`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spanforest.factors import Coordinates, FactorGraph

CHUNK_SIZE = 1024  # examples whose pairs are computed at once


def independent_start(
    factors: FactorGraph,
    Y: NDArray[np.int32],
    box: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return dual variables in which the labels of every example are independent.

    Let a label's marginal be mu_j = box U(y_j) - a_j, where `sums` are the a_j of all
    values but the first. The product of the marginals belongs to a distribution of
    label sets. So it is feasible on every graph, also on one with cycles. The pair of
    label u with value p and label v with value q then has the coordinate

        box [y_u = p] [y_v = q] - mu_u(p) mu_v(q) / box
            = [y_u = p] a_v(q) + [y_v = q] a_u(p) - a_u(p) a_v(q) / box.

    Parameters
    ----------
    factors : FactorGraph
        The member's factors. They share the sums of their labels.
    Y : ndarray of shape (n_samples, n_labels)
        Codes of the labels, all observed.
    box : ndarray of shape (n_samples,)
        C times the weight of each example.
    sums : ndarray of shape (n_samples, n_sums)
        The first coordinates of another member: those of the labels.

    Returns
    -------
    ndarray of shape (n_samples, n_coordinates)
        Coordinates of the dual variables: first those of the labels, then the pairs.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> pair = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    >>> Y = np.array([[1, 1]], dtype=np.int32)
    >>> independent_start(pair, Y, np.ones(1), np.array([[0.5, 0.5]]))
    array([[0.5 , 0.5 , 0.75]])
    """
    coordinates = Coordinates.of(factors)
    first_end, second_end = _ends_of_pairs(coordinates.layout)
    labels = np.repeat(np.arange(factors.n_labels), factors.n_values - 1)
    values = np.concatenate([np.arange(1, size) for size in factors.n_values])
    n_sums = len(labels)
    start = np.empty((len(Y), coordinates.n))
    start[:, :n_sums] = sums
    for first in range(0, len(Y), CHUNK_SIZE):
        chunk = slice(first, first + CHUNK_SIZE)
        is_true, own = Y[chunk][:, labels] == values, sums[chunk]
        pairs = start[chunk, n_sums:]
        at_first, at_second = own.take(first_end, axis=1), own.take(second_end, axis=1)
        np.multiply(is_true.take(first_end, axis=1), at_second, out=pairs)
        pairs += is_true.take(second_end, axis=1) * at_first
        pairs -= at_first * (at_second / box[chunk, None])
    return start


def _ends_of_pairs(
    layout: NDArray[np.void],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return, for the coordinates of pairs, those of the two values they join."""
    rows, columns = layout["n_first"] - 1, layout["n_second"] - 1
    factor = np.repeat(np.arange(len(layout)), rows * columns)
    start = np.cumsum(rows * columns) - rows * columns
    place = np.arange(len(factor)) - start[factor]
    at, width = layout[factor], columns[factor]
    return at["row_sums"] + place // width, at["column_sums"] + place % width
