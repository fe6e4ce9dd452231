"""The label graph as a picture of a page."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from pages import assert_of_the_page
from report_rows import text_of

from spanforest._html import draw_label_graph, page_style
from spanforest.diagnostics import Couplings
from spanforest.plots import LabelGraphDisplay


def random_display(n_labels, names=None):
    seeded = np.random.default_rng(n_labels)
    edges = np.argwhere(np.triu(np.ones((n_labels, n_labels)), k=1))
    is_signed = np.full(len(edges), True)
    couplings = Couplings(edges, seeded.normal(size=len(edges)), is_signed)
    return LabelGraphDisplay(couplings, seeded.random(n_labels), names)


def draw(display):
    with page_style():
        return draw_label_graph(display, "weather")


def test_the_edges_of_a_drawn_graph_are_the_strongest_with_their_sign():
    display = random_display(20)
    couplings = display.couplings
    order = np.argsort(-np.abs(couplings.strength))[:30]
    edge = r'<g class="edge edge-(\w+)"><path d="[^"]*" .*?stroke-width="(.*?)".*?>'
    drawn = re.findall(rf"{edge}<title>(.*?)</title>", draw(display))[::-1]
    assert [kind for kind, _, _ in drawn] == [
        "attract" if couplings.strength[e] > 0 else "repel" for e in order
    ]
    assert [title for _, _, title in drawn] == [
        "label{}, label{}: {:+.3g}".format(*couplings.edges[e], couplings.strength[e])
        for e in order
    ]
    widths = [float(width) for _, width, _ in drawn]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("n_labels", [1, 2, 17])
def test_label_graphs_of_any_size_are_drawn(n_labels):
    display = random_display(n_labels)
    picture = draw(display)
    titles = re.findall(r"<title>([^<]* % of the examples)</title>", picture)
    assert titles == [
        f"label{j}: {100 * share:.1f} % of the examples"
        for j, share in enumerate(display.frequencies)
    ]


def test_names_are_shown_as_they_are_in_any_script():
    names = ["costs $1 or $2", "晴れ", "a < b & c", "\x07 "]
    text = text_of(draw(random_display(4, names)))
    assert "costs $1" in text
    assert "晴れ" in text
    assert "a < b" in text


def test_marks_and_names_come_in_the_order_of_the_labels():
    names = [f"name {j}" for j in range(20)]
    picture = draw(random_display(20, names))
    groups = re.findall(r'<g class="name">(.*?)</g>', picture)
    assert [text_of(group) for group in groups] == names
    assert picture.count("% of the examples") == 20


def test_signs_of_edges_show_in_more_than_the_colour():
    picture = draw(random_display(5))
    for kind, has_dashes in (("attract", False), ("repel", True)):
        edges = re.findall(rf'<g class="edge edge-{kind}">(.*?)</g>', picture)
        assert edges
        assert {"stroke-dasharray" in edge for edge in edges} == {has_dashes}


def test_a_drawn_graph_has_only_the_colours_of_the_page():
    assert_of_the_page(draw(random_display(20)))


def test_settings_of_matplotlib_do_not_reach_the_page():
    display = random_display(5)
    expected = draw(display)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "text.color": "red"}):
        assert draw(display) == expected
