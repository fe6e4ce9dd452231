"""Estimators, measures and graphs where some labels are missing."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from strategies import PLAIN, seeds, trials

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier, load, save
from spanforest._labels import read_labels
from spanforest.datasets import make_circle
from spanforest.diagnostics import (
    edge_couplings,
    explain,
    final_step,
    keep_summary,
    label_frequencies,
    reconstruction_gap,
    training_frequencies,
)
from spanforest.graphs import LabelGraph, chow_liu_tree, mutual_information
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)
from spanforest.paper import StoredGraph
from spanforest.plots import LabelGraphDisplay

TRIANGLE = LabelGraph(3, [(0, 1), (1, 2), (0, 2)])


@pytest.fixture(scope="module")
def circle():
    """Examples, labels, and which labels are hidden."""
    X, Y = make_circle(60, n_labels=4, random_state=0)
    rng = np.random.default_rng(0)
    hidden = rng.random(Y.shape) < 0.3
    hidden[3] = True
    return X, Y, hidden


def with_nan(Y, hidden):
    return np.where(hidden, np.nan, Y)


# An example without labels would change what scaling learns.
LINEAR = {"kernel": "linear", "scaling": None}


def small_ensemble(**params):
    tol = 0.5 if PLAIN else 0.1
    defaults = {**LINEAR, "tol": tol, "random_state": 0}
    return RandomGraphEnsembleClassifier(3, **{**defaults, **params})


def same_model(one, other):
    assert one.has_node_factors_ == other.has_node_factors_
    assert_array_equal(one.cell_coef_, other.cell_coef_)
    assert_array_equal(one.cell_intercept_, other.cell_intercept_)
    assert_array_equal(one.duality_gap_, other.duality_gap_)


# --- labels written in every way -----------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda Y: Y.astype(float),
        lambda Y: Y.astype(object),
        lambda Y: np.ma.masked_array(Y, np.zeros(Y.shape, dtype=bool)),
        lambda Y: pd.DataFrame(Y).astype("Int64"),
    ],
    ids=["float", "object", "nothing masked", "nullable"],
)
def test_where_all_labels_are_observed_nothing_changes(circle, write):
    X, Y, _ = circle
    plain = small_ensemble().fit(X, Y)
    assert not plain.has_node_factors_
    same_model(small_ensemble().fit(X, write(Y)), plain)
    same_model(small_ensemble(missing_label=-1).fit(X, write(Y)), plain)


WRITINGS = {
    "None": lambda Y, hidden: np.where(hidden, None, Y),
    "None in lists": lambda Y, hidden: np.where(
        hidden, None, Y.astype(object)
    ).tolist(),
    "nan among objects": lambda Y, hidden: np.where(hidden, np.nan, Y.astype(object)),
    "pandas.NA": lambda Y, hidden: pd.DataFrame(Y).astype("Int64").mask(hidden),
    "DataFrame of floats": lambda Y, hidden: pd.DataFrame(with_nan(Y, hidden)),
    "masked": np.ma.masked_array,
    "sparse": lambda Y, hidden: sparse.csr_array(with_nan(Y, hidden)),
    "booleans": lambda Y, hidden: pd.DataFrame(Y == 1).astype("boolean").mask(hidden),
    "words": lambda Y, hidden: np.where(hidden, None, np.where(Y, "yes", "no")),
}


@pytest.mark.parametrize("write", WRITINGS.values(), ids=WRITINGS)
def test_however_a_missing_label_is_written_the_model_is_the_same(circle, write):
    X, Y, hidden = circle
    expected = small_ensemble().fit(X, with_nan(Y, hidden))
    assert expected.has_node_factors_
    same_model(small_ensemble().fit(X, write(Y, hidden)), expected)


@pytest.mark.parametrize("missing_label", [-1, -1.0, 7, "?", pd.NA, np.nan], ids=repr)
def test_missing_label_names_the_value_that_means_missing(circle, missing_label):
    X, Y, hidden = circle
    written = np.where(hidden, missing_label, Y.astype(object))
    fitted = small_ensemble(missing_label=missing_label).fit(X, written)
    same_model(fitted, small_ensemble().fit(X, with_nan(Y, hidden)))


def test_missing_label_is_missing_besides_none_and_nan():
    Y = pd.DataFrame({"a": [0, -1, None, 1]}, dtype="Int64")
    codes, coding = read_labels(Y, allow_missing=True, missing_label=-1)
    assert codes[:, 0].tolist() == [0, -1, -1, 1]
    assert coding.classes[0].tolist() == [0, 1]


def test_missing_label_can_be_one_value_only():
    with pytest.raises(ValueError, match=r"the one number or string .* got \[-1, 9\]"):
        read_labels([[0, 1], [-1, 1]], allow_missing=True, missing_label=[-1, 9])


# --- what is learned -----------------------------------------------------------------


@pytest.mark.parametrize("graph", ["random_tree", "chow_liu", TRIANGLE, "independent"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_value_behind_a_masked_label_does_not_matter(circle, graph, kernel):
    X, Y, hidden = circle
    Y, hidden = Y[:, :3], hidden[:, :3]
    scores = []
    for other in (Y, 1 - Y, np.full_like(Y, 9)):
        masked = np.ma.masked_array(np.where(hidden, other, Y), hidden)
        model = MMCRFClassifier(graph, kernel, tol=0.1, random_state=0)
        scores.append(model.fit(X, masked).decision_function(X))
    assert_array_equal(scores[0], scores[1])
    assert_array_equal(scores[0], scores[2])


@pytest.mark.needs_compiled
def test_an_example_without_any_label_changes_nothing(circle):
    X, Y, hidden = circle
    Y = with_nan(Y, hidden)
    some = ~hidden.all(axis=1)
    assert not some.all()
    params = {"graph": [(0, 1), (1, 2), (2, 3)], "tol": 1e-6, "max_iter": 5000}
    params |= LINEAR
    fitted = MMCRFClassifier(**params, random_state=0).fit(X, Y)
    expected = MMCRFClassifier(**params, random_state=0).fit(X[some], Y[some])
    assert_allclose(fitted.dual_objective_, expected.dual_objective_, rtol=1e-5)
    difference = fitted.decision_function(X) - expected.decision_function(X)
    assert_allclose(difference, 0.0, atol=0.02)


def test_a_label_never_observed_is_refused_by_name(circle):
    X, Y, hidden = circle
    Y = with_nan(Y, hidden)
    Y[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"label 2 never is\. Leave it out of Y"):
        small_ensemble().fit(X, Y)
    with pytest.raises(ValueError, match="label rain never is"):
        small_ensemble().fit(X, pd.DataFrame(Y, columns=["sun", "fog", "rain", "ice"]))


def test_messages_name_the_example_and_not_its_place_among_the_observed():
    with pytest.raises(ValueError, match="label 0 of example 2 is infinity"):
        read_labels([[np.nan], [1.0], [np.inf]], allow_missing=True)
    with pytest.raises(ValueError, match=r"label 0 of example 2 is 0\.5"):
        read_labels([[np.nan], [1.0], [0.5]], allow_missing=True)


def test_independent_labels_are_svms_of_the_examples_that_have_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(60, 4)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    model = MMCRFClassifier(
        graph="independent", C=0.5, tol=1e-7, max_iter=5000, random_state=0, **LINEAR
    )
    decisions = model.fit(X, Y).decision_function(X)
    for j, y in enumerate(Y.T):
        known = ~np.isnan(y)
        svm = LinearSVC(C=1.0, loss="hinge", tol=1e-10, max_iter=10**6, random_state=0)
        expected = svm.fit(X[known], y[known]).decision_function(X)
        assert_allclose(decisions[:, j], expected, atol=5e-3)


@pytest.mark.needs_compiled
def test_labels_observed_one_per_example_are_learned_as_if_independent():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    Y = (X @ rng.normal(size=(5, 4)) > 0).astype(float)
    rows = np.arange(200)
    one = np.full((200, 4), np.nan)
    one[rows, rows % 4] = Y[rows, rows % 4]
    params = {"C": 1.0, "tol": 1e-5, "max_iter": 5000, "random_state": 0, **LINEAR}
    ensemble = RandomGraphEnsembleClassifier(3, **params).fit(X[:200], one)
    n_on_edges = 4 * ensemble.consensus_graph_.n_edges
    assert not ensemble.cell_coef_[:, :n_on_edges].any()
    alone = MMCRFClassifier("independent", **params).fit(X[:200], one)
    assert_allclose(ensemble.cell_coef_[:, n_on_edges:], alone.cell_coef_, atol=0.01)
    predicted = ensemble.predict(X[200:])
    assert (predicted == alone.predict(X[200:])).mean() > 0.99
    assert ((predicted == Y[200:]).mean(axis=0) > 0.8).all()


def test_a_label_is_learned_where_its_neighbours_are_not_observed():
    X = np.linspace(-1, 1, 20)[:, None]
    Y = np.full((20, 2), np.nan)
    Y[::2, 0] = X[::2, 0] > 0
    Y[1::2, 1] = X[1::2, 0] < 0
    fitted = MMCRFClassifier([(0, 1)], C=10, random_state=0, **LINEAR).fit(X, Y)
    assert_array_equal(fitted.predict(X), np.hstack([X > 0, X < 0]))


def test_a_vector_may_have_missing_labels_too(circle):
    X, _, hidden = circle
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.3, 0.3])]
    known = ~hidden[:, 0]
    partly = np.where(known, y, None)
    params = {"C": 1.0, "tol": 1e-6, "max_iter": 5000, "random_state": 0, **LINEAR}
    fitted = MMCRFClassifier(**params).fit(X, partly)
    expected = MMCRFClassifier(**params).fit(X[known], y[known])
    assert fitted.classes_.tolist() == ["high", "low", "mid"]
    assert fitted.predict(X).shape == (60,)
    difference = fitted.decision_function(X) - expected.decision_function(X)
    assert_allclose(difference, 0.0, atol=0.02)


@pytest.mark.needs_compiled
def test_a_label_with_one_observed_value_is_always_predicted_to_have_it(circle):
    X, Y, hidden = circle
    Y = with_nan(Y, hidden)
    Y[:, 1] = np.where(hidden[:, 1], np.nan, 1)
    ensemble = small_ensemble(probability=True).fit(X, Y)
    assert (ensemble.predict(X)[:, 1] == 1).all()
    assert (ensemble.predict_proba(X)[:, 1] == 1).all()
    assert (ensemble.predict_topk(X, 3).labels[..., 1] == 1).all()


def test_predictions_have_no_missing_labels_and_the_type_of_the_observed(circle):
    X, Y, hidden = circle
    masked = np.ma.masked_array(Y, hidden)
    predicted = small_ensemble().fit(X, masked).predict(X)
    assert type(predicted) is np.ndarray
    assert predicted.dtype == Y.dtype
    assert set(np.unique(predicted)) <= {0, 1}
    listed = np.where(hidden, None, Y).tolist()
    assert small_ensemble().fit(X, listed).predict(X).dtype == Y.dtype


# --- life as an estimator ------------------------------------------------------------


def test_a_second_fit_forgets_that_labels_were_missing(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    same_model(model.fit(X, Y), small_ensemble().fit(X, Y))


def test_members_in_parallel_are_the_same(circle):
    X, Y, hidden = circle
    Y = with_nan(Y, hidden)
    same_model(small_ensemble(n_jobs=2).fit(X, Y), small_ensemble().fit(X, Y))


def test_copies_and_files_keep_what_was_learned(circle, tmp_path):
    pytest.importorskip("skops")
    X, Y, hidden = circle
    model = small_ensemble(missing_label=-1).fit(X, np.where(hidden, -1, Y))
    assert clone(model).missing_label == -1
    save(model, tmp_path / "model.spanforest")
    copies = load(tmp_path / "model.spanforest"), pickle.loads(pickle.dumps(model))
    for copy in copies:
        same_model(copy, model)
        assert copy.missing_label == -1
        assert all(member.has_node_factors_ for member in copy.estimators_)
        assert_array_equal(copy.predict(X, "amm"), model.predict(X, "amm"))


@pytest.mark.needs_compiled
def test_a_search_over_parameters_works_with_a_measure_of_observed_labels(circle):
    X, Y, hidden = circle

    def accuracy(model, X, Y):
        known = ~np.isnan(Y)
        return (model.predict(X) == Y)[known].mean()

    search = GridSearchCV(
        small_ensemble(), {"C": [0.01, 1.0]}, scoring=accuracy, cv=KFold(2)
    )
    assert search.fit(X, with_nan(Y, hidden)).best_score_ > 0.5


# --- diagnostics, pictures and measures ----------------------------------------------


def test_explanations_add_up_with_factors_of_single_labels(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    for label in explain(model, X[0]).labels:
        assert [each.other for each in label.contributions].count(None) == 1
        total = sum(each.difference for each in label.contributions)
        assert_allclose(total, label.margin)
        assert label.margin >= -1e-9


def test_both_sides_of_theorem_1_agree_with_factors_of_single_labels(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, np.ma.masked_array(Y, hidden))
    theorem = reconstruction_gap(model, X, Y)
    assert_allclose(theorem.gap, theorem.variance, rtol=1e-9)


def test_couplings_are_those_of_the_edges_only(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, np.ma.masked_array(Y, hidden))
    couplings = edge_couplings(model, X, Y)
    assert_array_equal(couplings.edges, model.consensus_graph_.edges)
    assert len(couplings.strength) == model.consensus_graph_.n_edges


def test_theorem_1_is_refused_where_labels_are_missing(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    with pytest.raises(ValueError, match="label 0 of example 3 is nan"):
        reconstruction_gap(model, X, with_nan(Y, hidden))


def test_frequencies_and_couplings_are_of_the_labels_that_are_known(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    shares = np.array([y[~out].mean() for y, out in zip(Y.T, hidden.T, strict=True)])
    for partly in (with_nan(Y, hidden), np.ma.masked_array(Y, hidden)):
        assert_allclose(label_frequencies(partly), shares)
    coded = np.where(hidden, -1, Y)
    assert_allclose(label_frequencies(coded, missing_label=-1), shares)
    # labels that are all known and have the same frequencies give the same couplings
    n = np.lcm.reduce((~hidden).sum(axis=0))
    counts = np.rint(shares * n).astype(int)
    same = (np.arange(n)[:, None] < counts).astype(int)
    expected = edge_couplings(model, X, same)
    couplings = edge_couplings(model, X, with_nan(Y, hidden))
    assert_allclose(couplings.strength, expected.strength)
    # and so does the value that the model was told means missing
    told = small_ensemble(missing_label=-1).fit(X, coded)
    assert_allclose(edge_couplings(told, X, coded).strength, expected.strength)


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_summaries_and_pictures_count_no_missing_label_as_a_value(circle, in_pipeline):
    X, Y, hidden = circle
    coded = np.where(hidden, -1, Y)
    model = small_ensemble(missing_label=-1)
    if in_pipeline:
        model = make_pipeline(StandardScaler(), model)
    model.fit(X, coded)
    shares = np.ma.masked_array(Y, hidden).mean(axis=0)
    keep_summary(model, X, coded)
    assert_allclose(training_frequencies(model), shares)
    pytest.importorskip("matplotlib").use("Agg")
    display = LabelGraphDisplay.from_estimator(model, X, coded)
    assert_allclose(display.frequencies, shares)
    stored = StoredGraph.of(final_step(model)[0], final_step(model, X)[1], coded)
    assert_allclose(stored.frequencies, shares)


@pytest.mark.parametrize(
    "metric", [microlabel_accuracy, multilabel_accuracy, microlabel_f1]
)
@pytest.mark.parametrize("write", [with_nan, *WRITINGS.values()])
def test_metrics_refuse_labels_that_are_missing(circle, metric, write):
    _, Y, hidden = circle
    with pytest.raises(ValueError, match="Y_true must be fully observed; label"):
        metric(write(Y, hidden), Y)


def test_score_refuses_labels_that_are_missing(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    assert 0 < model.score(X, Y) <= 1
    with pytest.raises(ValueError, match="Y_true must be fully observed; label"):
        model.score(X, with_nan(Y, hidden))
    model = small_ensemble(missing_label=-1).fit(X, np.where(hidden, -1, Y))
    with pytest.raises(ValueError, match="label 0 of example 3 is -1"):
        model.score(X, np.where(hidden, -1, Y))


# --- mutual information --------------------------------------------------------------


@given(seeds, st.integers(2, 5))
@trials(30)
def test_mutual_information_is_that_of_the_rows_with_both_labels(seed, n_labels):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, [2, 3, 2, 4, 1][:n_labels], size=(12, n_labels))
    Y[rng.random(Y.shape) < rng.choice([0.1, 0.5, 0.9])] = -1
    information = mutual_information(Y)
    for a in range(n_labels):
        for b in range(n_labels):
            both = (Y[:, a] >= 0) & (Y[:, b] >= 0)
            expected = mutual_info_score(Y[both, a], Y[both, b]) if both.any() else 0.0
            assert_allclose(information[a, b], expected, atol=1e-12)
    assert chow_liu_tree(Y).n_edges == n_labels - 1
