"""The format ARFF, the text format of Weka, Mulan and MEKA: dense and sparse rows.

This module knows the format only; `_arff_labels` knows which attributes are labels.
"""

import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._wording import quoted
from spanforest.datasets._memory import MemoryLimit
from spanforest.datasets._text_files import (
    DAMAGED,
    TextCost,
    check_text_size,
    damage,
    lines_within,
    open_text,
)

_LONGEST_TEXT = 2**26  # characters of a line that may hold text
_LONGEST_VALUE = 2**10  # characters of a number or category, on average
_BYTES_OF_VALUE = 16  # of memory: in the array that grows, and in its copy
_BYTES_OF_ATTRIBUTE = 200
_COST = TextCost(line=2 * _BYTES_OF_VALUE, comma=_BYTES_OF_VALUE)

_NUMERIC_TYPES = ("numeric", "real", "integer")

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_QUOTED_TEXT = re.compile(rf"(?<![^\s,{{])(?:{_QUOTED})")
_COMMENT = re.compile(r"(?<!\S)%")
_NAME = re.compile(rf"({_QUOTED}|[^\s{{]+)\s*")
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,\t]*)(?:\s*(,)|[^\S\t]*(\t)|\s*\Z)")
_INDEX = re.compile(r"\s*([0-9]{1,9})\s+")
_KEYWORD = re.compile(r"(\S+)\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_NEEDS_CARE = re.compile("['\"\t?]")  # a row without these is split at its commas


class ArffError(ValueError):
    """A file is not valid ARFF.

    Attributes
    ----------
    message : str
        What was expected, and what the file says.
    path : str
        The file.
    line : int
        The line, counted from 1.
    """

    def __init__(self, message: str, path: str, line: int):
        super().__init__(message, path, line)
        self.message = message
        self.path = path
        self.line = line

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.message}"


class Attribute(NamedTuple):
    """The declaration of one column."""

    name: str
    kind: str = "numeric"  # "numeric", "nominal", "string" or "date"
    values: tuple[str, ...] = ()  # the texts of the codes 0, 1, ...


class Relation(NamedTuple):
    """The contents of one file.

    A numeric column of `data` holds its numbers. A nominal, string or date column
    holds codes: positions in the `values` of its attribute. The values of a nominal
    attribute are the declared ones. The values of a string or date attribute are the
    texts that occur, in order of appearance; in a sparse file the empty text comes
    first, because an omitted entry means the empty text. A missing value is NaN.
    """

    name: str
    attributes: tuple[Attribute, ...]
    data: NDArray[np.float64] | sparse.csr_array  # (n_rows, n_attributes)


def read_arff(
    file: str | os.PathLike[str] | TextIO,
    *,
    encoding: str = "utf-8",
    max_memory: int | None = None,
) -> Relation:
    r"""Read an ARFF file.

    Parameters
    ----------
    file : path or text file
        Files whose names end in ``.bz2``, ``.gz`` or ``.xz`` are decompressed.
    encoding : str, default="utf-8"
        The encoding of the text; not used for a text file that is already open.
    max_memory : int, optional
        The largest number of bytes that the contents may take. By default 2 GiB, or
        a quarter of the machine's memory if that is less.

    Returns
    -------
    relation : Relation
        Its `data` is a CSR array if the rows are sparse, ``{index value, ...}``.

    Raises
    ------
    ArffError
        If the file is not valid ARFF; the message names file and line.
    ValueError
        If the contents need more memory than `max_memory`.

    Notes
    -----
    A comment starts with ``%`` at the beginning of a line or after white space.
    Quotes, single or double, count at the beginning of a name or value; inside them
    ``\n``, ``\r``, ``\t`` and ``\uXXXX`` are escapes, and a backslash before any
    other character stands for that character. An unquoted ``?`` is a missing value.
    Dates stay text. Relational attributes and weights of rows are not supported.

    Examples
    --------
    >>> from io import StringIO
    >>> from spanforest.datasets import read_arff
    >>> relation = read_arff(StringIO('''
    ... @relation weather
    ... @attribute temperature numeric
    ... @attribute 'the sky' {clear, "partly cloudy"}
    ... @data
    ... 21.5, clear
    ... ?, 'partly cloudy'
    ... '''))
    >>> relation.attributes[1]
    Attribute(name='the sky', kind='nominal', values=('clear', 'partly cloudy'))
    >>> relation.data
    array([[21.5,  0. ],
           [ nan,  1. ]])
    """
    with _lines_of(file, encoding, max_memory) as (lines, reader):
        for line in lines:
            reader.feed(line)
        return reader.finish()


def read_attributes(
    path: str | os.PathLike[str],
    *,
    encoding: str = "utf-8",
    max_memory: int | None = None,
) -> tuple[Attribute, ...]:
    """Read the declarations of an ARFF file, without its rows."""
    with _lines_of(path, encoding, max_memory) as (lines, reader):
        for line in lines:
            reader.feed(line)
            if reader.in_data:
                return tuple(reader.attributes)
        return reader.finish().attributes


@contextmanager
def _lines_of(
    file: Any, encoding: str, max_memory: int | None
) -> "Iterator[tuple[Iterable[str], _Reader]]":
    """Open a file unless it is open; yield its lines and a reader that takes them.

    Errors of decoding and decompressing become an `ArffError`.
    """
    is_path = isinstance(file, str | os.PathLike)
    path = str(file if is_path else getattr(file, "name", "<text>"))
    reader = _Reader(MemoryLimit.of(path, max_memory))
    with open_text(file, encoding) if is_path else nullcontext(file) as text:
        if is_path:
            check_text_size(path, reader.memory, _COST)
        try:
            yield lines_within(text, reader.longest_line, reader.memory), reader
        except DAMAGED as error:
            raise ArffError(
                damage(error, encoding),
                reader.path,
                reader.line + 1,
            ) from error


class _Reader:
    """The state of reading: declarations first, then rows."""

    def __init__(self, memory: MemoryLimit):
        self.path = memory.path
        self.memory = memory
        self.n_bytes = 0
        self.has_text = True
        self.line = 0
        self.name: str | None = None
        self.attributes: list[Attribute] = []
        self.in_data = False
        self.is_sparse: bool | None = None  # known from the first row on
        self.codes: list[dict[str | None, float]] = []
        self.converters: list[Callable[[str | None], float]] = []
        self.values = array("d")
        self.indices = array("i")
        self.ends = array("i", [0])

    def longest_line(self) -> int:
        """Return how many characters the next line may have."""
        if self.has_text:
            return _LONGEST_TEXT
        return max(2**16, _LONGEST_VALUE * len(self.attributes))

    def take(self, n_bytes: int) -> None:
        """Count memory that the contents need."""
        self.n_bytes += n_bytes
        self.memory.check(self.n_bytes)

    def feed(self, line: str) -> None:
        """Take the next line."""
        self.line += 1
        line = line.strip()
        if "%" in line:
            hidden = _QUOTED_TEXT.sub(lambda text: "x" * len(text[0]), line)
            comment = _COMMENT.search(hidden)
            if comment:
                line = line[: comment.start()].rstrip()
        if not line:
            return
        if not self.in_data:
            self.declare(line)
        elif line.startswith("{"):
            self.sparse_row(line)
        else:
            self.dense_row(line)

    def finish(self) -> Relation:
        """Return the relation that was read."""
        if not self.in_data:
            raise self.error("the file ends before @data; is it complete?")
        attributes = tuple(
            attribute
            if attribute.kind in ("numeric", "nominal")
            else attribute._replace(
                values=tuple(text for text in codes if text is not None)
            )
            for attribute, codes in zip(self.attributes, self.codes, strict=True)
        )
        n_attributes = len(attributes)
        values = np.array(self.values, dtype=np.float64)
        data: NDArray[np.float64] | sparse.csr_array
        if self.is_sparse:
            data = sparse.csr_array(
                (values, np.array(self.indices), np.array(self.ends)),
                shape=(len(self.ends) - 1, n_attributes),
            )
            data.eliminate_zeros()
            data.sort_indices()
        else:
            data = values.reshape(-1, n_attributes)
        return Relation(self.name or "", attributes, data)

    def error(self, message: str) -> ArffError:
        return ArffError(message, self.path, max(self.line, 1))

    # --- declarations

    def declare(self, line: str) -> None:
        self.take(_BYTES_OF_ATTRIBUTE + 2 * len(line))
        match = _KEYWORD.fullmatch(line)
        assert match is not None  # a line is not empty
        keyword, rest = match.groups()
        match keyword.lower():
            case "@relation":
                if self.name is not None:
                    raise self.error("a second @relation; a file holds one.")
                self.name = self.unquote(rest)
            case "@attribute":
                self.declare_attribute(rest)
            case "@data":
                if rest:
                    raise self.error(f"nothing may follow @data; found {rest[:40]!r}.")
                self.begin_data()
            case _:
                raise self.error(
                    "expected @relation, @attribute, @data or a comment (%); "
                    f"found {line[:40]!r}."
                )

    def declare_attribute(self, text: str) -> None:
        match = _NAME.match(text)
        if match is None:
            raise self.error("@attribute needs a name and a type.")
        name = self.unquote(match[1])
        kind = text[match.end() :]
        if kind.startswith("{"):
            if not kind.endswith("}"):
                raise self.error(f"the values of {quoted(name)} must end with '}}'.")
            tokens = self.split(kind[1:-1].strip())
            values = tuple(token for token in tokens if token is not None)
            if len(set(values)) < len(tokens):
                raise self.error(
                    f"the values of {quoted(name)} must be distinct, and '?' must be "
                    "in quotes: without quotes it is a missing value."
                )
            self.attributes.append(Attribute(name, "nominal", values))
        else:
            self.attributes.append(Attribute(name, self.plain_kind(name, kind)))

    def plain_kind(self, name: str, text: str) -> str:
        kind, *rest = text.lower().split(maxsplit=1) or [""]
        if kind == "date":  # a format may follow; dates stay text
            return kind
        if kind in _NUMERIC_TYPES and not rest:
            return "numeric"
        if kind == "string" and not rest:
            return kind
        raise self.error(
            f"the type of {quoted(name)} must be numeric, real, integer, string, date "
            f"or values in braces; found {text[:40]!r}."
        )

    def begin_data(self) -> None:
        if not self.attributes:
            raise self.error("@data comes before any @attribute.")
        names = [attribute.name for attribute in self.attributes]
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise self.error(f"{quoted(twice)} is declared more than once.")
        self.in_data = True
        self.has_text = any(one.kind in ("string", "date") for one in self.attributes)
        for attribute in self.attributes:
            codes: dict[str | None, float] = {None: math.nan}
            codes.update((value, i) for i, value in enumerate(attribute.values))
            self.codes.append(codes)
            self.converters.append(_converter(attribute, codes))

    # --- rows

    def begin_row(self, is_sparse: bool) -> None:
        if self.is_sparse is None:
            self.is_sparse = is_sparse
            for attribute, codes in zip(self.attributes, self.codes, strict=True):
                if is_sparse and attribute.kind in ("string", "date"):
                    codes[""] = 0
        elif self.is_sparse != is_sparse:
            raise self.error("rows must be all dense or all sparse, {index value, ...}")

    def dense_row(self, line: str) -> None:
        self.begin_row(is_sparse=False)
        tokens = self.split(line)
        if len(tokens) != len(self.attributes):
            raise self.error(
                f"expected {len(self.attributes)} values, one for each attribute; "
                f"found {len(tokens)}."
            )
        self.extend(range(len(tokens)), tokens)

    def sparse_row(self, line: str) -> None:
        self.begin_row(is_sparse=True)
        if not line.endswith("}"):
            raise self.error("a sparse row must end with '}'.")
        indices, tokens = self.split_entries(line[1:-1].strip())
        if indices and max(indices) >= len(self.attributes):
            raise self.error(
                f"indices count from 0 to {len(self.attributes) - 1}; "
                f"found {max(indices)}."
            )
        if len(set(indices)) < len(indices):
            raise self.error("a sparse row names an index twice.")
        self.extend(indices, tokens)
        self.indices.extend(indices)
        self.ends.append(len(self.indices))

    def extend(self, indices: Sequence[int], tokens: Sequence[str | None]) -> None:
        self.take(_BYTES_OF_VALUE * len(tokens))
        if self.has_text:
            self.take(sum(len(token or "") for token in tokens))
        converters = self.converters
        for j, token in zip(indices, tokens, strict=True):
            try:
                self.values.append(converters[j](token))
            except (ValueError, KeyError):
                attribute = self.attributes[j]
                expected = "a number"
                if attribute.kind == "nominal":
                    expected = "one of " + ", ".join(map(quoted, attribute.values[:5]))
                    expected += ", ..." if len(attribute.values) > 5 else ""
                raise self.error(
                    f"expected {expected} for {quoted(attribute.name)}; found "
                    f"{quoted(token)}."
                ) from None

    # --- values

    def split(self, text: str) -> list[str | None]:
        """Split at commas or tabs; None is an unquoted '?'."""
        tokens: list[str | None]
        if _NEEDS_CARE.search(text) is None:
            tokens = [token.strip() for token in text.split(",")]
            if "" in tokens:
                raise self.empty_value()
            return tokens
        tokens = []
        position, more = 0, True
        while more:
            token, more, position = self.value_at(text, position)
            tokens.append(token)
        return tokens

    def split_entries(self, text: str) -> tuple[list[int], list[str | None]]:
        """Split the inside of a sparse row into indices and values."""
        indices: list[int] = []
        tokens: list[str | None] = []
        position, more = 0, bool(text)
        while more:
            match = _INDEX.match(text, position)
            if match is None:
                raise self.error(
                    "expected an index and a value in each entry of a sparse row; "
                    f"found {text[position : position + 40]!r}."
                )
            indices.append(int(match[1]))
            token, more, position = self.value_at(text, match.end())
            tokens.append(token)
        return indices, tokens

    def value_at(self, text: str, position: int) -> tuple[str | None, bool, int]:
        """Return the value at a position, whether more follow, and where they do."""
        match = _VALUE.match(text, position)
        assert match is not None  # an empty value matches too
        token = match[1].strip()
        if not token:
            raise self.empty_value()
        value = None if token == "?" else self.unquote(token)
        return value, match.lastindex != 1, match.end()

    def empty_value(self) -> ArffError:
        return self.error("a value is empty; a missing value is written '?'.")

    def unquote(self, token: str) -> str:
        """Return the text that a token stands for."""
        if not token.startswith(("'", '"')):
            return token
        if not re.fullmatch(_QUOTED, token):
            raise self.error(f"the quotes do not match in {token[:40]!r}.")
        return _ESCAPE.sub(_unescape, token[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


def _converter(
    attribute: Attribute, codes: dict[str | None, float]
) -> Callable[[str | None], float]:
    """Return the function that turns a token of this column into its number."""
    if attribute.kind == "numeric":
        return _number
    if attribute.kind == "nominal":
        return codes.__getitem__
    return lambda token: codes.setdefault(token, len(codes) - 1)  # None is not counted


def _number(token: str | None) -> float:
    if token is None:
        return math.nan
    if "_" in token:  # float() takes 1_000
        raise ValueError(token)
    return float(token)
