"""Kinds of input with several kernels: one per member in turn, or their sum.

With `SeveralInputs`, members of an ensemble take the kernels in turn. Rows of new
examples are the rows of all kernels side by side. The weights of the ensemble are the
weights of the kernels, one below the other. So the ensemble's scores still are

    scores = rows @ weights + intercept.

A member has the input, the basis and the rows of its own kernel: see `of_member`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._category_columns import CategoryColumns
from spanforest._copies import Copies
from spanforest._forest_input import ForestBasis, ForestInput
from spanforest._inputs import Basis, Indices, Input, KernelInput, KernelMatrix
from spanforest._kernel_rows import room_for
from spanforest.factors import Coordinates
from spanforest.kernels import KernelSpec
from spanforest.solver import Form

IN_TURN = (
    "A sum of kernels needs the whole matrix. An ensemble with kernel=[...], a list of "
    "kernels that its members take in turn, needs none if they have names. Or learn "
    "from fewer examples."
)


class SideBySide(NamedTuple):
    """Rows of examples for several kernels."""

    blocks: tuple[Any, ...]  # one per kernel, (n, n_features) or (n, n_samples)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of examples, and of rows that their weights have."""
        return self.blocks[0].shape[0], sum(block.shape[1] for block in self.blocks)

    def __matmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        ends = np.cumsum([block.shape[1] for block in self.blocks])
        weights_of = np.split(weights, ends[:-1])
        scores = np.zeros((self.shape[0], weights.shape[1]))
        for block, own in zip(self.blocks, weights_of, strict=True):
            scores += block @ own
        return scores


class SeveralBases(NamedTuple):
    """Training examples as several kernels compare them."""

    bases: tuple[Any, ...]

    def form(self, coordinates: Coordinates, fit_intercept: bool) -> Form:
        """Refuse: only a member's own basis has a form."""
        raise TypeError("several kernels have no form. Call `of_member` first.")

    def fold(
        self, train: Indices, test: Indices, sample_weight: Any = None
    ) -> tuple[SeveralBases, SideBySide]:
        """Return the bases of the rows `train`, and the `rows` of the others."""
        folds = [basis.fold(train, test, sample_weight) for basis in self.bases]
        bases, rows = zip(*folds, strict=True)
        return SeveralBases(bases), SideBySide(rows)

    def in_single_precision(self) -> SeveralBases:
        """Return bases of half the size where the precision is of no use."""
        return SeveralBases(tuple(basis.in_single_precision() for basis in self.bases))

    def prepared(self, tol: float) -> SeveralBases:
        """Add what makes training to this tolerance faster, once for all members."""
        return SeveralBases(tuple(basis.prepared(tol) for basis in self.bases))


def of_member(shared: Any, t: int) -> Any:
    """Return the basis, or the rows, of member t; a single kernel is all members'.

    Examples
    --------
    >>> rows = SideBySide((np.zeros((2, 3)), np.ones((2, 1))))
    >>> of_member(rows, 3).tolist()
    [[1.0], [1.0]]
    >>> of_member(np.eye(2), 3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if isinstance(shared, SideBySide):
        return shared.blocks[t % len(shared.blocks)]
    if isinstance(shared, SeveralBases):
        return shared.bases[t % len(shared.bases)]
    return shared


class _Composed(Input):
    """A kind of input that is made of others."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self.inputs = list(inputs)
        self.accepts_nan = all(given.accepts_nan for given in inputs)

    @property
    def singles(self) -> list[Input]:
        """The inputs of the single kernels inside."""
        return [single for given in self.inputs for single in given.singles]

    def has_categories(self, X: Any, *, reset: bool) -> bool:
        """Return whether columns of X hold categories; `reset` learns them."""
        if reset:
            singles = self.singles
            forests = [given for given in singles if isinstance(given, ForestInput)]
            named = [one.kernel.categories for one in forests]
            told = [name for names in named if names is not None for name in names]
            for given in forests:
                given.has_indicators = len(forests) < len(singles)
            self._keep_columns(CategoryColumns.of(X, told))
        return self.columns is not None

    def _keep_columns(self, columns: CategoryColumns | None) -> None:
        self.columns = columns
        for given in self.inputs:  # members read X by themselves
            if isinstance(given, _Composed):
                given._keep_columns(columns)
            given.columns = columns

    def numbers(self, X: Any) -> NDArray[np.float64]:
        """Return the user's X with numbers in place of categories.

        All kernels see the same numbers: indicators, unless all are forests.
        """
        return self.inputs[0].numbers(X)

    def check(self, X: Any) -> None:
        """Refuse training examples that some kernel cannot learn from."""
        for given in self.inputs:
            given.check(X)

    def learn_scaling(
        self, name: str | None, X: Any, sample_weight: Any = None
    ) -> None:
        """Learn the scaling of features for each kernel, before `fit`."""
        for given in self.inputs:
            given.learn_scaling(name, X, sample_weight)

    def _fit_each(self, X: Any, Y: NDArray[np.int32], sample_weight: Any) -> list[Any]:
        """Return the bases of all inputs, which share one copy of the examples."""
        bases = []
        for given in self.inputs:
            bases.append(given.fit(X, Y, sample_weight))
            self._share_examples()
        return bases

    def _share_examples(self) -> None:
        """Keep the training examples once for all kernels that compare with them."""
        having = [one for one in self.singles if isinstance(one, KernelInput)]
        having = [one for one in having if "X_fit" in vars(one)]
        for one in having:
            one.X_fit = having[0].X_fit

    def tell_apart(self, copies: Copies) -> None:
        """Have weights for every training example, after `fit` saw each once."""
        super().tell_apart(copies)
        for given in self.inputs:
            given.tell_apart(copies)
        self._share_examples()

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes that the estimator shows to users after `fit`."""
        each = [given.attributes for given in self.inputs]
        common = {name: [own[name] for own in each] for name in ("gamma_", "kernel_")}
        kept = [own["X_fit_"] for own in each if "X_fit_" in own]
        return {**common, "X_fit_": kept[0]} if kept else common


class SeveralInputs(_Composed):
    """Features that are compared by several kernels, one per member in turn."""

    weights_name = "_stacked_weights"

    @property
    def n_kernels(self) -> int:
        """Number of kernels that the members of an ensemble take in turn."""
        return len(self.inputs)

    def fit(
        self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None
    ) -> SeveralBases:
        """Fit every input, and return all bases."""
        return SeveralBases(tuple(self._fit_each(X, Y, sample_weight)))

    def rows(self, X: Any) -> SideBySide:
        """Return the rows of all kernels, side by side."""
        return SideBySide(tuple(given.rows(X) for given in self.inputs))

    def row_size(self, n_weights: int) -> int:
        """Return how many numbers `rows` keeps per example, of all kernels."""
        own = n_weights // self.n_kernels
        return sum(given.row_size(own) for given in self.inputs)

    def feature_contributions(
        self, X: Any, weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return what features contribute, summed over the kernels; or None.

        Each kernel has the weights of its members. None: some kernel compares whole
        examples.
        """
        ends = np.cumsum([block.shape[1] for block in self.rows(X).blocks])
        return _summed_contributions(self.inputs, X, np.split(weights, ends[:-1]))

    def of_member(self, t: int) -> Input:
        """Return the input of member t of an ensemble."""
        return self.inputs[t % self.n_kernels]


class SumBasis(NamedTuple):
    """A sum of kernels of which some are fitted again in every fold."""

    total: KernelMatrix
    terms: tuple[Any, ...]
    factors: tuple[float, ...]  # of the terms in the sum

    def form(self, coordinates: Coordinates, fit_intercept: bool) -> Form:
        """Return the solver's form of these examples."""
        return self.total.form(coordinates, fit_intercept)

    def fold(
        self, train: Indices, test: Indices, sample_weight: Any = None
    ) -> tuple[Basis, Any]:
        """Fit the terms to the rows `train` alone, and add them up."""
        folds = [term.fold(train, test, sample_weight) for term in self.terms]
        bases, rows = zip(*folds, strict=True)
        return sum_of(bases, self.factors), weighted_sum(rows, self.factors)

    def in_single_precision(self) -> SumBasis:
        """Return the basis with matrices in float32, also in folds."""
        terms = tuple(term.in_single_precision() for term in self.terms)
        return SumBasis(self.total.in_single_precision(), terms, self.factors)

    def prepared(self, tol: float) -> KernelMatrix:
        """Return what training needs. It has no folds: the labels are not in it."""
        return self.total.prepared(tol)


class SumInput(_Composed):
    """Features that are compared by a sum of kernels; see `SumKernel`."""

    factors: tuple[float, ...]

    def __init__(self, spec: KernelSpec, inputs: Sequence[Input]) -> None:
        super().__init__(inputs)
        self.spec = spec  # of a SumKernel

    def fit(self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None) -> Basis:
        """Fit every term, make the terms comparable, and add them up.

        As with a single kernel, what was learned without labels is kept in folds.
        """
        with room_for(X.shape[0], X.shape[0], X.dtype, IN_TURN):
            bases = self._fit_each(X, Y, sample_weight)
            sizes = [_mean_size(basis.matrix(), sample_weight) for basis in bases]
            kernel: Any = self.spec.name
            shares = zip(kernel.shares, sizes, strict=True)
            self.factors = tuple(share / size for share, size in shares)
            return sum_of(bases, self.factors)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes that the estimator shows to users after `fit`."""
        return {**super().attributes, "kernel_": self.spec.name}

    def rows(self, X: Any) -> NDArray[np.floating]:
        """Return the values of the sum between new and training examples."""
        return weighted_sum((given.rows(X) for given in self.inputs), self.factors)

    def feature_contributions(
        self, X: Any, weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return what features contribute, summed over the kernels; or None.

        All kernels have the same weights, but for their factors. None: some kernel
        compares whole examples.
        """
        weights_of = [factor * weights for factor in self.factors]
        return _summed_contributions(self.inputs, X, weights_of)


def _summed_contributions(
    inputs: Sequence[Input], X: Any, weights: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64] | None:
    total: Any = 0.0
    for given, own in zip(inputs, weights, strict=True):
        contributions = given.feature_contributions(X, own)
        if contributions is None:
            return None
        total = total + contributions
    return total


def _mean_size(K: NDArray[np.floating], sample_weight: Any) -> float:
    """Return the mean of k(x, x); 1 if it is almost zero, as for zero vectors."""
    size = float(np.average(K.diagonal(), weights=sample_weight))
    return size if size >= np.finfo(K.dtype).tiny else 1.0


def sum_of(bases: Sequence[Any], factors: Sequence[float]) -> Basis:
    """Return the basis of a sum; it is a matrix unless some term must be fitted again.

    Terms that never change are added up once and for all.
    """
    terms: list[Any] = []
    constant: list[Any] = []
    for basis, factor in zip(bases, factors, strict=True):
        is_fitted = isinstance(basis, ForestBasis)
        (terms if is_fitted else constant).append((basis, factor))
    if constant:
        terms.append((KernelMatrix(_total(constant)), 1.0))
    if len(terms) == 1 and constant:
        return terms[0][0]
    bases, factors = zip(*terms, strict=True)
    return SumBasis(KernelMatrix(_total(terms)), bases, factors)


def _total(terms: Sequence[tuple[Any, float]]) -> NDArray[np.floating]:
    bases, factors = zip(*terms, strict=True)
    return weighted_sum((basis.matrix() for basis in bases), factors)


def weighted_sum(matrices: Any, factors: Sequence[float]) -> NDArray[np.floating]:
    """Return a dense weighted sum of dense and other matrices.

    Examples
    --------
    >>> from scipy import sparse
    >>> weighted_sum([np.eye(2), sparse.csr_array(np.ones((2, 2)))], [2.0, 1.0])
    array([[3., 1.],
           [1., 3.]])
    """
    total: Any = 0.0
    for matrix, factor in zip(matrices, factors, strict=True):
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        total = total + dense.dtype.type(factor) * dense
    return np.ascontiguousarray(total)
