"""What a forest says of the test examples of a fold: shares of labels in its leaves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spanforest._inputs import Resources
from spanforest._leaf_shares import LeafShares
from spanforest._weights import WeightedLabels
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel


class FoldShares(NamedTuple):
    """The examples that count, and the forest that each fold grows on its own."""

    kernel: ForestKernel
    X: Any
    targets: WeightedLabels
    resources: Resources

    @classmethod
    def read(
        cls,
        kernel: ForestKernel,
        X: Any,
        targets: WeightedLabels,
        template: RandomGraphEnsembleClassifier,
    ) -> FoldShares:
        """Read the user's X as a forest does."""
        ensemble = clone(template).set_params(kernel=kernel, kernel_params=None)
        X = ensemble._read_examples(X, reset=True)
        X = X if targets.rows is None else X[targets.rows]
        return cls(kernel, X, targets, ensemble._resources)

    def of(
        self, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the probability that labels of the rows `test` are on.

        The forest is grown on the rows `train`. Labels have at most two values.
        """
        targets, weight = self.targets, self.targets.sample_weight
        shares = LeafShares.grow(
            self.kernel,
            self.X[train],
            targets.Y[train],
            targets.coding.n_values,
            None if weight is None else weight[train],
            self.resources,
        )
        # of a label with one value nothing is asked: it has no margin
        return np.column_stack([one[:, -1] for one in shares.of(self.X[test])])
