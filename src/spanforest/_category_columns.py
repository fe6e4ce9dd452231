"""Columns of categories become numbers, in arrays and in data frames."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._dates import (
    is_date,
    is_date_text,
    is_date_type,
    is_duration,
    is_duration_type,
)
from spanforest._text_columns import name_rows
from spanforest._wording import did_you_mean, quoted
from spanforest.metrics import is_missing

__all__ = ["CategoryColumns"]

_CATEGORY_TYPES = ("category", "Categorical", "Enum")  # of pandas and of polars


@dataclass(frozen=True, eq=False)
class CategoryColumns:
    """The columns that hold categories, and the categories of each."""

    categories: dict[int, list[Any]]  # that occur, by the position of the column

    @classmethod
    def of(cls, X: Any, columns: Sequence[Any] | None) -> CategoryColumns | None:
        """Learn the categories of training examples; None if no column has any.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
            The examples.
        columns : sequence of str or int, optional
            Names or positions of columns with categories. The columns of type
            ``category`` of a data frame are always among them.

        Examples
        --------
        >>> known = CategoryColumns.of([["red", 1], ["blue", 2]], columns=[0])
        >>> known.numbers([["blue", 5], ["green", 6]])
        array([[ 0.,  5.],
               [nan,  6.]])
        """
        told = [] if columns is None else list(columns)
        if not told and not _is_frame(X):
            return None
        if sparse.issparse(X):
            raise ValueError(
                "columns of categories need a dense X; got a sparse matrix and "
                f"categories={quoted(told)}. Pass X.toarray(), or leave categories out."
            )
        X = X if _is_frame(X) else np.asarray(X, dtype=object)
        if len(X.shape) != 2:
            return None  # scikit-learn says what is wrong
        places = {_place(X, column) for column in told}
        if _is_frame(X):
            places |= {j for j in range(X.shape[1]) if _is_category(_column(X, j))}
        if not places:
            return None
        return cls({j: _categories(_column(X, j), _name(X, j)) for j in sorted(places)})

    def numbers(self, X: Any) -> NDArray[np.float64]:
        """Return X with numbers for categories, NaN for unknown and missing ones."""
        X = X if _is_frame(X) else np.asarray(X, dtype=object)
        if len(X.shape) != 2 or X.shape[1] <= max(self.categories):
            raise ValueError(
                "X must have a column for each feature of training; got shape "
                f"{np.shape(X)}, and column {max(self.categories)} has categories."
            )
        matrix = np.empty(X.shape)
        for j in range(X.shape[1]):
            column = _column(X, j)
            if j in self.categories:
                known, values = self.categories[j], _single_values(column, _name(X, j))
                _check_kind(known, values, _name(X, j))
                codes = {value: code for code, value in enumerate(known)}
                matrix[:, j] = [codes.get(value, np.nan) for value in values]
            else:
                matrix[:, j] = _floats(column, _name(X, j))
        return matrix

    def indicators(self, X: Any) -> NDArray[np.float64]:
        """Return X with a column of 0 and 1 for each category in place of the category.

        An unknown or missing category is 0 everywhere.

        Examples
        --------
        >>> known = CategoryColumns.of([["red", 1], ["blue", 2]], columns=[0])
        >>> known.indicators([["blue", 5], ["green", 6]])
        array([[1., 0., 5.],
               [0., 0., 6.]])
        """
        numbers = self.numbers(X)
        columns = [
            numbers[:, [j]] == np.arange(len(self.categories[j]))
            if j in self.categories
            else numbers[:, [j]]
            for j in range(numbers.shape[1])
        ]
        return np.hstack(columns, dtype=np.float64)

    def warn_of_identifiers(
        self, n_samples: int, names: Sequence[Any] | None, stacklevel: int
    ) -> None:
        """Warn of columns of dates or identifiers: new examples have other ones.

        Parameters
        ----------
        n_samples : int
            Number of training examples.
        names : sequence of str, optional
            Names of all columns.
        stacklevel : int
            As for `warnings.warn`, counted from the caller.
        """
        for j, known in self.categories.items():
            name = quoted(j if names is None else names[j])
            many = f"{len(known)} categories in {n_samples} examples"
            if known and all(_is_date(value) for value in known):
                warnings.warn(
                    f"the categories of the feature {name} are dates, such as "
                    f"{quoted(str(known[0]))}, and other dates will be unknown. Turn "
                    "them into the numbers that matter, such as the month or the days "
                    "since a date, or leave the feature out.",
                    stacklevel=stacklevel + 1,
                )
            elif name_rows(len(known), n_samples):
                warnings.warn(
                    f"the feature {name} has {many}, such as {quoted(known[0])}. If it "
                    "names the examples, leave it out: nothing can be learned from it.",
                    stacklevel=stacklevel + 1,
                )

    def summed(self, values: NDArray[np.float64], n_features: int) -> Any:
        """Return a row per feature of X, given a row per indicator or per number.

        Examples
        --------
        >>> known = CategoryColumns.of([["red", 1], ["blue", 2]], columns=[0])
        >>> known.summed(np.array([[1.0], [2.0], [5.0]]), n_features=2).tolist()
        [[3.0], [5.0]]
        """
        if len(values) == n_features:
            return values
        sizes = [len(self.categories.get(j, [j])) for j in range(n_features)]
        total = np.zeros((n_features, *values.shape[1:]))
        np.add.at(total, np.repeat(np.arange(n_features), sizes), values)
        return total


def _is_date(value: Any) -> bool:
    return is_date_text(value) if isinstance(value, str) else is_date(value)


def point_out_text(X: Any) -> None:
    """Raise an error about the first column that holds no numbers, if there is one.

    Examples
    --------
    >>> point_out_text([[1, 2], ["red", 3]])
    Traceback (most recent call last):
        ...
    ValueError: column 0 of X must hold numbers; found 'red'. ...
    """
    X = X if _is_frame(X) else np.asarray(X, dtype=object)
    if np.ndim(X) == 1 and isinstance(X[0], str):
        raise ValueError(
            f"X must be a table of numbers; found the text {quoted(X[0])}. Turn "
            "texts into numbers first, for example with scikit-learn's TfidfVectorizer."
        )
    for j in range(X.shape[1] if np.ndim(X) == 2 else 0):
        _floats(_column(X, j), _name(X, j))


def point_out_dates(X: Any) -> None:
    """Raise an error about the first column of dates or durations, if there is one.

    Of columns of objects only the first known value is looked at.

    Examples
    --------
    >>> point_out_dates(np.array([["2024-05-01"]], dtype="datetime64[D]"))
    Traceback (most recent call last):
        ...
    ValueError: column 0 of X must hold numbers; it holds dates or times ...
    """
    if _is_frame(X):
        types = X.schema.types if _is_arrow(X) else list(X.dtypes)
        suspects = {one for one in set(types) if is_date_type(one) or _is_object(one)}
        for j, one in enumerate(types):
            if one in suspects:
                _refuse_dates(_column(X, j), _name(X, j), one)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "mMO":
        for j in range(X.shape[1]):
            _refuse_dates(X[:, j], j, X.dtype)


def point_out_complex(X: Any) -> None:
    """Raise an error about the first complex column of a data frame, if there is one.

    scikit-learn drops the imaginary parts if other columns are of pandas' nullable
    types.

    Examples
    --------
    >>> point_out_complex(np.array([[1j]]))  # scikit-learn's checks refuse it
    """
    if _is_frame(X) and not _is_arrow(X):
        for name, one in zip(_names(X), X.dtypes, strict=True):
            if getattr(one, "kind", "") == "c":
                _refuse_complex(name)


def _is_object(column_type: Any) -> bool:
    return str(column_type).lower() == "object"


def _refuse_dates(column: Any, name: Any, column_type: Any) -> None:
    """Raise an error if a column of this type holds dates or durations."""
    if is_date_type(column_type):
        _refuse_column(name, str(column_type), is_duration_type(column_type))
    if _is_object(column_type):
        known = (value for value in _values(column) if not is_missing(value))
        first = next(known, None)
        if is_date(first):
            _refuse_column(name, quoted(first), is_duration(first))


def _refuse_column(name: Any, what: str, holds_durations: bool) -> NoReturn:
    kind = "durations" if holds_durations else "dates or times"
    numbers = (
        "seconds or days (.dt.total_seconds() in pandas)"
        if holds_durations
        else "the numbers that matter, such as the month, the hour or the days since a "
        "date (.dt.month, .dt.hour in pandas)"
    )
    raise ValueError(
        f"column {quoted(name)} of X must hold numbers; it holds {kind} ({what}). Turn "
        f"them into {numbers}, or leave the column out."
    )


def _refuse_complex(name: Any) -> NoReturn:
    raise ValueError(
        f"Complex data not supported: column {quoted(name)} of X. Make features of the "
        "real and the imaginary parts, for example."
    )


def _refuse_nested(name: Any, value: Any) -> NoReturn:
    raise ValueError(
        f"column {quoted(name)} of X must hold one value in each row; found "
        f"{quoted(value)}. Give each of its entries a column of its own, or leave the "
        "column out."
    )


def _check_kind(known: list[Any], values: list[Any], name: Any) -> None:
    """Refuse numbers where categories are text, and text where they are numbers.

    They are codes of the same categories, most likely; as categories they are unknown.
    """
    is_text = {isinstance(value, str) for value in known}
    if len(is_text) != 1:
        return
    wrong = (
        value
        for value in values
        if isinstance(value, str) not in is_text and not is_missing(value)
    )
    if (example := next(wrong, None)) is not None:
        raise ValueError(
            f"column {quoted(name)} of X had categories such as {quoted(known[0])} in "
            f"training; found {quoted(example)}. Pass the categories themselves, not "
            "numbers that stand for them."
            if is_text == {True}
            else f"column {quoted(name)} of X had numbers as categories in training, "
            f"such as {quoted(known[0])}; found {quoted(example)}. Pass these "
            "numbers."
        )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape") and not sparse.issparse(X)


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "column_names")  # their `columns` are data


def _column(X: Any, j: int) -> Any:
    if _is_arrow(X):
        return X.column(j).to_numpy()
    return X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]


def _names(X: Any) -> list[Any]:
    return list(X.column_names if _is_arrow(X) else X.columns)


def _name(X: Any, j: int) -> Any:
    return _names(X)[j] if _is_frame(X) else j


def _place(X: Any, column: Any) -> int:
    """Return the position of a column that is given by name or position."""
    names = _names(X) if _is_frame(X) else []
    if column in names:
        return names.index(column)
    is_position = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if is_position and 0 <= column < X.shape[1]:
        return int(column)
    known = f"names such as {quoted(names[0])}, or " if names else ""
    raise ValueError(
        f"categories must be {known}positions from 0 to {X.shape[1] - 1}; got "
        f"{quoted(column)}, which is no column of X.{did_you_mean([column], names)}"
    )


def _is_category(series: Any) -> bool:
    return str(series.dtype).partition("(")[0] in _CATEGORY_TYPES


def _categories(column: Any, name: Any) -> list[Any]:
    """Return the categories that occur in their order: that of pandas, else sorted."""
    if hasattr(column, "cat") and hasattr(column.cat, "categories"):
        # a selection of rows still declares the categories of all rows
        return list(column.cat.remove_unused_categories().cat.categories)
    values = dict.fromkeys(_single_values(column, name))
    seen = [value for value in values if not is_missing(value)]
    try:
        return sorted(seen)
    except TypeError:  # text beside numbers
        return sorted(seen, key=lambda value: (type(value).__name__, str(value)))


def _values(column: Any) -> list[Any]:
    return np.asarray(column, dtype=object).tolist()


def _single_values(column: Any, name: Any) -> list[Any]:
    """Return the values of a column of categories; refuse lists and the like."""
    values = _values(column)
    for value in values:
        try:
            hash(value)
        except TypeError:
            _refuse_nested(name, value)
    return values


def _floats(column: Any, name: Any) -> NDArray[np.float64]:
    """Return a column of numbers, NaN where it is missing."""
    column_type = getattr(column, "dtype", None)
    _refuse_dates(column, name, column_type)
    if getattr(column_type, "kind", "") == "c":
        _refuse_complex(name)
    try:
        if hasattr(column, "iloc"):  # pandas.NA is no number for NumPy
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        known = (value for value in _values(column) if not is_missing(value))
        text = next(value for value in known if not isinstance(value, Real))
        if isinstance(text, complex):
            _refuse_complex(name)
        if isinstance(text, Collection) and not isinstance(text, str | bytes):
            _refuse_nested(name, text)
        raise ValueError(
            f"column {quoted(name)} of X must hold numbers; found {quoted(text)}. If "
            'it holds categories, give it the type "category" in pandas, or name it in '
            "ForestKernel(categories=[...]). If it only names the rows, leave it out."
        ) from None
