"""Reading data sets from tables: CSV and Parquet files, by means of pandas."""

import os
import re
import warnings
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._wording import listed, one_line
from spanforest.datasets._columns import Columns, whole_labels
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._text_files import line_of_row, stem

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
        Which columns are labels: their names; or their number, counted from the
        beginning or, if negative, from the end. Pass an empty sequence if there are
        none.
    features : sequence of str, optional
        Names of the features, in the order of the result. By default all columns that
        are not labels.
    drop : str or iterable of str, default=()
        Names of columns to leave out, such as identifiers. They do not count when
        `labels` is a number.
    separator : str, optional
        The character between two values. By default a tab in ``.tsv`` and ``.tab``
        files, else a comma.

    Returns
    -------
    dataset : Dataset
        Missing features are NaN. `Y` holds whole numbers, or objects if the values of a
        label are text. A cell that is empty, or that pandas reads as missing (NA), is a
        missing label: NaN, which makes `Y` of type float, or None among objects.
        Estimators learn from the other labels.

    Raises
    ------
    ValueError
        If the file is not such a table, or a column is missing or cannot be used.
    ImportError
        If pandas is not installed.

    Notes
    -----
    A first column without a name is left out: it holds the row numbers that pandas and
    R write.

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
            f"{path}: expected lines of values separated by {separator!r}, the first "
            f"one with the names of the columns; {one_line(error)}."
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
        If the file is not such a table, or a column is missing or cannot be used.
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
            f"{path}: expected a Parquet file; {one_line(error)}."
        ) from error
    return _split(_Table(frame, path), labels, features, drop)


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
            f"{', '.join(names[:3])}, ... Add a first line with names."
        )


def _check_separator(names: list[str], path: str, separator: str) -> None:
    """Refuse a single column whose name contains another usual separator."""
    marks = [mark for mark in ";\t,|" if mark in names[0] and mark != separator]
    if len(names) == 1 and marks:
        raise ValueError(
            f"{path}: expected {separator!r} between the columns; found one column, "
            f"{names[0][:60]!r}. Pass separator={marks[0]!r}, or write the file with "
            f"{separator!r}."
        )


class _Table(NamedTuple):
    """A data frame and the file it comes from."""

    frame: Any
    path: str
    separator: str | None = None  # None if the file has no lines

    def cell(self, name: str, row: int) -> str:
        """Return where a value stands, for messages."""
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
    if frame.empty:
        raise ValueError(
            f"{path}: the table has no {'columns' if frame.shape[0] else 'rows'}."
        )
    columns = Columns(list(frame.columns), path)
    kept = columns.without(drop)
    label_names = kept.choose(labels)
    if features is None:
        features = [name for name in kept.names if name not in set(label_names)]
    kept.check(label_names, "labels")
    columns.check(features, "features")
    return Dataset(
        name=stem(path),
        X=_feature_matrix(table, list(features)),
        Y=_label_matrix(table, label_names),
        feature_names=tuple(features),
        label_names=tuple(label_names),
    )


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
    # numbers in quotes are text too, but a stray word is more likely the mistake
    return int(np.argmax(strange if strange.any() else known))


def _label_matrix(table: _Table, names: list[str]) -> NDArray[Any]:
    """Return the labels as whole numbers, or as objects if some are text.

    A missing label is NaN, which makes the numbers floats, or None among objects.
    """
    from pandas.api.types import is_numeric_dtype

    known = table.frame[names].notna().to_numpy()
    numbers = np.where(known, 0.0, np.nan)
    text: dict[int, NDArray[Any]] = {}
    for j, name in enumerate(names):
        column = table.frame[name][known[:, j]].infer_objects()  # gaps make objects
        if is_numeric_dtype(column.dtype):
            numbers[known[:, j], j] = column.to_numpy(dtype=np.float64)
        else:
            text[j] = column.astype(object).map(str).to_numpy(dtype=object)
    Y = whole_labels(numbers, table.path, lambda i, j: table.cell(names[j], i))
    if not text:
        return Y
    mixed = np.full(Y.shape, None, dtype=object)
    for j in range(len(names)):
        seen = known[:, j]
        mixed[seen, j] = text[j] if j in text else Y[seen, j].astype(int)
    return mixed
