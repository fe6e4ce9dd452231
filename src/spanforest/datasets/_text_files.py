"""Text files of data: opening them, their names, and their lines."""

import bz2
import gzip
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from spanforest.datasets._memory import MemoryLimit, TooLargeError

_OPENERS: dict[str, Callable[..., Any]] = {
    ".bz2": bz2.open,
    ".gz": gzip.open,
    ".xz": lzma.open,
}
DAMAGED = (
    *(OSError, EOFError, UnicodeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile),
)
_PIECE = 2**20  # bytes


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


def open_bytes(path: str) -> Any:
    """Open a file for reading; a name in .gz, .bz2 or .xz is decompressed."""
    return _OPENERS.get(Path(path).suffix.lower(), open)(path, "rb")


def stem(path: str) -> str:
    """Return the name of a file without its folder, suffix and compression.

    Examples
    --------
    >>> stem("data/yeast.arff.bz2")
    'yeast'
    """
    return re.sub(r"(?i)\.\w+(\.(gz|bz2|xz|zip))?$", "", Path(path).name)


def read_bytes(path: str, memory: MemoryLimit, growth: int = 1) -> bytes:
    """Return the contents of a file, decompressed if its name says so.

    A zip archive must hold one file. Raise an error if the contents are too large:
    every byte will take `growth` bytes of memory.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            if len(archive.namelist()) != 1:
                raise ValueError(
                    f"{path}: expected a zip archive of one file; found "
                    f"{len(archive.namelist())} files."
                )
            with archive.open(archive.namelist()[0]) as file:
                return _read_within(file, memory, growth)
    with open_bytes(path) as file:
        return _read_within(file, memory, growth)


def _read_within(file: Any, memory: MemoryLimit, growth: int) -> bytes:
    pieces, n_bytes = [], 0
    while piece := file.read(_PIECE):
        n_bytes += len(piece)
        memory.check(growth * n_bytes)
        pieces.append(piece)
    return b"".join(pieces)


def lines_within(
    file: Any, longest: Callable[[], int], memory: MemoryLimit, growth: int = 1
) -> Iterator[Any]:
    """Yield the lines of an open file, of which none may be longer than `longest`.

    A file is never held as a whole, but one line may be the whole file. Every
    character will take `growth` bytes of memory.
    """
    total, number = 0, 0
    while line := file.readline(longest() + 1):
        number += 1
        total += len(line)
        if len(line) > longest():
            raise TooLargeError(
                f"{memory.path}, line {number}: a line of more than {longest()} "
                "characters is too long for the values that it can hold."
            )
        memory.check(growth * total)
        yield line


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
