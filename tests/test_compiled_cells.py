"""Cells of factors: the cells of a labelling, and edges read from either end."""

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose
from oracles import from_python, indicators
from strategies import any_kind, problems, seeds, trials

from spanforest._compiled import cells
from spanforest._compiled.cells import FORBIDDEN, TIE, labelling_score

edge_cell, exceeds, other_end, picked_cell = map(
    from_python, (cells.edge_cell, cells.exceeds, cells.other_end, cells.picked_cell)
)


@given(problems(any_kind, extra_unary=True), seeds)
@trials(50)
def test_the_score_of_a_labelling_is_its_product_with_the_indicators(problem, seed):
    factors, scores = problem
    labels = np.random.default_rng(seed).integers(factors.n_values)
    expected = indicators(factors, labels[None])[0] @ scores[0]
    actual = labelling_score(scores[0], factors.arrays, labels)
    assert_allclose(actual, expected, atol=1e-12)


@given(problems(any_kind), seeds)
@trials(50)
def test_an_edge_has_the_same_cell_seen_from_either_end(problem, seed):
    factors, _ = problem
    labels = np.random.default_rng(seed).integers(factors.n_values)
    for e, (u, v) in enumerate(factors.graph.edges):
        edge = factors.arrays.factor[e]
        picked = picked_cell(edge, labels)
        assert edge_cell(edge, u, labels[u], labels[v]) == picked
        assert edge_cell(edge, v, labels[v], labels[u]) == picked
        assert (other_end(edge, u), other_end(edge, v)) == (v, u)


def test_scores_that_differ_by_rounding_errors_tie():
    assert not exceeds(0.1 + 0.2, 0.3, TIE)
    assert exceeds(0.3 + 1e-9, 0.3, TIE)
    assert exceeds(0.0, FORBIDDEN, TIE)
