"""The critical-difference diagram of Demšar (2006), as SVG in the colours of the page.

It is drawn here and not by matplotlib so that its text is text, in the typeface of the
page, and its lines follow light and dark.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.paper import RankComparison, display_name
from spanforest.paper.report._html import (
    WIDTH,
    Html,
    element,
    text_lines,
    text_width,
    wrapped,
)

ALPHA = 0.05
AXIS = 62  # its height
BAR_GAP = 9
MOST_LETTERS = 10  # in a line of a name


def groups(p_values: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Give the largest groups of methods that the test does not tell apart.

    Parameters
    ----------
    p_values : ndarray of shape (n_methods, n_methods)
        Of each pair, the methods in the order of their average ranks: they fall with
        the distance. Pairs whose p-value is below 0.05 differ.

    Returns
    -------
    list of (int, int)
        First and last member of each group with at least two.

    Examples
    --------
    >>> import numpy as np
    >>> groups(np.array([[1.0, 0.3, 0.01], [0.3, 1.0, 0.2], [0.01, 0.2, 1.0]]))
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, row in enumerate(p_values):
        last = first
        while last + 1 < len(row) and row[last + 1] >= ALPHA:
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

    @property
    def lines(self) -> list[str]:
        return wrapped(self.name, MOST_LETTERS)


class _Frame(NamedTuple):
    """Where the axis begins and ends; the names stand on both sides of it."""

    left: float
    right: float
    n_methods: int
    ranks: float  # the room for the number of a rank
    line_gap: float

    @classmethod
    def around(cls, left: Sequence[_Method], right: Sequence[_Method]) -> "_Frame":
        n_methods = len(left) + len(right)
        ranks = text_width(f"{n_methods:.2f}") + 4
        margins = [
            13 + ranks + max(text_width(line) for m in side for line in m.lines)
            for side in (left, right)
        ]
        n_lines = max(len(method.lines) for method in (*left, *right))
        line_gap = 8.0 + 14 * n_lines
        return cls(margins[0], WIDTH - margins[1], n_methods, ranks, line_gap)

    @property
    def unit(self) -> float:
        return (self.right - self.left) / (self.n_methods - 1)

    def x(self, rank: float) -> float:
        return self.left + self.unit * (rank - 1)


def rank_diagram(comparison: RankComparison) -> Html:
    """Draw average ranks; bars join methods that Nemenyi's test does not tell apart."""
    order = np.argsort(comparison.average_ranks, kind="stable")
    joined = groups(comparison.nemenyi[np.ix_(order, order)])
    methods = [
        _Method(comparison.methods[number], float(comparison.average_ranks[number]))
        for number in order
    ]
    n_left = (len(methods) + 1) // 2
    left, right = methods[:n_left], methods[: n_left - 1 : -1]
    frame = _Frame.around(left, right)
    first_line = AXIS + 22 + BAR_GAP * len(joined)
    parts = [*_axis(frame), *_critical_difference(comparison, frame)]
    for side in (left, right):
        for number, method in enumerate(side):
            y = first_line + frame.line_gap * number
            parts += _name(method, frame, y, is_left=side is left)
    for number, (first, last) in enumerate(joined):
        y = AXIS + 14 + BAR_GAP * number
        begin, end = frame.x(methods[first].rank) - 4, frame.x(methods[last].rank) + 4
        parts.append(element("path", d=f"M{begin:.1f} {y}H{end:.1f}", class_="bar"))
    height = first_line + frame.line_gap * (n_left - 0.5) + 2
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="img",
        class_="diagram",
        aria_label=_spoken(comparison, methods, joined),
    )


def _axis(frame: _Frame) -> list[Html]:
    line = f"M{frame.left:.1f} {AXIS}H{frame.right:.1f}"
    parts = [element("path", d=line, class_="axis")]
    for rank in range(1, frame.n_methods + 1):
        x = f"{frame.x(rank):.1f}"
        parts.append(element("path", d=f"M{x} {AXIS}v-5", class_="axis"))
        if rank % 2 or frame.unit > 16:  # room for two figures
            text = element("text", str(rank), x=x, y=AXIS - 14, class_="x-tick")
            parts.append(text)
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
    end, away, anchor = frame.right + 8, 1, None
    if is_left:
        end, away, anchor = frame.left - 8, -1, "left"
    at_rank = end + 5 * away
    at_name = at_rank + frame.ranks * away
    return [
        element("path", d=f"M{x} {AXIS}V{y}H{end:.1f}", class_="elbow"),
        element("circle", cx=x, cy=AXIS, r=3.5, class_=f"dot dot-{method.key}"),
        text_lines([f"{method.rank:.2f}"], f"{at_rank:.1f}", y, class_=anchor),
        text_lines(method.lines, f"{at_name:.1f}", y, class_=anchor),
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
