"""Copies of an example: training sees one of them, with the sum of their weights.

A weight of 2 means the example twice. To make that true to the last bit, copies are
put together and their weights added. What remains is put in an order that depends on
the examples alone, not on where they stood. Examples without weights and without
copies stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._weights import WeightedLabels, Weights

__all__ = ["Copies", "put_together"]

Places = NDArray[np.intp]

_AT_ONCE = 1024  # examples


class Copies(NamedTuple):
    """Which training examples are the same, and how much each counts."""

    rows: Places  # the first of each group of copies
    place: Places  # (n_samples,) of every example among these rows
    weight: Weights  # (n_samples,) of every example

    @classmethod
    def of(
        cls, X: Any, Y: NDArray[np.integer], sample_weight: Weights | None
    ) -> Copies | None:
        """Find the copies; None if all examples differ and none has a weight.

        Parameters
        ----------
        X : ndarray or CSR matrix in canonical form, of shape (n_samples, n_features)
            The examples.
        Y : ndarray of shape (n_samples, n_labels)
            Codes of their labels. Copies agree in these too.
        sample_weight : ndarray of shape (n_samples,) or None
            Their weights.

        Examples
        --------
        >>> X, Y = np.array([[5.0], [7.0], [5.0]]), np.array([[0], [1], [0]])
        >>> copies = Copies.of(X, Y, None)
        >>> len(copies.rows), bool(copies.place[0] == copies.place[2])
        (2, True)
        >>> Copies.of(X[:2], Y[:2], None) is None
        True
        """
        digests = list(_digests(X, Y))
        if sample_weight is None and len(set(digests)) == len(digests):
            return None
        _, rows, place = np.unique(digests, return_index=True, return_inverse=True)
        weight = np.ones(len(Y)) if sample_weight is None else sample_weight
        return cls(rows, place, weight)

    def together(self, examples: Places | None = None) -> tuple[Places, Weights]:
        """Return the places of some examples, each place once, and their weights.

        Examples
        --------
        >>> copies = Copies(np.array([1, 0]), np.array([1, 0, 1]), np.ones(3))
        >>> copies.together()
        (array([0, 1]), array([1., 2.]))
        >>> copies.together(np.array([2]))
        (array([1]), array([1.]))
        """
        chosen = slice(None) if examples is None else examples
        places, inverse = np.unique(self.place[chosen], return_inverse=True)
        weight = np.bincount(inverse, self.weight[chosen])
        return places, weight.astype(np.float64, copy=False)

    def shared_out(self, dual_coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give every example its share of the dual variables of its copies.

        Examples
        --------
        >>> copies = Copies(np.array([1, 0]), np.array([1, 0, 1]), np.ones(3))
        >>> copies.shared_out(np.array([[3.0], [4.0]])).tolist()
        [[2.0], [3.0], [2.0]]
        """
        _, total = self.together()
        share = self.weight / total[self.place]
        return dual_coef[self.place] * share[:, None]


def put_together(
    X: Any, targets: WeightedLabels
) -> tuple[Any, WeightedLabels, Copies | None]:
    """Return examples without copies, their labels and weights, and the copies.

    Examples
    --------
    >>> from spanforest._weights import read_targets
    >>> X, y = np.array([[5.0], [7.0], [5.0]]), [0, 1, 0]
    >>> X, targets, _ = put_together(X, read_targets(3, y, None, None, None))
    >>> sorted(zip(X.ravel().tolist(), targets.sample_weight.tolist()))
    [(5.0, 2.0), (7.0, 1.0)]
    """
    copies = Copies.of(X, targets.Y, targets.sample_weight)
    if copies is None:
        return X, targets, None
    of_values = targets.label_weight
    targets = targets._replace(
        Y=targets.Y[copies.rows],
        sample_weight=copies.together()[1],
        label_weight=None if of_values is None else of_values[copies.rows],
    )
    return X[copies.rows], targets, copies


def _digests(X: Any, Y: NDArray[np.integer]) -> Iterator[str]:
    """Yield a digest of every example with its labels, sparse or not."""
    Y = np.ascontiguousarray(Y)
    for start in range(0, X.shape[0], _AT_ONCE):
        few = sparse.csr_array(X[start : start + _AT_ONCE], copy=True)
        few.eliminate_zeros()
        columns = few.indices.astype(np.int64)
        labels_of = Y[start : start + _AT_ONCE]
        for labels, first, last in zip(
            labels_of, few.indptr, few.indptr[1:], strict=False
        ):
            digest = blake2b(labels.data, digest_size=16)
            digest.update(columns[first:last].data)
            digest.update(few.data[first:last].data)
            yield digest.hexdigest()
