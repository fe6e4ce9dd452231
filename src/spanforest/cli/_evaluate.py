"""The command ``spanforest evaluate``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from spanforest.cli._data import Request, read_for_model
from spanforest.cli._options import (
    DataArgument,
    FormatOption,
    JsonOption,
    LabelsOption,
    ModelArgument,
    OtherAggregationOption,
)
from spanforest.cli._output import percent, print_json, print_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXAMPLE = "spanforest evaluate songs.spanforest test_songs.csv --per-label"


class LabelMeasures(NamedTuple):
    """How well one label is predicted; None where it is not defined."""

    name: str
    n_true: int | None  # positive in truth
    n_predicted: int | None
    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None


def evaluate(
    model: ModelArgument,
    data: DataArgument,
    labels: LabelsOption = None,
    per_label: Annotated[
        bool, typer.Option("--per-label", help="Also give measures of every label.")
    ] = False,
    aggregation: OtherAggregationOption = None,
    format: FormatOption = None,
    json: JsonOption = False,
) -> None:
    """Compare predictions with true labels.

    Gives the three measures of the paper: the share of labels that are right, the share
    of examples with all labels right, and F1 over all labels. F1 needs labels with two
    values; the higher one is positive.
    """
    from spanforest.cli._model import TrainedModel
    from spanforest.metrics import microlabel_accuracy, multilabel_accuracy

    trained = TrainedModel.load(model, aggregation)
    dataset = read_for_model(
        Request(data, labels, format=format), trained, with_labels=True
    )
    truth, predicted = dataset.Y, trained.predict(dataset)
    positive = _positives(truth, predicted, trained.classes)
    measures = {
        "microlabel_accuracy": microlabel_accuracy(truth, predicted),
        "multilabel_accuracy": multilabel_accuracy(truth, predicted),
        "microlabel_f1": _f1_of(positive),
    }
    single = _label_measures(truth, predicted, positive, trained.label_names)
    if json:
        facts: dict[str, Any] = {
            "n_samples": dataset.n_samples,
            "n_labels": dataset.n_labels,
            **measures,
        }
        if per_label:
            facts["labels"] = [label._asdict() for label in single]
        print_json(facts)
        return
    rows = [(name.replace("_", " "), percent(v)) for name, v in measures.items()]
    title = f"{dataset.n_samples} examples, {dataset.n_labels} labels"
    print_table(("", ""), [(n.replace("f1", "F1"), v) for n, v in rows], title)
    if per_label:
        _print_labels(single)


class Positives(NamedTuple):
    """Which labels are on, in truth and prediction; shape (n_samples, n_labels)."""

    truth: "NDArray[np.bool_]"
    predicted: "NDArray[np.bool_]"


def _positives(truth: Any, predicted: Any, classes: Sequence[Any]) -> Positives | None:
    """Return which labels are on, or None if one has more than two values.

    Of two values the higher one is on, as in scikit-learn, whatever they are called; a
    single value is on if it is not 0 and no text.
    """
    import numpy as np

    on = []
    for j, values in enumerate(classes):
        both = sorted({*values.tolist(), *truth[:, j].tolist()})
        if len(both) > 2:
            return None
        if set(both) <= {0, 1}:
            both = [0, 1]
        on.append(both[1] if len(both) == 2 else None)
    wanted = np.array(on, dtype=object)
    return Positives(truth == wanted, predicted == wanted)


def _f1_of(positive: Positives | None) -> float | None:
    from spanforest.metrics import microlabel_f1

    if positive is None:
        return None
    return microlabel_f1(positive.truth, positive.predicted)


def _label_measures(
    truth: Any, predicted: Any, positive: Positives | None, names: Sequence[str]
) -> list[LabelMeasures]:
    found = []
    for j, name in enumerate(names):
        accuracy = float((truth[:, j] == predicted[:, j]).mean())
        if positive is None:
            found.append(LabelMeasures(name, None, None, accuracy, None, None, None))
            continue
        is_on, said_on = positive.truth[:, j], positive.predicted[:, j]
        n_true, n_predicted = int(is_on.sum()), int(said_on.sum())
        hits = int((is_on & said_on).sum())
        found.append(
            LabelMeasures(
                name,
                n_true,
                n_predicted,
                accuracy,
                precision=hits / n_predicted if n_predicted else None,
                recall=hits / n_true if n_true else None,
                f1=2 * hits / (n_true + n_predicted) if n_true + n_predicted else None,
            )
        )
    return found


def _print_labels(labels: list[LabelMeasures]) -> None:
    typer.echo()
    header = ("label", "true", "predicted", "accuracy", "precision", "recall", "F1")
    rows = [
        (
            label.name,
            *("-" if n is None else str(n) for n in (label.n_true, label.n_predicted)),
            *map(percent, label[3:]),
        )
        for label in labels
    ]
    print_table(header, rows)
