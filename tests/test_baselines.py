"""Laws of the baseline classifiers."""

import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from spanforest.paper.baselines import (
    AdaBoostMHClassifier,
    BaggedSVMClassifier,
    MultiTaskFeatureClassifier,
    PerLabelClassifier,
    bagged_svm,
    svm_per_label,
)

CLASSIFIERS = [
    AdaBoostMHClassifier(n_estimators=5, max_leaf_nodes=8, random_state=0),
    MultiTaskFeatureClassifier(),
    svm_per_label(),
    bagged_svm(n_estimators=7, random_state=0),
]


def name_of(value):
    return type(value).__name__


every_classifier = pytest.mark.parametrize("classifier", CLASSIFIERS, ids=name_of)


@pytest.fixture
def data():
    return make_multilabel_classification(
        n_samples=80, n_features=12, n_classes=5, random_state=1
    )


@parametrize_with_checks(
    [
        *CLASSIFIERS,
        svm_per_label(kernel="precomputed"),
        bagged_svm(kernel="precomputed", n_estimators=7),
    ]
)
def test_scikit_learn_accepts_the_classifier(estimator, check):
    check(estimator)


# --- what all of them promise ---------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, bool])
def test_predictions_have_the_dtype_and_shape_of_the_labels(classifier, data, dtype):
    X, Y = data
    predicted = clone(classifier).fit(X, Y.astype(dtype)).predict(X)
    assert predicted.dtype == dtype
    assert predicted.shape == Y.shape


@every_classifier
@pytest.mark.parametrize("values", [(-1, 1), (1, 2), ("no", "yes")])
def test_the_coding_of_the_labels_does_not_matter(classifier, data, values):
    X, Y = data
    expected = np.array(values)[clone(classifier).fit(X, Y).predict(X)]
    assert_array_equal(
        clone(classifier).fit(X, np.array(values)[Y]).predict(X), expected
    )


@every_classifier
def test_labels_are_predicted_by_the_sign_of_their_score(classifier, data):
    X, Y = data
    fitted = clone(classifier).fit(X, Y)
    scores = fitted.decision_function(X)
    assert scores.shape == Y.shape
    assert_array_equal(fitted.predict(X), scores > 0)


@every_classifier
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_labels_with_one_value_are_predicted_as_seen(classifier, data, fit_intercept):
    X, Y = data
    Y[:, 0], Y[:, 3] = 0, 1
    classifier = clone(classifier)
    if "fit_intercept" in classifier.get_params():
        classifier.set_params(fit_intercept=fit_intercept)
    far = np.vstack([X, 50 * X, -50 * X])
    predicted = classifier.fit(X, Y).predict(far)
    assert_array_equal(predicted[:, [0, 3]], np.tile([0, 1], (len(far), 1)))
    assert_array_equal(classifier.decision_function(far) > 0, predicted)


@every_classifier
@pytest.mark.parametrize("value", [0, 1])
def test_labels_may_all_have_one_value(classifier, data, value):
    X, Y = data
    Y[:] = value
    fitted = clone(classifier).fit(X, Y)
    assert_array_equal(fitted.predict(X), Y)
    assert_array_equal(fitted.decision_function(X) > 0, Y)


@every_classifier
def test_one_column_equals_a_flat_target(classifier, data):
    X, Y = data
    flat = clone(classifier).fit(X, Y[:, 0])
    column = clone(classifier).fit(X, Y[:, :1])
    assert flat.decision_function(X).shape == (len(X),)
    assert_array_equal(column.predict(X), flat.predict(X)[:, None])


@every_classifier
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_a_single_target_may_have_many_classes(classifier, shape):
    rng = np.random.default_rng(0)
    names = np.array(["ash", "birch", "cedar"])
    which = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 2)) + 4 * np.array([[0, 0], [3, 0], [0, 3]])[which]
    y = names[which].reshape(shape)
    fitted = clone(classifier).fit(X, y)
    assert fitted.decision_function(X).shape == (90, 3)
    assert fitted.predict(X).shape == y.shape
    assert np.mean(fitted.predict(X) == y) > 0.9


@every_classifier
def test_sparse_data_give_what_dense_data_give(classifier, data):
    X, Y = data
    X = np.where(X > 4, X, 0.0)
    dense = clone(classifier).fit(X, Y)
    thin = clone(classifier).fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert_allclose(
        thin.decision_function(sparse.csc_array(X)),
        dense.decision_function(X),
        atol=2e-3 if isinstance(classifier, PerLabelClassifier) else 1e-7,
    )


@every_classifier
def test_more_than_two_values_are_refused_with_advice(classifier, data):
    X, Y = data
    Y[4, 2] = 7
    with pytest.raises(ValueError, match=r"3 values \(column 2 .* Binarise y"):
        clone(classifier).fit(X, Y)


@every_classifier
def test_columns_of_different_coding_are_refused(classifier, data):
    X, Y = data
    Y[:, 1] += 1
    with pytest.raises(ValueError, match="columns differ"):
        clone(classifier).fit(X, Y)


@every_classifier
def test_a_saved_classifier_predicts_the_same(classifier, data):
    X, Y = data
    fitted = clone(classifier).fit(X, Y)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize(
    ("classifier", "name"),
    [
        (AdaBoostMHClassifier(n_estimators=0), "n_estimators"),
        (AdaBoostMHClassifier(max_leaf_nodes=1), "max_leaf_nodes"),
        (MultiTaskFeatureClassifier(gamma=0), "gamma"),
        (MultiTaskFeatureClassifier(epsilon=0), "epsilon"),
        (MultiTaskFeatureClassifier(tol=-1), "tol"),
        (MultiTaskFeatureClassifier(max_iter=0), "max_iter"),
        (BaggedSVMClassifier(n_estimators=0), "n_estimators"),
        (BaggedSVMClassifier(max_samples=0), "max_samples"),
        (BaggedSVMClassifier(max_samples=1.5), "max_samples"),
        (BaggedSVMClassifier(gamma=-1), "gamma"),
        (BaggedSVMClassifier(gamma="wide"), "gamma"),
    ],
)
def test_a_bad_parameter_is_named(classifier, name, data):
    with pytest.raises(ValueError, match=name):
        classifier.fit(*data)


# --- AdaBoost.MH ----------------------------------------------------------------------


@pytest.mark.parametrize("max_leaf_nodes", [2, 5, 40])
@pytest.mark.parametrize("noise", [False, True])
def test_normalizers_bound_the_training_hamming_loss(data, max_leaf_nodes, noise):
    X, Y = data
    if noise:
        Y = np.random.default_rng(0).integers(2, size=Y.shape)
    model = AdaBoostMHClassifier(30, max_leaf_nodes, random_state=0).fit(X, Y)
    bounds = np.cumprod(model.normalizers_)
    losses = [np.mean(predicted != Y) for predicted in model.staged_predict(X)]
    assert np.all(losses <= bounds + 1e-12)
    assert np.all(model.normalizers_ <= 1 + 1e-12)
    assert bounds[-1] < 1


def test_normalizers_multiply_to_the_mean_exponential_loss(data):
    X, Y = data
    model = AdaBoostMHClassifier(12, 6, random_state=0).fit(X, Y)
    scores = np.array(list(model.staged_decision_function(X)))
    exponential = np.exp(-np.where(Y, 1, -1) * scores).mean(axis=(1, 2))
    assert_allclose(np.cumprod(model.normalizers_), exponential)


def test_leaf_values_are_the_smoothed_log_odds_of_their_weights(data):
    X, Y = data
    model = AdaBoostMHClassifier(2, 6, random_state=0).fit(X, Y)
    first, second = list(model.staged_decision_function(X))
    pair_weights = np.exp(-np.where(Y, 1, -1) * first)
    pair_weights /= pair_weights.sum()
    leaves = model.estimators_[1].apply(X)
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        positive = np.sum(pair_weights * (Y == 1), axis=0, where=inside[:, None])
        negative = np.sum(pair_weights * (Y == 0), axis=0, where=inside[:, None])
        expected = 0.5 * np.log((positive + 1 / Y.size) / (negative + 1 / Y.size))
        assert_allclose((second - first)[inside], np.tile(expected, (inside.sum(), 1)))


def test_every_stump_is_the_best_of_all_stumps_for_its_weights(data):
    # largest sum of S^2 / V over leaves and labels, V from the largest weight of a row
    X, _ = data
    Y = np.random.default_rng(0).integers(2, size=(len(X), 5))  # no split stands out
    signs = np.where(Y, 1.0, -1.0)

    def gain(inside, pair_weights):
        return sum(
            np.sum((signs * pair_weights)[part].sum(axis=0) ** 2)
            / pair_weights[part].max(axis=1).sum()
            for part in (inside, ~inside)
        )

    model = AdaBoostMHClassifier(15, 2, random_state=0).fit(X, Y)
    pair_weights = np.full(Y.shape, 1 / Y.size)
    for tree in model.estimators_:
        best = max(
            gain(X[:, feature] <= threshold, pair_weights)
            for feature in range(X.shape[1])
            for threshold in np.unique(X[:, feature])[:-1]
        )
        leaves = tree.apply(X)
        assert_allclose(gain(leaves == leaves[0], pair_weights), best)
        pair_weights *= np.exp(-signs * tree.predict(X))
        pair_weights /= pair_weights.sum()


def test_one_label_and_one_stump_is_the_first_stump_of_a_gini_tree(data):
    X, Y = data
    model = AdaBoostMHClassifier(1, 2, random_state=0).fit(X, Y[:, 0])
    gini = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0).fit(X, Y[:, 0])
    assert_array_equal(model.estimators_[0].apply(X), gini.apply(X))


def test_each_later_tree_lowers_the_bound_on_its_normalizer(data):
    # Z_t <= 1 - 1/2 sum S^2 / V: with smoothing small beside the weights of two leaves
    X, Y = data
    signs = np.where(Y, 1.0, -1.0)
    model = AdaBoostMHClassifier(6, 2, random_state=0).fit(X, Y)
    pair_weights = np.full(Y.shape, 1 / Y.size)
    for tree, normalizer in zip(model.estimators_, model.normalizers_, strict=True):
        leaves = tree.apply(X)
        bound = 1.0
        for leaf in np.unique(leaves):
            inside = leaves == leaf
            differences = (signs * pair_weights)[inside].sum(axis=0)
            bound -= np.sum(differences**2) / pair_weights[inside].max(axis=1).sum() / 2
        assert normalizer <= bound + 1e-3
        pair_weights *= np.exp(-signs * tree.predict(X))
        pair_weights /= pair_weights.sum()


def test_the_first_rounds_do_not_depend_on_their_number(data):
    X, Y = data
    few = AdaBoostMHClassifier(4, 6, random_state=3).fit(X, Y)
    many = AdaBoostMHClassifier(9, 6, random_state=3).fit(X, Y)
    assert_array_equal(few.normalizers_, many.normalizers_[:4])
    stages = list(many.staged_predict(X))
    assert_array_equal(stages[3], few.predict(X))
    assert_array_equal(stages[-1], many.predict(X))


# --- multitask feature learning -------------------------------------------------------


def trace_norm_minimum(X, signs, gamma):
    """Minimum of |signs - X W|^2 + gamma |W|_tr^2 by another road.

    |W|_tr is the least (|A|^2 + |B|^2) / 2 over factors W = A B', so the problem is a
    smooth one in A and B, without false minima when these are wide enough.
    """
    n_features, n_labels = X.shape[1], signs.shape[1]
    width = min(n_features, n_labels)

    def objective(flat):
        A = flat[: n_features * width].reshape(n_features, width)
        B = flat[n_features * width :].reshape(n_labels, width)
        residual = X @ A @ B.T - signs
        norm = np.sum(flat**2) / 2
        slope = 2 * X.T @ residual
        gradient = np.concatenate([(slope @ B).ravel(), (slope.T @ A).ravel()])
        return np.sum(residual**2) + gamma * norm**2, gradient + 2 * gamma * norm * flat

    start = np.random.default_rng(0).normal(size=(n_features + n_labels) * width)
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    return optimize.minimize(
        objective, start, jac=True, method="L-BFGS-B", options=options
    ).fun


@pytest.mark.parametrize("gamma", [0.1, 3.0, 100.0])
@pytest.mark.parametrize(
    ("n_samples", "n_features", "n_labels"), [(40, 6, 3), (12, 20, 4), (30, 3, 8)]
)
def test_the_minimum_is_that_of_the_trace_norm_problem(
    n_samples, n_features, n_labels, gamma
):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_samples, n_features))
    scores = X @ rng.normal(size=(n_features, n_labels))
    Y = scores > np.median(scores, axis=0)
    model = MultiTaskFeatureClassifier(
        gamma, fit_intercept=False, epsilon=1e-4, tol=1e-5, max_iter=20_000
    ).fit(X, Y)

    signs = np.where(Y, 1.0, -1.0)
    W = model.coef_.T
    objective = np.sum((signs - X @ W) ** 2)
    objective += gamma * np.linalg.norm(W, "nuc") ** 2
    assert_allclose(model.objective_, objective)
    minimum = trace_norm_minimum(X, signs, gamma)
    assert objective <= minimum * (1 + 1e-5)
    assert objective - model.duality_gap_ <= minimum * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-8, 1e-3, 1.0])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 50.0])
def test_the_objective_never_increases(data, gamma, epsilon):
    X, Y = data
    model = MultiTaskFeatureClassifier(gamma, epsilon=epsilon, tol=0, max_iter=60)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model.fit(X, Y)
    history = model.objective_history_
    assert len(history) == model.n_iter_ == 60
    assert np.all(np.diff(history) <= 1e-12 * history[0])
    assert history[-1] >= model.objective_


def test_one_label_is_ridge_regression_of_the_same_norm(data):
    # with one label |W|_tr is the Euclidean norm, and the shared matrix is 1
    X, Y = data
    model = MultiTaskFeatureClassifier(gamma=2.0, fit_intercept=False).fit(X, Y[:, 0])
    signs = np.where(Y[:, 0], 1.0, -1.0)
    ridge = np.linalg.solve(X.T @ X + 2.0 * np.eye(X.shape[1]), X.T @ signs)
    assert_allclose(model.coef_[0], ridge)


@pytest.mark.parametrize("n_samples", [8, 80])
def test_the_intercept_makes_shifts_of_the_data_irrelevant(data, n_samples):
    X, Y = data
    X, Y = X[:n_samples], Y[:n_samples]
    near = MultiTaskFeatureClassifier(tol=1e-3).fit(X, Y)
    far = MultiTaskFeatureClassifier(tol=1e-3).fit(X + 30.0, Y)
    assert_allclose(far.coef_, near.coef_, atol=1e-7)
    assert_allclose(
        far.decision_function(X + 30.0), near.decision_function(X), atol=1e-7
    )


def test_rotating_the_features_rotates_the_weights(data):
    X, Y = data
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0]
    plain = MultiTaskFeatureClassifier().fit(X, Y)
    rotated = MultiTaskFeatureClassifier().fit(X @ rotation, Y)
    assert_allclose(rotated.coef_, plain.coef_ @ rotation, atol=1e-8)


def test_a_stronger_regulariser_puts_more_into_the_first_feature(data):
    X, Y = data
    shares = []
    for gamma in (1.0, 30.0, 1e3):
        model = MultiTaskFeatureClassifier(gamma, epsilon=1e-3, tol=1e-3).fit(X, Y)
        values = np.linalg.svd(model.coef_, compute_uv=False)
        shares.append(values[0] / values.sum())
    assert shares[0] + 0.01 < shares[1]
    assert shares[1] + 0.01 < shares[2]


def test_data_without_a_direction_give_zero_weights(data):
    _, Y = data
    model = MultiTaskFeatureClassifier().fit(np.ones((len(Y), 3)), Y)
    assert_array_equal(model.coef_, np.zeros((5, 3)))
    assert_array_equal(model.predict(np.ones((1, 3)))[0], Y.mean(axis=0) > 0.5)


def test_a_small_gap_ends_the_iteration_without_a_warning(data):
    X, Y = data
    model = MultiTaskFeatureClassifier(tol=1e-3).fit(X, Y)
    assert model.duality_gap_ <= 1e-3 * model.objective_
    assert model.n_iter_ < model.max_iter


# --- support vector machines ----------------------------------------------------------


def test_svm_per_label_is_one_svc_per_label(data):
    X, Y = data
    scores = svm_per_label(C=0.3, kernel="rbf").fit(X, Y).decision_function(X)
    for j in range(Y.shape[1]):
        alone = SVC(C=0.3, kernel="rbf").fit(X, Y[:, j])
        assert_allclose(scores[:, j], alone.decision_function(X))


def test_probabilities_serve_where_there_is_no_decision_function(data):
    X, Y = data
    neighbours = KNeighborsClassifier(7)
    fitted = PerLabelClassifier(neighbours).fit(X, Y)
    alone = neighbours.fit(X, Y[:, 1]).predict_proba(X)[:, 1]
    assert_allclose(fitted.decision_function(X)[:, 1], 2 * alone - 1)


def test_per_label_classifiers_are_tuned_through_their_parameter(data):
    X, Y = data
    model = PerLabelClassifier(LogisticRegression()).set_params(estimator__C=0.01)
    assert model.fit(X, Y).estimators_[0].C == 0.01


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_bag_of_everything_predicts_as_one_svm_per_label(data, kernel):
    X, Y = data
    whole = BaggedSVMClassifier(kernel=kernel, n_estimators=1, max_samples=1.0)
    expected = svm_per_label(kernel=kernel).fit(X, Y)
    clear = np.abs(expected.decision_function(X)) > 1e-2  # two stopping points differ
    assert_array_equal(whole.fit(X, Y).predict(X)[clear], expected.predict(X)[clear])


def test_scores_of_a_bag_are_the_mean_of_votes_by_hand(data):
    X, _ = data
    Y = (X[:, :3] > np.median(X, axis=0)[:3]).astype(int)
    K = X @ X.T
    model = bagged_svm(C=0.2, n_estimators=5, random_state=2).fit(X, Y)
    assert model.samples_.shape == (5, 32)
    votes = np.zeros(Y.shape)
    for rows in model.samples_:
        assert len(np.unique(rows)) == 32
        for j in range(Y.shape[1]):
            machine = SVC(C=0.2, kernel="precomputed")
            machine.fit(K[np.ix_(rows, rows)], Y[rows, j])
            votes[:, j] += np.where(machine.predict(K[:, rows]) == 1, 1, -1)
    assert_allclose(model.decision_function(X), votes / 5)


@pytest.mark.parametrize("make", [svm_per_label, bagged_svm])
def test_a_kernel_matrix_gives_what_its_data_give(data, make):
    X, Y = data
    extra = {"random_state": 0} if make is bagged_svm else {}

    def inner(A, B):
        return A @ B.T

    plain = make(**extra).fit(X, Y).decision_function(X[:9])
    given = make(kernel="precomputed", **extra).fit(X @ X.T, Y)
    called = make(kernel=inner, **extra).fit(X, Y)
    assert_allclose(given.decision_function(X[:9] @ X.T), plain, atol=2e-3)
    assert_allclose(called.decision_function(X[:9]), plain, atol=2e-3)


def test_a_precomputed_kernel_must_be_square(data):
    X, Y = data
    with pytest.raises(ValueError, match="must be square"):
        bagged_svm(kernel="precomputed").fit(X, Y)


def test_bags_without_a_class_vote_for_the_other(data):
    X, Y = data
    Y[:, 0] = 0
    Y[5, 0] = 1
    model = bagged_svm(n_estimators=40, kernel="rbf", random_state=0).fit(X, Y)
    without = ~(model.samples_ == 5).any(axis=1)
    assert 0 < without.sum() < 40
    assert_array_equal(model.intercept_[without, 0], -1.0)
    assert_array_equal(model.dual_coef_[without, :, 0], 0.0)
    assert model.decision_function(X)[5, 0] <= 1 - 2 * without.mean()


def test_fitting_is_quiet_about_labels_with_one_value(data):
    X, Y = data
    Y[:, 2] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svm_per_label().fit(X, Y)
        bagged_svm(n_estimators=3).fit(X, Y)


def test_the_first_bags_do_not_depend_on_their_number(data):
    few = bagged_svm(n_estimators=3, random_state=1).fit(*data)
    many = bagged_svm(n_estimators=6, random_state=1).fit(*data)
    assert_array_equal(few.samples_, many.samples_[:3])


@pytest.mark.parametrize("gamma", ["scale", 0.05])
def test_gamma_means_what_it_means_for_svc(data, gamma):
    X, Y = data
    for given in (X, sparse.csr_array(X)):
        model = BaggedSVMClassifier(kernel="rbf", gamma=gamma, n_estimators=1)
        expected = 1 / (X.shape[1] * X.var()) if gamma == "scale" else gamma
        assert_allclose(model.fit(given, Y).gamma_, expected)


# --- real data ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def emotions():
    folder = os.environ.get("SPANFOREST_DATA")
    if not folder or not (Path(folder) / "emotions.npz").exists():
        pytest.skip("SPANFOREST_DATA does not name a folder with emotions.npz")
    with np.load(Path(folder) / "emotions.npz", allow_pickle=False) as stored:
        return minmax_scale(stored["X"]), stored["Y"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classifier", "paper"),
    [
        (AdaBoostMHClassifier(random_state=0), (76.8, 23.8, 66.2)),
        (MultiTaskFeatureClassifier(), (79.8, 25.5, 64.6)),
        (svm_per_label(), (77.3, 21.2, 57.1)),
        (bagged_svm(random_state=0), (74.1, 20.9, 61.5)),
    ],
    ids=name_of,
)
def test_emotions_is_predicted_at_least_as_well_as_in_the_paper(
    emotions, classifier, paper
):
    X, Y = emotions
    rows = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        predicted = clone(classifier).fit(X[train], Y[train]).predict(X[test])
        right = predicted == Y[test]
        f1 = f1_score(Y[test], predicted, average="micro")
        rows.append([right.mean(), right.all(axis=1).mean(), f1])
    assert np.all(100 * np.mean(rows, axis=0) >= np.array(paper) - 1.0)
