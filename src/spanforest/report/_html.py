"""HTML that is put together from elements, so that every text in it is escaped."""

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"input", "img"})
_INLINE = frozenset(
    {
        *("a", "b", "code", "dd", "dt", "em", "h1", "h2", "h3", "h4", "label"),
        *("legend", "li", "p", "small", "span", "strong", "summary"),
        *("td", "text", "th"),
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


def _html(part: str | None) -> str:
    if part is None:
        return ""
    return part if isinstance(part, Html) else escape(part)
