"""Kinds of input, alone and through the estimators."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from searches import fold_by_fold
from sklearn.base import clone
from sklearn.metrics.pairwise import (
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.preprocessing import normalize
from small_data import (
    CLASSIFIERS,
    X,
    X_bits,
    X_new,
    X_new_bits,
    Y,
    assert_same_model,
    assert_same_problem,
    largest_distance,
    new_classifier,
    weights,
)

from spanforest._calibration_folds import RefittedMembers, margins_of_fold
from spanforest._input_kinds import input_for, kind_of_input
from spanforest._inputs import (
    SINGLE_SUFFICES,
    Input,
    KernelInput,
    LinearInput,
    PrecomputedInput,
)
from spanforest._training import Draw, Settings, TrainingSet, train_member, train_path
from spanforest.aggregation import average_margins
from spanforest.factors import Coordinates, FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.kernels import (
    KERNELS,
    KernelSpec,
    median_gamma,
    tanimoto_kernel,
    unit_diagonal,
)
from spanforest.solver import DenseForm, KernelForm, SparseForm


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return new_classifier(request.param)


# --- kinds of input alone -------------------------------------------------------------

CODES = Y.astype(np.int32)
EVEN, ODD = np.arange(0, 60, 2), np.arange(1, 60, 2)
LINEAR = ("cosine", "linear")  # without a matrix
GAMMA = {"gamma": 0.7}  # fixed: a fold would derive another from its own examples


def spherical(A, B):
    """A kernel that users may pass, of features of either form."""
    return rbf_kernel(A, B, gamma=0.3)


def fitted_input(kernel, X, *, normalize=False):
    """Return an input fitted to X, and the basis of X."""
    given = input_for(KernelSpec(kernel, **GAMMA), normalize)
    return given, given.fit(X, CODES[: X.shape[0]])


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@pytest.mark.parametrize(
    ("kernel", "kind", "weights_name"),
    [
        *((name, LinearInput, "cell_coef_") for name in LINEAR),
        ("precomputed", PrecomputedInput, "dual_coef_"),
        *((name, KernelInput, "dual_coef_") for name in KERNELS if name not in LINEAR),
        (spherical, KernelInput, "dual_coef_"),
        (linear_kernel, KernelInput, "dual_coef_"),
    ],
)
def test_the_kernel_says_which_kind_of_input_it_is(kernel, kind, weights_name):
    assert kind_of_input(kernel) is kind
    assert kind.weights_name == weights_name
    assert kind.is_pairwise == (kernel == "precomputed")
    assert type(input_for(KernelSpec(kernel), normalize=False)) is kind


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", LINEAR)
def test_linear_input_is_the_features_scaled_to_unit_length_on_demand(
    kernel, form, normalized
):
    given, basis = fitted_input(kernel, form(X), normalize=normalized)
    has_unit_length = normalized or kernel == "cosine"
    expected, expected_new = (
        (normalize(X), normalize(X_new)) if has_unit_length else (X, X_new)
    )
    assert_allclose(dense(basis.rows), expected)
    assert_allclose(dense(given.rows(form(X_new))), expected_new)
    assert sparse.issparse(basis.rows) == (form is sparse.csr_array)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "tanimoto", spherical])
def test_kernel_input_is_the_kernel_between_all_pairs(kernel, form, normalized):
    given, basis = fitted_input(kernel, form(X), normalize=normalized)
    spec = KernelSpec(kernel, **GAMMA)
    own, own_new = spec.diagonal(X), spec.diagonal(X_new)
    K, K_new = spec.matrix(X, X), spec.matrix(X_new, X)
    if normalized:
        K, K_new = unit_diagonal(K, own, own), unit_diagonal(K_new, own_new, own)
    assert_allclose(basis.K, K, rtol=1e-9, atol=1e-12)
    assert_allclose(given.rows(form(X_new)), K_new, rtol=1e-9, atol=1e-12)
    assert basis.K.flags.c_contiguous


def test_precomputed_input_is_the_matrix_as_it_is_given():
    K, K_new = spherical(X, X), spherical(X_new, X)
    given, basis = fitted_input("precomputed", K)
    assert_array_equal(basis.K, K)
    assert given.rows(K_new) is K_new


@pytest.mark.parametrize("kernel", [*LINEAR, "rbf", "poly", spherical])
@pytest.mark.parametrize("normalized", [False, True])
def test_new_examples_are_treated_as_training_examples_are(kernel, normalized):
    given, basis = fitted_input(kernel, X, normalize=normalized)
    rows = basis.rows if kernel in LINEAR else basis.K
    assert_allclose(given.rows(X.copy()), rows, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "kernel", ["linear", "rbf", "laplacian", "poly", "cosine", "tanimoto", spherical]
)
def test_a_fold_equals_the_input_of_the_fold_alone(kernel, form, normalized):
    examples = form(X)
    _, basis = fitted_input(kernel, examples, normalize=normalized)
    inside, rows = basis.fold(EVEN, ODD)
    alone, expected = fitted_input(kernel, examples[EVEN], normalize=normalized)
    assert type(inside) is type(expected)
    assert_allclose(dense(inside[0]), dense(expected[0]), rtol=1e-9, atol=1e-12)
    expected_rows = dense(alone.rows(examples[ODD]))
    assert_allclose(dense(rows), expected_rows, rtol=1e-9, atol=1e-12)


def test_a_fold_of_a_precomputed_matrix_has_the_kernel_of_the_fold():
    _, basis = fitted_input("precomputed", spherical(X, X))
    inside, rows = basis.fold(EVEN, ODD)
    assert_allclose(inside.K, spherical(X[EVEN], X[EVEN]))
    assert_allclose(rows, spherical(X[ODD], X[EVEN]))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fold_of_a_training_set_has_the_labels_of_its_rows(kernel):
    _, basis = fitted_input(kernel, X)
    whole = TrainingSet(basis, CODES, ["a", "b", "c", "d"])
    inside, rows = whole.fold(ODD[::-1], EVEN)
    assert_array_equal(inside.Y, CODES[ODD[::-1]])
    assert inside.label_names == whole.label_names
    expected, expected_rows = basis.fold(ODD[::-1], EVEN)
    assert_array_equal(inside.basis[0], expected[0])
    assert_array_equal(rows, expected_rows)


def test_only_kernel_matrices_are_rounded_to_single_precision():
    _, features = fitted_input("linear", X)
    assert features.in_single_precision() is features
    _, basis = fitted_input("rbf", X)
    single = basis.in_single_precision()
    assert single.K.dtype == np.float32
    assert_allclose(single.K, basis.K, rtol=1e-6)
    assert single.in_single_precision().K is single.K


def test_a_rounded_copy_is_added_where_the_tolerance_allows_it():
    _, basis = fitted_input("rbf", X)
    prepared = basis.prepared(SINGLE_SUFFICES)
    assert prepared.K is basis.K
    assert prepared.single.dtype == np.float32
    assert_array_equal(prepared.single, basis.K.astype(np.float32))
    assert basis.prepared(SINGLE_SUFFICES / 2) is basis
    single = basis.in_single_precision()
    assert single.prepared(1.0) is single
    _, features = fitted_input("linear", X)
    assert features.prepared(1.0) is features


def test_no_copy_is_made_of_a_matrix_that_would_take_too_much_memory(monkeypatch):
    _, basis = fitted_input("rbf", X)
    monkeypatch.setattr("spanforest._inputs.LARGEST_COPY", basis.K.nbytes // 2)
    assert basis.prepared(1.0).single is not None
    monkeypatch.setattr("spanforest._inputs.LARGEST_COPY", basis.K.nbytes // 2 - 1)
    assert basis.prepared(1.0) is basis


@pytest.mark.parametrize(
    ("kernel", "examples", "form"),
    [
        ("linear", X, DenseForm),
        ("linear", sparse.csr_array(X), SparseForm),
        ("rbf", X, KernelForm),
        ("precomputed", spherical(X, X), KernelForm),
    ],
    ids=["dense", "sparse", "kernel", "precomputed"],
)
def test_a_basis_gives_the_solver_its_form(kernel, examples, form):
    _, basis = fitted_input(kernel, examples)
    coordinates = Coordinates.of(FactorGraph(LabelGraph(4, [(0, 1)]), [2] * 4))
    assert isinstance(basis.form(coordinates, True), form)


# --- a kind of input that is fitted to examples and labels ----------------------------


class WeightedBasis(NamedTuple):
    """Examples that a linear kernel compares, features weighted by use for labels."""

    X: np.ndarray
    Y: np.ndarray

    @property
    def importance(self):
        use = np.abs(self.X.T @ (self.Y - self.Y.mean(axis=0))).sum(axis=1)
        return use / use.max()

    def rows(self, X):
        return (X * self.importance) @ self.X.T

    def form(self, coordinates, fit_intercept):
        return KernelForm(self.rows(self.X), coordinates, fit_intercept)

    def fold(self, train, test, sample_weight=None):
        inside = WeightedBasis(self.X[train], self.Y[train])
        return inside, inside.rows(self.X[test])

    def in_single_precision(self):
        return self

    def prepared(self, tol):
        return self


class WeightedInput(Input):
    """The kind of input that goes with `WeightedBasis`."""

    def fit(self, X, Y, sample_weight=None):
        self.basis = WeightedBasis(X, Y)
        return self.basis

    def rows(self, X):
        return self.basis.rows(X)


def use_weighted_input(monkeypatch):
    """Let the estimators read X as `WeightedInput`, whatever the kernel."""
    monkeypatch.setattr("spanforest._classifier.input_for", WeightedInput)


def trained(data, seed=0):
    draw = Draw("random_tree", np.random.SeedSequence(seed))
    return train_member(data, draw, Settings(1.0, "edge", True, 1e-3, 1000)).solution


@pytest.mark.needs_compiled
def test_a_fitted_kind_of_input_is_fitted_again_in_a_fold():
    given = WeightedInput(KernelSpec("rbf"), False)
    whole = TrainingSet(given.fit(X, CODES), CODES)
    inside, rows = whole.fold(EVEN, ODD)
    alone = WeightedInput(KernelSpec("rbf"), False)
    expected = TrainingSet(alone.fit(X[EVEN], CODES[EVEN]), CODES[EVEN])
    assert_array_equal(rows, alone.rows(X[ODD]))
    assert not np.allclose(rows, given.rows(X[ODD])[:, EVEN])  # not merely sliced
    assert_array_equal(trained(inside).weights, trained(expected).weights)


@pytest.mark.needs_compiled
def test_a_fitted_kind_of_input_trains_and_predicts_in_an_estimator(
    classifier, monkeypatch
):
    K = WeightedBasis(X, Y).rows(X)
    classifier.set_params(tol=1e-3)
    plain = clone(classifier).set_params(kernel="precomputed").fit(K, Y)
    use_weighted_input(monkeypatch)
    fitted = classifier.set_params(kernel="rbf").fit(X, Y)
    assert_same_problem(fitted, plain)
    assert fitted.dual_coef_.shape[0] == len(X)
    assert fitted.score(X, Y) > 0.6


@pytest.mark.needs_compiled
def test_calibration_fits_such_an_input_again_on_every_fold():
    data = TrainingSet(WeightedBasis(X, CODES), CODES)
    factors = [data.factors(LabelGraph(4, [(0, 1), (1, 2)]))]
    settings = Settings(1.0, "edge", True, 1e-3, 1000)
    members = RefittedMembers(factors, settings, average_margins)
    held_out = np.arange(60) < 20
    seed = np.random.SeedSequence(0)
    margins = margins_of_fold(data, held_out, members, seed)

    inside = WeightedBasis(X[20:], CODES[20:])
    rng = np.random.default_rng(np.random.SeedSequence(0).spawn(1)[0])
    own = TrainingSet(inside, CODES[20:])
    solution = next(train_path(own, factors[0], rng, settings, [settings.C]))
    scores = inside.rows(X[:20]) @ solution.weights + solution.intercept
    for one, other in zip(margins, average_margins(factors, [scores]), strict=True):
        assert_allclose(one, other, atol=1e-9)


@pytest.mark.needs_compiled
def test_tuning_scores_folds_as_fits_of_such_an_input_would(monkeypatch):
    use_weighted_input(monkeypatch)
    tuned, fitted = fold_by_fold(X, Y, "cosine")
    assert_array_equal(tuned.predict(X_new), fitted.predict(X_new))


# --- kinds of input through the estimators -------------------------------------------


def scaled_rbf(X, Z, scale):
    return rbf_kernel(X, Z, gamma=1 / scale)


def median_rbf(X, Z):
    return rbf_kernel(X, Z, gamma=median_gamma(X_bits))


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    ("params", "function"),
    [
        ({"kernel": "rbf"}, median_rbf),
        ({"kernel": "rbf", "gamma": 2.0}, lambda X, Z: rbf_kernel(X, Z, gamma=2.0)),
        (
            {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 3},
            lambda X, Z: polynomial_kernel(X, Z, gamma=0.5, degree=2, coef0=3),
        ),
        ({"kernel": "tanimoto"}, tanimoto_kernel),
        ({"kernel": rbf_kernel}, rbf_kernel),
        (
            {"kernel": scaled_rbf, "kernel_params": {"scale": 3.0}},
            lambda X, Z: scaled_rbf(X, Z, 3.0),
        ),
    ],
    ids=["rbf", "rbf gamma", "poly", "tanimoto", "callable", "kernel_params"],
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
    assert not hasattr(fitted, "cell_coef_")


@pytest.mark.needs_compiled
def test_the_default_gamma_is_derived_from_the_training_examples_and_kept(classifier):
    classifier.set_params(kernel="rbf").fit(X, Y)
    gamma, predicted = median_gamma(X), classifier.predict(X_new)
    assert classifier.gamma_ == gamma
    for member in getattr(classifier, "estimators_", []):
        assert member.gamma_ == gamma
    again = clone(classifier).set_params(gamma=gamma).fit(X, Y)
    assert_array_equal(again.predict(X_new), predicted)
    assert_array_equal(weights(again), weights(classifier))
    assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict(X_new), predicted)
    classifier.fit(10 * X, Y)  # an earlier fit leaves nothing behind
    assert classifier.gamma_ == pytest.approx(gamma / 100)
    assert_array_equal(classifier.predict(10 * X_new), predicted)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"kernel": "poly"}, 1 / X.shape[1]),
        ({"kernel": "rbf", "gamma": 2.0}, 2.0),
        ({"kernel": "linear", "gamma": 2.0}, None),
        ({"kernel": rbf_kernel, "gamma": 2.0}, None),
    ],
    ids=["poly", "rbf", "linear", "callable"],
)
def test_only_kernels_that_use_gamma_get_one(classifier, params, expected):
    assert classifier.set_params(**params).fit(X, Y).gamma_ == expected


@pytest.mark.needs_compiled
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", LINEAR)
def test_the_linear_form_equals_the_kernel_form(classifier, name, fit_intercept):
    classifier.set_params(fit_intercept=fit_intercept, tol=1e-3)
    linear = clone(classifier).set_params(kernel=name).fit(X, Y)
    features = normalize(X) if name == "cosine" else X
    kernel = classifier.set_params(kernel="precomputed")
    kernel.fit(features @ features.T, Y)
    assert_same_problem(linear, kernel)
    distance = np.linalg.norm(linear.cell_coef_ - features.T @ kernel.dual_coef_)
    assert distance <= largest_distance(linear, kernel)
    distance = np.linalg.norm(linear.cell_intercept_ - kernel.cell_intercept_)
    assert distance <= largest_distance(linear, kernel)
    assert_allclose(
        kernel.cell_intercept_, fit_intercept * kernel.dual_coef_.sum(axis=0)
    )


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", sorted(KERNELS))
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


@pytest.mark.parametrize("params", [{"normalize_kernel": True}, {"kernel": "cosine"}])
def test_normalizing_the_linear_kernel_is_normalizing_rows(classifier, params):
    rows = clone(classifier).fit(normalize(X), Y)
    fitted = classifier.set_params(**params).fit(X, Y)
    assert_same_model(fitted, rows)
    assert_array_equal(fitted.predict(X_new), rows.predict(normalize(X_new)))


@pytest.mark.needs_compiled
def test_cross_validation_slices_rows_and_columns_of_a_precomputed_kernel(classifier):
    classifier.set_params(kernel="precomputed")
    K, folds = rbf_kernel(X), KFold(4)
    predicted = cross_val_predict(classifier, K, Y, cv=folds)
    for rows, test in folds.split(K):
        fitted = clone(classifier).fit(K[np.ix_(rows, rows)], Y[rows])
        assert_array_equal(predicted[test], fitted.predict(K[np.ix_(test, rows)]))
    search = GridSearchCV(classifier, {"C": [0.1, 1.0]}, cv=folds).fit(K, Y)
    assert search.predict(K).shape == Y.shape


@pytest.mark.needs_compiled
def test_single_precision_examples_give_nearly_the_same_model(classifier):
    double = clone(classifier).set_params(tol=1e-3).fit(X, Y)
    single = classifier.set_params(tol=1e-3).fit(X.astype(np.float32), Y)
    assert_allclose(single.dual_objective_, double.dual_objective_, rtol=2e-3)


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
    fitted = clone(classifier).fit(split_entries(X), Y)
    assert_allclose(fitted.dual_objective_, expected.dual_objective_, rtol=1e-6)
    assert_allclose(
        fitted.decision_function(split_entries(X_new)),
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


def test_a_matrix_without_room_is_refused_with_its_size_and_a_way_out():
    def kernel(A, B):
        raise MemoryError

    given, full = KernelInput(KernelSpec(linear_kernel), False), KernelSpec(kernel)
    with pytest.raises(MemoryError, match=r"745058.1 GiB. A kernel that is a function"):
        given.fit(np.broadcast_to(1.0, (10**7, 1)), Y)
    with pytest.raises(
        MemoryError, match=r"60 x 60 numbers, 0.0 GiB. A kernel that is"
    ):
        KernelInput(full, False).fit(X, Y)
    given.fit(X, Y)
    given.X_fit = np.broadcast_to(1.0, (10**7, 1))
    with pytest.raises(
        MemoryError, match=r"745058.1 GiB. Pass fewer rows of X at once"
    ):
        given.rows(given.X_fit)


def test_changing_the_training_array_changes_no_prediction(classifier):
    mine = X.copy()
    classifier.set_params(kernel="rbf").fit(mine, Y)
    expected = classifier.decision_function(X_new)
    mine[:] = 0.0
    assert_array_equal(classifier.decision_function(X_new), expected)
