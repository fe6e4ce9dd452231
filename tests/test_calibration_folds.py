"""Margins of held-out examples, on which probabilities are calibrated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from small_data import CALIBRATED, PATH, STAR, X, X_new, Y, new_calibrated

from spanforest import RandomGraphEnsembleClassifier
from spanforest._calibration_folds import RefittedMembers, margins_of_fold
from spanforest._inputs import Features, KernelMatrix
from spanforest._parallel import Workers
from spanforest._training import TrainingSet
from spanforest.aggregation import average_margins, consensus_margins


@pytest.fixture(params=CALIBRATED)
def classifier(request):
    return new_calibrated(request.param)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_examples_are_enough(classifier, n):
    P = classifier.fit(X[:n], Y[:n]).predict_proba(X_new)
    assert P.shape == (len(X_new), 4)
    assert np.all((P >= 0) & (P <= 1))


@pytest.mark.needs_compiled
def test_a_label_on_once_is_held_out_once(classifier):
    labels = Y.copy()
    labels[:, 2] = np.arange(60) == 7
    P = classifier.fit(X, labels).predict_proba(X_new)
    assert 0 < P[:, 2].mean() < 0.2


@pytest.mark.needs_compiled
def test_the_calibration_of_some_members_holds_for_all_of_them():
    """Label 0 has larger margins in the first ten members, by its degree of 3."""
    clf = RandomGraphEnsembleClassifier(
        10, "amm", [STAR] * 10, tol=0.05, random_state=0, probability=True
    )
    first = clone(clf).fit(X, Y).calibration_
    clf.set_params(n_estimators=30, graph=[STAR] * 10 + [PATH] * 20)
    every = clf.fit(X, Y).calibration_
    assert_allclose(every.slopes[0] / first.slopes[0], 3 / (5 / 3), rtol=0.2)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", ["amm", "mam"])
@pytest.mark.parametrize("is_kernel", [False, True])
def test_held_out_margins_are_those_of_a_model_of_the_other_examples(
    aggregation, is_kernel
):
    graphs, held_out = [STAR, PATH], np.arange(60) % 4 == 1
    model = RandomGraphEnsembleClassifier(
        2, aggregation, graphs, kernel="rbf" if is_kernel else "linear", tol=1e-5
    )
    model.set_params(scaling=None, max_iter=5000, random_state=0).fit(
        X[~held_out], Y[~held_out]
    )
    how = RefittedMembers(
        model._member_factors,
        model._settings(),
        consensus_margins if aggregation == "mam" else average_margins,
    )
    basis = (
        KernelMatrix(rbf_kernel(X, gamma=model.gamma_)) if is_kernel else Features(X)
    )
    data = TrainingSet(basis, Y.astype(np.int32))
    margins = margins_of_fold(data, held_out, how, np.random.SeedSequence(1))
    differences = np.column_stack([m[:, 1] - m[:, 0] for m in margins])
    expected = model.decision_function(X[held_out])
    assert_allclose(differences, expected, atol=0.05 * np.abs(expected).max())


def test_folds_are_sent_no_second_copy_of_the_kernel(monkeypatch):
    sent, run = {}, Workers.run

    def watched(workers, function, calls, what):
        sent[what] = [data.basis for data, *_ in calls]
        return run(workers, function, calls, what)

    monkeypatch.setattr(Workers, "run", watched)
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = RandomGraphEnsembleClassifier(
        2, kernel="rbf", tol=0.1, probability=True, random_state=0
    )
    model.fit(X, (X[:, :2] > 0).astype(int))
    assert all(basis.single is not None for basis in sent["other members"])
    assert all(basis.single is None for basis in sent["calibration folds"])
