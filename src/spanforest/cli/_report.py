"""The command ``spanforest report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanforest._whole_files import check_target, whole_file
from spanforest.cli._output import say

if TYPE_CHECKING:
    from spanforest.paper import Row

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
            help="Draw the label graphs of the data sets. Where RESULTS hold none, "
            "as those of an early version, 20 trees are fitted to a data set that is "
            "to be had, in a few seconds.",
        ),
    ] = True,
    data_home: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the data sets, for label graphs that RESULTS do not "
            "hold. By default the environment variable SPANFOREST_DATA names it.",
            show_default=False,
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

    check_target(output)  # before what is read: its message comes first
    paths = [_row_file(path) for path in results]
    check_target(output, *paths, *(model or ()))
    rows = [row for path in paths for row in RowFile(path).read()]
    drawn = _label_graphs(rows, data_home) if graphs else ()
    page = make_report(rows, model or (), drawn)
    with whole_file(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    typer.echo(f"The report is in {output}")


def _label_graphs(rows: list[Row], data_home: Path | None) -> tuple[Any, ...]:
    """Take the label graphs out of the rows; fit those that they do not hold."""
    from spanforest.paper.report import LabelGraph, fit_label_graphs, read_label_graphs

    stored = read_label_graphs(rows)
    fitted = fit_label_graphs(rows, data_home, verbose=True)
    names = [graph.name for graph in fitted if isinstance(graph, LabelGraph)]
    if names:
        say(
            f"the results hold no label graph of {', '.join(names)}; small ensembles "
            "were fitted for them (--no-graphs leaves them out)."
        )
    return (*stored, *fitted)


def _row_file(results: Path) -> Path:
    path = results / "rows.jsonl" if results.is_dir() else results
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}; expected the folder that 'spanforest reproduce' "
            "wrote (its --out), or the file rows.jsonl in it."
        )
    return path
