"""Output files that are written whole or not at all."""

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["check_target", "is_stream", "whole_file"]

_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_LONGEST_ENDING = 40  # characters; the temporary name stays below any system's limit


def check_target(path: Path, *sources: str | Path) -> Path:
    """Refuse a path where no file can be written, before long work starts.

    Parameters
    ----------
    path : Path
        The file to write later.
    *sources : str or Path
        Input files, which must not be replaced.

    Returns
    -------
    Path
        The target of a link; `path` itself if it is a pipe or a device.

    Raises
    ------
    OSError
        If `path` is a folder, its folder does not exist, the user may not write there,
        or `path` is one of the sources.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spanforest._whole_files import check_target
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
                f"{path} is also an input, which would be lost. Choose another path."
            )
    return target


def is_stream(path: Path) -> bool:
    """Return whether a path names a pipe, a device or an open file of this process.

    Parameters
    ----------
    path : Path
        Any path.

    Returns
    -------
    bool
        True for ``/dev/null``, a named pipe, or ``/dev/stdout``, whatever its target.

    Examples
    --------
    >>> import os
    >>> from pathlib import Path
    >>> from spanforest._whole_files import is_stream
    >>> is_stream(Path(os.devnull)), is_stream(Path("report.html"))
    (True, False)
    """
    if _descriptor(path) is not None:
        return True
    # the link /proc/self/fd/1 leads to "pipe:[123]", which only `exists` understands
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces the file at `path` when it is complete.

    The temporary file is in the same folder and has the same suffix, and the
    permissions of the file that it will replace. If anything fails, Ctrl-C included, it
    is removed and the old file stays. If `path` is a pipe or a device, the complete
    file is copied there.

    Parameters
    ----------
    path : Path
        The file to write; a link is followed.

    Yields
    ------
    Path
        The temporary file to write to.

    Raises
    ------
    OSError
        As `check_target`, or if writing fails; the error names `path`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spanforest._whole_files import whole_file
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
    """Create an empty file with the permissions of `target`, if that exists."""
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    if target.exists():
        shutil.copymode(target, temporary)


def _to_disk(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _copy(source: Path, stream: Path) -> None:
    descriptor = _descriptor(stream)
    # opening /dev/stdout again would truncate the file that it is redirected to
    goal: Any = stream if descriptor is None else os.dup(descriptor)
    with open(source, "rb") as file, open(goal, "wb") as opened:
        shutil.copyfileobj(file, opened)


def _descriptor(path: Path) -> int | None:
    """Return the descriptor that a path such as /dev/stdout names, or None."""
    name = os.path.abspath(path)
    numbered = re.fullmatch(r"/(?:dev|proc/self)/fd/([0-9]+)", name)
    return int(numbered[1]) if numbered else _STANDARD.get(name)


@contextmanager
def _errors_about(path: Path, temporary: Path) -> Iterator[None]:
    """Name the path that the user knows in errors, not the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            message = str(error).replace(str(temporary), str(path))
            raise type(error)(message) from error
        if error.filename not in (None, str(temporary), temporary):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error
