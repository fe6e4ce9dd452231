"""Reading data sets from tables, CSV and Parquet, and from LIBSVM files."""

import os
import re
import warnings
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from spanforest._files import line_of_row
from spanforest._wording import listed
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._files import counted_names

_UNREADABLE = (ValueError, EOFError, zlib.error)  # OSError names its file itself


def load_csv(
    path: str | os.PathLike[str],
    labels: str | int | Sequence[str],
    *,
    features: Sequence[str] | None = None,
    drop: str | Iterable[str] = (),
    separator: str | None = None,
) -> Dataset:
    """Read a multilabel data set from a text file with a row per example.

    Parameters
    ----------
    path : path
        The file; ``.gz``, ``.bz2``, ``.xz`` and ``.zip`` are decompressed. Its first
        line names the columns.
    labels : str, int or sequence of str
        Which columns are labels: their names; or a number, of columns at the beginning
        or, if negative, at the end. An empty sequence if there are none.
    features : sequence of str, optional
        Names of the features, in the order wanted. By default all other columns.
    drop : str or iterable of str, default=()
        Names of columns to leave out, such as identifiers. They do not count when
        `labels` is a number.
    separator : str, optional
        What stands between two values. By default a tab in ``.tsv`` and ``.tab``
        files, else a comma.

    Returns
    -------
    dataset : Dataset
        Missing features are NaN. `Y` holds whole numbers, or objects if the values of a
        label are text. Cells without a label (empty, or NA, as pandas reads it) are
        NaN in a `Y` that is of type float only for that, and None beside text:
        estimators then learn from the others.

    Raises
    ------
    ValueError
        If the file is no such table, or a column is not to be found or cannot be used.
    ImportError
        If pandas is not installed.

    Notes
    -----
    A first column without a name is taken for row numbers, as pandas and R write them,
    and left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spanforest.datasets import load_csv
    >>> text = '''temperature,wind,rain,sky
    ... 25,0.5,0,clear
    ... 12.5,2,1,grey
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "weather.csv")
    ...     _ = path.write_text(text)
    ...     weather = load_csv(path, labels=["rain", "sky"])
    >>> weather
    <Dataset weather: 2 x 2 labels, 2 features>
    >>> weather.Y
    array([[0, 'clear'],
           [1, 'grey']], dtype=object)
    """
    pandas = _import_pandas()
    path = os.fspath(path)
    if separator is None:
        separator = "\t" if re.search(r"(?i)\.(tsv|tab)(\.\w+)?$", path) else ","
    try:
        with warnings.catch_warnings():
            # a row longer than the header is an error here, a warning in pandas
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            frame = pandas.read_csv(
                path, sep=separator, index_col=False, low_memory=False
            )
    except (*_UNREADABLE, pandas.errors.ParserWarning) as error:
        raise ValueError(
            f"{path}: expected lines of values with {separator!r} between them, the "
            f"first one with the names of the columns; {_one_line(error)}."
        ) from error
    _check_header(list(frame.columns), path)
    _check_separator(list(frame.columns), path, separator)
    if frame.columns[0] == "Unnamed: 0":  # pandas' word for an empty name
        frame = frame.iloc[:, 1:]
    return _split(_Table(frame, path, separator), labels, features, drop)


def load_parquet(
    path: str | os.PathLike[str],
    labels: str | int | Sequence[str],
    *,
    features: Sequence[str] | None = None,
    drop: str | Iterable[str] = (),
) -> Dataset:
    """Read a multilabel data set from a Parquet file with a row per example.

    Parameters
    ----------
    path : path
        The file.
    labels, features, drop
        As in `load_csv`.

    Returns
    -------
    dataset : Dataset
        As from `load_csv`.

    Raises
    ------
    ValueError
        If the file is no such table, or a column is not to be found or cannot be used.
    ImportError
        If pandas or pyarrow is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from spanforest.datasets import load_parquet
    >>> frame = pd.DataFrame({"x": [0.5, 2.0], "rain": [False, True]})
    >>> with TemporaryDirectory() as folder:
    ...     frame.to_parquet(Path(folder, "toy.parquet"))
    ...     toy = load_parquet(Path(folder, "toy.parquet"), labels=-1)
    >>> toy.label_names, toy.Y.ravel().tolist()
    (('rain',), [0, 1])
    """
    pandas = _import_pandas()
    path = os.fspath(path)
    try:
        frame = pandas.read_parquet(path)
    except ImportError as error:
        raise ImportError(
            'Parquet files need pyarrow: pip install "spanforest[cli]".'
        ) from error
    except _UNREADABLE as error:
        raise ValueError(
            f"{path}: expected a Parquet file; {_one_line(error)}."
        ) from error
    return _split(_Table(frame, path), labels, features, drop)


def load_libsvm(
    path: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
) -> Dataset:
    r"""Read a multilabel data set from a file in LIBSVM's sparse format.

    A line is an example: the numbers of its labels, a comma between them, and then
    pairs ``index:value`` of its features that are not zero.

    Parameters
    ----------
    path : path
        The file; ``.gz`` and ``.bz2`` are decompressed.
    feature_names, label_names : sequence of str, optional
        Those of the data set that this one is to be like: a test part may lack the
        last feature or a rare label of its training part, and whether features count
        from 0 or from 1 is guessed only if no names are given. Features whose names
        are no numbers count from 1.

    Returns
    -------
    dataset : Dataset
        `X` is a CSR array. The names are the numbers in the file.

    Raises
    ------
    ValueError
        If the file is not in this format, or has more features than there are names.

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
    try:
        X, label_sets = load_svmlight_file(path, multilabel=True, zero_based=True)
    except (*_UNREADABLE, OverflowError) as error:
        raise ValueError(
            f"{path}: expected lines like '2,5 1:0.5 3:1', the labels of an example "
            f"and its features; {_one_line(error)}."
        ) from error
    if feature_names is None:
        start = int(X.nnz > 0 and X.indices.min() > 0)
        feature_names = [str(j) for j in range(start, X.shape[1])]
    Y, names = _indicators(label_sets, label_names, path)
    return Dataset(
        name=_stem(path),
        X=_numbered_columns(X, feature_names, path),
        Y=Y,
        feature_names=tuple(feature_names),
        label_names=names,
    )


def _numbered_columns(
    X: Any, feature_names: Sequence[str], path: str
) -> sparse.csr_array:
    """Give the columns with these names of a matrix whose columns count from 0."""
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
    label_sets: Sequence[tuple[float, ...]], names: Sequence[str] | None, path: str
) -> tuple[NDArray[np.int_], tuple[str, ...]]:
    """Turn sets of label numbers into an indicator matrix with named columns."""
    found = sorted({label for labels in label_sets for label in labels})
    wrong = [label for label in found if label < 0 or label % 1]
    if wrong:
        raise ValueError(
            f"{path}: labels must be whole numbers from 0 on; found {wrong[0]:g}. A "
            "file with one target, such as -1 and 1, is not a multilabel file."
        )
    if names is None:
        names = [f"{label:.0f}" for label in found]
    column = {name: j for j, name in enumerate(names)}
    unknown = [label for label in found if f"{label:.0f}" not in column]
    if unknown:
        numbers = ", ".join(f"{label:.0f}" for label in unknown[:5])
        warnings.warn(
            f"{path}: {len(unknown)} labels are not among the expected ones and are "
            f"left out: {numbers}{', ...' if len(unknown) > 5 else ''}.",
            stacklevel=3,
        )
    Y = np.zeros((len(label_sets), len(column)), dtype=int)
    for i, labels in enumerate(label_sets):
        wanted = (f"{label:.0f}" for label in labels)
        Y[i, [column[name] for name in wanted if name in column]] = 1
    return Y, tuple(names)


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            'Table files need pandas: pip install "spanforest[data]", and '
            '"spanforest[cli]" for Parquet.'
        ) from error
    return pandas


def _check_header(names: list[str], path: str) -> None:
    """Refuse a first line of numbers, unless they are column numbers."""
    numbers = [re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", name, re.I) for name in names]
    if all(numbers) and not all(name.isdigit() for name in names):
        raise ValueError(
            f"{path}: the first line must name the columns; found the numbers "
            f"{', '.join(names[:3])}, ... Put a line with names on top."
        )


def _check_separator(names: list[str], path: str, separator: str) -> None:
    """Refuse one column whose name has what elsewhere stands between columns."""
    found = [mark for mark in ";\t,|" if mark in names[0] and mark != separator]
    if len(names) == 1 and found:
        raise ValueError(
            f"{path}: expected {separator!r} between the columns; found one column, "
            f"{names[0][:60]!r}. Pass separator={found[0]!r}, or write the file with "
            f"{separator!r}."
        )


class _Table(NamedTuple):
    """A data frame and the file it comes from."""

    frame: Any
    path: str
    separator: str | None = None  # None if the file has no lines

    def cell(self, name: str, row: int) -> str:
        """Say where a value stands."""
        line = self.separator and line_of_row(Path(self.path), row, self.separator)
        return f"{name!r} of row {row + 1}" + (f" (line {line})" if line else "")


def _split(
    table: _Table,
    labels: str | int | Sequence[str],
    features: Sequence[str] | None,
    drop: str | Iterable[str],
) -> Dataset:
    """Make a data set of the columns of a table; see `load_csv`."""
    frame, path = table.frame, table.path
    frame.columns = [str(name) for name in frame.columns]
    names = list(frame.columns)
    if frame.empty:
        raise ValueError(
            f"{path}: the table has no {'columns' if frame.shape[0] else 'rows'}."
        )
    dropped = [drop] if isinstance(drop, str) else list(drop)
    _check_columns(dropped, names, path, "drop")
    kept = [name for name in names if name not in set(dropped)]
    label_names = _label_names(labels, kept, path)
    if features is None:
        features = [name for name in kept if name not in set(label_names)]
    _check_columns(label_names, kept, path, "labels")
    _check_columns(features, names, path, "features")
    return Dataset(
        name=_stem(path),
        X=_feature_matrix(table, list(features)),
        Y=_label_matrix(table, label_names),
        feature_names=tuple(features),
        label_names=tuple(label_names),
    )


def _label_names(
    labels: str | int | Sequence[str], names: list[str], path: str
) -> list[str]:
    if isinstance(labels, str):
        return [labels]
    if isinstance(labels, int | np.integer):
        return counted_names(int(labels), names, path, "columns")
    return list(labels)


def _check_columns(
    wanted: Sequence[str], names: list[str], path: str, what: str
) -> None:
    missing = [name for name in wanted if name not in set(names)]
    if missing:
        raise ValueError(
            f"{path}: {what} must be names of columns; {listed(missing)} not found. "
            f"The columns are {listed(names)}."
        )
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if list(wanted).count(name) > 1)
        raise ValueError(f"{path}: {what} must be distinct; {twice!r} is there twice.")


def _feature_matrix(table: _Table, names: list[str]) -> NDArray[np.float64]:
    columns = table.frame[names]
    words = {name: _first_word(columns[name]) for name in names}
    wrong = [name for name, row in words.items() if row is not None]
    if wrong:
        row = words[wrong[0]]
        value = columns[wrong[0]].iloc[row]
        also = f", and there are {len(wrong)} such columns: {listed(wrong)}"
        raise ValueError(
            f"{table.path}: features must be numbers; {table.cell(wrong[0], row)} is "
            f"{value!r}{also if len(wrong) > 1 else ''}. Turn such values into "
            "numbers, or drop the columns."
        )
    if all(dtype.kind in "biuf" for dtype in columns.dtypes):
        return columns.to_numpy(dtype=np.float64, na_value=np.nan)
    return columns.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)


def _first_word(column: Any) -> Any:
    """Return the first row of a column that is not a number; None if all are."""
    pandas = _import_pandas()
    if pandas.api.types.is_numeric_dtype(column.dtype):
        return None
    known = column.notna()
    if all(isinstance(value, bool | np.bool_) for value in column[known]):
        return None  # true and false with gaps
    strange = pandas.to_numeric(column, errors="coerce").isna() & known
    # numbers in quotes are text too, but of a stray word the user must know
    return int(np.argmax(strange if strange.any() else known))


def _label_matrix(table: _Table, names: list[str]) -> NDArray[Any]:
    """Give the labels as whole numbers, or as objects if some are text.

    What is missing is NaN, and makes the numbers floats, or None among objects.
    """
    known = table.frame[names].notna().to_numpy()
    columns = [
        _label_column(table, name, np.flatnonzero(seen))
        for name, seen in zip(names, known.T, strict=True)
    ]
    is_text = any(column.dtype.kind == "O" for column in columns)
    dtype = object if is_text else int if known.all() else float
    Y = np.full(known.shape, None if is_text else 0, dtype=dtype)
    for j, column in enumerate(columns):
        Y[known[:, j], j] = column
    if dtype is float:
        Y[~known] = np.nan
    return Y


def _label_column(table: _Table, name: str, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Give the labels in some rows of a column, none of them missing."""
    from pandas.api.types import is_numeric_dtype

    column = table.frame[name].iloc[rows].infer_objects()  # gaps make truth values so
    if not is_numeric_dtype(column.dtype):
        return column.astype(object).map(str).to_numpy(dtype=object)
    numbers = column.to_numpy(dtype=np.float64)
    fractions = np.flatnonzero((numbers % 1 != 0) | (np.abs(numbers) > 2**53))
    if len(fractions):
        cell = table.cell(name, rows[fractions[0]])
        raise ValueError(
            f"{table.path}: labels must be whole numbers or text; {cell} is "
            f"{numbers[fractions[0]]:g}. Is it a feature?"
        )
    return numbers.astype(int)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _stem(path: str) -> str:
    """Give the name of a file without its folder, suffix and compression."""
    return re.sub(r"(?i)\.\w+(\.(gz|bz2|xz|zip))?$", "", Path(path).name)
