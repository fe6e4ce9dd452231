"""Labels of every kind: predictions look like the labels of training."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from small_data import (
    CLASSIFIERS,
    GRADES,
    WORDS,
    X,
    X_new,
    Y,
    assert_same_model,
    names,
    new_classifier,
)

from spanforest.graphs import LabelGraph
from spanforest.metrics import microlabel_accuracy


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return new_classifier(request.param)


MIXED = list(zip(WORDS, GRADES, strict=True))


KINDS = {
    "ints": (Y, np.int64),
    "bytes": (Y.astype(np.uint8), np.uint8),
    "bools": (Y.astype(bool), bool),
    "floats": (Y.astype(float), float),
    "signs": (2 * Y - 1, np.int64),
    "lists": (Y.tolist(), np.int64),
    "csr": (sparse.csr_matrix(Y), np.int64),
    "csc": (sparse.csc_array(Y), np.int64),
    "frame": (names(Y), np.int64),
    "frame of bools": (names(Y.astype(bool)), bool),
    "codes": (3 * GRADES, np.int64),
    "strings": (WORDS, "<U3"),
    "objects": (WORDS.astype(object), object),
    "lists of strings": (WORDS.tolist(), "<U3"),
    "pandas strings": (names(WORDS).astype("string"), "<U3"),
    "pandas categories": (names(WORDS).astype("category"), "<U3"),
    "pandas integers": (names(GRADES).astype("Int64"), np.int64),
    "mixed columns": (pd.DataFrame({"a": WORDS[:, 0], "b": GRADES[:, 0]}), object),
    "mixed lists": ([[str(w[0]), int(g[0])] for w, g in MIXED], object),
    "vector": (Y[:, 0], np.int64),
    "classes": (5 * GRADES[:, 0], np.int64),
    "vector of strings": (WORDS[:, 0], "<U3"),
    "series": (pd.Series(WORDS[:, 0], dtype=object), object),
    "categories": (pd.Series(WORDS[:, 0], dtype="category"), object),
    "one column": (Y[:, :1], np.int64),
}


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_look_like_the_training_labels(classifier, kind):
    labels, dtype = KINDS[kind]
    table = labels.toarray() if sparse.issparse(labels) else labels
    table = np.asarray(table, dtype=object)
    predicted = classifier.fit(X, labels).predict(X_new)
    assert isinstance(
        predicted, sparse.csr_array if sparse.issparse(labels) else np.ndarray
    )
    assert predicted.dtype == dtype
    assert predicted.shape == (len(X_new), *table.shape[1:])
    seen = table.reshape(len(table), -1).T
    if sparse.issparse(predicted):
        predicted = predicted.toarray()
    for values, column in zip(seen, predicted.reshape(len(X_new), -1).T, strict=True):
        assert set(column.tolist()) <= set(values.tolist())
    assert classifier.score(X, labels) > 0.6


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kind", ["bools", "floats", "csr", "csc", "frame", "strings"])
def test_the_kind_of_labels_does_not_change_the_model(classifier, kind):
    plain = clone(classifier).fit(X, Y)
    assert_same_model(classifier.fit(X, KINDS[kind][0]), plain)


@pytest.mark.needs_compiled
def test_cross_val_predict_keeps_the_type_of_string_labels(classifier):
    predicted = cross_val_predict(classifier, X, WORDS, cv=3)
    assert predicted.shape == WORDS.shape
    assert microlabel_accuracy(WORDS, predicted) > 0.8


def test_decisions_on_many_classes_are_highest_at_the_prediction(classifier):
    classes = np.array(["low", "middle", "top"])[GRADES[:, 0]]
    decisions = classifier.fit(X, classes).decision_function(X_new)
    assert decisions.shape == (len(X_new), 3)
    highest = classifier.classes_[decisions.argmax(axis=1)]
    assert_array_equal(highest, classifier.predict(X_new))


def test_decisions_on_many_labels_of_many_values_are_refused(classifier):
    with pytest.raises(ValueError, match=r"two values; label 0 has 3\. Use predict"):
        classifier.fit(X, GRADES).decision_function(X_new)


# --- labels with names ---------------------------------------------------------------


@pytest.mark.needs_compiled
def test_a_data_frame_names_the_labels_of_a_networkx_graph(classifier):
    labels = names(Y)
    path = nx.Graph()
    nx.add_path(path, ["label 3", "label 1", "label 0", "label 2"])
    fitted = classifier.set_params(graph=path).fit(X, labels)
    assert fitted.label_names_.tolist() == labels.columns.tolist()
    graph = fitted.graph_ if hasattr(fitted, "graph_") else fitted.consensus_graph_
    assert graph == LabelGraph(4, [(3, 1), (1, 0), (0, 2)])
    plain = clone(classifier).set_params(graph=[(3, 1), (1, 0), (0, 2)]).fit(X, Y)
    assert_same_model(fitted, plain)
    assert plain.label_names_ is None


@pytest.mark.needs_compiled
def test_edges_may_name_the_labels_of_a_data_frame(classifier):
    frame = pd.DataFrame(Y, columns=list("abcd"))
    classifier.set_params(graph=[("a", "c"), ("d", "c")]).fit(X, frame)
    graph = getattr(classifier, "graph_", None) or classifier.graphs_[0]
    assert graph.edges.tolist() == [[0, 2], [2, 3]]


@pytest.mark.needs_compiled
def test_score_finds_the_labels_of_a_data_frame_by_name(classifier):
    frame = pd.DataFrame(Y, columns=list("abcd"))
    classifier.fit(X, frame)
    assert classifier.score(X, frame[list("dcba")]) == classifier.score(X, frame)
    with pytest.raises(ValueError, match="columns of y must be the labels"):
        classifier.score(X, frame[list("abc")])


def test_a_series_with_a_name_is_a_frame_of_one_column(classifier):
    series = pd.Series(Y[:, 0], name="a")
    for labels in (series, series.to_frame()):
        classifier.fit(X, labels)
        expected = classifier.score(X, Y[:, 0])
        assert classifier.score(X, series.to_frame()) == expected
        for same in (series, series.rename(None)):
            assert classifier.score(X, same) == expected
        for other in (series.rename("b"), series.rename("b").to_frame()):
            with pytest.raises(ValueError, match=r"labels of fit.*: 'a'; got 'b'"):
                classifier.score(X, other)


# --- few values, few examples --------------------------------------------------------


@pytest.mark.needs_compiled
def test_labels_that_never_or_always_occur_are_predicted_as_seen(classifier):
    labels = np.column_stack([Y[:, 0], np.zeros(60, int), np.ones(60, int), Y[:, 1]])
    predicted = classifier.fit(X, labels).predict(X_new)
    assert not predicted[:, 1].any()
    assert predicted[:, 2].all()
    assert_array_equal(classifier.classes_, np.arange(Y.shape[1]))
    decisions = classifier.decision_function(X_new)
    assert_array_equal(decisions[:, 1:3], np.tile([-1.0, 1.0], (len(X_new), 1)))


@pytest.mark.parametrize("labels", [np.zeros((60, 3), int), np.full(60, "only")])
def test_constant_labels_are_predicted_with_a_gap_of_zero(classifier, labels):
    predicted = classifier.fit(X, labels).predict(X_new)
    assert_array_equal(predicted, labels[: len(X_new)])
    assert not np.any(classifier.duality_gap_)


def test_after_training_on_one_example_its_labels_are_predicted(classifier):
    labels = Y[:1]
    predicted = classifier.fit(X[:1], labels).predict(X_new)
    assert_array_equal(predicted, np.repeat(labels, len(X_new), axis=0))


def test_one_example_per_class_is_enough(classifier):
    classes = np.array(["a", "b", "c", "d", "e"])
    predicted = classifier.set_params(C=100).fit(np.eye(5), classes).predict(np.eye(5))
    assert_array_equal(predicted, classes)


def test_labels_of_another_name_are_compared_with_those_of_fit(classifier):
    names = [f"label {j}" for j in range(Y.shape[1])]
    fitted = classifier.fit(X, pd.DataFrame(Y, columns=names))
    other = pd.DataFrame(Y, columns=["labl 0", *names[1:]])
    with pytest.raises(ValueError, match=r"Did you mean 'label 0'\?"):
        fitted.score(X, other)
