"""The command ``spanforest inspect``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanforest._wording import count, kernel_in_words
from spanforest.cli import _options as options
from spanforest.cli._candidates import HEADER, candidate_rows, search_facts
from spanforest.cli._data import Request, read_for_model
from spanforest.cli._output import echo, percent, print_json, print_table

if TYPE_CHECKING:
    from spanforest.cli._model import TrainedModel

EXAMPLE = "spanforest inspect songs.spanforest --couplings 3"


def inspect(
    model: options.ModelArgument,
    couplings: Annotated[
        int, typer.Option(min=0, help="How many pairs of labels to show.")
    ] = 10,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Examples to average the couplings over. By default the training "
            "examples.",
        ),
    ] = None,
    data_home: options.DataHomeOption = None,
    delimiter: options.DelimiterOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    max_memory: options.MaxMemoryOption = None,
    json: options.JsonOption = False,
) -> None:
    """Show what a model file holds.

    Shows versions, parameters, labels, graphs, how well the training converged, and the
    pairs of labels that attract (positive) or repel (negative) each other most. Of a
    model that was tuned it shows the best candidate of every kernel that was tried.
    """
    from spanforest.cli._model import TrainedModel

    trained = TrainedModel.load(model)
    facts = _facts(trained, model)
    request = None
    if data is not None:
        request = Request(
            *(data, None, None, None, data_home),
            *(delimiter, decimal, encoding, max_memory),
        )
    facts["couplings_averaged_over"], facts["couplings"] = _couplings(
        trained, request, couplings
    )
    if json:
        print_json(facts)
        return
    print_table(("", ""), _rows(facts), str(model))
    if tuning := facts["tuning"]:
        echo()
        number = count(tuning["n_candidates"], "candidate")
        title = f"{number}, compared by {tuning['measure']}: the best with each kernel"
        print_table(HEADER, candidate_rows(tuning), f"{title}, the chosen one first")
    if facts["couplings"]:
        echo()
        rows = [
            (*pair["labels"], f"{pair['strength']:{'+' * pair['is_signed']}.3g}")
            for pair in facts["couplings"]
        ]
        title = f"couplings, averaged over {facts['couplings_averaged_over']}"
        print_table(("label", "label", "coupling"), rows, title)


def _facts(trained: "TrainedModel", path: Path) -> dict[str, Any]:
    import numpy as np

    from spanforest.diagnostics import graph_of, relative_gaps
    from spanforest.persistence import describe

    classifier = trained.classifier
    is_ensemble = hasattr(classifier, "estimators_")
    gaps = relative_gaps(classifier)
    search = trained.search
    return {
        "file": str(path),
        "model": type(search or classifier).__name__,
        "steps": [type(step).__name__ for _, step in trained.steps],
        "versions": describe(path).versions,
        "parameters": {
            name: value
            if isinstance(value, str | int | float | None)
            else " ".join(repr(value).split())  # long ones have several lines
            for name, value in classifier.get_params(deep=False).items()
        },
        "kernel": kernel_in_words(classifier.kernel_),
        "n_features": trained.n_features,
        "n_labels": len(trained.classes),
        "labels": [
            {"name": name, "values": values.tolist()}
            for name, values in zip(trained.label_names, trained.classes, strict=True)
        ],
        "n_graphs": len(classifier.graphs_) if is_ensemble else 1,
        "n_edges": graph_of(classifier).n_edges,
        "relative_gap": {
            "largest": float(gaps.max()),
            "median": float(np.median(gaps)),
        },
        "n_passes": np.atleast_1d(classifier.n_iter_).tolist(),
        "tuning": None if search is None else search_facts(search),
    }


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    gap, passes = facts["relative_gap"], facts["n_passes"]
    versions = ", ".join(f"{name} {own}" for name, own in facts["versions"].items())
    shown = {**facts["parameters"]}
    shown.pop("verbose", None)
    n_edges = count(facts["n_edges"], "edge")
    chosen = [("chosen", facts["tuning"]["chosen"])] if facts["tuning"] else []
    return [
        ("model", " > ".join(facts["steps"] or [facts["model"]])),
        *chosen,
        ("saved with", versions),
        ("parameters", ", ".join(f"{name}={value}" for name, value in shown.items())),
        ("kernel", facts["kernel"]),
        ("features", str(facts["n_features"])),
        ("labels", f"{facts['n_labels']}: {_label_list(facts['labels'])}"),
        ("graphs", f"{facts['n_graphs']}, with {n_edges} together"),
        (
            "duality gap",
            f"at most {percent(gap['largest'])} of the dual objective, median "
            f"{percent(gap['median'])}",
        ),
        ("passes", f"{min(passes)} to {max(passes)} over the data"),
    ]


def _label_list(labels: list[dict[str, Any]]) -> str:
    """Return the names of the labels, and their values unless they are 0 and 1."""
    return ", ".join(f"{label['name']}{_values(label['values'])}" for label in labels)


def _values(values: list[Any]) -> str:
    """Return the values of a label in brackets; nothing for both 0 and 1."""
    if len(values) == 1:
        return f" (always {values[0]})"
    return "" if set(values) == {0, 1} else f" ({', '.join(map(str, values))})"


def _couplings(
    trained: "TrainedModel", request: Request | None, number: int
) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the examples that are averaged, and the pairs with strongest couplings."""
    from spanforest.diagnostics import edge_couplings, training_couplings

    if request is None:
        examples = "the training examples"
        couplings = training_couplings(trained.estimator)
    else:
        examples = request.data
        dataset = read_for_model(request, trained, with_labels=False)
        couplings = edge_couplings(trained.estimator, trained.inputs(dataset))
    if couplings is None:
        return None, []
    names = trained.label_names
    return examples, [
        {
            "labels": [names[j] for j in edge],
            "strength": float(strength),
            "is_signed": bool(is_signed),
        }
        for edge, strength, is_signed in zip(*couplings.strongest(number), strict=True)
    ]
