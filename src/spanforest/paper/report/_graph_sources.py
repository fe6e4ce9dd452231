"""Label graphs to draw: those in the rows of a run, and those of saved models."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spanforest._classifier import GraphClassifier
from spanforest._wording import count
from spanforest.diagnostics import (
    final_step,
    graph_of,
    training_couplings,
    training_frequencies,
)
from spanforest.paper import DATASETS, Row, StoredGraph, display_name, in_order
from spanforest.paper.report._run_facts import setup_text
from spanforest.paper.report._shown_runs import Run
from spanforest.persistence import load
from spanforest.plots import LabelGraphDisplay

MOST_LABELS = 60  # a circle with more labels is hard to read


class GraphSource(NamedTuple):
    """A label graph and where it comes from, or the reason why it is not drawn."""

    name: str
    text: str
    display: LabelGraphDisplay | None = None  # None if the graph is not drawn
    n_edges: int = 0  # of the whole graph; the display may hold the strongest only


def graphs_of_runs(runs: Iterable[Run]) -> list[GraphSource]:
    """Return a label graph for each data set whose rows hold one.

    The graph is that of the first fold that has one. If a data set was run under both
    protocols, its graph under the tuned one is shown.
    """
    rows: dict[str, Row] = {}
    for run in runs:
        with_graph = [row for row in run.folds if row.get("label_graph")]
        rows |= {row["dataset"]: row for row in reversed(with_graph)}
    return [_of_row(rows[dataset]) for dataset in in_order(rows, DATASETS)]


def _of_row(row: Row) -> GraphSource:
    name = display_name(row["dataset"])
    stored = StoredGraph.from_field(row["label_graph"])
    n_labels = len(stored.frequencies)
    if n_labels > MOST_LABELS:
        limit = f"more than the {MOST_LABELS} that are drawn"
        return GraphSource(name, f"{n_labels} labels, {limit}.")
    examples = count(stored.n_samples, "example")
    setup = setup_text(row["n_trees"], row["params"], examples, row["gap"])
    display = LabelGraphDisplay(
        stored.couplings, stored.frequencies, stored.label_names or None
    )
    text = f"Fold {row['fold'] + 1} of {row['n_folds']}: {setup}"
    return GraphSource(name, text, display, stored.n_edges)


def graph_of_model(path: Path) -> GraphSource:
    """Return the label graph of a saved model.

    Raises
    ------
    ValueError
        If the model has no label graph, or if the file does not tell how strong the
        edges of the graph are.
    """
    model = load(path)
    classifier, _ = final_step(model)
    if not isinstance(classifier, GraphClassifier):
        raise ValueError(
            f"{path} must hold an MMCRFClassifier or a "
            "RandomGraphEnsembleClassifier, alone or last in a pipeline; got "
            f"{type(classifier).__name__}, which has no label graph."
        )
    couplings, frequencies = training_couplings(model), training_frequencies(model)
    if couplings is None:
        raise ValueError(
            f"{path} holds neither couplings nor training examples, so the strength of "
            "its edges is not known. Models of `spanforest train` have couplings, and "
            "so do models with a kernel that is not linear."
        )
    is_ensemble = hasattr(classifier, "estimators_")
    n_graphs = len(classifier.estimators_) if is_ensemble else 1
    text = f"{type(classifier).__name__} of {count(n_graphs, 'graph')}."
    if frequencies is None:
        text += " The file does not tell how frequent the labels are."
        frequencies = np.full(graph_of(model).n_labels, np.nan)
    display = LabelGraphDisplay(couplings, frequencies, classifier.label_names_)
    return GraphSource(path.name, text, display, len(couplings.strength))
