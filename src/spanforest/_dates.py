"""What counts as a date: types of columns, values, and texts.

Times of day and durations count as dates too. None of them is a number: the unit would
decide what a distance is.
"""

import re
from datetime import date, time, timedelta
from typing import Any

import numpy as np

__all__ = [
    *("is_date", "is_date_text", "is_date_type", "is_duration", "is_duration_type"),
]

# how the names of the types begin in NumPy, pandas, polars and pyarrow
_TYPES = ("date", "time", "duration", "period")
_DURATION_TYPES = ("timedelta", "duration")
_DURATIONS = (timedelta, np.timedelta64)
_DATES = (date, time, np.datetime64, *_DURATIONS)
# 2024-05-01, 1.5.2024 or 5/1/24, with a time or without
_TEXT = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4}|\d{1,2}/\d{1,2}/\d\d)"
    r"([ T]\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[AaPp][Mm]|[+-]\d\d(:?\d\d)?))?)?"
)


def is_date_type(column_type: Any) -> bool:
    """Return whether a column of this type holds dates.

    Examples
    --------
    >>> is_date_type(np.dtype("datetime64[D]")), is_date_type(np.dtype(float))
    (True, False)
    """
    return str(column_type).lower().startswith(_TYPES)


def is_duration_type(column_type: Any) -> bool:
    """Return whether a column of this type holds durations.

    Examples
    --------
    >>> is_duration_type(np.dtype("timedelta64[s]"))
    True
    """
    return str(column_type).lower().startswith(_DURATION_TYPES)


def is_date(value: Any) -> bool:
    """Return whether a value is a date that Python, NumPy or pandas made.

    Examples
    --------
    >>> is_date(date(2024, 5, 1)), is_date("2024-05-01")
    (True, False)
    """
    return isinstance(value, _DATES) or type(value).__name__ == "Period"


def is_duration(value: Any) -> bool:
    """Return whether a value is a duration that Python, NumPy or pandas made.

    Examples
    --------
    >>> is_duration(timedelta(days=1)), is_duration(date(2024, 5, 1))
    (True, False)
    """
    return isinstance(value, _DURATIONS)


def is_date_text(text: str) -> bool:
    """Return whether a text is a date, with a time of day or without.

    Examples
    --------
    >>> is_date_text("1.5.2024"), is_date_text("5/1/24 12:30"), is_date_text("1.5")
    (True, True, False)
    """
    return _TEXT.fullmatch(text.strip()) is not None
