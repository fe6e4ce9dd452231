"""Couplings of labels against their definition, and what models keep of training."""

import numpy as np
import pandas as pd
import pytest
from ensembles import GRADES, X, X_new, Y, ensemble, scores_of, single
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import MMCRFClassifier
from spanforest.diagnostics import (
    Couplings,
    edge_couplings,
    keep_summary,
    label_frequencies,
    training_couplings,
    training_frequencies,
)
from spanforest.diagnostics._models import FittedModel


def test_equal_labels_attract_and_opposite_ones_repel():
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=200)
    labels = np.column_stack([coin, coin, 1 - coin])
    noise = rng.normal(size=(200, 2))
    fitted = single(graph=[(0, 1), (1, 2)], C=0.1).fit(noise, labels)
    together, apart = edge_couplings(fitted, noise, labels).strength
    assert together > 0 > apart


@pytest.mark.needs_compiled
@pytest.mark.parametrize("model", [single(), ensemble(3)], ids=["single", "ensemble"])
def test_couplings_of_binary_labels_are_interaction_times_deviations(model):
    fitted = model.fit(X, Y)
    factors = FittedModel(fitted).factors
    couplings = edge_couplings(fitted, X_new, Y)
    scores = scores_of(fitted, X_new)
    assert_array_equal(couplings.edges, factors.graph.edges)
    assert couplings.is_signed.all()
    for e, (u, v) in enumerate(couplings.edges):
        s00, s01, s10, s11 = scores[:, 4 * e : 4 * e + 4].T
        interaction = np.mean(s11 + s00 - s10 - s01)
        expected = interaction * Y[:, u].std() * Y[:, v].std()
        assert_allclose(couplings.strength[e], expected, atol=1e-12)


def test_couplings_of_many_values_are_deviations_of_the_interaction():
    fitted = single(graph=[(0, 1), (1, 2)]).fit(X, GRADES)
    couplings = edge_couplings(fitted, X_new, GRADES)
    assert not couplings.is_signed.any()
    tables = scores_of(fitted, X_new).mean(axis=0).reshape(2, 3, 3)
    p, q = (np.bincount(GRADES[:, j]) / len(X) for j in (0, 1))
    interaction = [
        tables[0, a, b] - tables[0, a] @ q - p @ tables[0, :, b] + p @ tables[0] @ q
        for a in range(3)
        for b in range(3)
    ]
    expected = np.sqrt(np.outer(p, q).ravel() @ np.square(interaction))
    assert_allclose(couplings.strength[0], expected)


def test_scores_of_single_labels_change_no_coupling():
    fitted = single(graph=[(0, 1), (1, 2), (3, 4)]).fit(X, Y)
    before = edge_couplings(fitted, X, Y).strength
    fitted.cell_intercept_ = fitted.cell_intercept_ + np.array(
        [5, 5, 7, 7, 1, 3, 1, 3, -2, -1, -2, -1]  # per edge: (0,0), (0,1), (1,0), (1,1)
    )
    assert_allclose(edge_couplings(fitted, X, Y).strength, before, atol=1e-12)


@pytest.mark.needs_compiled
def test_couplings_take_frequencies_from_the_prediction_by_default():
    fitted = ensemble(3).fit(X, Y)
    expected = edge_couplings(fitted, X_new, fitted.predict(X_new))
    assert_array_equal(edge_couplings(fitted, X_new).strength, expected.strength)


def test_a_graph_without_edges_has_no_couplings():
    couplings = edge_couplings(single(graph="independent").fit(X, Y), X)
    assert couplings.edges.shape == (0, 2)
    assert couplings.strength.shape == (0,)


def test_frequencies_count_the_labels_that_are_on():
    always = np.ones((4, 1), dtype=int)
    labels = np.column_stack([always, 0 * always, [0, 1, 0, 0], [0, 2, 1, 0]])
    assert label_frequencies(labels).tolist() == [1.0, 0.0, 0.25, 0.5]
    assert label_frequencies(sparse.csr_array(labels)).tolist() == [1, 0, 0.25, 0.5]


def test_a_summary_is_what_the_training_examples_give():
    model = make_pipeline(
        StandardScaler(), MMCRFClassifier(kernel="linear", tol=0.1, random_state=0)
    ).fit(X, Y)
    assert training_couplings(model) is None
    assert training_frequencies(model) is None
    keep_summary(model, X, Y)
    for found, expected in zip(
        training_couplings(model), edge_couplings(model, X, Y), strict=True
    ):
        assert_array_equal(found, expected)
    assert_array_equal(training_frequencies(model), label_frequencies(Y))


@pytest.mark.parametrize("named", [False, True])
def test_a_model_with_a_kernel_knows_its_examples(named):
    examples = pd.DataFrame(X, columns=list("abcd")) if named else X
    model = MMCRFClassifier(kernel="rbf", tol=0.1, random_state=0).fit(examples, Y)
    expected = edge_couplings(model, examples)
    assert_allclose(training_couplings(model).strength, expected.strength)
    frequencies = label_frequencies(model.predict(examples))
    assert_array_equal(training_frequencies(model), frequencies)


def test_the_strongest_couplings_come_first_and_keep_their_edges():
    couplings = edge_couplings(single().fit(X, Y), X, Y)
    ordered = couplings.strongest(10)
    assert (np.diff(np.abs(ordered.strength)) <= 0).all()
    assert len(ordered.strength) == len(couplings.strength)
    strength = dict(zip(map(tuple, couplings.edges), couplings.strength, strict=True))
    for edge, value in zip(ordered.edges, ordered.strength, strict=True):
        assert strength[tuple(edge)] == value
    assert isinstance(couplings.strongest(1), Couplings)
    assert len(couplings.strongest(1).edges) == 1
