"""Scaling of features inside the estimators, and the kernel that fit chooses."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from small_data import X, X_bits, X_new, Y

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest._inputs import Features, KernelInput, LinearInput
from spanforest._scaling import MOST_IN_TABLE, Rule, kernel_for, rule_for
from spanforest.kernels import KernelSpec, median_gamma, unit_rows
from spanforest.tuning import RandomGraphEnsembleClassifierCV

rng = np.random.default_rng(0)
SIZES = np.logspace(-9, 9, 4)
WORDS = (rng.random((60, 30)) < 0.1) * rng.integers(1, 5, (60, 30)).astype(float)
MIXED = np.column_stack([X * SIZES + 1e3 * SIZES, WORDS])
TREE = MMCRFClassifier(tol=1e-3, max_iter=2000, random_state=0)


def scaled_by(name, kernel, Z):
    return rule_for(name, kernel, Z).learn(Z).apply(Z)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_dense_and_sparse_matrices_of_the_same_numbers_are_scaled_alike(form, kernel):
    expected = scaled_by("auto", kernel, MIXED)
    actual = scaled_by("auto", kernel, form(MIXED))
    dense = actual.toarray() if sparse.issparse(actual) else actual
    assert_allclose(dense, expected, rtol=1e-6, atol=1e-9)


def test_words_stay_sparse_and_a_full_sparse_table_becomes_dense():
    assert sparse.issparse(scaled_by("auto", "linear", sparse.csr_array(WORDS)))
    assert sparse.issparse(scaled_by("auto", "linear", sparse.csr_array(MIXED)))
    assert not sparse.issparse(scaled_by("auto", "linear", sparse.csr_array(X)))


def test_auto_standardises_full_columns_and_keeps_the_zeros_of_the_others():
    expected = [StandardScaler().fit_transform(MIXED[:, :4])]
    expected.append(MaxAbsScaler().fit_transform(MIXED[:, 4:]))
    assert_allclose(scaled_by("auto", "rbf", MIXED), np.hstack(expected), atol=1e-7)


@pytest.mark.parametrize("Z", [X, WORDS, MIXED, sparse.csr_array(MIXED), 5 + 0 * X])
def test_examples_of_a_linear_kernel_have_an_average_squared_length_of_one(Z):
    scaled = scaled_by("auto", "linear", Z)
    squares = scaled.multiply(scaled) if sparse.issparse(scaled) else scaled**2
    is_constant = sparse.issparse(Z) is False and np.ptp(Z) == 0
    assert squares.sum() / Z.shape[0] == pytest.approx(0.0 if is_constant else 1.0)


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    ("name", "scaler"), [("standard", StandardScaler()), ("max_abs", MaxAbsScaler())]
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_named_scaling_equals_a_scaler_before_the_classifier(name, scaler, kernel):
    inside = TREE.__class__(kernel=kernel, scaling=name, random_state=0, max_iter=500)
    plain = TREE.__class__(kernel=kernel, scaling=None, random_state=0, max_iter=500)
    inside.fit(X * SIZES, Y)
    before = make_pipeline(scaler, plain).fit(X * SIZES, Y)
    assert_allclose(
        inside.decision_function(X_new * SIZES),
        before.decision_function(X_new * SIZES),
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.needs_compiled
@pytest.mark.parametrize("scaling", ["auto", "standard", "max_abs", None])
def test_the_weights_of_a_linear_kernel_belong_to_features_as_users_have_them(scaling):
    shifted = X + np.arange(4)
    clf = RandomGraphEnsembleClassifier(
        3, kernel="linear", scaling=scaling, max_iter=1000, random_state=0
    ).fit(shifted, Y)
    scores = shifted @ clf.cell_coef_ + clf.cell_intercept_
    assert_allclose(clf._scores(clf._input.rows(shifted)), scores)
    # the same scores from scaled features and the weights that were learned for them
    if scaling is not None:
        given = clf._input.scaling
        weights = clf.cell_coef_ / given.factor[:, None]
        intercept = clf.cell_intercept_ + given.centre @ clf.cell_coef_
        assert_allclose(given.apply(shifted) @ weights + intercept, scores)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly", "cosine"])
@pytest.mark.parametrize("normalize", [False, True])
def test_neither_unit_nor_origin_of_a_feature_matters(kernel, normalize):
    clf = TREE.__class__(
        kernel=kernel, normalize_kernel=normalize, max_iter=500, random_state=0
    )
    one = clf.fit(X, Y).decision_function(X_new)
    other = clf.fit(X * SIZES + SIZES, Y).decision_function(X_new * SIZES + SIZES)
    assert_allclose(other, one, rtol=1e-5, atol=1e-6)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("scaling", ["auto", "max_abs", "standard"])
@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_word_that_no_training_text_has_changes_no_score(form, kernel, scaling):
    words = np.random.default_rng(0).poisson(0.3, size=(60, 20)).astype(float)
    words[:, 7] = 0
    new = words.copy()
    new[:, 7] = 9
    clf = TREE.__class__(kernel=kernel, scaling=scaling, random_state=0)
    clf.fit(form(words), Y)
    expected = clf.decision_function(form(words))
    assert_allclose(clf.decision_function(form(new)), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_columns_outliers_and_single_precision_give_finite_scores(
    kernel, dtype
):
    odd = np.column_stack([X, np.full(60, 1e6), np.zeros(60), X[:, 0]])
    odd[3, -1] = 1e12
    clf = RandomGraphEnsembleClassifier(3, kernel=kernel, random_state=0)
    scores = clf.fit(odd.astype(dtype), Y).decision_function(odd.astype(dtype))
    assert np.isfinite(scores).all()


@pytest.mark.needs_compiled
def test_the_default_gamma_is_that_of_scaled_features():
    clf = TREE.__class__(kernel="rbf", max_iter=500).fit(X * SIZES, Y)
    expected = median_gamma(StandardScaler().fit_transform(X))
    assert clf.gamma_ == pytest.approx(expected, rel=1e-6)
    tuned = RandomGraphEnsembleClassifierCV(
        2, kernels="rbf", gammas=1.0, Cs=1.0, losses="edge", random_state=0
    ).fit(X * SIZES, Y)
    assert tuned.gamma_ == pytest.approx(expected, rel=1e-6)


def test_bits_for_tanimoto_and_features_for_a_function_stay_as_they_are():
    assert rule_for("auto", "tanimoto", X_bits) is None
    assert rule_for("auto", lambda A, B: A @ B.T, X) is None
    assert rule_for("standard", lambda A, B: A @ B.T, X) is not None


@pytest.mark.needs_compiled
def test_a_kernel_matrix_is_never_scaled():
    K = X @ X.T
    clf = MMCRFClassifier(kernel="precomputed", max_iter=500, random_state=0)
    assert_array_equal(
        clf.fit(K, Y).dual_coef_, clf.set_params(scaling=None).fit(K, Y).dual_coef_
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_an_unknown_scaling_is_refused(kernel):
    Z = X @ X.T if kernel == "precomputed" else X
    with pytest.raises(ValueError, match=r"scaling must be one of 'auto', 'standard'"):
        MMCRFClassifier(kernel=kernel, scaling="minmax").fit(Z, Y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_features_whose_squares_overflow_are_refused_before_they_are_scaled(kernel):
    with pytest.raises(ValueError, match="squares overflow"):
        MMCRFClassifier(kernel=kernel).fit(X * 1e200, Y)


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_folds_of_features_learn_their_scaling_from_their_training_rows(kernel):
    examples = MIXED.copy()
    examples[:40, -1] = 0  # only test examples have this word
    given = LinearInput(KernelSpec(kernel), normalize=False)
    given.learn_scaling("auto", examples)
    train, test = np.arange(40), np.arange(40, 60)
    basis, rows = given.fit(examples, Y).fold(train, test)
    alone = given.rule.learn(examples[train])
    own, others = alone.apply(examples[train]), alone.apply(examples[test])
    if kernel == "cosine":
        own, others = unit_rows(own), unit_rows(others)
    assert_allclose(basis.rows, own, atol=1e-7)
    assert_allclose(rows, others, atol=1e-7)
    assert isinstance(basis, Features)
    assert basis.rule is None  # nothing is left to learn


def test_a_weight_of_two_is_the_example_twice_and_zero_leaves_it_out():
    weight = np.r_[np.zeros(10), np.full(20, 2.0), np.ones(30)]
    repeated = np.repeat(MIXED, weight.astype(int), axis=0)
    for kernel in ("linear", "rbf"):
        rule = rule_for("auto", kernel, MIXED, weight)
        assert_array_equal(rule.centred, rule_for("auto", kernel, repeated).centred)
        one, other = rule.learn(MIXED, weight), rule.learn(repeated)
        assert_allclose(one.centre, other.centre)
        assert_allclose(one.factor, other.factor)


@pytest.mark.needs_compiled
def test_auto_takes_a_gaussian_kernel_for_tables_and_a_linear_one_for_words():
    assert kernel_for(X) == kernel_for(sparse.csr_array(X)) == "rbf"
    assert kernel_for(WORDS) == kernel_for(sparse.csr_array(WORDS)) == "linear"
    assert kernel_for(np.ones((MOST_IN_TABLE + 1, 2))) == "linear"
    clf = RandomGraphEnsembleClassifier(2, random_state=0)
    assert clf.fit(X, Y).kernel_ == clf.estimators_[0].kernel_ == "rbf"
    assert clf.fit(WORDS, Y).kernel_ == "linear"
    assert clf.cell_coef_.shape[0] == WORDS.shape[1]
    assert not hasattr(clf, "dual_coef_")


@pytest.mark.needs_compiled
@pytest.mark.parametrize("Z", [X * SIZES, WORDS, sparse.csr_array(WORDS), MIXED])
@pytest.mark.parametrize("classifier", [MMCRFClassifier, RandomGraphEnsembleClassifier])
def test_with_all_defaults_training_converges_on_raw_features(Z, classifier):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert classifier().fit(Z, Y).score(Z, Y) > 0.3


def test_a_scaling_of_new_examples_far_outside_is_refused():
    given = KernelInput(KernelSpec("rbf"), normalize=False)
    given.learn_scaling("auto", X * 1e-9)
    with pytest.raises(ValueError, match="squares overflow"):
        given.scaled(np.full((1, 4), 1e149))


@pytest.mark.parametrize("by_deviation", [False, True])
@pytest.mark.parametrize("size", [0.0, 1e-310])  # the inverse of the second overflows
def test_features_that_are_zero_in_all_examples_count_for_nothing(size, by_deviation):
    everywhere = np.ones(4, dtype=bool)
    rule = Rule(everywhere, everywhere & by_deviation, unit_length=True)
    assert_array_equal(rule.learn(size * (X > 0)).factor, 0.0)


def test_tiny_features_are_scaled_for_the_linear_kernel_like_any_others():
    tiny = 2.0**-520 * X  # their squares are below the smallest normal number
    expected = scaled_by("auto", "linear", X)
    assert_allclose(scaled_by("auto", "linear", tiny), expected, rtol=1e-6)
