"""Kernel values between new and training examples of a forest, as sums over leaves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest import _compiled
from spanforest.kernels._forest import LeafMap

# With more examples the leaves are used in place of a kernel matrix. Measured with 100
# and 200 trees: a pass over a matrix of 4000 examples takes a seventh to two thirds of
# the time of a pass over their leaves, of 8000 a third to all of it. The limit is a
# matter of memory: here a matrix takes 200 MB, and its copy for training 100 MB.
MOST_IN_MATRIX = 5000
# To multiply by weights, sums over leaves are made, so many bytes at a time that they
# stay in the processor's cache. If the leaves of new examples hold more training
# examples than MOST_KEPT (12 bytes each), they are looked up for every multiplication.
LARGEST_SUMS = 2**21
MOST_KEPT = 2**22


class GrownForest(NamedTuple):
    """A forest, and which training examples are in each leaf."""

    leaf_map: LeafMap
    members: sparse.csr_array  # (n_leaves, n_samples), ones

    @property
    def is_matrix(self) -> bool:
        """Whether the training examples are few enough for a kernel matrix."""
        return self.members.shape[1] <= MOST_IN_MATRIX

    def rows(self, X: Any) -> NDArray[np.float64] | LeafRows:
        """Return the kernel values between new and training examples.

        With many training examples they are not computed before they are needed.
        """
        leaves = self.leaf_map.leaves(X)
        return self.matrix(leaves) if self.is_matrix else LeafRows(leaves, self, {})

    def block(self, leaves: NDArray[np.int32]) -> LeafBlock:
        """Return the leaves that occur among these, of new examples in every tree."""
        occurring, places = np.unique(leaves, return_inverse=True)
        return LeafBlock.of(leaves, places, self.members[occurring].astype(np.float64))

    def matrix(self, leaves: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the dense kernel between examples with these leaves and training."""
        K = np.zeros((len(leaves), self.members.shape[1]))
        members = self.members
        _compiled.add_shared_leaves(leaves, members.indptr, members.indices, K)
        K /= self.leaf_map.n_trees
        return K


class LeafBlock(NamedTuple):
    """Some leaves: which new examples are in them, and which training examples."""

    indicator: sparse.csr_array  # (n, n_leaves)
    members: sparse.csr_array  # (n_leaves, n_samples)

    @classmethod
    def of(
        cls, leaves: NDArray[np.integer], places: NDArray[np.integer], members: Any
    ) -> LeafBlock:
        """Return the block of these `leaves`, which are rows `places` of `members`."""
        ends = np.arange(0, leaves.size + 1, leaves.shape[1])
        indicator = sparse.csr_array(
            (np.ones(leaves.size), places.ravel(), ends),
            shape=(len(leaves), members.shape[0]),
        )
        return cls(indicator, members)

    def __matmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.indicator @ (self.members @ weights)


class LeafRows(NamedTuple):
    """Kernel values between new and many training examples, as the leaves of both.

    With Z and M the indicators of leaves of new and of training examples, the values
    are Z M^T / n_trees. To multiply them by weights A takes Z (M^T A): a sum over the
    training examples of each leaf, and one over the leaves of each new example.
    """

    leaves: NDArray[np.int32]  # of new examples, (n, n_trees)
    forest: GrownForest
    kept: dict[int, list[LeafBlock]]  # what was multiplied last, by the size of blocks

    @property
    def shape(self) -> tuple[int, int]:
        """Number of new examples, and of training examples."""
        return len(self.leaves), self.forest.members.shape[1]

    @property
    def n_visits(self) -> int:
        """How many training examples the leaves of all new examples have."""
        ends = self.forest.members.indptr
        sizes = ends[self.leaves + 1] - ends[self.leaves]
        return int(sizes.sum(dtype=np.int64))

    def toarray(self) -> NDArray[np.float64]:
        """Return the values."""
        return self.forest.matrix(self.leaves)

    def __matmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        n, n_trees = self.leaves.shape
        weights = np.ascontiguousarray(weights)
        row_size = max(weights.shape[1] * weights.itemsize, 1)
        # By way of all leaves, every example is visited once per tree, and in order,
        # which takes half the time per visit.
        n_visits = self.n_visits
        if 2 * n_visits <= n_trees * sum(self.shape):
            step = max(1, LARGEST_SUMS // (row_size * n_trees))
            blocks = self._of_examples(step, keep=n_visits <= MOST_KEPT)
            parts = [block @ weights for block in blocks]
            products = np.concatenate([np.zeros((0, weights.shape[1])), *parts])
        else:
            products = np.zeros((n, weights.shape[1]))
            n_leaves = self.forest.members.shape[0] // n_trees + 1  # per tree
            step = max(1, LARGEST_SUMS // (row_size * n_leaves))
            for start in range(0, n_trees, step):
                products += self._of_trees(slice(start, start + step)) @ weights
        products /= n_trees
        return products

    def _of_examples(self, step: int, *, keep: bool) -> Iterable[LeafBlock]:
        """Return the leaves of some new examples after the other.

        They may be kept: members of an ensemble multiply the same rows by weights of
        their own.
        """
        kept = self.kept.get(step)
        if kept is not None:
            return kept
        blocks = (
            self.forest.block(self.leaves[start : start + step])
            for start in range(0, len(self.leaves), step)
        )
        if not keep:
            return blocks
        made = list(blocks)
        self.kept.clear()
        self.kept[step] = made
        return made

    def _of_trees(self, trees: slice) -> LeafBlock:
        """Return the leaves of some trees; their numbers follow each other."""
        leaves = self.leaves[:, trees]
        first, last = leaves.min(), leaves.max()
        members = self.forest.members[first : last + 1]
        return LeafBlock.of(leaves, leaves - first, members)
