"""The forest kernel in the estimators: its forms, its folds, what it accepts."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from searches import fold_by_fold
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from small_data import (
    CHANCE,
    CLASSIFIERS,
    COINS,
    GRADES,
    NOISE,
    X_new,
    assert_same_model,
    assert_same_problem,
    largest_distance,
    names,
    new_classifier,
)
from small_data import X as NUMBERS
from small_data import Y as LABELS

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier, _forest_rows
from spanforest._forest_input import ForestInput, leaf_features
from spanforest._forest_rows import LeafRows
from spanforest._inputs import KernelMatrix, Resources
from spanforest._training import Settings, TrainingSet, train_path
from spanforest.graphs import LabelGraph
from spanforest.kernels import ForestKernel, KernelSpec
from spanforest.metrics import microlabel_accuracy_scorer
from spanforest.tuning import RandomGraphEnsembleClassifierCV

FEW_TREES = ForestKernel(20, min_samples_leaf=2)
CODES = LABELS.astype(np.int32)
EVEN, ODD = np.arange(0, 60, 2), np.arange(1, 60, 2)
GAPS = np.where(np.random.default_rng(1).random(NUMBERS.shape) < 0.2, np.nan, NUMBERS)


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return new_classifier(request.param).set_params(kernel=FEW_TREES)


@pytest.fixture
def no_matrix(monkeypatch):
    """Let any number of examples be too many for a kernel matrix."""
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", 0)


def fitted_input(X, codes, kernel=FEW_TREES, random_state=0):
    """Return an input fitted to X, and the basis of X."""
    resources = Resources(random_state)
    given = ForestInput(KernelSpec(kernel), normalize=False, resources=resources)
    return given, given.fit(X, codes)


def share_of_trees(leaves, others):
    """The kernel by its definition, one pair after the other."""
    return np.array([[np.mean(a == b) for b in others] for a in leaves])


# --- the kernel -----------------------------------------------------------------------


def test_the_matrix_holds_the_share_of_trees_in_which_two_examples_share_a_leaf():
    given, basis = fitted_input(NUMBERS, CODES)
    leaves = given.leaf_map.leaves(NUMBERS.astype(np.float32))
    new = given.leaf_map.leaves(X_new.astype(np.float32))
    assert_allclose(basis.compared.K, share_of_trees(leaves, leaves))
    assert_allclose(given.rows(X_new), share_of_trees(new, leaves))
    assert_allclose(basis.compared.K.diagonal(), 1.0)
    assert np.linalg.eigvalsh(basis.compared.K).min() > -1e-12


@pytest.mark.parametrize("min_samples_leaf", [1, 2, 8])
def test_inner_products_of_leaves_are_the_matrix(min_samples_leaf, monkeypatch):
    kernel = ForestKernel(20, min_samples_leaf=min_samples_leaf)
    given, basis = fitted_input(NUMBERS, CODES, kernel)
    rows = given.rows(X_new)
    Z = leaf_features(given.members, 20)
    assert_allclose((Z @ Z.T).toarray(), basis.compared.K, atol=1e-12)
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", 59)
    lazy = given.rows(X_new)
    assert isinstance(lazy, LeafRows)
    assert lazy.shape == rows.shape
    assert_allclose(lazy.toarray(), rows)


def test_the_number_of_examples_decides_on_the_form(monkeypatch):
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", 60)
    assert isinstance(fitted_input(NUMBERS, CODES)[1].compared, KernelMatrix)
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", 59)
    assert not isinstance(fitted_input(NUMBERS, CODES)[1].compared, KernelMatrix)


# --- both forms are the same model ----------------------------------------------------


@pytest.mark.needs_compiled
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_matrix_and_leaves_train_the_same_model(classifier, fit_intercept, monkeypatch):
    classifier.set_params(tol=1e-4, fit_intercept=fit_intercept)
    plain = clone(classifier).fit(NUMBERS, LABELS)
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", 0)
    leaves = classifier.fit(NUMBERS, LABELS)
    assert_same_problem(leaves, plain)
    assert leaves.dual_coef_.shape == plain.dual_coef_.shape
    scores = [m._scores(m._input.rows(X_new)) for m in (plain, leaves)]
    # an example has length 1, with the constant feature the root of 2
    assert_allclose(*scores, atol=np.sqrt(2) * largest_distance(plain, leaves))
    assert np.abs(scores[0] - scores[1]).max() < 0.02
    assert_allclose(leaves.dual_objective_, plain.dual_objective_, rtol=2e-4)


@pytest.mark.needs_compiled
def test_matrix_and_leaves_train_the_same_models_along_a_path(monkeypatch):
    settings, solutions = Settings(1.0, "hamming", True, 1e-4, 2000), []
    for most in (60, 0):
        monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", most)
        data = TrainingSet(fitted_input(NUMBERS, CODES)[1], CODES)
        factors = data.factors(LabelGraph(4, [(0, 1), (1, 2), (2, 3)]))
        rng = np.random.default_rng(0)
        solutions.append(
            list(train_path(data, factors, rng, settings, [0.1, 1.0, 10.0]))
        )
    for one, other in zip(*solutions, strict=True):
        assert one.converged
        assert other.converged
        assert_allclose(one.dual_objective, other.dual_objective, rtol=2e-4)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("labels", ["missing", "cycle"])
def test_leaves_also_train_with_missing_labels_and_on_cycles(labels, monkeypatch):
    model = MMCRFClassifier(kernel=FEW_TREES, tol=1e-3, max_iter=3000, random_state=0)
    Y = LABELS.astype(float)
    if labels == "missing":
        Y[::7, 1] = np.nan
    else:
        model.set_params(graph=[(0, 1), (1, 2), (0, 2)], tol=0.2)
    plain = clone(model).fit(NUMBERS, Y)
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", 0)
    leaves = model.fit(NUMBERS, Y)
    assert_allclose(leaves.dual_objective_, plain.dual_objective_, rtol=2 * model.tol)


@pytest.mark.needs_compiled
def test_leaves_take_far_less_memory_than_a_matrix(no_matrix):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    Y = (X[:, :3] + rng.normal(size=(4000, 3)) > 0).astype(int)
    model = MMCRFClassifier(kernel=ForestKernel(10, 20), tol=0.1, random_state=0)
    model.fit(X[:50], Y[:50])
    tracemalloc.start()
    model.fit(X, Y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.25 * 8 * 4000**2


# --- randomness -----------------------------------------------------------------------


@pytest.mark.needs_compiled
def test_equal_seeds_give_equal_forests_for_any_number_of_threads():
    model = RandomGraphEnsembleClassifier(3, kernel=FEW_TREES, random_state=5)
    plain = clone(model).fit(NUMBERS, LABELS)
    threads = clone(model).set_params(n_jobs=2).fit(NUMBERS, LABELS)
    assert_same_model(plain, threads)
    other = clone(model).set_params(random_state=6).fit(NUMBERS, LABELS)
    rows = [m._input.rows(X_new) for m in (plain, threads, other)]
    assert_array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


@pytest.mark.needs_compiled
@pytest.mark.parametrize("new_state", [np.random.RandomState, np.random.default_rng])
def test_a_random_state_object_seeds_the_forest_too(classifier, new_state):
    models = [
        clone(classifier).set_params(random_state=new_state(3)).fit(NUMBERS, LABELS)
        for _ in range(2)
    ]
    assert_same_model(*models)


@pytest.mark.needs_compiled
def test_members_share_the_forest_of_their_ensemble():
    model = RandomGraphEnsembleClassifier(3, kernel=FEW_TREES, random_state=0)
    model.fit(NUMBERS, LABELS)
    assert all(m._input is model._input for m in model.estimators_)
    alone = MMCRFClassifier(kernel=FEW_TREES, random_state=0).fit(NUMBERS, LABELS)
    assert_array_equal(alone._input.rows(X_new), model._input.rows(X_new))


@pytest.mark.needs_compiled
def test_the_name_means_a_forest_with_default_parameters(classifier):
    by_name = clone(classifier).set_params(kernel="forest").fit(NUMBERS, LABELS)
    assert_same_model(
        by_name, classifier.set_params(kernel=ForestKernel()).fit(NUMBERS, LABELS)
    )
    assert by_name.gamma_ is None


@pytest.mark.needs_compiled
def test_the_scale_of_features_does_not_matter(classifier):
    plain = clone(classifier).fit(NUMBERS, LABELS)
    scaled = classifier.fit(NUMBERS * [2**20, 1, 2**-10, 8], LABELS)
    assert_same_model(plain, scaled)


# --- folds ----------------------------------------------------------------------------


@pytest.mark.needs_compiled
@pytest.mark.parametrize("most", [0, 60])
def test_a_fold_grows_its_own_forest(most, monkeypatch):
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", most)
    whole, basis = fitted_input(NUMBERS, CODES)
    inside, rows = basis.fold(EVEN, ODD)
    alone, expected = fitted_input(NUMBERS[EVEN], CODES[EVEN])
    dense = sparse.csr_array
    assert_array_equal(
        dense(inside.compared[0]).toarray(), dense(expected.compared[0]).toarray()
    )
    expected_rows = alone.rows(NUMBERS[ODD]) @ np.eye(30)
    assert_array_equal(rows @ np.eye(30), expected_rows)
    sliced = (whole.rows(NUMBERS[ODD]) @ np.eye(60))[:, EVEN]
    assert not np.allclose(expected_rows, sliced)


def test_a_fold_of_a_basis_in_single_precision_is_in_single_precision():
    _, basis = fitted_input(NUMBERS, CODES)
    inside, _ = basis.in_single_precision().fold(EVEN, ODD)
    assert inside.compared.K.dtype == np.float32


DEEP_FOREST = ForestKernel(30, min_samples_leaf=1)


@pytest.mark.needs_compiled
def test_random_labels_are_learned_by_heart_but_not_predicted_on_other_folds():
    model = MMCRFClassifier(kernel=DEEP_FOREST, C=10, tol=0.05, random_state=0)
    assert model.fit(NOISE, COINS).score(NOISE, COINS) > 0.9
    scores = cross_val_score(
        model, NOISE, COINS, scoring=microlabel_accuracy_scorer, cv=3
    )
    assert np.mean(scores) < CHANCE


@pytest.mark.needs_compiled
def test_tuning_scores_random_labels_at_chance_level():
    tuned = RandomGraphEnsembleClassifierCV(
        2,
        kernels=[DEEP_FOREST],
        Cs=(1.0, 10.0),
        losses="edge",
        scoring="microlabel_accuracy",
        n_estimators_search=2,
        random_state=0,
    ).fit(NOISE, COINS)
    assert tuned.cv_results_["mean_test_score"].max() < CHANCE


@pytest.mark.needs_compiled
def test_calibration_finds_no_certainty_in_random_labels():
    model = MMCRFClassifier(
        kernel=DEEP_FOREST, C=10, probability=True, random_state=0
    ).fit(NOISE, COINS)
    P = model.predict_proba(np.random.default_rng(8).normal(size=(200, 5)))
    assert np.abs(P - 0.5).max() < 0.2


@pytest.mark.needs_compiled
def test_tuning_scores_folds_as_fits_on_them_would():
    fold_by_fold(GAPS, LABELS, FEW_TREES)


@pytest.mark.needs_compiled
def test_tuning_chooses_between_forests_and_other_kernels():
    tuned = RandomGraphEnsembleClassifierCV(
        2,
        kernels=["rbf", ForestKernel(5), ForestKernel(5, 20)],
        gammas=(1.0,),
        Cs=1.0,
        losses="edge",
        offsets=0.0,
        thresholds=None,
        training="separate",
        random_state=0,
    ).fit(NUMBERS, LABELS)
    assert len(tuned.cv_results_["params"]) == 3
    assert tuned.cv_results_["param_kernel"][1] == ForestKernel(5)
    assert tuned.predict(X_new).shape == (25, 4)


# --- what it accepts ------------------------------------------------------------------


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kind", ["extra", "random"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_missing_values_are_accepted_in_training_and_prediction(
    classifier, kind, dtype
):
    classifier.set_params(kernel=ForestKernel(20, 2, kind=kind), C=10)
    fitted = classifier.fit(GAPS.astype(dtype), LABELS)
    assert fitted.score(GAPS.astype(dtype), LABELS) > 0.6
    assert fitted.predict(np.full((1, 4), np.nan)).shape == (1, 4)


@pytest.mark.needs_compiled
def test_sparse_examples_are_accepted(classifier):
    X = np.maximum(np.round(2 * NUMBERS), 0)
    fitted = classifier.set_params(C=10).fit(sparse.csr_matrix(X), LABELS)
    assert fitted.score(X, LABELS) > 0.5
    assert_array_equal(fitted.predict(X), fitted.predict(sparse.csc_array(X)))


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "Y",
    [
        GRADES,
        LABELS[:, 0],
        np.where(GAPS > 9, 1.0, np.where(np.isnan(GAPS), np.nan, LABELS)),
    ],
    ids=["several values", "one label", "missing labels"],
)
def test_labels_of_every_kind_grow_a_forest(classifier, Y):
    fitted = classifier.set_params(C=10).fit(NUMBERS, Y)
    assert fitted.predict(X_new).shape == (25, *np.shape(Y)[1:])


def test_constant_labels_grow_a_forest(classifier):
    fitted = classifier.fit(NUMBERS, np.ones((60, 2), dtype=int))
    assert_array_equal(fitted.predict(X_new), np.ones((25, 2)))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_other_kernels_refuse_missing_values_and_name_the_forest(classifier, kernel):
    with pytest.raises(ValueError, match=r'contains NaN.* Choose kernel="forest"'):
        classifier.set_params(kernel=kernel).fit(GAPS, LABELS)


K = NUMBERS @ NUMBERS.T + np.eye(60)
BAD_INPUT = {
    "a kernel matrix": (K, r'looks like a kernel matrix.*kernel "precomputed"'),
    "sparse NaN": (sparse.csr_array(GAPS), r"sparse and has NaN.*X.toarray\(\)"),
    "an empty column": (
        np.where([0, 0, 1, 0], np.nan, NUMBERS),
        "column 2 of X is NaN everywhere. Leave it out",
    ),
    "empty columns": (
        np.where([0, 1, 1, 0], np.nan, NUMBERS),
        r"2 columns of X \(1, 2\) are NaN everywhere. Leave them out",
    ),
    "many empty columns": (
        np.full((len(NUMBERS), 7), np.nan),
        r"7 columns of X \(0, 1, 2, 3, 4, ...\) are NaN everywhere",
    ),
    "infinity": (np.where(NUMBERS > 1, np.inf, NUMBERS), "infinity"),
    "too large": (NUMBERS * 1e200, "Divide these features"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_input_that_no_forest_can_use_is_refused_and_nothing_is_fitted(
    classifier, case
):
    X, message = BAD_INPUT[case]
    with pytest.raises(ValueError, match=message):
        classifier.fit(X, LABELS)
    assert not hasattr(classifier, "dual_coef_")


def test_a_column_without_values_in_a_fold_only_is_accepted():
    X = NUMBERS.copy()
    X[EVEN, 2] = np.nan
    _, basis = fitted_input(X, CODES)
    assert basis.fold(EVEN, ODD)[1].shape == (30, 30)


def test_symmetric_features_that_are_no_kernel_matrix_are_accepted(classifier):
    for X in (np.eye(60), np.eye(60)[::-1]):
        assert classifier.fit(X, LABELS).n_features_in_ == 60


def test_only_kernels_that_accept_missing_values_say_so():
    def allows_nan(estimator):
        return estimator.__sklearn_tags__().input_tags.allow_nan

    assert allows_nan(MMCRFClassifier(kernel="forest"))
    assert allows_nan(RandomGraphEnsembleClassifier(kernel=ForestKernel()))
    assert not allows_nan(MMCRFClassifier(kernel="rbf"))
    assert allows_nan(RandomGraphEnsembleClassifierCV(kernels=["forest"]))
    assert not allows_nan(RandomGraphEnsembleClassifierCV(kernels=["forest", "rbf"]))


# --- tables with names and categories -------------------------------------------------


def table(n_rows=60, *, missing=True):
    """Return numbers, a column of categories that decides on label 0, and text."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(NUMBERS[:n_rows], columns=list("abcd"))
    frame["colour"] = pd.Categorical(draw.choice(["red", "green", "blue"], n_rows))
    if missing:
        frame.loc[5, "a"] = np.nan
        frame.loc[6, "colour"] = None
    return frame


FRAME = table()
COLOURED = np.column_stack([FRAME["colour"] == "red", NUMBERS[:, 0] > 0]).astype(int)


def test_columns_of_categories_are_features(classifier):
    fitted = classifier.set_params(C=10).fit(FRAME, names(COLOURED))
    assert fitted.feature_names_in_.tolist() == [*"abcd", "colour"]
    assert fitted.score(FRAME, names(COLOURED)) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(FRAME[["colour", *"abcd"]])


def test_a_category_means_the_same_whatever_its_number_in_new_examples(classifier):
    fitted = classifier.fit(FRAME, COLOURED)
    other = FRAME.assign(
        colour=FRAME["colour"].cat.reorder_categories(["red", "green", "blue"])
    )
    text = FRAME.assign(colour=FRAME["colour"].astype(object))
    for same in (other, text):
        assert_array_equal(
            fitted.decision_function(same), fitted.decision_function(FRAME)
        )


def test_an_unknown_category_counts_as_missing(classifier):
    fitted = classifier.fit(FRAME, COLOURED)
    unknown, missing = FRAME.assign(colour="violet"), FRAME.assign(colour=None)
    assert_array_equal(
        fitted.decision_function(unknown), fitted.decision_function(missing)
    )


def test_columns_of_text_can_be_named_as_categories(classifier):
    text = FRAME.assign(colour=FRAME["colour"].astype(object))
    told = ForestKernel(20, 2, categories=["colour"])
    plain = clone(classifier).fit(FRAME, COLOURED)
    for X in (text, text.to_numpy(dtype=object)):
        if not hasattr(X, "columns"):
            told = clone(told).set_params(categories=[4])
        fitted = clone(classifier).set_params(kernel=told).fit(X, COLOURED)
        assert_same_model(fitted, plain)


def test_text_that_is_not_told_to_be_categories_is_refused(classifier):
    text = FRAME.assign(name=["x"] * 60)
    with pytest.raises(ValueError, match=r"column 'name' .* found 'x'.*categories="):
        classifier.fit(text, COLOURED)


@pytest.mark.needs_compiled
def test_categories_are_remembered_in_folds():
    model = MMCRFClassifier(kernel=FEW_TREES, random_state=0, probability=True)
    assert model.fit(FRAME, COLOURED).predict_proba(FRAME).shape == (60, 2)
    assert np.mean(cross_val_score(model, FRAME, COLOURED, cv=3)) > 0.5


@pytest.mark.parametrize("kind", ["extra", "random"])
def test_weights_of_examples_reach_the_forest_and_its_folds(kind):
    kernel = ForestKernel(10, min_samples_leaf=2, kind=kind)
    weights = np.where(np.arange(60) < 30, 1.0, 3.0)
    given = ForestInput(KernelSpec(kernel), normalize=False, resources=Resources(0))
    _, plain = fitted_input(NUMBERS, CODES, kernel)
    weighted = given.fit(NUMBERS, CODES, weights)
    assert np.abs(weighted.compared.K - plain.compared.K).max() > 0.1
    inside, rows = weighted.fold(EVEN, ODD, weights[EVEN])
    alone = ForestInput(KernelSpec(kernel), normalize=False, resources=Resources(0))
    expected = alone.fit(NUMBERS[EVEN], CODES[EVEN], weights[EVEN])
    assert_array_equal(inside.compared.K, expected.compared.K)
    assert_array_equal(rows, alone.rows(NUMBERS[ODD]))


# --- the unit and the origin of features ----------------------------------------------

DYADIC = np.round(NUMBERS * 2**10) / 2**10  # sums with 2**30 are exact


def kernel_of(X, X_new):
    given = ForestInput(KernelSpec(FEW_TREES), normalize=False, resources=Resources(0))
    given.learn_scaling("auto", X)
    given.fit(X, CODES)
    return given.rows(X_new)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_unit_of_features_does_not_matter(form):
    expected = kernel_of(form(NUMBERS), form(X_new))
    for unit in (2.0**-40, 2.0**-300):  # trees of scikit-learn take these as equal
        assert_array_equal(
            kernel_of(form(NUMBERS * unit), form(X_new * unit)), expected
        )


def test_the_origin_of_features_does_not_matter():
    expected = kernel_of(DYADIC, DYADIC)
    assert_array_equal(kernel_of(DYADIC + 2.0**30, DYADIC + 2.0**30), expected)


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # not ours
def test_missing_values_of_r_are_missing_values():
    signalling = np.array([0x7FF00000000007A2], dtype=np.uint64).view(float)[0]
    fitted = [
        RandomGraphEnsembleClassifier(2, kernel=FEW_TREES, random_state=0).fit(
            X, LABELS
        )
        for X in (GAPS, np.where(np.isnan(GAPS), signalling, GAPS))
    ]
    assert_same_model(*fitted)


def test_values_far_outside_of_tiny_features_are_on_one_side_of_all_splits():
    tiny = NUMBERS * 2.0**-300
    at_most = kernel_of(tiny, tiny.max(axis=0)[None])
    assert_array_equal(kernel_of(tiny, np.full((1, tiny.shape[1]), 1e30)), at_most)


def test_ordinary_features_with_gaps_stay_as_they_are():
    given = ForestInput(KernelSpec(FEW_TREES), normalize=False)
    given.learn_scaling("auto", GAPS)
    assert given.scaling is None
