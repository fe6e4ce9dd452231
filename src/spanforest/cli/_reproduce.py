"""The command ``spanforest reproduce``: the paper's experiment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanforest.cli._output import whole_file

if TYPE_CHECKING:
    from spanforest.experiments import Experiment, Row

EXAMPLE = "spanforest reproduce --datasets circle10 --methods svm,mam --quick --out demo"


class ProtocolName(StrEnum):
    """How parameters are chosen."""

    paper = "paper"
    tuned = "tuned"


def reproduce(
    datasets: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Data sets, with commas between them. The paper's ten by default.",
            show_default=False,
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="svm, bagging, adaboost, mtl, mmcrf, mve, amm, mam; with the protocol "
            "tuned also ecc, forest, logistic, boomer, mlknn. All by default.",
            show_default=False,
        ),
    ] = None,
    trees: Annotated[
        int | None,
        typer.Option(
            min=1, help="Trees in the ensembles. [default: 60]", show_default=False
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2, help="Folds of the cross-validation. [default: 5]", show_default=False
        ),
    ] = None,
    data_home: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the data sets. By default the environment variable "
            "SPANFOREST_DATA names it.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where results go, and are looked for.")
    ] = Path("results"),
    jobs: Annotated[
        int, typer.Option(min=1, help="Processes; results do not depend on it.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of folds, graphs, samples.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="10 trees, 2 folds: to see that it works.")
    ] = False,
    protocol: Annotated[
        ProtocolName,
        typer.Option(
            help="Choose parameters once, on a tenth of the data (paper); or in each "
            "fold, on its training part, with linear and Gaussian kernels (tuned)."
        ),
    ] = ProtocolName.paper,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try again what failed in earlier runs.")
    ] = False,
) -> None:
    """Run the paper's experiment and print its tables beside the paper's numbers.

    Every result is appended to OUT/rows.jsonl as it is finished. Running the same
    command again goes on where the last run stopped, and repeats nothing. At the end
    the tables (Markdown, LaTeX, CSV) and figures (PNG, SVG) are written to OUT.
    """
    from spanforest.datasets import PAPER_DATASETS
    from spanforest.experiments import Experiment, RowFile, run

    chosen = _names(datasets) or PAPER_DATASETS
    found = [name for name in chosen if _is_there(name, data_home)]
    if not found:
        raise FileNotFoundError("none of the data sets is to be had.")
    experiment = Experiment(
        datasets=tuple(found),
        methods=_names(methods),
        protocol=protocol.value,
        n_trees=trees,
        n_folds=folds,
        seed=seed,
        quick=quick,
        data_home=None if data_home is None else str(data_home),
    )
    rows = RowFile(out / "rows.jsonl")
    try:
        results = run(experiment, rows, n_jobs=jobs, retry=retry, verbose=True)
    except KeyboardInterrupt:
        n_done = len(experiment.select(rows.read()))
        typer.echo(
            f"spanforest: stopped; {n_done} of {experiment.n_rows} results are in "
            f"{rows.path}. The same command goes on from there.",
            err=True,
        )
        raise
    _write_and_show(experiment, results, out)
    failed = [row for row in results if row["error"] is not None]
    for row in failed:
        where = f"{row['dataset']}, {row['method']}, fold {row['fold']}"
        typer.echo(f"spanforest: {where}: {row['error']}", err=True)
    if failed or len(found) < len(chosen):
        raise typer.Exit(1)


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(name.strip().lower() for name in text.split(",") if name.strip())
    if not names:
        raise typer.BadParameter("names with commas between them are expected.")
    return tuple(dict.fromkeys(names))


def _is_there(name: str, data_home: Path | None) -> bool:
    """Tell whether a data set is to be had, and say so if it is not."""
    from spanforest.datasets import load_dataset

    try:
        load_dataset(name, data_home)
    except FileNotFoundError as error:
        typer.echo(f"spanforest: {error}", err=True)
        return False
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return True


def _write_and_show(experiment: Experiment, results: list[Row], out: Path) -> None:
    """Write tables and figures, print the tables, say where everything is."""
    from rich.console import Console

    from spanforest.experiments import dataset_table, performance_table

    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else 120, highlight=False)
    suffix = "" if experiment.protocol == "paper" else f"-{experiment.protocol}"
    tables: dict[str, Any] = {
        "table1": dataset_table(results),
        "table2": performance_table(results, experiment.protocol),
    }
    if experiment.protocol == "tuned":
        tables.update(_rank_tables(results))
    for stem, table in tables.items():
        console.print(table.to_terminal())
        for extension, write in (
            ("md", table.to_markdown),
            ("tex", table.to_latex),
            ("csv", table.to_csv),
        ):
            _write(out / f"{stem}{suffix}.{extension}", write)
    for stem, figure in _figures(experiment, results, tables):
        for extension in ("png", "svg"):
            path = out / f"{stem}{suffix}.{extension}"
            with whole_file(path) as temporary:
                figure.savefig(temporary, dpi=150)
    typer.echo(f"Rows, tables and figures are in {out}{'/' if is_terminal else ''}")


def _rank_tables(results: list[Row]) -> dict[str, Any]:
    """Compare average ranks, where there is enough to compare."""
    from spanforest.experiments import MEASURES, compare_ranks

    comparisons = {}
    for measure in MEASURES:
        try:
            comparisons[f"ranks-{measure}"] = compare_ranks(results, measure, "tuned")
        except ValueError as error:
            typer.echo(f"spanforest: no comparison of ranks: {error}", err=True)
            break
    return comparisons


def _figures(
    experiment: Experiment, results: list[Row], tables: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the learning curves and the critical-difference diagrams."""
    import matplotlib

    matplotlib.use("Agg")  # no window, wherever this runs
    from matplotlib import pyplot

    from spanforest.experiments import MEASURES, display_name, learning_curves
    from spanforest.plots import CriticalDifferenceDisplay, plot_learning_curves

    curves = {
        display_name(name): {
            measure: {
                **of_set.curves[measure],
                "member": of_set.member_scores[measure],
            }
            for measure in MEASURES
        }
        for name, of_set in learning_curves(results, experiment.protocol).items()
    }
    if curves:
        yield "figure1", plot_learning_curves(curves, MEASURES)
    for stem, table in tables.items():
        if stem.startswith("ranks-"):
            display = CriticalDifferenceDisplay(
                [display_name(method) for method in table.methods],
                table.average_ranks,
                table.nemenyi,
            )
            yield stem.replace("ranks", "critical-difference"), display.plot().figure_
    pyplot.close("all")


def _write(path: Path, text: Callable[[], str]) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text(), encoding="utf-8")
