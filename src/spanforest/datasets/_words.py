"""The numbers that words stand for: no and yes, false and true, whole numbers."""

import re
from collections.abc import Sequence

_WORDS = {"no": 0, "n": 0, "false": 0, "f": 0, "yes": 1, "y": 1, "true": 1, "t": 1}


def numbers_of_words(values: Sequence[str]) -> list[int] | None:
    """Return 0 and 1 for no and yes, or false and true; None for other values.

    Examples
    --------
    >>> numbers_of_words(["Yes", "no"]), numbers_of_words(["yes", "maybe"])
    ([1, 0], None)
    """
    if len(values) > 2 or any(value.lower() not in _WORDS for value in values):
        return None
    numbers = [_WORDS[value.lower()] for value in values]
    return numbers if len(set(numbers)) == len(numbers) else None


def whole_numbers(values: Sequence[str]) -> list[int]:
    """Return the numbers that the values of a nominal attribute stand for.

    Whole numbers stand for themselves, no and yes or false and true for 0 and 1, and
    other values for their positions.
    """
    if all(re.fullmatch(r"[+-]?[0-9]{1,9}", value) for value in values):
        numbers = [int(value) for value in values]
        if len(set(numbers)) == len(numbers):  # 1 and 01 are equal numbers
            return numbers
    words = numbers_of_words(values)
    return list(range(len(values))) if words is None else words
