"""Branch and bound: what exhaustive search finds, with a proof."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import problems, random_graph

from spanforest import _compiled, inference, search
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.inference import exhaustive_search, score_labels, tree_reweighted
from spanforest.search import Limits, Seeds, decode_exactly, k_best


def random_problem(n_labels, n_values, seed, ties=False, density=1.0):
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(n_labels), 2))
    edges = [pair for pair in pairs if rng.random() < density]
    factors = FactorGraph(LabelGraph(n_labels, edges), [n_values] * n_labels)
    scores = rng.normal(size=(3, factors.n_cells))
    return factors, np.round(scores) if ties else scores


def without_short_cut(monkeypatch):
    """Let small problems go to the search, not to a trial of all labellings."""
    monkeypatch.setattr(inference, "FEW_LABELLINGS", 0)


@given(
    n_labels=st.integers(3, 8),
    n_values=st.integers(2, 3),
    seed=st.integers(0, 2**32 - 1),
    ties=st.booleans(),
    density=st.sampled_from([0.5, 1.0]),
)
@settings(deadline=None, max_examples=100)
def test_the_search_reaches_the_exhaustive_maximum_and_proves_it(
    n_labels, n_values, seed, ties, density
):
    factors, scores = random_problem(n_labels, n_values, seed, ties, density)
    few, inference.FEW_LABELLINGS = inference.FEW_LABELLINGS, 0
    try:
        found = decode_exactly(factors, scores)
    finally:
        inference.FEW_LABELLINGS = few

    assert_allclose(found.score, exhaustive_search(factors, scores).score)
    assert_allclose(found.score, score_labels(factors, scores, found.labels))
    assert found.proven.all()


def test_the_search_has_something_to_do():
    factors, scores = random_problem(10, 2, seed=2)
    assert not tree_reweighted(factors, scores).proven.all()


def test_thirteen_labels_are_beyond_the_trial_of_all_labellings():
    factors, scores = random_problem(13, 2, seed=1)
    assert factors.n_labellings > _compiled.FEW_LABELLINGS

    found = decode_exactly(factors, scores)

    assert found.proven.all()
    assert_allclose(found.score, exhaustive_search(factors, scores).score)


def test_within_any_limit_the_score_is_reached_and_the_bound_holds(monkeypatch):
    without_short_cut(monkeypatch)
    factors, scores = random_problem(10, 2, seed=2)
    best = exhaustive_search(factors, scores).score
    last = decode_exactly(factors, scores, Limits(n_edges=0))
    for n_edges in (1, 200, 1000, 5000, 10**6):
        found = decode_exactly(factors, scores, Limits(n_edges=n_edges))
        assert_allclose(found.score, score_labels(factors, scores, found.labels))
        assert (found.score <= best + 1e-9).all()
        assert (found.bound >= best - 1e-9).all()
        assert (found.score >= last.score - 1e-9).all()
        assert (found.bound <= last.bound + 1e-9).all()
        last = found
    assert last.proven.all()


def test_no_time_is_a_limit(monkeypatch):
    without_short_cut(monkeypatch)
    factors, scores = random_problem(10, 2, seed=2)
    found = decode_exactly(factors, scores, Limits(seconds=1e-9))
    start = tree_reweighted(factors, scores)
    assert_allclose(found.bound, start.bound)
    assert not found.proven.all()


def test_two_searches_give_the_same_labels(monkeypatch):
    without_short_cut(monkeypatch)
    factors, scores = random_problem(9, 3, seed=4, ties=True)
    one, two = (decode_exactly(factors, scores) for _ in range(2))
    assert (one.labels == two.labels).all()


def test_a_forest_needs_no_search(monkeypatch):
    def fail(*args):
        raise AssertionError("searched")

    monkeypatch.setattr(search, "_search", fail)
    factors, scores = random_problem(2, 2, seed=0)
    assert decode_exactly(factors, scores).proven.all()


def all_labellings(factors, scores):
    """Every labelling and its score, best first."""
    Y = np.array(list(np.ndindex(*factors.n_values)))
    values = score_labels(factors, np.tile(scores, (len(Y), 1)), Y)
    return Y, np.sort(values)[::-1]


def check_lists(factors, scores, found, k):
    k = min(k, factors.n_labellings)
    assert found.labels.shape == (len(scores), k, factors.n_labels)
    for i, row in enumerate(scores):
        _, truth = all_labellings(factors, row)
        assert_allclose(found.scores[i], truth[:k], atol=1e-9)
        tiled = np.tile(row, (k, 1))
        assert_allclose(
            score_labels(factors, tiled, found.labels[i]), truth[:k], atol=1e-9
        )
        assert len({tuple(labels) for labels in found.labels[i]}) == k
        if k < factors.n_labellings:
            assert found.bound[i] >= truth[k] - 1e-9
    assert found.proven.all()


@given(problem=problems(extra_unary=True), k=st.integers(1, 12))
@settings(deadline=None, max_examples=150)
def test_lists_on_forests_are_the_best_of_all_labellings(problem, k):
    factors, scores = problem
    check_lists(factors, scores, k_best(factors, scores, k), k)


@given(
    problem=problems(st.just(random_graph), max_labels=6, extra_unary=True),
    k=st.integers(1, 12),
    seeded=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_lists_on_any_graph_are_the_best_of_all_labellings(problem, k, seeded):
    factors, scores = problem
    seeds = None
    if seeded:
        rng = np.random.default_rng(0)
        labels = rng.integers(0, factors.n_values, (len(scores), 4, factors.n_labels))
        seeds = Seeds(labels, np.full(len(scores), np.inf))
    check_lists(factors, scores, k_best(factors, scores, k, seeds), k)


def test_a_list_cut_short_says_which_places_are_proven():
    factors, scores = random_problem(10, 2, seed=2)
    found = k_best(factors, scores, 8, limits=Limits(n_edges=2000))
    for i, row in enumerate(scores):
        _, truth = all_labellings(factors, row)
        sure = found.proven[i]
        assert_allclose(found.scores[i][sure], truth[: len(sure)][sure])
        assert found.bound[i] >= truth[sure.sum()] - 1e-9
    assert not found.proven.all()


def test_seeds_that_reach_their_bound_need_no_search(monkeypatch):
    factors, scores = random_problem(6, 2, seed=3)
    Y = np.array(list(np.ndindex(*factors.n_values)))
    everything = Seeds(np.tile(Y, (len(scores), 1, 1)), np.full(len(scores), -np.inf))

    def fail(*args):
        raise AssertionError("searched")

    monkeypatch.setattr(search, "_search", fail)
    check_lists(factors, scores, k_best(factors, scores, 5, everything), 5)
