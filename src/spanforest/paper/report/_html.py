"""HTML that is put together from elements, so that every text in it is escaped."""

import textwrap
from collections.abc import Iterable, Sequence
from html import escape

WIDTH = 360  # of a picture, in units that are pixels on a phone

_VOID = frozenset({"input"})
_INLINE = frozenset(
    {
        *("a", "b", "code", "dd", "dt", "em", "h1", "h2", "h3", "h4", "label"),
        *("legend", "li", "p", "small", "span", "strong", "summary"),
        *("td", "text", "th", "title", "tspan"),
    }
)


class Html(str):
    """Text that is HTML already; any other text is escaped where it is put in."""

    __slots__ = ()


def element(tag: str, /, *children: str | None, **attributes: object) -> Html:
    """Give an element with its attributes and what stands in it.

    In names of attributes ``_`` stands for ``-``, and one at the end goes. An attribute
    that is True has no value, one that is None or False is left out; so is a child
    that is None.

    Examples
    --------
    >>> element("p", "1 < 2", element("b", "yes"), class_="note", hidden=None)
    '<p class="note">1 &lt; 2<b>yes</b></p>'
    """
    text = "".join(
        f" {key.removesuffix('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Html(f"<{tag}{text}>")
    gap = "" if tag in _INLINE else "\n"  # lines make differences readable
    inside = gap.join(part for part in map(_html, children) if part)
    if "\n" in inside or (gap and len(inside) > 60):
        inside = f"{gap}{inside}{gap}"
    return Html(f"<{tag}{text}>{inside}</{tag}>")


def together(parts: Iterable[str | None]) -> Html:
    """Give several parts one after the other.

    Examples
    --------
    >>> together(["a & b", None, element("b", "c")])
    'a &amp; b<b>c</b>'
    """
    return Html("".join(map(_html, parts)))


def wrapped(name: str, width: int) -> list[str]:
    """Break a name that stands in a picture; what needs a third line is cut off.

    Examples
    --------
    >>> wrapped("Classifier chains", 10), wrapped("one two three", 5), wrapped("", 5)
    (['Classifier', 'chains'], ['one', 'two…'], [''])
    """
    return textwrap.wrap(name, width, max_lines=2, placeholder="…") or [""]


def text_width(line: str, size: float = 12.0) -> float:
    """Give a width that a line of text does not exceed, in most typefaces.

    Examples
    --------
    >>> round(text_width("svm")), round(text_width("SVM"))
    (25, 28)
    """
    n_wide = sum(line.count(sign) for sign in "MWmw…")
    n_capital = sum(sign.isupper() and sign not in "MW" for sign in line)
    n_other = len(line) - n_wide - n_capital
    return size * (0.95 * n_wide + 0.7 * n_capital + 0.58 * n_other)


def text_lines(
    lines: Sequence[str], x: object, y: object, class_: str | None = None
) -> Html:
    """Give lines of text of a picture, the middle of them at y.

    Examples
    --------
    >>> text_lines(["MAM"], 10, 20)
    '<text x="10" y="20">MAM</text>'
    >>> print(text_lines(["Random", "forest"], 10, 20, class_="left"))
    <text x="10" y="20" class="left"><tspan x="10" dy="-0.55em">Random</tspan><tspan
    x="10" dy="1.1em">forest</tspan></text>
    """
    if len(lines) == 1:
        return element("text", lines[0], x=x, y=y, class_=class_)
    first = f"{-0.55 * (len(lines) - 1):.3g}em"
    spans = (
        element("tspan", line, x=x, dy="1.1em" if number else first)
        for number, line in enumerate(lines)
    )
    return element("text", *spans, x=x, y=y, class_=class_)


def _html(part: str | None) -> str:
    if part is None:
        return ""
    return part if isinstance(part, Html) else escape(part)
