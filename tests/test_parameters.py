"""Checks of numbers, counts, options and random states."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spanforest._parameters import (
    check_count,
    check_n_jobs,
    check_number,
    check_option,
    check_verbose,
    seed_sequence,
)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3)])
def test_numbers_above_the_minimum_pass(value):
    number = check_number("C", value)
    assert number == value
    assert type(number) is float


def test_the_minimum_itself_passes_unless_strict():
    assert check_number("C", 0, strict=False) == 0.0
    with pytest.raises(ValueError, match="C must be a number greater than 0; got 0"):
        check_number("C", 0)
    with pytest.raises(ValueError, match="C must be a number at least 0; got -1"):
        check_number("C", -1, strict=False)


@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "1", None, True, [1]])
def test_values_that_are_not_finite_numbers_above_the_minimum_are_refused(value):
    with pytest.raises(ValueError, match="C must be a number greater than 0; got "):
        check_number("C", value)


@pytest.mark.parametrize("value", [0, -1, 1.0, "3", None, True])
def test_counts_are_whole_and_positive(value):
    assert check_count("max_iter", np.int32(4)) == 4
    with pytest.raises(ValueError, match="max_iter must be a whole number of at least"):
        check_count("max_iter", value)


@pytest.mark.parametrize("value", [0, 1.5, 2.0, "2", True, [2]])
def test_jobs_are_none_or_a_whole_number_but_not_zero(value):
    for accepted in (None, np.int64(2), -1):
        check_n_jobs(accepted)
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number that"):
        check_n_jobs(value)


@pytest.mark.parametrize("value", [-1, 0.5, "yes", None])
def test_progress_is_shown_or_not(value):
    for accepted in (True, np.True_, np.int64(2), 0, False):
        check_verbose(accepted)
    with pytest.raises(ValueError, match="verbose must be True, False or a whole num"):
        check_verbose(value)


@pytest.mark.parametrize("value", ["MAM", "", None, 1, ["mam"]])
def test_unknown_options_are_refused_with_the_known_ones(value):
    with pytest.raises(ValueError, match="must be one of 'mve', 'mam'; got "):
        check_option("aggregation", value, ("mve", "mam"))


def words(seed):
    return seed.generate_state(4).tolist()


def test_equal_random_states_give_equal_seeds():
    for make in (lambda: 5, lambda: np.int64(5)):
        assert words(seed_sequence(make())) == words(np.random.SeedSequence(5))
    for make in (np.random.RandomState, np.random.default_rng):
        assert words(seed_sequence(make(1))) == words(seed_sequence(make(1)))
        assert words(seed_sequence(make(1))) != words(seed_sequence(make(2)))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_gives_a_new_seed_every_time(make):
    generator = make(0)
    assert words(seed_sequence(generator)) != words(seed_sequence(generator))


def test_without_a_random_state_seeds_are_new_and_the_global_state_is_kept():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert words(seed_sequence(None)) != words(seed_sequence(None))
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("value", [-1, "seed", 1.5])
def test_other_random_states_are_refused(value):
    with pytest.raises(ValueError, match=r"[Ss]eed"):
        seed_sequence(value)
