"""Probabilities of classifiers, for every form of examples and labels."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_predict
from small_data import (
    CALIBRATED,
    GRADES,
    PATH,
    STAR,
    X,
    X_new,
    Y,
    log_loss,
    new_calibrated,
)

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest._calibration_folds import RefittedMembers
from spanforest._training import Settings
from spanforest.aggregation import average_margins
from spanforest.branch_and_bound import decode_exactly
from spanforest.decisions import expected_f1_decisions
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.inference import decode


@pytest.fixture(params=CALIBRATED)
def classifier(request):
    return new_calibrated(request.param)


@pytest.mark.needs_compiled
def test_probabilities_come_one_per_label_and_are_good(classifier):
    P = classifier.fit(X, Y).predict_proba(X)
    assert P.shape == Y.shape
    assert np.all((P > 0) & (P < 1))
    frequencies = np.tile(Y.mean(axis=0), (len(Y), 1))
    assert log_loss(P, Y) < 0.7 * log_loss(frequencies, Y)


@pytest.mark.needs_compiled
def test_probabilities_change_neither_members_nor_predictions(classifier):
    classifier.set_params(kernel="linear")
    plain = clone(classifier).set_params(probability=False).fit(X, Y)
    classifier.fit(X, Y)
    assert_array_equal(classifier.cell_coef_, plain.cell_coef_)
    assert_array_equal(classifier.dual_objective_, plain.dual_objective_)
    assert_array_equal(classifier.predict(X_new), plain.predict(X_new))
    for member in getattr(classifier, "estimators_", []):
        assert not member.probability


@pytest.mark.needs_compiled
def test_probabilities_rank_examples_like_the_decision_function(classifier):
    P = classifier.fit(X, Y).predict_proba(X_new)
    decisions = classifier.decision_function(X_new)
    assert_array_equal(np.argsort(P, axis=0), np.argsort(decisions, axis=0))


def test_without_the_parameter_there_are_no_probabilities(classifier):
    classifier.set_params(probability=False).fit(X, Y)
    for method in ("predict_proba", "predict_for"):
        assert not hasattr(classifier, method)
        with pytest.raises(AttributeError) as caught:
            getattr(classifier, method)
        assert str(caught.value) == (
            f"{type(classifier).__name__} has no {method} with probability=False. Set "
            "probability=True and call 'fit' again."
        )
    classifier.set_params(probability=True)
    with pytest.raises(NotFittedError, match="was fitted with probability=False"):
        classifier.predict_proba(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clone(classifier).predict_proba(X)


@pytest.mark.needs_compiled
def test_the_margins_of_the_fit_are_kept_when_the_aggregation_changes():
    clf = RandomGraphEnsembleClassifier(
        3, tol=0.2, random_state=0, probability=True
    ).fit(X, Y)
    expected = clf.predict_proba(X_new)
    assert_array_equal(clf.set_params(aggregation="amm").predict_proba(X_new), expected)


@pytest.mark.needs_compiled
def test_votes_have_the_probabilities_of_average_margins():
    clf = RandomGraphEnsembleClassifier(3, tol=0.2, random_state=0, probability=True)
    mve, amm = (clone(clf).set_params(aggregation=a).fit(X, Y) for a in ("mve", "amm"))
    assert_array_equal(mve.predict_proba(X_new), amm.predict_proba(X_new))


@pytest.mark.needs_compiled
def test_a_refit_forgets_the_calibration(classifier):
    classifier.fit(X, Y).set_params(probability=False).fit(X, Y)
    fresh = clone(classifier).fit(X, Y)
    assert vars(classifier).keys() == vars(fresh).keys()


@pytest.mark.needs_compiled
def test_the_number_of_jobs_does_not_matter():
    clf = RandomGraphEnsembleClassifier(4, tol=0.2, random_state=0, probability=True)
    one, two = (clone(clf).set_params(n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert_array_equal(one.predict_proba(X_new), two.predict_proba(X_new))


@pytest.mark.needs_compiled
def test_equal_random_states_give_equal_probabilities(classifier):
    again = clone(classifier).fit(X, Y).predict_proba(X_new)
    assert_array_equal(classifier.fit(X, Y).predict_proba(X_new), again)


@pytest.mark.needs_compiled
def test_a_pickled_model_gives_the_same_probabilities(classifier):
    loaded = pickle.loads(pickle.dumps(classifier.fit(X, Y)))
    assert_array_equal(loaded.predict_proba(X_new), classifier.predict_proba(X_new))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, np.float32])
def test_sparse_and_single_precision_examples_give_nearly_the_same(classifier, form):
    classifier.set_params(tol=1e-3, max_iter=1000)
    plain = clone(classifier).fit(X, Y).predict_proba(X_new)
    probabilities = classifier.fit(form(X), Y).predict_proba(form(X_new))
    assert_allclose(probabilities, plain, atol=0.02)


@pytest.mark.needs_compiled
def test_a_precomputed_kernel_gives_the_same_as_its_name(classifier):
    K, K_new = rbf_kernel(X), rbf_kernel(X_new, X)
    classifier.set_params(scaling=None, tol=1e-3, max_iter=1000)
    named = clone(classifier).set_params(kernel="rbf", gamma=0.25).fit(X, Y)
    classifier.set_params(kernel="precomputed").fit(K, Y)
    probabilities = classifier.predict_proba(K_new)
    assert_allclose(probabilities, named.predict_proba(X_new), atol=0.02)


@pytest.mark.needs_compiled
def test_a_vector_gets_one_column_per_class(classifier):
    for labels in (Y[:, 0], np.array(["low", "mid", "top"])[GRADES[:, 0]]):
        P = classifier.fit(X, labels).predict_proba(X_new)
        assert P.shape == (len(X_new), len(classifier.classes_))
        assert_allclose(P.sum(axis=1), 1.0)
        most = classifier.classes_[P.argmax(axis=1)]
        assert_array_equal(most, classifier.predict_for(X_new))
        assert np.mean(most == classifier.predict(X_new)) > 0.9


@pytest.mark.needs_compiled
def test_labels_of_many_values_get_an_array_each(classifier):
    P = classifier.fit(X, GRADES).predict_proba(X_new)
    assert [part.shape for part in P] == [(25, 3), (25, 2)]
    for part in P:
        assert_allclose(part.sum(axis=1), 1.0)
    codes = np.column_stack([part.argmax(axis=1) for part in P])
    assert_array_equal(classifier.predict_for(X_new), codes)
    with pytest.raises(ValueError, match=r"label 0 has 3\. Use measure='hamming'"):
        classifier.predict_for(X_new, "f1")
    with pytest.raises(ValueError, match="a threshold is defined for labels with two"):
        classifier.predict_for(X_new, threshold=0.3)


@pytest.mark.needs_compiled
def test_labels_that_never_or_always_occur_are_certain(classifier):
    labels = np.column_stack([Y[:, 0], np.zeros(60, int), np.ones(60, int), Y[:, 1]])
    P = classifier.fit(X, labels).predict_proba(X_new)
    assert_array_equal(P[:, 1:3], np.tile([0.0, 1.0], (len(X_new), 1)))
    for measure in ("hamming", "f1"):
        predicted = classifier.predict_for(X_new, measure)
        assert_array_equal(predicted[:, 1:3], np.tile([0, 1], (len(X_new), 1)))


def test_one_example_per_class_is_enough(classifier):
    P = classifier.fit(np.eye(5), list("abcde")).predict_proba(np.eye(5))
    assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.needs_compiled
def test_decisions_are_those_of_the_probabilities(classifier):
    words = np.array(["no", "yes"])[Y]
    P = classifier.fit(X, words).predict_proba(X_new)
    assert_array_equal(classifier.predict_for(X_new) == "yes", P > 0.5)
    for_f1 = classifier.predict_for(X_new, measure="f1")
    assert_array_equal(for_f1 == "yes", expected_f1_decisions(P).astype(bool))
    by_threshold = classifier.predict_for(X_new, threshold=[0.1, 0.5, 0.9, 0.5])
    assert_array_equal(by_threshold == "yes", np.array([0.1, 0.5, 0.9, 0.5]) < P)
    with pytest.raises(ValueError, match="measure must be one of 'hamming', 'f1'; got"):
        classifier.predict_for(X_new, "accuracy")


@pytest.mark.needs_compiled
@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_graphs_with_cycles_give_probabilities_too(classifier, loss):
    square = [(0, 1), (1, 2), (2, 3), (0, 3)]
    classifier.set_params(graph=square, loss=loss, tol=0.05)
    P = classifier.fit(X, Y).predict_proba(X)
    assert log_loss(P, Y) < 0.5


def test_the_unit_of_a_margin_is_the_loss_of_one_wrong_label():
    parts = [FactorGraph(LabelGraph(4, edges), [2, 2, 3, 2]) for edges in (STAR, PATH)]
    for loss, units in {"edge": [2.0, 1.5, 1.5, 1.0], "hamming": [1.0] * 4}.items():
        how = Settings(C=1.0, loss=loss, fit_intercept=True, tol=0.01, max_iter=100)
        members = RefittedMembers(parts, how, average_margins)
        assert_allclose(members.margin_units, units)


CYCLES = LabelGraph(15, [(u, v) for u in range(15) for v in range(u)])


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", [None, "mam"])
def test_calibrated_margins_are_around_the_label_sets_that_are_predicted(
    aggregation, monkeypatch
):
    """On scores that message passing leaves open, with more than 16384 labellings."""
    where, model = "spanforest.mmcrf", MMCRFClassifier(probability=True)
    if aggregation is not None:
        where = "spanforest.ensemble"
        model = RandomGraphEnsembleClassifier(2, aggregation, probability=True)
    monkeypatch.setattr(f"{where}.calibrate", lambda data, members, *_: members)
    margins_of = model.fit(X, Y).calibration_.margins
    factors = FactorGraph(CYCLES, np.full(15, 2))
    scores = np.random.default_rng(0).normal(size=(6, factors.n_cells))
    assert not decode(factors, scores).proven.all()

    all_margins = margins_of([factors], [scores])

    best = decode_exactly(factors, scores)
    assert best.proven.all()
    for j, margins in enumerate(all_margins):
        assert (margins <= 1e-9).all()  # no value is better than the predicted one
        assert_array_equal(margins[np.arange(6), best.labels[:, j]], 0.0)


@pytest.mark.needs_compiled
def test_probabilities_can_be_cross_validated(classifier):
    P = cross_val_predict(classifier, X, Y, cv=3, method="predict_proba")
    assert P.shape == Y.shape


@pytest.mark.needs_compiled
def test_labels_that_were_not_observed_are_no_obstacle(classifier):
    labels = Y.astype(float)
    labels[::5, 1] = np.nan
    labels[1::7, 2] = np.nan
    P = classifier.fit(X, labels).predict_proba(X)
    assert log_loss(P, Y) < 0.5
