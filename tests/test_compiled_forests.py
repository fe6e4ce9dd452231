"""Exact inference on forests against all labellings."""

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from oracles import indicators, label_sets
from strategies import problems, trials

from spanforest import _compiled
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph

forest_problems = problems(max_labels=5, extra_unary=True)


def decoded(factors, scores):
    labels = np.empty((len(scores), factors.n_labels), dtype=np.int64)
    best = np.empty(len(scores))
    _compiled.forest_max_sums(scores, factors.arrays, labels, best)
    return labels, best


@given(forest_problems)
@trials(100)
def test_the_labelling_has_the_score_that_is_returned_and_none_has_more(problem):
    factors, scores = problem
    labels, best = decoded(factors, scores)
    values = scores @ indicators(factors, label_sets(factors)).T
    assert_allclose(best, values.max(axis=1), atol=1e-12)
    assert_allclose((indicators(factors, labels) * scores).sum(axis=1), best)


@given(forest_problems)
@trials(100)
def test_max_marginals_are_the_best_scores_with_one_label_held(problem):
    factors, scores = problem
    marginals = np.empty((len(scores), factors.n_values.sum()))
    _compiled.forest_max_marginals(scores, factors.arrays, marginals)
    Z = label_sets(factors)
    values = scores @ indicators(factors, Z).T
    expected = [
        values[:, Z[:, j] == a].max(axis=1)
        for j in range(factors.n_labels)
        for a in range(factors.n_values[j])
    ]
    assert_allclose(marginals.T, expected, atol=1e-12)


def test_ties_go_to_the_lower_value_even_if_rounding_favours_the_other():
    chain = FactorGraph(LabelGraph(3, [(0, 1), (1, 2)]), [2, 2, 3])
    noise = np.linspace(0.0, 1e-15, chain.n_cells)
    labels, _ = decoded(chain, 1.0 + noise[None])
    assert_array_equal(labels, [[0, 0, 0]])
