"""Texts that are no categories: dates, and names of rows."""

import pytest

from spanforest._text_columns import are_dates, name_rows


@pytest.mark.parametrize(
    "text", ["2024-05-01", "2024/5/1", "1.5.2024", "5/1/24", "2024-05-01T12:30:15Z"]
)
def test_dates_are_told_from_other_texts(text):
    assert are_dates([text, f" {text} "])
    assert not are_dates([text, "red"])
    assert not are_dates([f"{text}x"])


@pytest.mark.parametrize("text", ["2024-05/01", "1.2.3", "12:30", "2024", "a-b-c"])
def test_numbers_and_versions_are_no_dates(text):
    assert not are_dates([text])


def test_few_rows_do_not_tell_names_from_categories():
    assert not name_rows(2, 2)
    assert name_rows(3, 3)
    assert not name_rows(2, 3)
    assert not name_rows(30, 49)
    assert name_rows(30, 50)
    assert not name_rows(25, 50)
