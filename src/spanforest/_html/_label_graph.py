"""The label graph as a picture: labels on a circle, joined where they depend."""

import textwrap

import numpy as np

from spanforest._html._svg import new_figure, to_svg
from spanforest.plots import LabelGraphDisplay

WIDTH = 360  # a unit is a pixel on a phone
LARGE, SMALL = 12, 11.2  # sizes of letters; smaller ones are hard to read

# for readers who cannot tell the colours apart
_DASHES = {"repel": (0, (2.5, 1)), "depend": (0, (1, 1))}


def draw_label_graph(display: LabelGraphDisplay, name: str) -> str:
    """Draw the labels on a circle, joined where they depend on each other.

    In the SVG, groups of the class ``edge`` come in the order of the edges, weakest
    first. Marks in the group ``dot``, and groups of the class ``name``, come in the
    order of the labels.
    """
    is_few = display.has_few_labels
    shorten = wrapped if is_few else cut
    drawn = LabelGraphDisplay(
        display.couplings,
        display.frequencies,
        [shorten(each, 12) for each in display.label_names],
        display.max_edges,
    )
    figure = new_figure(WIDTH, 300 if is_few else WIDTH, layout="constrained")
    ax = figure.add_subplot()
    drawn.plot(ax=ax, legend=False)
    for text in ax.texts:
        text.set(fontsize=LARGE if is_few else SMALL, gid="name")
    if not is_few:  # the circle is small: so are dots and edges
        drawn.dots_.set_sizes(0.4 * drawn.dots_.get_sizes())
    drawn.dots_.set_gid("dot")
    edges = display.shown_edges[::-1]  # weakest first, as they are drawn
    for patch, e in zip(ax.patches, edges, strict=True):
        kind = display.edge_kind(e)
        patch.set(gid=f"edge edge-{kind}", linestyle=_DASHES.get(kind, "solid"))
        if not is_few:
            patch.set_linewidth(0.6 * patch.get_linewidth())
    titles = [
        f"{', '.join(edge_ends(display, e))}: {strength_text(display, e)}"
        for e in edges
    ]
    titles += map(_label_title, display.label_names, display.frequencies)
    label = f"The label graph of {name}; its strongest edges are in the table below."
    return to_svg(figure, label, titles)


def edge_ends(display: LabelGraphDisplay, e: int) -> list[str]:
    """Return the names of the two labels that an edge joins."""
    return [display.label_names[j] for j in display.couplings.edges[e]]


def strength_text(display: LabelGraphDisplay, e: int) -> str:
    """Return the strength of an edge, with its sign if it has one."""
    sign = "+" if display.couplings.is_signed[e] else ""
    return f"{display.couplings.strength[e] + 0.0:{sign}.3g}"  # no minus before 0


def _label_title(name: str, frequency: float) -> str:
    if np.isnan(frequency):
        return name
    return f"{name}: {100 * frequency:.1f} % of the examples"


def wrapped(name: str, width: int) -> str:
    r"""Break a name into at most two lines.

    Examples
    --------
    >>> wrapped("Classifier chains", 10), wrapped("one two three", 5)
    ('Classifier\nchains', 'one\ntwo…')
    """
    return "\n".join(textwrap.wrap(name, width, max_lines=2, placeholder="…"))


def cut(name: str, width: int) -> str:
    """Shorten a name that is too long; names may differ at their ends only.

    Examples
    --------
    >>> cut("amazed and surprised", 12)
    'amazed …ised'
    """
    if len(name) <= width:
        return name
    n_last = (width - 1) * 2 // 5
    return f"{name[: width - 1 - n_last]}…{name[-n_last:]}"
