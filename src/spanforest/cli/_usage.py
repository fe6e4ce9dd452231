"""Messages about bad usage, in the same words for every version of Typer."""

import re
from typing import Any

# The words of click, and those of pydantic, which newer versions of Typer use.
_WORDS = (
    (
        r"(?:Input should be greater than or equal to |.* is not in the range x>=)"
        r"([-\d.]+)",
        r"it must be \1 or more",
    ),
    (
        r"Input should be a valid integer.*|.* is not a valid int.*",
        "it must be a whole number",
    ),
    (
        r"Input should be a valid number.*|.* is not a valid float.*",
        "it must be a number",
    ),
    (r"Input should be (.+)", r"it must be \1"),
)


def usage_message(error: Any, args: list[str], speaker: str) -> str:
    """Return one line about an error of Typer that ends with where the help is."""
    text = error.format_message().strip().rstrip(".")
    match = re.fullmatch(r"(Invalid value for (.+?): )(.*)", text, re.DOTALL)
    if match:
        text = match[1] + _in_our_words(match[3].rstrip("."), _given(match[2], args))
    end = "" if text.endswith(("?", "!")) else "."
    return f"{text}{end} See {speaker} --help."


def _in_our_words(problem: str, given: str | None) -> str:
    for pattern, words in _WORDS:
        match = re.fullmatch(pattern, problem, re.DOTALL)
        if match:
            return match.expand(words) + ("" if given is None else f"; got {given}")
    return problem


def _given(option: str, args: list[str]) -> str | None:
    """Return the value of an option, which the error names as in 'o' / '--output'."""
    names = re.findall(r"--?[\w-]+", option)
    given = None
    for place, arg in enumerate(args):
        name, has_value, value = arg.partition("=")
        if name in names:
            given = value if has_value else "".join(args[place + 1 : place + 2])
    return given
