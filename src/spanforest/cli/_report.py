"""The command ``spanforest report``."""

from pathlib import Path
from typing import Annotated

import typer

from spanforest.cli._output import check_target, whole_file

EXAMPLE = "spanforest report reproduction -o report.html"


def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...",
            help="The folder that 'spanforest reproduce' wrote, or its rows.jsonl; of "
            "both protocols, say, if there are several.",
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
    graphs: Annotated[
        bool,
        typer.Option(
            "--graphs/--no-graphs",
            help="Fit 20 trees to each data set that is to be had, for its label "
            "graph: a few seconds for each.",
        ),
    ] = True,
    data_home: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the data sets, for their label graphs. By default the "
            "environment variable SPANFOREST_DATA names it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make one HTML page of the results of reproduce.

    With the tables beside the paper's numbers, learning curves, a comparison of ranks,
    seconds, duality gaps, chosen parameters and label graphs. The page is one file,
    opens in any browser without a network, and can be printed.
    """
    from spanforest.experiments import RowFile
    from spanforest.report import fit_label_graphs, make_report

    check_target(output)  # before what is read: its message comes first
    paths = [_row_file(path) for path in results]
    check_target(output, *paths, *(model or ()))
    rows = [row for path in paths for row in RowFile(path).read()]
    fitted = fit_label_graphs(rows, data_home, verbose=True) if graphs else ()
    page = make_report(rows, model or (), fitted)
    with whole_file(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    typer.echo(f"The report is in {output}")


def _row_file(results: Path) -> Path:
    path = results / "rows.jsonl" if results.is_dir() else results
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}; expected the folder that 'spanforest reproduce' "
            "wrote (its --out), or the file rows.jsonl in it."
        )
    return path
