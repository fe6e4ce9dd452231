"""Turn figures of matplotlib into SVG that belongs to the page.

Text stays text in the typeface of the page, and colours follow its light and dark
scheme. There are no ids, which would clash between figures, and no style attributes,
which the security policy of the page forbids.
"""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from spanforest.plots._style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    VERMILION,
    optional,
)

_COLOURS = {
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    BLACK: "var(--ink)",
    GREY: "var(--soft)",
    LIGHT_GREY: "var(--line)",
    GREEN: "var(--mve)",
    BLUE: "var(--amm)",
    VERMILION: "var(--mam)",
}
_OWN_ID = re.compile(r"matplotlib\..*|.*_\d+")  # ids that matplotlib makes up
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # not allowed in XML
_NOT_KEPT = ("font-family", "font-style", "font-weight")  # as in the page


@contextmanager
def page_style() -> Iterator[None]:
    """Ignore the reader's settings of matplotlib, and signs of mathematics in names."""
    style = optional("matplotlib.style", extra="cli")
    settings = ["default", {"text.parse_math": False}]
    with style.context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has its own letters
        yield


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Return an empty figure without background; its sizes are units of the SVG."""
    figure = optional("matplotlib.figure", extra="cli")
    return figure.Figure((width / 72, height / 72), frameon=False, **options)


def to_svg(figure: Any, label: str, titles: Sequence[str] = ()) -> str:
    """Return a figure as an SVG element that `label` describes.

    The gid of an artist becomes a class of its group. The marks of such artists get
    `titles` as tooltips, in the order of drawing.

    Examples
    --------
    >>> from matplotlib.lines import Line2D
    >>> figure = new_figure(100, 50)
    >>> line = figure.add_artist(Line2D([0, 1], [0, 1], color="#000000", gid="curve"))
    >>> print(to_svg(figure, "A line", ["y = x"]))
    <svg viewBox="0 0 100 50" role="img" aria-label="A line"><g class="curve"><path
    d="M0 50L100 0" fill="none" stroke="var(--ink)" stroke-width="1.5"
    stroke-linecap="square"><title>y = x</title></path></g></svg>
    """
    text = io.StringIO()
    with optional("matplotlib").rc_context({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    drawing = ElementTree.fromstring(_CONTROLS.sub("", text.getvalue()))
    for node in drawing.iter():
        node.tag = node.tag.rpartition("}")[2]  # without its namespace
    shapes = {node.get("id", ""): node for node in drawing.iter("path")}
    attributes = {"viewBox": _short(drawing.get("viewBox", "")), "role": "img"}
    root = Element("svg", attributes | {"aria-label": label})
    _copy_children(drawing, root, shapes, iter(titles))
    return ElementTree.tostring(root, encoding="unicode")


def _copy_children(
    node: Element, to: Element, shapes: dict[str, Element], titles: Iterator[str]
) -> None:
    """Copy what is drawn; only groups that have a class stay groups."""
    for child in node:
        if child.tag == "g":
            name = child.get("id", "")
            is_named = name and not _OWN_ID.fullmatch(name)
            group = ElementTree.SubElement(to, "g", {"class": name}) if is_named else to
            _copy_children(child, group, shapes, titles)
        elif child.tag == "text":
            text = ElementTree.SubElement(to, "text", _attributes(child))
            content = child.text or ""
            n_before = len(content) - len(content.lstrip())
            n_after = len(content) - len(content.rstrip())
            # HTML drops plain spaces at the ends
            text.text = "\u00a0" * n_before + content.strip() + "\u00a0" * n_after
        elif child.tag in ("path", "use"):
            mark = ElementTree.SubElement(to, "path", _mark(child, shapes))
            title = next(titles, "") if to.tag == "g" else ""
            if title:
                ElementTree.SubElement(mark, "title").text = title


def _mark(node: Element, shapes: dict[str, Element]) -> dict[str, str]:
    """Return the attributes of a path; a marker becomes a path of its own."""
    if node.tag == "path":
        return _attributes(node)
    link = next(value for key, value in node.items() if key.endswith("href"))
    attributes = _attributes(shapes[link.removeprefix("#")]) | _attributes(node)
    x, y = attributes.pop("x"), attributes.pop("y")
    return attributes | {"transform": f"translate({x} {y})"}


def _attributes(node: Element) -> dict[str, str]:
    """Return position and style of an element as attributes of SVG."""
    kept = {key: _short(node.attrib[key]) for key in "xy" if key in node.attrib}
    if "d" in node.attrib:
        kept["d"] = re.sub(r" ?([A-Za-z]) ?", r"\1", _short(node.attrib["d"], 1))
    turn = node.get("transform", "")
    if turn and not turn.startswith("rotate(-0 "):
        kept["transform"] = _short(turn)
    for declaration in filter(None, node.get("style", "").split(";")):
        name, value = (word.strip() for word in declaration.split(":", 1))
        if name == "font":  # older matplotlib writes size and family together
            name, value = "font-size", value.split()[0]
        if name not in _NOT_KEPT:
            kept[name] = _COLOURS.get(value, _short(value))
    return kept


def _short(numbers: str, n_decimals: int = 2) -> str:
    """Return a text with fewer decimals in its numbers."""

    def shorter(number: re.Match[str]) -> str:
        return f"{round(float(number[0]), n_decimals):g}"

    return " ".join(re.sub(r"-?\d+\.\d+", shorter, numbers).split())
