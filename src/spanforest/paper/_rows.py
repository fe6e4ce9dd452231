"""Files of result rows: one JSON object per line, appended as work is finished.

A row is a plain dictionary. Some of its fields, its `identity`, say which piece of work
it belongs to. The others say what came out.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # only Unix has it; elsewhere files are not locked
    fcntl = None  # type: ignore[assignment]

Row = dict[str, Any]

_IDENTITY = (
    *("kind", "protocol", "quick", "dataset", "method", "family"),
    *("fold", "n_folds", "seed", "n_trees"),
)
_KINDS = ("fold", "choice")
# The types of fields that readers of rows rely on; any of them may be None or absent.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("kind", "protocol", "dataset", "method", "family"), str),
    **dict.fromkeys(("fold", "n_folds", "seed", "n_trees", "n_positive"), int),
    **dict.fromkeys(("params", "scores", "seconds", "curve", "members", "data"), dict),
    **dict.fromkeys(("commit", "finished", "error"), str),
    **dict.fromkeys(("candidates", "warnings"), list),
    "gap": (int, float),
    "label_graph": dict,
    "machine": dict,
    "machine.processor": str,
    "machine.cores": int,
    "machine.system": str,
    "versions": dict,
}


def identity(row: Row) -> tuple[Any, ...]:
    """Return what tells one piece of work from another.

    Examples
    --------
    >>> from spanforest.paper import identity
    >>> first = {"kind": "fold", "dataset": "yeast", "method": "svm", "fold": 0}
    >>> identity(first) == identity({**first, "scores": {"microlabel_f1": 0.6}})
    True
    >>> identity(first) == identity({**first, "fold": 1})
    False
    """
    return tuple(row.get(name) for name in _IDENTITY)


def latest(rows: Iterable[Row]) -> list[Row]:
    """Return one row for each `identity`: the one that was finished last.

    A piece of work has several rows if it failed and was tried again, or if its
    parameters were chosen anew. Of rows with the same time, or with none, the last one
    counts.

    Examples
    --------
    >>> from spanforest.paper import latest
    >>> first = {"fold": 0, "finished": "2026-11-15T22:00:00+00:00", "error": "no"}
    >>> again = {"fold": 0, "finished": "2026-11-15T23:00:00+00:00", "error": None}
    >>> latest([first, again]) == latest([again, first]) == [again]
    True
    """
    newest: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        known = newest.setdefault(identity(row), row)
        if _time(row) >= _time(known):
            newest[identity(row)] = row
    return list(newest.values())


def _time(row: Row) -> str:
    return row.get("finished") or ""


class RowFile:
    """A file of rows that is appended to, and stays readable after a crash.

    Parameters
    ----------
    path : path
        The file. Neither it nor its folder need exist yet.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spanforest.paper import RowFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = RowFile(Path(folder, "rows.jsonl"))
    ...     rows.append([{"kind": "fold", "dataset": "yeast"}])
    ...     print(rows.read())
    [{'kind': 'fold', 'dataset': 'yeast'}]
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._is_locked = False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the file against other runs until this context or the process ends.

        The operating system holds the lock, so none is left behind after a crash. On
        systems and file systems without locks nothing is locked.

        Raises
        ------
        BlockingIOError
            If another run holds the lock. The message names the folder.
        """
        if self._is_locked or fcntl is None:
            yield
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(
                    f"another run is writing its results to {self.path.parent}. Wait "
                    "until it ends, or choose another folder."
                ) from None
            except OSError:
                pass  # a file system without locks
            self._is_locked = True
            try:
                yield
            finally:
                self._is_locked = False

    def read(self) -> list[Row]:
        """Return all complete rows; of several with one identity, the `latest`.

        A last line that was cut off in the middle is ignored. If it lacks only its line
        break, it counts.

        Raises
        ------
        ValueError
            If a line before the last is not a row. The message gives its number.
        """
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")
        rows: list[Row] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            row = _parse(line)
            if row is not None:
                self._check_types(row, number)
                rows.append(row)
            elif number < len(lines):  # the last line has no line break: it was cut off
                raise ValueError(
                    f"{self.path}, line {number}: expected a row, which is a JSON "
                    f"object; got {line.decode(errors='replace')[:40]!r}. Remove the "
                    "line, or choose another folder."
                )
        return latest(rows)

    def _check_types(self, row: Row, number: int) -> None:
        """Raise an error if a field has a value of another type than `run` writes.

        Rows of an unknown kind may hold anything but lists and objects as identity.
        """
        for name in _IDENTITY:
            if isinstance(row.get(name), list | dict):
                raise self._damaged(number, name, row[name])
        if row.get("kind") not in _KINDS:
            return
        parts = {
            f"{name}.{key}": value
            for name in ("machine", "versions")
            if isinstance(row.get(name), dict)
            for key, value in row[name].items()
        }
        for name, value in {**row, **parts}.items():
            expected = str if name.startswith("versions.") else _TYPES.get(name, object)
            if value is not None and not isinstance(value, expected):
                raise self._damaged(number, name, value)

    def _damaged(self, number: int, name: str, value: Any) -> ValueError:
        """Return the error about a field of a line."""
        return ValueError(
            f"{self.path}, line {number}: the field {name[:40]!r} of the row is "
            f"damaged; got {str(value)[:40]!r}. Remove the line, or choose another "
            "folder."
        )

    def append(self, rows: Iterable[Row]) -> None:
        """Append rows, after removing a last line that was cut off.

        The rows are on disk when this returns.

        Raises
        ------
        TypeError, ValueError
            If a row cannot be written as JSON, which has no NaN. Then no row is
            written.
        """
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            file.seek(0)
            content = file.read()
            end = content.rfind(b"\n") + 1  # of the last whole line
            lacks_only_its_break = _parse(content[end:]) is not None
            if not lacks_only_its_break:
                file.truncate(end)
            file.write(("\n" * lacks_only_its_break + text).encode())
            file.flush()
            os.fsync(file.fileno())

    def __iter__(self) -> Iterator[Row]:
        return iter(self.read())


def _parse(line: bytes) -> Row | None:
    """Return the row in a line, or None if the line is not a row."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
