"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Formats of data files."""

    arff = "arff"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    libsvm = "libsvm"
    npz = "npz"


class Aggregation(StrEnum):
    """How the members of an ensemble are combined."""

    mve = "mve"
    amm = "amm"
    mam = "mam"


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (ARFF, CSV, TSV, Parquet, LIBSVM, npz), - for the standard input "
        "(CSV and TSV), or the name of a data set that 'spanforest datasets' lists.",
        show_default=False,
    ),
]
ModelArgument = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A file written by 'spanforest train'.",
        show_default=False,
    ),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="The label columns of DATA: names, with commas between them; or first:N "
        "or last:N. For ARFF also a Mulan XML file; without it NAME.xml next to the "
        "file, or MEKA's -C. Other formats say themselves what their labels are.",
        show_default=False,
    ),
]
DropOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Columns to leave out, such as identifiers, with commas between them.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        help="Format of DATA, if its name does not tell; for the standard input (-), "
        "csv or tsv.",
        show_default=False,
    ),
]
DataHomeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The folder of the data sets that have names. By default the environment "
        "variable SPANFOREST_DATA names it.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
OtherAggregationOption = Annotated[
    Aggregation | None,
    typer.Option(
        help="Combine the members otherwise than the model says.", show_default=False
    ),
]


def positive(value: float) -> float:
    """Refuse a number that is not above zero."""
    if not value > 0:
        raise typer.BadParameter(f"it must be a number greater than 0; got {value:g}.")
    return value


def bad_option(message: str, option: str) -> typer.BadParameter:
    """Return the error for an option that is wrong or missing: exit code 2."""
    return typer.BadParameter(message, param_hint=f"'{option}'")
