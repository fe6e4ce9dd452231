"""Explanations: contributions add up to differences of scores."""

import numpy as np
import pandas as pd
import pytest
from ensembles import GRADES, X, X_new, Y, ensemble, scores_of, single
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from spanforest import MMCRFClassifier
from spanforest.diagnostics import (
    Explanation,
    explain,
)
from spanforest.diagnostics._models import FittedModel
from spanforest.inference import label_margins, score_labels
from spanforest.kernels import ForestKernel

MODELS = {
    "tree": single(),
    "isolated labels": single(graph="random_pairing"),
    "cycles": single(graph=[(0, 1), (1, 2), (0, 2)]),
    "ensemble": ensemble(4),
    "rbf ensemble": ensemble(4, kernel="rbf"),
}


@pytest.mark.needs_compiled
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
        assert [label.value for label in explanation.labels] == predicted.tolist()
        assert_allclose(explanation.score, total(predicted))
        for j, label in enumerate(explanation.labels):
            others = {
                value: total(np.where(np.arange(len(predicted)) == j, value, predicted))
                for value in range(labels.max() + 1)
                if value != label.value
            }
            assert others[label.alternative] == pytest.approx(max(others.values()))
            expected = total(predicted) - others[label.alternative]
            assert_allclose(label.margin, expected, atol=1e-12)
            changes = [one.difference for one in label.contributions]
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


@pytest.mark.needs_compiled
def test_margins_of_an_ensemble_agree_with_its_decision_function():
    fitted = ensemble(6).fit(X, Y)
    assert not fitted.consensus_graph_.is_forest
    for i, row in enumerate(fitted.decision_function(X_new[:5])):
        margins = [label.margin for label in explain(fitted, X_new[i]).labels]
        assert_allclose(margins, np.abs(row), atol=1e-12)
    factors = FittedModel(fitted).factors
    margins = label_margins(factors, scores_of(fitted, X_new[:1]))
    assert_allclose(explain(fitted, X_new[0]).labels[0].margin, -margins[0].min())


@pytest.mark.needs_compiled
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


@pytest.mark.needs_compiled
def test_the_text_of_an_explanation_adds_up_and_counts_what_it_leaves_out():
    labels = pd.DataFrame(Y, columns=["sun", "rain", "wind", "snow", "fog"])
    fitted = ensemble(8).fit(X, labels)
    explanation = explain(fitted, X_new[0])
    label = explanation.of("rain")
    headline, *rows = label.describe(n_edges=1, n_features=0).splitlines()
    assert headline.startswith(f"rain = {label.value}, not {label.alternative}, by ")
    assert_allclose(sum(float(row.split()[0]) for row in rows), label.margin, atol=0.03)
    assert rows[-1].endswith(" more")
    text = explanation.describe(n_labels=2)
    assert text.endswith("\n3 more labels, decided by larger margins")
    one = explanation.describe(n_labels=4)
    assert one.endswith("\n1 more label, decided by a larger margin")
    assert "3 more labels" not in str(explanation)
    closest = min(explanation.labels, key=lambda one: one.margin)
    assert str(explanation).startswith(f"{closest.label} = ")
    with pytest.raises(
        KeyError, match="no label is called 'hail'; the labels are 'sun', 'rain'"
    ):
        explanation.of("hail")


@pytest.mark.parametrize("aggregation", ["amm", "mve"])
def test_an_explanation_says_if_labels_are_decided_on_one_by_one(aggregation):
    model = ensemble(2).fit(X, Y)
    plain = str(explain(model, X_new[0]))
    model.set_params(aggregation=aggregation)
    note, *lines = str(explain(model, X_new[0])).splitlines()
    assert "decides on each label by itself" in note
    assert plain == "\n".join(lines)


def test_an_explanation_says_if_labels_are_predicted_by_a_threshold():
    model = ensemble(2, probability=True).fit(X, Y)
    plain = str(explain(model, X_new[0]))
    assert "threshold" not in plain
    model.set_params(threshold=0.2)
    note, *lines = str(explain(model, X_new[0])).splitlines()
    assert "every label whose probability is above a threshold" in note
    assert lines == plain.splitlines()


def test_a_label_with_one_value_has_no_alternative():
    constant = np.column_stack([Y[:, :2], np.ones(len(Y), dtype=int)])
    explanation = explain(single().fit(X, constant), X_new[0])
    assert explanation.labels[2].alternative is None
    assert "label2 = 1, the only value seen in training" in str(explanation)


@pytest.mark.needs_compiled
def test_explanations_are_immutable_and_need_a_name_for_every_label():
    explanation = explain(single().fit(X, Y), X_new[0])
    assert isinstance(explanation, Explanation)
    with pytest.raises(AttributeError, match="cannot assign"):
        explanation.score = 0.0
    with pytest.raises(ValueError, match="must name the 5 labels; got 2 names"):
        explain(single().fit(X, Y), X_new[0], label_names=["a", "b"])


FEATURES = {
    "linear": {},
    "linear, not scaled": {"scaling": None},
    "linear, unit length": {"normalize_kernel": True},
    "cosine": {"kernel": "cosine"},
    "forest": {"kernel": ForestKernel(5)},
}


@pytest.mark.parametrize("labels", [Y, GRADES], ids=["binary", "three values"])
@pytest.mark.parametrize("name", FEATURES)
def test_features_and_the_constant_sum_to_the_margin(name, labels):
    fitted = ensemble(2, **FEATURES[name]).fit(X, labels)
    for x in (X_new[0], sparse.csr_array(X_new[:1])):
        for label in explain(fitted, x).labels:
            parts = [one.difference for one in label.features]
            assert parts == sorted(parts, reverse=True)
            assert label.constant + sum(parts) == pytest.approx(label.margin)
            assert {one.feature for one in label.features} <= {"x0", "x1", "x2", "x3"}


def test_with_a_linear_kernel_features_at_their_centre_have_no_part():
    fitted = single(graph="independent", kernel="linear", scaling="standard").fit(X, Y)
    centre = X.mean(axis=0)
    for label in explain(fitted, centre).labels:
        assert_allclose([one.difference for one in label.features], 0, atol=1e-12)
    moved = explain(fitted, centre + np.eye(4)[1]).labels[0]
    parts = {one.feature: one.difference for one in moved.features}
    sign = 1 if moved.value else -1
    assert_allclose(parts["x1"], sign * fitted.coef_[0, 1])


def test_kernels_that_compare_whole_examples_have_no_features():
    fitted = single(kernel="rbf").fit(X, Y)
    assert {one.features for one in explain(fitted, X_new[0]).labels} == {None}


def test_features_have_the_names_and_values_of_the_caller():
    frame = pd.DataFrame(X, columns=list("wxyz"))
    fitted = single(kernel="linear").fit(frame, Y)
    features = explain(fitted, frame.iloc[3]).labels[0].features
    assert {one.feature: one.value for one in features} == frame.iloc[3].to_dict()
    named = explain(
        single(kernel="linear").fit(X, Y), X[3], feature_names=list("abcd")
    ).labels[0]
    assert {one.feature for one in named.features} == set("abcd")
    with pytest.raises(ValueError, match="name the 4 features; got 2"):
        explain(single(kernel="linear").fit(X, Y), X[3], feature_names=["a", "b"])


def test_the_text_about_features_adds_up_too():
    label = explain(ensemble(3).fit(X, Y), X_new[0]).labels[0]
    text = label.describe(n_features=1).split("  the same by features:\n")[1]
    rows = [row.split(maxsplit=1) for row in text.splitlines()]
    assert_allclose(sum(float(row[0]) for row in rows), label.margin, atol=0.03)
    assert rows[-1][1] == "constant"
    assert any(cause.endswith(" more") for _, cause in rows)


def test_a_label_of_one_value_has_no_features():
    never = np.column_stack([Y, np.zeros(len(Y))])
    fitted = single(kernel="linear").fit(X, never)
    assert explain(fitted, X_new[0]).labels[-1].features is None


@pytest.mark.parametrize(
    "form", [lambda text: text, lambda text: [text], lambda text: pd.Series([text])]
)
def test_a_text_is_explained_by_its_words(form):
    texts = ["sun and sea", "snow and ice", "sun", "ice and sea"] * 3
    Y = [["sun" in text, "ice" in text] for text in texts]
    classifier = MMCRFClassifier(kernel="linear", C=10, random_state=0)
    model = make_pipeline(TfidfVectorizer(), classifier).fit(texts, np.array(Y) * 1)
    label = explain(model, form("sun and sea"), label_names=["warm", "cold"]).of("warm")
    words = {one.feature: one for one in label.features}
    assert {"ice", "sun"} <= set(words) <= {"and", "ice", "sea", "snow", "sun"}
    assert words["sun"].difference > 0
    assert words["sun"].value > 0 == words["ice"].value


def test_several_texts_are_refused():
    texts = ["rain and wind", "sun all day"] * 40
    model = make_pipeline(TfidfVectorizer(), ensemble(2)).fit(texts, Y)
    explain(model, texts[:1])
    with pytest.raises(ValueError, match=r"a single example; got 80 texts\. Pass"):
        explain(model, texts)


def test_a_label_that_is_nearly_right_is_suggested():
    labels = pd.DataFrame(Y, columns=["sun", "rain", "wind", "snow", "fog"])
    explanation = explain(ensemble(2).fit(X, labels), X_new[0])
    with pytest.raises(KeyError, match=r"Did you mean 'rain'\?"):
        explanation.of("rian")
