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
    if match[1] == "[...]":  # the names are too long to be shown
        return "--drop"
    names = io.StringIO()
    csv.writer(names, lineterminator="").writerow(ast.literal_eval(match[1]))
    return f"--drop {names.getvalue()}"


_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""  # as `repr` writes it


PHRASES = (
    Phrase("pass it as data_home or set", "use --data-home DIR, or set"),
    Phrase("in the folder data_home;", "in the folder of --data-home;"),
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
    Phrase(rf"drop=(\[(?:{_TEXT}|, |\.\.\.)+\])", _drop_option),
    Phrase("(^|(?<=: ))(drop|encoding) must be", r"\1--\2 must be"),
    Phrase("^C must be", "--C must be"),
    Phrase(
        "features must be names of (?:columns|attributes); (.+?) not found",
        r"features that the model needs are not there: \1",
    ),
    Phrase(r"Leave it out of Y\.", "Leave it out of the labels: --labels or --drop."),
    Phrase(r"labels of Y\b", "labels of the data"),
    Phrase(
        "Y must hold values that occurred",
        "the labels must have values that occurred",
    ),
    Phrase(r"Encode Y as for fit\.", "Write them as in the training data."),
    Phrase(r"\bX (has|looks)", r"the table of features \1"),
    Phrase(
        ", for example with sklearn.preprocessing.MaxAbsScaler",
        " by a constant",
    ),
    Phrase(
        "cale the features, for example with sklearn.preprocessing.StandardScaler",
        "cale the features in training (--scale)",
    ),
    Phrase("^gamma=", "--gamma "),
    Phrase("ower the degree", "ower --degree"),
    Phrase("(ower|or) gamma", r"\1 --gamma"),
    Phrase(
        'Pass features, or choose the kernel "precomputed" if X is a kernel matrix.',
        "A kernel matrix is the array K of an npz file.",
    ),
    Phrase(
        r"for n_estimators=(\d+)\. Set n_estimators=(\d+)",
        r"for --trees \1. Use --trees \2",
    ),
    Phrase('with training="joint"', "with --training joint"),
    Phrase(
        'Pass a spanforest.kernels.SumKernel, or set training="separate".',
        "Add the kernels up with +, or leave out --training joint.",
    ),
    Phrase("normalize_kernel=True", "--normalize"),
    Phrase(
        r"Normalise both matrices with spanforest\.kernels\.unit_diagonal first\.",
        "Leave --normalize out, or divide K and its rows for new examples by the roots "
        "of k(x, x) first.",
    ),
    Phrase(
        "Pass a smaller cv, or leave out examples without any label.",
        "Leave out examples without any label, or use --C 1, which trains without "
        "tuning.",
    ),
    Phrase(r"spanforest\.save", "'spanforest train'"),
    Phrase("Fit the model again and save it", "Train the model again"),
    Phrase("fit the model and save it again", "train the model again"),
    Phrase(
        "Raise max_iter or tol, or lower C.*",
        "Raise --max-iter or --tol, or lower --C. If features are not scaled yet, use "
        "--scale auto.",
    ),
    Phrase(
        r"X is sparse and has NaN\..*",
        "values of sparse features are missing. Fill them in: --missing mean.",
    ),
    Phrase("scoring must compare", "--measure must compare"),
    Phrase('Pass scoring="', 'Use --measure "'),
    Phrase(
        r"cv=(\d+ folds cannot be made of) n_samples=(\d+): there must be .*",
        r"tuning needs more examples: \1 \2. Use --C 1, which trains without tuning.",
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
