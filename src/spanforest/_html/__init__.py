"""What all HTML pages share: the frame, the style, sorted tables, figures as SVG."""

from spanforest._html._label_graph import (
    cut,
    draw_label_graph,
    edge_ends,
    strength_text,
    wrapped,
)
from spanforest._html._render import Templates
from spanforest._html._svg import new_figure, page_style, to_svg

__all__ = [
    "Templates",
    "cut",
    "draw_label_graph",
    "edge_ends",
    "new_figure",
    "page_style",
    "strength_text",
    "to_svg",
    "wrapped",
]
