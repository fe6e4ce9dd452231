"""The figures of the page: learning curves and ranks of methods."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._html import new_figure, to_svg, wrapped
from spanforest.metrics import MEASURES
from spanforest.paper import LearningCurves, RankComparison, display_name
from spanforest.paper.report._verdicts import ALPHA
from spanforest.plots import CriticalDifferenceDisplay, EnsembleCurveDisplay
from spanforest.plots._style import GREY

WIDTH = 360  # of diagrams; a unit is a pixel on a phone
PANEL = (300, 170)  # width and height of learning curves
LEFT, RIGHT = 36, 292  # ends of the x axis of a panel
AREA = {"top": 8, "bottom": 146}  # ends of its y axis
LARGE = 12  # size of letters


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
    lines = [wrapped(name, 10) for name in names]
    display = CriticalDifferenceDisplay(
        [
            name if lines.count(name) == 1 else f"{name} ({number})"
            for number, name in enumerate(lines)
        ],
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
    ax.tick_params(labelsize=LARGE)
    ax.patch.set_visible(False)
    for text in ax.texts:
        text.set(fontsize=LARGE, color="black")
        gap = "\n " if text.get_ha() == "left" else " \n"  # between name and elbow
        text.set_text(text.get_text().replace("\n", gap))
    for bar in display.bars_:
        bar.set_gid("bar")
    order = np.argsort(comparison.average_ranks, kind="stable")
    ranks = ", ".join(f"{names[s]} {comparison.average_ranks[s]:.2f}" for s in order)
    full = dict(zip(display.methods, names, strict=True))
    groups = [", ".join(full[name] for name in group) for group in display.groups]
    alike = f" Not told apart: {'; '.join(groups)}." if groups else ""
    title = MEASURES[comparison.measure].title
    label = f"Critical-difference diagram, {title}. Average ranks: {ranks}.{alike}"
    return to_svg(figure, label)
