"""Inference against exhaustive search. Scores are compared, not labels: optima tie."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import miss
from strategies import (
    any_kind,
    factor_graphs,
    problems,
    random_graph,
    seeds,
    trials,
    uneven_scores,
)

from spanforest import inference
from spanforest._classifier import find_decoder
from spanforest.branch_and_bound import decode_exactly
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, random_spanning_tree
from spanforest.inference import (
    decode,
    exhaustive_search,
    label_margins,
    max_marginals,
    max_product,
    max_sum,
    reachable_scores,
    rounding_slack,
    score_labels,
    tree_reweighted,
)

TRIANGLE = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])
any_forest = problems(extra_unary=True)
any_graph = problems(st.just(random_graph), max_labels=6, extra_unary=True)


def cells_of_factor(factors, f):
    factor = factors.arrays.factor[f]
    return factor["offset"], factor["offset"] + factor["n_cells"]


def clamp(factors, scores, j, value):
    """Scores under which label j must take the value (if any labelling is finite)."""
    Y = np.array(list(np.ndindex(*factors.n_values)))
    picked = factors.cells(Y)
    allowed = np.unique(picked[Y[:, j] == value])
    clamped = np.full_like(scores, -1e6)
    clamped[:, allowed] = scores[:, allowed]
    return clamped


@given(any_forest)
@trials(200)
def test_max_sum_reaches_the_exhaustive_maximum(problem):
    factors, scores = problem
    decoding = max_sum(factors, scores)
    assert_allclose(decoding.score, exhaustive_search(factors, scores).score)
    assert_allclose(decoding.score, score_labels(factors, scores, decoding.labels))


@given(any_forest)
@trials(100)
def test_max_marginals_are_the_maxima_with_one_label_held(problem):
    factors, scores = problem
    for j, marginals in enumerate(max_marginals(factors, scores)):
        for value in range(factors.n_values[j]):
            held = exhaustive_search(factors, clamp(factors, scores, j, value))
            assert_allclose(marginals[:, value], held.score)


@given(any_forest)
def test_max_over_values_of_a_max_marginal_is_the_maximum_at_every_label(problem):
    factors, scores = problem
    best = max_sum(factors, scores).score
    for marginals in max_marginals(factors, scores):
        assert_allclose(marginals.max(axis=1), best)


@given(any_forest, seeds)
def test_a_constant_added_to_one_table_moves_no_optimum(problem, seed):
    factors, scores = problem
    f = np.random.default_rng(seed).integers(factors.n_factors)
    start, stop = cells_of_factor(factors, f)
    moved = scores.copy()
    moved[:, start:stop] += 3.0
    labels = max_sum(factors, moved).labels
    assert_allclose(
        score_labels(factors, scores, labels), max_sum(factors, scores).score
    )


@given(seeds)
def test_renaming_labels_transposes_tables_and_keeps_the_maximum(seed):
    rng = np.random.default_rng(seed)
    n_values = rng.integers(1, 4, size=5)
    tree = random_spanning_tree(5, rng)
    renamed = rng.permutation(5)
    factors = FactorGraph(tree, n_values)
    other_values = np.empty_like(n_values)
    other_values[renamed] = n_values
    other = FactorGraph(LabelGraph(5, renamed[tree.edges]), other_values)

    scores = rng.normal(size=(4, factors.n_cells))
    moved = np.empty_like(scores)
    where = {tuple(edge): f for f, edge in enumerate(other.graph.edges.tolist())}
    for f, (u, v) in enumerate(tree.edges):
        start, stop = cells_of_factor(factors, f)
        table = scores[:, start:stop].reshape(4, n_values[u], n_values[v])
        ends = int(renamed[u]), int(renamed[v])
        if ends[0] > ends[1]:
            table = table.transpose(0, 2, 1)
        g = where[min(ends), max(ends)]
        start, stop = cells_of_factor(other, g)
        moved[:, start:stop] = table.reshape(4, -1)

    assert_allclose(max_sum(other, moved).score, max_sum(factors, scores).score)


@given(any_graph)
@trials(200)
def test_the_bound_is_never_below_the_optimum_and_proven_means_optimal(problem):
    factors, scores = problem
    best = exhaustive_search(factors, scores).score
    decoding = tree_reweighted(factors, scores)
    assert (decoding.bound >= best - 1e-9).all()
    assert (decoding.score <= best + 1e-9).all()
    assert_allclose(decoding.score, score_labels(factors, scores, decoding.labels))
    assert_allclose(decoding.score[decoding.proven], best[decoding.proven], atol=1e-8)


@given(any_graph, st.integers(1, 3))
def test_the_bound_holds_after_any_number_of_sweeps(problem, n_sweeps):
    factors, scores = problem
    best = exhaustive_search(factors, scores).score
    assert (tree_reweighted(factors, scores, n_sweeps).bound >= best - 1e-9).all()


@given(any_forest)
@trials(100)
def test_tree_reweighted_proves_the_optimum_on_forests_without_ties(problem):
    factors, scores = problem
    rng = np.random.default_rng(0)
    scores = scores + 1e-3 * rng.normal(size=scores.shape)
    decoding = tree_reweighted(factors, scores, max_sweeps=10_000)
    assert_allclose(decoding.score, max_sum(factors, scores).score)
    assert_allclose(decoding.bound, decoding.score, rtol=1e-6, atol=1e-6)


@given(any_forest)
@trials(100)
def test_undamped_max_product_equals_max_sum_on_forests(problem):
    factors, scores = problem
    n_sweeps = factors.graph.diameter + 1  # the last one sees that nothing moves
    decoding, converged = max_product(factors, scores, n_sweeps, damping=0.0)
    assert_allclose(decoding.score, max_sum(factors, scores).score)
    assert converged.all()
    assert not decoding.proven.any()


def test_max_product_reports_that_it_did_not_converge():
    factors = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])
    scores = np.random.default_rng(0).normal(size=(5, 12))
    _, converged = max_product(factors, scores, n_sweeps=1)
    assert not converged.any()
    _, converged = max_product(factors, scores, n_sweeps=500)
    assert converged.all()


@given(any_graph)
def test_decode_finds_a_labelling_with_a_valid_bound_on_any_graph(problem):
    factors, scores = problem
    decoding = decode(factors, scores)
    assert (decoding.bound >= decoding.score - 1e-9).all()
    if factors.graph.is_forest:
        assert decoding.proven.all()


@given(any_graph)
def test_few_labellings_are_decoded_exactly(problem):
    factors, scores = problem
    if factors.n_labellings <= inference.TINY:
        decoding = decode(factors, scores)
        assert decoding.proven.all()
        best = exhaustive_search(factors, scores).score
        assert (decoding.score + decoding.slack >= best).all()
        own = score_labels(factors, scores, decoding.labels)
        assert_allclose(decoding.score, own, atol=1e-9)


@pytest.mark.parametrize("size", [1, 3, 20])
def test_few_labellings_are_tried_for_any_number_of_examples_at_once(size, monkeypatch):
    scores = np.random.default_rng(0).normal(size=(7, TRIANGLE.n_cells))
    wanted = decode(TRIANGLE, scores)
    monkeypatch.setattr(inference, "TRIED_ROWS", size)
    for values, expected in zip(decode(TRIANGLE, scores), wanted, strict=True):
        assert_array_equal(values, expected)


def test_of_few_labellings_that_tie_the_first_is_decoded():
    differ = np.tile([0.0, 1.0, 1.0, 0.0], 3)  # six labellings score 2
    assert decode(TRIANGLE, [differ, 0.1 * differ]).labels.tolist() == 2 * [[0, 0, 1]]


def test_a_cell_of_minus_infinity_is_not_picked():
    scores = np.zeros((1, TRIANGLE.n_cells))
    scores[0, [0, 1]] = -np.inf  # label 0 must not take its first value
    assert decode(TRIANGLE, scores).labels.tolist() == [[1, 0, 0]]


@given(any_graph)
def test_margins_are_zero_at_the_decoded_values(problem):
    factors, scores = problem
    decoding = decode(factors, scores)
    for j, margins in enumerate(label_margins(factors, scores, decoding)):
        own = margins[np.arange(len(scores)), decoding.labels[:, j]]
        assert_allclose(own, 0.0, atol=1e-9)
        assert (margins[decoding.proven] <= 1e-8).all()


@given(any_graph)
def test_margins_on_cycles_are_score_differences_of_one_flip(problem):
    factors, scores = problem
    if factors.graph.is_forest:
        return
    decoding = decode(factors, scores)
    for j, margins in enumerate(label_margins(factors, scores, decoding)):
        for value in range(factors.n_values[j]):
            flipped = decoding.labels.copy()
            flipped[:, j] = value
            moved = score_labels(factors, scores, flipped) - decoding.score
            assert_allclose(margins[:, value], moved, atol=1e-9)


def test_no_examples_are_decoded_to_no_labels():
    factors = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 2, 2])
    assert_array_equal(decode(factors, np.empty((0, 6))).labels, np.empty((0, 3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: max_sum(TRIANGLE, np.zeros((1, 12))), "without cycles"),
        (lambda: max_marginals(TRIANGLE, np.zeros((1, 12))), "without cycles"),
        (lambda: decode(TRIANGLE, np.zeros((1, 11))), r"\(n, 12\)"),
        (lambda: max_product(TRIANGLE, np.zeros((1, 12)), damping=1.0), "damping"),
        (
            lambda: exhaustive_search(
                FactorGraph(LabelGraph(30, [(0, 1)]), np.full(30, 2)), np.zeros((1, 60))
            ),
            "labellings",
        ),
    ],
)
def test_misuse_is_refused_with_a_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("decode", [tree_reweighted, decode, decode_exactly])
def test_scores_that_are_not_finite_prove_nothing(decode, value):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(1, TRIANGLE.n_cells))
    scores[0, 5] = value
    with np.errstate(invalid="ignore"):  # plain Python warns
        decoding = decode(TRIANGLE, scores)
    assert not (decoding.proven & ~np.isfinite(decoding.score)).any()


@pytest.mark.parametrize("cell", range(12))
def test_no_place_of_a_score_that_is_not_a_number_hides_it(cell):
    scores = np.zeros((1, TRIANGLE.n_cells))
    scores[0, cell] = np.nan
    assert not np.isfinite(rounding_slack(TRIANGLE, scores)).any()


@given(any_graph)
def test_the_slack_grows_with_the_largest_cell_of_every_factor(problem):
    factors, scores = problem
    bounds = [cells_of_factor(factors, f) for f in range(factors.n_factors)]
    largest = sum(np.abs(scores[:, start:stop]).max(axis=1) for start, stop in bounds)
    n_additions = 2 * factors.n_labels + factors.graph.n_edges
    expected = 32 * n_additions * 2.0**-53 * largest
    assert_allclose(rounding_slack(factors, scores), expected, rtol=1e-12, atol=1e-300)


@given(problems())
def test_max_product_is_exact_on_forests(problem):
    factors, scores = problem
    best = max_sum(factors, scores).score
    for found in (
        find_decoder("max_product")(factors, scores),
        max_product(factors, scores)[0],
    ):
        own = score_labels(factors, scores, found.labels)
        assert_allclose(own, best, atol=1e-12)


def test_a_forest_with_infinite_scores_proves_nothing():
    pair = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    assert not max_sum(pair, [[0.0, np.inf, 0.0, 0.0]]).proven.any()


@given(st.data())
@trials(150)
def test_a_proven_labelling_misses_the_exact_optimum_by_at_most_the_slack(data):
    factors = data.draw(factor_graphs(any_kind, max_labels=4, extra_unary=True))
    scores = data.draw(uneven_scores(factors))
    for solve in (decode, tree_reweighted, exhaustive_search):
        decoding = solve(factors, scores)
        for row, labels, slack in zip(
            scores[decoding.proven],
            decoding.labels[decoding.proven],
            decoding.slack[decoding.proven],
            strict=True,
        ):
            assert miss(factors, row, labels) <= Fraction(slack)
            assert slack <= 500 * np.finfo(float).eps * np.abs(row).sum() + 1e-300


def assert_small_differences_decide(decoder, factors, rng):
    """Check that a decoder sees thousandths beside scores of a billion."""
    scores = 1e9 + 1e-3 * rng.integers(-1, 2, size=(5, factors.n_cells))
    decoding = decoder(factors, scores)
    assert decoding.proven.all()
    assert (decoding.slack < 4e-4).all()
    for row, labels in zip(scores, decoding.labels, strict=True):
        assert miss(factors, row, labels) < Fraction(5e-4)


@pytest.mark.parametrize(
    "decoder", [max_sum, decode, decode_exactly, exhaustive_search]
)
@pytest.mark.parametrize("seed", range(10))
def test_small_differences_beside_large_scores_decide_on_trees(decoder, seed):
    rng = np.random.default_rng(seed)
    factors = FactorGraph(random_spanning_tree(4, rng), [2, 2, 3, 2])
    assert_small_differences_decide(decoder, factors, rng)


@pytest.mark.parametrize("seed", range(10))
def test_small_differences_beside_large_scores_decide_on_triangles(seed):
    triangle = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])
    rng = np.random.default_rng(seed)
    assert_small_differences_decide(decode_exactly, triangle, rng)


def test_raised_penalties_keep_the_best_labelling():
    triangle = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])
    scores = np.random.default_rng(0).normal(size=(20, triangle.n_cells))
    scores[:, ::5] = -1e30
    best = exhaustive_search(triangle, scores)
    raised = reachable_scores(triangle, scores, best.score)
    assert (raised.min(axis=1) > -1e6).all()
    assert (exhaustive_search(triangle, raised).labels == best.labels).all()
    assert (best.slack < 1e-10).all()
