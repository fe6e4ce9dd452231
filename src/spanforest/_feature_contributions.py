"""What single features contribute to the score of one example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.kernels._forest import LeafMap

__all__ = ["forest_contributions", "linear_contributions"]

Numbers = NDArray[np.float64]


def linear_contributions(
    row: Numbers, centre: Numbers | float, weights: Numbers
) -> Numbers:
    """Return what features contribute to ``row @ weights``.

    Parameters
    ----------
    row : ndarray of shape (n_features,)
        The example.
    centre : ndarray of shape (n_features,) or float
        Where the features contribute nothing.
    weights : ndarray of shape (n_features, n_outputs)
        The weights.

    Returns
    -------
    ndarray of shape (n_features, n_outputs)
        The columns sum to ``(row - centre) @ weights``.

    Examples
    --------
    >>> row, weights = np.array([1.0, 5.0]), np.array([[2.0], [0.5]])
    >>> linear_contributions(row, 1.0, weights).tolist()
    [[0.0], [2.0]]
    """
    return (row - centre)[:, None] * weights


def forest_contributions(
    leaf_map: LeafMap, members: Any, x: NDArray[np.float32], weights: Numbers
) -> Numbers:
    """Return what features contribute to a forest kernel's values times weights.

    Every tree sends the example from its root to a leaf. Each split on the way changes
    the mean output of the training examples that get as far. The change is what the
    feature that is split contributes (Saabas, 2014).

    Parameters
    ----------
    leaf_map : LeafMap
        The trees.
    members : sparse array of shape (n_leaves, n_samples)
        Ones where a training example is in a leaf.
    x : ndarray of shape (n_features,)
        The example.
    weights : ndarray of shape (n_samples, n_outputs)
        The weights of the kernel values with the training examples.

    Returns
    -------
    ndarray of shape (n_features, n_outputs)
        The columns sum to the output at x minus the mean output of the training
        examples.

    Notes
    -----
    The nodes of a tree stand in the order of a search that goes left first, as
    scikit-learn grows them. So the leaves below a node have consecutive numbers.
    """
    n_examples = np.diff(members.indptr)
    counted = np.concatenate([[0], np.cumsum(n_examples)])
    contributions = np.zeros((leaf_map.n_features, weights.shape[1]))
    splits = list(_splits(leaf_map, x))
    for output, column in zip(contributions.T, weights.T, strict=True):
        at_leaf = members @ column / leaf_map.n_trees
        summed = np.concatenate([[0.0], np.cumsum(n_examples * at_leaf)])
        for feature, before, after in splits:
            change = after.mean(summed, counted) - before.mean(summed, counted)
            np.add.at(output, feature, change)
    return contributions


class _Leaves(NamedTuple):
    """The leaves below nodes: from `start` to before `stop`."""

    start: NDArray[np.intp]
    stop: NDArray[np.intp]

    def mean(self, summed: Numbers, counted: NDArray[np.intp]) -> Numbers:
        """Return the mean over the examples in these leaves, given running sums."""
        total = summed[self.stop] - summed[self.start]
        return total / np.maximum(counted[self.stop] - counted[self.start], 1)


def _splits(
    trees: LeafMap, x: NDArray[np.float32]
) -> Iterator[tuple[NDArray[np.int32], _Leaves, _Leaves]]:
    """Yield the features that the trees split at x, level by level.

    With them come the leaves below the node and below the child that x goes to.
    """
    n_before = np.concatenate([[0], np.cumsum(trees.feature < 0)])  # leaves
    ends = np.append(trees.root[1:], len(trees.feature))
    node, here = trees.root, _Leaves(n_before[trees.root], n_before[ends])
    while len(node := node[inner := trees.feature[node] >= 0]):
        here = _Leaves(*(bound[inner] for bound in here))
        feature = trees.feature[node]
        value = x[feature]
        is_nan = np.isnan(value)
        goes_left = np.where(
            is_nan, trees.nan_left[node], value <= trees.threshold[node]
        )
        middle = n_before[trees.right[node]]
        below = _Leaves(
            np.where(goes_left, here.start, middle),
            np.where(goes_left, middle, here.stop),
        )
        yield feature, here, below
        node, here = np.where(goes_left, trees.left[node], trees.right[node]), below
