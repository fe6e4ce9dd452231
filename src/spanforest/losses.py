"""Losses between label sets that decompose over the factors of an output graph.

Every loss here is a sum over factors of at most three indicators, so that three
weights per factor describe it whatever the number of values:

    loss_f(y, z) = joint_f [y_f != z_f] + first_f [y_u != z_u] + second_f [y_v != z_v]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._wording import quoted

__all__ = ["LOSSES", "FactorLoss", "edge_loss", "find_loss", "hamming_loss"]


class FactorLoss(NamedTuple):
    """Weights of a loss, each of shape (n_factors,)."""

    joint: NDArray[np.float64]  # the factor's cell is wrong: one of its labels or both
    first: NDArray[np.float64]  # the label at its first end is wrong
    second: NDArray[np.float64]  # the label at its second end is wrong


def edge_loss(first: NDArray[np.intp], second: NDArray[np.intp]) -> FactorLoss:
    """Count the factors whose cell is wrong: the paper's loss.

    Parameters
    ----------
    first, second : ndarray of shape (n_factors,)
        The labels of each factor; `second` is -1 for a unary factor.

    Examples
    --------
    >>> edge_loss(np.array([0, 1]), np.array([1, 2])).joint.tolist()
    [1.0, 1.0]
    """
    ones, zeros = np.ones(len(first)), np.zeros(len(first))
    return FactorLoss(joint=ones, first=zeros, second=zeros)


def hamming_loss(first: NDArray[np.intp], second: NDArray[np.intp]) -> FactorLoss:
    """Count the wrong labels.

    A label counts in its unary factor if it has one; otherwise its edges share it
    evenly. So with unary factors a label that an example has counts in full, even where
    the example lacks the labels at the other ends.

    Examples
    --------
    >>> hamming_loss(np.array([0, 1]), np.array([1, 2])).second.tolist()
    [0.5, 1.0]
    """
    is_unary = second < 0
    ends = np.concatenate([first, second[~is_unary]])
    share = 1.0 / np.maximum(np.bincount(ends), 1)  # a label of no factor is not read
    share[first[is_unary]] = 0.0
    return FactorLoss(
        joint=np.zeros(len(first)),
        first=np.where(is_unary, 1.0, share[first]),
        second=np.where(is_unary, 0.0, share[second]),
    )


LOSSES: dict[str, Callable[..., FactorLoss]] = {
    "edge": edge_loss,
    "hamming": hamming_loss,
}


def find_loss(name: Any) -> Callable[..., FactorLoss]:
    """Return the loss called `name`.

    Examples
    --------
    >>> find_loss("edge") is edge_loss
    True
    """
    if not isinstance(name, str) or name not in LOSSES:
        known = ", ".join(map(repr, LOSSES))
        raise ValueError(f"loss must be one of {known}; got {quoted(name)}.")
    return LOSSES[name]
