"""Reading data sets from tables: CSV and Parquet files, by means of pandas."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from spanforest._wording import listed
from spanforest.datasets._csv_format import CsvFormat, CsvText, read_csv_text
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._memory import MemoryLimit, TooLargeError
from spanforest.datasets._tables import Choice, TableFile, make_dataset


def load_csv(
    path: str | os.PathLike[str],
    labels: str | int | Sequence[str],
    *,
    features: Sequence[str] | None = None,
    drop: str | Iterable[str] = (),
    max_memory: int | None = None,
    **csv_format: Unpack[CsvFormat],
) -> Dataset:
    """Read a multilabel data set from a text file with a row per example.

    Parameters
    ----------
    path : path
        The file; ``.gz``, ``.bz2``, ``.xz`` and ``.zip`` are decompressed. Its first
        line names the columns, after a line ``sep=;`` if there is one.
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
    max_memory : int, optional
        The largest number of bytes that the contents may take. By default 2 GiB, or
        a quarter of the machine's memory if that is less.
    delimiter : str, optional
        The character between two values. By default a tab in ``.tsv`` and ``.tab``
        files; in others what a first line such as ``sep=;`` names, which Excel reads
        too, else the comma, semicolon, tab or bar that the first rows show.
    decimal : str, optional
        The decimal mark, a point or a comma. By default a comma if numbers are written
        with commas and none with a point.
    encoding : str, optional
        The encoding of the file. By default UTF-8, or UTF-16 if the file says so.
        A `CsvFormat` keeps `delimiter`, `decimal` and `encoding` for many files.

    Returns
    -------
    dataset : Dataset
        Missing features are NaN. `Y` holds whole numbers, or objects if the values of a
        label are text. True and false are 1 and 0; `boolean_labels` names such labels.
        A cell that is empty, ``?``, or that pandas reads as missing (NA), is a missing
        label: NaN, which makes `Y` of type float, or None among objects. Estimators
        learn from the other labels. A feature of text becomes codes: `categories` says
        for what, and `nominal_features` marks such columns. Encode them with
        scikit-learn's ``OneHotEncoder``.

    Raises
    ------
    ValueError
        If the file is not such a table, or a column is missing, has the same name as
        another one, or cannot be used. A column of text whose values all differ is an
        identifier, and cannot be used unless `features` names it. The same holds for a
        column of text that is dates. Dates and durations of other types cannot be used
        as features.
    ImportError
        If pandas is not installed.

    Warns
    -----
    UserWarning
        If a column of numbers counts the rows, unless `features` names it. If a first
        column without a name is left out though its values repeat.

    Notes
    -----
    A first column without a name is left out: it holds the row numbers, or names of
    rows, that pandas and R write.

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
    _check_keywords(csv_format)
    _import_pandas()
    path = os.fspath(path)
    is_tsv = re.search(r"(?i)\.(tsv|tab)(\.\w+)?$", path) is not None
    if is_tsv and csv_format.get("delimiter") is None:
        csv_format["delimiter"] = "\t"
    source = read_csv_text(path, csv_format, MemoryLimit.of(path, max_memory))
    frame = _parse(source, path)
    _check_header(list(frame.columns), path)
    _check_delimiter(list(frame.columns), path, source)
    renamed = _renamed(list(frame.columns), source)
    frame = _without_row_names(frame, path)
    table = TableFile(frame, path, source.line_of_row, renamed)
    return make_dataset(table, Choice(labels, features, drop))


def _check_keywords(csv_format: CsvFormat) -> None:
    """Refuse what is no keyword of `load_csv`: Python lets all of them pass."""
    known = list(CsvFormat.__annotations__)
    for name in csv_format:
        if name not in known:
            raise TypeError(
                f"load_csv() got an unexpected keyword argument {name!r}. A file's "
                f"format is described by {', '.join(known)}."
            )


def _parse(source: CsvText, path: str) -> Any:
    """Return the data frame that pandas reads from a text."""
    import pandas

    try:
        return pandas.read_csv(
            io.StringIO(source.text),
            sep=source.delimiter,
            decimal=source.decimal,
            na_values=["?"],
            index_col=False,
            low_memory=False,
        )
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{path}: expected lines of values separated by {source.delimiter!r}, the "
            "first one with the names of the columns. Is a quote not closed?"
        ) from error


def _without_row_names(frame: Any, path: str) -> Any:
    """Leave out a first column without a name; warn if its values repeat."""
    if frame.columns[0] != "Unnamed: 0":  # pandas' word for an empty name
        return frame
    if not frame.iloc[:, 0].dropna().is_unique:
        warnings.warn(
            f"{path}: the first column has no name, and is left out as if it named the "
            "rows, but its values repeat. Name it to use it.",
            stacklevel=3,
        )
    return frame.iloc[:, 1:]


def _renamed(names: list[str], source: CsvText) -> dict[str, str]:
    """Return what pandas calls columns of the same name, and their own name of each."""
    _, header = next(source.rows())
    counts = Counter(header)
    pairs = zip(names, header, strict=True)
    return {new: old for new, old in pairs if counts[old] > 1 and old}


def load_parquet(
    path: str | os.PathLike[str],
    labels: str | int | Sequence[str],
    *,
    features: Sequence[str] | None = None,
    drop: str | Iterable[str] = (),
    max_memory: int | None = None,
) -> Dataset:
    """Read a multilabel data set from a Parquet file with a row per example.

    Parameters
    ----------
    path : path
        The file.
    labels, features, drop, max_memory
        As in `load_csv`.

    Returns
    -------
    dataset : Dataset
        As from `load_csv`.

    Raises
    ------
    ValueError
        If the file is not such a table, or a column is missing, has the same name as
        another one, or cannot be used.
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
    open(path, "rb").close()  # an error of the system says what is wrong
    try:
        twice = _check_parquet(path, MemoryLimit.of(path, max_memory))
        frame = None if twice else pandas.read_parquet(path)
    except ImportError as error:
        raise ImportError(
            'Parquet files need pyarrow: pip install "spanforest[cli]".'
        ) from error
    except TooLargeError:
        raise
    except Exception as error:  # damage can raise any error
        raise ValueError(
            f"{path}: expected a Parquet file. This is another kind of file, or it is "
            "damaged."
        ) from error
    if twice:
        raise ValueError(
            f"{path}: every column needs a name of its own; the file has "
            f"{listed(twice)} more than once. Rename all but one."
        )
    return make_dataset(TableFile(frame, path), Choice(labels, features, drop))


def _check_parquet(path: str, memory: MemoryLimit) -> list[str]:
    """Refuse a file of more values than may be read; return names that repeat."""
    from pyarrow.parquet import read_metadata

    facts = read_metadata(path)
    groups = (facts.row_group(i) for i in range(facts.num_row_groups))
    n_bytes = sum(group.total_byte_size for group in groups)
    memory.check(max(n_bytes, 8 * facts.num_rows * facts.num_columns))
    counts = Counter(facts.schema.to_arrow_schema().names)
    return [name for name, number in counts.items() if number > 1]


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
            f"{', '.join(name[:20] for name in names[:3])}, ... Add a first line with "
            "names."
        )


def _check_delimiter(names: list[str], path: str, source: CsvText) -> None:
    """Refuse a single column whose name contains another likely delimiter."""
    likely = (source.hint or "") + ";\t,|"
    marks = [mark for mark in likely if mark in names[0] and mark != source.delimiter]
    if len(names) == 1 and marks:
        raise ValueError(
            f"{path}: expected {source.delimiter!r} between the columns; found one "
            f"column, {names[0][:60]!r}. Pass delimiter={marks[0]!r}."
        )
