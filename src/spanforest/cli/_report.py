"""The command ``spanforest report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanforest._whole_files import check_target, whole_file
from spanforest.cli._output import echo

EXAMPLE = "spanforest report reproduction -o report.html"


def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...",
            help="A folder that 'spanforest reproduce' wrote, or the rows.jsonl in it. "
            "Give several to show both protocols, for example.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="The page to write."),
    ] = Path("report.html"),
    model: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="MODEL",
            help="A file written by 'spanforest train'; the page shows its label graph "
            "too. May be given several times.",
        ),
    ] = None,
) -> None:
    """Make one HTML page of the results of reproduce.

    With the tables beside the paper's numbers, learning curves, a comparison of ranks,
    seconds, duality gaps, chosen parameters and label graphs. The page is one file,
    opens in any browser without a network, and can be printed.
    """
    from spanforest.paper import RowFile
    from spanforest.paper.report import make_report

    check_target(output)  # first, so that its message comes before those of reading
    paths = [_row_file(path) for path in results]
    check_target(output, *paths, *(model or ()))
    rows = [row for path in paths for row in RowFile(path).read()]
    page = make_report(rows, model or ())
    with whole_file(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    echo(f"The report is in {output}")


def _row_file(results: Path) -> Path:
    path = results / "rows.jsonl" if results.is_dir() else results
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}; expected the folder that 'spanforest reproduce' "
            "wrote (its --out), or the file rows.jsonl in it."
        )
    return path
