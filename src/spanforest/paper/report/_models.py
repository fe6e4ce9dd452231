"""The label graphs of models that were saved."""

from pathlib import Path

import numpy as np

from spanforest._classifier import GraphClassifier
from spanforest._wording import count
from spanforest.diagnostics import (
    final_step,
    graph_of,
    training_couplings,
    training_frequencies,
)
from spanforest.paper.report._label_graph import LabelGraph
from spanforest.persistence import load
from spanforest.plots import LabelGraphDisplay


def read_label_graph(path: Path) -> LabelGraph:
    """Take the label graph out of a model file.

    Raises
    ------
    ValueError
        If the model has no label graph, or if nothing in the file tells how strong
        its edges are.
    """
    model = load(path)
    classifier, _ = final_step(model)
    if not isinstance(classifier, GraphClassifier):
        raise ValueError(
            f"{path} must hold an MMCRFClassifier or a "
            "RandomGraphEnsembleClassifier, alone or last in a pipeline; found "
            f"{type(classifier).__name__}, which has no label graph."
        )
    couplings, frequencies = training_couplings(model), training_frequencies(model)
    if couplings is None:
        raise ValueError(
            f"{path} holds neither couplings nor training examples, so how strong the "
            "edges of its label graph are is not known. Models of `spanforest train` "
            "have couplings, and so do models with a kernel that is not linear."
        )
    is_ensemble = hasattr(classifier, "estimators_")
    n_graphs = len(classifier.estimators_) if is_ensemble else 1
    made_of = f"{type(classifier).__name__} of {count(n_graphs, 'graph')}."
    if frequencies is None:
        made_of += " The file does not tell how frequent the labels are."
        frequencies = np.full(graph_of(model).n_labels, np.nan)
    display = LabelGraphDisplay(couplings, frequencies, classifier.label_names_)
    return LabelGraph(path.name, made_of, display)
