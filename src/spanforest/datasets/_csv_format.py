"""The text of a CSV file: its encoding, delimiter and decimal mark, and its rows."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypedDict

from spanforest._wording import quoted
from spanforest.datasets._memory import MemoryLimit
from spanforest.datasets._text_files import (
    DAMAGED,
    TextCost,
    check_encoding,
    damage,
    read_bytes,
)

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 10  # rows that tell the delimiter
# a first line by which a file tells Excel its delimiter, which is no letter or digit;
# a tab may be spelt \t
_HINT = re.compile(
    r"""[ \t\r\n]*(?P<line>(?P<quote>"?)sep=(?P<inner>"?)"""
    r"""(?P<mark>\\t|[ \t!#-/:-@\[-`{-~])(?P=inner)(?P=quote)[ \t]*)(?=[\r\n]|\Z)""",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*[+-]?\d*[.,]?\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
# the text while it is read: its bytes, the text, and the copies of pandas
_COST = TextCost(character=4, line=32)


class CsvFormat(TypedDict, total=False):
    r"""How a CSV file is written: keywords of `load_csv`.

    What is None or left out is detected in the file.

    Parameters
    ----------
    delimiter : str, optional
        The character between two values.
    decimal : str, optional
        The decimal mark, a point or a comma.
    encoding : str, optional
        The encoding of the file.

    Examples
    --------
    One record for all files of a program:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spanforest.datasets import CsvFormat, load_csv
    >>> ours = CsvFormat(delimiter=";", encoding="latin-1")
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "weather.csv")
    ...     _ = path.write_text("höhe;rain\n700;0\n", encoding="latin-1")
    ...     load_csv(path, labels=["rain"], **ours).feature_names
    ('höhe',)
    """

    delimiter: str | None
    decimal: str | None
    encoding: str | None


class CsvText(NamedTuple):
    """The text of a file, and how it is written."""

    text: str
    delimiter: str
    decimal: str
    hint: str | None = None  # the delimiter that the file itself names

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that are not blank, each with the line in which it begins."""
        return _rows(self.text, self.delimiter)

    def line_of_row(self, i: int) -> int | None:
        """Return the line of row `i`; rows count from 0, without the header."""
        try:
            return next((line for line, _ in islice(self.rows(), i + 1, None)), None)
        except csv.Error:
            return None


def read_csv_text(path: str, csv_format: CsvFormat, memory: MemoryLimit) -> CsvText:
    """Read a file whose rows all have as many values as its first row.

    Raises
    ------
    ValueError
        If the file is damaged, in another encoding, or has a row of another length;
        the message has the line.
    """
    _check_marks(csv_format)
    text, hint = _take_hint(_read_text(path, csv_format.get("encoding"), memory))
    delimiter = csv_format.get("delimiter") or hint or _find_delimiter(text)
    decimal = csv_format.get("decimal") or _find_decimal(text, delimiter)
    table = CsvText(text, delimiter, decimal, hint)
    _check_rows(table, path, memory)
    return table


def line_of_row(path: Path, i: int, csv_format: CsvFormat) -> int | None:
    """Return the line of a row in a file; None if the file cannot be read again."""
    if not path.is_file():
        return None
    memory = MemoryLimit.of(str(path), None)
    try:
        text = _read_text(str(path), csv_format.get("encoding"), memory)
    except ValueError:
        return None
    text, hint = _take_hint(text)
    delimiter = csv_format.get("delimiter") or hint or _find_delimiter(text)
    return CsvText(text, delimiter, "").line_of_row(i)


def _check_marks(csv_format: CsvFormat) -> None:
    delimiter, decimal = csv_format.get("delimiter"), csv_format.get("decimal")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ValueError(
            f"delimiter must be one character, such as ';'; got {quoted(delimiter)}."
        )
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ','; got {quoted(decimal)}.")


def _read_text(path: str, encoding: str | None, memory: MemoryLimit) -> str:
    known = (encoding or "utf-8").lower()
    check_encoding(known)
    try:
        raw = read_bytes(path, memory, _COST)
    except DAMAGED as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(f"{path}: {damage(error, known)}") from error
    if encoding is None and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        known = "utf-16"
    try:
        return raw.decode(known).removeprefix("\ufeff")  # a byte order mark
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = raw.count(b"\n", 0, start) + 1
        raise ValueError(
            f"{path}, line {line}: {raw[start : start + 1]!r} is not text in {known}. "
            "Pass encoding='latin-1', or the encoding in which the file was written."
        ) from None


def _take_hint(text: str) -> tuple[str, str | None]:
    r"""Return the text without a line ``sep=;``, and the delimiter that it names.

    The line becomes a blank one, so that the others keep their numbers.

    Examples
    --------
    >>> _take_hint("sep=;\na;b\n")
    ('\na;b\n', ';')
    """
    match = _HINT.match(text)
    if match is None:
        return text, None
    mark = match["mark"]
    rest = text[: match.start("line")] + text[match.end("line") :]
    return rest, "\t" if mark.lower() == r"\t" else mark


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    begin = 1
    for row in reader:
        # as in pandas: a line of spaces and tabs is blank, and "" is a value
        if row and (row == [""] or len(row) > 1 or row[0].strip(" \t")):
            yield begin, row
        begin = reader.line_num + 1


def _find_delimiter(text: str) -> str:
    """Return the mark that splits the first rows into equally many columns.

    If several do, the columns with most numbers decide.
    """
    samples = {}
    for mark in _DELIMITERS:
        try:
            rows = [row for _, row in islice(_rows(text, mark), _SAMPLE)]
        except csv.Error:
            continue
        if rows and len(rows[0]) > 1:
            samples[mark] = rows
    even = [
        mark
        for mark, rows in samples.items()
        if all(len(row) == len(rows[0]) for row in rows)
    ]
    candidates = even or list(samples) or [","]
    if len(candidates) == 1:
        return candidates[0]
    return max(candidates, key=lambda mark: _share_of_numbers(samples[mark][1:]))


def _share_of_numbers(rows: list[list[str]]) -> float:
    cells = [cell for row in rows for cell in row]
    return sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) / max(len(cells), 1)


def _find_decimal(text: str, delimiter: str) -> str:
    """Return a comma if numbers have decimal commas, and none has a point."""
    if delimiter == ",":
        return "."

    def occurs(mark: str) -> bool:
        edge = f'[{re.escape(delimiter)}"\\r\\n]'
        number = rf"[+-]?[0-9]+{re.escape(mark)}[0-9]+(?:[eE][+-]?[0-9]+)?"
        return re.search(rf"{edge} *{number} *(?={edge}|\Z)", text) is not None

    return "," if occurs(",") and not occurs(".") else "."


def _check_rows(table: CsvText, path: str, memory: MemoryLimit) -> None:
    n_columns, n_cells, line = 0, 0, 1
    try:
        for line, row in table.rows():
            n_columns = n_columns or len(row)
            if len(row) != n_columns:
                raise ValueError(
                    f"{path}, line {line}: expected {n_columns} values, one for each "
                    f"column of the first line, separated by {table.delimiter!r}; "
                    f"found {len(row)}.{_advice(table)}"
                )
            n_cells += n_columns
            memory.check(8 * n_cells)
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {line} or the next: {error}. Is a quote not closed?"
        ) from error
    if not n_columns:
        raise ValueError(
            f"{path}: expected lines of values, the first one with the names of the "
            "columns; the file is empty."
        )


def _advice(table: CsvText) -> str:
    if table.hint in (None, table.delimiter):
        return ""
    return f" The file begins with sep={table.hint}. Pass delimiter={table.hint!r}."
