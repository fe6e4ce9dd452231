"""Reading data sets from NumPy archives."""

import os
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest.datasets._columns import whole_labels
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._text_files import stem

_NOT_AN_ARCHIVE = (  # errors of NumPy and zipfile for other or damaged files
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError),
    *(AttributeError, ValueError),
)
_KEYS = {
    *("X", "X_data", "X_indices", "X_indptr", "X_shape", "K", "Y"),
    *("feature_names", "label_names", "nominal_features", "split"),
}


def load_npz(path: str | os.PathLike[str], *, is_complete: bool = True) -> Dataset:
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

    Returns
    -------
    dataset : Dataset
        Its name is that of the file. `Y` is of type float, with NaN, only if some
        labels are missing.

    Raises
    ------
    ValueError
        If the file is no such archive, or its arrays do not fit together.

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
    arrays = _read_arrays(path)
    inputs = [key for key in ("X", "X_data", "K") if key in arrays]
    if (is_complete and "Y" not in arrays) or len(inputs) != 1:
        raise ValueError(
            f"{path}: expected {'Y and ' * is_complete}one of X, X_data (CSR) and K; "
            f"found {', '.join(sorted(arrays)) or 'none of these'}."
        )
    X = _csr_matrix(arrays, path) if "X_data" in arrays else arrays[inputs[0]]
    Y = arrays.get("Y", np.empty((*X.shape[:1], 0)))
    n_samples = Y.shape[0] if Y.ndim == 2 else -1
    is_kernel = inputs == ["K"]
    fits = not (is_kernel and is_complete) or X.shape == (n_samples, n_samples)
    if X.ndim != 2 or X.shape[0] != n_samples or not fits:
        raise ValueError(
            f"{path}: Y must be a matrix with a row for each row of {inputs[0]}, and K "
            f"square; found shapes {Y.shape} and {X.shape}."
        )
    split = arrays.get("split")
    return Dataset(
        name=stem(path),
        X=None if is_kernel else X.astype(np.float64),
        K=X.astype(np.float64) if is_kernel else None,
        Y=_labels(Y, path),
        feature_names=tuple(arrays.get("feature_names", np.array([])).tolist()),
        label_names=tuple(arrays.get("label_names", np.array([])).tolist()),
        nominal_features=arrays.get("nominal_features"),
        split=None if split is None else (int(split[0]), int(split[1])),
    )


def _read_arrays(path: str) -> dict[str, NDArray[Any]]:
    with open(path, "rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
            return {name: archive[name] for name in _KEYS.intersection(archive.files)}
        except _NOT_AN_ARCHIVE as error:
            raise ValueError(
                f"{path}: expected a NumPy archive (npz) of plain arrays; {error}"
            ) from error


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
