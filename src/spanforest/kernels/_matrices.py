"""Kernel matrices that are given: their unit-diagonal form, and checks of them."""

import numpy as np
from numpy.typing import ArrayLike

from spanforest import _compiled
from spanforest._wording import quoted
from spanforest.kernels._arrays import (
    FloatArray,
    as_float,
    evenly_spaced,
    first_not_finite,
    largest_entry,
)

_CHOLESKY_ROWS = 1000  # up to so many rows are checked together: 1/3 of 10^9 operations
_SAMPLED_ROWS = 500  # of more rows: an eighth of the operations
_SYMMETRY_TOL = 1e-5  # relative to the largest entry; float32 rounds at 6e-8
_SHIFT = 1e-6  # relative to the largest absolute row sum
_MINOR_TOL = 1e-3  # relative; the shift allows this for 1000 nearly equal examples


def unit_diagonal(
    K: ArrayLike,
    row_diagonal: ArrayLike,
    column_diagonal: ArrayLike,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Scale the examples of a kernel matrix to unit length in feature space.

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
    K = as_float(K)
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
    K = as_float(K)
    check_square(K, name)
    if K.size == 0:
        raise ValueError(f"{name} must have at least one row; got shape {K.shape}.")
    largest = largest_entry(K)
    if not np.isfinite(largest):
        raise ValueError(
            f"{name} must hold finite numbers; {first_not_finite(K)}. Drop or impute "
            "the examples concerned."
        )
    _check_pairs(K, name, _SYMMETRY_TOL * largest)
    _check_cholesky(K, name)
    return K


def check_square(K: FloatArray, name: str) -> None:
    """Refuse an array that is not a square matrix; `name` is what to call it."""
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
    asymmetry, too_large = _compiled.worst_pairs(_compiled.read_only(K), lengths)
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
    rows = evenly_spaced(n_samples, n_rows)
    block = K[np.ix_(rows, rows)].astype(np.float64)
    shift = _SHIFT * float(np.abs(block).sum(axis=1).max())
    if shift == 0:
        return  # the zero matrix: semidefinite, but without a Cholesky factor
    block[np.diag_indices_from(block)] += shift
    try:
        np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        smallest, *_, largest = np.linalg.eigvalsh(block) - shift
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


def _inverse_roots(diagonal: ArrayLike, name: str) -> FloatArray:
    """Return 1 / sqrt(d), and 0 where d = 0."""
    values = np.asarray(diagonal, dtype=np.float64)
    if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(
            f"{name} must be one-dimensional with finite values >= 0, each the kernel "
            f"value of an example with itself; got {quoted(diagonal)}."
        )
    roots = np.sqrt(values)
    return np.divide(1, roots, out=np.zeros_like(roots), where=roots > 0)
