"""Text files of data: opening them, their names, and the lines of their rows."""

import bz2
import csv
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

_OPENERS: dict[str, Callable[..., Any]] = {
    ".bz2": bz2.open,
    ".gz": gzip.open,
    ".xz": lzma.open,
}
DAMAGED = (OSError, EOFError, UnicodeError, lzma.LZMAError, zlib.error)


def open_text(
    path: str | os.PathLike[str], encoding: str = "utf-8", **options: Any
) -> TextIO:
    """Open a text file for reading; a name in .gz, .bz2 or .xz is decompressed.

    A byte order mark is skipped. `options` are those of `open`.
    """
    if encoding.lower() in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    opener = _OPENERS.get(Path(path).suffix.lower(), open)
    return opener(path, "rt", encoding=encoding, **options)


def stem(path: str) -> str:
    """Return the name of a file without its folder, suffix and compression.

    Examples
    --------
    >>> stem("data/yeast.arff.bz2")
    'yeast'
    """
    return re.sub(r"(?i)\.\w+(\.(gz|bz2|xz|zip))?$", "", Path(path).name)


def line_of_row(path: Path, row: int, separator: str = ",") -> int | None:
    """Return the line, counted from 1, in which a row of a CSV file begins.

    Rows count from 0, without blank lines; the names of the columns are row -1. Return
    None if the file cannot be read again or has no such row.
    """
    if not path.is_file():
        return None
    begin = 1
    try:
        with open_text(path, errors="replace", newline="") as file:
            reader = csv.reader(file, delimiter=separator)
            for values in reader:
                if len(values) > 1 or any(value.strip() for value in values):
                    row -= 1
                if row < -1:
                    return begin
                begin = reader.line_num + 1
    except (*DAMAGED, csv.Error):
        pass
    return None


def line_of_example(path: Path, row: int, header_end: str = "") -> int | None:
    """Return the line, counted from 1, of an example in a file with one per line.

    Examples count from 0, after the line `header_end` (such as ``@data``), without
    blank lines and lines that begin with % or #. Return None if the file cannot be read
    again or has no such example.
    """
    if not path.is_file():
        return None
    in_header = bool(header_end)
    try:
        with open_text(path, errors="replace") as file:
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if in_header:
                    in_header = text.lower() != header_end
                elif text and text[0] not in "%#":
                    row -= 1
                    if row < 0:
                        return number
    except DAMAGED:
        pass
    return None
