"""Scaling of features, and the kernel that suits them: both look at the numbers in X.

A scaling is learned in `fit` and moves and stretches every feature on its own,
x -> (x - centre) * factor. It never looks at the labels. Dense and sparse matrices of
the same numbers are treated alike, but for one exception: "standard" never moves sparse
features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from spanforest._parameters import check_option

SCALINGS = ("auto", "standard", "max_abs")  # None: no scaling
MOST_IN_TABLE = 5000  # examples; the kernel matrix of more takes over 200 MB
# Kernels of bits and counts, for which mean and deviation mean nothing.
OF_COUNTS = ("tanimoto",)


@dataclass(frozen=True)
class Scaling:
    """A centre and a factor of every feature.

    Examples
    --------
    >>> scaling = Scaling(centre=np.array([5.0, 0.0]), factor=np.array([0.5, 2.0]))
    >>> scaling.apply(np.array([[7.0, 1.0]])).tolist()
    [[1.0, 2.0]]
    """

    centre: NDArray[np.float64]  # (n_features,)
    factor: NDArray[np.float64]  # (n_features,)

    def apply(self, X: Any) -> Any:
        """Return scaled features in the precision of X.

        A sparse matrix stays sparse, unless moving its columns leaves most entries
        different from zero.
        """
        if not sparse.issparse(X):
            return ((X - self.centre) * self.factor).astype(X.dtype, copy=False)
        return self._apply_sparse(X).astype(X.dtype, copy=False)

    def _apply_sparse(self, X: Any) -> Any:
        moved = np.flatnonzero(self.centre)
        # multiplying the values keeps the form of X; indices are those of its columns
        scaled = sparse.csr_array(X, dtype=np.float64, copy=True)
        scaled.data *= self.factor[scaled.indices]
        if not len(moved):
            return scaled
        n_rows, kind = X.shape[0], X.indices.dtype
        columns = np.tile(moved.astype(kind), n_rows)
        starts = np.arange(n_rows + 1, dtype=kind) * len(moved)
        shifts = (self.centre * self.factor)[columns]
        shift = sparse.csr_array((shifts, columns, starts), shape=X.shape)
        result = sparse.csr_array(scaled - shift)
        return result.toarray() if 2 * result.nnz > np.prod(X.shape) else result

    def unscaled(
        self, weights: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and intercept that give unscaled features the same scores.

        Examples
        --------
        >>> scaling = Scaling(centre=np.array([5.0]), factor=np.array([0.5]))
        >>> scaling.unscaled(np.array([[4.0]]), np.array([1.0]))
        (array([[2.]]), array([-9.]))
        """
        weights = weights * self.factor[:, None]
        return weights, intercept - self.centre @ weights


class Rule(NamedTuple):
    """How to learn a scaling from examples: what is done to each feature."""

    centred: NDArray[np.bool_]  # (n_features,): moved to mean 0
    by_deviation: NDArray[np.bool_]  # divided by the deviation, else by the largest
    unit_length: bool  # then one more factor: the mean squared length becomes 1

    def learn(self, X: Any, sample_weight: Any = None) -> Scaling:
        """Learn centres and factors.

        A feature that is zero in all examples gets the factor 0: the model knows
        nothing about a word that no training text has. Such words must not add to the
        length of new texts. Other features that do not vary keep their size.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The training examples.
        sample_weight : ndarray of shape (n_samples,), optional
            A weight of 2 equals the example twice, and 0 equals leaving it out.

        Examples
        --------
        >>> X = np.array([[3.0, 0.0], [5.0, 0.0], [7.0, 4.0]])
        >>> rule = rule_for("auto", "rbf", X)
        >>> rule.learn(X).apply(X).round(2).tolist()
        [[-1.22, 0.0], [0.0, 0.0], [1.22, 1.0]]
        """
        if sample_weight is not None:
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        X = X.astype(np.float64, copy=False)
        standard = StandardScaler(with_mean=not sparse.issparse(X))
        standard.fit(X, sample_weight=sample_weight)
        largest = MaxAbsScaler().fit(X).max_abs_
        occurs = largest >= np.finfo(np.float64).tiny
        size = np.where(self.by_deviation, standard.scale_, largest)
        centre = np.where(self.centred, standard.mean_, 0.0)
        factor = np.divide(1.0, size, out=np.zeros_like(size), where=occurs)
        if self.unit_length:
            # E (x - centre)² = variance + (mean - centre)²
            squares = standard.var_ + np.square(standard.mean_ - centre)
            # squares of the factors alone would overflow for tiny features
            length = float(np.square(np.sqrt(squares) * factor).sum())
            factor /= np.sqrt(length) if length > 0.0 else 1.0
        return Scaling(centre, factor)


def rule_for(name: Any, kernel: Any, X: Any, sample_weight: Any = None) -> Rule | None:
    """Return the rule of a scaling for a kernel; None if features stay as they are.

    "auto" treats columns of numbers, of which at least half are not zero, like
    "standard", and the others (words, bits, counts) like "max_abs": these keep their
    zeros, and rare ones do not become large. With the linear kernel the examples then
    get an average squared length of 1, which training needs to converge quickly. "auto"
    leaves the features as they are for the Tanimoto kernel, which is made for bits and
    counts, and for a function of the user, who knows what it takes.

    Examples
    --------
    >>> X = np.array([[3.0, 0.0], [5.0, 0.0], [7.0, 4.0]])
    >>> rule_for("auto", "rbf", X).centred.tolist()
    [True, False]
    >>> rule_for("auto", "tanimoto", X) is None
    True
    """
    check_scaling(name)
    if name is None:
        return None
    everywhere = np.ones(X.shape[1], dtype=bool)
    if name == "standard":
        return Rule(everywhere & (not sparse.issparse(X)), everywhere, False)
    if name == "max_abs":
        return Rule(~everywhere, ~everywhere, False)
    if callable(kernel) or kernel in OF_COUNTS:
        return None
    is_full = _share_of_nonzeros(X, sample_weight) >= 0.5
    return Rule(is_full, is_full, unit_length=kernel == "linear")


def check_scaling(name: Any) -> None:
    """Refuse the name of a scaling that does not exist; None means no scaling.

    Examples
    --------
    >>> check_scaling("auto")
    """
    if name is not None:
        check_option("scaling", name, SCALINGS)


def kernel_for(X: Any) -> str:
    """Return the kernel that "auto" chooses: "rbf" for tables, else "linear".

    A table has at most 5,000 examples, and at least half of its entries are not zero.

    Examples
    --------
    >>> kernel_for(np.array([[3.0, 0.0], [5.0, 0.0], [7.0, 4.0]]))
    'rbf'
    >>> kernel_for(np.eye(3))
    'linear'
    """
    n_nonzeros = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    is_table = X.shape[0] <= MOST_IN_TABLE and 2 * n_nonzeros >= np.prod(X.shape)
    return "rbf" if is_table else "linear"


def _share_of_nonzeros(X: Any, sample_weight: Any) -> NDArray[np.float64]:
    """Return the share of examples in which each feature is not zero."""
    weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    return ((X != 0).T @ weights) / max(weights.sum(), np.finfo(float).tiny)
