"""The command ``spanforest evaluate``."""

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanforest._wording import count
from spanforest.cli._data import Request, read_for_model
from spanforest.cli._options import (
    DataArgument,
    DataHomeOption,
    DecimalOption,
    DelimiterOption,
    EncodingOption,
    FormatOption,
    JsonOption,
    LabelsOption,
    MaxMemoryOption,
    ModelArgument,
    OtherAggregationOption,
)
from spanforest.cli._output import echo, percent, print_json, print_table

if TYPE_CHECKING:
    from spanforest.cli._model import TrainedModel
    from spanforest.datasets import Dataset
    from spanforest.diagnostics import Positives

EXAMPLE = "spanforest evaluate songs.spanforest test_songs.csv --per-label"


def evaluate(
    model: ModelArgument,
    data: DataArgument,
    labels: LabelsOption = None,
    per_label: Annotated[
        bool, typer.Option("--per-label", help="Also show measures of every label.")
    ] = False,
    aggregation: OtherAggregationOption = None,
    format: FormatOption = None,
    data_home: DataHomeOption = None,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    max_memory: MaxMemoryOption = None,
    json: JsonOption = False,
) -> None:
    """Compare predictions with true labels.

    Shows the three measures of the paper: the share of labels that are right, the share
    of examples with all labels right, and F1 over all labels. F1 needs labels with two
    values; the higher one is positive.

    Labels and features are matched by name, in any order. If the labels have no names,
    in MODEL or in DATA, they are matched by position; their numbers must agree.
    """
    from spanforest.cli._model import TrainedModel

    trained = TrainedModel.load(model, aggregation)
    request = Request(
        *(data, labels, None, format, data_home),
        *(delimiter, decimal, encoding, max_memory),
    )
    facts = _measure(trained, read_for_model(request, trained, with_labels=True))
    single = facts["labels"] if per_label else facts.pop("labels")
    if json:
        print_json(facts)
        return
    rows = [
        (name.replace("_", " ").replace("f1", "F1"), percent(facts[name]))
        for name in ("microlabel_accuracy", "multilabel_accuracy", "microlabel_f1")
    ]
    n_samples, n_labels = facts["n_samples"], facts["n_labels"]
    title = f"{count(n_samples, 'example')}, {count(n_labels, 'label')}"
    print_table(("", ""), rows, title)
    if per_label:
        _print_labels(single)


def _measure(trained: "TrainedModel", dataset: "Dataset") -> dict[str, Any]:
    """Return the measures of all labels together and of every label."""
    from spanforest.metrics import (
        microlabel_accuracy,
        microlabel_f1,
        multilabel_accuracy,
    )

    truth, predicted = dataset.Y, trained.predict(dataset)
    two_valued, positive = _positives(truth, predicted, trained.classes)
    right = (truth == predicted).mean(axis=0)
    single = _label_measures(trained.label_names, right.tolist())
    _add_measures(
        [m for m, two in zip(single, two_valued, strict=True) if two], positive
    )
    return {
        "n_samples": dataset.n_samples,
        "n_labels": dataset.n_labels,
        "microlabel_accuracy": microlabel_accuracy(truth, predicted),
        "multilabel_accuracy": multilabel_accuracy(truth, predicted),
        "microlabel_f1": microlabel_f1(*positive) if all(two_valued) else None,
        "labels": single,
    }


def _positives(
    truth: Any, predicted: Any, classes: Sequence[Any]
) -> "tuple[list[bool], Positives]":
    """Return which labels have at most two values, and where those labels are on."""
    from spanforest.diagnostics import Positives

    values = [set(known.tolist()) for known in classes]
    two_valued = [
        len(known | set(column.tolist())) <= 2
        for known, column in zip(values, truth.T, strict=True)
    ]
    known = [known for known, two in zip(values, two_valued, strict=True) if two]
    return two_valued, Positives.of(
        truth[:, two_valued], predicted[:, two_valued], known
    )


def _label_measures(
    names: Sequence[str], accuracy: Sequence[float]
) -> list[dict[str, Any]]:
    """Return a record per label with its accuracy; other measures are None."""
    return [
        {
            "name": name,
            "n_true": None,
            "n_predicted": None,
            "accuracy": share,
            **dict.fromkeys(("precision", "recall", "f1")),
        }
        for name, share in zip(names, accuracy, strict=True)
    ]


def _add_measures(labels: list[dict[str, Any]], positive: "Positives") -> None:
    """Fill in the measures of labels with two values; an undefined one stays None."""
    measures = positive.measures()
    for j, label in enumerate(labels):
        label["n_true"] = int(positive.truth[:, j].sum())
        label["n_predicted"] = int(positive.predicted[:, j].sum())
        for name in ("precision", "recall", "f1"):
            share = float(getattr(measures, name)[j])
            label[name] = None if isnan(share) else share


def _print_labels(labels: list[dict[str, Any]]) -> None:
    echo()
    counts = ("n_true", "n_predicted")
    shares = ("accuracy", "precision", "recall", "f1")
    rows = [
        (
            label["name"],
            *("-" if label[key] is None else str(label[key]) for key in counts),
            *(percent(label[key]) for key in shares),
        )
        for label in labels
    ]
    header = ("label", "true", "predicted", "accuracy", "precision", "recall", "F1")
    print_table(header, rows)
