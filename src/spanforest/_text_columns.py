"""What the texts of a column may be, if not categories: dates, or names of rows."""

from collections.abc import Iterable

from spanforest._dates import is_date_text

__all__ = ["are_dates", "name_rows"]

_FEW_ROWS = 2  # so few rows do not tell an identifier from a category
_MANY_ROWS = 50  # in so many rows a category occurs more than twice on average


def are_dates(texts: Iterable[str]) -> bool:
    """Return whether all texts are dates, of which new rows have others.

    Examples
    --------
    >>> are_dates(["2024-05-01", "3.5.2024 12:30"]), are_dates(["red", "2024-05-01"])
    (True, False)
    """
    return all(map(is_date_text, texts))


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
