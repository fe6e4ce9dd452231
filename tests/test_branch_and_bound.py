"""Branch and bound: what exhaustive search finds, with a proof."""

from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import exact_scores, miss
from strategies import (
    PLAIN,
    any_kind,
    factor_graphs,
    loopy_problems,
    problems,
    random_problem,
    trials,
    uneven_scores,
)

from spanforest import _compiled, branch_and_bound, inference
from spanforest._compiled.cells import FORBIDDEN
from spanforest.branch_and_bound import Limits, TopLists, decode_exactly, k_best
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.inference import exhaustive_search, score_labels, tree_reweighted


@contextmanager
def no_short_cuts():
    """Let small problems go to the search, and small parts be searched to the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "TINY", 0)
        patch.setattr(inference, "FEW_LABELLINGS", 0)
        patch.setattr(branch_and_bound, "SMALL_PART", 1)
        yield


@given(
    n_labels=st.integers(3, 5 if PLAIN else 8),
    n_values=st.integers(2, 3),
    seed=st.integers(0, 2**32 - 1),
    ties=st.booleans(),
    density=st.sampled_from([0.5, 1.0]),
)
@trials(100)
@no_short_cuts()
def test_the_search_reaches_the_exhaustive_maximum_and_proves_it(
    n_labels, n_values, seed, ties, density
):
    factors, scores = random_problem(n_labels, n_values, seed, ties, density)
    decoding = decode_exactly(factors, scores)

    assert_allclose(decoding.score, exhaustive_search(factors, scores).score)
    assert_allclose(decoding.score, score_labels(factors, scores, decoding.labels))
    assert decoding.proven.all()


@pytest.mark.needs_compiled
def test_the_search_has_something_to_do():
    factors, scores = random_problem(10, 2, seed=2)
    assert not tree_reweighted(factors, scores).proven.all()


@pytest.mark.needs_compiled
def test_fifteen_labels_are_beyond_the_trial_of_all_labellings():
    factors, scores = random_problem(15, 2, seed=1)
    assert factors.n_labellings > _compiled.FEW_LABELLINGS

    decoding = decode_exactly(factors, scores)

    assert decoding.proven.all()
    assert_allclose(decoding.score, exhaustive_search(factors, scores).score)


@pytest.mark.needs_compiled
@no_short_cuts()
def test_within_any_limit_the_score_is_reached_and_the_bound_holds():
    factors, scores = random_problem(10, 2, seed=2)
    best = exhaustive_search(factors, scores).score
    last = decode_exactly(factors, scores, Limits(n_edges=0))
    for n_edges in (1, 200, 1000, 5000, 10**6):
        decoding = decode_exactly(factors, scores, Limits(n_edges=n_edges))
        assert_allclose(decoding.score, score_labels(factors, scores, decoding.labels))
        assert (decoding.score <= best + 1e-9).all()
        assert (decoding.bound >= best - 1e-9).all()
        assert (decoding.score >= last.score - 1e-9).all()
        assert (decoding.bound <= last.bound + 1e-9).all()
        last = decoding
    assert last.proven.all()


@pytest.mark.needs_compiled
@no_short_cuts()
def test_no_time_is_a_limit():
    factors, scores = random_problem(10, 2, seed=2)
    decoding = decode_exactly(factors, scores, Limits(seconds=1e-9))
    start = tree_reweighted(factors, scores)
    assert_allclose(decoding.bound, start.bound)
    assert not decoding.proven.all()


@pytest.mark.needs_compiled
@no_short_cuts()
def test_two_searches_give_the_same_labels():
    factors, scores = random_problem(9, 3, seed=4, ties=True)
    one, two = (decode_exactly(factors, scores) for _ in range(2))
    assert (one.labels == two.labels).all()


@pytest.mark.needs_compiled
@pytest.mark.parametrize("power", [-40, 40])
@no_short_cuts()
def test_proofs_do_not_depend_on_the_size_of_the_scores(power):
    factors, scores = random_problem(9, 2, seed=3)
    scaled = scores * 2.0**power  # exactly
    for limits in (Limits(), Limits(n_edges=2000)):
        one, two = (decode_exactly(factors, s, limits) for s in (scores, scaled))
        assert (one.labels == two.labels).all()
        assert (one.proven == two.proven).all()
        one, two = (k_best(factors, s, 20, limits) for s in (scores, scaled))
        assert (one.labels == two.labels).all()
        assert (one.proven == two.proven).all()


@pytest.mark.needs_compiled
def test_tiny_scores_are_searched_to_the_end():
    factors, scores = random_problem(14, 2, seed=0)
    scores *= 1e-11
    assert not tree_reweighted(factors, scores).proven.all()

    decoding = decode_exactly(factors, scores)

    assert decoding.proven.all()
    assert_allclose(decoding.score, exhaustive_search(factors, scores).score, rtol=1e-9)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("penalty", [FORBIDDEN, -1e9])
def test_a_penalty_that_nobody_pays_does_not_blur_a_proof(penalty):
    factors, scores = random_problem(13, 2, seed=1)
    scores *= 1e-3
    scores[:, ::17] = penalty

    decoding = decode_exactly(factors, scores)

    best = exhaustive_search(factors, scores).score
    assert (best > -1.0).all()
    assert decoding.proven.all()
    assert_allclose(decoding.score, best)


def test_large_scores_that_cancel_leave_room_for_rounding():
    factors = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2] * 3, [0, 1, 2])
    scores = np.random.default_rng(0).normal(size=(20, factors.n_cells))
    scores[:, :4] += 1e6 / 3
    scores[:, 4:8] -= 1e6 / 3
    with no_short_cuts():
        decoding = decode_exactly(factors, scores)
    assert decoding.proven.all()
    assert_allclose(decoding.score, exhaustive_search(factors, scores).score, atol=1e-4)


def test_a_place_that_was_not_filled_is_not_proven():
    labels = np.zeros((2, 3, 4), dtype=int)
    scores = np.array([[2.0, 1.0, -np.inf], [2.0, -np.inf, -np.inf]])
    lists = TopLists(labels, scores, np.array([1.0, -np.inf]), slack=np.zeros(2))
    assert lists.proven.tolist() == [[True, True, False], [True, False, False]]


def test_a_forest_needs_no_search(monkeypatch):
    def fail(*args):
        raise AssertionError("searched")

    monkeypatch.setattr(branch_and_bound, "_search", fail)
    factors, scores = random_problem(2, 2, seed=0)
    assert decode_exactly(factors, scores).proven.all()


def all_labellings(factors, scores):
    """Every labelling and its score, best first."""
    Y = np.array(list(np.ndindex(*factors.n_values)))
    values = score_labels(factors, np.tile(scores, (len(Y), 1)), Y)
    return Y, np.sort(values)[::-1]


def check_lists(factors, scores, lists, k):
    k = min(k, factors.n_labellings)
    assert lists.labels.shape == (len(scores), k, factors.n_labels)
    for i, row in enumerate(scores):
        _, truth = all_labellings(factors, row)
        assert_allclose(lists.scores[i], truth[:k], atol=1e-9)
        tiled = np.tile(row, (k, 1))
        assert_allclose(
            score_labels(factors, tiled, lists.labels[i]), truth[:k], atol=1e-9
        )
        assert len({tuple(labels) for labels in lists.labels[i]}) == k
        if k < factors.n_labellings:
            assert lists.bound[i] >= truth[k] - 1e-9
    assert lists.proven.all()


@given(problem=problems(extra_unary=True), k=st.integers(1, 12))
@trials(150)
def test_lists_on_forests_are_the_best_of_all_labellings(problem, k):
    factors, scores = problem
    check_lists(factors, scores, k_best(factors, scores, k), k)


@given(problem=loopy_problems, k=st.integers(1, 12))
@trials(60)
def test_lists_on_any_graph_are_the_best_of_all_labellings(problem, k):
    factors, scores = problem
    check_lists(factors, scores, k_best(factors, scores, k), k)


@given(problem=loopy_problems, k=st.integers(1, 40))
@trials(100)
@no_short_cuts()
def test_so_are_lists_whose_every_part_was_searched(problem, k):
    factors, scores = problem
    check_lists(factors, scores, k_best(factors, scores, k), k)


@given(
    problem=loopy_problems,
    k=st.integers(1, 12),
    n_edges=st.sampled_from([0, 20, 50, 100, 200, 500]),
)
@trials(100)
@no_short_cuts()
def test_a_search_cut_short_claims_nothing_that_is_not_so(problem, k, n_edges):
    factors, scores = problem
    lists = k_best(factors, scores, k, Limits(n_edges))
    for i, row in enumerate(scores):
        Y, truth = all_labellings(factors, row)
        listed = {tuple(labels) for labels in lists.labels[i]}
        values = score_labels(factors, np.tile(row, (len(Y), 1)), Y)
        outside = [v for y, v in zip(Y, values, strict=True) if tuple(y) not in listed]
        assert lists.bound[i] >= max(outside, default=-np.inf) - 1e-9
        sure = lists.proven[i]
        assert_allclose(lists.scores[i][sure], truth[: len(sure)][sure], atol=1e-9)


@pytest.mark.needs_compiled
def test_the_same_search_goes_further_with_a_larger_limit():
    factors, scores = random_problem(12, 2, seed=2)
    shares = [
        k_best(factors, scores, 30, Limits(n_edges)).proven.mean()
        for n_edges in (0, 10_000, 10**7)
    ]
    assert shares == sorted(shares)
    assert shares[0] < 1.0
    assert shares[-1] == 1.0


@pytest.mark.needs_compiled
@pytest.mark.parametrize("limits", [Limits(seconds=0.0), Limits(n_edges=10_000)])
def test_a_long_list_is_cut_short_by_a_limit(limits):
    factors, scores = random_problem(30, 2, seed=0)
    lists = k_best(factors, scores[:1], 5000, limits)
    n_listed = np.isfinite(lists.scores[0]).sum()
    assert 0 < n_listed < 5000
    assert (np.diff(lists.scores[0, :n_listed]) <= 0).all()
    assert not lists.proven[0, n_listed:].any()


def test_a_list_may_be_as_long_as_there_are_labellings():
    factors, scores = random_problem(4, 3, seed=5, ties=True)
    check_lists(factors, scores, k_best(factors, scores, 100), 100)


def test_labels_with_one_value_and_graphs_in_pieces_have_lists():
    edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]  # and 6, alone
    factors = FactorGraph(LabelGraph(7, edges), [2, 1, 3, 2, 2, 1, 2])
    scores = np.random.default_rng(0).normal(size=(3, factors.n_cells))
    check_lists(factors, scores, k_best(factors, scores, 20), 20)


@given(st.data())
@trials(60)
def test_proven_searches_and_lists_hold_up_to_the_slack(data):
    factors = data.draw(factor_graphs(any_kind, max_labels=4))
    scores = data.draw(uneven_scores(factors, n=1))
    with no_short_cuts():
        decoding, lists = decode_exactly(factors, scores), k_best(factors, scores, 3)
    exact = exact_scores(factors, scores[0])
    if decoding.proven[0]:
        missed = max(exact.values()) - exact[tuple(decoding.labels[0])]
        assert missed <= Fraction(decoding.slack[0])
    listed = [tuple(labels) for labels in lists.labels[0]]
    others = [score for labels, score in exact.items() if labels not in listed]
    for place in np.flatnonzero(lists.proven[0]):
        rivals = [*others, *(exact[labels] for labels in listed[place + 1 :])]
        missed = max(rivals, default=-np.inf) - exact[listed[place]]
        assert missed <= Fraction(lists.slack[0])


def test_the_slack_of_a_list_is_that_of_its_last_place():
    triangle = FactorGraph(LabelGraph(3, [(0, 1), (0, 2), (1, 2)]), [2, 2, 2])
    cells = [[0.3, 0.8, 0.3, -1.3], [-1e16, 0.4, -1e16, -1e16], [0.4, -1e16, 0.1, 0.5]]
    lists = k_best(triangle, [np.ravel(cells)], 3)
    assert lists.scores[0, 0] > 1.6
    assert lists.scores[0, 2] < -1e15
    assert lists.slack[0] > 1.0  # one ulp of 1e16 is 2


@pytest.mark.parametrize("seed", range(3))
def test_a_search_beside_large_scores_finds_small_differences(seed):
    factors, noise = random_problem(6, 2, seed, ties=True)
    scores = 1e9 + 1e-2 * noise
    with no_short_cuts():
        decoding = decode_exactly(factors, scores)
    assert decoding.proven.all()
    assert (decoding.slack < 5e-3).all()
    for row, labels in zip(scores, decoding.labels, strict=True):
        assert miss(factors, row, labels) < Fraction(5e-3)
