"""Kernel functions and their default widths against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.svm import SVC
from small_data import X, draw_examples, gamma_by_hand
from strategies import seeds, trials

from spanforest.kernels import (
    KernelSpec,
    absolute_gamma,
    median_gamma,
    scale_gamma,
    tanimoto_kernel,
)
from spanforest.kernels._functions import length_gamma


@given(
    seed=seeds,
    n_samples=st.integers(1, 12),
    form=st.sampled_from([np.asarray, sparse.csr_matrix, sparse.csr_array]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@trials(60)
def test_the_derived_scale_is_one_over_the_median_by_hand(seed, n_samples, form, dtype):
    X = draw_examples(seed, n_samples, 3, dtype)
    X[: n_samples // 2] = X[0]  # with many equal rows the median is zero

    gamma = median_gamma(form(X))

    assert isinstance(gamma, float)
    assert_allclose(gamma, gamma_by_hand(X), rtol=1e-6)


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


@given(seed=seeds, n_samples=st.integers(2, 30))
@trials(40)
def test_the_scale_of_absolute_differences_is_half_of_one_over_their_median(
    seed, n_samples
):
    X = draw_examples(seed, n_samples, 3)
    distances = [abs(x - y).sum() for i, x in enumerate(X) for y in X[:i]]
    typical = np.median(distances) or np.mean(distances) or 1.0
    assert_allclose(absolute_gamma(X), 0.5 / typical)
    assert_allclose(absolute_gamma(sparse.csr_array(X)), 0.5 / typical)
    counts = np.arange(n_samples) % 3 + 1
    repeated = absolute_gamma(X.repeat(counts, axis=0))
    assert_allclose(absolute_gamma(X, counts), repeated)


@given(seed=seeds)
@trials(30)
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


PRECISIONS = [np.float32, np.float64]


SCALE_FREE = ["cosine", "tanimoto"]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("scale", [1e-7, 1e-12, 1e-18])
@pytest.mark.parametrize("kernel", SCALE_FREE)
def test_small_vectors_are_compared_like_large_ones(kernel, scale, dtype):
    small = (X * scale).astype(dtype)
    expected = KernelSpec(kernel).matrix(X)
    assert_allclose(KernelSpec(kernel).matrix(small), expected, atol=1e-5)


@pytest.mark.parametrize(("offset", "atol"), [(1e3, 1e-9), (1e7, 1e-6)])
def test_a_common_offset_costs_the_gaussian_kernel_no_precision(offset, atol):
    expected = KernelSpec("rbf", 0.3).matrix(X, X[:5])
    moved = KernelSpec("rbf", 0.3).matrix(X + offset, X[:5] + offset)
    assert_allclose(moved, expected, atol=atol)


@pytest.mark.parametrize("scale", [1e-20, 1e15])
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_the_unit_of_the_features_does_not_matter_to_the_default_width(dtype, scale):
    scaled = (X * scale).astype(dtype)
    expected = KernelSpec("rbf").matrix(X)
    assert_allclose(KernelSpec("rbf").matrix(scaled), expected, atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=str)
def test_scale_gamma_is_that_of_support_vector_machines(container):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * (rng.random((20, 3)) < 0.7)
    machine = SVC(gamma="scale").fit(container(X), np.arange(20) % 2)
    assert_allclose(scale_gamma(container(X)), machine._gamma)
    assert scale_gamma(container(np.zeros((3, 2)))) == 1.0


def test_a_weight_of_two_counts_as_two_rows_in_scale_gamma():
    X, weights = np.random.default_rng(0).normal(size=(9, 3)), np.arange(9) % 3
    assert_allclose(scale_gamma(X, weights), scale_gamma(np.repeat(X, weights, axis=0)))


@pytest.mark.parametrize("derive", [scale_gamma, length_gamma])
def test_features_whose_squares_vanish_count_as_zero(derive):
    assert derive(X * 1e-160) == 1.0
