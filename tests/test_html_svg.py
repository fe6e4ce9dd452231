"""Figures as SVG elements of the page."""

from xml.etree import ElementTree

import pytest

from spanforest._html import new_figure, page_style, to_svg


def drawing(label="A drawing", titles=(), text="name"):
    with page_style():
        figure = new_figure(200, 100)
        ax = figure.add_axes((0.1, 0.1, 0.8, 0.8))
        ax.plot([0, 1], [0, 1], color="#000000", gid="curve")
        ax.plot([0.5], [0.5], marker="o", color="#ffffff", gid="dot")
        ax.text(0.2, 0.8, text)
        ax.set_axis_off()
        return to_svg(figure, label, titles)


def test_a_gid_becomes_the_class_of_a_group_and_titles_its_tooltips():
    root = ElementTree.fromstring(drawing(titles=["line", "point"]))
    groups = {group.get("class"): group for group in root.iter("g")}
    assert set(groups) == {"curve", "dot"}
    assert groups["curve"].find("path/title").text == "line"
    assert groups["dot"].find("path/title").text == "point"


def test_an_element_has_the_size_of_the_figure_and_its_description():
    root = ElementTree.fromstring(drawing('<a> & "b"'))
    assert root.get("viewBox") == "0 0 200 100"
    assert (root.get("role"), root.get("aria-label")) == ("img", '<a> & "b"')


def test_colours_are_those_of_the_page_and_nothing_has_an_id_or_a_style():
    root = ElementTree.fromstring(drawing())
    assert {path.get("stroke") for path in root.iter("path")} == {
        "var(--ink)",
        "var(--paper)",
    }
    assert not {"id", "style"} & {key for node in root.iter() for key in node.attrib}


@pytest.mark.parametrize("text", ["$x^2$", "a\x07b", "<script>"])
def test_text_is_shown_as_it_is_without_control_characters(text):
    root = ElementTree.fromstring(drawing(text=text))
    assert [node.text for node in root.iter("text")] == [text.replace("\x07", "")]


def test_spaces_at_the_ends_of_a_text_stay():
    root = ElementTree.fromstring(drawing(text=" a "))
    assert root.find(".//text").text == "\u00a0a\u00a0"
