"""Kernels between examples, their unit-diagonal form, and checks of a given one.

Every function takes and gives real numbers: float32 input gives float32 matrices,
anything else float64. Feature matrices may be dense or CSR; kernel matrices are dense.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.metrics.pairwise import (
    check_pairwise_arrays,
    cosine_similarity,
    euclidean_distances,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)

from spanforest import _compiled

__all__ = [
    "HAVE_GAMMA",
    "KERNEL_NAMES",
    "KernelSpec",
    "check_kernel_matrix",
    "median_gamma",
    "tanimoto_kernel",
    "unit_diagonal",
]

KERNEL_NAMES = ("cosine", "linear", "poly", "precomputed", "rbf", "tanimoto")
HAVE_GAMMA = ("poly", "rbf")

FloatArray = NDArray[np.floating[Any]]

_BLOCK_CELLS = 2**18  # temporaries stay at 2 MB, whatever the matrix's size
_CALLABLE_BLOCK = 32  # rows per call when only a callable kernel's diagonal is wanted
_CHOLESKY_ROWS = 1000  # so many are looked at together: 1/3 of 10^9 operations
_SAMPLED_ROWS = 500  # of more than that: an eighth of the operations
_MEDIAN_ROWS = 1000  # half a million distances
_DISTANCE_NOISE = 1e-13  # relative to squared lengths: what rounding makes of zero
_SYMMETRY_TOL = 1e-5  # relative to the largest entry; float32 rounds at 6e-8
_SHIFT = 1e-6  # relative to the largest absolute row sum
_MINOR_TOL = 1e-3  # relative; what the shift allows 1000 nearly equal examples


def tanimoto_kernel(X: Any, Y: Any = None) -> FloatArray:
    """Tanimoto kernel: ⟨x, y⟩ / (‖x‖² + ‖y‖² - ⟨x, y⟩).

    On 0/1 vectors this is the Jaccard similarity of two sets, the usual kernel on
    molecular fingerprints. Its denominator is ½‖x‖² + ½‖y‖² + ½‖x - y‖², zero only for
    two zero vectors; they are equal, so their value is 1. It is positive semidefinite
    for any real vectors, as the sum of all powers r, r², r³, ... of the kernel
    r = ⟨x, y⟩ / (‖x‖² + ‖y‖²), for which -½ <= r <= ½.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples_X, n_features)
        The examples of the rows.
    Y : array-like or CSR matrix of shape (n_samples_Y, n_features), optional
        The examples of the columns; `X` if not given.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
        The kernel matrix, dense.

    Examples
    --------
    >>> from spanforest.kernels import tanimoto_kernel
    >>> tanimoto_kernel([[1, 1, 0], [0, 1, 0]], [[1, 1, 1], [0, 1, 0]])
    array([[0.66666667, 0.5       ],
           [0.33333333, 1.        ]])
    """
    X, Y = check_pairwise_arrays(X, Y, accept_sparse="csr")
    K = linear_kernel(X, Y)
    row_norms = _squared_norms(X)
    column_norms = row_norms if X is Y else _squared_norms(Y)
    for rows in _row_blocks(*K.shape):
        denominator = row_norms[rows, None] + column_norms - K[rows]
        both_zero = denominator == 0
        denominator[both_zero] = 1
        K[rows] /= denominator
        K[rows][both_zero] = 1
    return K


def median_gamma(X: Any) -> float:
    """Scale of the Gaussian kernel at which a usual pair of examples has value 1/e.

    This is one over the median of ‖x - y‖² over all pairs of rows. If most rows are
    equal and the median is zero, the mean takes its place; if all are, or there is only
    one, the result is 1. Of more than 1000 rows, 1000 evenly spaced ones are compared.
    Neither the unit nor the origin of the features changes a kernel with this scale.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The training examples.

    Returns
    -------
    float
        Positive.

    Examples
    --------
    >>> from spanforest.kernels import median_gamma
    >>> median_gamma([[0.0], [1.0], [3.0]])  # squared distances 1, 4 and 9
    0.25
    """
    X, _ = check_pairwise_arrays(X, None, accept_sparse="csr")
    X = X[_evenly_spaced(X.shape[0], _MEDIAN_ROWS)].astype(np.float64)
    if not issparse(X):
        X -= np.median(X, axis=0)  # differences of large numbers are not exact
    lengths = _squared_norms(X)
    pairs = np.triu_indices(len(lengths), 1)
    distances = euclidean_distances(X, squared=True)[pairs]
    noise = _DISTANCE_NOISE * lengths[np.array(pairs)].sum(axis=0)
    distances[distances <= noise + np.finfo(float).tiny] = 0.0
    if not distances.any():
        return 1.0
    return float(1.0 / (np.median(distances) or distances.mean()))


@dataclass(frozen=True)
class KernelSpec:
    """A kernel function with its parameters fixed.

    =============  =======================================================
    name           k(x, y)
    =============  =======================================================
    "linear"       ⟨x, y⟩
    "poly"         (gamma ⟨x, y⟩ + coef0)^degree
    "rbf"          exp(-gamma ‖x - y‖²)
    "cosine"       ⟨x, y⟩ / (‖x‖ ‖y‖), or 0 if either vector is zero
    "tanimoto"     see `tanimoto_kernel`
    "precomputed"  the kernel matrix itself is given in place of `X`
    a callable     `name(X, Y, **kernel_params)`, on two whole matrices
    =============  =======================================================

    Parameters
    ----------
    name : str or callable, default="linear"
        A name of the table, or a function of two matrices that returns their
        (n_samples_X, n_samples_Y) kernel matrix. Its entry (i, j) may depend on the
        two examples i and j only.
    gamma : float, optional
        Scale of "poly" and "rbf", positive. If not given, it is found in the training
        examples, which are those of the columns: `median_gamma` for "rbf",
        1 / n_features for "poly".
    degree : int, default=3
        Degree of "poly", positive.
    coef0 : float, default=1
        Constant of "poly"; not negative, or the kernel would be indefinite.
    kernel_params : mapping, optional
        Keyword arguments for a callable. The named kernels take none.

    Raises
    ------
    ValueError
        If the name is unknown, or a parameter that the kernel uses is out of range.

    Examples
    --------
    >>> from spanforest.kernels import KernelSpec
    >>> spec = KernelSpec("poly", gamma=1, degree=2)
    >>> spec.matrix([[1.0, 0.0], [1.0, 1.0]])
    array([[4., 4.],
           [4., 9.]])
    >>> spec.diagonal([[1.0, 0.0], [1.0, 1.0]])
    array([4., 9.])
    """

    name: str | Callable[..., Any] = "linear"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1
    kernel_params: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        if callable(self.name):
            # a copy: the caller's dict may change between fit and predict
            object.__setattr__(self, "kernel_params", dict(self.kernel_params or {}))
            return
        if not isinstance(self.name, str) or self.name not in KERNEL_NAMES:
            raise ValueError(
                f"Unknown kernel {self.name!r}. Pass one of "
                f"{', '.join(map(repr, KERNEL_NAMES))}, or a callable."
            )
        if self.kernel_params:
            raise ValueError(
                f"kernel_params are arguments of a callable kernel, but the kernel is "
                f"{self.name!r}, which takes none; got {dict(self.kernel_params)!r}. "
                "Set gamma, degree and coef0 as parameters of their own."
            )
        if self.name in HAVE_GAMMA:
            self._check_scale()
        if self.name == "poly":
            self._check_polynomial()

    def with_gamma(self, X: Any) -> "KernelSpec":
        """Return the kernel with the gamma that it has on training examples `X`.

        That is a number if the kernel is "poly" or "rbf", and None if it is another.
        """
        if self.name not in HAVE_GAMMA:
            return replace(self, gamma=None)
        if self.gamma is not None:
            return self
        found = median_gamma(X) if self.name == "rbf" else 1.0 / np.shape(X)[1]
        return replace(self, gamma=found)

    def matrix(self, X: Any, Y: Any = None) -> FloatArray:
        """Kernel values between all rows of `X` and all rows of `Y`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples_X, n_features)
            The examples of the rows; if precomputed, the kernel matrix itself.
        Y : array-like or CSR matrix of shape (n_samples_Y, n_features), optional
            The examples of the columns; `X` if not given. Not used if precomputed.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Y)
            The kernel matrix, dense. A precomputed matrix is not copied if it holds
            float32 or float64 already.

        Raises
        ------
        ValueError
            If a callable returns another shape, or values that are not finite numbers.
        """
        if callable(self.name):
            return self._call(self.name, X, X if Y is None else Y)
        match self.name:
            case "linear":
                return linear_kernel(X, Y)
            case "poly":
                return polynomial_kernel(
                    X, Y, gamma=self.gamma, degree=self.degree, coef0=self.coef0
                )
            case "rbf":
                gamma = self.with_gamma(X if Y is None else Y).gamma
                return rbf_kernel(X, Y, gamma=gamma)
            case "cosine":
                return cosine_similarity(X, Y)
            case "tanimoto":
                return tanimoto_kernel(X, Y)
        return _as_float(X)

    def diagonal(self, X: Any) -> FloatArray:
        """Kernel value k(x, x) of every row of `X`, without the matrix.

        A callable is evaluated on small blocks of rows. A precomputed `X` must be
        square: the kernel values of new examples with themselves are not in it.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; if precomputed, their (n_samples, n_samples) kernel matrix.

        Returns
        -------
        ndarray of shape (n_samples,)
            The diagonal of `matrix(X)`, up to rounding.

        Raises
        ------
        ValueError
            If the kernel is precomputed and `X` is not square.
        """
        if callable(self.name):
            return self._call_diagonal(self.name, X)
        if self.name == "precomputed":
            K = _as_float(X)
            _check_square(K, "a precomputed kernel matrix")
            return K.diagonal().copy()
        X, _ = check_pairwise_arrays(X, None, accept_sparse="csr")
        match self.name:
            case "linear":
                return _squared_norms(X)
            case "poly":
                gamma = 1 / X.shape[1] if self.gamma is None else self.gamma
                # float(): a NumPy scalar would turn float32 into float64
                base = float(gamma) * _squared_norms(X) + float(self.coef0)
                return base**self.degree
            case "cosine":
                return (_squared_norms(X) > 0).astype(X.dtype)
        return np.ones(X.shape[0], dtype=X.dtype)  # rbf and tanimoto

    def _check_scale(self) -> None:
        gamma = self.gamma
        if gamma is not None and not (isinstance(gamma, Real) and 0 < gamma < np.inf):
            raise ValueError(
                "gamma must be a positive number, or None for one that is found in the "
                f"training examples; got {gamma!r}."
            )

    def _check_polynomial(self) -> None:
        if not (isinstance(self.degree, Integral) and self.degree >= 1):
            raise ValueError(f"degree must be a positive integer; got {self.degree!r}.")
        if not (isinstance(self.coef0, Real) and 0 <= self.coef0 < np.inf):
            raise ValueError(
                "coef0 must be a number >= 0, or the polynomial kernel is not a kernel "
                f"(positive semidefinite); got {self.coef0!r}."
            )

    def _call(self, kernel: Callable[..., Any], X: Any, Y: Any) -> FloatArray:
        """Return a callable kernel's matrix, checked, in the precision of its input."""
        K = _as_float(kernel(X, Y, **(self.kernel_params or {})))
        expected = (_n_rows(X), _n_rows(Y))
        if K.shape != expected:
            raise ValueError(
                "The callable kernel must return one value per pair of rows, an array "
                f"of shape {expected}; it returned shape {K.shape}. It is called with "
                "two whole matrices, not with two rows."
            )
        if not np.isfinite(_largest(K)):
            raise ValueError(
                f"The callable kernel must return finite numbers; "
                f"{_first_not_finite(K)}. Check it on the two examples concerned."
            )
        single = all(getattr(Z, "dtype", None) == np.float32 for Z in (X, Y))
        return K.astype(np.float32 if single else np.float64, copy=False)

    def _call_diagonal(self, kernel: Callable[..., Any], X: Any) -> FloatArray:
        starts = range(0, _n_rows(X), _CALLABLE_BLOCK)
        blocks = [X[start : start + _CALLABLE_BLOCK] for start in starts]
        return np.concatenate([self._call(kernel, b, b).diagonal() for b in blocks])


def unit_diagonal(
    K: ArrayLike,
    row_diagonal: ArrayLike,
    column_diagonal: ArrayLike,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Kernel matrix of the same examples scaled to unit length in feature space.

    Entry (i, j) becomes k(x_i, z_j) / sqrt(k(x_i, x_i) k(z_j, z_j)). An example whose
    own kernel value is zero is the origin of feature space and cannot be scaled: its
    row or column is zero.

    Parameters
    ----------
    K : array-like of shape (n_samples_X, n_samples_Z)
        Kernel values between the examples x and z.
    row_diagonal : array-like of shape (n_samples_X,)
        Every x's kernel value with itself.
    column_diagonal : array-like of shape (n_samples_Z,)
        Every z's kernel value with itself.
    out : ndarray of the shape of `K`, optional
        Where to write the result; pass `K` itself to normalise in place.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Z)
        The normalised matrix: `out` if given, else a new array.

    Raises
    ------
    ValueError
        If the lengths do not match or a diagonal value is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.kernels import unit_diagonal
    >>> K = np.array([[4.0, 3.0, 0.0], [3.0, 9.0, 0.0], [0.0, 0.0, 0.0]])
    >>> unit_diagonal(K, K.diagonal(), K.diagonal())
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 0. ]])
    """
    K = _as_float(K)
    rows = _inverse_roots(row_diagonal, "row_diagonal")
    columns = _inverse_roots(column_diagonal, "column_diagonal")
    if K.shape != (len(rows), len(columns)):
        raise ValueError(
            f"row_diagonal and column_diagonal must hold one value per row and per "
            f"column of K; they have {len(rows)} and {len(columns)} values, K has "
            f"shape {K.shape}."
        )
    if out is None:
        out = np.empty_like(K)
    # the scaled diagonals first get K's precision: a float32 K makes no float64 copy
    np.multiply(K, rows.astype(K.dtype)[:, None], out=out)
    return np.multiply(out, columns.astype(K.dtype), out=out)


def check_kernel_matrix(K: ArrayLike, *, name: str = "K") -> FloatArray:
    """Check that a square matrix can be the kernel matrix of some examples.

    What is checked, in this order: two dimensions, as many rows as columns, finite
    values, symmetry (differences up to 1e-5 of the largest entry pass), and three
    consequences of positive semidefiniteness that cost O(n_samples²) and no second
    matrix:

    * no diagonal entry is negative;
    * no abs(K_ij) exceeds sqrt(K_ii K_jj) (every 2 x 2 minor), by more than 1e-3 of it;
    * the matrix, or the principal submatrix of 500 evenly spaced rows if it has more
      than 1000, has a Cholesky factor once 1e-6 times its largest absolute row sum is
      added to the diagonal.

    A matrix that is refused is not a kernel matrix: the allowances cover the rounding
    of matrices of any rank computed in float32. A matrix that passes has, if it has at
    most 1000 rows, no eigenvalue below minus that shift; if it is larger, nothing is
    proven beyond the rows and pairs looked at, and an indefinite matrix can pass.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        The matrix to check. It is not changed.
    name : str, default="K"
        What to call the matrix in the messages.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        The matrix as float32 or float64; not a copy if it is one of these already.

    Raises
    ------
    ValueError
        If a check fails; the message says where, by how much, and what to do.

    Examples
    --------
    >>> from spanforest.kernels import check_kernel_matrix
    >>> check_kernel_matrix([[2, 1], [1, 2]])
    array([[2., 1.],
           [1., 2.]])
    >>> check_kernel_matrix([[1, 2], [2, 1]])
    Traceback (most recent call last):
        ...
    ValueError: K must be positive semidefinite; K[0, 1] = 2 is larger ...
    """
    K = _as_float(K)
    _check_square(K, name)
    if K.size == 0:
        raise ValueError(f"{name} must have at least one row; got shape {K.shape}.")
    largest = _largest(K)
    if not np.isfinite(largest):
        raise ValueError(
            f"{name} must hold finite numbers; {_first_not_finite(K)}. Drop or impute "
            "the examples concerned."
        )
    _check_pairs(K, name, _SYMMETRY_TOL * largest)
    _check_cholesky(K, name)
    return K


def _check_square(K: FloatArray, name: str) -> None:
    if K.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, one row and one column per example; "
            f"got {K.ndim}."
        )
    n_rows, n_columns = K.shape
    if n_rows != n_columns:
        raise ValueError(
            f"{name} must be square, the kernel values between all pairs of the same "
            f"examples; got {n_rows} rows and {n_columns} columns."
        )


def _check_pairs(K: FloatArray, name: str, allowed: float) -> None:
    """Refuse an asymmetric matrix and 1 x 1 and 2 x 2 principal minors below zero."""
    diagonal = K.diagonal().astype(np.float64)
    noise = _SHIFT * float(np.abs(diagonal).max())
    lengths = np.sqrt((1 + _MINOR_TOL) * np.maximum(diagonal, 0))
    asymmetry, too_large = _compiled.worst_pairs(np.ascontiguousarray(K), lengths)
    worst, i, j = asymmetry
    if worst > allowed:
        raise ValueError(
            f"{name} must be symmetric; {name}[{i}, {j}] = {K[i, j]:.6g} but "
            f"{name}[{j}, {i}] = {K[j, i]:.6g}, the largest difference ({worst:.3g}). "
            f"Pass ({name} + {name}.T) / 2 if this is rounding, and check the order of "
            "the examples otherwise."
        )
    i = int(diagonal.argmin())
    if diagonal[i] < -noise:
        raise ValueError(
            f"{name} must be positive semidefinite; the diagonal entry {name}[{i}, {i}]"
            f" = {diagonal[i]:.6g} is negative. {_INDEFINITE_ADVICE}"
        )
    excess, i, j = too_large
    if excess > noise:
        raise ValueError(
            f"{name} must be positive semidefinite; {name}[{i}, {j}] = "
            f"{K[i, j]:.6g} is larger in size than the root of {name}[{i}, {i}] * "
            f"{name}[{j}, {j}] = {diagonal[i]:.6g} * {diagonal[j]:.6g}. "
            f"{_INDEFINITE_ADVICE}"
        )


def _check_cholesky(K: FloatArray, name: str) -> None:
    """Refuse a clearly negative eigenvalue of (a principal submatrix of) `K`."""
    n_samples = len(K)
    n_rows = n_samples if n_samples <= _CHOLESKY_ROWS else _SAMPLED_ROWS
    rows = _evenly_spaced(n_samples, n_rows)
    part = K[np.ix_(rows, rows)].astype(np.float64)
    shift = _SHIFT * float(np.abs(part).sum(axis=1).max())
    if shift == 0:
        return  # the zero matrix: semidefinite, but without a Cholesky factor
    part[np.diag_indices_from(part)] += shift
    try:
        np.linalg.cholesky(part)
    except np.linalg.LinAlgError:
        smallest, *_, largest = np.linalg.eigvalsh(part) - shift
        advice = _INDEFINITE_ADVICE
        if -smallest < 1e-3 * largest:
            advice += f" If it is rounding, add {-1.1 * smallest:.2g} to the diagonal."
        raise ValueError(
            f"{name} must be positive semidefinite; its smallest eigenvalue over "
            f"{len(rows)} of {n_samples} examples is {smallest:.3g}, the largest "
            f"is {largest:.3g}. {advice}"
        ) from None


_INDEFINITE_ADVICE = (
    "Pass a kernel matrix, not distances; turn similarities that are not a kernel into "
    "one by clipping the negative eigenvalues."
)


def _as_float(K: Any) -> FloatArray:
    """Return a dense array in float32 if it is that already, else in float64."""
    array = K.toarray() if issparse(K) else np.asarray(K)
    if np.iscomplexobj(array):
        raise ValueError(f"Kernel values must be real; got {array.dtype} values.")
    if array.dtype == np.float32:
        return array
    return array.astype(np.float64, copy=False)


def _squared_norms(X: Any) -> FloatArray:
    """‖x‖² of every row of a dense or CSR matrix."""
    if issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
    return np.einsum("ij,ij->i", X, X)


def _inverse_roots(diagonal: ArrayLike, name: str) -> FloatArray:
    """1 / sqrt(d), and 0 where d = 0."""
    values = np.asarray(diagonal, dtype=np.float64)
    if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(
            f"{name} must be one-dimensional with finite values >= 0, each the kernel "
            f"value of an example with itself; got {diagonal!r}."
        )
    roots = np.sqrt(values)
    return np.divide(1, roots, out=np.zeros_like(roots), where=roots > 0)


def _largest(K: FloatArray) -> float:
    """Largest absolute entry; not finite if any entry is not."""
    largest = 0.0
    for rows in _row_blocks(*K.shape):
        largest = float(np.abs(K[rows]).max(initial=largest))  # carries NaN along
    return largest


def _first_not_finite(K: FloatArray) -> str:
    i, j = np.argwhere(~np.isfinite(K))[0]
    return f"the entry at row {i}, column {j} is {K[i, j]}"


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _evenly_spaced(n_rows: int, most: int) -> NDArray[np.intp]:
    """All rows, or as many as are allowed, the first and the last among them."""
    return np.round(np.linspace(0, n_rows - 1, min(n_rows, most))).astype(np.intp)


def _row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of consecutive rows that hold about `_BLOCK_CELLS` entries each."""
    step = max(1, _BLOCK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, start + step)
