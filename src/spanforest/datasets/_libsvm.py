"""Reading data sets from files in LIBSVM's sparse format."""

import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from spanforest.datasets._dataset import Dataset
from spanforest.datasets._memory import MemoryLimit, TooLargeError
from spanforest.datasets._text_files import (
    DAMAGED,
    TextCost,
    check_text_size,
    damage,
    lines_within,
    open_bytes,
    stem,
)

_LONGEST_LINE = 2**26  # characters
_GROWTH = 4  # bytes of memory for a character of text, at most: 1:2 takes 12 bytes
_BYTES_OF_LINE = 128  # a tuple of labels, and its place in a list
_BYTES_OF_NAME = 80  # the name of a feature is its number as text


def load_libsvm(
    path: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    max_memory: int | None = None,
) -> Dataset:
    r"""Read a multilabel data set from a file in LIBSVM's sparse format.

    A line is an example: the numbers of its labels, separated by commas, and then pairs
    ``index:value`` of its features that are not zero.

    Parameters
    ----------
    path : path
        The file; ``.gz`` and ``.bz2`` are decompressed.
    feature_names, label_names : sequence of str, optional
        The names in the training set, if this is its test set. A test set may lack the
        last feature or a rare label, and does not always show whether features count
        from 0 or from 1. Features whose names are no numbers count from 1.
    max_memory : int, optional
        The largest number of bytes that the contents may take. By default 2 GiB, or
        a quarter of the machine's memory if that is less.

    Returns
    -------
    dataset : Dataset
        `X` is a CSR array. By default the names are the numbers in the file.

    Raises
    ------
    ValueError
        If the file is not in this format, has more features than there are names, or
        needs more memory than `max_memory`.

    Warns
    -----
    UserWarning
        If the file has labels that are not in `label_names`; they are left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spanforest.datasets import load_libsvm
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.svm")
    ...     _ = path.write_text("2,5 1:0.5 3:1\n2 2:4\n")
    ...     toy = load_libsvm(path)
    >>> toy.label_names, toy.feature_names
    (('2', '5'), ('1', '2', '3'))
    >>> toy.Y
    array([[1, 1],
           [1, 0]])
    """
    path = os.fspath(path)
    memory = MemoryLimit.of(path, max_memory)
    check_text_size(path, memory, TextCost(character=_GROWTH, line=_BYTES_OF_LINE))
    try:
        with open_bytes(path) as file:
            lines = _Lines(file, memory)
            X, label_sets = load_svmlight_file(lines, multilabel=True, zero_based=True)
    except TooLargeError:
        raise
    except (*DAMAGED, ValueError, OverflowError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        what = (
            "expected lines like '2,5 1:0.5 3:1', the labels of an example and its "
            "features in ascending order. Correct this line, or remove it."
        )
        if isinstance(error, DAMAGED):
            what = damage(error, "ASCII")
        raise ValueError(f"{path}, line {lines.number}: {what}") from error
    memory.check(_BYTES_OF_NAME * X.shape[1])
    if feature_names is None:
        start = int(X.nnz > 0 and X.indices.min() > 0)
        feature_names = [str(j) for j in range(start, X.shape[1])]
    Y, names = _indicators(label_sets, label_names, memory)
    return Dataset(
        name=stem(path),
        X=_numbered_columns(X, feature_names, path),
        Y=Y,
        feature_names=tuple(feature_names),
        label_names=names,
    )


class _Lines:
    """The lines of an open file, in the form that scikit-learn reads."""

    def __init__(self, file: Any, memory: MemoryLimit):
        self.read = file.read  # scikit-learn asks whether there is one
        self._lines = lines_within(file, lambda: _LONGEST_LINE, memory, _GROWTH)
        self.number = 1

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            yield line
            self.number += 1


def _numbered_columns(
    X: Any, feature_names: Sequence[str], path: str
) -> sparse.csr_array:
    """Return the columns of X that have names; columns of X count from 0."""
    start = 0 if list(feature_names[:1]) == ["0"] else 1
    stop = start + len(feature_names)
    outside = X.indices[(X.indices < start) | (X.indices >= stop)]
    if len(outside):
        raise ValueError(
            f"{path}: expected features from {start} to {stop - 1}; found feature "
            f"{outside[0]}."
        )
    X = sparse.csr_array(X)
    X.resize((X.shape[0], stop))
    return X[:, start:]


def _indicators(
    label_sets: Sequence[tuple[float, ...]],
    names: Sequence[str] | None,
    memory: MemoryLimit,
) -> tuple[NDArray[np.int_], tuple[str, ...]]:
    """Turn sets of label numbers into an indicator matrix with named columns."""
    path = memory.path
    numbers = sorted({label for labels in label_sets for label in labels})
    wrong = [label for label in numbers if label < 0 or label % 1]
    if wrong:
        raise ValueError(
            f"{path}: labels must be whole numbers from 0 on; found {wrong[0]:g}. A "
            "file with one target, such as -1 and 1, is not a multilabel file."
        )
    if names is None:
        names = [f"{label:.0f}" for label in numbers]
    column = {name: j for j, name in enumerate(names)}
    unknown = [f"{label:.0f}" for label in numbers if f"{label:.0f}" not in column]
    if unknown:
        warnings.warn(
            f"{path}: {len(unknown)} labels are not among the expected ones and are "
            f"left out: {', '.join(unknown[:5])}{', ...' if len(unknown) > 5 else ''}.",
            stacklevel=3,
        )
    memory.check(8 * len(label_sets) * len(column))
    Y = np.zeros((len(label_sets), len(column)), dtype=int)
    for i, labels in enumerate(label_sets):
        wanted = (f"{label:.0f}" for label in labels)
        Y[i, [column[name] for name in wanted if name in column]] = 1
    return Y, tuple(names)
