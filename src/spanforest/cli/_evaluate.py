"""The command ``spanforest evaluate``."""

from itertools import compress
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanforest._wording import count
from spanforest.cli import _options as options
from spanforest.cli._data import Request, read_for_model
from spanforest.cli._output import echo, percent, print_json, print_table

if TYPE_CHECKING:
    from spanforest.cli._model import TrainedModel
    from spanforest.datasets import Dataset
    from spanforest.diagnostics import Positives

EXAMPLE = "spanforest evaluate songs.spanforest test_songs.csv --per-label"


def evaluate(
    model: options.ModelArgument,
    data: options.DataArgument,
    labels: options.LabelsOption = None,
    per_label: Annotated[
        bool, typer.Option("--per-label", help="Also show measures of every label.")
    ] = False,
    aggregation: options.OtherAggregationOption = None,
    format: options.FormatOption = None,
    data_home: options.DataHomeOption = None,
    delimiter: options.DelimiterOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    max_memory: options.MaxMemoryOption = None,
    json: options.JsonOption = False,
) -> None:
    """Compare predictions with true labels.

    Shows the three measures of the paper: the share of labels that are right, the share
    of examples with all labels right, and F1 of all labels together. Three more measure
    the order of the labels by their scores: average precision, the share of pairs in
    the wrong order (ranking loss), and how many labels must be read to see all that are
    on (coverage). The order needs two values of every label. A model that was tuned
    for another measure is measured by that too.

    F1 counts the labels with at most two values in training, as on the page of
    'spanforest report'. The higher value is positive. A value that training lacks is
    positive only if the label was never on in training.

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
    measures = (
        *("microlabel_accuracy", "multilabel_accuracy", "microlabel_f1"),
        *("average_precision", "ranking_loss"),
    )
    titles = {name: name.replace("_", " ").replace("f1", "F1") for name in measures}
    if facts["n_labels_of_f1"] < facts["n_labels"]:
        some = count(facts["n_labels_of_f1"], "label")
        titles["microlabel_f1"] += f" ({some} with two values)"
    rows = [(title, percent(facts[name])) for name, title in titles.items()]
    if tuned := facts["tuned_for"]:
        score = tuned["score"]
        shown = (
            percent(score) if 0 <= score <= 1 else f"{score:.4f}"
        )  # neg_hamming_loss
        rows.insert(3, (f"{tuned['measure']} (tuned for)", shown))
    covered = facts["coverage"]
    rows.append(("coverage", "-" if covered is None else f"{covered:.2f} labels"))
    n_samples, n_labels = facts["n_samples"], facts["n_labels"]
    title = f"{count(n_samples, 'example')}, {count(n_labels, 'label')}"
    print_table(("", ""), rows, title)
    if per_label:
        _print_labels(single)


def _measure(trained: "TrainedModel", dataset: "Dataset") -> dict[str, Any]:
    """Return the measures of all labels together and of every label.

    Only accuracies are known of labels with more than two values in training.
    """
    from spanforest import metrics

    truth, predicted = dataset.Y, trained.predict(dataset)
    is_binary = [len(known) <= 2 for known in trained.classes]
    positive = _positives(trained, truth, predicted)
    right = (truth == predicted).mean(axis=0).tolist()
    unknown = dict.fromkeys(("n_true", "n_predicted"))
    shares = dict.fromkeys(("precision", "recall", "f1"))
    single: list[dict[str, Any]] = [
        {"name": name, **unknown, "accuracy": share, **shares}
        for name, share in zip(trained.label_names, right, strict=True)
    ]
    measures = positive.measures()._asdict()
    for j, label in enumerate(compress(single, is_binary)):
        label["n_true"] = int(positive.truth[:, j].sum())
        label["n_predicted"] = int(positive.predicted[:, j].sum())
        for name in shares:
            share = float(measures[name][j])
            label[name] = None if isnan(share) else share  # not defined
    return {
        "n_samples": dataset.n_samples,
        "n_labels": dataset.n_labels,
        "microlabel_accuracy": metrics.microlabel_accuracy(truth, predicted),
        "multilabel_accuracy": metrics.multilabel_accuracy(truth, predicted),
        "microlabel_f1": metrics.microlabel_f1(*positive) if any(is_binary) else None,
        "n_labels_of_f1": sum(is_binary),
        "tuned_for": _tuned_for(trained, truth, predicted, positive),
        **_ranking(trained, dataset, positive.truth if all(is_binary) else None),
        "labels": single,
    }


def _positives(trained: "TrainedModel", truth: Any, predicted: Any) -> "Positives":
    """Return whether the labels with two values in training are on.

    Of two values the higher one is on, and 1 is on if it is alone. A label that was
    never on in training is on where it has a value that training lacks.
    """
    import numpy as np

    from spanforest.diagnostics import Positives

    columns = []
    for j, (known, is_on) in enumerate(
        zip(trained.classes, trained.classifier._coding.is_on, strict=True)
    ):
        if len(known) <= 2:
            on = known[is_on].tolist()
            true = [
                value in on if on else value not in known.tolist()
                for value in truth[:, j].tolist()
            ]
            columns.append((true, [value in on for value in predicted[:, j].tolist()]))
    both = np.array(columns, dtype=bool).reshape(-1, 2, len(truth))
    return Positives(both[:, 0].T, both[:, 1].T)


def _tuned_for(
    trained: "TrainedModel", truth: Any, predicted: Any, positive: "Positives"
) -> dict[str, Any] | None:
    """Return the measure that the model was tuned for, unless it is one of ours.

    As in the search, a scorer of scikit-learn sees 0 and 1 in place of labels with two
    values, but a single label as it is, and labels without positives are no news.
    """
    import warnings

    from sklearn.exceptions import UndefinedMetricWarning

    from spanforest.tuning._scoring import SCORINGS, Scorer, measure_of

    scoring = None if trained.search is None else trained.search.scoring
    if not isinstance(scoring, str) or scoring in SCORINGS:
        return None
    measure = measure_of(scoring)
    if trained.classifier._coding.is_vector:
        truth, predicted = truth[:, 0], predicted[:, 0]
    elif isinstance(measure, Scorer) and positive.truth.shape == truth.shape:
        truth, predicted = positive.truth.astype(int), positive.predicted.astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return {"measure": scoring, "score": float(measure(truth, predicted))}


def _ranking(
    trained: "TrainedModel", dataset: "Dataset", truth: Any
) -> dict[str, float | None]:
    """Return the measures of the order of labels; None for labels of many values."""
    from spanforest.metrics import RANKING_MEASURES

    if truth is None:
        return dict.fromkeys(RANKING_MEASURES)
    scores = trained.scores(dataset)
    return {name: measure(truth, scores) for name, measure in RANKING_MEASURES.items()}


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
