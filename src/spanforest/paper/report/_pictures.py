"""The figures of the page: learning curves, ranks of methods, label graphs."""

import textwrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.metrics import MEASURES
from spanforest.paper import LearningCurves, RankComparison, display_name
from spanforest.paper.report._graph_sources import GraphSource
from spanforest.paper.report._svg import new_figure, to_svg
from spanforest.plots import (
    CriticalDifferenceDisplay,
    EnsembleCurveDisplay,
    LabelGraphDisplay,
)
from spanforest.plots._style import GREY

WIDTH = 360  # of diagrams and graphs; a unit is a pixel on a phone
PANEL = (300, 170)  # width and height of learning curves
LEFT, RIGHT = 36, 292  # ends of the x axis of a panel
AREA = {"top": 8, "bottom": 146}  # ends of its y axis
LARGE, SMALL = 12, 9  # sizes of letters
ALPHA = 0.05


class Panel(NamedTuple):
    """Learning curves of one data set by one measure, with their values as text."""

    name: str  # of the data set
    picture: str
    curves: dict[str, str]  # names to show, by key
    data: dict[str, Any]  # for the script: places and texts of all points

    @property
    def n_trees(self) -> int:
        """Size of the whole ensemble."""
        return len(self.data["x"])

    @property
    def last_values(self) -> list[str]:
        """Values of the whole ensemble, in the order of `curves`."""
        return [texts[-1] for texts in self.data["text"]]


def draw_panel(curves: LearningCurves, measure: str) -> Panel:
    """Draw the learning curves of a data set by one measure."""
    name = display_name(curves.dataset)
    values, member = curves.curves[measure], curves.member_scores[measure]
    names = {**{key: display_name(key) for key in values}, "member": "Mean member"}
    ax = _panel_axes()
    EnsembleCurveDisplay(values, member, measure).plot(ax=ax)
    ax.get_legend().remove()
    ax.set(xlabel="", ylabel="")
    ax.locator_params(axis="y", nbins=5, steps=[1, 2, 5, 10])
    for line, key in zip(ax.get_lines(), names, strict=True):
        line.set_gid(f"curve-{key}")
    n_trees = max(map(len, values.values()))
    data = _script_data(ax, [*values.values(), np.full(n_trees, member)])
    last = [texts[-1] for texts in data["text"]]
    spoken = map(" ".join, zip(names.values(), last, strict=True))
    label = (
        f"{name}: {MEASURES[measure].title} in per cent against the number of trees. "
        f"At {n_trees}: {', '.join(spoken)}."
    )
    return Panel(name, to_svg(ax.figure, label), names, data)


def _panel_axes() -> Any:
    """Return axes with little around the curves: their place in the panel is fixed."""
    width, height = PANEL
    corner = (LEFT / width, 1 - AREA["bottom"] / height)
    size = ((RIGHT - LEFT) / width, (AREA["bottom"] - AREA["top"]) / height)
    ax = new_figure(width, height).add_axes((*corner, *size))
    ax.patch.set_visible(False)
    ax.spines["left"].set_visible(False)
    ax.tick_params(labelsize=11, labelcolor=GREY)
    ax.tick_params(axis="y", length=0)
    return ax


def _script_data(ax: Any, curves: list[NDArray[np.float64]]) -> dict[str, Any]:
    """Return places in the picture and texts of all points of the curves."""
    xs, ys, texts = [], [], []
    for curve in curves:
        points = np.column_stack([np.arange(1, len(curve) + 1), 100 * curve])
        x, y = ax.transData.transform(points).T * (72 / ax.figure.dpi)
        xs.append(x.round(1).tolist())
        ys.append((PANEL[1] - y).round(1).tolist())
        texts.append([f"{value:.1f}" for value in points[:, 1]])
    return {"x": max(xs, key=len), "y": ys, "text": texts}


def draw_ranks(comparison: RankComparison) -> str:
    """Draw average ranks; bars join methods that Nemenyi's test does not tell apart."""
    names = [display_name(method) for method in comparison.methods]
    wrapped = [_wrapped(name, 10) for name in names]
    display = CriticalDifferenceDisplay(
        [w if wrapped.count(w) == 1 else f"{w} ({k})" for k, w in enumerate(wrapped)],
        comparison.average_ranks,
        comparison.nemenyi,
        ALPHA,
        comparison.critical_difference(ALPHA),
    )
    n_rows = (len(names) + 1) // 2 + len(display.groups)
    row_height = 36 if any("\n" in name for name in display.methods) else 22
    figure = new_figure(WIDTH, 80 + row_height * n_rows, layout="constrained")
    ax = figure.add_subplot()
    display.plot(ax=ax)
    ax.set_title("")
    ax.locator_params(axis="x", integer=True)
    ax.patch.set_visible(False)
    for text in ax.texts:
        text.set(fontsize=LARGE, color="black")
        gap = "\n " if text.get_ha() == "left" else " \n"  # between name and elbow
        text.set_text(text.get_text().replace("\n", gap))
    for bar in display.bars_:
        bar.set_gid("bar")
    order = np.argsort(comparison.average_ranks, kind="stable")
    ranks = ", ".join(f"{names[k]} {comparison.average_ranks[k]:.2f}" for k in order)
    full = dict(zip(display.methods, names, strict=True))
    groups = [", ".join(full[name] for name in group) for group in display.groups]
    alike = f" Not told apart: {'; '.join(groups)}." if groups else ""
    title = MEASURES[comparison.measure].title
    label = f"Critical-difference diagram, {title}. Average ranks: {ranks}.{alike}"
    return to_svg(figure, label)


def draw_label_graph(source: GraphSource, display: LabelGraphDisplay) -> str:
    """Draw the labels on a circle, joined where they depend on each other."""
    is_few = display.has_few_labels
    shorten = _wrapped if is_few else _cut
    drawn = LabelGraphDisplay(
        display.couplings,
        display.frequencies,
        [shorten(name, 12) for name in display.label_names],
        display.max_edges,
    )
    figure = new_figure(WIDTH, 300 if is_few else WIDTH, layout="constrained")
    ax = figure.add_subplot()
    drawn.plot(ax=ax, legend=False)
    for text in ax.texts:
        text.set_fontsize(LARGE if is_few else SMALL)
    if not is_few:  # the circle is small: so are dots and edges
        drawn.dots_.set_sizes(0.4 * drawn.dots_.get_sizes())
    drawn.dots_.set_gid("dot")
    edges = display.shown_edges[::-1]  # weakest first, as they are drawn
    for patch, e in zip(ax.patches, edges, strict=True):
        patch.set_gid(f"edge edge-{display.edge_kind(e)}")
        if not is_few:
            patch.set_linewidth(0.6 * patch.get_linewidth())
    titles = [
        f"{', '.join(edge_ends(display, e))}: {strength_text(display, e)}"
        for e in edges
    ]
    titles += map(_label_title, display.label_names, display.frequencies)
    label = (
        f"The label graph of {source.name}; its strongest edges are in the table below."
    )
    return to_svg(figure, label, titles)


def edge_ends(display: LabelGraphDisplay, e: int) -> list[str]:
    """Return the names of the two labels that an edge joins."""
    return [display.label_names[j] for j in display.couplings.edges[e]]


def strength_text(display: LabelGraphDisplay, e: int) -> str:
    """Return the strength of an edge, with its sign if it has one."""
    sign = "+" if display.couplings.is_signed[e] else ""
    return f"{display.couplings.strength[e]:{sign}.3g}"


def _label_title(name: str, frequency: float) -> str:
    if np.isnan(frequency):
        return name
    return f"{name}: {100 * frequency:.1f} % of the examples"


def _wrapped(name: str, width: int) -> str:
    r"""Break a name into at most two lines.

    Examples
    --------
    >>> _wrapped("Classifier chains", 10), _wrapped("one two three", 5)
    ('Classifier\nchains', 'one\ntwo…')
    """
    return "\n".join(textwrap.wrap(name, width, max_lines=2, placeholder="…"))


def _cut(name: str, width: int) -> str:
    """Shorten a name that would leave little room for the circle."""
    return name if len(name) <= width else name[: width - 1] + "…"
