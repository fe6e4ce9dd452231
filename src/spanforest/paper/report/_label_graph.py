"""Label graphs as SVG in the colours of the page, and the section they stand in.

They are drawn here and not by matplotlib so that names stay readable on a phone, and
lines follow light and dark.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._wording import count
from spanforest.paper import Block, Entry, Line
from spanforest.paper.report._html import (
    WIDTH,
    Html,
    element,
    text_lines,
    text_width,
    wrapped,
)
from spanforest.paper.report._tables import html_table
from spanforest.plots import LabelGraphDisplay

SMALL = 9.0  # size of letters around the circle
MOST_ROOM = 72.0  # for a name around the circle
N_IN_TABLE = 20
MOST_LABELS = 60  # more cannot be read on one circle


class LabelGraph(NamedTuple):
    """A label graph to be drawn, and what it was made of."""

    name: str
    made_of: str
    display: LabelGraphDisplay  # frequencies that are not known are nan
    n_left_out: int = 0  # edges that are weaker than those of the display

    @property
    def n_edges(self) -> int:
        """Number of edges of the whole graph."""
        return len(self.display.couplings.strength) + self.n_left_out


class NoLabelGraph(NamedTuple):
    """Why there is no label graph."""

    name: str
    reason: str


def too_many_labels(n_labels: int) -> str:
    """Say why a graph is not drawn; empty if it is.

    Examples
    --------
    >>> too_many_labels(174), too_many_labels(60)
    ('174 labels, more than the 60 that are drawn.', '')
    """
    if n_labels <= MOST_LABELS:
        return ""
    return f"{n_labels} labels, more than the {MOST_LABELS} that are drawn."


def graph_section(graphs: Sequence[LabelGraph | NoLabelGraph]) -> Html:
    """Give the label graphs, and behind them the reasons for those that lack."""
    drawn = [graph for graph in graphs if isinstance(graph, LabelGraph)]
    missing = [
        element("li", f"{graph.name}: {graph.reason}")
        for graph in graphs
        if isinstance(graph, NoLabelGraph)
    ]
    figures = [_article(graph, f"graph-{k}") for k, graph in enumerate(drawn)]
    explanation = element(
        "p",
        "The wider an edge, the more its two labels depend on each other in the "
        "model; the larger a dot, the more examples have the label.",
    )
    return element(
        "section",
        element("h2", "Label graphs", id="graphs"),
        explanation if drawn else None,
        element("div", *figures, class_="graphs") if drawn else None,
        element("ul", *missing, class_="notes") if missing else None,
    )


def _article(graph: LabelGraph, label: str) -> Html:
    display = graph.display
    n_edges, n_shown = graph.n_edges, len(display.shown_edges)
    size = f"{count(n_edges, 'edge')} over {count(len(display.label_names), 'label')}"
    keys = [
        element("span", text, class_=f"key key-{kind}")
        for kind, text in _KINDS.items()
        if kind in {_kind(display, e) for e in display.shown_edges}
    ]
    if n_shown < n_edges:
        keys.append(element("span", f"the {n_shown} strongest of {n_edges} edges"))
    return element(
        "article",
        element("h3", graph.name, id=label),
        element("p", f"{graph.made_of} {size}."),
        label_graph(graph),
        element("p", *keys, class_="legend") if keys else None,
        element(
            "details",
            element("summary", "The strongest edges"),
            html_table(_strongest(display), label),
        )
        if n_edges
        else None,
    )


_KINDS = {
    "attract": "attract each other",
    "repel": "repel each other",
    "depend": "depend on each other",
}


def _kind(display: LabelGraphDisplay, e: int) -> str:
    if not display.couplings.is_signed[e]:
        return "depend"
    return "attract" if display.couplings.strength[e] >= 0 else "repel"


def _strength(display: LabelGraphDisplay, e: int) -> str:
    sign = "+" if display.couplings.is_signed[e] else ""
    return f"{display.couplings.strength[e]:{sign}.3g}"


def _strongest(display: LabelGraphDisplay) -> Block:
    lines = []
    for e in display.shown_edges[:N_IN_TABLE]:
        one, other = (display.label_names[j] for j in display.couplings.edges[e])
        lines.append(Line(one, (Entry(other), Entry(_strength(display, e)))))
    return Block("", ("Label", "Label", "Coupling"), tuple(lines))


def label_graph(graph: LabelGraph) -> Html:
    """Draw the labels on a circle, joined where they depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.diagnostics import Couplings
    >>> edge = Couplings(np.array([[0, 1]]), np.array([2.0]), np.array([True]))
    >>> display = LabelGraphDisplay(edge, [0.5, 0.4], ["sun", "warm"])
    >>> picture = label_graph(LabelGraph("weather", "", display))
    >>> "<title>sun, warm: +2</title>" in picture
    True
    """
    display = graph.display
    names = display.label_names
    is_few = display.has_few_labels
    if is_few:
        lines = [wrapped(name, 12) for name in names]
        longest = max(text_width(line) for of_name in lines for line in of_name)
        radius = min(WIDTH / 2 - longest - 11, 130.0)
        height = 2 * radius + 16 + 30 * max(map(len, lines))
    else:
        lines = [[_cut(name)] for name in names]
        longest = max(text_width(line, SMALL) for [line] in lines)
        radius = WIDTH / 2 - longest - 8
        height = WIDTH
    circle = _Circle(radius, height / 2)
    parts = [_edge(display, int(e), circle) for e in display.shown_edges[::-1]]
    parts += [_dot(display, j, circle) for j in range(len(names))]
    for j, place in enumerate(display.positions):
        draw = _upright_name if is_few else _slanted_name
        parts.append(draw(lines[j], circle, place))
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="img",
        class_="label-graph" if is_few else "label-graph crowded",
        aria_label=f"The label graph of {graph.name}; its strongest edges are in the "
        "table below.",
    )


def _cut(name: str) -> str:
    """Shorten a name that would make the circle small."""
    cut = name
    while text_width(cut, SMALL) > MOST_ROOM:
        cut = cut.removesuffix("…")[:-1] + "…"
    return cut


class _Circle(NamedTuple):
    radius: float
    middle: float  # of the height

    def at(self, place: NDArray[np.float64], beyond: float = 0.0) -> tuple[str, str]:
        """Give where a point lies, moved away from the middle."""
        x, y = (self.radius + beyond) * place
        return f"{WIDTH / 2 + x:.1f}", f"{self.middle - y:.1f}"


def _edge(display: LabelGraphDisplay, e: int, circle: _Circle) -> Html:
    strength = np.abs(display.couplings.strength)
    share = strength[e] / (strength.max() or 1.0)
    widest = 5.0 if display.has_few_labels else 3.0
    one, other = (display.label_names[j] for j in display.couplings.edges[e])
    begin, control, end = (" ".join(circle.at(p)) for p in display.curve(e))
    return element(
        "path",
        element("title", f"{one}, {other}: {_strength(display, e)}"),
        d=f"M{begin}Q{control} {end}",
        stroke_width=f"{0.4 + (widest - 0.4) * share:.2f}",
        stroke_opacity=f"{0.3 + 0.65 * share:.2f}",
        class_=f"edge edge-{_kind(display, e)}",
    )


def _dot(display: LabelGraphDisplay, j: int, circle: _Circle) -> Html:
    text, frequency, share = display.label_names[j], display.frequencies[j], 0.2
    if not np.isnan(frequency):
        text += f": {100 * frequency:.1f} % of the examples"
        share = frequency / (display.frequencies.max() or 1.0)
    x, y = circle.at(display.positions[j])
    largest = min(7.0, 3.0 + 60.0 / len(display.label_names))
    radius = f"{1.5 + (largest - 1.5) * np.sqrt(share):.1f}"
    return element("circle", element("title", text), cx=x, cy=y, r=radius)


def _upright_name(
    lines: Sequence[str], circle: _Circle, place: NDArray[np.float64]
) -> Html:
    is_above = abs(place[0]) < 0.2  # or below: there the next line leads away
    x, y = circle.at(place, beyond=8.0 + 7 * len(lines) if is_above else 11.0)
    anchor = "middle" if is_above else "left" if place[0] < 0 else None
    return text_lines(lines, x, y, class_=anchor)


def _slanted_name(
    lines: Sequence[str], circle: _Circle, place: NDArray[np.float64]
) -> Html:
    x, y = circle.at(place, beyond=8.0)
    angle = -np.degrees(np.arctan2(place[1], place[0]))
    is_left = abs(angle) > 90.0 + 1e-6
    turn = f"rotate({angle + 180 * is_left:.1f} {x} {y})"
    anchor = "left" if is_left else None
    return element("text", lines[0], x=x, y=y, transform=turn, class_=anchor)
