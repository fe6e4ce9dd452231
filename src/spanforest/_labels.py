"""Label matrices of any kind become codes, and codes become labels again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._wording import listed, quoted
from spanforest.metrics import find_missing, is_missing

__all__ = ["LabelCoding", "column_names", "read_labels", "series_name"]

_MOST_LISTED = 5  # in messages
_LONGEST = 60  # letters of a name or value
_NESTED = (set, frozenset, list, tuple, dict)


@dataclass(frozen=True, eq=False)
class LabelCoding:
    """The values of every label, numbered from 0 on, and the form of the user's Y."""

    classes: list[NDArray[Any]]  # per label, the sorted values seen in training
    names: NDArray[Any] | None  # names of the columns, if they have names
    is_vector: bool  # whether Y was 1-D
    dtype: np.dtype[Any]  # type of predictions
    is_sparse: bool = False  # whether Y was a sparse matrix

    @property
    def n_values(self) -> NDArray[np.intp]:
        """Number of values of every label."""
        return np.array([len(values) for values in self.classes])

    @property
    def sklearn_classes(self) -> NDArray[Any] | list[NDArray[Any]]:
        """`classes_` as scikit-learn's tools expect it.

        For a 1-D target these are its values, for an indicator matrix the numbers of
        the labels, and otherwise a list with the values of every label.
        """
        if self.is_vector:
            return self.classes[0]
        if self.dtype.kind in "biuf" and set(np.concatenate(self.classes)) <= {0, 1}:
            return np.arange(len(self.classes))
        return self.classes

    @property
    def is_on(self) -> list[NDArray[np.bool_]]:
        """Whether each value of each label means that the label is on.

        0 is off and 1 is on, even where only one of them occurs. Of other values the
        lowest is off and every other one is on.

        Examples
        --------
        >>> coding = read_labels([[1, "no", 3], [1, "yes", 3]])[1]
        >>> [on.tolist() for on in coding.is_on]
        [[True], [False, True], [False]]
        """
        return [
            values.astype(bool)
            if set(values.tolist()) <= {0, 1}
            else np.arange(len(values)) > 0
            for values in self.classes
        ]

    @property
    def constants(self) -> str:
        """The labels that have one value in training, in words; empty without any.

        Examples
        --------
        >>> read_labels([[1, 0, 3], [1, 1, 3]])[1].constants
        '0 (always 1), 2 (always 3)'
        """
        words = [
            f"{self.name_of(j)} (always {_shortened(values[0])})"
            for j, values in enumerate(self.classes)
            if len(values) == 1
        ]
        rest = f", ... ({len(words)} in all)" if len(words) > _MOST_LISTED else ""
        return ", ".join(words[:_MOST_LISTED]) + rest

    def name_of(self, j: int) -> str:
        """Return the name of a label for messages, or its number without one."""
        return _name(self.names, j)

    def to_labels(self, codes: NDArray[np.integer]) -> NDArray[Any]:
        """Return the labels of codes (n, n_labels), dense; 1-D if the user's Y was."""
        labels = np.empty(codes.shape, dtype=self.dtype)
        for j, values in enumerate(self.classes):
            labels[:, j] = values[codes[:, j]]
        return labels[:, 0] if self.is_vector else labels

    def to_output(self, codes: NDArray[np.integer]) -> Any:
        """Return the labels of codes; a CSR array if the user's Y was sparse."""
        labels = self.to_labels(codes)
        return sparse.csr_array(labels) if self.is_sparse else labels

    def restricted_to(
        self, codes: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], LabelCoding]:
        """Return codes for the values that occur in `codes`, and their coding.

        Examples
        --------
        >>> codes, coding = read_labels([["a"], ["b"], ["c"]])
        >>> codes, coding = coding.restricted_to(codes[[0, 2]])
        >>> codes.tolist(), coding.classes[0].tolist()
        ([[0], [1]], ['a', 'c'])
        """
        classes, codes = [], codes.copy()
        for j, (column, values) in enumerate(zip(codes.T, self.classes, strict=True)):
            observed = column >= 0
            if not observed.any():
                name = self.name_of(j)
                raise ValueError(
                    "every label must be observed for at least one example of positive "
                    f"weight; label {name} never is. Leave it out of Y."
                )
            kept, column[observed] = np.unique(column[observed], return_inverse=True)
            classes.append(values[kept])
        return codes, replace(self, classes=classes, dtype=_common_type(classes))


def read_labels(
    Y: Any, *, allow_missing: bool = False, missing_label: Any = None
) -> tuple[NDArray[np.int32], LabelCoding]:
    """Return codes for the values of every label of Y.

    Parameters
    ----------
    Y : array-like, DataFrame or sparse matrix, of shape (n_samples, n_labels), or 1-D
        A column per label, with any values that can be sorted. Entries that a sparse
        matrix does not store are 0.
    allow_missing : bool, default=False
        Whether entries may be missing: NaN, None, pandas.NA, or masked entries of a
        masked array. Every label must be observed at least once.
    missing_label : number or str, optional
        Another value that means missing, such as -1.

    Returns
    -------
    codes : ndarray of shape (n_samples, n_labels)
        0, 1, ... for the sorted values of each label, -1 for missing entries.
    coding : LabelCoding
        The values and names of the labels, and the form of Y.

    Examples
    --------
    >>> codes, coding = read_labels([["no", "red"], ["yes", "blue"]])
    >>> codes.tolist(), coding.n_values.tolist()
    ([[0, 1], [1, 0]], [2, 2])
    >>> read_labels([[0, 1], [1, float("nan")]], allow_missing=True)[0].tolist()
    [[0, 0], [1, -1]]
    """
    columns, names, is_vector = _columns(Y)
    gaps = [_find_missing(column, missing_label) for column in columns]
    _check_missing_label(missing_label, columns)
    some_missing = any(missing.any() for missing in gaps)
    classes, codes = [], []
    for j, (column, missing) in enumerate(zip(columns, gaps, strict=True)):
        name = _name(names, j)
        if missing.any():
            _check_missing(column, missing, name, allow_missing)
        rows = np.flatnonzero(~missing)
        column = np.asarray(column)[rows]
        if some_missing:  # the type must not depend on the missing entries
            column = _column(column)
        _check_values(column, rows, name)
        numbers = np.full(len(missing), -1, dtype=np.int32)
        try:
            values, numbers[rows] = np.unique(column, return_inverse=True)
        except TypeError:
            kinds = sorted({type(value).__name__ for value in column})
            raise ValueError(
                f"the values of a label must be comparable; label {name} mixes "
                f"{' and '.join(kinds)}. Convert them to one type."
            ) from None
        classes.append(values)
        codes.append(numbers)
    dtype = _common_type(classes)
    coding = LabelCoding(classes, names, is_vector, dtype, bool(sparse.issparse(Y)))
    return np.column_stack(codes), coding


def _columns(Y: Any) -> tuple[list[NDArray[Any]], NDArray[Any] | None, bool]:
    if Y is None:
        raise ValueError(
            "This classifier requires y to be passed, but the target y is None."
        )
    if hasattr(Y, "columns") and hasattr(Y, "iloc"):  # a DataFrame, without pandas
        names = np.asarray(Y.columns)
        _check_shape(Y.shape)
        if not Y.columns.is_unique:
            repeated = Y.columns[Y.columns.duplicated()][0]
            raise ValueError(
                f"the columns of Y must have different names; {quoted(repeated)} "
                "occurs more than once. Rename the columns."
            )
        return [_column(Y.iloc[:, j]) for j in range(Y.shape[1])], names, False
    if sparse.issparse(Y):
        _check_shape(Y.shape)
        return list(Y.toarray().T), None, False
    if (given := column_names(Y)) is not None:  # a table of polars or pyarrow
        _check_shape(Y.shape)
        if len(set(given)) < len(given):
            raise ValueError(
                f"the columns of Y must have different names; got {listed(given)}. "
                "Rename the columns."
            )
        return [_column(Y[name]) for name in given], np.array(given), False
    try:
        array = Y if isinstance(Y, np.ma.MaskedArray) else np.asarray(Y)
    except ValueError as error:
        raise ValueError(
            "Y must be a label matrix of shape (n_samples, n_labels); got rows of "
            "different lengths. Turn lists of label names into an indicator matrix "
            "with sklearn.preprocessing.MultiLabelBinarizer."
        ) from error
    _check_shape(array.shape)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be real or strings.")
    is_vector = array.ndim == 1
    if isinstance(Y, list | tuple) and array.dtype.kind in "US":
        array = np.asarray(Y, dtype=object)  # keeps numbers that stand among texts
        columns = [_column(column) for column in np.atleast_2d(array.T)]
    else:
        columns = list(np.atleast_2d(array.T))
    return columns, series_name(Y), is_vector


def _name(names: NDArray[Any] | None, j: int) -> str:
    """Return the name of a label for messages, or its number."""
    return str(j) if names is None else _shortened(names[j])


def _shortened(value: Any) -> str:
    """Return a name or a value for messages, without quotes."""
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def column_names(Y: Any) -> list[Any] | None:
    """Return the names of the columns of a table (pandas, polars, pyarrow), or None."""
    names = getattr(Y, "column_names", None)  # of pyarrow, whose columns are arrays
    names = getattr(Y, "columns", None) if names is None else names
    return None if names is None else list(names)


def series_name(Y: Any) -> NDArray[Any] | None:
    """Return the name of a Series as an array of one label name, None without one."""
    is_series = hasattr(Y, "iloc") or hasattr(Y, "to_frame")  # of pandas, or of polars
    # polars has the name "" for a Series without a name
    if not is_series or getattr(Y, "name", None) is None or str(Y.name) == "":
        return None
    names = np.empty(1, dtype=object)
    names[0] = Y.name
    return names


def _column(series: Any) -> NDArray[Any]:
    """Return an array; objects of one type get the NumPy type for them."""
    column = np.asarray(series)
    kinds = {type(value) for value in column} if column.dtype.kind == "O" else set()
    if len(kinds) == 1 and not kinds & set(_NESTED):  # NumPy would add a dimension
        return np.array(column.tolist())
    return column


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) not in (1, 2):
        raise ValueError(
            f"Y must have shape (n_samples, n_labels) or (n_samples,); got an array "
            f"with {len(shape)} dimensions, shape {shape}."
        )
    if 0 in shape:
        raise ValueError(
            f"Y must hold at least one example and one label; got shape {shape}."
        )


def _check_values(column: NDArray[Any], rows: NDArray[np.intp], name: Any) -> None:
    """Refuse values that are no classes; value i belongs to example rows[i]."""
    if column.dtype.kind not in "fO":
        return
    if column.dtype.kind == "f" and np.isinf(column).any():
        i = rows[np.isinf(column)][0]
        raise ValueError(
            f"Y must hold classes; label {name} of example {i} is infinity. Use NaN "
            "for a label that was not observed."
        )
    fractions = np.array(
        [isinstance(value, float) and value % 1 != 0 for value in column]
    )
    if fractions.any():
        raise ValueError(
            f"Unknown label type: continuous. Labels are classes, but label {name} of "
            f"example {rows[fractions][0]} is {column[fractions][0]}. Bin such values "
            "first (numpy.digitize), or use a regressor."
        )
    if isinstance(column[0], _NESTED):
        raise ValueError(
            "Y must be a label matrix with a single value in every cell; got a "
            f"{type(column[0]).__name__} in label {name} of example {rows[0]}. Turn "
            "sets of label names into an indicator matrix with "
            "sklearn.preprocessing.MultiLabelBinarizer."
        )


def _find_missing(column: NDArray[Any], missing_label: Any) -> NDArray[np.bool_]:
    """Return which entries of a column are missing."""
    missing, values = find_missing(column), np.asarray(column)
    if missing_label is None or is_missing(missing_label):
        return missing
    if not np.isscalar(missing_label):
        raise ValueError(
            "missing_label must be the one number or string that means not observed; "
            f"got {quoted(missing_label)}."
        )
    known = np.flatnonzero(~missing)  # pandas.NA must not be compared
    equal = [value == missing_label for value in values[known].tolist()]
    missing[known] = np.array(equal, dtype=bool)
    return missing


def _check_missing_label(missing_label: Any, columns: list[NDArray[Any]]) -> None:
    """Refuse text if all labels are numbers, and a number if all labels are text."""
    if missing_label is None or is_missing(missing_label):
        return
    as_text = isinstance(missing_label, str)
    for column in columns:
        values = np.asarray(column)[~find_missing(column)]
        if any(isinstance(value, str) == as_text for value in values):
            return
    expected, given = ("numbers", "text") if as_text else ("text", "a number")
    raise ValueError(
        f"missing_label must be of the type of the labels, which are {expected}; got "
        f"{given}, {quoted(missing_label)}. If missing labels are NaN or None, leave "
        "missing_label out."
    )


def _check_missing(
    column: NDArray[Any], missing: NDArray[np.bool_], name: Any, allowed: bool
) -> None:
    if not allowed:
        i = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"Y must be fully observed; label {name} of example {i} is {column[i]}, "
            "which means missing. Drop or fill such examples."
        )
    if missing.all():
        raise ValueError(
            f"every label must be observed for at least one example; label {name} "
            "never is. Leave it out of Y."
        )


def _common_type(classes: list[NDArray[Any]]) -> np.dtype[Any]:
    """Return a type that holds the values of all labels; whole numbers stay whole."""
    letters = [values.dtype.kind for values in classes]
    kinds = {"number" if kind in "biuf" else kind for kind in letters}
    if len(kinds) > 1:
        return np.dtype(object)
    common = np.result_type(*classes)
    if common.kind == "f" and all(kind in "biu" for kind in letters):
        # NumPy's common type of int64 and uint64 is float64
        fits = max(int(values.max()) for values in classes) <= np.iinfo(np.int64).max
        return np.dtype(np.int64 if fits else object)
    return common
