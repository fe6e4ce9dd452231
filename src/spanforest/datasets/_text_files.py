"""Text files of data: opening them, their names, and their lines."""

import bz2
import gzip
import lzma
import os
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from spanforest._wording import quoted
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
    check_encoding(encoding)
    opener = _OPENERS.get(Path(path).suffix.lower(), open)
    return opener(path, "rt", encoding=encoding, **options)


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that Python does not know, or that is not one of text."""
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(
            f"encoding must be one that Python knows, such as utf-8 or latin-1; got "
            f"{quoted(encoding)}."
        ) from None


def open_bytes(path: str) -> Any:
    """Open a file for reading; a name in .gz, .bz2 or .xz is decompressed."""
    return _OPENERS.get(Path(path).suffix.lower(), open)(path, "rb")


def damage(error: Exception, encoding: str) -> str:
    """Return what is wrong with a file that raised one of `DAMAGED`, and what to do."""
    if not isinstance(error, UnicodeError):
        return (
            "the file cannot be decompressed. Check that it is complete and that its "
            "name tells its compression."
        )
    what = "the file"
    if isinstance(error, UnicodeDecodeError):
        what = repr(error.object[error.start : error.start + 1])
    return (
        f"{what} is not text in {encoding}. Pass encoding='latin-1', or the encoding "
        "in which the file was written."
    )


class TextCost(NamedTuple):
    """How many bytes of memory the parts of a text take, at least."""

    character: int = 0
    line: int = 0
    comma: int = 0


def check_text_size(path: str, memory: MemoryLimit, cost: TextCost) -> None:
    """Refuse a file that holds more than may be read, before it is parsed.

    Counting is many times faster than parsing, so that a small file with very many rows
    is refused in seconds. Damage is left to the reader, which tells the line.
    """
    most = max(cost.character, cost.line, cost.comma)
    is_plain = Path(path).suffix.lower() not in _OPENERS
    if is_plain and most * os.stat(path).st_size <= memory.n_bytes:
        return
    with suppress(*DAMAGED), open_bytes(path) as file:
        deque(_pieces_within(file, memory, cost), maxlen=0)


def stem(path: str) -> str:
    """Return the name of a file without its folder, suffix and compression.

    Examples
    --------
    >>> stem("data/yeast.arff.bz2")
    'yeast'
    """
    return re.sub(r"(?i)\.\w+(\.(gz|bz2|xz|zip))?$", "", Path(path).name)


def read_bytes(path: str, memory: MemoryLimit, cost: TextCost) -> bytes:
    """Return the contents of a file, decompressed if its name says so.

    A zip archive must hold one file. Raise an error if the contents are too large:
    `cost` says how much memory they will take.
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
                return b"".join(_pieces_within(file, memory, cost))
    with open_bytes(path) as file:
        return b"".join(_pieces_within(file, memory, cost))


def _pieces_within(file: Any, memory: MemoryLimit, cost: TextCost) -> Iterator[bytes]:
    n_bytes = 0
    while piece := file.read(_PIECE):
        n_bytes += cost.character * len(piece)
        n_bytes += cost.line * piece.count(b"\n") + cost.comma * piece.count(b",")
        memory.check(n_bytes)
        yield piece


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
    blank lines and comments. These begin with % in a file with a header, and else with
    #. Return None if the file cannot be read again or has no such example.
    """
    if not path.is_file():
        return None
    in_header = bool(header_end)
    comment = "%" if header_end else "#"
    try:
        with open_text(path, errors="replace") as file:
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if in_header:
                    in_header = text.partition("%")[0].strip().lower() != header_end
                elif text and text[0] != comment:
                    row -= 1
                    if row < 0:
                        return number
    except DAMAGED:
        pass
    return None
