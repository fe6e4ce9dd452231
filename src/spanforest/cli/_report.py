"""The command ``spanforest report``."""

from pathlib import Path
from typing import Annotated

import typer

from spanforest.cli._output import check_target, whole_file

EXAMPLE = "spanforest report reproduction -o report.html"


def report(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS",
            help="The folder that 'spanforest reproduce' wrote, or its rows.jsonl.",
            show_default=False,
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
            help="A file written by 'spanforest train', whose label graph is added; "
            "may be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make one HTML page of the results of reproduce.

    With the tables beside the paper's numbers, learning curves, a comparison of ranks,
    seconds, duality gaps and chosen parameters. The page is one file, opens in any
    browser without a network, and can be printed.
    """
    from spanforest.experiments import RowFile
    from spanforest.report import make_report

    check_target(output)
    path = results / "rows.jsonl" if results.is_dir() else results
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}; expected the folder that 'spanforest reproduce' "
            "wrote (its --out), or the file rows.jsonl in it."
        )
    page = make_report(RowFile(path).read(), model or ())
    with whole_file(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    typer.echo(f"The report is in {output}")
