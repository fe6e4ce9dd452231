"""Weights of examples and of values of labels, in the solver and the estimators."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import (
    FORMS,
    TREE,
    TRIANGLE,
    KernelForm,
    assert_reaches_the_optimum,
    best_original_dual,
    hide_labels,
    make_task,
    primal_and_dual,
    tasks,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import recall_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import LinearSVC
from small_data import GRADES, WORDS, X, X_new, Y, assert_same_problem, names
from strategies import FORESTS, random_graph, seeds, trials

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
    load,
    save,
)
from spanforest.calibration import fit_calibration
from spanforest.graphs import LabelGraph, mutual_information
from spanforest.kernels import median_gamma
from spanforest.metrics import multilabel_accuracy

COUNTS = np.random.default_rng(7).integers(0, 4, len(X))
FRACTIONS = np.array([0.3, 2.5, 1.0, 0.0, 7.0, 0.01])


def weighted(task, seed=0, *, values=True):
    """Return the task with fractional weights of examples, and of values of labels."""
    rng = np.random.default_rng(seed)
    task = task._replace(sample_weight=rng.choice(FRACTIONS, len(task.X)))
    if not values:
        return task
    table = rng.uniform(0.2, 3.0, (task.factors.n_labels, 9))
    table[:2, 0] = 0.0  # an edge between such values counts for nothing
    columns = [table[j, task.Y[:, j]] for j in range(task.factors.n_labels)]
    return task._replace(label_weight=np.column_stack(columns))


LINEAR = {"kernel": "linear", "scaling": None}


def search(**params):
    options = {"kernels": "rbf", "Cs": [0.1, 1.0], "losses": "edge", "scaling": None}
    options["offsets"] = 0.0
    options |= {"n_estimators_search": 1, "random_state": 0, **params}
    return RandomGraphEnsembleClassifierCV(2, **options)


MODELS = {
    "one graph": MMCRFClassifier(**LINEAR, random_state=0, max_iter=1000),
    "ensemble": RandomGraphEnsembleClassifier(
        3, **LINEAR, random_state=0, max_iter=1000
    ),
    "search": search(max_iter=1000),
}


@pytest.fixture(params=MODELS)
def classifier(request):
    return clone(MODELS[request.param])


# --- the optimum ---------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize(
    ("graph", "n_values"),
    [(TREE, [2, 2, 2]), (TREE, [2, 3, 2]), (LabelGraph(3, [(0, 2)]), [2, 2, 3])],
)
def test_the_weighted_optimum_is_that_of_the_original_dual(
    graph, n_values, loss, values, hidden
):
    task = make_task(graph, n_values, n=6, loss=loss, intercept=True)
    task = weighted(hide_labels(task) if hidden else task, values=values)
    assert_reaches_the_optimum(task)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_the_weighted_optimum_on_a_cycle_lies_between_dual_and_primal(loss):
    task = weighted(make_task(TRIANGLE, [2, 2, 2], n=6, loss=loss, C=0.3))
    solution = task.solve(tol=1e-3, max_iter=3000)
    best = best_original_dual(task)
    assert solution.dual_objective <= best * (1 + 1e-6)
    assert_allclose(solution.dual_objective, best, rtol=5e-3)
    assert solution.dual_objective + solution.gap >= best * (1 - 1e-6)


@pytest.mark.parametrize("hidden", [False, True])
@given(data=st.data(), seed=seeds, max_iter=st.integers(1, 8))
@trials(60)
def test_the_weighted_gap_is_that_of_the_primal_and_the_dual(
    hidden, data, seed, max_iter
):
    kinds = [*FORESTS, random_graph]
    task = weighted(data.draw(tasks(kinds, max_labels=3, hidden=hidden)), seed)
    solution = task.solve(KernelForm, tol=1e-9, max_iter=max_iter)
    primal, dual = primal_and_dual(task, solution.weights)
    size = 1e-9 * (1 + abs(primal))
    assert_allclose(solution.dual_objective, dual, atol=size, rtol=1e-7)
    assert solution.gap >= primal - dual - size
    if task.factors.graph.is_forest:
        assert_allclose(solution.gap, primal - dual, atol=size, rtol=1e-6)


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
def test_all_forms_reach_the_same_weighted_optimum(values, hidden):
    task = make_task(TREE, [2, 3, 2], n=20, intercept=True)
    task = weighted(hide_labels(task) if hidden else task, values=values)
    solutions = [task.solve(form, tol=1e-5, max_iter=3000) for form in FORMS]
    assert all(solution.converged for solution in solutions)
    objectives = [solution.dual_objective for solution in solutions]
    assert_allclose(objectives, objectives[0], rtol=2e-5)


@pytest.mark.parametrize("graph", [TREE, TRIANGLE], ids=["tree", "cycle"])
def test_equal_weights_of_all_labels_take_the_steps_of_a_larger_c(graph):
    task = make_task(graph, [2, 3, 2], n=12, C=2.0, intercept=True)
    heavy = task._replace(C=1.0, label_weight=np.full((12, 3), 2.0))
    one, other = (t.solve(KernelForm, tol=1e-9, max_iter=5) for t in (task, heavy))
    assert_allclose(one.weights, other.weights, atol=1e-9)
    assert_allclose(one.gaps, other.gaps)


def test_weights_of_values_on_single_labels_are_those_of_a_support_vector_machine():
    """Each label is an SVM of its own: see the test without weights in test_solver."""
    y = Y[:, 0]
    C, weights = 0.7, {0: 0.4, 1: 3.0}
    fitted = MMCRFClassifier(
        "independent", **LINEAR, C=C, class_weight=weights, tol=1e-7, max_iter=20_000
    ).fit(X, y)
    svm = LinearSVC(loss="hinge", C=2 * C, class_weight=weights, tol=1e-9)
    svm.set_params(max_iter=1_000_000, random_state=0).fit(X, y)
    expected = svm.decision_function(X_new)
    assert_allclose(fitted.decision_function(X_new), expected, atol=2e-3)


# --- the law of weights --------------------------------------------------------------

KINDS = {
    "linear": LINEAR,
    "scaled": {"kernel": "linear"},
    "rbf": {"kernel": "rbf"},
    "informed": {"graph": "informed_tree", "kernel": "poly"},
    "chow_liu": {"graph": "chow_liu", "loss": "hamming", "normalize_kernel": True},
    "cycle": {"graph": [(0, 1), (1, 2), (0, 2), (2, 3)], "C": 0.1, **LINEAR},
    "balanced": {"class_weight": "balanced", "kernel": "rbf"},
}


@pytest.mark.parametrize("params", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    "labels", [Y, WORDS, GRADES], ids=["binary", "words", "grades"]
)
def test_a_whole_weight_is_the_same_as_repeating_the_example(params, labels):
    if labels is GRADES and "graph" in params and not isinstance(params["graph"], str):
        params = {**params, "graph": [(0, 1)]}
    classifier = MMCRFClassifier(tol=1e-3, max_iter=3000, random_state=0, **params)
    one = clone(classifier).fit(X, labels, sample_weight=COUNTS)
    other = classifier.fit(X.repeat(COUNTS, axis=0), labels.repeat(COUNTS, axis=0))
    assert one.graph_ == other.graph_
    assert one.gamma_ == (other.gamma_ and pytest.approx(other.gamma_))
    assert_same_problem(one, other)
    distance = np.sqrt(2 * one.duality_gap_) + np.sqrt(2 * other.duality_gap_)
    scores = [fitted.predict_certified(X_new).score for fitted in (one, other)]
    assert np.abs(scores[0] - scores[1]).max() < 20 * distance


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"]
)
@pytest.mark.parametrize("params", KINDS.values(), ids=KINDS)
def test_weight_zero_is_the_same_as_leaving_the_example_out(params, form):
    kept = COUNTS > 0
    classifier = MMCRFClassifier(random_state=0, max_iter=1000, **params)
    one = clone(classifier).fit(form(X), Y, sample_weight=kept)
    other = classifier.fit(form(X[kept]), Y[kept])
    assert_allclose(one.dual_objective_, other.dual_objective_, rtol=1e-9)
    assert_allclose(one.decision_function(X_new), other.decision_function(X_new))


def test_a_value_that_only_examples_of_weight_zero_have_is_unknown(classifier):
    labels = WORDS.copy()
    labels[:3, 1] = "maybe"
    kept = np.arange(len(X)) >= 3
    fitted = classifier.fit(X, labels, sample_weight=kept)
    assert [list(values) for values in fitted.classes_] == [["no", "yes"]] * 4
    assert set(fitted.predict(X).ravel()) <= {"no", "yes"}


@pytest.mark.parametrize("kind", MODELS)
def test_a_precomputed_kernel_keeps_the_columns_of_examples_of_weight_zero(kind):
    kernel = {"kernels" if kind == "search" else "kernel": "precomputed"}
    classifier = clone(MODELS[kind]).set_params(**kernel)
    kept = COUNTS > 0
    one = clone(classifier).fit(X @ X.T, Y, sample_weight=COUNTS)
    other = classifier.fit(X[kept] @ X[kept].T, Y[kept], sample_weight=COUNTS[kept])
    K = X_new @ X.T
    assert_array_equal(one.decision_function(K), other.decision_function(K[:, kept]))
    assert one.n_features_in_ == len(X)


@pytest.mark.needs_compiled
def test_scaling_all_weights_is_the_same_as_scaling_c(classifier):
    name = "Cs" if "Cs" in classifier.get_params() else "C"
    weights = np.full(len(X), 4.0)
    one = clone(classifier).set_params(**{name: 0.5, "tol": 1e-6, "max_iter": 5000})
    other = classifier.set_params(**{name: 2.0, "tol": 1e-6, "max_iter": 5000})
    if name == "Cs":
        one.set_params(kernels="linear"), other.set_params(kernels="linear")
    one.fit(X, Y, sample_weight=weights)
    other.fit(X, Y)
    # not equal: examples with weights are trained in an order of their own
    assert_allclose(one.dual_objective_, other.dual_objective_, rtol=1e-6)
    scores = [each.predict_certified(X).score for each in (one, other)]
    assert_allclose(*scores, atol=0.01)


def test_the_same_weight_for_all_values_is_the_same_as_scaling_c():
    classifier = MMCRFClassifier(tol=1e-4, max_iter=3000, random_state=0)
    one = clone(classifier).set_params(C=0.5, class_weight={0: 4, 1: 4}).fit(X, Y)
    assert_same_problem(one, classifier.set_params(C=2.0).fit(X, Y))


def test_the_weights_of_values_of_one_label_are_weights_of_examples():
    weights, y = {0: 0.5, 1: 3}, Y[:, 0]
    classifier = MMCRFClassifier(**LINEAR, tol=1e-4, max_iter=3000, random_state=0)
    one = clone(classifier).set_params(class_weight=weights).fit(X, y)
    other = classifier.fit(X, y, sample_weight=np.where(y == 1, 3, 0.5))
    assert_same_problem(one, other)


def test_a_value_of_weight_zero_teaches_nothing():
    labels = Y.copy()
    labels[:, 1] = np.arange(len(X)) % 2  # noise
    params = {"graph": "independent", "tol": 1e-5, "max_iter": 5000, "random_state": 0}
    silent = MMCRFClassifier(class_weight=[{}, {0: 0, 1: 0}, {}, {}], **params)
    one = silent.fit(X, labels).decision_function(X_new)
    other = MMCRFClassifier(**params).fit(X, labels[:, [0, 2, 3]])
    assert_array_equal(one[:, 1], 0)
    assert_allclose(one[:, [0, 2, 3]], other.decision_function(X_new), atol=0.05)


def test_balanced_weights_are_inverse_shares_of_the_observed_values():
    y = np.array([0, 0, 0, 1, np.nan, 0])
    inputs, weights = X[:6], [1, 1, 1, 2, 5, 1]
    balanced = MMCRFClassifier(class_weight="balanced", random_state=0, tol=1e-4)
    # the values 0 and 1 have weights 4 and 2, of 6 in all
    by_hand = clone(balanced).set_params(class_weight={0: 6 / 8, 1: 6 / 4})
    one = balanced.fit(inputs, y, sample_weight=weights)
    other = by_hand.fit(inputs, y, sample_weight=weights)
    assert one.dual_objective_ == other.dual_objective_


def test_a_dict_is_a_list_with_the_same_dict_for_every_label(classifier):
    weights = {"yes": 3.0}
    one = clone(classifier).set_params(class_weight=weights).fit(X, WORDS)
    other = classifier.set_params(class_weight=[weights] * 4).fit(X, WORDS)
    assert_array_equal(one.cell_intercept_, other.cell_intercept_)


@pytest.mark.parametrize("graph", ["random_tree", "independent"])
def test_balanced_weights_raise_the_recall_of_rare_labels(graph):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(300, 5))
    score = inputs @ rng.normal(size=(5, 4)) + rng.normal(size=(300, 4))
    labels = (score > np.quantile(score, 0.92, axis=0)).astype(int)
    ensemble = RandomGraphEnsembleClassifier(3, graph=graph, random_state=0)
    recalls = [
        recall_score(
            labels[150:],
            clone(ensemble)
            .set_params(class_weight=weights)
            .fit(inputs[:150], labels[:150])
            .predict(inputs[150:]),
            average="macro",
            zero_division=0,
        )
        for weights in (None, "balanced")
    ]
    assert recalls[1] > recalls[0] + 0.2


# --- what the weights reach ----------------------------------------------------------


def test_mutual_information_counts_rows_by_their_weights():
    plain = mutual_information(Y.repeat(COUNTS, axis=0))
    assert_allclose(mutual_information(Y, COUNTS), plain, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("rows", [slice(0, 2), slice(0, 9), slice(0, 60)])
def test_the_median_scale_counts_examples_by_their_weights(rows, form):
    counts = np.maximum(COUNTS[rows], 1)
    repeated = median_gamma(form(X[rows].repeat(counts, axis=0)))
    assert_allclose(median_gamma(form(X[rows]), counts), repeated)


@pytest.mark.parametrize("biases", [False, True])
def test_calibration_counts_examples_by_their_weights(biases):
    rng = np.random.default_rng(0)
    margins = [rng.normal(size=(len(X), 2)), rng.normal(size=(len(X), 3))]
    codes = np.column_stack([rng.integers(-1, 2, len(X)), rng.integers(0, 3, len(X))])
    one = fit_calibration(margins, codes, biases=biases, sample_weight=COUNTS)
    other = fit_calibration(
        [margin.repeat(COUNTS, axis=0) for margin in margins],
        codes.repeat(COUNTS, axis=0),
        biases=biases,
    )
    assert_allclose(one.slopes, other.slopes, rtol=1e-6)
    assert_allclose(one.biases[1], other.biases[1], rtol=1e-6, atol=1e-9)


@pytest.mark.needs_compiled
def test_probabilities_are_fitted_with_the_weights(classifier, monkeypatch):
    given_weights = []

    def remember(*args, sample_weight, **options):
        given_weights.append(sample_weight)
        return fit_calibration(*args, sample_weight=sample_weight, **options)

    monkeypatch.setattr("spanforest._calibration_folds.fit_calibration", remember)
    classifier.set_params(probability=True)
    ones = clone(classifier).fit(X, Y, sample_weight=np.ones(len(X)))
    classifier.fit(X, Y)
    assert_array_equal(ones.predict_proba(X_new), classifier.predict_proba(X_new))
    classifier.fit(X, Y, sample_weight=COUNTS)
    assert_array_equal(given_weights[-1], COUNTS[COUNTS > 0])


@pytest.mark.parametrize(
    "scoring",
    ["multilabel_accuracy", "microlabel_accuracy", "microlabel_f1", "function"],
)
def test_the_search_scores_folds_with_the_weights_of_their_examples(scoring):
    if scoring == "function":
        scoring = multilabel_accuracy
    folds = [(np.arange(40), np.arange(40, 60))]
    counts = np.maximum(COUNTS, 1)
    rows = np.arange(60).repeat(counts)
    repeated = [(np.flatnonzero(rows < 40), np.flatnonzero(rows >= 40))]
    params = {"scoring": scoring, "tol": 1e-4, "kernels": "linear"}
    one = search(cv=folds, **params).fit(X, Y, sample_weight=counts)
    other = search(cv=repeated, **params).fit(X[rows], Y[rows])
    results = [fitted.cv_results_["mean_test_score"] for fitted in (one, other)]
    assert_allclose(*results, atol=0.03)
    alone = search(cv=folds, **params).fit(X, Y).cv_results_["mean_test_score"]
    assert np.abs(alone - results[0]).max() > 0.01


@pytest.mark.parametrize("cv", [3, KFold(4), "rows"])
def test_folds_are_made_of_the_examples_that_count(cv):
    kept, whole = np.flatnonzero(COUNTS), cv
    if cv == "rows":
        whole = [(np.arange(50), np.arange(50, 60))]
        inside = kept[kept < 50]
        cv = [(np.arange(len(inside)), np.arange(len(inside), len(kept)))]
    one = search(cv=whole).fit(X, Y, sample_weight=COUNTS)
    other = search(cv=cv).fit(X[kept], Y[kept], sample_weight=COUNTS[kept])
    assert_array_equal(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
    )
    assert_array_equal(one.cell_intercept_, other.cell_intercept_)


def test_a_fold_without_examples_that_count_is_refused():
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    with pytest.raises(ValueError, match="fold 0 has no training examples of positive"):
        search(cv=folds).fit(X, Y, sample_weight=np.arange(60) >= 30)


@pytest.mark.needs_compiled
def test_scores_and_grid_search_take_routed_weights(classifier):
    with sklearn.config_context(enable_metadata_routing=True):
        classifier.set_fit_request(sample_weight=True)
        classifier.set_score_request(sample_weight=True)
        grid = GridSearchCV(classifier, {"max_iter": [500, 1000]}, cv=2)
        grid.fit(X, Y, sample_weight=np.maximum(COUNTS, 1))
    plain = clone(classifier).set_params(**grid.best_params_)
    plain.fit(X, Y, sample_weight=np.maximum(COUNTS, 1))
    assert_array_equal(grid.best_estimator_.cell_intercept_, plain.cell_intercept_)


@pytest.mark.needs_compiled
def test_lists_series_and_single_precision_are_weights_too(classifier):
    plain = clone(classifier).fit(X, Y, sample_weight=COUNTS)
    for form in (COUNTS.tolist(), pd.Series(COUNTS), COUNTS.astype(np.float32)):
        again = clone(classifier).fit(X, Y, sample_weight=form)
        assert_array_equal(again.cell_intercept_, plain.cell_intercept_)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("weights", ["balanced", {1: 2.5}, [{1: 2}, {}, {0: 0.5}, {}]])
def test_models_with_weights_can_be_saved(classifier, weights, tmp_path):
    fitted = classifier.set_params(class_weight=weights).fit(X, Y, sample_weight=COUNTS)
    save(fitted, tmp_path / "model.spanforest")
    again = load(tmp_path / "model.spanforest")
    assert again.class_weight == weights
    assert_array_equal(again.predict(X_new), fitted.predict(X_new))
    assert_array_equal(
        clone(again).fit(X, Y, COUNTS).cell_intercept_, fitted.cell_intercept_
    )


def test_a_precomputed_model_with_weight_zero_can_be_saved(tmp_path):
    fitted = MMCRFClassifier(kernel="precomputed", random_state=0)
    fitted.fit(X @ X.T, Y, sample_weight=COUNTS)
    save(fitted, tmp_path / "model.spanforest")
    again = load(tmp_path / "model.spanforest")
    assert_array_equal(again.predict(X_new @ X.T), fitted.predict(X_new @ X.T))


@pytest.mark.parametrize("kind", ["ensemble", "search"])
def test_the_number_of_jobs_changes_no_weighted_model(kind):
    classifier = clone(MODELS[kind]).set_params(class_weight="balanced")
    alone = clone(classifier).fit(X, Y, sample_weight=COUNTS)
    threads = classifier.set_params(n_jobs=2).fit(X, Y, sample_weight=COUNTS)
    assert_array_equal(alone.cell_intercept_, threads.cell_intercept_)


# --- refusals ------------------------------------------------------------------------


def one_wrong(value):
    weights = np.ones(len(X))
    weights[7] = value
    return weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (one_wrong(-1), "at least 0; the weight of example 7 is -1"),
        (one_wrong(np.nan), "finite numbers .*example 7 is nan"),
        (one_wrong(np.inf), "finite numbers .*example 7 is inf"),
        (one_wrong(1e300), "between 1e-100 and 1e.100; the weight of example 7 is 1e"),
        (one_wrong(1e-300), "between .*example 7 is 1e-300. Multiply all weights"),
        (np.zeros(len(X)), "all of them are zero"),
        (np.ones(3), r"shape \(60,\); got shape \(3,\)"),
        (np.ones((len(X), 1)), r"got shape \(60, 1\)"),
        (2.0, r"got shape \(\)"),
        (["heavy"] * len(X), "array of numbers"),
    ],
)
def test_wrong_sample_weights_are_refused_before_training(classifier, weights, message):
    with pytest.raises(ValueError, match=message):
        classifier.fit(X, Y, sample_weight=weights)
    assert not hasattr(classifier, "classes_")


def test_a_label_that_no_example_of_positive_weight_has_is_refused(classifier):
    labels = Y.astype(float)
    labels[3:, 2] = np.nan
    with pytest.raises(ValueError, match="label label 2 never is"):
        classifier.fit(X, names(labels), sample_weight=np.arange(len(X)) >= 3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("fair", "must be None, .*got 'fair'"),
        (3.0, "must be None, .*got 3.0"),
        ({"first": {1: 2.0}}, "pass a list with a dict for each of the 4 labels"),
        ({2: 1.0}, "weight for 2, which is not a value of any label"),
        ({"yes": 1.0}, "weight for 'yes'.* Values are 0, 1"),
        ({1: -1.0}, "class_weight of 1 must be a number at least 0; got -1.0"),
        ({1: np.nan}, "class_weight of 1 must be a number"),
        ({1: "much"}, "class_weight of 1 must be a number"),
        ({1: 1e300}, "class_weight of 1 must be at most 1e.100; got 1e.300"),
        ({0: 0.0, 1: 0.0}, "class_weight must be positive for some value"),
        ([{1: 2.0}], "a dict for each label, here 4; got 1"),
        ([{}, {}, {3: 1.0}, {}], "weight for 3, which is not a value of label 2"),
        ([{}, {}, "balanced", {}], "for label 2 it holds 'balanced'"),
    ],
)
def test_wrong_class_weights_are_refused_before_training(classifier, weights, message):
    classifier.set_params(class_weight=weights)
    with pytest.raises(ValueError, match=message):
        classifier.fit(X, Y)
    assert not hasattr(classifier, "classes_")


def test_zero_and_one_have_weights_even_if_one_of_them_is_not_seen(classifier):
    labels = Y.copy()
    labels[:, 2] = 0
    classifier.set_params(class_weight=[{}, {}, {1: 5.0}, {}]).fit(X, labels)
    assert_array_equal(classifier.predict(X)[:, 2], 0)


@pytest.mark.needs_compiled
def test_an_example_without_any_label_is_as_if_it_were_left_out():
    clf = RandomGraphEnsembleClassifier(3, random_state=0)
    clf.fit(np.delete(X, 5, 0), np.delete(Y, 5, 0))
    expected = clf.decision_function(X_new)
    missing = Y.astype(float)
    missing[5] = np.nan
    assert_array_equal(clf.fit(X, missing).decision_function(X_new), expected)
    assert not clf.has_node_factors_
