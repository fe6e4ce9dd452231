"""Probabilities: the map from margins, and the estimators that fit it."""

import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_predict
from strategies import seeds

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest._calibration_folds import RefittedMembers, margins_of_fold
from spanforest._inputs import Features, KernelMatrix
from spanforest._parallel import Workers
from spanforest._training import Settings, TrainingSet
from spanforest.aggregation import average_margins, consensus_margins
from spanforest.branch_and_bound import decode_exactly
from spanforest.calibration import Calibration, fit_calibration
from spanforest.decisions import expected_f1_decisions
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.inference import decode

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="as plain Python these models would take minutes",
)


def two_sided(differences):
    """Margins of labels with two values, from their differences (n, n_labels)."""
    return [np.column_stack([0 * z, z]) for z in np.asarray(differences, float).T]


def drawn(slopes, biases, n, seed):
    """Margin differences, and labels that are on with the given sigmoids."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, len(slopes)))
    return z, (rng.random(z.shape) < expit(z * slopes + biases)).astype(int)


def log_loss(P, Y):
    return -np.log(np.where(Y, P, 1 - P)).mean()


def shares_on(calibration, z):
    return np.column_stack([p[:, 1] for p in calibration.probabilities(two_sided(z))])


# --- from margins to probabilities ----------------------------------------------------


def test_true_sigmoids_are_recovered_from_many_examples():
    slopes, biases = np.array([0.5, 2.0, 4.0]), np.array([-1.0, 0.0, 2.0])
    z, Y = drawn(slopes, biases, 20_000, seed=0)
    calibration = fit_calibration(two_sided(z), Y)
    assert_allclose(calibration.slopes, slopes, rtol=0.06)
    assert_allclose([b[1] for b in calibration.biases], biases, atol=0.1)
    assert all(b[0] == 0 for b in calibration.biases)


def test_a_true_softmax_is_recovered_from_many_examples():
    rng = np.random.default_rng(0)
    margins, bias = rng.normal(size=(20_000, 4)), np.array([0.0, 1.0, -1.0, 0.5])
    noise = rng.gumbel(size=margins.shape)
    codes = np.argmax(2.0 * margins + bias + noise, axis=1)
    calibration = fit_calibration([margins], codes[:, None])
    assert_allclose(calibration.slopes, [2.0], rtol=0.05)
    assert_allclose(calibration.biases[0], bias, atol=0.1)


def test_one_label_alone_is_calibrated_as_by_platt():
    z, Y = drawn([1.5], [-2.0], 80, seed=1)
    n_on, n_off = Y.sum(), len(Y) - Y.sum()
    targets = np.where(Y[:, 0], (n_on + 1) / (n_on + 2), 1 / (n_off + 2))

    def cost(params):
        logits = log_softmax(
            np.column_stack([0 * z, z * params[0] + params[1]]), axis=1
        )
        return -np.sum(targets * logits[:, 1] + (1 - targets) * logits[:, 0])

    platt = minimize(cost, [0.0, 0.0], tol=1e-10).x
    calibration = fit_calibration(two_sided(z), Y)
    assert_allclose([calibration.slopes[0], calibration.biases[0][1]], platt, rtol=2e-2)


@given(seeds)
@settings(deadline=None, max_examples=5)
def test_rare_labels_gain_from_the_other_labels(seed):
    rng = np.random.default_rng(seed)
    n_labels = 20
    slopes, biases = rng.normal(2.0, 0.3, n_labels), rng.normal(-4.0, 0.3, n_labels)
    z, Y = drawn(slopes, biases, 60, seed)
    z_new, Y_new = drawn(slopes, biases, 2000, seed + 1)
    together = shares_on(fit_calibration(two_sided(z), Y), z_new)
    alone = [
        shares_on(fit_calibration(two_sided(z[:, [j]]), Y[:, [j]]), z_new[:, [j]])
        for j in range(n_labels)
    ]
    assert log_loss(together, Y_new) < log_loss(np.hstack(alone), Y_new)


@given(seeds, st.integers(2, 6))
@settings(deadline=None, max_examples=20)
def test_probabilities_sum_to_one_and_grow_with_the_margin(seed, n):
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 3, 4]
    codes = np.column_stack([rng.integers(0, size, n) for size in sizes])
    scale = 10.0 ** rng.integers(-6, 7)
    calibration = fit_calibration(
        [scale * rng.normal(size=(n, s)) for s in sizes], codes
    )
    assert np.all(calibration.slopes >= 0)
    new = [scale * rng.normal(size=(20, size)) for size in sizes]
    before = calibration.probabilities(new)
    for P in before:
        assert_allclose(P.sum(axis=1), 1.0)
        assert np.all(P >= 0)
    assert_array_equal(before[0], np.ones((20, 1)))
    after = calibration.probabilities([z + scale * np.eye(z.shape[1])[-1] for z in new])
    for j, size in enumerate(sizes):
        assert np.all(after[j][:, -1] >= before[j][:, -1] - 1e-15), size


@given(seeds, st.floats(1e-6, 1e6))
@settings(deadline=None, max_examples=10)
def test_multiplying_all_margins_by_a_number_does_not_change_probabilities(seed, unit):
    z, Y = drawn([1.0, 3.0], [0.0, -1.0], 50, seed)
    plain, scaled = (fit_calibration(two_sided(s * z), Y) for s in (1.0, unit))
    assert_allclose(shares_on(scaled, unit * z), shares_on(plain, z), atol=1e-5)
    stretched = plain.for_margins_of([unit, unit])
    assert_allclose(shares_on(stretched, unit * z), shares_on(plain, z), atol=1e-9)


def test_adding_a_number_to_all_margins_of_an_example_changes_nothing():
    rng = np.random.default_rng(0)
    margins, codes = rng.normal(size=(50, 3)), rng.integers(0, 3, size=(50, 1))
    shifted = margins + rng.normal(size=(50, 1))
    plain, moved = fit_calibration([margins], codes), fit_calibration([shifted], codes)
    assert_allclose(moved.probabilities([shifted]), plain.probabilities([margins]))


def test_margins_that_separate_the_labels_give_finite_slopes():
    z = np.linspace(-1, 1, 40)[:, None]
    calibration = fit_calibration(two_sided(z), z > 0)
    assert np.isfinite(calibration.slopes).all()
    P = shares_on(calibration, z)
    assert np.all((P > 0) & (P < 1))
    assert_array_equal(P > 0.5, z > 0)


@pytest.mark.parametrize("biases", [False, True])
def test_misleading_margins_never_get_a_negative_slope(biases):
    z, Y = drawn([3.0, 2.0], [0.0, 0.0], 200, seed=0)
    z[:, 0] *= -1
    calibration = fit_calibration(two_sided(z), Y, biases=biases)
    assert calibration.slopes[0] >= 0
    assert calibration.slopes[1] > 1


def test_margins_without_information_give_the_frequencies():
    Y = np.repeat([[1, 0, 0, 0]], 250, axis=0).reshape(-1, 1)
    calibration = fit_calibration(two_sided(np.zeros((1000, 1))), Y)
    assert_allclose(shares_on(calibration, [[0.0]]), 0.25, atol=0.01)


def test_without_biases_the_most_probable_value_has_the_highest_margin():
    rng = np.random.default_rng(0)
    margins = rng.normal(size=(100, 3))
    codes = np.minimum(rng.integers(0, 9, size=(100, 1)), 2)
    calibration = fit_calibration([margins], codes, biases=False)
    (P,) = calibration.probabilities([margins])
    assert_array_equal(P.argmax(axis=1), margins.argmax(axis=1))


def test_labels_that_were_not_observed_do_not_count():
    z, Y = drawn([1.0, 2.0], [0.0, -1.0], 60, seed=0)
    hidden = Y.copy()
    hidden[::3, 1] = -1
    z_other = z.copy()
    z_other[::3, 1] += 100.0
    one, other = (fit_calibration(two_sided(z), hidden) for z in (z, z_other))
    assert_array_equal(one.slopes, other.slopes)
    assert_array_equal(np.concatenate(one.biases), np.concatenate(other.biases))


def test_labels_with_one_value_need_no_evidence():
    calibration = fit_calibration([np.zeros((0, 1))] * 2, np.zeros((0, 2)))
    (P, _) = calibration.probabilities([np.zeros((3, 1))] * 2)
    assert_array_equal(P, np.ones((3, 1)))


def test_margins_of_another_number_of_labels_are_refused():
    calibration = Calibration(np.ones(2), [np.zeros(2)] * 2)
    with pytest.raises(ValueError, match="shorter"):
        calibration.probabilities([np.zeros((3, 2))])


# --- the estimators -------------------------------------------------------------------

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = (X @ rng.normal(size=(4, 4)) + 0.5 * rng.normal(size=(60, 4)) > 0).astype(int)
X_new = rng.normal(size=(25, 4))
GRADES = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), np.digitize(X[:, 1], [0])])


@pytest.fixture(params=["one graph", "mam", "amm"])
def classifier(request):
    """An unfitted classifier with probabilities."""
    common = {"tol": 0.2, "random_state": 0, "probability": True}
    if request.param == "one graph":
        return MMCRFClassifier(**common)
    return RandomGraphEnsembleClassifier(2, aggregation=request.param, **common)


def test_probabilities_come_one_per_label_and_are_good(classifier):
    P = classifier.fit(X, Y).predict_proba(X)
    assert P.shape == Y.shape
    assert np.all((P > 0) & (P < 1))
    frequencies = np.tile(Y.mean(axis=0), (len(Y), 1))
    assert log_loss(P, Y) < 0.7 * log_loss(frequencies, Y)


def test_probabilities_change_neither_members_nor_predictions(classifier):
    classifier.set_params(kernel="linear")
    plain = clone(classifier).set_params(probability=False).fit(X, Y)
    classifier.fit(X, Y)
    assert_array_equal(classifier.coef_, plain.coef_)
    assert_array_equal(classifier.dual_objective_, plain.dual_objective_)
    assert_array_equal(classifier.predict(X_new), plain.predict(X_new))
    for member in getattr(classifier, "estimators_", []):
        assert not member.probability


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


def test_the_margins_of_the_fit_are_kept_when_the_aggregation_changes():
    clf = RandomGraphEnsembleClassifier(
        3, tol=0.2, random_state=0, probability=True
    ).fit(X, Y)
    expected = clf.predict_proba(X_new)
    assert_array_equal(clf.set_params(aggregation="amm").predict_proba(X_new), expected)


def test_votes_have_the_probabilities_of_average_margins():
    clf = RandomGraphEnsembleClassifier(3, tol=0.2, random_state=0, probability=True)
    mve, amm = (clone(clf).set_params(aggregation=a).fit(X, Y) for a in ("mve", "amm"))
    assert_array_equal(mve.predict_proba(X_new), amm.predict_proba(X_new))


def test_a_refit_forgets_the_calibration(classifier):
    classifier.fit(X, Y).set_params(probability=False).fit(X, Y)
    fresh = clone(classifier).fit(X, Y)
    assert vars(classifier).keys() == vars(fresh).keys()


def test_the_number_of_jobs_does_not_matter():
    clf = RandomGraphEnsembleClassifier(4, tol=0.2, random_state=0, probability=True)
    one, two = (clone(clf).set_params(n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert_array_equal(one.predict_proba(X_new), two.predict_proba(X_new))


def test_equal_random_states_give_equal_probabilities(classifier):
    again = clone(classifier).fit(X, Y).predict_proba(X_new)
    assert_array_equal(classifier.fit(X, Y).predict_proba(X_new), again)


def test_a_pickled_model_gives_the_same_probabilities(classifier):
    loaded = pickle.loads(pickle.dumps(classifier.fit(X, Y)))
    assert_array_equal(loaded.predict_proba(X_new), classifier.predict_proba(X_new))


@compiled_only
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, np.float32])
def test_sparse_and_single_precision_examples_give_nearly_the_same(classifier, form):
    classifier.set_params(tol=1e-3, max_iter=1000)
    plain = clone(classifier).fit(X, Y).predict_proba(X_new)
    probabilities = classifier.fit(form(X), Y).predict_proba(form(X_new))
    assert_allclose(probabilities, plain, atol=0.02)


@compiled_only
def test_a_precomputed_kernel_gives_the_same_as_its_name(classifier):
    K, K_new = rbf_kernel(X), rbf_kernel(X_new, X)
    classifier.set_params(scaling=None, tol=1e-3, max_iter=1000)
    named = clone(classifier).set_params(kernel="rbf", gamma=0.25).fit(X, Y)
    classifier.set_params(kernel="precomputed").fit(K, Y)
    probabilities = classifier.predict_proba(K_new)
    assert_allclose(probabilities, named.predict_proba(X_new), atol=0.02)


def test_a_vector_gets_one_column_per_class(classifier):
    for labels in (Y[:, 0], np.array(["low", "mid", "top"])[GRADES[:, 0]]):
        P = classifier.fit(X, labels).predict_proba(X_new)
        assert P.shape == (len(X_new), len(classifier.classes_))
        assert_allclose(P.sum(axis=1), 1.0)
        most = classifier.classes_[P.argmax(axis=1)]
        assert_array_equal(most, classifier.predict_for(X_new))
        assert np.mean(most == classifier.predict(X_new)) > 0.9


def test_labels_of_many_values_get_an_array_each(classifier):
    P = classifier.fit(X, GRADES).predict_proba(X_new)
    assert [part.shape for part in P] == [(25, 3), (25, 2)]
    for part in P:
        assert_allclose(part.sum(axis=1), 1.0)
    codes = np.column_stack([part.argmax(axis=1) for part in P])
    assert_array_equal(classifier.predict_for(X_new), codes)
    with pytest.raises(ValueError, match=r"label 0 has 3\. Use measure='hamming'"):
        classifier.predict_for(X_new, "f1")


def test_labels_that_never_or_always_occur_are_certain(classifier):
    labels = np.column_stack([Y[:, 0], np.zeros(60, int), np.ones(60, int), Y[:, 1]])
    P = classifier.fit(X, labels).predict_proba(X_new)
    assert_array_equal(P[:, 1:3], np.tile([0.0, 1.0], (len(X_new), 1)))
    for measure in ("hamming", "f1"):
        predicted = classifier.predict_for(X_new, measure)
        assert_array_equal(predicted[:, 1:3], np.tile([0, 1], (len(X_new), 1)))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_examples_are_enough(classifier, n):
    P = classifier.fit(X[:n], Y[:n]).predict_proba(X_new)
    assert P.shape == (len(X_new), 4)
    assert np.all((P >= 0) & (P <= 1))


def test_one_example_per_class_is_enough(classifier):
    P = classifier.fit(np.eye(5), list("abcde")).predict_proba(np.eye(5))
    assert_allclose(P.sum(axis=1), 1.0)


def test_a_label_on_once_is_held_out_once(classifier):
    labels = Y.copy()
    labels[:, 2] = np.arange(60) == 7
    P = classifier.fit(X, labels).predict_proba(X_new)
    assert 0 < P[:, 2].mean() < 0.2


def test_decisions_are_those_of_the_probabilities(classifier):
    words = np.array(["no", "yes"])[Y]
    P = classifier.fit(X, words).predict_proba(X_new)
    assert_array_equal(classifier.predict_for(X_new) == "yes", P > 0.5)
    for_f1 = classifier.predict_for(X_new, measure="f1")
    assert_array_equal(for_f1 == "yes", expected_f1_decisions(P).astype(bool))
    with pytest.raises(ValueError, match="measure must be one of 'hamming', 'f1'; got"):
        classifier.predict_for(X_new, "accuracy")


@compiled_only
@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_graphs_with_cycles_give_probabilities_too(classifier, loss):
    square = [(0, 1), (1, 2), (2, 3), (0, 3)]
    classifier.set_params(graph=square, loss=loss, tol=0.05)
    P = classifier.fit(X, Y).predict_proba(X)
    assert log_loss(P, Y) < 0.5


STAR = [(0, 1), (0, 2), (0, 3)]
PATH = [(0, 1), (1, 2), (2, 3)]


def test_the_unit_of_a_margin_is_the_loss_of_one_wrong_label():
    parts = [FactorGraph(LabelGraph(4, edges), [2, 2, 3, 2]) for edges in (STAR, PATH)]
    for loss, units in {"edge": [2.0, 1.5, 1.5, 1.0], "hamming": [1.0] * 4}.items():
        how = Settings(C=1.0, loss=loss, fit_intercept=True, tol=0.01, max_iter=100)
        members = RefittedMembers(parts, how, average_margins)
        assert_allclose(members.margin_units, units)


@compiled_only
def test_the_calibration_of_some_members_holds_for_all_of_them():
    """Label 0 has larger margins in the first ten members, by its degree of 3."""
    clf = RandomGraphEnsembleClassifier(
        10, "amm", [STAR] * 10, tol=0.05, random_state=0, probability=True
    )
    first = clone(clf).fit(X, Y).calibration_
    clf.set_params(n_estimators=30, graph=[STAR] * 10 + [PATH] * 20)
    every = clf.fit(X, Y).calibration_
    assert_allclose(every.slopes[0] / first.slopes[0], 3 / (5 / 3), rtol=0.2)


@compiled_only
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


CYCLES = LabelGraph(14, [(u, v) for u in range(14) for v in range(u)])


@pytest.mark.parametrize("aggregation", [None, "mam"])
def test_calibrated_margins_are_around_the_label_sets_that_are_predicted(
    aggregation, monkeypatch
):
    """On scores that message passing leaves open, with more than 4096 labellings."""
    where, model = "spanforest.mmcrf", MMCRFClassifier(probability=True)
    if aggregation is not None:
        where = "spanforest.ensemble"
        model = RandomGraphEnsembleClassifier(2, aggregation, probability=True)
    monkeypatch.setattr(f"{where}.calibrate", lambda data, members, *_: members)
    margins_of = model.fit(X, Y).calibration_.margins
    factors = FactorGraph(CYCLES, np.full(14, 2))
    scores = np.random.default_rng(0).normal(size=(6, factors.n_cells))
    assert not decode(factors, scores).proven.all()

    all_margins = margins_of([factors], [scores])

    best = decode_exactly(factors, scores)
    assert best.proven.all()
    for j, margins in enumerate(all_margins):
        assert (margins <= 1e-9).all()  # no value is better than the predicted one
        assert_array_equal(margins[np.arange(6), best.labels[:, j]], 0.0)


@compiled_only
def test_probabilities_can_be_cross_validated(classifier):
    P = cross_val_predict(classifier, X, Y, cv=3, method="predict_proba")
    assert P.shape == Y.shape


def test_labels_that_were_not_observed_are_no_obstacle(classifier):
    labels = Y.astype(float)
    labels[::5, 1] = np.nan
    labels[1::7, 2] = np.nan
    P = classifier.fit(X, labels).predict_proba(X)
    assert log_loss(P, Y) < 0.5


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
    assert all(basis.single is not None for basis in sent["members"])
    assert all(basis.single is None for basis in sent["calibration folds"])
