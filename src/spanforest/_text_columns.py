"""What the texts of a column may be, if not categories: dates, or names of rows."""

import re
from collections.abc import Iterable

__all__ = ["are_dates", "name_rows"]

_FEW_ROWS = 2  # so few rows do not tell an identifier from a category
_MANY_ROWS = 50  # in so many rows a category occurs more than twice on average
# 2024-05-01, 1.5.2024 or 5/1/24, with a time or without
_DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4}|\d{1,2}/\d{1,2}/\d\d)"
    r"([ T]\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[AaPp][Mm]|[+-]\d\d(:?\d\d)?))?)?"
)


def are_dates(texts: Iterable[str]) -> bool:
    """Return whether all texts are dates, of which new rows have others.

    Examples
    --------
    >>> are_dates(["2024-05-01", "3.5.2024 12:30"]), are_dates(["red", "2024-05-01"])
    (True, False)
    """
    return all(_DATE.fullmatch(text.strip()) for text in texts)


def name_rows(n_texts: int, n_rows: int) -> bool:
    """Return whether so many different texts in so many rows name the rows.

    Examples
    --------
    >>> name_rows(5, 5), name_rows(40, 60), name_rows(3, 60)
    (True, True, False)
    """
    if n_texts == n_rows:
        return n_rows > _FEW_ROWS
    return 2 * n_texts > n_rows >= _MANY_ROWS
