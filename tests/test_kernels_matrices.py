"""Kernel matrices: their unit-diagonal form, and the checks of a given one."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from small_data import draw_examples
from strategies import seeds, trials

from spanforest.kernels import KernelSpec, check_kernel_matrix, unit_diagonal


@given(
    seed=seeds,
    dtype=st.sampled_from([np.float32, np.float64]),
    name=st.sampled_from(["linear", "poly"]),
)
@trials(50)
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
@trials(30)
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
@trials(100)
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


@pytest.mark.needs_compiled
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
@trials(100)
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
@trials(40)
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


@pytest.mark.needs_compiled
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
