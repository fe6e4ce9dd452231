"""The command ``spanforest report``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from spanforest._whole_files import check_target, whole_file
from spanforest.cli import _options as options
from spanforest.cli._data import Request, read_for_report
from spanforest.cli._output import echo

EXAMPLE = "spanforest report songs.spanforest test_songs.csv -o songs.html"


def report(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL DATA | RESULTS...",
            help="A file written by 'spanforest train' and examples for it, in any "
            "form that 'spanforest evaluate' takes. Or folders that 'spanforest "
            "reproduce' wrote, or the rows.jsonl in them.",
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
            help="With RESULTS: a file written by 'spanforest train'; the page shows "
            "its label graph too. May be given several times.",
        ),
    ] = None,
    examples: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With MODEL: how many examples to show. The default is 50; half of "
            "them have mistakes, if there are as many.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With MODEL: how many label sets to show for each example. The "
            "default is 5.",
        ),
    ] = None,
    aggregation: options.OtherAggregationOption = None,
    labels: options.LabelsOption = None,
    format: options.FormatOption = None,
    data_home: options.DataHomeOption = None,
    delimiter: options.DelimiterOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    max_memory: options.MaxMemoryOption = None,
) -> None:
    """Make one HTML page about a model, or about the results of reproduce.

    The page about a model shows its scores on DATA beside those of the best constant
    answer, a table of labels, the label graph, the label sets it confuses most often,
    and examples with the reasons for their labels. DATA may lack labels, some or all;
    the page then shows less.

    The page about results shows who won, tables beside the paper's numbers, learning
    curves, a comparison of ranks, seconds, duality gaps, chosen parameters and label
    graphs.

    Both are one file, open in any browser without a network, and can be printed.
    """
    check_target(output)  # first, so that its message comes before those of reading
    of_data = {
        "--examples": examples,
        "--top": top,
        "--aggregation": aggregation,
        "--labels": labels,
        "--format": format,
        "--data-home": data_home,
        "--delimiter": delimiter,
        "--decimal": decimal,
        "--encoding": encoding,
        "--max-memory": max_memory,
    }
    if _is_results(Path(inputs[0])):
        for option, value in of_data.items():
            if value is not None:
                raise options.bad_option(
                    "it is for a page about MODEL and DATA; got RESULTS.", option
                )
        page = _page_of_results([Path(each) for each in inputs], model or [], output)
    else:
        if model:
            raise options.bad_option(
                "it adds label graphs to a page about RESULTS; got MODEL.", "--model"
            )
        path, data = _model_and_data(inputs)
        request = Request(
            *(data, labels, None, format, data_home),
            *(delimiter, decimal, encoding, max_memory),
        )
        check_target(output, path, data)
        page = _page_of_model(path, request, aggregation, examples or 50, top or 5)
    with whole_file(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    echo(f"The report is in {output}")


def _is_results(path: Path) -> bool:
    """Return whether a path is a folder or file of `reproduce`, and not a model."""
    if not path.exists():
        raise FileNotFoundError(
            f"there is no {path}; expected a file that 'spanforest train' wrote, or "
            "the folder that 'spanforest reproduce' wrote (its --out)."
        )
    return path.is_dir() or path.suffix == ".jsonl"


def _page_of_results(
    results: Sequence[Path], models: Sequence[Path], output: Path
) -> str:
    from spanforest.paper import RowFile
    from spanforest.paper.report import make_report

    paths = [_row_file(path) for path in results]
    check_target(output, *paths, *models)
    rows = [row for path in paths for row in RowFile(path).read()]
    return make_report(rows, models)


def _row_file(results: Path) -> Path:
    path = results / "rows.jsonl" if results.is_dir() else results
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}; expected the folder that 'spanforest reproduce' "
            "wrote (its --out), or the file rows.jsonl in it."
        )
    return path


def _model_and_data(inputs: Sequence[str]) -> tuple[Path, str]:
    if len(inputs) != 2:
        got = "no DATA" if len(inputs) == 1 else f"{len(inputs) - 1} of them"
        raise options.bad_option(
            f"a page about the model {inputs[0]} needs one DATA after it; got {got}.",
            "DATA",
        )
    return Path(inputs[0]), inputs[1]


def _page_of_model(
    path: Path,
    request: Request,
    aggregation: options.Aggregation | None,
    n_examples: int,
    k: int,
) -> str:
    from spanforest.cli._model import TrainedModel
    from spanforest.model_page import make_model_page

    trained = TrainedModel.load(path, aggregation)
    dataset = read_for_report(request, trained)
    return make_model_page(
        trained.estimator,
        trained.inputs(dataset),
        dataset.Y if dataset.n_labels else None,
        title=f"{path.name} on {Path(request.data).name}",
        n_examples=n_examples,
        k=k,
    )
