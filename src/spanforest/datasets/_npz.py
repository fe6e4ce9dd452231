"""Reading data sets from NumPy archives."""

import math
import os
import zipfile
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._wording import one_line
from spanforest.datasets._columns import whole_labels
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._memory import MemoryLimit
from spanforest.datasets._text_files import stem

_NOT_AN_ARCHIVE = (  # errors of NumPy and zipfile for other or damaged files
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError),
    *(AttributeError, ValueError),
)
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_KEYS = {
    *("X", "X_data", "X_indices", "X_indptr", "X_shape", "K", "Y"),
    *("feature_names", "label_names", "nominal_features", "split"),
}


def load_npz(
    path: str | os.PathLike[str],
    *,
    is_complete: bool = True,
    max_memory: int | None = None,
) -> Dataset:
    """Read a data set from a NumPy archive.

    Parameters
    ----------
    path : path
        An archive with `Y`; with `X`, or a CSR matrix as `X_data`, `X_indices`,
        `X_indptr` and `X_shape`, or a kernel matrix `K`; and, as far as known,
        `feature_names`, `label_names`, `nominal_features` and `split`. Other arrays are
        ignored, and nothing is unpickled.
    is_complete : bool, default=True
        Pass False for examples to predict for: `Y` may be absent, and then has no
        columns; `K` need not be square, since it has a column per training example.
    max_memory : int, optional
        The largest number of bytes that the contents may take. By default 2 GiB, or
        a quarter of the machine's memory if that is less.

    Returns
    -------
    dataset : Dataset
        Its name is that of the file. `Y` is of type float, with NaN, only if some
        labels are missing.

    Raises
    ------
    ValueError
        If the file is no such archive, its arrays do not fit together, or they need
        more memory than `max_memory`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from spanforest.datasets import load_npz
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "toy.npz"), X=[[1.5], [2.0]], Y=[[0, 1], [1, 1]])
    ...     load_npz(Path(folder, "toy.npz"))
    <Dataset toy: 2 x 2 labels, 1 features>
    """
    path = os.fspath(path)
    arrays = _read_arrays(path, is_complete, MemoryLimit.of(path, max_memory))
    is_kernel = "K" in arrays
    X = _csr_matrix(arrays, path) if "X_data" in arrays else arrays["XK"[is_kernel]]
    Y = arrays.get("Y", np.empty((*X.shape[:1], 0)))
    split = arrays.get("split")
    return Dataset(
        name=stem(path),
        X=None if is_kernel else X.astype(np.float64, copy=False),
        K=X.astype(np.float64, copy=False) if is_kernel else None,
        Y=_labels(Y, path),
        feature_names=tuple(arrays.get("feature_names", np.array([])).tolist()),
        label_names=tuple(arrays.get("label_names", np.array([])).tolist()),
        nominal_features=arrays.get("nominal_features"),
        split=None if split is None else (int(split[0]), int(split[1])),
    )


def _read_arrays(
    path: str, is_complete: bool, memory: MemoryLimit
) -> dict[str, NDArray[Any]]:
    """Read the arrays, once their headers say that they fit together."""
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                names = [name for name in _KEYS if f"{name}.npy" in archive.namelist()]
                headers = {name: _read_header(archive, name) for name in names}
        except _NOT_AN_ARCHIVE as error:
            raise ValueError(
                f"{path}: expected a NumPy archive (npz) of plain arrays; "
                f"{one_line(error)}."
            ) from error
        _check_shapes(path, headers, is_complete)
        memory.check(sum(map(_n_bytes, headers.values())))
        file.seek(0)
        try:
            arrays = np.load(file, allow_pickle=False)
            return {name: arrays[name] for name in names}
        except _NOT_AN_ARCHIVE as error:
            raise ValueError(
                f"{path}: expected a NumPy archive (npz) of plain arrays; "
                f"{one_line(error)}."
            ) from error


class _Header(NamedTuple):
    """What an array in an archive declares."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _read_header(archive: zipfile.ZipFile, name: str) -> _Header:
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        if version not in _HEADER_READERS:
            raise ValueError(f"{name} has a header of version {version}")
        shape, _, dtype = _HEADER_READERS[version](file)
    if dtype.kind not in "biufSU":
        raise ValueError(
            f"{name} holds {'Python objects' if dtype.hasobject else dtype}, which are "
            "not read; store numbers or text"
        )
    return _Header(shape, dtype)


def _n_bytes(header: _Header) -> int:
    """Return how much memory an array takes; numbers become floats."""
    return math.prod(header.shape) * max(header.dtype.itemsize, 8)


def _check_shapes(path: str, headers: dict[str, _Header], is_complete: bool) -> None:
    """Refuse arrays that do not fit together, before any of them is read."""
    inputs = [key for key in ("X", "X_data", "K") if key in headers]
    if (is_complete and "Y" not in headers) or len(inputs) != 1:
        raise ValueError(
            f"{path}: expected {'Y and ' * is_complete}one of X, X_data (CSR) and K; "
            f"found {', '.join(sorted(headers)) or 'none of these'}."
        )
    shape = headers[inputs[0]].shape
    if inputs == ["X_data"]:
        if "X_indptr" not in headers:
            return  # no CSR matrix: the message about it says more
        shape = (headers["X_indptr"].shape[0] - 1, 0)
    Y = headers["Y"].shape if "Y" in headers else (*shape[:1], 0)
    is_square = inputs != ["K"] or not is_complete or shape == (Y[0], Y[0])
    if len(shape) != 2 or len(Y) != 2 or shape[0] != Y[0] or not is_square:
        raise ValueError(
            f"{path}: Y must be a matrix with a row for each row of {inputs[0]}, and K "
            f"square; found shapes {Y} and {shape}."
        )


def _csr_matrix(arrays: dict[str, NDArray[Any]], path: str) -> Any:
    try:
        buffers = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        X = sparse.csr_array(buffers, shape=tuple(arrays["X_shape"]), dtype=np.float64)
        X.check_format()
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"{path}: X_data, X_indices, X_indptr and X_shape must be a CSR matrix; "
            f"{error}"
        ) from error
    return X


def _labels(Y: NDArray[Any], path: str) -> NDArray[Any]:
    if Y.dtype.kind in "biu":
        return Y.astype(int)
    return whole_labels(Y.astype(float), path, lambda i, j: f"Y[{i}, {j}]")
