"""What models remember of their training, and measures of every single label."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import MMCRFClassifier
from spanforest.diagnostics import (
    Couplings,
    Positives,
    edge_couplings,
    keep_summary,
    label_frequencies,
    training_couplings,
    training_frequencies,
)

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = (X @ rng.normal(size=(3, 4)) + 0.3 > 0).astype(int)


def fitted(**params):
    return MMCRFClassifier(tol=0.1, random_state=0, **params).fit(X, Y)


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
    examples = pd.DataFrame(X, columns=list("abc")) if named else X
    model = MMCRFClassifier(kernel="rbf", tol=0.1, random_state=0).fit(examples, Y)
    expected = edge_couplings(model, examples)
    assert_allclose(training_couplings(model).strength, expected.strength)
    frequencies = label_frequencies(model.predict(examples))
    assert_array_equal(training_frequencies(model), frequencies)


def test_the_strongest_couplings_come_first_and_keep_their_edges():
    couplings = edge_couplings(fitted(), X, Y)
    ordered = couplings.strongest(10)
    assert (np.diff(np.abs(ordered.strength)) <= 0).all()
    assert len(ordered.strength) == len(couplings.strength)
    strength = dict(zip(map(tuple, couplings.edges), couplings.strength, strict=True))
    for edge, value in zip(ordered.edges, ordered.strength, strict=True):
        assert strength[tuple(edge)] == value
    assert isinstance(couplings.strongest(1), Couplings)
    assert len(couplings.strongest(1).edges) == 1


# --- measures


def predictions():
    return np.where(rng.random(Y.shape) < 0.2, 1 - Y, Y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_measures_are_those_of_scikit_learn(form):
    predicted = predictions()
    measures = Positives.of(form(Y), form(predicted)).measures()
    expected = precision_recall_fscore_support(Y, predicted, average=None)
    for found, values in zip(measures[:3], expected[:3], strict=True):
        assert_allclose(found, values)
    assert_allclose(measures.accuracy, (predicted == Y).mean(axis=0))
    assert_allclose(measures.frequency, Y.mean(axis=0))


@pytest.mark.parametrize("words", [("no", "yes"), (1, 2), (False, True), (-1, 1)])
def test_the_higher_of_two_values_is_on_whatever_they_are(words):
    predicted = predictions()
    expected = Positives.of(Y, predicted)
    found = Positives.of(np.array(words)[Y], np.array(words)[predicted])
    assert_array_equal(found.truth, expected.truth)
    assert_array_equal(found.predicted, expected.predicted)


def test_a_prediction_of_one_value_is_read_with_the_other_in_view():
    both = Positives.of([["no"], ["yes"]], [["yes"], ["yes"]])
    assert both.predicted.all()
    alone = Positives.of([["yes"]], [["yes"]], values=[["no", "yes"]])
    assert alone.truth.all()
    assert not Positives.of([["yes"]], [["yes"]]).truth.any()
    assert Positives.of([1, 1], [1, 1]).truth.all()


def test_measures_that_are_not_defined_are_nan():
    measures = Positives.of([[0, 1], [0, 1]], [[0, 0], [0, 0]]).measures()
    assert np.isnan(measures.precision).all()
    assert np.isnan(measures.recall).tolist() == [True, False]
    assert np.isnan(measures.f1).tolist() == [True, False]


def test_labels_of_three_values_and_other_shapes_are_refused():
    with pytest.raises(ValueError, match="label 1 has 3"):
        Positives.of([[0, 1], [1, 2]], [[0, 0], [0, 0]])
    with pytest.raises(ValueError, match=r"shapes \(2, 1\) and \(1, 1\)"):
        Positives.of([[0], [1]], [[0]])
