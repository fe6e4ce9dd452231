"""The figures of the page: they show the numbers and belong to the page."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from report_rows import METHODS, N_TREES, curve_values, make_rows, random_row, text_of

from spanforest.diagnostics import Couplings
from spanforest.metrics import MEASURES
from spanforest.paper import compare_ranks, display_name, learning_curves
from spanforest.paper.report._graph_sources import GraphSource
from spanforest.paper.report._pictures import draw_label_graph, draw_panel, draw_ranks
from spanforest.paper.report._svg import page_style
from spanforest.plots import LabelGraphDisplay


def path_of(picture, name):
    """Return the path of the first mark in the groups of a class."""
    return re.search(rf'<g class="{name}"><path d="(.*?)"', picture)[1]


def panel_of(rows, measure="microlabel_accuracy"):
    [curves] = learning_curves(rows).values()
    return draw_panel(curves, measure)


# --- learning curves ------------------------------------------------------------------


def test_a_panel_has_the_values_of_its_curves_and_where_they_are():
    panel = panel_of(make_rows(("emotions",)))
    last = curve_values("emotions", N_TREES)
    assert dict(zip(panel.curves.values(), panel.last_values, strict=True)) == last
    for number, key in enumerate(("mve", "amm", "mam")):
        points = re.split("[ML]", path_of(panel.picture, f"curve-{key}"))[1:]
        places = np.array([point.split() for point in points], dtype=float)
        np.testing.assert_allclose(places[:, 0], panel.data["x"], atol=0.11)
        np.testing.assert_allclose(places[:, 1], panel.data["y"][number], atol=0.11)
    for name, value in last.items():
        assert f"{name} {value}" in panel.picture  # spoken


def test_a_single_tree_is_a_dot():
    row = random_row(method="mam", n_trees=1)
    for key in ("curve", "members"):
        row[key] = {measure: [0.5] for measure in MEASURES}
    panel = panel_of([row])
    group = re.search(r'<g class="curve-mam">(.*?)</g>', panel.picture)[1]
    [x], [y] = panel.data["x"], panel.data["y"][0]
    assert f'transform="translate({x:g} {y:g})"' in group


# --- ranks ----------------------------------------------------------------------------


def test_one_bar_joins_methods_that_score_the_same_everywhere():
    pytest.importorskip("scikit_posthocs")
    scores = dict.fromkeys(MEASURES, 0.5)
    rows = [row | {"scores": scores} for row in make_rows()]
    picture = draw_ranks(compare_ranks(rows))
    assert picture.count('class="bar"') == 1
    names = ", ".join(map(display_name, METHODS))
    assert f"Not told apart: {names}." in picture


@pytest.mark.parametrize("measure", MEASURES)
def test_the_diagram_shows_the_average_ranks(measure):
    pytest.importorskip("scikit_posthocs")
    comparison = compare_ranks(make_rows(), measure)
    diagram = text_of(draw_ranks(comparison))
    for rank in comparison.average_ranks:
        assert f"{rank:.2f}" in diagram
    assert f"{comparison.critical_difference():.2f}" in diagram


def test_methods_whose_names_begin_alike_stay_apart():
    pytest.importorskip("scikit_posthocs")
    methods = [f"a very long name that is cut off {k}" for k in range(3)]
    diagram = draw_ranks(compare_ranks(make_rows(methods=methods)))
    shown = re.findall(r"name… \(\d\)", text_of(diagram))
    assert len(set(shown)) == len(shown) == 3
    assert all(name in diagram for name in methods)  # spoken


# --- label graphs ---------------------------------------------------------------------


def random_display(n_labels, names=None):
    seeded = np.random.default_rng(n_labels)
    edges = np.argwhere(np.triu(np.ones((n_labels, n_labels)), k=1))
    is_signed = np.full(len(edges), True)
    couplings = Couplings(edges, seeded.normal(size=len(edges)), is_signed)
    return LabelGraphDisplay(couplings, seeded.random(n_labels), names)


def draw(display):
    with page_style():
        return draw_label_graph(GraphSource("weather", "Made up."), display)


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


# --- figures as SVG -------------------------------------------------------------------


def test_pictures_have_no_ids_no_styles_and_only_the_colours_of_the_page():
    pytest.importorskip("scikit_posthocs")
    rows = make_rows()
    pictures = [panel_of(make_rows(("emotions",))).picture]
    pictures += [draw_ranks(compare_ranks(rows)), draw(random_display(20))]
    for picture in pictures:
        assert not re.search(r"\b(id|style|href|clip-path)=", picture)
        colours = set(re.findall(r'(?:fill|stroke)="(.*?)"', picture))
        assert colours <= {
            "none",
            *(f"var(--{each})" for each in ("ink", "paper", "soft", "line")),
            *(f"var(--{each})" for each in ("mve", "amm", "mam")),
        }


def test_settings_of_matplotlib_do_not_reach_the_page():
    display = random_display(5)
    expected = draw(display)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "text.color": "red"}):
        assert draw(display) == expected
