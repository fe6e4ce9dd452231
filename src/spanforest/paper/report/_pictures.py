"""The figures of the page: learning curves, ranks of methods, label graphs."""

import textwrap
from typing import Any, NamedTuple

import numpy as np

from spanforest.metrics import MEASURES
from spanforest.paper import LearningCurves, RankComparison, display_name
from spanforest.paper.report._graph_sources import GraphSource
from spanforest.paper.report._svg import new_figure, to_svg
from spanforest.plots import (
    CriticalDifferenceDisplay,
    EnsembleCurveDisplay,
    LabelGraphDisplay,
)

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
    """Draw the learning curves of a data set by one measure.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.paper import LearningCurves
    >>> curves = {"microlabel_f1": {"mam": np.array([0.6, 0.64])}}
    >>> curves = LearningCurves("yeast", None, 5, curves, {"microlabel_f1": 0.61})
    >>> panel = draw_panel(curves, "microlabel_f1")
    >>> panel.name, panel.n_trees, panel.last_values
    ('Yeast', 2, ['64.0', '61.0'])
    """
    values, member = curves.curves[measure], curves.member_scores[measure]
    figure = new_figure(*PANEL)
    width, height = PANEL
    corner = (LEFT / width, 1 - AREA["bottom"] / height)
    size = ((RIGHT - LEFT) / width, (AREA["bottom"] - AREA["top"]) / height)
    ax = figure.add_axes((*corner, *size))
    EnsembleCurveDisplay(values, member, measure).plot(ax=ax)
    ax.get_legend().remove()
    ax.set(xlabel="", ylabel="")
    ax.spines["left"].set_visible(False)
    ax.tick_params(labelsize=11, labelcolor=ax.spines["left"].get_edgecolor())
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="y", nbins=5, steps=[1, 2, 5, 10])
    ax.patch.set_visible(False)
    names = {method: display_name(method) for method in values}
    names["member"] = "Mean member"
    for line, key in zip(ax.get_lines(), names, strict=True):
        line.set_gid(f"curve-{key}")

    n_trees = max(map(len, values.values()))
    percent = [100 * np.asarray(curve) for curve in values.values()]
    percent.append(np.full(n_trees, 100 * member))
    sizes = np.arange(1, n_trees + 1)
    places = [
        ax.transData.transform(np.column_stack([sizes[: len(curve)], curve]))
        * (72 / figure.dpi)
        for curve in percent
    ]
    texts = [[f"{value:.1f}" for value in curve] for curve in percent]
    data = {
        "x": places[-1][:, 0].round(1).tolist(),
        "y": [(height - place[:, 1]).round(1).tolist() for place in places],
        "text": texts,
    }
    spoken = ", ".join(
        f"{name} {text[-1]}" for name, text in zip(names.values(), texts, strict=True)
    )
    label = (
        f"{display_name(curves.dataset)}: {MEASURES[measure].title} in per cent "
        f"against the number of trees. At {n_trees}: {spoken}."
    )
    return Panel(display_name(curves.dataset), to_svg(figure, label), names, data)


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
