"""What a forest says of the test examples of a fold: shares of labels in its leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spanforest._leaf_shares import LeafShares
from spanforest._weights import WeightedLabels
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel

Rows = NDArray[np.intp]


class FoldShares(NamedTuple):
    """The examples that the search sees, and the forest that each fold grows anew."""

    kernel: ForestKernel
    X: Any  # as the user gave it
    targets: WeightedLabels
    template: RandomGraphEnsembleClassifier

    def of(
        self, kernel_params: dict[str, Any], folds: list[tuple[Rows, Rows]]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities that labels of the test rows of each fold are on.

        The forest is grown on the training rows, and sees them as an ensemble with
        these parameters of the kernel reads them. Labels have at most two values.
        """
        reader, targets = clone(self.template).set_params(**kernel_params), self.targets
        X = reader._read_examples(self.X, reset=True)
        X = X if targets.rows is None else X[targets.rows]
        weight = targets.sample_weight
        for train, test in folds:
            shares = LeafShares.grow(
                self.kernel,
                X[train],
                targets.Y[train],
                targets.coding.n_values,
                None if weight is None else weight[train],
                reader._resources,
            )
            # labels with one value have no margin, so that their column is not used
            yield np.column_stack([one[:, -1] for one in shares.of(X[test])])
