"""Advice in messages of the library, translated into options of the commands.

The library advises those who write Python: parameters to pass, functions to call. Those
who run a command have options instead. Every message of a command is translated here.
"""

import ast
import csv
import io
import re
from collections.abc import Callable
from typing import NamedTuple


class Phrase(NamedTuple):
    """Advice of the library, and the advice of a command that replaces it."""

    library: str  # a regular expression
    command: str | Callable[[re.Match[str]], str]  # as in `re.sub`


def _drop_option(match: re.Match[str]) -> str:
    """Return the option that leaves out a list of columns."""
    names = io.StringIO()
    csv.writer(names, lineterminator="").writerow(ast.literal_eval(match[1]))
    return f"--drop {names.getvalue()}"


PHRASES = (
    Phrase("pass it as data_home or set", "use --data-home DIR, or set"),
    Phrase(r" Read other data with load_arff or load_npz\.", ""),
    Phrase(
        "or read it with load_arff or load_npz",
        "or pass the file itself as DATA, not its name",
    ),
    Phrase(
        "Pass labels= a Mulan XML file.*",
        "Use --labels with a Mulan XML file, their names, or first:N or last:N.",
    ),
    Phrase("Pass (delimiter|decimal|encoding)=", r"Use --\1 "),
    Phrase("Pass max_memory=", "Use --max-memory "),
    Phrase(r"drop=(\['.+?'\])", _drop_option),
    Phrase(
        "Raise max_iter or tol, or lower C.*",
        "Raise --max-iter or --tol, or lower --C. If features are not scaled yet, use "
        "--scale auto.",
    ),
    Phrase(
        r"Pass X\.toarray\(\), or replace the NaN\.", "Fill them in: --missing mean."
    ),
    Phrase("scoring must compare", "--measure must compare"),
    Phrase('Pass scoring="', 'Use --measure "'),
    Phrase(
        "cv=(.*?): there must be .* or use RandomGraphEnsembleClassifier with .*",
        r"tuning needs more examples: \1. Use --C 1, which trains without tuning.",
    ),
    Phrase("(^|(?<=: ))Value error, ", ""),  # some versions of Typer add it
)


def in_options(text: str) -> str:
    """Return a message in which the advice names options, not parameters.

    Examples
    --------
    >>> in_options("The title is a string. Leave it out: drop=['title'].")
    'The title is a string. Leave it out: --drop title.'
    """
    for phrase in PHRASES:
        text = re.sub(phrase.library, phrase.command, text, flags=re.DOTALL)
    return text
