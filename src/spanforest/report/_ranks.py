"""The critical-difference diagram of Demšar (2006), as SVG in the colours of the page.

It is drawn here and not by matplotlib so that its text is text, in the typeface of the
page, and its lines follow light and dark.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.experiments import RankComparison, display_name
from spanforest.report._html import Html, element

ALPHA = 0.05
AXIS, AXIS_LENGTH = 66, 300  # height of the axis, and its length
BAR_GAP, LINE_GAP = 9, 24
LETTER = 7.5  # a generous width, so that names fit in any typeface


def groups(
    ranks: NDArray[np.float64], p_values: NDArray[np.float64], alpha: float = ALPHA
) -> list[tuple[int, int]]:
    """Give the largest groups of methods that the test does not tell apart.

    Parameters
    ----------
    ranks : ndarray of shape (n_methods,)
        Average ranks, lowest first.
    p_values : ndarray of shape (n_methods, n_methods)
        In the same order.
    alpha : float, default=0.05
        Pairs whose p-value is below it differ.

    Returns
    -------
    list of (int, int)
        First and last member of each group with at least two.

    Examples
    --------
    >>> import numpy as np
    >>> p_values = np.array([[1.0, 0.3, 0.01], [0.3, 1.0, 0.2], [0.01, 0.2, 1.0]])
    >>> groups(np.array([1.0, 2.0, 3.0]), p_values)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = first
        while last + 1 < len(ranks) and (p_values[first, last + 1] >= alpha):
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


class _Method(NamedTuple):
    key: str
    rank: float

    @property
    def name(self) -> str:
        return display_name(self.key)


class _Frame(NamedTuple):
    """Where the axis begins and ends; the names stand on both sides of it."""

    left: float
    right: float
    n_methods: int

    @classmethod
    def around(cls, methods: Sequence[_Method]) -> "_Frame":
        margin = 60 + LETTER * max(len(method.name) for method in methods)
        return cls(margin, margin + AXIS_LENGTH, len(methods))

    @property
    def unit(self) -> float:
        return (self.right - self.left) / (self.n_methods - 1)

    def x(self, rank: float) -> float:
        return self.left + self.unit * (rank - 1)


def rank_diagram(comparison: RankComparison) -> Html:
    """Draw average ranks; bars join methods that Nemenyi's test does not tell apart."""
    order = np.argsort(comparison.average_ranks, kind="stable")
    ranks = comparison.average_ranks[order]
    joined = groups(ranks, comparison.nemenyi[np.ix_(order, order)])
    methods = [
        _Method(comparison.methods[number], rank)
        for number, rank in zip(order, ranks.tolist(), strict=True)
    ]
    frame = _Frame.around(methods)
    first_line = AXIS + 22 + BAR_GAP * len(joined)
    n_left = (len(methods) + 1) // 2
    parts = [*_axis(frame), *_critical_difference(comparison, frame)]
    for number, method in enumerate(methods[:n_left]):
        parts += _name(method, frame, first_line + LINE_GAP * number, is_left=True)
    for number, method in enumerate(reversed(methods[n_left:])):
        parts += _name(method, frame, first_line + LINE_GAP * number, is_left=False)
    for number, (first, last) in enumerate(joined):
        y = AXIS + 14 + BAR_GAP * number
        begin, end = frame.x(ranks[first]) - 4, frame.x(ranks[last]) + 4
        parts.append(element("path", d=f"M{begin:.1f} {y}H{end:.1f}", class_="bar"))
    width = f"{frame.left + frame.right:.0f}"
    height = first_line + LINE_GAP * (n_left - 1) + 12
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=_spoken(comparison, methods, joined),
    )


def _axis(frame: _Frame) -> list[Html]:
    line = f"M{frame.left:.1f} {AXIS}H{frame.right:.1f}"
    parts = [element("path", d=line, class_="axis")]
    for rank in range(1, frame.n_methods + 1):
        x = f"{frame.x(rank):.1f}"
        parts.append(element("path", d=f"M{x} {AXIS}v-5", class_="axis"))
        parts.append(element("text", str(rank), x=x, y=AXIS - 15, class_="x-tick"))
    return parts


def _critical_difference(comparison: RankComparison, frame: _Frame) -> list[Html]:
    difference = comparison.critical_difference(ALPHA)
    x = f"{frame.left:.1f}"
    bracket = f"M{x} 18v8m0 -4h{frame.unit * difference:.1f}m0 -4v8"
    text = f"critical difference {difference:.2f}"
    return [
        element("text", text, x=x, y=9, class_="note"),
        element("path", d=bracket, class_="axis"),
    ]


def _name(method: _Method, frame: _Frame, y: float, *, is_left: bool) -> list[Html]:
    x = f"{frame.x(method.rank):.1f}"
    end = frame.left - 12 if is_left else frame.right + 12
    rank = f"{method.rank:.2f}"
    return [
        element("path", d=f"M{x} {AXIS}V{y}H{end:.1f}", class_="elbow"),
        element("circle", cx=x, cy=AXIS, r=3.5, class_=f"dot dot-{method.key}"),
        element(
            "text",
            f"{method.name}  {rank}" if is_left else f"{rank}  {method.name}",
            x=f"{end + (-6 if is_left else 6):.1f}",
            y=y,
            class_="left" if is_left else None,
        ),
    ]


def _spoken(
    comparison: RankComparison,
    methods: Sequence[_Method],
    joined: Sequence[tuple[int, int]],
) -> str:
    ranks = ", ".join(f"{method.name} {method.rank:.2f}" for method in methods)
    texts = [
        ", ".join(method.name for method in methods[first : last + 1])
        for first, last in joined
    ]
    alike = f" Not told apart: {'; '.join(texts)}." if texts else ""
    measure = display_name(comparison.measure)
    return f"Critical-difference diagram, {measure}. Average ranks: {ranks}.{alike}"
