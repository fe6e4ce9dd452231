"""Arguments and options that several commands share."""

import re
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated

import typer

from spanforest._wording import quoted

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


class Format(StrEnum):
    """Formats of data files."""

    arff = "arff"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    libsvm = "libsvm"
    npz = "npz"


class Aggregation(StrEnum):
    """How the members of an ensemble are combined: a copy of `AGGREGATIONS`.

    Importing `spanforest.aggregation` would slow down ``--help`` by seconds. A test
    compares the two.
    """

    mve = "mve"
    amm = "amm"
    mam = "mam"


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (ARFF, CSV, TSV, Parquet, LIBSVM, npz), - for the standard input "
        "(CSV and TSV), or the name of a data set that 'spanforest datasets' lists.",
    ),
]
ModelArgument = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A file written by 'spanforest train'."),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="The label columns of DATA: names, separated by commas; or first:N or "
        "last:N. For ARFF also a Mulan XML file; the default is NAME.xml next to the "
        "file, or MEKA's -C. LIBSVM and npz files say themselves what their labels "
        "are.",
    ),
]
DropOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Columns to leave out, such as identifiers; separated by commas.",
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        help="Format of DATA, if its name does not tell; csv or tsv for the standard "
        "input (-)."
    ),
]


def _size(text: str) -> int:
    """Return the number of bytes that a text such as 8GB stands for."""
    match = re.fullmatch(r"(?i)\s*([0-9.]+)\s*([kmgt]?)i?b?\s*", text)
    try:
        n_bytes = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    except ValueError:
        n_bytes = 0
    if n_bytes < 1:
        raise typer.BadParameter(f"it must be a size such as 8GB; got {quoted(text)}.")
    return n_bytes


def _one_character(text: str | None) -> str | None:
    mark = {"tab": "\t", "\\t": "\t"}.get(text, text) if text else text
    if mark is not None and len(mark) != 1:
        raise typer.BadParameter(
            f"it must be one character, such as ';', or tab; got {quoted(text)}."
        )
    return mark


class Decimal(StrEnum):
    """Decimal marks."""

    point = "."
    comma = ","


DelimiterOption = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        callback=_one_character,
        help="The character between two values of a CSV file, or tab. By default what "
        "the first rows show: a comma, semicolon, tab or bar.",
    ),
]
DecimalOption = Annotated[
    Decimal | None,
    typer.Option(
        help="The decimal mark of a CSV file. By default a comma if numbers are "
        "written with commas and none with a point."
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The encoding of a CSV or ARFF file, such as latin-1. The default is "
        "utf-8.",
    ),
]
MaxMemoryOption = Annotated[
    int | None,
    typer.Option(
        parser=_size,
        metavar="SIZE",
        help="The most memory that the contents of DATA may take, such as 8GB. The "
        "default is 2 GiB, or a quarter of the machine's memory if that is less.",
    ),
]
DataHomeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The folder of the data sets that have names. The default is the "
        "environment variable SPANFOREST_DATA.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
OtherAggregationOption = Annotated[
    Aggregation | None,
    typer.Option(
        help="How to combine the members, without the threshold that tuning may have "
        "chosen. By default as the model was trained."
    ),
]


def positive(value: float | None) -> float | None:
    """Refuse a number that is not above zero; None means that no number was given."""
    if value is not None and not 0 < value < inf:
        raise typer.BadParameter(f"it must be a number greater than 0; got {value:g}.")
    return value


def bad_option(message: str, option: str) -> typer.BadParameter:
    """Return the error for an option that is wrong or missing: exit code 2."""
    return typer.BadParameter(message, param_hint=f"'{option}'")
