"""Draw the picture of the layers from the import rules in ``pyproject.toml``.

A layer is a line of the contract, such as ``"plots | diagnostics",  # looking``: its
modules, and the wing of the house that they belong to.
"""

import re
from html import escape
from pathlib import Path
from typing import NamedTuple

LINE = re.compile(r'^\s*"(?P<modules>[\w |]+)",\s*# (?P<wing>[\w ]+)$', re.MULTILINE)
COLOURS = (
    *("#d55e00", "#8a5fbf", "#cc79a7", "#0072b2"),
    *("#009e73", "#b07800", "#2f86b8", "#666666"),
)
WIDTH, ROW, GAP, WING_WIDTH, LETTER = 760, 34, 8, 110, 8.2


class Layer(NamedTuple):
    """A line of the import rules."""

    modules: list[str]
    wing: str


def read_layers(pyproject: Path) -> list[Layer]:
    """Return the layers, from the top down.

    Parameters
    ----------
    pyproject : path
        The file with the contract.
    """
    text = pyproject.read_text(encoding="utf-8")
    contract = text.partition("layers = [")[2].partition("\n]")[0]
    return [
        Layer(match["modules"].split(" | "), match["wing"])
        for match in LINE.finditer(contract)
    ]


def draw_layers(layers: list[Layer]) -> str:
    """Return the picture as SVG: a colour per wing, a row or more per layer.

    The rows of one layer stand closer together than those of two.

    Parameters
    ----------
    layers : list of Layer
        From the top down.
    """
    wings = list(dict.fromkeys(layer.wing for layer in layers))
    colour = dict(zip(wings, COLOURS, strict=True))
    shapes: list[str] = []
    y, last_wing = GAP, ""
    for layer in layers:
        if layer.wing != last_wing:
            shapes.append(_text(WING_WIDTH - 12, y, layer.wing, colour[layer.wing]))
            last_wing = layer.wing
        x = float(WING_WIDTH)
        for name in layer.modules:
            width = LETTER * len(name) + 18
            if x + width > WIDTH - GAP:  # the layer needs another row
                x, y = float(WING_WIDTH), y + ROW + GAP // 2
            shapes.append(_box(x, y, width, name, colour[layer.wing]))
            x += width + GAP
        y += ROW + GAP
    ground = f'<rect width="{WIDTH}" height="{y}" rx="6" fill="white"/>'
    style = "text{font:600 13px sans-serif}.module{font:13px monospace;fill:#222}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" '
        f'width="{WIDTH}"><style>{style}</style>{ground}{"".join(shapes)}</svg>\n'
    )


def _text(x: float, y: float, text: str, colour: str) -> str:
    return (
        f'<text x="{x}" y="{y + ROW / 2 + 4.5}" text-anchor="end" '
        f'fill="{colour}">{escape(text)}</text>'
    )


def _box(x: float, y: float, width: float, name: str, colour: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW}" rx="4" '
        f'fill="{colour}" fill-opacity="0.15" stroke="{colour}"/>'
        f'<text x="{x + width / 2:.1f}" y="{y + ROW / 2 + 4.5}" '
        f'text-anchor="middle" class="module">{escape(name)}</text>'
    )
