"""What the library says to those who write Python, in the words of the commands.

The library advises in its own terms: parameters to pass, functions to call. Whoever
runs a command has options instead. All that a command says goes through here.
"""

import re
from typing import NamedTuple


class Phrase(NamedTuple):
    """Advice of the library, and that of a command in its place."""

    library: str  # a regular expression
    command: str


PHRASES = (
    Phrase("pass it as data_home or set", "say --data-home DIR, or set"),
    Phrase(r" Read other data with load_arff or load_npz\.", ""),
    Phrase(
        "or read it with load_arff or load_npz",
        "or give the file itself as DATA, not its name",
    ),
    Phrase(
        "Pass labels= a Mulan XML file.*",
        "Say --labels with a Mulan XML file, their names, or first:N or last:N.",
    ),
    Phrase(r"Pass separator='\\t'", "Say --format tsv"),
    Phrase("Pass separator=','", "Say --format csv"),
    Phrase("Pass separator='[;|]', or write", "Write"),
    Phrase(r"drop=\['(.+?)'\]", r"--drop \1"),
    Phrase(
        "Raise max_iter or tol, lower C,.*",
        "Raise --max-iter or --tol, lower --C, or scale the data: --scale unit.",
    ),
    Phrase("(^|(?<=: ))Value error, ", ""),  # pydantic's, within some Typers
)


def in_words_of_commands(text: str) -> str:
    """Give a message with its advice as options.

    Examples
    --------
    >>> in_words_of_commands("The title is a string. Leave it out: drop=['title'].")
    'The title is a string. Leave it out: --drop title.'
    """
    for phrase in PHRASES:
        text = re.sub(phrase.library, phrase.command, text, flags=re.DOTALL)
    return text
