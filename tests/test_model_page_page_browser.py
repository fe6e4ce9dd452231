"""How the page about a model behaves in a real browser."""

import numpy as np
import pandas as pd
import pytest
from model_pages import LABELS, NAMES, TEST, TRAIN, X, ensemble, example_page, trained
from pages import CUT_OFF, FAULTS, SCROLLED, assert_readable
from report_rows import HOSTILE

from spanforest.diagnostics import edge_couplings
from spanforest.model_page import make_model_page


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write a page to a file and return its address."""

    def write(page):
        path = tmp_path_factory.mktemp("page") / "model.html"
        path.write_text(page, encoding="utf-8")
        return path.as_uri()

    return write


@pytest.fixture(scope="module")
def address(written):
    return written(example_page())


@pytest.fixture(scope="module")
def full_address(written):
    """The address of a page with many labels, long names and probabilities."""
    rng = np.random.default_rng(0)
    names = [f"a rather long name of label number {j}" for j in range(61)]
    names += ["W" * 79, HOSTILE]
    labels = pd.DataFrame(rng.random((60, 63)) < 0.2, columns=names).astype(float)
    model = ensemble(probability=True, tol=0.9).fit(X[TRAIN], labels[TRAIN])
    partial = labels[TEST].mask(rng.random((30, 63)) < 0.002)
    page = make_model_page(model, X[TEST], partial, title=HOSTILE, n_examples=6)
    return written(page)


@pytest.mark.parametrize("width", [390, 1280])
def test_labels_are_sorted_and_filtered(opened, address, width):
    page = opened(address, width=width)
    table = page.locator("#label-table")
    names = table.locator("tbody th")
    table.locator("thead button", has_text="Predicted").click()
    counts = trained().predict(X[TEST]).sum(axis=0)
    shown = [counts[NAMES.index(name)] for name in names.all_inner_texts()]
    assert shown == sorted(counts, reverse=True)
    page.locator("#filter").fill("A")
    visible = table.locator("tbody tr:visible th").all_inner_texts()
    assert sorted(visible) == ["calm", "happy", "sad"]
    assert page.locator("#filtered").inner_text() == "3 of 5 rows"
    page.locator("#filter").fill("")
    assert page.locator("#label-table tbody tr:visible").count() == 5


def neighbours_of(label):
    couplings = edge_couplings(trained(), X[TEST])
    j, found = NAMES.index(label), {}
    for (u, v), strength in zip(couplings.edges, couplings.strength, strict=True):
        if j in (u, v):
            found[NAMES[v if u == j else u]] = f"{strength:+.3g}"
    return found


def shown_neighbours(page):
    rows = page.locator(".neighbours tbody tr").all()
    return {
        row.locator("th").inner_text(): row.locator("td").first.inner_text()
        for row in rows
    }


def test_a_label_shows_its_neighbours_by_press_by_choice_and_by_keyboard(
    opened, address
):
    page = opened(address)
    for label in ("calm", "loud"):
        page.locator(".label-graph .name", has_text=label).click()
        assert shown_neighbours(page) == neighbours_of(label)
        assert page.locator(".label-graph .chosen").count() == 2  # dot and name
        bright = page.locator(".label-graph .edge:not(.dim)").count()
        assert bright == len(neighbours_of(label))
    page.locator(".label-graph .dot path").nth(NAMES.index("happy")).click()
    assert shown_neighbours(page) == neighbours_of("happy")
    page.locator("#label").select_option("sad")
    assert shown_neighbours(page) == neighbours_of("sad")
    first = page.locator(".neighbours tbody button").first
    name = first.inner_text()
    first.focus()
    page.keyboard.press("Enter")
    assert shown_neighbours(page) == neighbours_of(name)
    assert page.locator("#label option:checked").inner_text() == name
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"


def heading(page):
    return page.locator("article:visible h3").all_inner_texts()


def test_examples_are_stepped_through_by_buttons_and_arrow_keys(opened, address):
    page = opened(address)
    headings = page.locator("article h3").all_text_contents()
    assert heading(page) == headings[:1]
    assert page.locator("#previous").is_disabled()
    page.locator("#next").click()
    assert heading(page) == headings[1:2]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert heading(page) == headings[2:3]
    assert page.locator("#position").inner_text() == f"3 of {len(headings)}"
    page.locator("#which").select_option("right")
    right = [text for text in headings if "no mistake" in text]
    assert heading(page) == right[:1]
    assert page.locator("#position").inner_text() == f"1 of {len(right)}"
    page.locator("#which").select_option("wrong")
    for _ in headings:
        if page.locator("#next").is_enabled():
            page.locator("#next").click()
    assert heading(page) == [text for text in headings if "no mistake" not in text][-1:]
    page.emulate_media(media="print")
    assert len(heading(page)) == len(headings)


@pytest.mark.parametrize("width", [390, 1280])
def test_a_number_is_never_broken_into_two_lines(opened, address, width):
    page = opened(address, width=width)
    number = page.locator(".sides li b:visible").first
    beside = page.locator(".sides li span:visible").first
    number.evaluate("it => it.textContent = '1'")
    height = number.bounding_box()["height"]
    for longest in ("-0.000123", "-1.23e-05"):
        number.evaluate("(it, text) => it.textContent = text", longest)
        box = number.bounding_box()
        assert box["height"] == height
        width_of_text = number.evaluate("it => it.scrollWidth")
        assert box["x"] + width_of_text <= beside.bounding_box()["x"]


def test_without_a_script_nothing_is_hidden_or_dead(opened, address):
    page = opened(address, java_script_enabled=False)
    assert page.locator("article:visible").count() == 12
    assert page.locator("button:visible, select:visible, input:visible").count() == 0
    page.locator("summary").click()
    assert page.locator("#strongest").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window_and_can_be_read(opened, full_address, width, scheme):
    page = opened(full_address, width=width, color_scheme=scheme)
    assert_readable(page, width)
    if width == 390:
        assert page.evaluate(SCROLLED) == []


def test_names_run_no_script_and_the_structure_is_sound(opened, full_address):
    page = opened(full_address)
    assert page.evaluate("window.harmed") is None
    assert page.locator("img").count() == 0
    page.locator("#label").select_option(index=62)
    assert page.locator("caption#neighbours").inner_text().startswith("</td></script>")
    assert page.evaluate(FAULTS) == []
    page.keyboard.press("Home")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_nothing_is_cut_off_on_paper(opened, full_address):
    page = opened(full_address, width=703)  # A4 without its margins
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 703
    assert page.evaluate(CUT_OFF) == []


def test_a_page_without_labels_or_graph_works(opened, written):
    model = ensemble(graph="independent").fit(X[TRAIN], LABELS[TRAIN])
    page = opened(written(make_model_page(model, X[TEST], n_examples=3)))
    page.locator("#next").click()
    assert page.locator("#position").inner_text() == "2 of 3"
    assert page.locator("#which").count() == 0
    assert page.evaluate(FAULTS) == []
