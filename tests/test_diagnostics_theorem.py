"""Theorem 1: both sides agree, and every term follows its definition."""

import numpy as np
import pandas as pd
import pytest
from ensembles import GRADES, X, X_new, Y, ensemble, scores_of
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from strategies import problems, random_graph, trials

from spanforest.diagnostics import (
    diversity_curve,
    edge_couplings,
    node_scores,
    reconstruction_gap,
)
from spanforest.diagnostics._models import FittedModel
from spanforest.inference import decode, score_labels

KINDS = {
    "linear": {},
    "rbf": {"kernel": "rbf"},
    "isolated labels": {"graph": "random_pairing"},
    "cycles": {"graph": [(0, 1), (1, 2), (0, 2)]},
}


def member_nodes(fitted, X, labels):
    """ψ_j of every member by the paper's sum over edges, (n_trees, n, n_labels)."""
    nodes = np.zeros((len(fitted.estimators_), *labels.shape))
    (basis,) = FittedModel(fitted).row_chunks(X)
    for t, member in enumerate(fitted.estimators_):
        factors = FittedModel(member).factors
        weights = (
            member.cell_coef_ if hasattr(member, "cell_coef_") else member.dual_coef_
        )
        scores = basis @ weights + member.cell_intercept_
        cells = factors.cells(labels)
        for f, ends in enumerate(factors.arrays.factor):
            psi = scores[np.arange(len(X)), cells[:, f]]
            if ends["second"] < 0:
                nodes[t, :, ends["first"]] += psi
            else:
                nodes[t, :, ends["first"]] += psi / 2
                nodes[t, :, ends["second"]] += psi / 2
    return nodes


@given(
    problem=problems(st.sampled_from([random_graph]), extra_unary=True), data=st.data()
)
@trials(50)
def test_node_scores_sum_to_the_score_of_the_labelling(problem, data):
    factors, scores = problem
    labels = np.column_stack(
        [
            data.draw(st.lists(st.integers(0, n - 1), min_size=3, max_size=3))
            for n in factors.n_values.tolist()
        ]
    )
    nodes = node_scores(factors, scores, labels)
    assert nodes.shape == labels.shape
    assert_allclose(nodes.sum(axis=1), score_labels(factors, scores, labels))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("labels", [Y, GRADES], ids=["binary", "three values"])
@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_of_theorem_1_agree(kind, labels):
    fitted = ensemble(**KINDS[kind]).fit(X, labels)
    terms = reconstruction_gap(fitted, X, labels)
    assert terms.gap > 0 or kind == "cycles"  # there all members share one graph
    assert_allclose(terms.gap, terms.variance, atol=1e-11 * terms.member_error)
    assert 0 <= terms.relative_gap <= 1


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kind", ["linear", "rbf", "isolated labels"])
def test_the_terms_follow_the_definitions_of_the_paper(kind):
    fitted = ensemble(**KINDS[kind]).fit(X, GRADES)
    labels = np.random.default_rng(0).integers(3, size=(len(X_new), 3))
    terms = reconstruction_gap(fitted, X_new, labels)

    nodes = member_nodes(fitted, X_new, labels)
    covariances = [np.cov(nodes[:, i].T, bias=True) for i in range(len(X_new))]
    variances = [np.trace(C) for C in covariances]
    assert_allclose(terms.diversity, np.mean(variances))
    off_diagonal = [C.sum() - np.trace(C) for C in covariances]
    assert_allclose(terms.coherence, np.mean(off_diagonal))

    best = decode(FittedModel(fitted).factors, scores_of(fitted, X_new)).score
    totals = nodes.sum(axis=2)
    assert_allclose(terms.member_error, np.mean((best - totals) ** 2))
    assert_allclose(terms.ensemble_error, np.mean((best - totals.mean(axis=0)) ** 2))


@pytest.mark.needs_compiled
def test_the_gap_does_not_depend_on_the_optimal_scores_but_the_errors_do():
    fitted = ensemble().fit(X, Y)
    by_default = reconstruction_gap(fitted, X, Y)
    other = reconstruction_gap(fitted, X, Y, target=np.arange(len(X)))
    assert_allclose(other.gap, by_default.gap)
    assert other[2:] == by_default[2:]
    assert other.ensemble_error != pytest.approx(by_default.ensemble_error)


@pytest.mark.needs_compiled
def test_the_ensemble_makes_no_error_where_its_prediction_is_the_truth():
    fitted = ensemble().fit(X, Y)
    terms = reconstruction_gap(fitted, X_new, fitted.predict(X_new))
    assert_allclose(terms.ensemble_error, 0, atol=1e-20)
    assert terms.member_error > 0


def test_one_member_has_neither_diversity_nor_coherence():
    terms = reconstruction_gap(ensemble(1).fit(X, Y), X, Y)
    assert terms[2:] == (0, 0)
    assert_allclose(terms.member_error, terms.ensemble_error)


def test_one_label_has_no_coherence():
    fitted = ensemble(3, graph="independent").fit(X, Y[:, 0])
    terms = reconstruction_gap(fitted, X, Y[:, 0])
    assert terms.coherence == 0
    assert_allclose(terms.gap, terms.diversity, atol=1e-12 * terms.member_error)


@pytest.mark.needs_compiled
def test_a_point_of_the_curve_is_the_ensemble_of_that_size():
    fitted = ensemble(6).fit(X, Y)
    target = np.linspace(-1, 1, len(X))
    curve = diversity_curve(fitted, X, Y, target)
    assert_array_equal(curve.n_trees, np.arange(1, 7))
    for size in (1, 3, 6):
        terms = reconstruction_gap(ensemble(size).fit(X, Y), X, Y, target)
        assert_allclose([term[size - 1] for term in curve], terms, atol=1e-12)
    assert_allclose(curve.gap, curve.variance, atol=1e-11)


@pytest.mark.needs_compiled
def test_variances_keep_their_digits_under_large_equal_scores():
    fitted = ensemble(graph="chow_liu", tol=0.5).fit(X, Y)
    before = reconstruction_gap(fitted, X, Y)
    for member in fitted.estimators_:
        member.cell_intercept_ = member.cell_intercept_ + 1e6
    after = reconstruction_gap(fitted, X, Y)
    assert before.diversity > 0
    assert_allclose(after[2:], before[2:], rtol=1e-5)


@pytest.mark.needs_compiled
def test_the_terms_of_blocks_of_examples_add_up(monkeypatch):
    fitted = ensemble().fit(X, Y)
    whole = diversity_curve(fitted, X, Y), reconstruction_gap(fitted, X, Y)
    monkeypatch.setattr("spanforest._classifier.CHUNK_CELLS", 300)
    assert_allclose(diversity_curve(fitted, X, Y), whole[0], atol=1e-12)
    assert_allclose(reconstruction_gap(fitted, X, Y), whole[1], atol=1e-12)


@pytest.mark.needs_compiled
def test_labels_may_come_in_any_form_and_order_of_columns():
    names = list("abcde")
    frame = pd.DataFrame(Y, columns=names)
    fitted = ensemble(3).fit(X, frame)
    expected = reconstruction_gap(fitted, X, Y)
    assert reconstruction_gap(fitted, X, frame[names[::-1]]) == expected
    assert reconstruction_gap(fitted, X, sparse.csr_array(Y)) == expected
    words = ensemble(3).fit(X, np.array(["no", "yes"])[Y])
    assert_allclose(reconstruction_gap(words, X, np.array(["no", "yes"])[Y]), expected)


@pytest.mark.needs_compiled
def test_models_and_labels_that_cannot_be_analysed_are_refused_with_a_reason():
    fitted = ensemble(2).fit(X, Y)
    with pytest.raises(TypeError, match="is needed; got LogisticRegression"):
        edge_couplings(LogisticRegression(), X)
    with pytest.raises(TypeError, match=r"Theorem 1 is about ensembles.*MMCRFClassif"):
        reconstruction_gap(fitted.estimators_[0], X, Y)
    with pytest.raises(ValueError, match="label 3 takes the value 2, which did not"):
        reconstruction_gap(fitted, X, np.where(np.arange(5) == 3, 2, Y))
    with pytest.raises(ValueError, match="must have the 5 labels of training; got 4"):
        reconstruction_gap(fitted, X, Y[:, 1:])
    with pytest.raises(ValueError, match="80 rows in X, 79 in Y and no target"):
        reconstruction_gap(fitted, X, Y[1:])
    with pytest.raises(ValueError, match="80 rows in X, 80 in Y and 3"):
        diversity_curve(fitted, X, Y, target=np.zeros(3))
