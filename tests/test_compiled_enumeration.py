"""Scores of all labellings, and of all changes of one label."""

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from oracles import indicators, label_sets
from strategies import any_kind, problems, seeds, trials

from spanforest import _compiled

small_problems = problems(any_kind, max_labels=5, extra_unary=True)


@given(small_problems)
@trials(50)
def test_all_labellings_are_scored_in_lexicographic_order(problem):
    factors, scores = problem
    Z = label_sets(factors)
    values = np.empty(len(Z))
    _compiled.score_all(scores[0], factors.arrays, values)
    assert_allclose(values, indicators(factors, Z) @ scores[0], atol=1e-12)


@given(small_problems)
@trials(50)
def test_of_labellings_that_tie_the_first_one_is_taken(problem):
    factors, scores = problem
    whole = np.round(scores)
    labels = np.empty((len(whole), factors.n_labels), dtype=np.int64)
    best = np.empty(len(whole))
    _compiled.exhaustive_rows(whole, factors.arrays, labels, best)
    Z = label_sets(factors)
    values = whole @ indicators(factors, Z).T
    assert_array_equal(best, values.max(axis=1))
    assert_array_equal(labels, Z[values.argmax(axis=1)])


@given(small_problems, seeds)
@trials(50)
def test_a_margin_is_the_score_after_one_change_minus_the_score_before(problem, seed):
    factors, scores = problem
    labels = np.random.default_rng(seed).integers(factors.n_values)
    margins = np.empty((1, factors.n_values.sum()))
    _compiled.flip_margins(scores[:1], factors.arrays, labels[None], margins)
    changed = [
        np.r_[labels[:j], a, labels[j + 1 :]]
        for j in range(factors.n_labels)
        for a in range(factors.n_values[j])
    ]
    score = indicators(factors, labels[None])[0] @ scores[0]
    expected = indicators(factors, np.array(changed)) @ scores[0] - score
    assert_allclose(margins[0], expected, atol=1e-12)
