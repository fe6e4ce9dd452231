"""Theorem 1, couplings and explanations against their definitions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import problems, random_graph

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)
from spanforest.diagnostics import (
    Explanation,
    diversity_curve,
    edge_couplings,
    explain,
    final_step,
    graph_of,
    label_frequencies,
    node_scores,
    reconstruction_gap,
    relative_gaps,
)
from spanforest.diagnostics._models import FittedModel
from spanforest.inference import decode, label_margins, score_labels

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4))
Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(70, 5)) > 0).astype(int)
GRADES = np.digitize(X @ rng.normal(size=(4, 3)) + rng.normal(size=(70, 3)), [-1, 1])
X_new = rng.normal(size=(30, 4))


def ensemble(n_estimators=5, **params):
    defaults = {"random_state": 0, "tol": 0.05, "max_iter": 1000}
    return RandomGraphEnsembleClassifier(n_estimators, **{**defaults, **params})


def single(**params):
    return MMCRFClassifier(**{"random_state": 0, "tol": 0.05, **params})


KINDS = {
    "linear": {},
    "rbf": {"kernel": "rbf"},
    "isolated labels": {"graph": "random_pairing"},
    "cycles": {"graph": [(0, 1), (1, 2), (0, 2)]},
}


def scores_of(model, X):
    """Scores of all cells for examples that fit into one block."""
    fitted = FittedModel(model)
    (basis,) = fitted.bases(X)
    return fitted.scores(basis)


def member_nodes(fitted, X, labels):
    """ψ_j of every member by the paper's sum over edges, (n_trees, n, n_labels)."""
    nodes = np.zeros((len(fitted.estimators_), *labels.shape))
    (basis,) = FittedModel(fitted).bases(X)
    for t, member in enumerate(fitted.estimators_):
        factors = FittedModel(member).factors
        weights = member.coef_ if hasattr(member, "coef_") else member.dual_coef_
        scores = basis @ weights + member.intercept_
        cells = factors.cells(labels)
        for f, ends in enumerate(factors.arrays.factor):
            psi = scores[np.arange(len(X)), cells[:, f]]
            if ends["second"] < 0:
                nodes[t, :, ends["first"]] += psi
            else:
                nodes[t, :, ends["first"]] += psi / 2
                nodes[t, :, ends["second"]] += psi / 2
    return nodes


# --- Theorem 1 -----------------------------------------------------------------------


@given(
    problem=problems(st.sampled_from([random_graph]), extra_unary=True), data=st.data()
)
@settings(deadline=None, max_examples=50)
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


@pytest.mark.parametrize("labels", [Y, GRADES], ids=["binary", "three values"])
@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_of_theorem_1_agree(kind, labels):
    fitted = ensemble(**KINDS[kind]).fit(X, labels)
    terms = reconstruction_gap(fitted, X, labels)
    assert terms.gap > 0 or kind == "cycles"  # there all members share one graph
    assert_allclose(terms.gap, terms.variance, atol=1e-11 * terms.member_error)
    assert 0 <= terms.relative_gap <= 1


@pytest.mark.parametrize("kind", ["linear", "rbf", "isolated labels"])
def test_the_terms_follow_the_definitions_of_the_paper(kind):
    fitted = ensemble(**KINDS[kind]).fit(X, GRADES)
    labels = rng.integers(3, size=(30, 3))
    terms = reconstruction_gap(fitted, X_new, labels)

    nodes = member_nodes(fitted, X_new, labels)
    covariances = [np.cov(nodes[:, i].T, bias=True) for i in range(30)]
    variances = [np.trace(C) for C in covariances]
    assert_allclose(terms.diversity, np.mean(variances))
    off_diagonal = [C.sum() - np.trace(C) for C in covariances]
    assert_allclose(terms.coherence, np.mean(off_diagonal))

    best = decode(FittedModel(fitted).factors, scores_of(fitted, X_new)).score
    totals = nodes.sum(axis=2)
    assert_allclose(terms.member_error, np.mean((best - totals) ** 2))
    assert_allclose(terms.ensemble_error, np.mean((best - totals.mean(axis=0)) ** 2))


def test_the_gap_does_not_depend_on_the_optimal_scores_but_the_errors_do():
    fitted = ensemble().fit(X, Y)
    by_default = reconstruction_gap(fitted, X, Y)
    other = reconstruction_gap(fitted, X, Y, target=rng.normal(size=len(X)))
    assert_allclose(other.gap, by_default.gap)
    assert other[2:] == by_default[2:]
    assert other.ensemble_error != pytest.approx(by_default.ensemble_error)


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


def test_a_point_of_the_curve_is_the_ensemble_of_that_size():
    fitted = ensemble(6).fit(X, Y)
    target = rng.normal(size=len(X))
    curve = diversity_curve(fitted, X, Y, target)
    assert_array_equal(curve.n_trees, np.arange(1, 7))
    for size in (1, 3, 6):
        terms = reconstruction_gap(ensemble(size).fit(X, Y), X, Y, target)
        assert_allclose([term[size - 1] for term in curve], terms, atol=1e-12)
    assert_allclose(curve.gap, curve.variance, atol=1e-11)


def test_variances_keep_their_digits_under_large_equal_scores():
    fitted = ensemble(graph="chow_liu", tol=0.5).fit(X, Y)
    before = reconstruction_gap(fitted, X, Y)
    for member in fitted.estimators_:
        member.intercept_ = member.intercept_ + 1e6  # every edge of every member
    after = reconstruction_gap(fitted, X, Y)
    assert before.diversity > 0
    assert_allclose(after[2:], before[2:], rtol=1e-5)


def test_the_terms_of_blocks_of_examples_add_up(monkeypatch):
    fitted = ensemble().fit(X, Y)
    whole = diversity_curve(fitted, X, Y), reconstruction_gap(fitted, X, Y)
    monkeypatch.setattr("spanforest._classifier.CHUNK_CELLS", 300)
    assert_allclose(diversity_curve(fitted, X, Y), whole[0], atol=1e-12)
    assert_allclose(reconstruction_gap(fitted, X, Y), whole[1], atol=1e-12)


def test_labels_may_come_in_any_form_and_order_of_columns():
    names = list("abcde")
    frame = pd.DataFrame(Y, columns=names)
    fitted = ensemble(3).fit(X, frame)
    expected = reconstruction_gap(fitted, X, Y)
    assert reconstruction_gap(fitted, X, frame[names[::-1]]) == expected
    assert reconstruction_gap(fitted, X, sparse.csr_array(Y)) == expected
    words = ensemble(3).fit(X, np.array(["no", "yes"])[Y])
    assert_allclose(reconstruction_gap(words, X, np.array(["no", "yes"])[Y]), expected)


def test_models_inside_pipelines_and_searches_are_unwrapped():
    scaler = StandardScaler().fit(X)
    inner = ensemble(2)
    expected = reconstruction_gap(
        inner.fit(scaler.transform(X), Y), scaler.transform(X), Y
    )
    pipeline = make_pipeline(StandardScaler(), ensemble(2))
    search = GridSearchCV(pipeline, {"randomgraphensembleclassifier__C": [1.0]}, cv=2)
    assert_allclose(reconstruction_gap(search.fit(X, Y), X, Y), expected)


def test_a_self_tuned_ensemble_is_looked_at_through_its_best_estimator():
    grid = {"Cs": (1.0,), "kernels": "linear", "losses": "edge", "cv": 2}
    tuned = RandomGraphEnsembleClassifierCV(2, random_state=0, **grid).fit(X, Y)
    best = tuned.best_estimator_
    assert final_step(tuned)[0] is best
    assert final_step(make_pipeline(StandardScaler(), tuned))[0] is best
    assert reconstruction_gap(tuned, X, Y) == reconstruction_gap(best, X, Y)
    assert explain(tuned, X[0]) == explain(best, X[0])
    assert graph_of(tuned) == graph_of(best)
    assert_array_equal(relative_gaps(tuned), relative_gaps(best))
    for found, expected in zip(
        edge_couplings(tuned, X), edge_couplings(best, X), strict=True
    ):
        assert_array_equal(found, expected)


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
    with pytest.raises(ValueError, match="70 rows in X, 69 in Y and no target"):
        reconstruction_gap(fitted, X, Y[1:])
    with pytest.raises(ValueError, match="70 rows in X, 70 in Y and 3"):
        diversity_curve(fitted, X, Y, target=np.zeros(3))


# --- couplings -----------------------------------------------------------------------


def test_equal_labels_attract_and_opposite_ones_repel():
    coin = rng.integers(2, size=200)
    labels = np.column_stack([coin, coin, 1 - coin])
    noise = rng.normal(size=(200, 2))
    fitted = single(graph=[(0, 1), (1, 2)], C=0.1).fit(noise, labels)
    together, apart = edge_couplings(fitted, noise, labels).strength
    assert together > 0 > apart


@pytest.mark.parametrize("model", [single(), ensemble(3)], ids=["single", "ensemble"])
def test_couplings_of_binary_labels_are_interaction_times_deviations(model):
    fitted = model.fit(X, Y)
    factors = FittedModel(fitted).factors
    found = edge_couplings(fitted, X_new, Y)
    scores = scores_of(fitted, X_new)
    assert_array_equal(found.edges, factors.graph.edges)
    assert found.is_signed.all()
    for e, (u, v) in enumerate(found.edges):
        s00, s01, s10, s11 = scores[:, 4 * e : 4 * e + 4].T
        interaction = np.mean(s11 + s00 - s10 - s01)
        expected = interaction * Y[:, u].std() * Y[:, v].std()
        assert_allclose(found.strength[e], expected, atol=1e-12)


def test_couplings_of_many_values_are_deviations_of_the_interaction():
    fitted = single(graph=[(0, 1), (1, 2)]).fit(X, GRADES)
    found = edge_couplings(fitted, X_new, GRADES)
    assert not found.is_signed.any()
    tables = scores_of(fitted, X_new).mean(axis=0).reshape(2, 3, 3)
    p, q = (np.bincount(GRADES[:, j]) / len(X) for j in (0, 1))
    interaction = [
        tables[0, a, b] - tables[0, a] @ q - p @ tables[0, :, b] + p @ tables[0] @ q
        for a in range(3)
        for b in range(3)
    ]
    expected = np.sqrt(np.outer(p, q).ravel() @ np.square(interaction))
    assert_allclose(found.strength[0], expected)


def test_scores_of_single_labels_change_no_coupling():
    fitted = single(graph=[(0, 1), (1, 2), (3, 4)]).fit(X, Y)
    before = edge_couplings(fitted, X, Y).strength
    fitted.intercept_ = fitted.intercept_ + np.array(
        [5, 5, 7, 7, 1, 3, 1, 3, -2, -1, -2, -1]  # per edge: (0,0), (0,1), (1,0), (1,1)
    )
    assert_allclose(edge_couplings(fitted, X, Y).strength, before, atol=1e-12)


def test_couplings_take_frequencies_from_the_prediction_by_default():
    fitted = ensemble(3).fit(X, Y)
    expected = edge_couplings(fitted, X_new, fitted.predict(X_new))
    assert_array_equal(edge_couplings(fitted, X_new).strength, expected.strength)


def test_a_graph_without_edges_has_no_couplings():
    found = edge_couplings(single(graph="independent").fit(X, Y), X)
    assert found.edges.shape == (0, 2)
    assert found.strength.shape == (0,)


def test_frequencies_count_the_labels_that_are_on():
    always = np.ones((4, 1), dtype=int)
    labels = np.column_stack([always, 0 * always, [0, 1, 0, 0], [0, 2, 1, 0]])
    assert label_frequencies(labels).tolist() == [1.0, 0.0, 0.25, 0.5]
    assert label_frequencies(sparse.csr_array(labels)).tolist() == [1, 0, 0.25, 0.5]


# --- explanations --------------------------------------------------------------------


MODELS = {
    "tree": single(),
    "isolated labels": single(graph="random_pairing"),
    "cycles": single(graph=[(0, 1), (1, 2), (0, 2)]),
    "ensemble": ensemble(4),
    "rbf ensemble": ensemble(4, kernel="rbf"),
}


@pytest.mark.parametrize("labels", [Y, GRADES], ids=["binary", "three values"])
@pytest.mark.parametrize("name", MODELS)
def test_contributions_sum_to_the_difference_of_the_scores(name, labels):
    fitted = MODELS[name].fit(X, labels)
    factors = FittedModel(fitted).factors
    for x in X_new[:5]:
        explanation = explain(fitted, x)
        scores = scores_of(fitted, x[None])

        def total(labelling, scores=scores):
            return score_labels(factors, scores, [labelling])[0]

        predicted = fitted.predict(x[None])[0]
        assert [found.value for found in explanation.labels] == predicted.tolist()
        assert_allclose(explanation.score, total(predicted))
        for j, found in enumerate(explanation.labels):
            others = {
                value: total(np.where(np.arange(len(predicted)) == j, value, predicted))
                for value in range(labels.max() + 1)
                if value != found.value
            }
            assert others[found.alternative] == pytest.approx(max(others.values()))
            expected = total(predicted) - others[found.alternative]
            assert_allclose(found.margin, expected, atol=1e-12)
            changes = [one.difference for one in found.contributions]
            assert_allclose(sum(changes), expected, atol=1e-12)
            assert changes == sorted(changes, reverse=True)


def test_a_contribution_is_the_difference_of_the_scores_of_its_edge():
    fitted = single(graph=[(0, 1), (1, 2), (3, 4)]).fit(X, Y)
    a, b, c = fitted.predict(X_new[:1])[0, :3]
    tables = scores_of(fitted, X_new[:1]).reshape(3, 2, 2)
    middle = explain(fitted, X_new[0], label_names=list("abcde")).of("b")
    by_other = {one.other: one for one in middle.contributions}
    assert set(by_other) == {"a", "c"}
    left, right = tables[0], tables[1]
    assert_allclose(by_other["a"].difference, left[a, b] - left[a, 1 - b])
    assert_allclose(by_other["c"].difference, right[b, c] - right[1 - b, c])
    assert (by_other["a"].value, by_other["c"].value) == (a, c)


def test_a_label_without_edges_has_one_contribution_of_its_own():
    fitted = single(graph="independent").fit(X, Y)
    (own,) = explain(fitted, X_new[0]).labels[2].contributions
    assert (own.other, own.value) == (None, None)
    assert_allclose(own.difference, abs(fitted.decision_function(X_new[:1])[0, 2]))


def test_margins_of_an_ensemble_agree_with_its_decision_function():
    fitted = ensemble(6).fit(X, Y)
    assert not fitted.consensus_graph_.is_forest
    for i, row in enumerate(fitted.decision_function(X_new[:5])):
        margins = [found.margin for found in explain(fitted, X_new[i]).labels]
        assert_allclose(margins, np.abs(row), atol=1e-12)
    factors = FittedModel(fitted).factors
    margins = label_margins(factors, scores_of(fitted, X_new[:1]))
    assert_allclose(explain(fitted, X_new[0]).labels[0].margin, -margins[0].min())


def test_an_example_may_come_as_a_row_of_anything():
    frame = pd.DataFrame(X, columns=list("wxyz"))
    labels = pd.DataFrame(Y, columns=["sun", "rain", "wind", "snow", "fog"])
    fitted = single().fit(frame, labels)
    plain = single().fit(X, labels)
    expected = explain(plain, X[3])
    assert [one.label for one in expected.labels] == list(labels)
    for x in (X[3].tolist(), X[3:4]):
        assert explain(plain, x) == expected
    named = explain(fitted, frame.iloc[3])
    assert explain(fitted, frame.iloc[[3]]) == named
    for other in (named, explain(plain, sparse.csr_array(X)[[3]])):
        assert [(one.label, one.value) for one in other.labels] == [
            (one.label, one.value) for one in expected.labels
        ]
        margins = [one.margin for one in other.labels]
        assert_allclose(margins, [one.margin for one in expected.labels])
    with pytest.raises(ValueError, match=r"a single example; got 2. Pass one row"):
        explain(plain, X[:2])


def test_the_text_of_an_explanation_adds_up_and_counts_what_it_leaves_out():
    labels = pd.DataFrame(Y, columns=["sun", "rain", "wind", "snow", "fog"])
    fitted = ensemble(8).fit(X, labels)
    explanation = explain(fitted, X_new[0])
    found = explanation.of("rain")
    headline, *rows = found.describe(n_edges=1).splitlines()
    assert headline.startswith(f"rain = {found.value}, not {found.alternative}, by ")
    assert_allclose(sum(float(row.split()[0]) for row in rows), found.margin, atol=0.03)
    assert rows[-1].endswith(" more")
    text = explanation.describe(n_labels=2)
    assert text.endswith("\n3 more labels, decided by larger margins")
    assert "3 more labels" not in str(explanation)
    closest = min(explanation.labels, key=lambda one: one.margin)
    assert str(explanation).startswith(f"{closest.label} = ")
    with pytest.raises(
        KeyError, match="no label is called 'hail'; the labels are sun, rain"
    ):
        explanation.of("hail")


def test_a_label_with_one_value_has_no_alternative():
    constant = np.column_stack([Y[:, :2], np.ones(len(Y), dtype=int)])
    explanation = explain(single().fit(X, constant), X_new[0])
    assert explanation.labels[2].alternative is None
    assert "label2 = 1, the only value seen in training" in str(explanation)


def test_explanations_are_immutable_and_need_a_name_for_every_label():
    explanation = explain(single().fit(X, Y), X_new[0])
    assert isinstance(explanation, Explanation)
    with pytest.raises(AttributeError, match="cannot assign"):
        explanation.score = 0.0
    with pytest.raises(ValueError, match="must name the 5 labels; got 2 names"):
        explain(single().fit(X, Y), X_new[0], label_names=["a", "b"])
