"""Probabilities of a forest: how often labels have a value in the leaves of an example.

An ensemble's margins say little about a label that it never turns on. Training stops
changing them once they are large enough, and then they are about the same for all
examples. A forest counts, and so still tells which examples are nearer to having the
label. The mean of calibrated probabilities and of these shares is better than either
where labels are rare or features say little.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._forest_input import ForestInput
from spanforest._inputs import Resources
from spanforest._wording import quoted
from spanforest.kernels import ForestKernel, KernelSpec

LARGEST_TABLE = 2**22  # entries of the largest array at a time: 32 MB
_PLACE = 2**20  # no kernel of an ensemble has this place, and so these seeds


def check_probability(probability: Any, *, is_pairwise: bool) -> None:
    """Refuse what `probability` cannot be; `is_pairwise`: X is a kernel matrix.

    Examples
    --------
    >>> check_probability(ForestKernel(), is_pairwise=False)
    """
    if isinstance(probability, np.bool_ | Integral) and probability in (0, 1):
        return
    if not isinstance(probability, ForestKernel):
        raise ValueError(
            "probability must be True, False or a ForestKernel; got "
            f"{quoted(probability)}."
        )
    probability.check()
    if probability.categories is not None:
        raise ValueError(
            "a ForestKernel as probability reads the features as the kernel does, so "
            "it takes no categories. Name them in a ForestKernel as kernel, or make "
            "the columns pandas' category."
        )
    if is_pairwise:
        raise ValueError(
            "a ForestKernel as probability needs features, and there are none with a "
            "precomputed kernel. Set probability=True."
        )


@dataclass(frozen=True, eq=False)
class LeafShares:
    """A forest, and the values of its training examples.

    Parameters
    ----------
    forest : ForestInput
        Grown on the training examples.
    targets : CSR array of shape (n_samples, n_cells)
        The weight of an example at each of its values; all values of all labels have a
        cell, one label after the other. Labels that were not observed have none.
    n_values : ndarray of shape (n_labels,)
        Number of values of each label.
    """

    forest: ForestInput
    targets: sparse.csr_array
    n_values: NDArray[np.integer]

    @classmethod
    def grow(
        cls,
        kernel: ForestKernel,
        X: Any,
        Y: NDArray[np.int32],
        n_values: NDArray[np.integer],
        sample_weight: NDArray[np.float64] | None,
        resources: Resources,
    ) -> LeafShares:
        """Grow the forest.

        Parameters
        ----------
        kernel : ForestKernel
            Its parameters.
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Training examples, as scikit-learn has checked them.
        Y : ndarray of shape (n_samples, n_labels)
            Codes of their labels, -1 where not observed.
        n_values : ndarray of shape (n_labels,)
            Number of values of each label.
        sample_weight : ndarray of shape (n_samples,), optional
            How much each example counts.
        resources : Resources
            Seed and threads.

        Examples
        --------
        >>> X, Y = np.array([[0.0], [0.0], [9.0]]), np.array([[0], [1], [1]])
        >>> kernel, resources = ForestKernel(5, min_samples_leaf=1), Resources(0)
        >>> shares = LeafShares.grow(kernel, X, Y, np.array([2]), None, resources)
        >>> shares.of(np.array([[1e-9], [9.0]]))[0].tolist()
        [[0.5, 0.5], [0.0, 1.0]]
        """
        forest = ForestInput(KernelSpec(kernel), False, resources.at(_PLACE))
        forest.learn_scaling(None, X, sample_weight)
        forest.grow_alone(X, Y, sample_weight)
        rows, labels = np.nonzero(Y >= 0)
        cells = (np.cumsum(n_values) - n_values)[labels] + Y[rows, labels]
        weight = np.ones(len(Y)) if sample_weight is None else sample_weight
        shape = len(Y), int(n_values.sum())
        targets = sparse.csr_array((weight[rows], (rows, cells)), shape=shape)
        return cls(forest, targets, n_values)

    def of(self, X: Any) -> list[NDArray[np.float64]]:
        """Return the shares of the values of each label, averaged over the trees.

        X holds new examples, as scikit-learn has checked them. A leaf where the label
        was not observed has the shares of all training examples.
        """
        grown = self.forest.grown
        n_leaves, n_trees = grown.leaf_map.n_leaves, grown.leaf_map.n_trees
        n, n_cells = X.shape[0], self.targets.shape[1]
        P, step = np.zeros((n, n_cells)), LARGEST_TABLE // n_trees
        if n_leaves * n_cells > LARGEST_TABLE:  # else all leaves together have room
            step //= n_cells
        step = max(1, step)
        for start in range(0, n, step):
            rows = slice(start, start + step)
            block = grown.block(self.forest.leaves(X[rows]))
            shares = self._shares((block.members @ self.targets).toarray())
            P[rows] = block.indicator @ shares / n_trees
        return np.split(P, np.cumsum(self.n_values)[:-1], axis=1)

    def _shares(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide by the total of each label; where it is 0, take what all leaves have.

        Values of a label that was never observed have equal shares.
        """
        totals = self._totals(counts)
        if not np.all(totals):
            everywhere = self.targets.sum(axis=0)[None]
            everywhere += self._totals(everywhere) == 0
            counts = np.where(totals > 0, counts, everywhere)
            totals = self._totals(counts)
        return counts / totals

    def _totals(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over the values of its label, for each cell."""
        firsts = np.cumsum(self.n_values) - self.n_values
        sums = np.add.reduceat(counts, firsts, axis=1)
        return np.repeat(sums, self.n_values, axis=1)
