"""The label graph: a picture, and the neighbours of every label for the script."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from spanforest._html import draw_label_graph, page_style, strength_text
from spanforest._wording import count
from spanforest.diagnostics import Couplings, edge_couplings, training_couplings
from spanforest.model_page._outcomes import UNKNOWN, Outcomes
from spanforest.plots import LabelGraphDisplay
from spanforest.plots._label_graph import EDGE_KINDS

MOST_LABELS = 60  # a circle with more labels is hard to read
MOST_NEIGHBOURS = 30  # of a label; the page would grow with the square of the labels
MOST_EXAMPLES = 1000  # to average couplings over
N_STRONGEST = 20  # edges in the table
_KINDS = tuple(EDGE_KINDS)  # the script gets their numbers
_NOT_COUPLED = "not coupled"  # one of the labels never varies, say


class Edge(NamedTuple):
    """An edge as the table shows it."""

    labels: tuple[str, str]
    strength: float
    text: str  # of the strength
    kind: str


class GraphSection(NamedTuple):
    """What the page shows of the label graph."""

    picture: str
    n_edges: int
    n_drawn_edges: int
    n_drawn_labels: int
    averaged_over: str
    kinds: dict[str, str]  # of the drawn edges, with their texts
    strongest: list[Edge]
    data: dict[str, Any]  # for the script


def graph_section(
    model: Any, classifier: Any, X: Any, outcomes: Outcomes
) -> GraphSection:
    """Measure the couplings of the labels and draw the graph."""
    couplings, averaged_over = _couplings(model, classifier, X)
    display = LabelGraphDisplay(couplings, _frequencies(outcomes), outcomes.names)
    labels = _drawn_labels(couplings, outcomes.n_labels)
    drawn = _restricted(display, labels)
    with page_style():
        picture = draw_label_graph(drawn, "the model")
    shown = drawn.shown_edges
    kinds = {drawn.edge_kind(e) for e in shown if drawn.couplings.strength[e]}
    order = display.shown_edges[:N_STRONGEST]
    return GraphSection(
        picture=picture,
        n_edges=len(couplings.strength),
        n_drawn_edges=len(shown),
        n_drawn_labels=len(labels),
        averaged_over=averaged_over,
        kinds={kind: text for kind, (text, _) in EDGE_KINDS.items() if kind in kinds},
        strongest=[_edge(display, int(e)) for e in order],
        data={
            "labels": outcomes.names,
            "drawn": labels.tolist(),
            "edges": labels[drawn.couplings.edges[shown[::-1]]].tolist(),
            "kinds": [*(text for text, _ in EDGE_KINDS.values()), _NOT_COUPLED],
            "neighbours": _neighbours(display),
            "sizes": np.bincount(
                couplings.edges.ravel(), minlength=outcomes.n_labels
            ).tolist(),
        },
    )


def _couplings(model: Any, classifier: Any, X: Any) -> tuple[Couplings, str]:
    """Return the couplings, and the examples that they are averaged over."""
    couplings = training_couplings(model)
    if couplings is not None:
        return couplings, "the training examples"
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = np.arange(min(n_samples, MOST_EXAMPLES))
    examples = "these examples"
    if len(rows) < n_samples:
        examples = f"the first {count(len(rows), 'example')}"
    return edge_couplings(classifier, _safe_indexing(X, rows)), examples


def _frequencies(outcomes: Outcomes) -> NDArray[np.float64]:
    """Return the share of examples whose label is on, nan where none is known."""
    codes = outcomes.predicted if outcomes.truth is None else outcomes.truth
    shares = np.full(outcomes.n_labels, np.nan)
    for j, is_on in enumerate(outcomes.coding.is_on):
        known = codes[:, j][codes[:, j] != UNKNOWN]
        if len(known):  # a value that training lacks has the code -2: it is on
            shares[j] = np.append(is_on, [True, True])[known].mean()
    return shares


def _drawn_labels(couplings: Couplings, n_labels: int) -> NDArray[np.intp]:
    """Return the labels to draw: of many, those at the strongest edges."""
    if n_labels <= MOST_LABELS:
        return np.arange(n_labels)
    strongest = np.zeros(n_labels)
    for ends in couplings.edges.T:
        np.maximum.at(strongest, ends, np.abs(couplings.strength))
    return np.sort(np.argsort(-strongest, kind="stable")[:MOST_LABELS])


def _restricted(
    display: LabelGraphDisplay, labels: NDArray[np.intp]
) -> LabelGraphDisplay:
    """Return the graph of some labels, numbered anew."""
    number = np.full(len(display.label_names), -1)
    number[labels] = np.arange(len(labels))
    edges = number[display.couplings.edges].reshape(-1, 2)
    kept = (edges >= 0).all(axis=1)
    return LabelGraphDisplay(
        Couplings(
            edges[kept],
            display.couplings.strength[kept],
            display.couplings.is_signed[kept],
        ),
        display.frequencies[labels],
        [display.label_names[j] for j in labels],
    )


def _edge(display: LabelGraphDisplay, e: int) -> Edge:
    u, v = (display.label_names[j] for j in display.couplings.edges[e])
    strength = float(display.couplings.strength[e])
    kind = EDGE_KINDS[display.edge_kind(e)][0] if strength else _NOT_COUPLED
    return Edge((u, v), strength, strength_text(display, e), kind)


def _neighbours(display: LabelGraphDisplay) -> list[list[list[Any]]]:
    """Return, for each label, its strongest neighbours: label, strength, kind, share.

    The share is that of the strongest edge of the graph, in per cent.
    """
    strength = np.abs(display.couplings.strength)
    largest = strength.max(initial=0.0) or 1.0
    of_label: list[list[list[Any]]] = [[] for _ in display.label_names]
    for e in np.argsort(-strength, kind="stable"):
        u, v = display.couplings.edges[e].tolist()
        share = round(100 * float(strength[e]) / largest)
        kind = _KINDS.index(display.edge_kind(e)) if strength[e] else len(_KINDS)
        for one, other in ((u, v), (v, u)):
            if len(of_label[one]) < MOST_NEIGHBOURS:
                text = strength_text(display, int(e))
                of_label[one].append([other, text, kind, share])
    return of_label
