"""Both estimators as a user of scikit-learn meets them: data in, labels out."""

import pickle

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import (
    cosine_similarity,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.graphs import LabelGraph
from spanforest.kernels import median_gamma, tanimoto_kernel, unit_diagonal
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1_scorer,
    multilabel_accuracy,
)
from spanforest.tuning import RandomGraphEnsembleClassifierCV

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = (X @ rng.normal(size=(4, 4)) + 0.3 * rng.normal(size=(60, 4)) > 0).astype(int)
X_new = rng.normal(size=(25, 4))
WORDS = np.array(["no", "yes"])[Y]
GRADES = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), np.digitize(X[:, 1], [0])])
MIXED = list(zip(WORDS, GRADES, strict=True))
TRIANGLE = [(0, 1), (1, 2), (0, 2)]


@pytest.fixture(params=["one graph", "ensemble"])
def classifier(request):
    """An unfitted classifier that converges on the data above."""
    if request.param == "one graph":
        return MMCRFClassifier(max_iter=1000, random_state=0)
    return RandomGraphEnsembleClassifier(n_estimators=3, max_iter=1000, random_state=0)


def weights(fitted):
    return fitted.coef_ if hasattr(fitted, "coef_") else fitted.dual_coef_


def assert_same_model(one, other):
    assert_array_equal(weights(one), weights(other))
    assert_array_equal(one.intercept_, other.intercept_)
    assert_array_equal(one.dual_objective_, other.dual_objective_)


def assert_same_problem(one, other):
    """The optimum lies in both certified intervals, here one thousandth wide.

    Rounding breaks ties between equally violating label sets, so that two forms of
    one problem may take different ways to it.
    """
    lower = np.maximum(one.dual_objective_, other.dual_objective_)
    upper = np.minimum(
        one.dual_objective_ + one.duality_gap_,
        other.dual_objective_ + other.duality_gap_,
    )
    assert np.all(lower <= upper * (1 + 1e-9))
    assert np.all(one.duality_gap_ <= 1e-3 * one.dual_objective_)


def largest_distance(one, other):
    """How far apart two solutions of one problem can be, by strong convexity."""
    return np.mean(np.sqrt(2 * one.duality_gap_) + np.sqrt(2 * other.duality_gap_))


def not_expected(estimator):
    """Checks that do not suit a classifier which predicts whole label sets."""
    if not (isinstance(estimator, MMCRFClassifier) and estimator.probability):
        return {}
    reason = "the labels of the best label set need not be the most probable ones"
    return {"check_classifier_multioutput": reason}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        MMCRFClassifier(),
        MMCRFClassifier(probability=True),
        RandomGraphEnsembleClassifier(n_estimators=3),
        RandomGraphEnsembleClassifier(n_estimators=3, probability=True),
        RandomGraphEnsembleClassifierCV(
            2, gammas=(1.0,), Cs=(0.1, 1.0), losses="edge", n_estimators_search=1
        ),
    ],
    expected_failed_checks=not_expected,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- labels of every kind ------------------------------------------------------------


def names(array):
    return pd.DataFrame(array, columns=[f"label {j}" for j in range(array.shape[1])])


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


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_look_like_the_training_labels(classifier, kind):
    labels, dtype = KINDS[kind]
    table = labels.toarray() if sparse.issparse(labels) else labels
    table = np.asarray(table, dtype=object)
    predicted = classifier.fit(X, labels).predict(X_new)
    assert isinstance(predicted, np.ndarray)
    assert predicted.dtype == dtype
    assert predicted.shape == (len(X_new), *table.shape[1:])
    seen = table.reshape(len(table), -1).T
    for values, found in zip(seen, predicted.reshape(len(X_new), -1).T, strict=True):
        assert set(found.tolist()) <= set(values.tolist())
    assert classifier.score(X, labels) > 0.6


@pytest.mark.parametrize("kind", ["bools", "floats", "csr", "csc", "frame", "strings"])
def test_the_kind_of_labels_does_not_change_the_model(classifier, kind):
    plain = clone(classifier).fit(X, Y)
    assert_same_model(classifier.fit(X, KINDS[kind][0]), plain)


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


def test_labels_that_never_or_always_occur_are_predicted_as_seen(classifier):
    labels = np.column_stack([Y[:, 0], np.zeros(60, int), np.ones(60, int), Y[:, 1]])
    predicted = classifier.fit(X, labels).predict(X_new)
    assert not predicted[:, 1].any()
    assert predicted[:, 2].all()
    assert_array_equal(classifier.classes_, np.arange(Y.shape[1]))
    decisions = classifier.decision_function(X_new)
    assert_array_equal(decisions[:, 1:3], np.tile([-1.0, 1.0], (len(X_new), 1)))


@pytest.mark.parametrize("labels", [np.zeros((60, 3), int), np.full(60, "only")])
def test_nothing_to_learn_is_learned_with_a_gap_of_zero(classifier, labels):
    predicted = classifier.fit(X, labels).predict(X_new)
    assert_array_equal(predicted, labels[: len(X_new)])
    assert not np.any(classifier.duality_gap_)


def test_one_example_is_remembered(classifier):
    labels = Y[:1]
    predicted = classifier.fit(X[:1], labels).predict(X_new)
    assert_array_equal(predicted, np.repeat(labels, len(X_new), axis=0))


def test_one_example_per_class_is_enough(classifier):
    classes = np.array(["a", "b", "c", "d", "e"])
    predicted = classifier.set_params(C=100).fit(np.eye(5), classes).predict(np.eye(5))
    assert_array_equal(predicted, classes)


def test_every_example_twice_is_twice_the_weight(classifier):
    plain = clone(classifier).set_params(tol=1e-3).fit(X, Y)
    twice = classifier.set_params(tol=1e-3, C=0.5).fit(np.tile(X, (2, 1)), [*Y, *Y])
    assert_same_problem(twice, plain)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_huge_c_gives_finite_numbers_and_an_honest_gap(classifier):
    fitted = classifier.set_params(C=1e10, max_iter=20).fit(X, Y)
    assert np.isfinite(weights(fitted)).all()
    assert np.isfinite(fitted.dual_objective_).all()
    assert np.all(fitted.duality_gap_ >= 0)


def test_a_tiny_c_gives_nearly_zero_weights(classifier):
    assert np.abs(weights(classifier.set_params(C=1e-10).fit(X, Y))).max() < 1e-6


# --- kernels -------------------------------------------------------------------------

X_bits = (X > 0).astype(float)
X_new_bits = (X_new > 0).astype(float)


def scaled_rbf(X, Z, scale):
    return rbf_kernel(X, Z, gamma=1 / scale)


def median_rbf(X, Z):
    return rbf_kernel(X, Z, gamma=median_gamma(X_bits))


@pytest.mark.parametrize(
    ("params", "function"),
    [
        ({"kernel": "rbf"}, median_rbf),
        ({"kernel": "rbf", "gamma": 2.0}, lambda X, Z: rbf_kernel(X, Z, gamma=2.0)),
        (
            {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 3},
            lambda X, Z: polynomial_kernel(X, Z, gamma=0.5, degree=2, coef0=3),
        ),
        ({"kernel": "cosine"}, cosine_similarity),
        ({"kernel": "tanimoto"}, tanimoto_kernel),
        ({"kernel": rbf_kernel}, rbf_kernel),
        (
            {"kernel": scaled_rbf, "kernel_params": {"scale": 3.0}},
            lambda X, Z: scaled_rbf(X, Z, 3.0),
        ),
    ],
    ids=["rbf", "rbf gamma", "poly", "cosine", "tanimoto", "callable", "kernel_params"],
)
@pytest.mark.parametrize("normalized", [False, True])
def test_a_kernel_equals_its_precomputed_matrix(
    classifier, params, function, normalized
):
    K, K_new = function(X_bits, X_bits), function(X_new_bits, X_bits)
    if normalized:
        own = np.diag(function(X_new_bits, X_new_bits))
        K_new = unit_diagonal(K_new, own, K.diagonal())
        K = unit_diagonal(K, K.diagonal(), K.diagonal())
    classifier.set_params(tol=1e-3)
    given = clone(classifier).set_params(kernel="precomputed").fit(K, Y)
    fitted = classifier.set_params(**params, normalize_kernel=normalized).fit(X_bits, Y)
    assert_same_problem(fitted, given)
    assert_allclose(fitted._input.rows(X_new_bits), K_new, rtol=1e-9, atol=1e-12)
    assert_array_equal(given._input.rows(K_new), K_new)
    assert given.predict(K_new).shape == fitted.predict(X_new_bits).shape
    assert fitted.dual_coef_.shape[0] == len(X)
    assert not hasattr(fitted, "coef_")


def test_the_default_width_is_found_in_the_training_examples_and_kept(classifier):
    classifier.set_params(kernel="rbf").fit(X, Y)
    width, predicted = median_gamma(X), classifier.predict(X_new)
    assert classifier.gamma_ == width
    for member in getattr(classifier, "estimators_", []):
        assert member.gamma_ == width
    again = clone(classifier).set_params(gamma=width).fit(X, Y)
    assert_array_equal(again.predict(X_new), predicted)
    assert_array_equal(weights(again), weights(classifier))
    assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict(X_new), predicted)
    classifier.fit(10 * X, Y)  # an earlier fit leaves nothing behind
    assert classifier.gamma_ == pytest.approx(width / 100)
    assert_array_equal(classifier.predict(10 * X_new), predicted)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"kernel": "poly"}, 1 / X.shape[1]),
        ({"kernel": "rbf", "gamma": 2.0}, 2.0),
        ({"kernel": "linear", "gamma": 2.0}, None),
        ({"kernel": rbf_kernel, "gamma": 2.0}, None),
    ],
    ids=str,
)
def test_only_kernels_that_have_a_width_get_one(classifier, params, expected):
    assert classifier.set_params(**params).fit(X, Y).gamma_ == expected


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_linear_form_equals_the_kernel_form(classifier, fit_intercept):
    classifier.set_params(fit_intercept=fit_intercept, tol=1e-3)
    linear = clone(classifier).fit(X, Y)
    kernel = classifier.set_params(kernel="precomputed").fit(linear_kernel(X), Y)
    assert_same_problem(linear, kernel)
    distance = np.linalg.norm(linear.coef_ - X.T @ kernel.dual_coef_)
    assert distance <= largest_distance(linear, kernel)
    distance = np.linalg.norm(linear.intercept_ - kernel.intercept_)
    assert distance <= largest_distance(linear, kernel)
    assert_allclose(kernel.intercept_, fit_intercept * kernel.dual_coef_.sum(axis=0))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "tanimoto"])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_examples_equal_dense_ones(classifier, kernel, form):
    classifier.set_params(kernel=kernel, normalize_kernel=kernel == "linear", tol=1e-3)
    dense = clone(classifier).fit(X_bits, Y)
    fitted = classifier.fit(form(X_bits), Y)
    assert_same_problem(fitted, dense)
    assert_allclose(
        fitted.decision_function(form(X_new_bits)),
        fitted.decision_function(X_new_bits),
        rtol=1e-6,
        atol=1e-9,
    )


def test_normalizing_the_linear_kernel_is_normalizing_rows(classifier):
    rows = clone(classifier).fit(normalize(X), Y)
    fitted = classifier.set_params(normalize_kernel=True).fit(X, Y)
    assert_same_model(fitted, rows)
    assert_array_equal(fitted.predict(X_new), rows.predict(normalize(X_new)))


def test_a_precomputed_kernel_is_cut_on_both_axes(classifier):
    classifier.set_params(kernel="precomputed")
    K, folds = rbf_kernel(X), KFold(4)
    predicted = cross_val_predict(classifier, K, Y, cv=folds)
    for train, test in folds.split(K):
        fitted = clone(classifier).fit(K[np.ix_(train, train)], Y[train])
        assert_array_equal(predicted[test], fitted.predict(K[np.ix_(test, train)]))
    search = GridSearchCV(classifier, {"C": [0.1, 1.0]}, cv=folds).fit(K, Y)
    assert search.predict(K).shape == Y.shape


def test_single_precision_examples_give_nearly_the_same_model(classifier):
    double = clone(classifier).set_params(tol=1e-3).fit(X, Y)
    single = classifier.set_params(tol=1e-3).fit(X.astype(np.float32), Y)
    assert_allclose(single.dual_objective_, double.dual_objective_, rtol=2e-3)


# --- life as a scikit-learn estimator -------------------------------------------------


def test_grid_search_picks_parameters_by_the_papers_measures(classifier):
    grid = {"C": [1e-6, 1.0], "loss": ["edge", "hamming"]}
    search = GridSearchCV(classifier, grid, scoring=microlabel_f1_scorer, cv=3)
    search.fit(X, Y)
    assert search.best_params_["C"] == 1.0
    assert multilabel_accuracy(Y, search.predict(X)) > 0.6


def test_a_pipeline_passes_data_frames_through(classifier):
    frame = pd.DataFrame(X, columns=list("abcd"))
    scaler = StandardScaler().set_output(transform="pandas")
    classifier.set_params(tol=1e-3)
    model = make_pipeline(scaler, classifier).fit(frame, names(Y))
    assert classifier.feature_names_in_.tolist() == list("abcd")
    assert classifier.n_features_in_ == 4
    assert model.score(frame, names(Y)) > 0.6
    plain = clone(classifier).fit(StandardScaler().fit_transform(X), Y)
    assert_same_problem(classifier, plain)
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[list("dcba")])


def test_cross_val_predict_keeps_the_type_of_string_labels(classifier):
    predicted = cross_val_predict(classifier, X, WORDS, cv=3)
    assert predicted.shape == WORDS.shape
    assert microlabel_accuracy(WORDS, predicted) > 0.8


def test_clones_are_unfitted_and_equal(classifier):
    copy = clone(classifier.fit(X, Y))
    assert copy.get_params() == classifier.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert_same_model(copy.fit(X, Y), classifier)


def test_parameters_can_be_set_and_only_known_ones(classifier):
    assert classifier.set_params(C=3.0, loss="hamming").get_params()["C"] == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'c'"):
        classifier.set_params(c=1)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("way", ["pickle", "joblib"])
def test_saved_models_predict_the_same_bits(classifier, kernel, way, tmp_path):
    fitted = classifier.set_params(kernel=kernel).fit(X, names(WORDS))
    if way == "pickle":
        loaded = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib")
    assert_array_equal(loaded.predict(X_new), fitted.predict(X_new))
    assert_array_equal(loaded.decision_function(X_new), fitted.decision_function(X_new))


def test_a_refit_forgets_the_first_fit(classifier):
    frame = pd.DataFrame(X, columns=list("abcd"))
    classifier.set_params(kernel="rbf").fit(frame, names(WORDS))
    classifier.set_params(kernel="linear").fit(X[:40, :3], Y[:40, :2])
    fresh = clone(classifier).fit(X[:40, :3], Y[:40, :2])
    assert vars(classifier).keys() == vars(fresh).keys()
    assert_same_model(classifier, fresh)
    assert_array_equal(classifier.predict(X_new[:, :3]), fresh.predict(X_new[:, :3]))


@pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
def test_equal_random_states_give_equal_models(classifier, make):
    one = clone(classifier).set_params(random_state=make(3)).fit(X, Y)
    assert_same_model(one, classifier.set_params(random_state=make(3)).fit(X, Y))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_goes_on_from_fit_to_fit(classifier, make):
    classifier.set_params(random_state=make(3))
    first = weights(classifier.fit(X, Y)).copy()
    assert not np.array_equal(first, weights(classifier.fit(X, Y)))


def test_no_random_state_leaves_the_global_one_alone(classifier):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = weights(classifier.set_params(random_state=None).fit(X, Y)).copy()
    assert not np.array_equal(first, weights(classifier.fit(X, Y)))
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_score_is_the_multilabel_accuracy(classifier):
    classifier.fit(X, Y)
    predicted = classifier.predict(X)
    right = (predicted == Y).all(axis=1)
    assert classifier.score(X, Y) == pytest.approx(right.mean())
    importance = np.arange(len(X))
    weighted = classifier.score(X, Y, sample_weight=importance)
    assert weighted == pytest.approx(np.average(right, weights=importance))


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_verbose_changes_nothing_but_the_display(classifier, verbose):
    plain = clone(classifier).fit(X, Y)
    assert_same_model(classifier.set_params(verbose=verbose).fit(X, Y), plain)


@pytest.mark.parametrize("aggregation", ["mve", "amm", "mam"])
@pytest.mark.parametrize("labels", [Y, WORDS, 2 * Y - 1, Y[:, :1], Y[:, 0]])
def test_decisions_agree_with_predictions(classifier, aggregation, labels):
    if "aggregation" in classifier.get_params():
        classifier.set_params(aggregation=aggregation)
    decisions = classifier.fit(X, labels).decision_function(X_new)
    predicted = classifier.predict(X_new)
    assert decisions.shape == predicted.shape
    assert_array_equal(decisions > 0, predicted == np.unique(labels)[-1])


def test_decisions_on_many_classes_are_highest_at_the_prediction(classifier):
    classes = np.array(["low", "middle", "top"])[GRADES[:, 0]]
    decisions = classifier.fit(X, classes).decision_function(X_new)
    assert decisions.shape == (len(X_new), 3)
    highest = classifier.classes_[decisions.argmax(axis=1)]
    assert_array_equal(highest, classifier.predict(X_new))


def test_decisions_on_many_labels_of_many_values_are_refused(classifier):
    with pytest.raises(ValueError, match=r"two values; label 0 has 3\. Use predict"):
        classifier.fit(X, GRADES).decision_function(X_new)


# --- graphs --------------------------------------------------------------------------

PATH = [(0, 1), (1, 2), (2, 3)]
ADJACENCY = LabelGraph(4, PATH).adjacency


@pytest.mark.parametrize(
    "graph",
    [
        PATH,
        tuple(PATH),
        np.array(PATH)[::-1, ::-1],
        LabelGraph(4, PATH),
        ADJACENCY,
        ADJACENCY.toarray(),
        ADJACENCY.toarray().tolist(),
        nx.path_graph(4),
        lambda n_labels, rng: LabelGraph(n_labels, PATH),
        lambda n_labels, rng: nx.path_graph(n_labels),
    ],
)
def test_all_forms_of_a_graph_are_the_same_graph(classifier, graph):
    plain = clone(classifier).set_params(graph=LabelGraph(4, PATH)).fit(X, Y)
    assert_same_model(classifier.set_params(graph=graph).fit(X, Y), plain)


@pytest.mark.parametrize(
    ("name", "n_edges"),
    [
        ("random_tree", 3),
        ("uniform_tree", 3),
        ("recursive_tree", 3),
        ("chow_liu", 3),
        ("random_pairing", 2),
        ("independent", 0),
    ],
)
def test_named_graphs(name, n_edges):
    fitted = MMCRFClassifier(graph=name, random_state=0, max_iter=1000).fit(X, Y)
    assert fitted.graph_.n_edges == n_edges
    assert fitted.score(X, Y) > 0.6


@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_graphs_with_cycles_are_trained_to_a_valid_gap(classifier, loss):
    classifier.set_params(graph=[*TRIANGLE, (2, 3)], loss=loss, tol=0.05)
    fitted = classifier.fit(X, Y)
    assert np.all(fitted.duality_gap_ >= 0)
    assert np.all(fitted.duality_gap_ <= 0.05 * fitted.dual_objective_)
    assert fitted.score(X, Y) > 0.6
    loopy = fitted.predict(X, inference="max_product")
    assert microlabel_accuracy(loopy, fitted.predict(X)) > 0.9


# --- the certificate -----------------------------------------------------------------


@pytest.mark.parametrize("tol", [0.3, 0.01, 0.001])
def test_no_warning_means_that_the_gap_is_within_the_tolerance(classifier, tol):
    fitted = classifier.set_params(tol=tol).fit(X, Y)
    assert np.all(fitted.duality_gap_ >= 0)
    assert np.all(fitted.duality_gap_ <= tol * fitted.dual_objective_)


def test_the_gap_history_has_an_entry_per_pass_and_ends_in_the_gap(classifier):
    fitted = classifier.fit(X, Y)
    members = getattr(fitted, "estimators_", [fitted])
    assert_array_equal(fitted.duality_gap_, [m.duality_gap_ for m in members])
    assert_array_equal(fitted.n_iter_, [m.n_iter_ for m in members])
    for member in members:
        assert member.gap_history_[-1] == member.duality_gap_
        assert len(member.gap_history_) == member.n_iter_
        assert np.all(member.gap_history_ >= 0)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_stopping_short_warns_with_the_gap_the_tolerance_and_a_remedy(
    classifier, max_iter
):
    classifier.set_params(C=1000.0, tol=1e-4, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning) as caught:
        classifier.fit(X, Y)
    (warning,) = caught
    assert warning.filename == __file__  # points at the call of fit
    text = str(warning.message)
    relative = np.max(classifier.duality_gap_ / classifier.dual_objective_)
    assert f"{relative:.2g} times the dual objective" in text
    assert f"{max_iter} passes" in text
    assert "tol is 0.0001" in text
    assert "Raise max_iter" in text
    assert np.max(classifier.n_iter_) == max_iter


# --- bad input -----------------------------------------------------------------------


def spoiled(value):
    bad = X.copy()
    bad[3, 1] = value
    return bad


K = linear_kernel(X)
K_asymmetric = K + np.triu(np.ones_like(K), 1)
DISTANCES = -2 * K + np.diag(K)[:, None] + np.diag(K)
INDEFINITE = 0.6 * np.array([[0, 1, 1], [1, 0, -1], [1, -1, 0]]) + np.eye(3)
given = {"kernel": "precomputed"}


@pytest.mark.parametrize(
    ("params", "X", "Y", "message"),
    [
        ({}, spoiled(np.nan), Y, r"Input X contains NaN(.|\n)*imputer"),
        ({}, spoiled(np.inf), Y, "Input X contains infinity or a value too large"),
        ({}, sparse.csr_array(spoiled(np.nan)), Y, "Input X contains NaN"),
        ({}, X[:, 0], Y, r"Expected 2D array, got 1D array(.|\n)*Reshape your data"),
        ({}, X[:50], Y, "one row per example each; got 50 rows in X and 60 in y. Pass"),
        ({}, X, Y[:50, 0], "got 60 rows in X and 50 in y. Pass the labels of exactly"),
        ({}, X, Y[:, :0], r"at least one example and one label; got shape \(60, 0\)"),
        ({}, X, Y[:0], r"at least one example and one label; got shape \(0, 4\)"),
        ({}, X, Y[:, :, None], r"\(n_samples, n_labels\).*3 dimensions, shape \(60, 4"),
        ({}, X, np.full(Y.shape, np.nan), "label 0 never is. Leave it out of Y"),
        ({}, X, X, "Unknown label type: continuous.*Bin such values"),
        ({}, X, [["a"], ["a", "b"]] * 30, "different lengths.*MultiLabelBinarizer"),
        ({"graph": LabelGraph(3, TRIANGLE)}, X, Y, "must have 4 nodes.*it has 3. Pass"),
        ({"graph": nx.path_graph(5)}, X, Y, "must have 4 nodes.*it has 5. Pass"),
        ({"graph": np.ones((3, 3)) - np.eye(3)}, X, Y, "must have 4 nodes.*it has 3"),
        ({"graph": [(0, 4)]}, X, Y, r"labels 0 to 3 \(there are 4.*found label 4"),
        ({"graph": [(1, 1)]}, X, Y, r"two different labels.*\(1, 1\)\. Remove it"),
        ({"graph": [(0, 1), (1, 0)]}, X, Y, r"\(0, 1\) was given 2 times. Remove"),
        ({"graph": []}, X, Y, 'the graph is empty.*Pass graph="independent"'),
        ({"graph": nx.Graph([("a", "b"), ("c", "d")])}, X, Y, "label names; found 'a'"),
        ({"graph": "tree"}, X, Y, "'random_tree', .*or a graph; got 'tree'"),
        ({"graph": None}, X, Y, "graph must be a name, a callable.*got NoneType"),
        (
            {"kernel": "gaussian"},
            X,
            Y,
            "Unknown kernel 'gaussian'. Pass one of ",
        ),
        ({"kernel": None}, X, Y, "Unknown kernel None. Pass one of .*'rbf'"),
        ({"loss": "hinge"}, X, Y, "loss must be one of 'edge', 'hamming'; got 'hinge'"),
        ({"C": 0}, X, Y, "C must be a number greater than 0; got 0"),
        ({"C": -1.0}, X, Y, "C must be a number greater than 0; got -1.0"),
        ({"C": np.nan}, X, Y, "C must be a number greater than 0; got nan"),
        ({"C": "1"}, X, Y, "C must be a number greater than 0; got '1'"),
        ({"tol": 0}, X, Y, "tol must be a number greater than 0; got 0"),
        ({"max_iter": 0}, X, Y, "max_iter must be a whole number of at least 1; got 0"),
        ({"max_iter": 1.5}, X, Y, "max_iter must be a whole number .* got 1.5"),
        ({"kernel": "rbf", "gamma": -1}, X, Y, "gamma must be a positive .* got -1"),
        ({"kernel": "poly", "degree": 0}, X, Y, "degree must be a positive .* got 0"),
        (
            {"kernel_params": {"a": 1}},
            X,
            Y,
            "of a callable kernel.*Set gamma",
        ),
        (
            {"kernel": lambda X, Z: X},
            X,
            Y,
            r"\(60, 60\); it returned shape \(60, 4",
        ),
        (given, K[:, :30], Y, "K must be square.*got 60 rows and 30 columns"),
        (given, K_asymmetric, Y, r"K must be symmetric; K\[.*Pass \(K \+ K.T\) / 2"),
        (given, -K, Y, "positive semidefinite.*is negative. Pass a kernel matrix"),
        (given, DISTANCES, Y, "positive semidefinite.*Pass a kernel matrix, not dist"),
        (given, INDEFINITE, Y[:3], "smallest eigenvalue.*-0.2.*clipping the negative"),
        (given, K + np.nan, Y, "Input X contains NaN"),
        ({**given, "normalize_kernel": True}, K, Y, "diagonal is not 1.*unit_diagonal"),
    ],
)
def test_bad_training_data_is_refused_with_a_reason(classifier, params, X, Y, message):
    with pytest.raises(ValueError, match=message):
        classifier.set_params(**params).fit(X, Y)


def test_a_sparse_precomputed_kernel_is_refused(classifier):
    with pytest.raises(TypeError, match=r"dense data is required. Use '.toarray\(\)'"):
        classifier.set_params(kernel="precomputed").fit(sparse.csr_array(K), Y)


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_bad_new_data_is_refused_with_a_reason(classifier, method):
    with pytest.raises(NotFittedError, match=r"not fitted yet\. Call 'fit'"):
        getattr(classifier, method)(X)
    call = getattr(classifier.fit(X, Y), method)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 4"):
        call(X_new[:, :3])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        call(spoiled(np.nan))
    call = getattr(classifier.set_params(kernel="precomputed").fit(K, Y), method)
    with pytest.raises(
        ValueError,
        match=r"with the 60 training examples.*got 25 columns. Compute K\(X_test, X_tr",
    ):
        call(np.ones((60, 25)))


def test_an_unknown_inference_is_refused(classifier):
    with pytest.raises(ValueError, match="one of 'certified', 'max_product'; got 'bp'"):
        classifier.fit(X, Y).predict(X, inference="bp")


# --- being robust ---------------------------------------------------------------------


def split_entries(X, parts=3):
    """The same sparse matrix with every entry stored in several parts."""
    rows, columns = np.nonzero(X)
    return sparse.csr_array(
        (
            np.repeat(X[rows, columns] / parts, parts),
            np.repeat(columns, parts),
            np.concatenate([[0], np.cumsum(parts * np.count_nonzero(X, axis=1))]),
        ),
        shape=X.shape,
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("normalize_kernel", [False, True])
def test_duplicate_sparse_entries_are_added_up(classifier, kernel, normalize_kernel):
    classifier.set_params(kernel=kernel, normalize_kernel=normalize_kernel)
    expected = clone(classifier).fit(X, Y)
    found = clone(classifier).fit(split_entries(X), Y)
    assert_allclose(found.dual_objective_, expected.dual_objective_, rtol=1e-6)
    assert_allclose(
        found.decision_function(split_entries(X_new)),
        expected.decision_function(X_new),
        atol=1e-6,
    )


def test_a_kernel_may_keep_the_matrix_it_returns(classifier):
    kept = {}

    def kernel(A, B):
        key = len(A), len(B)
        if key not in kept:
            kept[key] = A @ B.T + 1.0
            kept[key].setflags(write=False)
        return kept[key]

    classifier.set_params(kernel=kernel, normalize_kernel=True).fit(X, Y)
    assert_allclose(kept[60, 60], X @ X.T + 1.0)


def test_changing_the_training_array_changes_no_prediction(classifier):
    mine = X.copy()
    classifier.set_params(kernel="rbf").fit(mine, Y)
    expected = classifier.decision_function(X_new)
    mine[:] = 0.0
    assert_array_equal(classifier.decision_function(X_new), expected)


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
            with pytest.raises(
                ValueError, match=r"labels of fit.*\['a'\]; got \['b'\]"
            ):
                classifier.score(X, other)


def test_a_failed_fit_leaves_no_width_to_be_restored(classifier):
    classifier.set_params(kernel="rbf")
    with pytest.raises(ValueError, match="one row per example"):
        classifier.fit(X, Y[:-1])
    assert not hasattr(pickle.loads(pickle.dumps(classifier)), "gamma_")


def test_decisions_can_be_cross_validated(classifier):
    decisions = cross_val_predict(classifier, X, Y, cv=3, method="decision_function")
    assert decisions.shape == Y.shape


def test_edges_may_name_the_labels_of_a_data_frame(classifier):
    frame = pd.DataFrame(Y, columns=list("abcd"))
    classifier.set_params(graph=[("a", "c"), ("d", "c")]).fit(X, frame)
    graph = getattr(classifier, "graph_", None) or classifier.graphs_[0]
    assert graph.edges.tolist() == [[0, 2], [2, 3]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_whose_squares_overflow_are_refused(classifier, dtype):
    with pytest.raises(ValueError, match="Scale the features"):
        classifier.fit((X * np.sqrt(np.finfo(dtype).max)).astype(dtype), Y)
