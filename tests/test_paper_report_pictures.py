"""The figures of the page: they show the numbers and belong to the page."""

import re

import numpy as np
import pytest
from pages import assert_of_the_page
from report_rows import METHODS, N_TREES, curve_values, make_rows, random_row, text_of

from spanforest.metrics import MEASURES
from spanforest.paper import compare_ranks, display_name, learning_curves
from spanforest.paper.report._pictures import draw_panel, draw_ranks


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


# --- figures as SVG -------------------------------------------------------------------


def test_pictures_have_no_ids_no_styles_and_only_the_colours_of_the_page():
    pytest.importorskip("scikit_posthocs")
    rows = make_rows()
    pictures = [panel_of(make_rows(("emotions",))).picture]
    pictures.append(draw_ranks(compare_ranks(rows)))
    for picture in pictures:
        assert_of_the_page(picture)
