"""Kernel matrices that do not fit into memory: their rows are computed when needed.

An epoch goes through the examples a chunk at a time. It computes the rows of the chunk
in single precision, visits its examples, and forgets the rows. A cache keeps the rows
of the first chunks for all epochs and members. The certificate computes all rows in
double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest import _compiled
from spanforest.factors import Coordinates
from spanforest.kernels import KernelSpec, unit_diagonal
from spanforest.solver import BLOCK_SIZE, Epoch, Form, KernelForm

CACHE_SIZE = 2**30  # bytes of rows that are kept
CHUNK_BYTES = 2**26  # of the rows that are computed at once
FEW_ROWS = 16
SMALL_ARRAY = 2**24  # bytes; the system takes long to provide larger arrays
SINGLE_SUFFICES = 1e-4  # larger tolerances are far above the rounding of float32
LARGEST_SINGLE = 1e30  # sums of such values are still far below the limit of float32

Indices = NDArray[np.intp]


@contextmanager
def room_for(n_rows: int, n_columns: int, dtype: Any, advice: str) -> Iterator[None]:
    """Say how large a kernel matrix is, and give advice, if there is no room for it.

    Where even an empty matrix has no room, this is found out before any work is done.

    Examples
    --------
    >>> with room_for(10**7, 10**7, np.float64, "Take fewer examples."):
    ...     pass
    Traceback (most recent call last):
        ...
    MemoryError: there is no room in memory for a kernel matrix of 10000000 x 10000000 \
numbers, 745058.1 GiB. Take fewer examples.
    """
    try:
        np.empty((n_rows, n_columns), dtype)
        yield
    except MemoryError:
        size = n_rows * n_columns * np.dtype(dtype).itemsize / 2**30
        raise MemoryError(
            f"there is no room in memory for a kernel matrix of {n_rows} x {n_columns} "
            f"numbers, {size:.1f} GiB. {advice}"
        ) from None


class KernelFunction(NamedTuple):
    """A kernel between examples, scaled to unit length if `normalize`."""

    spec: KernelSpec
    normalize: bool

    def __call__(self, X: Any, Y: Any) -> NDArray[np.floating]:
        """Return the kernel values between the rows of X and those of Y."""
        K = self.spec.matrix(X, Y)
        if not self.normalize:
            return K
        columns = self.spec.diagonal(Y)
        rows = columns if X is Y else self.spec.diagonal(X)
        # in place, except where a callable may keep its result
        out = None if self.spec.is_callable else K
        return unit_diagonal(K, rows, columns, out=out)

    def fill(self, X: Any, Y: Any, values: NDArray[np.floating]) -> None:
        """Fill `values` with the kernel values, computed in the precision of `values`.

        The Gaussian kernel of dense features is the exponential of a matrix product,
        with the squared lengths as two more features. scikit-learn takes six times as
        long in single precision, which it does not multiply in, and four times as long
        in double precision.
        """
        if self.spec.name != "rbf" or sparse.issparse(X):
            values[...] = self(X, Y)
            return
        gamma = float(self.spec.gamma or 1.0)
        rows, columns = _with_lengths(X, Y, gamma, values.dtype)
        for start in range(0, len(rows), FEW_ROWS):  # they stay in the cache
            few = values[start : start + FEW_ROWS]
            np.matmul(rows[start : start + FEW_ROWS], columns.T, out=few)
            np.minimum(few, 0.0, out=few)  # rounding; no value exceeds 1
            np.exp(few, out=few)


class LazyMatrix:
    """A kernel matrix whose rows are computed when they are sliced or multiplied."""

    def __init__(self, function: KernelFunction, X: Any, columns: Any) -> None:
        self.function = function
        self.X, self.columns = X, columns
        self.shape = X.shape[0], columns.shape[0]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[np.floating]:
        X = self.X[rows]
        values = np.empty((X.shape[0], self.shape[1]), dtype=X.dtype)
        self.function.fill(X, self.columns, values)
        return values

    def __matmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        few = chunks_of(*self.shape, SMALL_ARRAY // 2)
        return np.concatenate([self[rows] @ weights for rows in few])


class KernelRows(NamedTuple):
    """Training examples whose kernel matrix is too large; weights have a row for each.

    It is a basis, see `_inputs.Basis`. `cache` holds rows of the first chunks, as
    `turned_rows` returns them. Epochs compute rows in single precision if `rough`.
    """

    function: KernelFunction
    X: Any
    rough: bool = True
    cache: tuple[NDArray[np.float32], ...] = ()

    @classmethod
    def of(cls, function: KernelFunction, X: Any) -> KernelRows:
        """Return the basis; single precision is only for values that fit it."""
        # no value exceeds the largest on the diagonal
        return cls(function, X, float(function.spec.diagonal(X).max()) < LARGEST_SINGLE)

    def form(self, coordinates: Coordinates, fit_intercept: bool) -> KernelRowsForm:
        """Return the solver's form of these examples."""
        return KernelRowsForm(self, coordinates, fit_intercept)

    def fold(
        self, train: Indices, test: Indices, sample_weight: Any = None
    ) -> tuple[KernelRows, LazyMatrix]:
        """Return the basis of the rows `train`, and the kernel rows of the others."""
        X = self.X[train]
        basis = KernelRows(self.function, X, self.rough)
        return basis, LazyMatrix(self.function, self.X[test], X)

    def matrix(self) -> NDArray[np.floating]:
        """Return the whole matrix, which a sum of kernels needs."""
        return self.function(self.X, self.X)

    def in_single_precision(self) -> KernelRows:
        """Return the examples as they are: training computes single precision."""
        return self

    def prepared(self, tol: float) -> KernelRows:
        """Fill the cache, once for all members, if single precision suffices."""
        if not self.rough or tol < SINGLE_SUFFICES:
            return self._replace(rough=False)
        n = self.X.shape[0]
        chunks = chunks_of(n, n)
        n_cached = CACHE_SIZE // (4 * n * (chunks[0].stop - chunks[0].start))
        cache = [self.turned_rows(chunk, rough=True) for chunk in chunks[:n_cached]]
        return self._replace(cache=tuple(cache))

    def turned_rows(self, chunk: slice, *, rough: bool) -> NDArray[np.floating]:
        """Return the kernel rows of a chunk; its own columns come first.

        The columns after the chunk follow, then those before it. `rough` values are in
        single precision.
        """
        rows = self.room_for(chunk, rough=rough)
        self.fill_turned(chunk, rows)
        return rows

    def room_for(self, chunk: slice, *, rough: bool) -> NDArray[np.floating]:
        """Return an array for the rows of a chunk."""
        shape = chunk.stop - chunk.start, self.X.shape[0]
        return np.empty(shape, np.float32 if rough else self.X.dtype)

    def fill_turned(self, chunk: slice, rows: NDArray[np.floating]) -> None:
        """Fill `rows` as `turned_rows` does."""
        own, n = self.X[chunk], self.X.shape[0]
        n_after = n - chunk.start
        after = slice(chunk.start, n), slice(0, n_after)
        before = slice(0, chunk.start), slice(n_after, n)
        for columns, places in (after, before) if chunk.start > 0 else (after,):
            self.function.fill(own, self.X[columns], rows[:, places])


class KernelRowsForm(KernelForm):
    """F = K A, with rows of K that are computed for every epoch.

    Chunks are fixed, so that their rows can be kept. Each epoch visits the chunks in
    random order, and the examples of a chunk in random order too.
    """

    def __init__(
        self, basis: KernelRows, coordinates: Coordinates, fit_intercept: bool = False
    ) -> None:
        matrix = LazyMatrix(basis.function, basis.X, basis.X)
        Form.__init__(self, matrix, coordinates, fit_intercept)  # no matrix to copy
        self.weights = np.asfortranarray(self.weights)
        self._squared_norms = np.zeros(len(matrix))
        self._basis = basis
        self._rough = basis.rough
        self._room: NDArray[np.floating] | None = None  # for the rows of a chunk
        self.chunk_size = max(SMALL_ARRAY // (8 * len(matrix)), 1)

    def sharpen(self) -> None:
        """Compute rows in double precision from now on, also for later values of C."""
        self._rough, self._room = False, None

    def epochs(
        self,
        order: NDArray[np.intp],
        problem: _compiled.Packed,
        hinge: NDArray[np.float64],
        mixtures: _compiled.Mixtures | None,
    ) -> Epoch:
        """Return a function that visits chunks in the order of their first examples."""
        record, whole = problem.record, self._state(hinge)
        chunks = chunks_of(*self.data.shape)

        def epoch() -> None:
            place = np.argsort(order)
            for number in np.argsort([place[chunk.start] for chunk in chunks]):
                chunk = chunks[number]
                rows = self._rows_of(chunk, number)
                visit = _compiled.kernel_pass(
                    np.argsort(place[chunk]),
                    BLOCK_SIZE,
                    rows,
                    _compiled.pack(record._replace(targets=record.targets.of(chunk))),
                    whole._replace(dual_coef=self.dual_coef[chunk], hinge=hinge[chunk]),
                    None if mixtures is None else mixtures.of(chunk),
                    self._squared_norms[chunk],
                )
                visit()
                self.weights[chunk] = rows.weights.T

        return epoch

    def _rows_of(self, chunk: slice, number: int) -> _compiled.DenseRows:
        """Return the kernel rows of a chunk, its weights, and those of all examples.

        The last are in the order of the columns.
        """
        cache = self._basis.cache
        if self._rough and number < len(cache):
            rows = cache[number]
        else:
            if self._room is None:
                largest = chunks_of(*self.data.shape)[0]
                self._room = self._basis.room_for(largest, rough=self._rough)
            rows = self._room[: chunk.stop - chunk.start]
            self._basis.fill_turned(chunk, rows)
        weights = self.weights.T
        turned = np.empty(weights.shape, dtype=rows.dtype)
        n_after = weights.shape[1] - chunk.start
        turned[:, :n_after] = weights[:, chunk.start :]
        turned[:, n_after:] = weights[:, : chunk.start]
        own = np.ascontiguousarray(weights[:, chunk])
        return _compiled.DenseRows(_compiled.read_only(rows), own, turned)


def _with_lengths(
    X: NDArray[np.floating], Y: NDArray[np.floating], gamma: float, dtype: np.dtype
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return features whose inner products are -gamma ‖x - y‖²."""
    centre = Y.mean(axis=0)  # a common offset would cost precision
    both = []
    for features in (X, Y):
        scaled = np.empty((len(features), features.shape[1] + 2), dtype=dtype)
        scaled[:, :-2] = np.sqrt(2.0 * gamma) * (features - centre)
        both.append(scaled)
    rows, columns = both
    rows[:, -2] = -0.5 * np.square(rows[:, :-2]).sum(axis=1)
    columns[:, -1] = -0.5 * np.square(columns[:, :-2]).sum(axis=1)
    rows[:, -1] = columns[:, -2] = 1.0
    return rows, columns


def chunks_of(n_rows: int, n_columns: int, n_bytes: int | None = None) -> list[slice]:
    """Cut rows of a kernel matrix into chunks of CHUNK_BYTES, in single precision."""
    size = max((n_bytes or CHUNK_BYTES) // (4 * n_columns), 1)
    starts = range(0, n_rows, size)
    return [slice(start, min(start + size, n_rows)) for start in starts]
