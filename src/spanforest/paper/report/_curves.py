"""Learning curves as small pictures, and the numbers that the page shows on them."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.paper import LearningCurves, display_name
from spanforest.paper.report._html import Html, element

WIDTH, HEIGHT = 300, 170
LEFT, RIGHT, TOP, BOTTOM = 36, 292, 8, 146  # of the area of the curves
LEAST_SPAN = 1.0  # per cent: less would make noise look like a trend
MEMBER = "Mean member"


class Scale(NamedTuple):
    """Where numbers lie in a panel."""

    low: float
    high: float
    n_trees: int

    def x(self, size: float) -> float:
        """Give the place of a number of trees; a single one stands in the middle."""
        share = (size - 1) / (self.n_trees - 1) if self.n_trees > 1 else 0.5
        return LEFT + (RIGHT - LEFT) * share

    def y(self, value: float) -> float:
        """Give the height of a score in per cent."""
        share = (value - self.low) / (self.high - self.low)
        return BOTTOM - (BOTTOM - TOP) * share


class Panel(NamedTuple):
    """The curves of one data set by one measure, in per cent."""

    dataset: str
    measure: str
    curves: Mapping[str, NDArray[np.float64]]  # by method
    member: float

    @classmethod
    def of(cls, found: LearningCurves, measure: str) -> "Panel":
        """Take one measure out of the curves of a data set."""
        curves = {m: 100 * curve for m, curve in found.curves[measure].items()}
        member = 100 * found.member_scores[measure]
        return cls(found.dataset, measure, curves, member)

    @property
    def n_trees(self) -> int:
        """Size of the whole ensemble."""
        return max(map(len, self.curves.values()))

    @property
    def scale(self) -> Scale:
        """A little room around all values, within 0 to 100."""
        values = np.concatenate([*self.curves.values(), [self.member]])
        low, high = float(values.min()), float(values.max())
        half = max(1.12 * (high - low), LEAST_SPAN) / 2
        middle = (low + high) / 2
        return Scale(max(middle - half, 0.0), min(middle + half, 100.0), self.n_trees)

    def data(self) -> dict[str, Any]:
        """Give places and texts to the script of the page, which rounds nothing."""
        scale = self.scale
        sizes = range(1, self.n_trees + 1)
        curves = [*self.curves.values(), np.full(self.n_trees, self.member)]
        return {
            "x": [round(scale.x(size), 1) for size in sizes],
            "y": [[round(scale.y(v), 1) for v in curve.tolist()] for curve in curves],
            "text": [[f"{v:.1f}" for v in curve.tolist()] for curve in curves],
        }


def script_data(panels: Sequence[Panel]) -> Html:
    """Give the numbers of the panels as a block of JSON, in the order of the page."""
    area = {"top": TOP, "bottom": BOTTOM}
    data = {"area": area, "panels": [panel.data() for panel in panels]}
    text = json.dumps(data, separators=(",", ":"))
    # no sequence in it can end the element
    return Html(text.replace("<", "\\u003c"))


def panel_figure(panel: Panel) -> Html:
    """Draw a panel with the values of the whole ensemble under it.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.paper.report._curves import Panel, panel_figure
    >>> panel = Panel("yeast", "microlabel_f1", {"mam": np.array([60.0, 64.0])}, 61.0)
    >>> '<span class="key key-mam">MAM <b>64.0</b></span>' in panel_figure(panel)
    True
    """
    name = display_name(panel.dataset)
    last = {m: f"{curve[-1]:.1f}" for m, curve in panel.curves.items()}
    spoken = ", ".join(f"{display_name(m)} {value}" for m, value in last.items())
    label = (
        f"{name}: {display_name(panel.measure)} in per cent against the number of "
        f"trees. At {panel.n_trees}: {spoken}; mean member {panel.member:.1f}."
    )
    keys = [_key(method, display_name(method), last[method]) for method in last]
    keys.append(_key("member", MEMBER, f"{panel.member:.1f}"))
    size = element("b", str(panel.n_trees), class_="size")
    at = element("span", "Trees: ", size, class_="at")
    return element(
        "figure",
        element("figcaption", element("span", name), at),
        element("div", _picture(panel, label), class_="plot", data_name=name),
        element("p", *keys, class_="readout"),
        class_="panel",
    )


def _key(kind: str, name: str, value: str) -> Html:
    return element("span", f"{name} ", element("b", value), class_=f"key key-{kind}")


def _picture(panel: Panel, label: str) -> Html:
    scale = panel.scale
    parts = []
    ticks = nice_ticks(scale.low, scale.high, 4)
    n_digits = max(len(f"{tick:g}".partition(".")[2]) for tick in ticks)
    for tick in ticks:
        y = f"{scale.y(tick):.1f}"
        parts.append(element("path", d=f"M{LEFT} {y}H{RIGHT}", class_="grid"))
        parts.append(
            element("text", f"{tick:.{n_digits}f}", x=LEFT - 6, y=y, class_="y-tick")
        )
    for size in _sizes(panel.n_trees):
        x = f"{scale.x(size):.1f}"
        parts.append(element("path", d=f"M{x} {BOTTOM}v4", class_="axis"))
        parts.append(element("text", str(size), x=x, y=BOTTOM + 17, class_="x-tick"))
    parts.append(element("path", d=f"M{LEFT} {BOTTOM}H{RIGHT}", class_="axis"))
    y = f"{scale.y(panel.member):.1f}"
    parts.append(element("path", d=f"M{LEFT} {y}H{RIGHT}", class_="curve curve-member"))
    for method, curve in panel.curves.items():
        parts.append(_curve(scale, method, curve))
    box = f"0 0 {WIDTH} {HEIGHT}"
    return element("svg", *parts, viewBox=box, role="img", aria_label=label)


def _curve(scale: Scale, method: str, curve: NDArray[np.float64]) -> Html:
    points = [
        f"{scale.x(size):.1f} {scale.y(value):.1f}"
        for size, value in enumerate(curve.tolist(), 1)
    ]
    if len(points) == 1:
        x, y = points[0].split()
        return element("circle", cx=x, cy=y, r=3, class_=f"dot-{method}")
    return element("path", d="M" + "L".join(points), class_=f"curve curve-{method}")


def _sizes(n_trees: int) -> list[int]:
    """Give the numbers of trees at the axis: the first, the last, round ones between.

    Examples
    --------
    >>> _sizes(60), _sizes(1), _sizes(3)
    ([1, 20, 40, 60], [1], [1, 2, 3])
    """
    if n_trees < 5:
        return list(range(1, n_trees + 1))
    step = nice_step(n_trees / 4)
    between = range(math.ceil(step), n_trees, math.ceil(step))
    kept = [size for size in between if size > 1 and n_trees - size > 0.6 * step]
    return [1, *kept, n_trees]


def nice_ticks(low: float, high: float, number: int) -> list[float]:
    """Give about `number` round numbers between two.

    Examples
    --------
    >>> nice_ticks(78.2, 81.9, 4)
    [79.0, 80.0, 81.0]
    >>> nice_ticks(0.0, 0.9, 4)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    step = nice_step((high - low) / number)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 6) for k in range(first, last + 1)]


def nice_step(step: float) -> float:
    """Give the number of the form 1, 2 or 5 times a power of ten next to a step.

    Examples
    --------
    >>> nice_step(0.17), nice_step(3.4), nice_step(15), nice_step(80)
    (0.2, 5.0, 20.0, 100.0)
    """
    power = 10.0 ** math.floor(math.log10(step))
    limits = {1: 1.5, 2: 3.0, 5: 7.5, 10: math.inf}
    return next(m * power for m, most in limits.items() if step < most * power)
