"""The picture of the layers, drawn from the import rules in ``pyproject.toml``.

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
    """Return the picture as SVG: a row per layer, a colour per wing.

    Parameters
    ----------
    layers : list of Layer
        From the top down.
    """
    wings = list(dict.fromkeys(layer.wing for layer in layers))
    colour = dict(zip(wings, COLOURS, strict=True))
    height = len(layers) * (ROW + GAP) + GAP
    shapes = [f'<rect width="{WIDTH}" height="{height}" rx="6" fill="white"/>']
    for row, layer in enumerate(layers):
        y = GAP + row * (ROW + GAP)
        is_first = row == 0 or layers[row - 1].wing != layer.wing
        if is_first:
            shapes.append(_text(WING_WIDTH - 12, y, layer.wing, colour[layer.wing]))
        widths = [LETTER * len(name) + 18 for name in layer.modules]
        x = float(WING_WIDTH)
        for name, width in zip(layer.modules, widths, strict=True):
            shapes.append(
                f'<rect x="{x}" y="{y}" width="{width}" height="{ROW}" rx="4" '
                f'fill="{colour[layer.wing]}" fill-opacity="0.15" '
                f'stroke="{colour[layer.wing]}"/>'
            )
            shapes.append(
                f'<text x="{x + width / 2}" y="{y + ROW / 2 + 4.5}" '
                f'text-anchor="middle" class="module">{escape(name)}</text>'
            )
            x += width + GAP
    style = "text{font:600 13px sans-serif}.module{font:13px monospace;fill:#222}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}"><style>{style}</style>{"".join(shapes)}</svg>\n'
    )


def _text(x: float, y: float, text: str, colour: str) -> str:
    return (
        f'<text x="{x}" y="{y + ROW / 2 + 4.5}" text-anchor="end" '
        f'fill="{colour}">{escape(text)}</text>'
    )
