"""Reading data sets from NumPy archives."""

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest.datasets._columns import whole_labels
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._memory import MemoryLimit
from spanforest.datasets._text_files import stem

_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_BYTES_OF_TEXT = 64  # at least, of a Python text


class _Form(NamedTuple):
    """What an array must be like."""

    n_dimensions: int
    kinds: str  # NumPy's letters for types
    noun: str


_FORMS = {
    "X": _Form(2, "biuf", "a matrix of numbers"),
    "X_data": _Form(1, "biuf", "a list of numbers"),
    "X_indices": _Form(1, "iu", "a list of whole numbers"),
    "X_indptr": _Form(1, "iu", "a list of whole numbers"),
    "X_shape": _Form(1, "iu", "a list of whole numbers"),
    "K": _Form(2, "biuf", "a matrix of numbers"),
    "Y": _Form(2, "biuf", "a matrix of numbers"),
    "feature_names": _Form(1, "iuSU", "a list of texts"),
    "label_names": _Form(1, "iuSU", "a list of texts"),
    "nominal_features": _Form(1, "b", "a list of true and false"),
    "split": _Form(1, "iu", "a list of whole numbers"),
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
    Y = _labels(arrays.get("Y", np.empty((*X.shape[:1], 0))), path)
    nominal = arrays.get("nominal_features", np.empty(0))
    with _refusing(path):  # for characters that do not exist
        feature_names = _texts(arrays.get("feature_names"))
        label_names = _texts(arrays.get("label_names"))
    dataset = Dataset(
        name=stem(path),
        X=None if is_kernel else X.astype(np.float64, copy=False),
        K=X.astype(np.float64, copy=False) if is_kernel else None,
        Y=Y,
        feature_names=feature_names,
        label_names=label_names,
        nominal_features=nominal.astype(bool) if len(nominal) else None,
        split=tuple(arrays["split"].tolist()) if len(arrays.get("split", ())) else None,
    )
    _check_lengths(dataset, path)
    return dataset


def _read_arrays(
    path: str, is_complete: bool, memory: MemoryLimit
) -> dict[str, NDArray[Any]]:
    """Read the arrays, once their headers say that they fit together."""
    with open(path, "rb") as file:
        with _refusing(path), zipfile.ZipFile(file) as archive:
            members = set(archive.namelist())
            names = [name for name in _FORMS if f"{name}.npy" in members]
            headers = {name: _read_header(archive, name) for name in names}
        for name, header in headers.items():
            _check_form(path, name, header)
        _check_shapes(path, headers, is_complete)
        memory.check(sum(map(_n_bytes, headers.values())))
        file.seek(0)
        with _refusing(path):
            arrays = np.load(file, allow_pickle=False)
            return {name: arrays[name] for name in names}


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    """Turn any error into one that names the file: damage can raise any error."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"{path}: expected a NumPy archive (npz) of plain arrays. This is another "
            "kind of file, or it is damaged."
        ) from error


class _Header(NamedTuple):
    """What an array in an archive declares."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _read_header(archive: zipfile.ZipFile, name: str) -> _Header:
    with archive.open(f"{name}.npy") as file:
        shape, _, dtype = _HEADER_READERS[np.lib.format.read_magic(file)](file)
    if min(shape, default=0) < 0:
        raise ValueError(f"{name} has the shape {shape}")
    return _Header(shape, dtype)


def _check_form(path: str, name: str, header: _Header) -> None:
    if header.dtype.hasobject:
        raise ValueError(
            f"{path}: expected a NumPy archive (npz) of plain arrays; {name} holds "
            "Python objects, which are not read. Store numbers or text."
        )
    form = _FORMS[name]
    has_kind = header.dtype.kind in form.kinds or header.shape == (0,)
    if not has_kind or len(header.shape) != form.n_dimensions:
        raise ValueError(
            f"{path}: {name} must be {form.noun}; found values of type "
            f"{header.dtype.name} and the shape {header.shape}."
        )


def _n_bytes(header: _Header) -> int:
    """Return how much memory an array takes; numbers become floats."""
    least = _BYTES_OF_TEXT if header.dtype.kind in "SU" else 8
    return math.prod(header.shape) * max(header.dtype.itemsize, least)


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
    if shape[0] != Y[0] or not is_square:
        raise ValueError(
            f"{path}: Y must have a row for each row of {inputs[0]}, and K must be "
            f"square; found shapes {Y} and {shape}."
        )


def _check_lengths(dataset: Dataset, path: str) -> None:
    """Refuse lists of names and the like that are too short or too long."""
    X = dataset.X if dataset.K is None else dataset.K
    assert X is not None  # one of the two was read
    n_rows, n_columns = X.shape
    split = dataset.split
    for name, expected in (
        ("feature_names", n_columns),
        ("label_names", dataset.n_labels),
        ("nominal_features", n_columns),
        ("split", 2),
    ):
        entries = getattr(dataset, name)
        if entries is not None and len(entries) not in (0, expected):
            raise ValueError(
                f"{path}: {name} must have {expected} entries; found {len(entries)}."
            )
    if split and (min(split) < 0 or sum(split) != n_rows):
        raise ValueError(
            f"{path}: split must be the numbers of training and test rows, which add "
            f"up to {n_rows} rows; found {split[0]} and {split[1]}."
        )


def _csr_matrix(arrays: dict[str, NDArray[Any]], path: str) -> Any:
    try:
        buffers = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        shape = tuple(arrays["X_shape"].tolist())
        X = sparse.csr_array(buffers, shape=shape, dtype=np.float64)
        X.check_format()
    except Exception as error:  # wrong indices can raise any error
        raise ValueError(
            f"{path}: X_data, X_indices, X_indptr and X_shape must be the parts of a "
            "CSR matrix. Take them from a scipy.sparse.csr_array."
        ) from error
    return X


def _texts(names: NDArray[Any] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    if names.dtype.kind == "S":
        return tuple(name.decode(errors="replace") for name in names.tolist())
    return tuple(str(name) for name in names.tolist())


def _labels(Y: NDArray[Any], path: str) -> NDArray[Any]:
    if Y.dtype.kind in "biu":
        if Y.max(initial=0) > np.iinfo(int).max:
            raise ValueError(f"{path}: labels must be below 2^63; found {Y.max()}.")
        return Y.astype(int)
    return whole_labels(Y.astype(float), path, lambda i, j: f"Y[{i}, {j}]")
