"""How messages and tables put things: numbers with nouns, lists, names of labels."""

from collections.abc import Sequence

__all__ = ["count", "listed", "numbered_labels"]

_MOST_LISTED = 5


def count(number: int, noun: str) -> str:
    """Give a number with its noun, in the plural unless it is one.

    Examples
    --------
    >>> count(1, "tree"), count(60, "tree")
    ('1 tree', '60 trees')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Give names in quotes, the first few of many.

    Examples
    --------
    >>> listed(["happy", "sad"])
    "'happy', 'sad'"
    >>> listed("abcdefg")
    "'a', 'b', 'c', 'd', 'e', ... (7 in all)"
    """
    shown = ", ".join(map(repr, names[:_MOST_LISTED]))
    if len(names) <= _MOST_LISTED:
        return shown
    return f"{shown}, ... ({len(names)} in all)"


def numbered_labels(n_labels: int) -> tuple[str, ...]:
    """Give the names of labels that have none.

    Examples
    --------
    >>> numbered_labels(2)
    ('label0', 'label1')
    """
    return tuple(f"label{j}" for j in range(n_labels))
