"""The numbers that words stand for."""

import pytest

from spanforest.datasets._words import numbers_of_words, whole_numbers


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["YES", "no"], [1, 0]),
        (["f", "T"], [0, 1]),
        (["true"], [1]),
        (["yes", "true"], None),  # two words for one number
        (["no", "yes", "maybe"], None),
        (["0", "1"], None),
    ],
)
def test_no_and_yes_stand_for_zero_and_one(values, numbers):
    assert numbers_of_words(values) == numbers


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["3", "-1", "+7"], [3, -1, 7]),
        (["1", "01"], [0, 1]),  # equal numbers: positions tell them apart
        (["yes", "no"], [1, 0]),
        (["red", "green", "blue"], [0, 1, 2]),
    ],
)
def test_other_values_stand_for_their_positions(values, numbers):
    assert whole_numbers(values) == numbers
