"""Result rows: one JSON object a line, appended as work is finished, never lost.

A row is a plain dictionary. What makes it the row of a certain piece of work is its
`identity`; everything else in it is what came out.
"""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

Row = dict[str, Any]

_IDENTITY = (
    *("kind", "protocol", "quick", "dataset", "method", "family"),
    *("fold", "n_folds", "seed", "n_trees"),
)


def identity(row: Row) -> tuple[Any, ...]:
    """Give what tells one piece of work from another.

    Examples
    --------
    >>> from spanforest.experiments import identity
    >>> first = {"kind": "fold", "dataset": "yeast", "method": "svm", "fold": 0}
    >>> identity(first) == identity({**first, "scores": {"microlabel_f1": 0.6}})
    True
    >>> identity(first) == identity({**first, "fold": 1})
    False
    """
    return tuple(row.get(name) for name in _IDENTITY)


class RowFile:
    """A file of rows that can be appended to, and read after any accident.

    Parameters
    ----------
    path : path
        The file; it need not exist yet, nor its folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spanforest.experiments import RowFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = RowFile(Path(folder, "rows.jsonl"))
    ...     rows.append([{"kind": "fold", "dataset": "yeast"}])
    ...     print(rows.read())
    [{'kind': 'fold', 'dataset': 'yeast'}]
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    def read(self) -> list[Row]:
        """Give all whole rows.

        Of several rows with one identity the last counts: a failure that was tried
        again has two. A last line that was cut off in the middle is left out; one
        that lacks only its line break is whole.

        Raises
        ------
        ValueError
            If a line before the last is not a row; the message has its number.
        """
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")
        rows: dict[tuple[Any, ...], Row] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            row = _parse(line)
            if row is not None:
                rows[identity(row)] = row
            elif number < len(lines):  # else no line break behind it: cut off
                raise ValueError(
                    f"{self.path}, line {number}: expected a row, which is a JSON "
                    f"object; got {line[:40].decode(errors='replace')!r}. Remove the "
                    "line, or choose another folder."
                )
        return list(rows.values())

    def append(self, rows: Iterable[Row]) -> None:
        """Write rows behind the others, first removing a line that was cut off.

        They are on disk when this returns.

        Raises
        ------
        TypeError, ValueError
            If a row cannot be written as JSON, which has no NaN; then none is.
        """
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            end = _end_of_whole_lines(file)
            file.seek(end)
            lacks_only_its_break = _parse(file.read()) is not None
            if not lacks_only_its_break:
                file.truncate(end)
            file.write(("\n" * lacks_only_its_break + text).encode())
            file.flush()
            os.fsync(file.fileno())

    def __iter__(self) -> Iterator[Row]:
        return iter(self.read())


def _parse(line: bytes) -> Row | None:
    """Give the row in a line, or None if it is none."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _end_of_whole_lines(file: BinaryIO) -> int:
    """Give the position behind the last line break."""
    end = file.seek(0, os.SEEK_END)
    while end:
        size = min(end, 1 << 16)
        file.seek(end - size)
        found = file.read(size).rfind(b"\n")
        if found >= 0:
            return end - size + found + 1
        end -= size
    return 0
