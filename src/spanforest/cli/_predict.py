"""The command ``spanforest predict``."""

import io
import sys
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanforest._whole_files import check_target, is_stream, whole_file
from spanforest._wording import count, quoted
from spanforest.cli import _options as options
from spanforest.cli._data import Request, read_for_model
from spanforest.cli._output import echo, if_stopped, say

if TYPE_CHECKING:
    from spanforest.cli._model import TrainedModel

EXAMPLE = "spanforest predict songs.spanforest new_songs.csv -o predicted.csv"

_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".parquet", ".npz")


def predict(
    model: options.ModelArgument,
    data: options.DataArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The file to write; its ending tells the format: "
            f"{', '.join(_SUFFIXES)}. By default, or for -, CSV is written to the "
            "standard output.",
        ),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="Add how strongly each label is predicted to be on, in columns "
            "named 'LABEL score'.",
        ),
    ] = False,
    aggregation: options.OtherAggregationOption = None,
    labels: options.LabelsOption = None,
    format: options.FormatOption = None,
    data_home: options.DataHomeOption = None,
    delimiter: options.DelimiterOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    max_memory: options.MaxMemoryOption = None,
) -> None:
    """Predict the labels of examples.

    Writes a row for each example and a column for each label. DATA need not have label
    columns; if it has any, they are ignored. Columns are matched by name or, if MODEL
    or DATA has no names, by position.
    """
    from spanforest.cli._model import TrainedModel

    target = None if output == Path("-") else output
    if target is not None:
        check_target(target, model, data)
        if not target.name.lower().endswith(_SUFFIXES) and target.suffix:
            raise options.bad_option(
                f"the name must end in one of {', '.join(_SUFFIXES)}; got {target}.",
                "--output",
            )
    trained = TrainedModel.load(model, aggregation)
    request = Request(
        *(data, labels, None, format, data_home),
        *(delimiter, decimal, encoding, max_memory),
    )
    dataset = read_for_model(request, trained, with_labels=False)
    arrays = {"Y": trained.predict(dataset)}
    if scores:
        arrays["scores"] = trained.scores(dataset)
    if target is None:
        _print_csv(arrays, trained)
        return
    with if_stopped("nothing was written."), whole_file(target) as path:
        _write(arrays, trained, path)
    if not is_stream(target):
        say(f"wrote {count(dataset.n_samples, 'row')} to {target}.")


def _write(arrays: dict[str, Any], trained: "TrainedModel", path: Path) -> None:
    import numpy as np

    ending = path.suffix.lower()
    if ending == ".npz":
        plain = {
            # objects would be pickled, and load_npz reads no pickles
            key: array.astype(str) if array.dtype.kind == "O" else array
            for key, array in arrays.items()
        }
        with open(path, "wb") as file:  # savez may append a suffix to a name
            np.savez(file, label_names=np.array(trained.label_names), **plain)
    elif ending == ".parquet":
        _frame(arrays, trained).to_parquet(path, index=False)
    else:
        _write_csv(arrays, trained, path, "\t" if ending == ".tsv" else ",")


def _print_csv(arrays: dict[str, Any], trained: "TrainedModel") -> None:
    """Print CSV; a terminal, unlike a pipe, gets no control characters."""
    if not sys.stdout.isatty():
        _write_csv(arrays, trained, sys.stdout)
        return
    text = io.StringIO()
    _write_csv(arrays, trained, text)
    for line in text.getvalue().removesuffix("\n").split("\n"):
        echo(line)


def _write_csv(
    arrays: dict[str, Any], trained: "TrainedModel", target: Any, separator: str = ","
) -> None:
    frame = _frame(arrays, trained)
    frame.to_csv(target, index=False, sep=separator, lineterminator="\n")


def _frame(arrays: dict[str, Any], trained: "TrainedModel") -> Any:
    """Return a table with a column per label, and then a column per score."""
    import pandas

    names = trained.label_names
    frame = pandas.DataFrame(arrays["Y"], columns=list(names)).infer_objects()
    # an array of true and false beside other numbers has 1 and 0 for them
    are_boolean = [values.dtype.kind == "b" for values in trained.classes]
    frame = frame.astype(dict.fromkeys(compress(names, are_boolean), bool))
    if "scores" not in arrays:
        return frame
    titles = [f"{name} score" for name in names]
    taken = [name for name in titles if name in names]
    if taken:
        raise ValueError(
            f"--scores would need a second column called {quoted(taken[0])}, which is "
            "a label of the model. Leave --scores out, or train with another name "
            "for it."
        )
    return frame.join(pandas.DataFrame(arrays["scores"], columns=titles))
