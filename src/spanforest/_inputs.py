"""Kinds of input: linear features, kernels of features, precomputed kernel matrices.

A kind of input is chosen once, in `_input_kinds`. Its `fit` learns from the training
examples and returns their *basis*, which gives the solver its form and can be split
into folds. Its `rows` turns new examples into what a model's weights are multiplied by:

    scores = rows @ weights + intercept

A kernel that is itself fitted to the examples and their labels is one more kind, in
`_forest_input`: the basis that its `fit` returns fits the kernel again in every fold.
Several kernels together are kinds of their own, in `_several_inputs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from spanforest._category_columns import CategoryColumns
from spanforest._copies import Copies
from spanforest._feature_contributions import linear_contributions
from spanforest._kernel_rows import (
    LARGEST_SINGLE,
    SINGLE_SUFFICES,
    Indices,
    KernelFunction,
    KernelRows,
    room_for,
)
from spanforest._scaling import Rule, Scaling, check_scaling, rule_for
from spanforest._wording import count, quoted
from spanforest.factors import Coordinates
from spanforest.kernels import (
    KernelSpec,
    check_kernel_matrix,
    unit_rows,
)
from spanforest.solver import Form, KernelForm, linear_form

LARGEST_COPY = 2**30  # bytes
LARGEST_MATRIX = 2**31  # bytes; rows of a larger kernel are computed when needed
OF_FUNCTION = (
    "A kernel that is a function needs the whole matrix. Choose a kernel with a name, "
    "of which large matrices are not kept, or learn from fewer examples."
)
OF_NAME = (
    'Learn from fewer examples, or choose kernel="linear", "cosine" or "forest", which '
    "need no matrix."
)


class Basis(Protocol):
    """The training examples, as the solver sees them.

    A basis is a named tuple of arrays: so its arrays can be sent to workers once.
    """

    def form(self, coordinates: Coordinates, fit_intercept: bool) -> Form:
        """Return the solver's form of these examples."""

    def fold(
        self, train: Indices, test: Indices, sample_weight: Any = None
    ) -> tuple[Basis, Any]:
        """Return the basis of the rows `train`, and the `rows` of the others.

        `sample_weight` holds the weights of the rows `train`.
        """

    def in_single_precision(self) -> Basis:
        """Return a basis of half the size where the precision is of no use."""

    def prepared(self, tol: float) -> Basis:
        """Add what makes training to this tolerance faster, once for all members."""


class Features(NamedTuple):
    """Features of a linear or cosine kernel, dense or CSR; weights have a row for each.

    Scaling can be learned again from scaled features, but not from rows of unit length.
    So rows get unit length in the last step.
    """

    X: Any
    rule: Rule | None = None  # of the scaling that X has; folds learn it again
    has_unit_length: bool = False  # whether rows are then scaled to unit length

    @property
    def rows(self) -> Any:
        """The features that weights belong to."""
        return unit_rows(self.X) if self.has_unit_length else self.X

    def form(self, coordinates: Coordinates, fit_intercept: bool) -> Form:
        """Return the solver's form of these examples."""
        return linear_form(self.rows, coordinates, fit_intercept)

    def fold(
        self, train: Indices, test: Indices, sample_weight: Any = None
    ) -> tuple[Features, Any]:
        """Return the features of the rows `train`, and those of the others.

        Their scaling is learned from the rows `train` alone. It is the same whether it
        is learned from the features or, as here, from features scaled before.
        """
        inside, outside = self.X[train], self.X[test]
        if self.rule is not None:
            scaling = self.rule.learn(inside, sample_weight)
            inside, outside = scaling.apply(inside), scaling.apply(outside)
        has_unit_length = self.has_unit_length
        others = Features(outside, has_unit_length=has_unit_length)
        return Features(inside, has_unit_length=has_unit_length), others.rows

    def in_single_precision(self) -> Features:
        """Return the features as they are."""
        return self

    def prepared(self, tol: float) -> Features:
        """Return the features as they are: they are ready for training."""
        return self


class KernelMatrix(NamedTuple):
    """A kernel matrix of the training examples; weights have a row per example."""

    K: NDArray[np.floating]
    single: NDArray[np.float32] | None = None  # a copy of K, for products in training

    def matrix(self) -> NDArray[np.floating]:
        """Return the kernel matrix."""
        return self.K

    def form(self, coordinates: Coordinates, fit_intercept: bool) -> Form:
        """Return the solver's form of these examples."""
        return KernelForm(self.K, coordinates, fit_intercept, self.single)

    def fold(
        self, train: Indices, test: Indices, sample_weight: Any = None
    ) -> tuple[KernelMatrix, NDArray[np.floating]]:
        """Slice the matrix: the kernel is not computed again."""
        return KernelMatrix(self.K[np.ix_(train, train)]), self.K[np.ix_(test, train)]

    @property
    def _fits_single(self) -> bool:
        # no entry exceeds the largest on the diagonal
        return float(self.K.diagonal().max()) < LARGEST_SINGLE

    def in_single_precision(self) -> KernelMatrix:
        """Return the matrix in float32, unless its values are too large for that."""
        if not self._fits_single:
            return self
        return KernelMatrix(self.K.astype(np.float32, copy=False))

    def prepared(self, tol: float) -> KernelMatrix:
        """Add a copy in single precision where that makes training faster.

        Training spends half of its time reading the matrix. The certificate always
        multiplies by the matrix itself.
        """
        is_double = self.K.dtype == np.float64
        if not is_double or tol < SINGLE_SUFFICES or self.K.nbytes > 2 * LARGEST_COPY:
            return self  # the copy is half as large as K
        if not self._fits_single:
            return self
        return self._replace(single=self.K.astype(np.float32))


class Resources(NamedTuple):
    """What `fit` may use beside the data."""

    random_state: Any = None
    n_jobs: int | None = None  # threads; they change no result
    place: tuple[int, ...] = ()  # in lists and sums: each forest has seeds of its own

    def at(self, number: int) -> Resources:
        """Return the resources of one of several kernels."""
        return self._replace(place=(*self.place, number))


class Input(ABC):
    """A kind of input, with the kernel's parameters and what it learned in `fit`."""

    is_pairwise: ClassVar[bool] = False  # X is a kernel matrix
    is_fitted_per_fold: ClassVar[bool] = False  # a basis `for_folds` is not fitted
    accepts_nan: bool = False
    weights_name: ClassVar[str] = "dual_coef_"  # the estimators' attribute
    rule: Rule | None = None  # of the scaling
    scaling: Scaling | None = None  # None: the features stay as they are
    columns: CategoryColumns | None = None  # of categories, if X has any
    copies: Copies | None = None  # of training examples; None if all differ

    def __init__(
        self, spec: KernelSpec, normalize: bool, resources: Resources | None = None
    ) -> None:
        self.spec = spec
        self.normalize = normalize
        self._resources = resources or Resources()

    def __getstate__(self) -> dict[str, Any]:
        # of no use after `fit`; and not every file can hold a random state
        only_in_fit = ("_resources", "copies")
        return {
            name: value for name, value in vars(self).items() if name not in only_in_fit
        }

    def has_categories(self, X: Any, *, reset: bool) -> bool:
        """Return whether columns of X hold categories, which `numbers` then replaces.

        With `reset`, X are the training examples: columns and categories are learned.
        """
        return False

    def numbers(self, X: Any) -> NDArray[np.float64]:
        """Return the user's X with numbers in place of categories; here X."""
        return X

    def refuse_gaps(self, X: Any) -> NoReturn:
        """Raise the error about an X with NaN, if the kernel does not accept it."""
        kernels = [given.spec.name for given in self.singles if not given.accepts_nan]
        where = " in a dense X" if sparse.issparse(X) else ""
        raise ValueError(
            f"Input X contains NaN, and the kernel {quoted(kernels[0])} needs a number "
            f'for every feature. Choose kernel="forest", which accepts NaN{where}, or '
            "fill the gaps first, for example with sklearn.impute.SimpleImputer."
        ) from None

    def check(self, X: Any) -> None:  # noqa: B027
        """Refuse training examples that this kind of input cannot learn from."""

    def learn_scaling(
        self, name: str | None, X: Any, sample_weight: Any = None
    ) -> None:
        """Learn the scaling of features from the training examples, before `fit`.

        Here it only checks the name: kernel matrices, and features of kinds that do not
        say otherwise, stay as they are.
        """
        check_scaling(name)

    @abstractmethod
    def fit(self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None) -> Basis:
        """Learn from the training examples and return their basis.

        Parameters
        ----------
        X : ndarray or CSR matrix
            The examples, checked by scikit-learn.
        Y : ndarray of shape (n_samples, n_labels)
            Codes of their labels, -1 where not observed; for kernels that are fitted.
        sample_weight : ndarray of shape (n_samples,), optional
            Weights of the examples, all positive.
        """

    def for_folds(
        self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None
    ) -> Basis:
        """Return a basis of which only folds are used; here the same as `fit`."""
        return self.fit(X, Y, sample_weight)

    def select(self, X: Any, rows: Indices) -> Any:
        """Return the training examples that count, before `fit` sees them."""
        return X[rows]

    def tell_apart(self, copies: Copies) -> None:
        """Have weights for every training example, after `fit` saw each once."""
        self.copies = copies

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes that the estimator shows to users after `fit`."""
        return {"gamma_": self.spec.gamma, "kernel_": self.spec.name}

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """Return what weights are multiplied by, one row per new example."""

    def row_size(self, n_weights: int) -> int:
        """Return how many numbers `rows` keeps per example, for so many weights."""
        return n_weights

    def weights_of_rows(
        self, weights: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Turn weights learned on the basis into those that multiply `rows`."""
        if self.copies is not None:
            weights = self.copies.shared_out(weights)
        return weights, intercept

    @property
    def n_kernels(self) -> int:
        """Number of kernels that the members of an ensemble take in turn."""
        return 1

    @property
    def singles(self) -> list[Input]:
        """The inputs of the single kernels inside; here itself."""
        return [self]

    def of_member(self, t: int) -> Input:
        """Return the input of member t of an ensemble; here all share this one."""
        return self

    def feature_contributions(
        self, X: Any, weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return what features contribute to ``rows(X) @ weights`` of one example.

        The shape is (n_features, n_columns of weights). None if the kernel compares
        whole examples, so that single features contribute nothing of their own.
        """
        return None


class _ScaledInput(Input):
    """A kind of input whose features are scaled; categories become indicators."""

    def has_categories(self, X: Any, *, reset: bool) -> bool:
        """Return whether columns of X hold categories; `reset` learns them."""
        if reset:
            self.columns = CategoryColumns.of(X, None)
        return self.columns is not None

    def numbers(self, X: Any) -> NDArray[np.float64]:
        """Return the user's X with indicators in place of categories."""
        return X if self.columns is None else self.columns.indicators(X)

    def learn_scaling(
        self, name: str | None, X: Any, sample_weight: Any = None
    ) -> None:
        """Learn the scaling of features from the training examples, before `fit`."""
        check_size(X)
        self.rule = rule_for(name, self.spec.name, X, sample_weight)
        if self.rule is not None:
            self.scaling = self.rule.learn(X, sample_weight)

    def scaled(self, X: Any) -> Any:
        """Return the features, checked and scaled."""
        check_size(X)
        if self.scaling is None:
            return X
        scaled = self.scaling.apply(X)
        check_size(scaled)  # new examples may lie far outside of the training examples
        return scaled


class LinearInput(_ScaledInput):
    """Features of the linear or the cosine kernel, for which no matrix is made.

    Weights belong to the features as users have them, so that new examples need no
    scaling. Unit length is no such change of weights: with it, weights belong to rows
    that are scaled first. The cosine kernel is the linear one of rows of unit length.
    """

    weights_name = "cell_coef_"

    @property
    def has_unit_length(self) -> bool:
        """Whether rows are scaled to unit length."""
        return self.normalize or self.spec.name == "cosine"

    def fit(self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None) -> Features:
        """Check the features and scale them."""
        self.spec = self.spec.with_gamma(X)  # None: this kernel has no gamma
        return Features(self.scaled(X), self.rule, self.has_unit_length)

    def tell_apart(self, copies: Copies) -> None:
        """Do nothing: weights belong to features."""

    def rows(self, X: Any) -> Any:
        """Return the features, scaled to unit length if that is asked for."""
        if self.has_unit_length:
            return unit_rows(self.scaled(X))
        check_size(X)
        return X

    def weights_of_rows(
        self, weights: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Turn weights of scaled features into weights of features."""
        if self.has_unit_length or self.scaling is None:
            return weights, intercept
        return self.scaling.unscaled(weights, intercept)

    def feature_contributions(
        self, X: Any, weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what features contribute: nothing where they have their centre."""
        row = self.rows(X)
        row = row.toarray()[0] if sparse.issparse(row) else row[0]
        if self.scaling is None or self.has_unit_length:
            return linear_contributions(row, 0.0, weights)
        return linear_contributions(row, self.scaling.centre, weights)


class KernelInput(_ScaledInput):
    """Features that are compared by a kernel function.

    The scaling is learned once from all training examples, without labels. Folds slice
    the kernel matrix and so share it.
    """

    X_fit: Any

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes that the estimator shows to users after `fit`."""
        return {**super().attributes, "X_fit_": self.X_fit}

    def fit(self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None) -> Basis:
        """Keep the examples, derive the kernel's scale, and compute the matrix.

        A matrix that would be larger than LARGEST_MATRIX is not computed. Functions of
        users are an exception: only a whole matrix can be checked.
        """
        n = X.shape[0]
        is_small = n**2 * X.dtype.itemsize <= LARGEST_MATRIX
        if is_small or self.spec.is_callable:
            advice = OF_FUNCTION if self.spec.is_callable else OF_NAME
            with room_for(n, n, X.dtype, advice):
                return self._fit_matrix(X, sample_weight)
        self._keep(X, sample_weight)
        return KernelRows.of(self._function, self.scaled(self.X_fit))

    def _fit_matrix(self, X: Any, sample_weight: Any) -> KernelMatrix:
        self._keep(X, sample_weight)
        K = self.rows(self.X_fit)
        if self.spec.is_callable:
            check_kernel_matrix(K)
        return KernelMatrix(np.ascontiguousarray(K))

    def _keep(self, X: Any, sample_weight: Any) -> None:
        self.spec = self.spec.with_gamma(self.scaled(X), sample_weight)
        self.X_fit = X.copy()  # or predictions would change with the caller's array

    def tell_apart(self, copies: Copies) -> None:
        """Compare new examples with every training example, copies included."""
        super().tell_apart(copies)
        self.X_fit = self.X_fit[copies.place]

    def rows(self, X: Any) -> NDArray[np.floating]:
        """Return the kernel values between new and training examples."""
        shape = X.shape[0], self.X_fit.shape[0]
        with room_for(*shape, X.dtype, "Pass fewer rows of X at once."):
            X_fit = self.scaled(self.X_fit)
            return self._function(X_fit if X is self.X_fit else self.scaled(X), X_fit)

    def feature_contributions(
        self, X: Any, weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return what features contribute with a linear or cosine kernel; else None.

        That is a kernel of a sum: alone it needs no matrix. Its values times weights of
        examples are the features times weights of features.
        Features contribute nothing where they have their centre.
        """
        if self.spec.name not in ("linear", "cosine"):
            return None
        row, examples = self.scaled(X), self.scaled(self.X_fit)
        if self.normalize or self.spec.name == "cosine":
            row, examples = unit_rows(row), unit_rows(examples)
        row = row.toarray()[0] if sparse.issparse(row) else row[0]
        return linear_contributions(row, 0.0, examples.T @ weights)

    @property
    def _function(self) -> KernelFunction:
        return KernelFunction(self.spec, self.normalize)


class PrecomputedInput(Input):
    """A kernel matrix that is given in place of features."""

    is_pairwise = True
    counted: Indices | None = None  # the training examples that count; None if all do

    def refuse_gaps(self, X: Any) -> NoReturn:
        """Raise the error about a kernel matrix with NaN."""
        gaps = np.argwhere(np.isnan(check_array(X, ensure_all_finite=False)))
        i, j = gaps[0].tolist()
        first = ", the first" if len(gaps) > 1 else ""
        raise ValueError(
            f"Input X contains NaN: the kernel matrix has {count(len(gaps), 'gap')}"
            f"{first} at row {i}, column {j}. It needs a number for every pair of "
            "examples. Compute these values, or leave such an example out: its row, "
            "and its column too if it is a training example."
        ) from None

    def select(self, X: Any, rows: Indices) -> Any:
        """Return the kernel values of the training examples that count."""
        self.counted = rows
        return X[np.ix_(rows, rows)]

    def fit(
        self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None
    ) -> KernelMatrix:
        """Check the matrix."""
        self.spec = self.spec.with_gamma(X)  # None: this kernel has no gamma
        K = check_kernel_matrix(self.spec.matrix(X))
        # `predict` never sees k(x, x) of new examples
        if self.normalize and not np.allclose(K.diagonal(), 1.0, atol=1e-5):
            raise ValueError(
                "normalize_kernel=True cannot be used with this precomputed kernel: "
                "its diagonal is not 1, and predict never sees k(x, x) of new "
                "examples. Normalise both matrices with "
                "spanforest.kernels.unit_diagonal first."
            )
        return KernelMatrix(np.ascontiguousarray(K))

    def rows(self, X: Any) -> NDArray[np.floating]:
        """Return the kernel values with the training examples that count."""
        K = self.spec.matrix(X)
        return K if self.counted is None else K[:, self.counted]


def check_size(X: Any) -> None:
    """Refuse features whose squares overflow."""
    values = X.data if sparse.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    limit = np.sqrt(np.finfo(values.dtype).max / X.shape[1]) / 1e3
    if largest > limit:
        raise ValueError(
            f"X has values up to {largest:.2g}, whose squares overflow or lose all "
            "precision. Divide them first, for example with "
            "sklearn.preprocessing.MaxAbsScaler."
        )
