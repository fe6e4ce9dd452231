"""What a method is given of one fold: kernel matrices, features and labels.

Whatever learns from data (scaling, TF-IDF) is fitted to the training part alone.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)

from spanforest.datasets import Dataset
from spanforest.kernels import tanimoto_kernel

_N_BASIS = 300  # examples that a kernel is projected on


class Parts(NamedTuple):
    """The same kind of input for the two parts of a fold."""

    train: Any
    test: Any


class _Stacked(NamedTuple):
    width: float | None
    values: NDArray[np.float64]


class Fold:
    """The training and test part of a data set, prepared for any method.

    Parameters
    ----------
    dataset : Dataset
        Features or a kernel matrix, and labels.
    train, test : ndarray of int
        Rows of the two parts.
    scaling : {"unit", "standard"}, default="unit"
        Features that are not words are scaled to [0, 1], as in the paper, or to mean 0
        and variance 1.
    """

    def __init__(
        self,
        dataset: Dataset,
        train: NDArray[np.intp],
        test: NDArray[np.intp],
        scaling: str = "unit",
    ):
        self._dataset = dataset
        self._train, self._test = train, test
        self._scaling = scaling
        self.Y = Parts(dataset.Y[train], dataset.Y[test])
        self.label_names = dataset.label_names
        self._stacked: _Stacked | None = None

    def part(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> "Fold":
        """Split the training part again; `train` and `test` count its rows."""
        rows = self._train
        return Fold(self._dataset, rows[train], rows[test], self._scaling)

    @cached_property
    def features(self) -> Parts:
        """Scaled features, or the rows of the kernel matrix if there are none."""
        X = self._dataset.X
        if X is None:
            return self.kernel()
        scaler = _scaler(self._dataset, self._scaling).fit(X[self._train])
        return Parts(scaler.transform(X[self._train]), scaler.transform(X[self._test]))

    @property
    def is_linear(self) -> bool:
        """Whether the kernel is the inner product of features."""
        return self._dataset.X is not None and self._dataset.kernel == "linear"

    @cached_property
    def unit_features(self) -> Parts:
        """Features scaled to unit length; `kernel()` has their inner products."""
        normalizer = Normalizer()
        return Parts(*(normalizer.transform(X) for X in self.features))

    def kernel(self, width: float | None = None) -> Parts:
        """Give kernel matrices with a unit diagonal: train x train and test x train.

        Only where scaling has made all features of an example zero is its entry of
        a linear kernel zero too.

        Parameters
        ----------
        width : float, optional
            None for the data set's own kernel: linear, Tanimoto, or as it came.
            Otherwise a Gaussian of its distances, whose squares are divided by
            `width` times their mean over the training part, halved.
        """
        if width is None:
            return self._own_kernel
        distances = self._distances
        scale = width * distances.train.mean() / 2 or 1.0
        return Parts(*(np.exp(-D / scale) for D in distances))

    def stacked_kernel(self, width: float | None) -> NDArray[np.float64]:
        """Give the kernel of all examples with the training part, which comes first.

        Only the one that was asked for last is kept: a search goes from width to width.
        """
        if self._stacked is None or self._stacked.width != width:
            self._stacked = None  # free the last one before there is another
            self._stacked = _Stacked(width, np.vstack(self.kernel(width)))
        return self._stacked.values

    @property
    def numbers(self) -> Parts:
        """The examples as what a `FoldKernel` calls them, training part first."""
        n_train = len(self._train)
        everyone = np.arange(n_train + len(self._test), dtype=np.float64)[:, None]
        return Parts(everyone[:n_train], everyone[n_train:])

    def explicit_features(self, width: float | None = None) -> Parts:
        """Give features for methods without kernels, with the same choice of kernels.

        Parameters
        ----------
        width : float, optional
            None for `unit_features` where the kernel is linear. Any other kernel is
            projected on 300 training examples (Nystroem's method): inner products of
            the features are the kernel if there are no more than that.
        """
        if width is None and self.is_linear:
            return self.unit_features
        kernel = self.kernel(width)
        n_train = len(kernel.train)
        drawn = np.random.default_rng(0).permutation(n_train)
        basis = np.sort(drawn[:_N_BASIS])
        # not scikit-learn's Nystroem: it takes a kernel matrix only with all examples
        values, vectors = np.linalg.eigh(kernel.train[np.ix_(basis, basis)])
        kept = values > 1e-10 * values[-1]  # the others are rounding
        projection = vectors[:, kept] / np.sqrt(values[kept])
        return Parts(*(K[:, basis] @ projection for K in kernel))

    @cached_property
    def _own_kernel(self) -> Parts:
        if self._dataset.K is not None:
            K = self._dataset.K
            lengths = np.sqrt(np.diagonal(K))
            K = K / np.outer(lengths, lengths)
            parts = (self._train, self._test)
            return Parts(*(K[np.ix_(rows, self._train)] for rows in parts))
        if self._dataset.kernel == "tanimoto":
            bits = self.features
            return Parts(*(tanimoto_kernel(X, bits.train) for X in bits))
        return _products(self.unit_features)

    @cached_property
    def _distances(self) -> Parts:
        """Squared distances; of standardised features, not of unit ones."""
        if not self.is_linear or self._dataset.is_text:
            return Parts(*(np.maximum(2.0 - 2.0 * K, 0.0) for K in self.kernel()))
        lengths = [_squares(X) for X in self.features]
        return Parts(
            *(
                np.maximum(length[:, None] + lengths[0] - 2.0 * product, 0.0)
                for length, product in zip(
                    lengths, _products(self.features), strict=True
                )
            )
        )


class FoldKernel:
    """A kernel of a fold as a function, of examples that are given by their numbers.

    So a classifier that computes its kernels itself can use those of a fold, whatever
    they were made from.

    Parameters
    ----------
    fold : Fold
        Whose examples they are. It computes the kernel when it is first needed.
    width : float or None
        As for `Fold.kernel`.
    """

    def __init__(self, fold: Fold, width: float | None):
        self.width = width
        self._fold = fold

    def __call__(self, some: NDArray, training: NDArray) -> NDArray[np.float64]:
        """Give the kernel of some examples with some of the training part."""
        rows, columns = (X[:, 0].astype(np.intp) for X in (some, training))
        return self._fold.stacked_kernel(self.width)[np.ix_(rows, columns)]

    def __deepcopy__(self, memo: dict[int, Any]) -> "FoldKernel":
        return self  # clones of a classifier share the data; nothing here is changed


def _scaler(dataset: Dataset, scaling: str) -> Any:
    """Set up what the features of a data set need."""
    if dataset.kernel == "tanimoto":  # bits
        return FunctionTransformer()
    if dataset.is_text:
        return TfidfTransformer()
    if sparse.issparse(dataset.X):
        return MaxAbsScaler()  # keeps zeros
    if scaling == "standard":
        return StandardScaler()
    return _UnitScaler()


class _UnitScaler(MinMaxScaler):
    """Scale features to [0, 1]; one that is constant becomes 1, unless it is 0.

    The third coordinate of the Circle data is there to give a linear model an
    intercept, and has to survive. A feature that no training example has must not
    become one that all have.
    """

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Scale the features."""
        scaled = super().transform(X)
        constant = self.data_range_ == 0
        scaled[:, constant] = self.data_min_[constant] != 0
        return scaled


def _products(features: Parts) -> Parts:
    """Inner products with the training part, dense."""
    products = (X @ features.train.T for X in features)
    return Parts(*(P.toarray() if sparse.issparse(P) else P for P in products))


def _squares(X: Any) -> NDArray[np.float64]:
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    return np.asarray(squares.sum(axis=1)).ravel()
