"""Wording of messages and tables: numbers with nouns, lists, names of labels."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = [
    "INVISIBLE",
    "count",
    "did_you_mean",
    "kernel_in_words",
    "listed",
    "numbered_labels",
    "one_line",
    "quoted",
    "to_drop",
    "visible",
]

# control characters, which a terminal obeys, and those that reverse the text; names of
# labels, columns and files may contain them
INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MOST_LISTED = 5
_MOST_CHARACTERS = 60
_MOST_COMPARED = 100  # characters of a name; comparing takes the square of them
_MANY_NAMES = 10_000  # comparing with so many takes a second
_MOST_TO_DROP = 400  # characters of all names


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> count(1, "tree"), count(60, "tree")
    ('1 tree', '60 trees')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def did_you_mean(wrong: Sequence[object], known: Iterable[object]) -> str:
    """Return a question after the names that come closest, with a space before it.

    Letters may differ in case. If no name is close, there is no question. Only the
    first few wrong names are looked at.

    Examples
    --------
    >>> did_you_mean(["hapy", "Sad"], ["happy", "sad", "calm"])
    " Did you mean 'happy', 'sad'?"
    >>> did_you_mean(["x"], ["happy"])
    ''
    """
    names = {name.lower()[:_MOST_COMPARED]: name for name in sorted(map(str, known))}
    n_looked_at = _MOST_LISTED if len(names) <= _MANY_NAMES else 1
    closest = [
        names[match]
        for name in wrong[:n_looked_at]
        for match in get_close_matches(str(name).lower()[:_MOST_COMPARED], names, n=1)
    ]
    if not closest:
        return ""
    return f" Did you mean {listed(list(dict.fromkeys(closest)))}?"


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


def listed(names: Sequence[object]) -> str:
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
    """Return a text in quotes, or the `repr` of another value, in one short line.

    Messages show values of users through this function: a parameter may be a whole
    table by mistake, and a name a whole paragraph.

    Examples
    --------
    >>> quoted("happy"), quoted("x" * 100)[-5:]
    ("'happy'", "x'...")
    >>> quoted(0.5), len(quoted(list(range(100))))
    ('0.5', 63)
    """
    if isinstance(text, str):
        shown, is_cut = text[:_MOST_CHARACTERS], len(text) > _MOST_CHARACTERS
        return f"{shown!r}{'...' * is_cut}"
    shown = " ".join(repr(text).split())  # arrays have lines
    if len(shown) <= _MOST_CHARACTERS:
        return shown
    return f"{shown[:_MOST_CHARACTERS]}..."


def to_drop(names: Sequence[str]) -> str:
    """Return the argument of a reader that leaves out columns.

    Their names are not shortened, so that the argument can be copied. Names that are
    too many or too long are left out.

    Examples
    --------
    >>> to_drop(["title", "author"])
    "drop=['title', 'author']"
    >>> to_drop(["x" * 1000])
    'drop=[...]'
    """
    shown: list[str] = []
    for name in names:
        if len(repr([*shown, name])) > _MOST_TO_DROP:
            break
        shown.append(name)
    return f"drop={shown!r}" if shown else "drop=[...]"


def visible(text: str) -> str:
    r"""Return one line of text in which control characters are escaped.

    Examples
    --------
    >>> print(visible("\x1b[31mred\nline"))
    \x1b[31mred\nline
    """
    return INVISIBLE.sub(lambda match: repr(match[0])[1:-1], text)
