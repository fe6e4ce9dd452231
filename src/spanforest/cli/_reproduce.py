"""The command ``spanforest reproduce``: run the paper's experiment."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanforest._whole_files import whole_file
from spanforest._wording import quoted
from spanforest.cli._options import DataHomeOption
from spanforest.cli._output import echo, if_stopped, say

if TYPE_CHECKING:
    from spanforest.paper import Experiment, Row, RowFile

EXAMPLE = (
    "spanforest reproduce --datasets circle10 --methods svm,mam --trees 10 --folds 2 "
    "--out small"
)

_NO_DATE = {"png": {}, "svg": {"Date": None}}


class ProtocolName(StrEnum):
    """How parameters are chosen."""

    paper = "paper"
    tuned = "tuned"
    study = "study"


def reproduce(
    datasets: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Data sets, separated by commas; a name that is not known is that of "
            "a file NAME.npz or NAME.arff of yours in the data folder. The paper's ten "
            "by default; with the protocol study, the study's twelve.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Methods, separated by commas: svm, bagging, adaboost, mtl, mmcrf, "
            "mve, amm, mam; with the protocol tuned also selftuned, ecc, forest, "
            "extra_trees, boosting, logistic, boomer, mlknn. All by default.",
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="With the protocol tuned: methods to rank among themselves, in more "
            "tables and diagrams. They must have results in OUT, or be run.",
        ),
    ] = None,
    trees: Annotated[
        int | None,
        typer.Option(min=1, help="Trees in the ensembles. [default: 60]"),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Folds of the cross-validation. [default: 5]"),
    ] = None,
    data_home: DataHomeOption = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the results, new and old.")
    ] = Path("reproduction"),
    jobs: Annotated[
        int, typer.Option(min=1, help="Processes. Results do not depend on it.")
    ] = 1,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of folds, graphs and samples.")
    ] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="10 trees, 2 folds: a test that all works.")
    ] = False,
    protocol: Annotated[
        ProtocolName,
        typer.Option(
            help="Choose parameters once, on a tenth of the data (paper); or in each "
            "fold, on its training set (tuned); or compare the ensemble that tunes "
            "itself with 28 methods of a published study (study)."
        ),
    ] = ProtocolName.paper,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try again what failed in earlier runs.")
    ] = False,
) -> None:
    """Run the paper's experiment.

    Prints its tables beside the paper's own numbers. Every result is appended to
    OUT/rows.jsonl as soon as it is finished. If the run is stopped, the same command
    goes on from there and repeats nothing. At the end the tables (Markdown, LaTeX, CSV)
    and figures (PNG, SVG) are written to OUT. They hold all comparable results in OUT,
    including those of earlier runs with other data sets or methods. If OUT has results
    with another number of trees or folds or another seed, the names of the new files
    say so, as in table2-20-trees.md.
    """
    from spanforest.datasets import PAPER_DATASETS
    from spanforest.paper import STUDY_DATASETS, Experiment, RowFile, run

    is_study = protocol is ProtocolName.study
    wanted = _names(datasets) or (STUDY_DATASETS if is_study else PAPER_DATASETS)
    try:
        experiment = Experiment(
            datasets=wanted,
            methods=_names(methods),
            protocol=protocol.value,
            n_trees=trees,
            n_folds=folds,
            seed=seed,
            quick=quick,
            data_home=None if data_home is None else str(data_home),
        )
        rivals = _rivals(compare, experiment)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    available = _available(wanted, data_home)
    experiment = replace(experiment, datasets=available)
    rows = RowFile(out / "rows.jsonl")

    def progress() -> str:
        n_done = len(experiment.select(rows.read()))
        return (
            f"{n_done} of {experiment.n_rows} results are in {rows.path}. The same "
            "command goes on from there."
        )

    with rows.locked():
        rows.append([])  # an error before the work if nothing can be written there
        with if_stopped(progress):
            results = run(experiment, rows, n_jobs=jobs, retry=retry, verbose=True)
            _write_and_show(experiment, rows, rivals)
    failed = [row for row in results if row["error"] is not None]
    for row in failed:
        where = f"{row['dataset']}, {row['method']}, fold {row['fold']}"
        say(f"{where}: {row['error']}")
    if failed or len(available) < len(wanted):
        raise typer.Exit(1)


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = [name.strip().lower().replace("-", "_") for name in text.split(",")]
    if not any(names):
        raise typer.BadParameter(
            f"expected names, separated by commas; got {quoted(text)}."
        )
    return tuple(dict.fromkeys(name for name in names if name))


def _rivals(text: str | None, experiment: Experiment) -> tuple[str, ...]:
    """Return the methods to rank among themselves; none without --compare."""
    rivals = _names(text)
    if rivals is None:
        return ()
    if experiment.protocol != "tuned" or len(rivals) < 3:
        raise ValueError(
            "--compare ranks three or more methods of the protocol tuned; got "
            f"{', '.join(rivals)} with the protocol {experiment.protocol}."
        )
    replace(experiment, methods=rivals)  # refuses unknown names
    return rivals


def _available(names: Sequence[str], data_home: Path | None) -> tuple[str, ...]:
    """Return the data sets that can be read, and say why the others cannot."""
    from spanforest.datasets import list_datasets, load_dataset

    known = [dataset.name for dataset in list_datasets(data_home)]
    available = []
    for name in sorted(names, key=known.__contains__):  # a wrong name is refused first
        try:
            load_dataset(name, data_home)
        except (OSError, ValueError) as error:
            if name not in known:
                raise typer.BadParameter(str(error)) from error
            say(str(error))
        else:
            available.append(name)
    if not available:
        raise FileNotFoundError("no data set was found.")
    return tuple(name for name in names if name in available)


def _write_and_show(
    experiment: Experiment, rows: RowFile, rivals: tuple[str, ...]
) -> None:
    """Write tables and figures, print the tables, and name the files."""
    from rich.console import Console

    from spanforest.paper import dataset_table, performance_table, study_table

    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else 120, highlight=False)
    stored, out = rows.read(), rows.path.parent
    results = experiment.select_comparable(stored)
    suffix = experiment.file_suffix(stored)
    tables: dict[str, Any] = {
        "table1": dataset_table(results),
        "table2": performance_table(results, experiment.protocol),
    }
    if experiment.protocol == "study":
        tables["study"] = study_table(results)
    if experiment.protocol == "tuned":
        tables.update(_rank_tables(results, "ranks"))
    if rivals:
        among = [row for row in results if row["method"] in rivals]
        tables.update(_rank_tables(among, "compared"))
    for stem, table in tables.items():
        console.print(table.to_terminal())
        texts = {"md": table.to_markdown, "tex": table.to_latex, "csv": table.to_csv}
        for extension, text in texts.items():
            with whole_file(out / f"{stem}{suffix}.{extension}") as temporary:
                temporary.write_text(text(), encoding="utf-8")
    echo(f"Table: {out / f'table2{suffix}.md'} (also .tex, .csv)")
    try:
        for stem, figure in _figures(experiment, results, tables):
            for extension in ("png", "svg"):
                with whole_file(out / f"{stem}{suffix}.{extension}") as temporary:
                    figure.savefig(temporary, dpi=150, metadata=_NO_DATE[extension])
            echo(f"Figure: {out / f'{stem}{suffix}.png'} (also .svg)")
    except ImportError as error:
        say(f"no figures: {error}")
    echo(f"One page of all: spanforest report {out} -o report.html")


def _rank_tables(results: list[Row], prefix: str) -> dict[str, Any]:
    """Compare average ranks by each measure, if there is enough to compare."""
    from spanforest.metrics import MEASURES
    from spanforest.paper import compare_ranks

    comparisons = {}
    for measure in MEASURES:
        try:
            stem = f"{prefix}-{measure}"
            comparisons[stem] = compare_ranks(results, measure, "tuned")
        except (ValueError, ImportError) as error:
            say(f"no comparison of ranks: {error}")
            break
    return comparisons


def _figures(
    experiment: Experiment, results: list[Row], tables: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the learning curves and the critical-difference diagrams."""
    from spanforest.metrics import MEASURES
    from spanforest.paper import display_name, learning_curves
    from spanforest.plots import CriticalDifferenceDisplay, plot_learning_curves
    from spanforest.plots._style import optional

    matplotlib = optional("matplotlib", extra="paper")
    matplotlib.use("Agg")  # without a window
    matplotlib.rcParams["svg.hashsalt"] = "spanforest"  # the same file every time
    curves = {
        display_name(name): {
            measure: {**curves, "member": of_set.member_scores[measure]}
            for measure, curves in of_set.curves.items()
        }
        for name, of_set in learning_curves(results, experiment.protocol).items()
    }
    if curves:
        yield "figure1", plot_learning_curves(curves, tuple(MEASURES))
    for stem, table in tables.items():
        prefix, _, measure = stem.partition("-")
        if prefix in ("ranks", "compared"):
            display = CriticalDifferenceDisplay(
                [display_name(method) for method in table.methods],
                table.average_ranks,
                table.nemenyi,
            )
            of = "" if prefix == "ranks" else f"{prefix}-"
            yield f"critical-difference-{of}{measure}", display.plot().figure_
    optional("matplotlib.pyplot").close("all")
