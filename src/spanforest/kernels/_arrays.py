"""Small tools on feature and kernel matrices, dense or CSR."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

FloatArray = NDArray[np.floating[Any]]

_BLOCK_CELLS = 2**18  # temporaries stay at 2 MB, whatever the matrix's size


def as_float(K: Any) -> FloatArray:
    """Return a dense array in float32 if it is that already, else in float64."""
    array = K.toarray() if issparse(K) else np.asarray(K)
    if np.iscomplexobj(array):
        raise ValueError(f"Kernel values must be real; got {array.dtype} values.")
    if array.dtype == np.float32:
        return array
    return array.astype(np.float64, copy=False)


def squared_norms(X: Any) -> FloatArray:
    """Return ‖x‖² of every row of a dense or CSR matrix."""
    if issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
    return np.einsum("ij,ij->i", X, X)


def is_zero(X: Any) -> NDArray[np.bool_]:
    """Return which rows count as zero vectors, for every kernel.

    Those are the rows whose squared length is below the smallest normal number of
    their type: it has lost digits, or all of them.
    """
    return squared_norms(X) < np.finfo(X.dtype).tiny


def unit_rows(X: Any) -> Any:
    """Scale every row of a dense or CSR matrix to unit length; zero vectors to 0.

    Examples
    --------
    >>> from spanforest.kernels import unit_rows
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.sqrt(squared_norms(X))
    lengths[is_zero(X)] = np.inf
    if not issparse(X):
        return X / lengths[:, None]
    scaled = X.copy()
    scaled.data /= np.repeat(lengths, np.diff(X.indptr))
    return scaled


def largest_entry(K: FloatArray) -> float:
    """Return the largest absolute entry; not finite if any entry is not."""
    largest = 0.0
    for rows in row_blocks(*K.shape):
        largest = float(np.abs(K[rows]).max(initial=largest))  # carries NaN along
    return largest


def first_not_finite(K: FloatArray) -> str:
    """Say in words which entry is the first that is not finite."""
    i, j = np.argwhere(~np.isfinite(K))[0]
    return f"the entry at row {i}, column {j} is {K[i, j]}"


def n_rows_of(X: Any) -> int:
    """Return the number of examples of an array, a sparse matrix or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def evenly_spaced(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return all rows, or `most` evenly spaced ones with the first and the last."""
    return np.round(np.linspace(0, n_rows - 1, min(n_rows, most))).astype(np.intp)


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of consecutive rows that hold about `_BLOCK_CELLS` entries each."""
    step = max(1, _BLOCK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, start + step)
