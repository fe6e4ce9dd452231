"""The inputs of a method on one fold: kernel matrices, features and labels.

Whatever learns from data (scaling, TF-IDF) is fitted to the training set alone.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils.extmath import safe_sparse_dot

from spanforest.datasets import Dataset
from spanforest.kernels import tanimoto_kernel

_N_BASIS = 300  # number of examples on which a kernel is projected


class TrainTest(NamedTuple):
    """One kind of input, for the training set and for the test set."""

    train: Any
    test: Any


class FoldInputs:
    """The rows `train` and `test` of a data set, prepared for any method.

    With `scaling` "unit" features that are not words are scaled to [0, 1], as in the
    paper; with "standard" to mean 0 and variance 1; with "none" all stay as they are.
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
        self.Y = TrainTest(dataset.Y[train], dataset.Y[test])
        self.label_names = dataset.label_names

    def inner_fold(
        self, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> "FoldInputs":
        """Split the training set again; `train` and `test` are positions in it."""
        rows = self._train
        return FoldInputs(self._dataset, rows[train], rows[test], self._scaling)

    @cached_property
    def features(self) -> TrainTest:
        """Scaled features, or the rows of the kernel matrix if there are none."""
        X = self._dataset.X
        if X is None:
            return self.kernel()
        scaler = _scaler(self._dataset, self._scaling).fit(X[self._train])
        return TrainTest(
            scaler.transform(X[self._train]), scaler.transform(X[self._test])
        )

    @property
    def as_they_are(self) -> TrainTest:
        """Features that are not scaled, for methods that scale them."""
        raw = FoldInputs(self._dataset, self._train, self._test, "none")
        return raw.features

    @property
    def own_kernel_name(self) -> str:
        """How a classifier that computes kernels is told of the data set's own one."""
        return "precomputed" if self._dataset.X is None else self._dataset.kernel

    @property
    def is_linear(self) -> bool:
        """Whether the kernel is the inner product of features."""
        return self._dataset.X is not None and self._dataset.kernel == "linear"

    @cached_property
    def unit_features(self) -> TrainTest:
        """Features scaled to unit length; `kernel()` has their inner products."""
        normalizer = Normalizer()
        return TrainTest(*(normalizer.transform(X) for X in self.features))

    def kernel(self, width: float | None = None) -> TrainTest:
        """Return kernel matrices with a unit diagonal: train x train and test x train.

        One exception: if scaling makes all features of an example zero, its diagonal
        entry in a linear kernel is zero too.

        Without a `width` it is the data set's own kernel: linear, Tanimoto, or the
        given matrix. Otherwise it is a Gaussian of its distances: squared distances are
        divided by half their mean over the training set, times `width`.
        """
        if width is None:
            return self._own_kernel
        distances = self._distances
        scale = width * distances.train.mean() / 2 or 1.0
        return TrainTest(*(np.exp(-squared / scale) for squared in distances))

    def explicit_features(self, width: float | None = None) -> TrainTest:
        """Return features whose inner products are a kernel, for methods without one.

        A linear kernel gives `unit_features`. Any other kernel is projected on 300
        training examples (Nystroem's method), which is exact if there are no more.
        """
        if width is None and self.is_linear:
            return self.unit_features
        kernel = self.kernel(width)
        drawn = np.random.default_rng(0).permutation(len(kernel.train))
        basis = np.sort(drawn[:_N_BASIS])
        # not scikit-learn's Nystroem: it takes a kernel matrix only with all examples
        values, vectors = np.linalg.eigh(kernel.train[np.ix_(basis, basis)])
        kept = values > 1e-10 * values[-1]  # the others are noise
        projection = vectors[:, kept] / np.sqrt(values[kept])
        return TrainTest(*(K[:, basis] @ projection for K in kernel))

    @cached_property
    def _own_kernel(self) -> TrainTest:
        if self._dataset.K is not None:
            K = self._dataset.K
            lengths = np.sqrt(np.diagonal(K))
            K = K / np.outer(lengths, lengths)
            rows_of_both = (self._train, self._test)
            return TrainTest(*(K[np.ix_(rows, self._train)] for rows in rows_of_both))
        if self._dataset.kernel == "tanimoto":
            bits = self.features
            return TrainTest(*(tanimoto_kernel(X, bits.train) for X in bits))
        return _products(self.unit_features)

    @cached_property
    def _distances(self) -> TrainTest:
        """Squared distances; between standardised features, not between unit ones."""
        if not self.is_linear or self._dataset.is_text:
            return TrainTest(*(np.maximum(2.0 - 2.0 * K, 0.0) for K in self.kernel()))
        lengths = [_squares(X) for X in self.features]
        pairs = zip(lengths, _products(self.features), strict=True)
        squares = (own[:, None] + lengths[0] - 2.0 * product for own, product in pairs)
        return TrainTest(*(np.maximum(squared, 0.0) for squared in squares))


def _scaler(dataset: Dataset, scaling: str) -> Any:
    """Set up the scaler for the features of a data set."""
    if dataset.kernel == "tanimoto":  # bits
        return FunctionTransformer()
    if dataset.is_text and scaling != "none":
        return TfidfTransformer()
    if sparse.issparse(dataset.X):
        # it keeps zeros
        return FunctionTransformer() if scaling == "none" else MaxAbsScaler()
    scaler = _SCALERS[scaling]()
    nominal = dataset.nominal_features
    if nominal is None or not np.any(nominal):
        return scaler
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (one_hot, np.flatnonzero(nominal)), (scaler, np.flatnonzero(~nominal))
    )


class _UnitScaler(MinMaxScaler):
    """Scale features to [0, 1]; a constant feature becomes 1, unless it is 0.

    The third coordinate of the Circle data is constant, gives a linear model its
    intercept, and must survive. A feature that is 0 in all training examples stays 0.
    """

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Scale the features."""
        scaled = super().transform(X)
        constant = self.data_range_ == 0
        scaled[:, constant] = self.data_min_[constant] != 0
        return scaled


_SCALERS = {
    "unit": _UnitScaler,
    "standard": StandardScaler,
    "none": FunctionTransformer,
}


def _products(features: TrainTest) -> TrainTest:
    """Return the inner products with the training set as dense matrices."""
    train = features.train
    return TrainTest(
        *(safe_sparse_dot(X, train.T, dense_output=True) for X in features)
    )


def _squares(X: Any) -> NDArray[np.float64]:
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    return np.asarray(squares.sum(axis=1)).ravel()
