"""The command ``spanforest predict``."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from spanforest.cli._data import Request, read_for_model
from spanforest.cli._options import (
    DataArgument,
    FormatOption,
    LabelsOption,
    ModelArgument,
    OtherAggregationOption,
    bad_option,
)
from spanforest.cli._output import check_target, whole_file

EXAMPLE = "spanforest predict songs.spanforest new_songs.csv -o predicted.csv"

_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".parquet", ".npz")


def predict(
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help=f"Where to write, by its ending: {', '.join(_SUFFIXES)}. By default "
            "CSV goes to the standard output.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="Instead of labels give how strongly each is predicted to be on.",
        ),
    ] = False,
    aggregation: OtherAggregationOption = None,
    labels: LabelsOption = None,
    format: FormatOption = None,
) -> None:
    """Predict the labels of examples.

    A row for each example, a column for each label. DATA need not have label columns;
    if it has, they are ignored. Columns are found by their names.
    """
    from spanforest.cli._model import TrainedModel

    if output is not None:
        check_target(output)
        if not output.name.lower().endswith(_SUFFIXES) and output.suffix:
            raise bad_option(
                f"the name must end in one of {', '.join(_SUFFIXES)}; got {output}.",
                "--output",
            )
    trained = TrainedModel.load(model, aggregation)
    dataset = read_for_model(
        Request(data, labels, format=format), trained, with_labels=False
    )
    found = trained.scores(dataset) if scores else trained.predict(dataset)
    if output is None:
        _write_csv(found, trained.label_names, sys.stdout)
        return
    with whole_file(output) as path:
        _write(found, trained.label_names, path, "scores" if scores else "Y")


def _write(found: Any, names: tuple[str, ...], path: Path, key: str) -> None:
    import numpy as np
    import pandas

    if path.suffix == ".npz":
        if found.dtype.kind == "O":  # would be pickled, and never be read again
            found = found.astype(str)
        np.savez(path, **{key: found, "label_names": np.array(names)})
    elif path.suffix == ".parquet":
        frame = pandas.DataFrame(found, columns=list(names))
        frame.infer_objects().to_parquet(path, index=False)
    else:
        _write_csv(found, names, path, "\t" if path.suffix == ".tsv" else ",")


def _write_csv(
    found: Any, names: tuple[str, ...], target: Any, separator: str = ","
) -> None:
    import pandas

    frame = pandas.DataFrame(found, columns=list(names))
    frame.to_csv(target, index=False, sep=separator, lineterminator="\n")
