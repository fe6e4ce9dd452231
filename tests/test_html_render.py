"""The frame of the pages."""

import sys

import pytest
from pages import assert_policy_allows_only_what_is_inside

from spanforest._html import Templates

HOSTILE = "</title><script>window.harmed = true</script>"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make the package of a small page and return its name."""
    folder = tmp_path / "small_page" / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "page.html.jinja").write_text(
        '{% extends "base.html.jinja" %}{% block main %}<p>{{ text }}</p>{% endblock %}'
    )
    (folder / "page.css").write_text("p { color: red; }")
    monkeypatch.syspath_prepend(tmp_path)
    yield "small_page"
    sys.modules.pop("small_page", None)


def test_a_page_has_the_shared_frame_its_own_style_and_escaped_values(package):
    page = Templates(package).render(title=HOSTILE, text=HOSTILE)
    assert page.startswith("<!DOCTYPE html>")
    assert "p { color: red; }" in page
    assert "function makeSortable" in page  # the page has no script of its own
    assert page.count("<script>") == 1
    assert page.count("window.harmed") == 2


def test_the_policy_allows_only_the_style_and_script_of_the_page(package):
    page = Templates(package).render(title="", text="")
    assert_policy_allows_only_what_is_inside(page)


def test_a_value_that_is_not_given_is_an_error(package):
    with pytest.raises(Exception, match="'text' is undefined"):
        Templates(package).render(title="")


def test_without_jinja_the_extra_is_named(package, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "spanforest\[cli\]"'):
        Templates(package)
