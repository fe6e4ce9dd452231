"""Files: written whole or not at all, and the lines that rows of text stand in."""

import bz2
import csv
import gzip
import lzma
import os
import re
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

__all__ = [
    "check_target",
    "is_stream",
    "line_of_example",
    "line_of_row",
    "open_text",
    "whole_file",
]

_OPENERS: dict[str, Callable[..., Any]] = {
    ".bz2": bz2.open,
    ".gz": gzip.open,
    ".xz": lzma.open,
}
_UNREADABLE = (OSError, ValueError, EOFError, csv.Error, lzma.LZMAError, zlib.error)
_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_LONGEST_ENDING = (
    40  # characters of a name; with the rest below any file system's limit
)


# --- writing -------------------------------------------------------------------------


def check_target(path: Path, *sources: str | Path) -> Path:
    """Refuse a path where no file can be written, before long work is done.

    Parameters
    ----------
    path : Path
        Where a file is to be written.
    *sources : str or Path
        Files that are read, none of which may be replaced.

    Returns
    -------
    Path
        The file that a link leads to, or `path` itself if it is a pipe or a device.

    Raises
    ------
    OSError
        If it is a folder, its folder does not exist, or may not be written to; or if it
        is one of the sources.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spanforest._files import check_target
    >>> check_target(Path("no", "where.csv"))
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no folder no to write no/where.csv in. Make it first...
    """
    if is_stream(path):
        return path
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Choose the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {path.parent} to write {path} in. Make it first, or "
            "choose another path."
        )
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"the folder of {path} may not be written to. Choose another path."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} may not be written to. Choose another path.")
    for source in sources:
        if target.exists() and os.path.exists(source) and target.samefile(source):
            raise FileExistsError(
                f"{path} is what is read here, and would be lost. Choose another path."
            )
    return target


def is_stream(path: Path) -> bool:
    """Tell whether a path names a pipe or a device, or an open file of this process.

    Parameters
    ----------
    path : Path
        Any path.

    Returns
    -------
    bool
        True for ``/dev/null``, a named pipe, or ``/dev/stdout``, wherever that goes.

    Examples
    --------
    >>> import os
    >>> from pathlib import Path
    >>> from spanforest._files import is_stream
    >>> is_stream(Path(os.devnull)), is_stream(Path("report.html"))
    (True, False)
    """
    if _descriptor(path) is not None:
        return True
    # the link /proc/self/fd/1 leads to "pipe:[123]", which only `exists` understands
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to, whose file takes its place only when complete.

    The file given stands in the same folder, ends in the same suffix, and has the
    permissions of the file that it will replace. If anything fails, Ctrl-C too, it is
    removed and what was at `path` stays. What goes to a pipe or a device is copied
    there when it is complete.

    Parameters
    ----------
    path : Path
        Where the file is to be in the end; a link is followed.

    Yields
    ------
    Path
        Where to write.

    Raises
    ------
    OSError
        As `check_target`, or if writing fails; the name in it is `path`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spanforest._files import whole_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "out.txt")
    ...     with whole_file(path) as temporary:
    ...         _ = temporary.write_text("all of it")
    ...         was_there = path.exists()
    ...     was_there, path.read_text()
    (False, 'all of it')
    """
    target = check_target(path)
    ending = target.name[-_LONGEST_ENDING:]  # writers look at the suffix
    if is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder, ending)
            with _errors_about(path, temporary):
                yield temporary
                _copy(temporary, path)
        return
    temporary = target.with_name(f".{secrets.token_hex(4)}.{ending}")
    try:
        with _errors_about(path, temporary):
            _create_like(target, temporary)
            yield temporary
            _to_disk(temporary)
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _create_like(target: Path, temporary: Path) -> None:
    """Make an empty file; if the other one is private, then it is from the start."""
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    if target.exists():
        shutil.copymode(target, temporary)


def _to_disk(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _copy(source: Path, stream: Path) -> None:
    descriptor = _descriptor(stream)
    # opening /dev/stdout anew would cut off what is in the file it leads to
    goal: Any = stream if descriptor is None else os.dup(descriptor)
    with open(source, "rb") as file, open(goal, "wb") as opened:
        shutil.copyfileobj(file, opened)


def _descriptor(path: Path) -> int | None:
    """Return the number of an open file, if the path is one of its names."""
    name = os.path.abspath(path)
    numbered = re.fullmatch(r"/(?:dev|proc/self)/fd/([0-9]+)", name)
    return int(numbered[1]) if numbered else _STANDARD.get(name)


@contextmanager
def _errors_about(path: Path, temporary: Path) -> Iterator[None]:
    """Put the path that the user knows into the place of the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            message = str(error).replace(str(temporary), str(path))
            raise type(error)(message) from error
        if error.filename not in (None, str(temporary), temporary):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error


# --- lines ---------------------------------------------------------------------------


def open_text(path: Path) -> TextIO:
    """Open a text file to read, decompressed if its name ends in .gz, .bz2 or .xz.

    Parameters
    ----------
    path : Path
        A file in UTF-8. Bytes that are not are read as replacement characters.

    Returns
    -------
    file
        With its line ends as they are.
    """
    opener = _OPENERS.get(path.suffix.lower(), open)
    return opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="")


def line_of_row(path: Path, row: int, separator: str = ",") -> int | None:
    """Return the line in which a row of a CSV file begins, for messages.

    Parameters
    ----------
    path : Path
        The file; its first row names the columns.
    row : int
        From 0, not counting the names, which are row -1, nor blank lines.
    separator : str, default=","
        What stands between two values.

    Returns
    -------
    int or None
        From 1; None if the file cannot be read once more, or has no such row.
    """
    if not path.is_file():
        return None
    begin = 1
    try:
        with open_text(path) as file:
            reader = csv.reader(file, delimiter=separator)
            for values in reader:
                if len(values) > 1 or any(value.strip() for value in values):
                    row -= 1
                if row < -1:
                    return begin
                begin = reader.line_num + 1
    except _UNREADABLE:
        pass
    return None


def line_of_example(path: Path, row: int, header_end: str = "") -> int | None:
    """Return the line of an example in a file with a line for each, for messages.

    Parameters
    ----------
    path : Path
        A file in which blank lines and lines that begin with % or # do not count.
    row : int
        From 0.
    header_end : str, default=""
        The line after which the examples begin, such as ``@data``.

    Returns
    -------
    int or None
        From 1; None if the file cannot be read once more, or has no such example.
    """
    if not path.is_file():
        return None
    in_header = bool(header_end)
    try:
        with open_text(path) as file:
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if in_header:
                    in_header = text.lower() != header_end
                elif text and text[0] not in "%#":
                    row -= 1
                    if row < 0:
                        return number
    except _UNREADABLE:
        pass
    return None
