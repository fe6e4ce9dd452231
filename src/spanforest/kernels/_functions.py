"""Kernel functions, and scales that are derived from the training examples."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import squareform
from sklearn.metrics.pairwise import (
    check_pairwise_arrays,
    euclidean_distances,
    linear_kernel,
    manhattan_distances,
    rbf_kernel,
)

from spanforest.kernels._arrays import (
    FloatArray,
    evenly_spaced,
    is_zero,
    row_blocks,
    squared_norms,
    unit_rows,
)

_MEDIAN_ROWS = 1000  # half a million distances
_DISTANCE_NOISE = 1e-13  # relative to squared lengths; rounding leaves this much of 0


def tanimoto_kernel(X: Any, Y: Any = None) -> FloatArray:
    """Return the Tanimoto kernel ⟨x, y⟩ / (‖x‖² + ‖y‖² - ⟨x, y⟩).

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
    row_norms = squared_norms(X)
    column_norms = row_norms if X is Y else squared_norms(Y)
    zero_columns = is_zero(Y)
    zero_rows = zero_columns if X is Y else is_zero(X)
    for rows in row_blocks(*K.shape):
        denominator = row_norms[rows, None] + column_norms - K[rows]
        both_zero = zero_rows[rows, None] & zero_columns
        denominator[both_zero] = 1
        K[rows] /= denominator
        K[rows][both_zero] = 1
    return K


def scale_gamma(X: Any, sample_weight: Any = None) -> float:
    """Return 1 / (n_features * variance of all entries), scikit-learn's "scale".

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The training examples.
    sample_weight : array-like of shape (n_samples,), optional
        How often each example counts.

    Returns
    -------
    float
        Positive; 1 if all entries are equal, as in scikit-learn.

    Examples
    --------
    >>> from spanforest.kernels import scale_gamma
    >>> scale_gamma([[0.0, 2.0], [2.0, 0.0]])
    0.5
    """
    X, _ = check_pairwise_arrays(X, None, accept_sparse="csr")
    n_samples, n_features = X.shape
    weights = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight)
    shares = weights / (weights.sum() * n_features)
    mean = float(np.sum(X.T @ shares))
    if issparse(X):
        variance = float(squared_norms(X) @ shares) - mean**2
    else:
        variance = float(squared_norms(X - mean) @ shares)
    total = n_features * variance
    return 1.0 / total if total >= np.finfo(float).tiny else 1.0


def median_gamma(X: Any, sample_weight: Any = None) -> float:
    """Return the Gaussian scale at which a typical pair of examples has value 1/e.

    This is one over the median of ‖x - y‖² over all pairs of rows. If most rows are
    equal and the median is zero, the mean takes its place; if all are, or there is only
    one, the result is 1. Of more than 1000 rows, 1000 evenly spaced ones are compared.
    Neither the unit nor the origin of the features changes a kernel with this scale.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The training examples.
    sample_weight : array-like of shape (n_samples,), optional
        How often each example counts. With weight 2 it counts as two equal rows, which
        are a pair of distance 0.

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
    X, weight = _few_examples(X, sample_weight)
    if not issparse(X):
        X -= np.median(X, axis=0)  # differences of large numbers are not exact
    lengths = squared_norms(X)
    distances = _above_diagonal(euclidean_distances(X, squared=True))
    noise = _DISTANCE_NOISE * _above_diagonal(np.add.outer(lengths, lengths))
    distances[distances <= noise + np.finfo(float).tiny] = 0.0
    return 1.0 / _typical(distances, weight)


def absolute_gamma(X: Any, sample_weight: Any = None) -> float:
    """Return the Laplacian scale at which a typical pair of examples has value 1/√e.

    This is half of one over the median of ‖x - y‖₁ over all pairs of rows. Where
    that is zero, and of many rows, the same is done as by `median_gamma`. On tables,
    larger scales were seldom better.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The training examples.
    sample_weight : array-like of shape (n_samples,), optional
        How often each example counts, as in `median_gamma`.

    Returns
    -------
    float
        Positive.

    Examples
    --------
    >>> from spanforest.kernels import absolute_gamma
    >>> absolute_gamma([[0.0], [1.0], [3.0]])  # distances 1, 2 and 3
    0.25
    """
    X, weight = _few_examples(X, sample_weight)
    distances = _above_diagonal(manhattan_distances(X))
    distances[distances <= np.finfo(float).tiny] = 0.0
    return 0.5 / _typical(distances, weight)


def _few_examples(X: Any, sample_weight: Any) -> tuple[Any, FloatArray | None]:
    """Return evenly spaced examples, whose distances are typical, and their weights."""
    X, _ = check_pairwise_arrays(X, None, accept_sparse="csr")
    chosen = evenly_spaced(X.shape[0], _MEDIAN_ROWS)
    weight = sample_weight
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)[chosen]
    return X[chosen].astype(np.float64), weight


def _typical(distances: FloatArray, weight: FloatArray | None) -> float:
    """Return the median of distances, or else their mean, or 1 if all are zero."""
    if not distances.any():
        return 1.0
    if weight is None:
        return float(np.median(distances) or distances.mean())
    distances = np.append(distances, 0.0)  # between copies of one example
    n_copies = np.maximum(weight * (weight - 1.0), 0.0).sum() / 2
    counts = np.append(_above_diagonal(np.outer(weight, weight)), n_copies)
    typical = _weighted_median(distances, counts)
    return float(typical or np.average(distances, weights=counts))


def _above_diagonal(matrix: FloatArray) -> FloatArray:
    """Return the entries above the diagonal of a square matrix, row by row."""
    return squareform(matrix, checks=False)


def _weighted_median(values: FloatArray, counts: FloatArray) -> float:
    """Return the median of values that occur `counts` times each."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(counts[order])
    half = total[-1] / 2
    middle = np.searchsorted(total, half, "left"), np.searchsorted(total, half, "right")
    return float(values[order[np.array(middle)]].mean())


def cosine_kernel(X: Any, Y: Any = None) -> FloatArray:
    """Return ⟨x, y⟩ / (‖x‖ ‖y‖), or 0 if either vector is zero."""
    X, Y = check_pairwise_arrays(X, Y, accept_sparse="csr")
    rows = unit_rows(X)
    return linear_kernel(rows, rows if X is Y else unit_rows(Y))


def laplacian_kernel(X: Any, Y: Any, gamma: float) -> FloatArray:
    """Return exp(-gamma ‖x - y‖₁)."""
    X, Y = check_pairwise_arrays(X, Y, accept_sparse="csr")
    K = manhattan_distances(X, Y)
    K *= -gamma
    np.exp(K, out=K)
    return K.astype(X.dtype, copy=False)


def gaussian_kernel(X: Any, Y: Any, gamma: float) -> FloatArray:
    """Return exp(-gamma ‖x - y‖²).

    Dense features are centred and scaled first. That changes no value, but features
    with a large common offset, and very small or large ones, keep their precision.
    """
    X, Y = check_pairwise_arrays(X, Y, accept_sparse="csr")
    scale = X.dtype.type(np.sqrt(gamma))
    if issparse(X) or issparse(Y):
        X, Y = X * scale, Y * scale
    else:
        centre = Y.mean(axis=0, dtype=np.float64).astype(Y.dtype)
        same = X is Y
        Y = (Y - centre) * scale
        X = Y if same else (X - centre) * scale
    if not all(np.isfinite(_largest_value(one)) for one in (X, Y)):
        raise ValueError(
            f"gamma={gamma:.3g} is too large for these features in {X.dtype}. Lower "
            "gamma, or scale the features, for example with "
            "sklearn.preprocessing.StandardScaler."
        )
    return rbf_kernel(X, Y, gamma=1.0)


def _largest_value(X: Any) -> float:
    values = X.data if issparse(X) else X
    return float(np.abs(values).max(initial=0.0))


def length_gamma(X: Any, sample_weight: Any = None) -> float:
    """Return one over the mean squared length of the rows; 1 if all of them are zero.

    Examples
    --------
    >>> length_gamma(np.array([[3.0, 4.0], [0.0, 5.0]]))
    0.04
    """
    if sample_weight is not None:
        mean = np.average(squared_norms(X), weights=sample_weight)
    else:
        values = X.data if issparse(X) else X
        mean = np.square(values, dtype=np.float64).sum() / X.shape[0]
    return float(1.0 / mean) if mean >= np.finfo(float).tiny else 1.0
