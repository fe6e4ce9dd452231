"""The label graphs of saved models: which labels attract and which repel each other."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._classifier import GraphClassifier
from spanforest.diagnostics import Couplings, edge_couplings, label_frequencies
from spanforest.diagnostics._models import final_step, names_of
from spanforest.experiments._render import Block, Entry, Line
from spanforest.persistence import load


class LabelGraph(NamedTuple):
    """What is drawn of a model."""

    name: str
    model: str  # its class
    n_graphs: int
    couplings: Couplings
    label_names: Sequence[str]
    frequencies: NDArray[np.float64] | None  # None if the file does not tell

    @classmethod
    def read(cls, path: Path) -> "LabelGraph":
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
        return cls(
            path.name,
            type(classifier).__name__,
            len(getattr(classifier, "estimators_", [classifier])),
            _couplings(path, model, classifier),
            names_of(classifier, None),
            _frequencies(model, classifier),
        )

    def image(self) -> str:
        """Draw the graph and give it as the address of an SVG image."""
        svg = self._draw()
        return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")

    def _draw(self) -> bytes:
        from spanforest.plots import LabelGraphDisplay
        from spanforest.plots._style import optional

        matplotlib = optional("matplotlib")
        figures = optional("matplotlib.figure")
        n_labels = len(self.label_names)
        side = float(np.clip(4.5 + 0.09 * n_labels, 5.0, 11.0))
        frequencies = (
            np.zeros(n_labels) if self.frequencies is None else self.frequencies
        )
        # a figure of its own: pyplot would keep it
        ax = figures.Figure(figsize=(side + 1.0, side), layout="constrained").subplots()
        display = LabelGraphDisplay(self.couplings, frequencies, self.label_names)
        figure = display.plot(ax=ax).figure_
        if self.frequencies is None:  # then their scale would not be true
            for other in figure.axes[1:]:
                other.remove()
        stream = io.BytesIO()
        # the same graph shall give the same bytes
        with matplotlib.rc_context({"svg.hashsalt": "label graph"}):
            figure.savefig(stream, format="svg", metadata={"Date": None})
        return stream.getvalue()

    def strongest(self, number: int = 20) -> Block:
        """Give the pairs of labels that depend most on each other."""
        strength = self.couplings.strength
        order = np.argsort(-np.abs(strength), kind="stable")[:number]
        lines = []
        for e in order:
            u, v = self.couplings.edges[e]
            sign = "+" if self.couplings.is_signed[e] else ""
            lines.append(
                Line(
                    self.label_names[u],
                    (Entry(self.label_names[v]), Entry(f"{strength[e]:{sign}.3g}")),
                )
            )
        return Block("", ("Label", "Label", "Coupling"), tuple(lines))


def _couplings(path: Path, model: Any, classifier: GraphClassifier) -> Couplings:
    """Give the couplings on the training examples, as the file has them."""
    if hasattr(model, "couplings_"):
        return Couplings(**model.couplings_)
    examples = _training_examples(classifier)
    if examples is None:
        raise ValueError(
            f"{path} holds neither couplings nor training examples, so how strong the "
            "edges of its label graph are is not known. Models of `spanforest train` "
            "have couplings, and so do models with a kernel that is not linear."
        )
    return edge_couplings(classifier, examples)


def _frequencies(model: Any, classifier: GraphClassifier) -> NDArray[np.float64] | None:
    if hasattr(model, "label_frequencies_"):
        return np.asarray(model.label_frequencies_)
    examples = _training_examples(classifier)
    return None if examples is None else label_frequencies(classifier.predict(examples))


def _training_examples(classifier: Any) -> Any:
    """Give the examples that a kernel model keeps, with the names it was given."""
    examples = getattr(classifier, "X_fit_", None)
    names = getattr(classifier, "feature_names_in_", None)
    if examples is None or names is None:
        return examples
    import pandas  # names come from a DataFrame, so it is there

    return pandas.DataFrame(examples, columns=list(names))
