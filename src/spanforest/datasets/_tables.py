"""Data sets from tables of pandas: numbers, categories and labels."""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from spanforest._dates import is_date, is_date_type
from spanforest._text_columns import are_dates, name_rows
from spanforest._wording import listed, quoted, to_drop
from spanforest.datasets._columns import Columns, whole_labels
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._text_files import stem
from spanforest.datasets._words import numbers_of_words

_SOME_ROWS = 10  # so many numbers in a row are no accident


class Choice(NamedTuple):
    """Which columns of a table are used; see `load_csv`."""

    labels: str | int | Sequence[str]
    features: Sequence[str] | None = None
    drop: str | Iterable[str] = ()


class TableFile(NamedTuple):
    """A data frame and the file it comes from."""

    frame: Any
    path: str
    line_of_row: Callable[[int], int | None] = lambda i: None
    renamed: Mapping[str, str] = MappingProxyType({})  # new to old, of repeated names

    def cell(self, name: str, row: int) -> str:
        """Return where a value stands, for messages."""
        line = self.line_of_row(row)
        return f"{quoted(name)} of row {row + 1}" + (f" (line {line})" if line else "")


def make_dataset(table: TableFile, choice: Choice) -> Dataset:
    """Return the data set in the columns of a table; see `load_csv`."""
    frame, path = table.frame, table.path
    frame.columns = [str(name) for name in frame.columns]
    if frame.empty:
        raise ValueError(
            f"{path}: the table has no {'columns' if frame.shape[0] else 'rows'}."
        )
    columns = Columns(list(frame.columns), path)
    kept = columns.without(choice.drop)
    label_names = kept.choose(choice.labels)
    kept.check(label_names, "labels")
    features = choice.features
    if features is None:
        are_labels = set(label_names)
        features = [name for name in kept.names if name not in are_labels]
    columns.check(features, "features")
    _refuse_repeated(table, [*label_names, *features], can_drop=choice.features is None)
    X, categories = _feature_matrix(table, list(features))
    if choice.features is None:  # the user did not name these columns
        _point_out_dates(table, categories)
        _point_out_identifiers(table, categories)
        _point_out_row_numbers(table, features, X)
    is_nominal = np.array([name in categories for name in features], dtype=bool)
    Y, boolean_labels = _label_matrix(table, label_names)
    return Dataset(
        name=stem(os.fspath(path)),
        X=X,
        Y=Y,
        feature_names=tuple(features),
        label_names=tuple(label_names),
        nominal_features=is_nominal if categories else None,
        categories=categories,
        boolean_labels=boolean_labels,
    )


def _refuse_repeated(table: TableFile, used: Sequence[str], *, can_drop: bool) -> None:
    """Refuse columns of the same name: another file may have them in another order.

    Columns that were asked for by name cannot be left out.
    """
    twice = list(dict.fromkeys(table.renamed[n] for n in used if n in table.renamed))
    if twice:
        alike = [new for new, old in table.renamed.items() if old in twice]
        advice = "Rename all but the one that is meant"
        if can_drop:
            advice = "Rename these columns there, or leave all of them out: "
            advice += to_drop(alike)
        raise ValueError(
            f"{table.path}: every column needs a name of its own; the first line has "
            f"{listed(twice)} more than once. {advice}."
        )


def _feature_matrix(
    table: TableFile, names: list[str]
) -> tuple[NDArray[np.float64], dict[str, tuple[str, ...]]]:
    """Return the features as numbers, and the categories that codes stand for."""
    columns = table.frame[names]
    are_numbers = [dtype.kind in "biuf" for dtype in columns.dtypes]
    numbers = columns.loc[:, are_numbers]
    X = np.empty(columns.shape)
    X[:, are_numbers] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    categories: dict[str, tuple[str, ...]] = {}
    for j in np.flatnonzero(~np.array(are_numbers, dtype=bool)).tolist():
        X[:, j], texts = _read_words(table, names[j])
        if texts:
            categories[names[j]] = texts
    return X, categories


def _read_words(
    table: TableFile, name: str
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return a column that is not of numbers as codes, and what they stand for.

    True and false, yes and no are 1 and 0, and stand for themselves. A column with
    more numbers than words is refused: the words are more likely mistakes. So are
    dates and durations.
    """
    column = table.frame[name]
    if _holds_dates(column):
        _refuse_dates(table, name, next(iter(column.dropna()), "NaT"))
    known = column.notna().to_numpy(dtype=bool)
    codes = np.full(len(column), np.nan)
    values = column[known]
    if all(isinstance(value, bool | np.bool_) for value in values):
        codes[known] = values.to_numpy(dtype=np.float64)
        return codes, ()
    is_word = known & _are_words(column)
    if 2 * is_word.sum() <= known.sum():
        # numbers in quotes are text too
        row = int(np.argmax(is_word if is_word.any() else known))
        raise ValueError(
            f"{table.path}: features must be numbers; {table.cell(name, row)} is "
            f"{quoted(column.iloc[row])}. Turn such values into numbers, leave them "
            f"empty if they are missing, or leave the column out: {to_drop([name])}."
        )
    words = values.astype(object).map(str).to_numpy(str)
    texts, places = np.unique(words, return_inverse=True)
    numbers = numbers_of_words(texts.tolist())
    codes[known] = places if numbers is None else np.array(numbers)[places]
    return codes, tuple(texts.tolist()) if numbers is None else ()


def _holds_dates(column: Any) -> bool:
    """Return whether a column holds dates, times or durations, not text."""
    if is_date_type(column.dtype):
        return True
    known = column.dropna()
    return len(known) > 0 and is_date(known.iloc[0])


def _refuse_dates(table: TableFile, name: str, value: Any) -> NoReturn:
    raise ValueError(
        f"{table.path}: {quoted(name)} holds dates, times or durations, such as "
        f"{quoted(str(value))}. Turn them into the numbers that matter, such as the "
        "month, the hour, days since a date or seconds, or leave the column out: "
        f"{to_drop([name])}."
    )


def _point_out_dates(table: TableFile, categories: dict[str, tuple[str, ...]]) -> None:
    """Refuse columns of text that are all dates: new dates would be unknown."""
    for name, texts in categories.items():
        if are_dates(texts):
            _refuse_dates(table, name, texts[0])


def _are_words(column: Any) -> NDArray[np.bool_]:
    """Return which values of a column are not numbers, nor texts of numbers."""
    import pandas

    try:
        return pandas.to_numeric(column, errors="coerce").isna().to_numpy()
    except (TypeError, ValueError, OverflowError):  # a list, or thousands of digits
        return np.array([not re.fullmatch(r"[+-]?\d+", str(value)) for value in column])


def _point_out_identifiers(
    table: TableFile, categories: dict[str, tuple[str, ...]]
) -> None:
    """Refuse columns of text that name rows: nothing can be learned from them."""
    n_known = {name: int(table.frame[name].notna().sum()) for name in categories}
    names = [
        name
        for name, texts in categories.items()
        if name_rows(len(texts), n_known[name])
    ]
    if not names:
        return
    first = categories[names[0]]
    raise ValueError(
        f"{table.path}: {quoted(names[0])} has {len(first)} different texts in "
        f"{n_known[names[0]]} rows, such as {quoted(first[0])}: it names the rows, or "
        f"is free text, and is no category. Leave it out: {to_drop(names)}."
    )


def _point_out_row_numbers(
    table: TableFile, names: Sequence[str], X: NDArray[np.float64]
) -> None:
    """Warn of columns that count the rows: a model would learn their order."""
    if len(X) < _SOME_ROWS:
        return
    steps = np.arange(len(X))
    with np.errstate(invalid="ignore"):  # infinite values are refused later
        first_steps = X[1] - X[0]
    numbering = [
        names[j]
        for j in np.flatnonzero(first_steps == 1).tolist()
        if X[0, j] % 1 == 0 and np.array_equal(X[:, j] - X[0, j], steps)
    ]
    if numbering:
        warnings.warn(
            f"{table.path}: {listed(numbering)} counts the rows. If it is an "
            f"identifier, leave it out: {to_drop(numbering)}.",
            stacklevel=4,
        )


def _label_matrix(
    table: TableFile, names: list[str]
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the labels as whole numbers, or as objects if some are text.

    A missing label is NaN, which makes the numbers floats, or None among objects. True
    and false are 1 and 0; the names of such labels are returned too.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    known = table.frame[names].notna().to_numpy()
    numbers = np.where(known, 0.0, np.nan)
    text: dict[int, NDArray[Any]] = {}
    booleans = []
    for j, name in enumerate(names):
        column = table.frame[name][known[:, j]].infer_objects()  # gaps make objects
        if is_numeric_dtype(column.dtype):
            numbers[known[:, j], j] = column.to_numpy(dtype=np.float64)
            if is_bool_dtype(column.dtype):
                booleans.append(name)
        else:
            text[j] = column.astype(object).map(str).to_numpy(dtype=object)
    Y = whole_labels(numbers, table.path, lambda i, j: table.cell(names[j], i))
    if not text:
        return Y, tuple(booleans)
    mixed = np.full(Y.shape, None, dtype=object)
    for j in range(len(names)):
        seen = known[:, j]
        mixed[seen, j] = text[j] if j in text else Y[seen, j].astype(int)
    return mixed, tuple(booleans)
