"""Lengths of rows and zero vectors, at every scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from small_data import X, Y

from spanforest import MMCRFClassifier
from spanforest.kernels import KernelSpec, unit_rows

PRECISIONS = [np.float32, np.float64]


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
