"""Kernels of very small, very large and far-away features: exact, or refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from spanforest import MMCRFClassifier
from spanforest.kernels import KernelSpec, unit_rows

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
Y = (X[:, :3] > 0).astype(int)
PRECISIONS = [np.float32, np.float64]
SCALE_FREE = ["cosine", "tanimoto"]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("scale", [1e-7, 1e-12, 1e-18])
@pytest.mark.parametrize("kernel", SCALE_FREE)
def test_small_vectors_are_compared_like_large_ones(kernel, scale, dtype):
    small = (X * scale).astype(dtype)
    expected = KernelSpec(kernel).matrix(X)
    assert_allclose(KernelSpec(kernel).matrix(small), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("scale", [1e-7, 1e-18, 1e-25, 1e-200])
@pytest.mark.parametrize("kernel", ["cosine", "tanimoto", "linear", "poly", "rbf"])
def test_dense_sparse_and_diagonal_agree_about_zero_vectors(kernel, scale, dtype):
    small = (X * scale).astype(dtype)
    small[::7] = X[::7]  # among vectors of ordinary length
    small[1] = 0
    spec = KernelSpec(kernel, gamma=0.5 if kernel in ("poly", "rbf") else None)
    dense, csr = spec.matrix(small), spec.matrix(sparse.csr_matrix(small))
    tolerance = {"rtol": 1e-4, "atol": 1e-5}
    assert_allclose(csr, dense, **tolerance)
    for form in (small, sparse.csr_matrix(small)):
        assert_allclose(spec.diagonal(form), dense.diagonal(), **tolerance)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_get_unit_length_however_short_they_are(form, dtype):
    small = (X * 1e-12).astype(dtype)
    small[0] = 0
    rows = unit_rows(form(small))
    rows = rows.toarray() if sparse.issparse(rows) else rows
    assert rows.dtype == dtype
    assert_array_equal(rows[0], 0)
    assert_allclose(np.linalg.norm(rows[1:], axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_normalized_linear_models_see_short_rows(dtype):
    clf = MMCRFClassifier(normalize_kernel=True, max_iter=1000, random_state=0)
    expected = clf.fit(X, Y).predict(X)
    small = (X * 1e-12).astype(dtype)
    for form in (small, sparse.csr_matrix(small)):
        assert np.mean(clf.fit(form, Y).predict(form) == expected) > 0.95


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


OVERFLOWING = {
    "large features": ({"kernel": "poly"}, 1e110),
    "a high degree": ({"kernel": "poly", "degree": 200, "gamma": 100.0}, 1.0),
    "a large gamma": ({"kernel": "poly", "gamma": 1e300}, 1.0),
}


@pytest.mark.parametrize("case", OVERFLOWING)
def test_a_named_kernel_that_overflows_is_refused_with_advice(case):
    params, scale = OVERFLOWING[case]
    with pytest.raises(
        ValueError, match=r"must have finite values.*Scale the features"
    ):
        MMCRFClassifier(**params, scaling=None).fit(scale * X, Y)


def test_a_gamma_beyond_single_precision_is_refused():
    with pytest.raises(ValueError, match="too large for these features in float32"):
        MMCRFClassifier(kernel="rbf", gamma=1e300).fit(X.astype(np.float32), Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_kernel_values_beyond_single_precision_are_trained_in_double():
    clf = MMCRFClassifier(kernel="poly", degree=3, max_iter=5).fit(1e8 * X, Y)
    assert np.isfinite(clf.dual_coef_).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("method", ["predict", "predict_certified", "predict_topk"])
def test_new_examples_far_outside_are_refused(kernel, method):
    clf = MMCRFClassifier(kernel=kernel, max_iter=1000, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"overflow|finite"):
        getattr(clf, method)(X * 1e200)
