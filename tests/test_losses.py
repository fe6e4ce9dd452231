"""Losses against plain loops over pairs of labellings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import FORESTS, factor_graphs, random_graph, seeds

from spanforest import _compiled
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.losses import LOSSES, FactorLoss, edge_loss, find_loss, hamming_loss
from spanforest.solver import Problem, compiled_problem

any_kind = st.sampled_from([*FORESTS, random_graph])
any_factors = factor_graphs(any_kind, max_labels=4, extra_unary=True)


def all_labellings(factors):
    return np.array(list(np.ndindex(*factors.n_values)))


def decomposed(factors, loss, y, z):
    """The three weighted indicators of every factor, by the definition."""
    ends = [*factors.graph.edges.tolist(), *([j] for j in factors.unary_labels)]
    values = []
    for f, labels in enumerate(ends):
        first, *second = (y[j] != z[j] for j in labels)
        second = any(second)
        values.append(
            loss.joint[f] * (first or second)
            + loss.first[f] * first
            + loss.second[f] * second
        )
    return np.array(values)


def loss_of_pairs(factors, loss):
    """The decomposed loss of every pair of labellings."""
    Z = all_labellings(factors)
    return np.array([[decomposed(factors, loss, y, z).sum() for z in Z] for y in Z])


def compiled_tables(factors, loss, y, scores):
    """The scores after the solver added the loss against the labels y."""
    problem = Problem(factors, loss, np.array([y], dtype=np.int32), C=1.0)
    with_loss, true_score = np.array([scores]), np.empty(1)
    rows = np.zeros(1, dtype=np.int64)
    _compiled.augment_rows(
        with_loss, rows, compiled_problem(problem).record, true_score
    )
    return with_loss[0]


def wrong_factors(factors, y, z):
    wrong = 0
    for u, v in factors.graph.edges:
        wrong += y[u] != z[u] or y[v] != z[v]
    for j in factors.unary_labels:
        wrong += y[j] != z[j]
    return wrong


@given(any_factors)
def test_edge_loss_counts_the_wrong_factors(factors):
    Z = all_labellings(factors)
    expected = [[wrong_factors(factors, y, z) for z in Z] for y in Z]
    assert_allclose(loss_of_pairs(factors, factors.loss("edge")), expected)


@given(any_factors)
def test_hamming_loss_is_the_hamming_distance(factors):
    Z = all_labellings(factors)
    expected = (Z[:, None] != Z[None]).sum(axis=2)
    actual = loss_of_pairs(factors, factors.loss("hamming"))
    assert_allclose(actual, expected, atol=1e-12)


@given(any_factors, st.sampled_from(sorted(LOSSES)))
def test_a_loss_is_symmetric_and_zero_only_at_the_truth(factors, name):
    actual = loss_of_pairs(factors, factors.loss(name))
    assert_allclose(actual, actual.T, atol=1e-12)
    assert (np.diag(actual) == 0).all()
    assert (actual + np.eye(len(actual)) > 0).all()


@given(any_factors, seeds)
def test_the_solver_adds_the_decomposed_loss_to_the_scores(factors, seed):
    rng = np.random.default_rng(seed)
    loss = FactorLoss(*rng.random((3, factors.n_factors)))
    y = rng.integers(factors.n_values)
    scores = rng.normal(size=factors.n_cells)
    added = compiled_tables(factors, loss, y, scores) - scores
    for z in all_labellings(factors):
        expected = decomposed(factors, loss, y, z)
        assert_allclose(added[factors.cells([z])[0]], expected, atol=1e-12)


def test_the_edge_loss_is_added_exactly():
    factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    scores = np.array([1.0, 2.0, 3.0, 4.0])
    actual = compiled_tables(factors, factors.loss("edge"), [0, 1], scores)
    assert actual.tolist() == [2.0, 2.0, 4.0, 5.0]


@pytest.mark.parametrize("loss", [edge_loss, hamming_loss])
def test_on_independent_labels_every_loss_is_one_per_wrong_label(loss):
    first, second = np.arange(3), np.full(3, -1)
    weights = loss(first, second)
    assert_allclose(weights.joint + weights.first, 1.0)
    assert_allclose(weights.second, 0.0)


def test_hamming_shares_each_label_by_its_number_of_factors():
    star = FactorGraph(LabelGraph(4, [(0, 1), (0, 2), (0, 3)]), [2, 2, 2, 2])
    loss = star.loss("hamming")
    assert_allclose(loss.first, 1 / 3)
    assert_allclose(loss.second, 1.0)
    assert_allclose(loss.joint, 0.0)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_known_losses_are_found_by_name(name):
    assert find_loss(name) is LOSSES[name]


@pytest.mark.parametrize("name", ["zero_one", "Edge", "", None, 1, ["edge"], edge_loss])
def test_unknown_losses_are_refused_with_the_known_names(name):
    with pytest.raises(ValueError, match="loss must be one of 'edge', 'hamming'; got"):
        find_loss(name)
