"""How the page behaves in a real browser."""

import re

import numpy as np
import pytest
from pages import CUT_OFF, FAULTS, SCROLLED, assert_readable, unfold
from report_rows import (
    DATASETS,
    HOSTILE,
    METHODS,
    N_TREES,
    curve_values,
    example_rows,
    graded,
    make_rows,
    mean,
    random_graph_field,
    random_row,
)
from rows import as_failure

from spanforest.aggregation import AGGREGATIONS
from spanforest.metrics import MEASURES
from spanforest.paper import display_name
from spanforest.paper.report import make_report


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(make_report(example_rows()), encoding="utf-8")
    return path.as_uri()


def names_in_order(table):
    return table.locator("tbody th").all_inner_texts()


SCORES = ".measure-0 table"  # Table 2, the first measure


def test_the_table_can_be_read_in_a_browser(opened, address):
    table = opened(address).locator(SCORES).first
    rows = example_rows()
    means = {m: mean(rows, "emotions", m, "microlabel_accuracy") for m in METHODS}
    line = table.locator("tbody tr").first
    cells = line.locator("td").all_inner_texts()
    assert [cell.partition("±")[0] for cell in cells] == list(means.values())
    best = max(means, key=lambda method: float(means[method]))
    assert line.locator("strong").inner_text().startswith(means[best])
    assert cells[METHODS.index("mam")].split()[1:] == ["paper", "80.5±1.4"]


def test_columns_are_sorted_by_click_and_by_keyboard(opened, address):
    page = opened(address)
    table = page.locator(SCORES).first
    header = table.locator("thead th").nth(1 + METHODS.index("mtl"))
    button = header.locator("button")
    scores = {
        name: float(mean(make_rows(), dataset, "mtl", "microlabel_accuracy"))
        for name, dataset in (("Emotions", "emotions"), ("my_data", "my_data"))
    }
    rising = [*sorted(scores, key=scores.__getitem__), "NCI60"]  # failed: always last
    falling = [*sorted(scores, key=scores.__getitem__, reverse=True), "NCI60"]
    given_order = ["Emotions", "NCI60", "my_data"]

    assert names_in_order(table) == given_order
    button.click()
    assert names_in_order(table) == falling
    assert header.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")  # the button keeps the focus
    assert names_in_order(table) == rising
    assert header.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert names_in_order(table) == given_order
    assert header.get_attribute("aria-sort") is None

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert table.locator("[aria-sort]").inner_text() == "MMCRF"
    table.locator("thead button").first.click()
    assert names_in_order(table) == ["Emotions", "my_data", "NCI60"]
    assert table.locator("[aria-sort]").inner_text() == "Data set"
    assert table.locator("tfoot th").first.inner_text() == "@Top2"


def shown_values(panel):
    texts = panel.locator(".key").all_inner_texts()
    return dict(text.replace("\n", " ").rsplit(" ", 1) for text in texts)


def test_pointing_at_a_curve_shows_its_values_there(opened, address):
    page = opened(address)
    panel = page.locator(".panel").nth(1)
    assert shown_values(panel) == curve_values("nci60", N_TREES)
    plot = panel.locator(".plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    area = (36 / 300, 292 / 300)  # of the curves, as shares of the picture
    for n_trees in (1, 3, 4):
        share = np.interp(n_trees, (1, N_TREES), area)
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 20)
        assert panel.locator(".size").inner_text() == str(n_trees)
        assert shown_values(panel) == curve_values("nci60", n_trees)
        assert panel.locator(".crosshair").count() == 1
        dots = panel.locator("circle")
        assert dots.count() == 4
    page.mouse.move(0, 0)
    assert panel.locator(".crosshair").count() == 0
    assert shown_values(panel) == curve_values("nci60", N_TREES)


def test_arrow_keys_move_along_a_curve(opened, address):
    page = opened(address)
    panel = page.locator(".panel").first
    plot = panel.locator(".plot")
    plot.focus()
    moves = {"ArrowLeft": 4, "ArrowDown": 3, "ArrowRight": 4, "Home": 1, "End": N_TREES}
    for key, n_trees in moves.items():
        page.keyboard.press(key)
        values = curve_values("emotions", n_trees)
        assert shown_values(panel) == values
        assert plot.get_attribute("aria-valuenow") == str(n_trees)
        spoken = plot.get_attribute("aria-valuetext")
        assert spoken.startswith(f"{n_trees} of {N_TREES} trees: MVE {values['MVE']}")
    page.keyboard.press("PageDown")
    page.keyboard.press("Tab")
    assert shown_values(panel) == curve_values("emotions", N_TREES)
    assert page.locator(".plot").nth(1).evaluate("e => e === document.activeElement")


def test_the_dots_lie_on_the_curves(opened, address):
    page = opened(address)
    page.locator(".plot").first.focus()
    page.keyboard.press("ArrowLeft")
    for method in AGGREGATIONS:
        path = page.locator(f".curve-{method} path").first.get_attribute("d")
        x, y = map(float, path.lstrip("M").split("L")[-2].split())
        dot = page.locator(f"circle.dot-{method}").first
        assert float(dot.get_attribute("cx")) == pytest.approx(x, abs=0.11)
        assert float(dot.get_attribute("cy")) == pytest.approx(y, abs=0.11)


def test_one_measure_is_shown_at_a_time_and_all_on_paper(opened, address):
    page = opened(address)
    visible = (
        "() => [...document.querySelectorAll('.measure')].map(e => !!e.offsetHeight)"
    )
    parts = page.evaluate(visible)
    assert parts == [True, False, False] * 3  # scores, curves, ranks
    page.locator(".pick-0").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(visible) == [False, True, False] * 3
    assert page.locator(".picker").evaluate("e => getComputedStyle(e).position") == (
        "sticky"
    )
    page.emulate_media(media="print")
    assert all(page.evaluate(visible))
    assert not page.locator(".picker").is_visible()


def test_without_a_script_nothing_is_hidden_or_dead(opened, address):
    page = opened(address, java_script_enabled=False)
    assert page.locator("button, [role=slider], .live:visible").count() == 0
    panel = page.locator(".panel").first
    assert panel.locator("[class^=curve-]").count() == 4
    assert shown_values(panel) == curve_values("emotions", N_TREES)
    page.locator(".pick-2").check()
    assert page.locator(".measure-2 table").first.is_visible()
    assert not page.locator(".measure-0 table").first.is_visible()


@pytest.fixture(scope="module")
def full_address(tmp_path_factory):
    """The address of a page with all it may have: long names, protocols, graphs."""
    pytest.importorskip("scikit_posthocs")
    methods = (*METHODS, "ecc", "forest", "logistic", "boomer", "mlknn")
    params = {"C": 0.3, "width": None}
    graphs = {
        "few": random_graph_field(6, long_names=True),
        "middling": random_graph_field(14),
        "many": random_graph_field(53, long_names=True),
        "most": random_graph_field(60),
        "too many": random_graph_field(61),
    }
    tuned = graded(make_rows(graphs, methods, protocol="tuned", params=params))
    for row in tuned:
        if row["method"] == "mam":
            row["label_graph"] = graphs[row["dataset"]]
    path = tmp_path_factory.mktemp("report") / "full.html"
    page = make_report(example_rows() + tuned)
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window_and_can_be_read(opened, full_address, width, scheme):
    page = opened(full_address, width=width, color_scheme=scheme)
    assert_readable(page, width)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    is_light = int(re.findall(r"\d+", ground)[0]) > 127
    assert is_light == (scheme == "light")


def test_nothing_scrolls_sideways_on_a_phone(opened, full_address):
    page = opened(full_address, width=390)
    unfold(page)
    for number in range(len(MEASURES)):
        for picker in page.locator(f".pick-{number}").all():
            picker.check()
        assert page.evaluate(SCROLLED) == []


def test_a_line_of_a_wide_table_is_stacked_on_a_phone_and_names_its_values(
    opened, address
):
    page = opened(address, width=390)
    table = page.locator(SCORES).first
    line = table.locator("tbody tr").first
    cells = line.locator("td")
    names = "e => getComputedStyle(e, '::before').content"
    assert [cell.evaluate(names) for cell in cells.all()] == [
        f'"{display_name(method)}"' for method in METHODS
    ]
    heights = {cell.bounding_box()["y"] for cell in cells.all()}
    assert len(heights) == 2  # of three each
    table.locator("thead button").nth(1 + METHODS.index("svm")).click()
    scores = {
        display_name(each): float(mean(make_rows(), each, "svm", "microlabel_accuracy"))
        for each in DATASETS
    }
    falling = sorted(scores, key=scores.__getitem__, reverse=True)
    assert names_in_order(table) == falling


def test_nothing_is_cut_off_on_paper(opened, full_address):
    page = opened(full_address, width=703)  # A4 without its margins
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 703
    assert page.evaluate(CUT_OFF) == []
    boxes = "e => e.getBoundingClientRect().right"
    for table in page.locator("table").all():
        assert table.evaluate(boxes) <= 703


def test_the_page_has_the_structure_that_assistive_programs_need(opened, full_address):
    page = opened(full_address)
    assert page.evaluate(FAULTS) == []
    headers = page.locator("table.sortable thead th").count()
    assert page.locator("table.sortable thead th > button").count() == headers
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    width = page.evaluate(
        "parseFloat(getComputedStyle(document.activeElement).outlineWidth)"
    )
    assert width >= 2  # the focus can be seen


def test_names_in_the_rows_run_no_script(opened, tmp_path):
    rows = make_rows((HOSTILE, "yeast"), ("svm", "mam", HOSTILE), protocol=HOSTILE)
    rows.append(as_failure(random_row("yeast", "mtl", protocol=HOSTILE), HOSTILE))
    path = tmp_path / "hostile.html"
    path.write_text(make_report(rows), encoding="utf-8")
    page = opened(path.as_uri())
    assert page.evaluate("window.harmed") is None
    assert page.locator("img").count() == 0
    assert page.locator(f"{SCORES} tbody th").nth(1).inner_text() == HOSTILE
    assert page.evaluate(FAULTS) == []
