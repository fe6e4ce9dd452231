"""Kernels against scikit-learn and plain loops, and the registry of their names."""

import math
import pickle
import statistics
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels
from small_data import X, X_new, Y, assert_same_model, draw_examples
from strategies import seeds

from spanforest import MMCRFClassifier
from spanforest.kernels import (
    KERNEL_NAMES,
    KERNELS,
    Kernel,
    KernelSpec,
    Scale,
    check_kernel_matrix,
    median_gamma,
    tanimoto_kernel,
)
from spanforest.tuning import RandomGraphEnsembleClassifierCV

FEATURE_KERNELS = sorted(KERNELS)
SKLEARN_PARAMETERS = {
    "linear": (),
    "cosine": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
}
gammas = st.none() | st.floats(0.05, 2.0) | st.floats(0.05, 2.0).map(np.float64)


def plain_kernel(name, gamma, x, y):
    if name == "tanimoto":
        shared = sum(a * b for a, b in zip(x, y, strict=True))
        total = sum(a * a for a in x) + sum(b * b for b in y)
        return 1.0 if total == 0 else shared / (total - shared)
    if name == "cosine":
        length = np.sqrt(sum(a * a for a in x)) * np.sqrt(sum(b * b for b in y))
        return 0.0 if length == 0 else sum(x * y) / length
    if name == "rbf":
        return np.exp(-gamma * sum((x - y) ** 2))
    return (gamma * sum(x * y) + 1) ** 3 if name == "poly" else sum(x * y)


def gamma_by_hand(X):
    """One over the median squared distance; over the mean if that is zero, or 1."""
    pairs = combinations(np.asarray(X, dtype=float).tolist(), 2)
    squares = [math.dist(x, y) ** 2 for x, y in pairs]
    if not any(squares):
        return 1.0
    return 1 / (statistics.median(squares) or statistics.mean(squares))


def linear_callable(X, Y, scale=1.0):
    return scale * (X @ Y.T)


@given(name=st.sampled_from(FEATURE_KERNELS), gamma=gammas, seed=seeds)
@settings(deadline=None, max_examples=60)
def test_matrix_equals_a_double_loop_over_the_formula(name, gamma, seed):
    X, Y = draw_examples(seed, 5, 3), draw_examples(seed + 1, 4, 3)
    used = gamma
    if gamma is None:
        used = gamma_by_hand(Y) if name == "rbf" else 1 / 3

    expected = [[plain_kernel(name, used, x, y) for y in Y] for x in X]

    assert_allclose(KernelSpec(name, gamma).matrix(X, Y), expected, atol=1e-12)


@given(
    name=st.sampled_from(sorted(SKLEARN_PARAMETERS)),
    gamma=gammas,
    degree=st.integers(1, 4),
    coef0=st.floats(0, 3),
    seed=seeds,
)
@settings(deadline=None, max_examples=60)
def test_matrix_equals_scikit_learn(name, gamma, degree, coef0, seed):
    X, Y = draw_examples(seed, 6, 4), draw_examples(seed + 1, 3, 4)
    values = {"gamma": gamma, "degree": degree, "coef0": coef0}
    used = {key: values[key] for key in SKLEARN_PARAMETERS[name]}
    if name == "rbf" and gamma is None:
        used["gamma"] = gamma_by_hand(Y)

    expected = pairwise_kernels(X, Y, metric=name, **used)

    assert_allclose(KernelSpec(name, **values).matrix(X, Y), expected)


@given(
    name=st.sampled_from([*FEATURE_KERNELS, linear_callable]),
    gamma=gammas,
    seed=seeds,
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None, max_examples=80)
def test_sparse_equals_dense_and_precision_is_kept(name, gamma, seed, dtype):
    X, Y = draw_examples(seed, 6, 4, dtype), draw_examples(seed + 1, 3, 4, dtype)
    spec = KernelSpec(name, gamma)
    rtol = 1e-4 if dtype == np.float32 else 1e-10

    for make_sparse in (sparse.csr_matrix, sparse.csr_array):
        dense, from_sparse = spec.matrix(X, Y), spec.matrix(make_sparse(X), Y)
        both_sparse = spec.matrix(make_sparse(X), make_sparse(Y))
        diagonal = spec.diagonal(make_sparse(X))

        assert_allclose(from_sparse, dense, rtol=rtol, atol=rtol)
        assert_allclose(both_sparse, dense, rtol=rtol, atol=rtol)
        assert_allclose(diagonal, spec.diagonal(X), rtol=rtol)
        for result in (dense, from_sparse, both_sparse, diagonal, spec.diagonal(X)):
            assert isinstance(result, np.ndarray)
            assert result.dtype == dtype


@given(
    name=st.sampled_from([*FEATURE_KERNELS, linear_callable]),
    gamma=gammas,
    degree=st.integers(1, 4),
    coef0=st.floats(0, 3),
    seed=seeds,
    n_samples=st.integers(1, 40),
)
@settings(deadline=None, max_examples=80)
def test_matrix_is_a_kernel_matrix_and_diagonal_is_its_diagonal(
    name, gamma, degree, coef0, seed, n_samples
):
    X = draw_examples(seed, n_samples, 3)
    spec = KernelSpec(name, gamma, degree, coef0)

    K = spec.matrix(X)

    assert_allclose(K, K.T, atol=1e-10 * np.abs(K).max())
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * max(1, np.abs(K).sum())
    assert_allclose(spec.diagonal(X), K.diagonal(), rtol=1e-10, atol=1e-12)
    assert_allclose(K, spec.matrix(X, X.copy()), atol=1e-10 * max(1, np.abs(K).max()))
    check_kernel_matrix(K)


# --- the scale derived from the data -------------------------------------------------


@given(
    seed=seeds,
    n_samples=st.integers(1, 12),
    form=st.sampled_from([np.asarray, sparse.csr_matrix, sparse.csr_array]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None, max_examples=60)
def test_the_derived_scale_is_one_over_the_median_by_hand(seed, n_samples, form, dtype):
    X = draw_examples(seed, n_samples, 3, dtype)
    X[: n_samples // 2] = X[0]  # with many equal rows the median is zero

    gamma = median_gamma(form(X))

    assert isinstance(gamma, float)
    assert_allclose(gamma, gamma_by_hand(X), rtol=1e-6)


@given(seed=seeds, factor=st.sampled_from([1e-6, 0.3, 1e5]))
@settings(deadline=None, max_examples=30)
def test_scaling_or_shifting_the_features_changes_no_kernel_value(seed, factor):
    rng = np.random.default_rng(seed)
    X, X_new, shift = (rng.normal(size=(n, 3)) for n in (12, 4, 1))
    spec = KernelSpec("rbf")

    K = spec.matrix(factor * (X_new + 10 * shift), factor * (X + 10 * shift))

    assert_allclose(K, spec.matrix(X_new, X), rtol=1e-9)


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e7])
def test_a_constant_column_changes_no_scale(constant):
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert median_gamma(np.c_[X, np.full(30, constant)]) == pytest.approx(
        median_gamma(X), rel=1e-12
    )


def test_the_scale_does_not_depend_on_the_order_of_the_rows_nor_on_one_outlier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    X[0] = 1e9
    expected = pytest.approx(gamma_by_hand(X), rel=1e-9)
    assert median_gamma(X) == expected
    assert median_gamma(rng.permutation(X)) == expected


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_samples", [1, 2, 50])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
def test_equal_rows_have_scale_one(form, n_samples, value):
    X = value * np.arange(1, 8) * np.ones((n_samples, 1))
    assert median_gamma(form(X)) == 1.0


@pytest.mark.parametrize("unit", [1e-200, 1e-155, 1e-154, 1e-150])
def test_the_scale_of_tiny_features_is_finite(unit):
    X = unit * np.random.default_rng(0).normal(size=(9, 2))
    assert 0 < median_gamma(X) < np.inf
    assert 0 < median_gamma(sparse.csr_matrix(X)) < np.inf


def test_many_rows_are_represented_by_evenly_spaced_ones():
    X = np.random.default_rng(0).normal(size=(1999, 2))
    assert median_gamma(X) == pytest.approx(gamma_by_hand(X[::2]))
    assert median_gamma(X) == median_gamma(X.copy())


def test_a_kernel_with_its_scale_keeps_it():
    X = np.random.default_rng(0).normal(size=(9, 4))
    for name, expected in (("rbf", median_gamma(X)), ("poly", 1 / 4), ("cosine", None)):
        spec = KernelSpec(name).with_gamma(X)
        assert spec.gamma == expected
        assert spec.with_gamma(2 * X) == spec
    assert KernelSpec("rbf", 3.0).with_gamma(X).gamma == 3.0
    assert KernelSpec("linear", 3.0).with_gamma(X).gamma is None


@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_tanimoto_of_indicators_is_the_jaccard_similarity(seed):
    sets = np.random.default_rng(seed).random((7, 5)) < 0.4

    K = tanimoto_kernel(sets)

    for i, a in enumerate(sets):
        for j, b in enumerate(sets):
            union = (a | b).sum()
            assert K[i, j] == pytest.approx((a & b).sum() / union if union else 1.0)


def test_tanimoto_over_several_row_blocks_equals_one_row_at_a_time():
    X = draw_examples(0, 700, 3)  # 490,000 entries: two blocks

    K = tanimoto_kernel(X)

    assert_allclose(K, np.vstack([tanimoto_kernel(x[None], X) for x in X]))


@pytest.mark.parametrize("name", FEATURE_KERNELS)
def test_lists_integers_and_data_frames_are_as_good_as_float_arrays(name):
    X = np.array([[1, 0, 2], [0, 0, 0], [3, 1, 0]])
    spec = KernelSpec(name)
    expected = spec.matrix(X.astype(float))

    for same in (X, X.tolist(), pd.DataFrame(X, columns=list("abc"))):
        assert_allclose(spec.matrix(same), expected)
        assert_allclose(spec.diagonal(same), expected.diagonal())
        assert spec.matrix(same).dtype == np.float64


def test_a_precomputed_matrix_is_returned_and_not_copied():
    spec = KernelSpec("precomputed")
    for dtype in (np.float32, np.float64):
        K = np.arange(6, dtype=dtype).reshape(2, 3)
        assert spec.matrix(K) is K
    assert spec.matrix([[1, 2]]).dtype == np.float64
    assert_array_equal(spec.diagonal([[1, 2], [2, 5]]), [1, 5])
    with pytest.raises(ValueError, match="2 rows and 3 columns"):
        spec.diagonal(K)


def test_a_callable_gets_both_matrices_and_its_parameters():
    calls = []

    def kernel(X, Y, *, scale):
        calls.append((X, Y))
        return scale * X @ Y.T

    X, Y = np.eye(3), np.ones((2, 3))
    spec = KernelSpec(kernel, kernel_params={"scale": 2.0})

    assert_allclose(spec.matrix(X, Y), 2 * X @ Y.T)
    assert calls[-1][0] is X
    assert calls[-1][1] is Y
    assert_allclose(spec.matrix(X), 2 * np.eye(3))
    assert calls[-1][0] is calls[-1][1] is X


def test_parameters_changed_after_the_spec_was_made_do_not_reach_it():
    parameters = {"scale": 2.0}
    spec = KernelSpec(linear_callable, kernel_params=parameters)
    parameters["scale"] = 3.0
    assert_allclose(spec.matrix(np.eye(2)), 2 * np.eye(2))


def test_a_spec_survives_pickling_and_can_be_a_key():
    for spec in (KernelSpec("rbf", 0.5), KernelSpec(linear_callable, kernel_params={})):
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert {spec: 1}[spec] == 1


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda X, Y: X[0] @ Y[0], r"shape \(3, 2\); it returned shape \(\)"),
        (lambda X, Y: Y @ X.T, r"shape \(3, 2\); it returned shape \(2, 3\)"),
        (lambda X, Y: X @ Y.T * [1, np.nan], "row 0, column 1 is nan"),
        (lambda X, Y: X @ Y.T * [np.inf, 1], "row 0, column 0 is inf"),
        (lambda X, Y: X @ Y.T * 1j, "must be real; got complex128"),
    ],
)
def test_a_callable_that_returns_something_else_is_told_what_was_expected(
    kernel, message
):
    with pytest.raises(ValueError, match=message):
        KernelSpec(kernel).matrix(np.ones((3, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"name": "gauss"}, "Unknown kernel 'gauss'"),
        ({"name": 3}, "Unknown kernel 3"),
        ({"name": ["rbf"]}, "Unknown kernel"),
        ({"name": "rbf", "gamma": 0}, "gamma must be a positive number.*got 0"),
        ({"name": "rbf", "gamma": np.nan}, "gamma must be a positive number"),
        ({"name": "poly", "gamma": "scale"}, "gamma must .*got 'scale'"),
        ({"name": "poly", "degree": 0}, "degree must be a positive integer; got 0"),
        ({"name": "poly", "degree": 2.5}, "degree must be a positive integer"),
        ({"name": "poly", "coef0": -1}, "coef0 must be a number >= 0.*got -1"),
        ({"name": "rbf", "kernel_params": {"gamma": 1}}, "kernel_params .*'rbf'"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelSpec(**parameters)


def test_an_unknown_kernel_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="Unknown kernel") as error:
        KernelSpec("sigmoid")
    assert all(repr(name) in str(error.value) for name in KERNEL_NAMES)


@pytest.mark.parametrize("name", ["linear", "cosine", "tanimoto", "precomputed"])
def test_parameters_that_a_kernel_does_not_use_are_not_checked(name):
    KernelSpec(name, gamma=-1, degree=0.5, coef0=-1, kernel_params={})


# --- the registry ---------------------------------------------------------------------


def mean_distance_gamma(X):
    return 1 / np.abs(X[:, None] - X).sum(axis=2).mean()


def refuse_large_gamma(spec):
    if spec.gamma is not None and spec.gamma > 100:
        raise ValueError(f"gamma must be at most 100; got {spec.gamma}.")


LAPLACIAN = Kernel(
    matrix=lambda spec, X, Y: 2.0 * laplacian_kernel(X, Y, gamma=spec.gamma),
    diagonal=lambda spec, X: np.full(len(X), 2.0),
    scale=Scale(default=mean_distance_gamma, unit=lambda X: 0.25),
    checks=(refuse_large_gamma,),
)


@pytest.fixture
def laplacian(monkeypatch):
    """Add one entry to the registry, and nothing else."""
    monkeypatch.setitem(KERNELS, "laplacian", LAPLACIAN)


def test_the_list_of_names_is_that_of_the_registry():
    assert set(KERNEL_NAMES) == {*KERNELS, "forest", "precomputed"}


@pytest.mark.parametrize("normalize_kernel", [False, True])
def test_a_new_entry_of_the_registry_works_in_an_estimator(laplacian, normalize_kernel):
    shared = {"max_iter": 1000, "random_state": 0, "normalize_kernel": normalize_kernel}
    fitted = MMCRFClassifier(kernel="laplacian", **shared).fit(X, Y)
    gamma = mean_distance_gamma(X)
    assert fitted.gamma_ == gamma

    def by_hand(A, B):
        return 2.0 * laplacian_kernel(A, B, gamma=gamma)

    plain = MMCRFClassifier(kernel=by_hand, **shared).fit(X, Y)
    assert_same_model(fitted, plain)
    assert_array_equal(fitted.predict(X_new), plain.predict(X_new))
    assert fitted.score(X, Y) > 0.6


def test_the_checks_of_a_new_entry_refuse_bad_parameters(laplacian):
    with pytest.raises(ValueError, match="at most 100; got 200"):
        MMCRFClassifier(kernel="laplacian", gamma=200).fit(X, Y)


def test_gammas_of_a_new_entry_are_tuned_as_multiples_of_its_unit(laplacian):
    tuned = RandomGraphEnsembleClassifierCV(
        1, kernels="laplacian", gammas=[2, 1], Cs=1.0, losses="edge", random_state=0
    ).fit(X, Y)
    assert tuned.cv_results_["param_gamma"].tolist() == [0.25, 0.5]
    assert tuned.gamma_ in (0.25, 0.5)
