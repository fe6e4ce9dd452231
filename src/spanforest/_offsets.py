"""Offsets: numbers that are added to the score of "on" of labels with two values.

The score of a label set grows by the sum of the offsets of its labels that are on. An
offset is added to the scores of factors, which are then decoded like any others. So
nothing that works with scores needs to know of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest._parameters import LARGEST
from spanforest._wording import quoted
from spanforest.factors import FactorGraph

__all__ = ["check_offset", "offset_cells", "read_offset"]


def read_offset(offset: Any, name: str = "offset") -> NDArray[np.float64]:
    """Return an offset as an array: one number, or one per label.

    `name` is what messages call it.

    Examples
    --------
    >>> read_offset(0.5), read_offset([0, 1])
    (array(0.5), array([0., 1.]))
    """
    try:
        numbers = np.array(offset, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.ndim > 1 or isinstance(offset, str) or not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} must be a finite number, or a list with one for each label; got "
            f"{quoted(offset)}."
        )
    if np.abs(numbers).max(initial=0.0) > LARGEST:
        raise ValueError(
            f"{name} must be between {-LARGEST:g} and {LARGEST:g}; got "
            f"{quoted(offset)}."
        )
    return numbers


def check_offset(offset: ArrayLike, n_values: NDArray[np.integer]) -> None:
    """Refuse an offset that does not fit labels with these numbers of values.

    A label with one value has nothing to choose, so that any offset will do.

    Examples
    --------
    >>> check_offset([0.5, 0.0], np.array([2, 3]))
    """
    offset, n_labels = np.asarray(offset), len(n_values)
    if offset.ndim and len(offset) != n_labels:
        raise ValueError(
            "a list of offsets must have one number for each of the "
            f"{n_labels} labels; got {len(offset)}. Pass 0 for a label without one."
        )
    of_labels = np.broadcast_to(offset, n_labels)
    wrong = np.flatnonzero((n_values > 2) & (of_labels != 0))
    if len(wrong):
        j = int(wrong[0])
        raise ValueError(
            "an offset is added to the score of the higher of two values; label "
            f"{j} has {n_values[j]} values and offset {of_labels[j]:g}. Pass a list "
            "with one number per label, and 0 for this one."
        )


def offset_cells(factors: FactorGraph, offset: ArrayLike) -> NDArray[np.float64]:
    """Return what an offset adds to the scores of all cells.

    It goes to the unary factor of a label. A label without one shares it equally among
    its edges. The consensus of members averages their scores, and so has the same
    offset. Labels that do not have two values get nothing.

    Parameters
    ----------
    factors : FactorGraph
        The factors whose scores it is added to.
    offset : float or array-like of shape (n_labels,)
        Added to the score of every label set in which the label is on.

    Returns
    -------
    ndarray of shape (n_cells,)
        The sum over the cells that a label set picks is the sum of its offsets.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> path = FactorGraph(LabelGraph(3, [(0, 1), (1, 2)]), [2, 2, 2])
    >>> offset_cells(path, [0, 1, 4]).tolist()
    [0.0, 0.5, 0.0, 0.5, 0.0, 4.0, 0.5, 4.5]
    """
    n_shares = factors.graph.degrees.copy()
    n_shares[factors.unary_labels] = 1
    share = np.where(factors.n_values == 2, offset, 0.0) / n_shares
    edge_share = share.copy()
    edge_share[factors.unary_labels] = 0.0
    factor = factors.arrays.factor
    is_edge = factor["second"] >= 0
    at_first = np.where(is_edge, edge_share[factor["first"]], share[factor["first"]])
    at_second = np.where(is_edge, edge_share[factor["second"]], 0.0)
    of_cell = np.repeat(np.arange(len(factor)), factor["n_cells"])
    place = np.arange(factors.n_cells) - factor["offset"][of_cell]
    first, second = np.divmod(place, factor["n_second"][of_cell])  # values
    return at_first[of_cell] * (first > 0) + at_second[of_cell] * (second > 0)
