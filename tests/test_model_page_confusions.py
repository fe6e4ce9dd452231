"""Counts of label sets and labels that are taken for others."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import trials
from test_model_page_scores import outcomes_of, random_outcomes

from spanforest.model_page._confusions import (
    N_SINGLE,
    confused_sets,
    count_rows,
    predicted_sets,
    swapped_labels,
)


@trials(30)
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1))
def test_rows_are_counted_and_the_most_frequent_come_first(rows):
    counted = count_rows(np.array(rows, dtype=np.int32))
    assert {tuple(each.row.tolist()): each.n for each in counted} == Counter(rows)
    numbers = [each.n for each in counted]
    assert numbers == sorted(numbers, reverse=True)


def test_pairs_of_label_sets_are_counted_where_they_differ():
    outcomes = random_outcomes(3, n_samples=60)
    names = np.array(outcomes.names)

    def label_set(row):
        return tuple(names[row == 1])

    pairs = zip(outcomes.truth, outcomes.predicted, strict=True)
    expected = Counter(
        (label_set(one), label_set(other)) for one, other in pairs if any(one != other)
    )
    confused = confused_sets(outcomes, 1000)
    counted = {(tuple(each.true), tuple(each.predicted)): each.n for each in confused}
    assert counted == expected
    assert confused_sets(outcomes, 2) == confused[:2]
    n_predicted = sum(each.n for each in predicted_sets(outcomes, 1000))
    assert n_predicted == outcomes.n_samples


def test_few_pairs_are_returned_if_all_of_them_occur_once():
    truth = np.eye(6, dtype=int)
    outcomes = outcomes_of(truth, np.zeros((6, 6)))
    confused = confused_sets(outcomes, 100)
    assert [each.n for each in confused] == [1] * N_SINGLE


def test_examples_with_unknown_labels_are_no_confusion_of_sets():
    outcomes = outcomes_of(np.array([[1, -1], [0, 1]]), np.array([[0, 0], [0, 0]]))
    assert [each.n for each in confused_sets(outcomes, 5)] == [1]


def test_a_swap_is_a_missed_label_where_another_one_is_predicted():
    outcomes = random_outcomes(4, n_samples=80)
    truth, predicted = outcomes.truth == 1, outcomes.predicted == 1
    missed, extra = truth & ~predicted, predicted & ~truth
    swaps = {(s.missed, s.predicted): s.n for s in swapped_labels(outcomes, 100)}
    for u, one in enumerate(outcomes.names):
        for v, other in enumerate(outcomes.names):
            n_both = int((missed[:, u] & extra[:, v]).sum())
            assert swaps.get((one, other), 0) == (n_both if n_both > 1 else 0)
