"""Values of options that several commands share."""

import pytest
import typer

from spanforest.cli._options import _one_character, _size, bad_option, positive


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("1", 1), ("8GB", 8e9), ("1.5 mb", 1.5e6), ("2k", 2000), ("3TiB", 3e12)],
)
def test_a_size_is_a_number_with_a_unit(text, n_bytes):
    assert _size(text) == n_bytes


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1.2.3", "8 apples", "0", "0.1"])
def test_what_is_no_size_is_refused_with_an_example(text):
    with pytest.raises(typer.BadParameter, match="such as 8GB; got"):
        _size(text)


@pytest.mark.parametrize("text", ["tab", "\\t", "\t"])
def test_a_tab_may_be_written_as_a_word(text):
    assert _one_character(text) == "\t"


def test_a_delimiter_is_one_character_or_left_out():
    assert _one_character(";") == ";"
    assert _one_character(None) is None
    for text in ("", ";;"):
        with pytest.raises(typer.BadParameter, match="one character"):
            _one_character(text)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_number_that_is_not_above_zero_is_refused(value):
    assert positive(0.1) == 0.1
    with pytest.raises(typer.BadParameter, match="greater than 0; got"):
        positive(value)


def test_a_bad_option_is_named_in_its_error():
    error = bad_option("it is missing.", "--labels")
    assert error.exit_code == 2
    assert "'--labels'" in error.format_message()
