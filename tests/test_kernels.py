"""Kernels against scikit-learn and plain loops, and the checks of a given matrix."""

import math
import pickle
import statistics
import tracemalloc
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from spanforest.kernels import (
    KERNEL_NAMES,
    KernelSpec,
    check_kernel_matrix,
    median_gamma,
    tanimoto_kernel,
    unit_diagonal,
)

FEATURE_KERNELS = [name for name in KERNEL_NAMES if name != "precomputed"]
SKLEARN_PARAMETERS = {
    "linear": (),
    "cosine": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
}
seeds = st.integers(0, 2**32 - 1)
gammas = st.none() | st.floats(0.05, 2.0) | st.floats(0.05, 2.0).map(np.float64)


def draw_examples(seed, n_samples, n_features, dtype=np.float64):
    """Small numbers with many zeros, a zero row and a repeated row."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(n_samples, n_features)) / 4
    X[rng.random(X.shape) < 0.4] = 0
    X[0] = 0
    X[-1] = X[n_samples // 2]
    return X.astype(dtype)


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


# --- the scale found in the data -----------------------------------------------------


@given(
    seed=seeds,
    n_samples=st.integers(1, 12),
    form=st.sampled_from([np.asarray, sparse.csr_matrix, sparse.csr_array]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None, max_examples=60)
def test_the_scale_found_is_one_over_the_median_by_hand(seed, n_samples, form, dtype):
    X = draw_examples(seed, n_samples, 3, dtype)
    X[: n_samples // 2] = X[0]  # with many equal rows the median is zero

    found = median_gamma(form(X))

    assert isinstance(found, float)
    assert_allclose(found, gamma_by_hand(X), rtol=1e-6)


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


@given(
    seed=seeds,
    dtype=st.sampled_from([np.float32, np.float64]),
    name=st.sampled_from(["linear", "poly"]),
)
@settings(deadline=None, max_examples=50)
def test_unit_diagonal_is_the_kernel_of_unit_vectors(seed, dtype, name):
    X, Z = draw_examples(seed, 6, 3, dtype), draw_examples(seed + 1, 4, 3, dtype)
    spec = KernelSpec(name, coef0=0)
    K, rows, columns = spec.matrix(X, Z), spec.diagonal(X), spec.diagonal(Z)
    before = K.copy()

    result = unit_diagonal(K, rows, columns)

    for i in range(6):
        for j in range(4):
            size = np.sqrt(float(rows[i]) * float(columns[j]))
            expected = before[i, j] / size if size else 0.0
            assert result[i, j] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert result.dtype == dtype
    assert_array_equal(K, before)
    if name == "linear":
        assert_allclose(result, KernelSpec("cosine").matrix(X, Z), atol=1e-5)

    assert unit_diagonal(K, rows, columns, out=K) is K
    assert_array_equal(K, result)


@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_unit_diagonal_twice_is_unit_diagonal_once(seed):
    X = draw_examples(seed, 6, 3)
    K = X @ X.T

    once = unit_diagonal(K, K.diagonal(), K.diagonal())

    assert_allclose(once.diagonal(), (K.diagonal() > 0).astype(float))
    assert_allclose(unit_diagonal(once, once.diagonal(), once.diagonal()), once)


def test_the_origin_of_feature_space_stays_there_even_if_rounding_moved_it():
    K = np.array([[0.0, 1e-9], [1e-9, 4.0]])
    assert_allclose(unit_diagonal(K, [0, 4], [0, 4]), [[0, 0], [0, 1]], atol=0)


@pytest.mark.parametrize(
    ("row_diagonal", "column_diagonal", "message"),
    [
        ([1, 1], [1, 1], r"they have 2 and 2 values, K has shape \(2, 3\)"),
        ([1, -1], [1, 1, 1], "row_diagonal must be .* >= 0"),
        ([1, 1], [1, np.nan, 1], "column_diagonal must be .*finite"),
        ([[1, 1]], [1, 1, 1], "row_diagonal must be one-dimensional"),
    ],
)
def test_unit_diagonal_wants_one_valid_value_per_row_and_column(
    row_diagonal, column_diagonal, message
):
    with pytest.raises(ValueError, match=message):
        unit_diagonal(np.ones((2, 3)), row_diagonal, column_diagonal)


@given(
    seed=seeds,
    n_samples=st.integers(1, 60),
    rank=st.integers(1, 5),
    log_scale=st.integers(-6, 6),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None, max_examples=100)
def test_gram_matrices_of_any_rank_and_scale_are_accepted(
    seed, n_samples, rank, log_scale, dtype
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, rank)) * 10.0 ** rng.integers(-3, 4, (n_samples, 1))
    X = (X * 10.0**log_scale).astype(dtype)
    K = X @ X.T
    before = K.copy()

    assert check_kernel_matrix(K) is K
    assert_array_equal(K, before)


@pytest.mark.parametrize("n_features", [1, 5, 300, 4_000])
@pytest.mark.parametrize("offset", [0, 3])
def test_large_gram_matrices_computed_in_single_precision_are_accepted(
    n_features, offset
):
    rng = np.random.default_rng(n_features)
    X = (rng.normal(size=(1200, n_features)) + offset).astype(np.float32)
    X[600:] = X[:600]  # rank at most half of the size
    for spec in (KernelSpec("linear"), KernelSpec("cosine"), KernelSpec("tanimoto")):
        K = spec.matrix(X)
        assert K.dtype == np.float32
        check_kernel_matrix(K)


def test_a_kernel_matrix_read_from_text_with_five_decimals_is_accepted():
    lengths = np.random.default_rng(0).uniform(0.5, 1.0, size=1200)
    check_kernel_matrix(np.round(np.outer(lengths, lengths), 5))  # of rank one


def test_the_zero_matrix_and_integers_are_accepted():
    assert_array_equal(check_kernel_matrix(np.zeros((3, 3))), np.zeros((3, 3)))
    assert check_kernel_matrix([[2, 1], [1, 2]]).dtype == np.float64


@given(seed=seeds, n_samples=st.integers(2, 30), share=st.floats(0.01, 1.0))
@settings(deadline=None, max_examples=100)
def test_up_to_a_thousand_rows_a_negative_eigenvalue_is_always_refused(
    seed, n_samples, share
):
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(n_samples, n_samples)))
    eigenvalues = rng.random(n_samples)
    eigenvalues[:2] = 1, -share
    K = basis * eigenvalues @ basis.T
    K = (K + K.T) / 2

    with pytest.raises(ValueError, match="must be positive semidefinite"):
        check_kernel_matrix(K)


@given(seed=seeds, n_samples=st.integers(2, 1300), relative=st.floats(0.001, 2))
@settings(deadline=None, max_examples=40)
def test_the_largest_asymmetry_is_found_and_reported(seed, n_samples, relative):
    rng = np.random.default_rng(seed)
    i, j = rng.choice(n_samples, size=2, replace=False)
    K = np.eye(n_samples)
    K[0, 1] += 1e-4  # smaller ones before and after it
    K[-1, -2] += 1e-4
    K[i, j] += relative

    with pytest.raises(ValueError, match="gram must be symmetric") as error:
        check_kernel_matrix(K, name="gram")

    assert f"gram[{i}, {j}]" in str(error.value)
    assert f"gram[{j}, {i}]" in str(error.value)


@pytest.mark.parametrize("where", [(0, 1), (3, 1290), (700, 650), (1299, 1299)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_refused_wherever_it_stands(where, value):
    K = np.eye(1300)
    K[where] = value
    with pytest.raises(ValueError, match=f"row {where[0]}, column {where[1]} is"):
        check_kernel_matrix(K)


@pytest.mark.parametrize("where", [(0, 1), (3, 1290), (511, 512), (1023, 4)])
def test_a_negative_minor_is_refused_wherever_it_stands(where):
    i, j = where
    K = np.eye(1300)
    K[i, j] = K[j, i] = -1.1
    i, j = min(where), max(where)
    with pytest.raises(ValueError, match=rf"K\[{i}, {j}\] = -1.1 is larger in size"):
        check_kernel_matrix(K)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones(3), "two dimensions.*got 1"),
        (np.ones((2, 2, 2)), "two dimensions.*got 3"),
        (np.ones((2, 3)), "must be square.*got 2 rows and 3 columns"),
        (np.ones((0, 0)), "at least one row"),
        ([[1, 0], [0, -2]], r"diagonal entry K\[1, 1\] = -2 is negative"),
        ([[1, 2], [2, 1]], r"K\[0, 1\] = 2 is larger in size"),
        ([[0, 1], [1, 0]], r"K\[0, 1\] = 1 is larger in size"),
        # every 2 x 2 minor is fine, the 3 x 3 determinant is not
        (
            [[1, 0.9, 0.9], [0.9, 1, -0.9], [0.9, -0.9, 1]],
            "smallest eigenvalue over 3 of 3 examples is -0.8",
        ),
    ],
)
def test_what_cannot_be_a_kernel_matrix_is_refused_with_the_reason(K, message):
    with pytest.raises(ValueError, match=message):
        check_kernel_matrix(K)


def test_checking_takes_no_second_matrix():
    K = np.eye(3000)  # 72 MB
    check_kernel_matrix(K[:100, :100])  # whatever is imported lazily

    tracemalloc.start()
    try:
        check_kernel_matrix(K)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 40e6  # 1000 rows of Cholesky: 8 MB and a few copies
