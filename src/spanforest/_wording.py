"""Wording of messages and tables: numbers with nouns, lists, names of labels."""

import re
from collections.abc import Sequence

__all__ = [
    "INVISIBLE",
    "count",
    "kernel_in_words",
    "listed",
    "numbered_labels",
    "one_line",
    "quoted",
    "visible",
]

# control characters, which a terminal obeys, and those that reverse the text; names of
# labels, columns and files may contain them
INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MOST_LISTED = 5
_MOST_CHARACTERS = 60


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> count(1, "tree"), count(60, "tree")
    ('1 tree', '60 trees')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def kernel_in_words(kernel: object) -> str:
    """Return the name of a kernel, or the names of kernels in a list or a sum.

    Examples
    --------
    >>> from spanforest.kernels import ForestKernel, SumKernel
    >>> kernel_in_words(["linear", ForestKernel(min_samples_leaf=5)])
    'linear, ForestKernel(min_samples_leaf=5)'
    >>> kernel_in_words(SumKernel(["linear", "rbf"]))
    'linear + rbf'
    >>> kernel_in_words(SumKernel(["linear", "rbf"], weights=[2, 1]))
    '2 linear + 1 rbf'
    """
    if isinstance(kernel, list | tuple):  # one per member in turn
        return ", ".join(map(kernel_in_words, kernel))
    if hasattr(kernel, "kernels"):  # a sum
        names = [kernel_in_words(term) for term in kernel.kernels]
        weights = getattr(kernel, "weights", None)
        if weights is not None:
            pairs = zip(weights, names, strict=True)
            names = [f"{weight:g} {name}" for weight, name in pairs]
        return " + ".join(names)
    name = getattr(kernel, "__name__", None)  # of a function
    return name or " ".join(str(kernel).split())  # scikit-learn breaks long lines


def listed(names: Sequence[str]) -> str:
    """Return names in quotes; of many names only the first few.

    Examples
    --------
    >>> listed(["happy", "sad"])
    "'happy', 'sad'"
    >>> listed("abcdefg")
    "'a', 'b', 'c', 'd', 'e', ... (7 in all)"
    """
    shown = ", ".join(map(quoted, names[:_MOST_LISTED]))
    if len(names) <= _MOST_LISTED:
        return shown
    return f"{shown}, ... ({len(names)} in all)"


def numbered_labels(n_labels: int) -> tuple[str, ...]:
    """Return names for labels that have none.

    Examples
    --------
    >>> numbered_labels(2)
    ('label0', 'label1')
    """
    return tuple(f"label{j}" for j in range(n_labels))


def one_line(error: BaseException) -> str:
    r"""Return the message of an error in one line, without a full stop.

    Examples
    --------
    >>> one_line(ValueError("no such\n column."))
    'no such column'
    """
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def quoted(text: object) -> str:
    """Return a text in quotes; of a long text only the beginning.

    Examples
    --------
    >>> quoted("happy"), quoted("x" * 100)[-5:]
    ("'happy'", "x'...")
    """
    if isinstance(text, str) and len(text) > _MOST_CHARACTERS:
        return f"{text[:_MOST_CHARACTERS]!r}..."
    shown = repr(text)
    return shown if isinstance(text, str) else shown[:_MOST_CHARACTERS]


def visible(text: str) -> str:
    r"""Return one line of text in which control characters are escaped.

    Examples
    --------
    >>> print(visible("\x1b[31mred\nline"))
    \x1b[31mred\nline
    """
    return INVISIBLE.sub(lambda match: repr(match[0])[1:-1], text)
