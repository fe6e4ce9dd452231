"""Kernels whose rows are computed when needed, against the whole matrix."""

import numpy as np
import pytest
from ensembles import GRADES, X, X_new, Y, ensemble
from numpy.testing import assert_allclose, assert_array_equal
from oracles import TREE, TRIANGLE, make_task, primal_value, solve
from scipy import sparse

from spanforest import _inputs, _kernel_rows
from spanforest._inputs import KernelInput, KernelMatrix
from spanforest._kernel_rows import KernelFunction, KernelRows, LazyMatrix, chunks_of
from spanforest.kernels import KernelSpec
from spanforest.solver import KernelForm

GAUSSIAN = KernelFunction(KernelSpec("rbf", gamma=0.3), normalize=False)
POLYNOMIAL = KernelFunction(KernelSpec("poly", gamma=0.5, degree=2), normalize=True)


@pytest.fixture(autouse=True)
def _chunks_of_a_few_rows(monkeypatch):
    monkeypatch.setattr(_kernel_rows, "CHUNK_BYTES", 4 * 7 * 80)  # 7 rows of 80


@pytest.fixture
def _no_matrix(monkeypatch):
    monkeypatch.setattr(_inputs, "LARGEST_MATRIX", 0)


@pytest.mark.parametrize("function", [GAUSSIAN, POLYNOMIAL])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_are_those_of_the_matrix_with_their_own_columns_first(function, kind):
    K, basis = function(X, X), KernelRows(function, kind(X))
    for chunk in chunks_of(80, 80):
        expected = np.roll(K[chunk], -chunk.start, axis=1)
        assert_allclose(basis.turned_rows(chunk, rough=False), expected, atol=1e-12)
        rough = basis.turned_rows(chunk, rough=True)
        assert rough.dtype == np.float32
        assert_allclose(rough, expected, atol=1e-6)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float32, 1e-6), (np.float64, 1e-10)])
def test_a_common_offset_of_the_features_costs_no_precision(dtype, atol):
    values = np.empty((5, len(X)), dtype=dtype)
    GAUSSIAN.fill(X[:5] + 1e4, X + 1e4, values)
    assert_allclose(values, GAUSSIAN(X[:5], X), atol=atol)


def test_no_value_of_a_gaussian_kernel_exceeds_one_where_lengths_are_rounded():
    far = 1e9 * X
    values = np.empty((5, len(X)))
    GAUSSIAN.fill(far[:5], far, values)
    assert values.max() <= 1.0


def test_chunks_cover_all_rows_once():
    rows = [np.arange(80)[chunk] for chunk in chunks_of(80, 80)]
    assert len(rows) == 12
    assert_array_equal(np.concatenate(rows), np.arange(80))
    assert chunks_of(3, 10**9) == [slice(0, 1), slice(1, 2), slice(2, 3)]


def test_a_lazy_matrix_multiplies_like_the_matrix():
    weights = np.random.default_rng(0).normal(size=(80, 3))
    product = LazyMatrix(GAUSSIAN, X_new, X) @ weights
    assert_allclose(product, GAUSSIAN(X_new, X) @ weights)


@pytest.mark.parametrize(("graph", "tol"), [(TREE, 0.01), (TRIANGLE, 0.2)])
def test_training_ends_at_the_optimum_of_the_matrix(graph, tol):
    task = make_task(graph, [2, 3, 2], n=80, intercept=True)
    matrix, basis = GAUSSIAN(task.X, task.X), KernelRows(GAUSSIAN, task.X)
    coordinates, solutions = task.problem.coordinates, []
    for form in (KernelForm(matrix, coordinates, True), basis.form(coordinates, True)):
        rng = np.random.default_rng(0)
        solutions.append(solve(form, task.problem, rng, tol=tol))
    expected, solution = solutions
    assert solution.converged
    assert_allclose(solution.dual_objective, expected.dual_objective, rtol=tol)
    scores = (matrix + 1.0) @ solution.weights
    squared_norm = (scores * solution.weights).sum()
    primal = primal_value(task, scores, squared_norm)
    assert_allclose(solution.dual_objective + solution.gap, primal, rtol=1e-6)


@pytest.mark.parametrize("n_cached", [0, 2, 12])
def test_the_cache_changes_no_bit(n_cached, monkeypatch):
    task = make_task(TREE, [2, 2, 2], n=80)
    basis = KernelRows(GAUSSIAN, task.X)
    monkeypatch.setattr(_kernel_rows, "CACHE_SIZE", n_cached * 4 * 7 * 80)
    prepared = basis.prepared(tol=0.01)
    assert len(prepared.cache) == n_cached
    weights = [
        solve(
            one.form(task.problem.coordinates, False),
            task.problem,
            np.random.default_rng(0),
            max_iter=5,
        ).weights
        for one in (basis, prepared)
    ]
    assert_array_equal(*weights)


def test_rows_become_double_where_single_precision_keeps_the_gap_open():
    task = make_task(TREE, [2, 2, 2], n=20, C=1e6)
    basis = KernelRows(KernelFunction(KernelSpec("rbf", gamma=9.0), False), task.X)
    form = basis.prepared(0.01).form(task.problem.coordinates, False)
    rng = np.random.default_rng(0)
    assert solve(form, task.problem, rng, tol=1e-3, max_iter=2000).converged
    assert not form._rough


def test_single_precision_is_only_for_tolerances_and_values_that_allow_it():
    basis = KernelRows.of(GAUSSIAN, X)
    assert basis.prepared(0.01).rough
    assert not basis.prepared(1e-6).rough
    huge = KernelFunction(KernelSpec("poly", gamma=1e20, degree=2), normalize=False)
    assert not KernelRows.of(huge, X).prepared(0.01).rough


def test_the_size_of_the_matrix_decides():
    given = KernelInput(KernelSpec("rbf", gamma=1.0), normalize=False)
    assert isinstance(given.fit(X, Y), KernelMatrix)


@pytest.mark.usefixtures("_no_matrix")
def test_a_function_of_users_is_always_computed_whole():
    given = KernelInput(KernelSpec(lambda A, B: A @ B.T), normalize=False)
    assert isinstance(given.fit(X, Y), KernelMatrix)


LABELS = {
    "binary": Y,
    "grades": GRADES,
    "missing": np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y),
}


@pytest.mark.needs_compiled
@pytest.mark.parametrize("labels", LABELS)
def test_ensembles_without_a_matrix_predict_as_those_with_one(labels, monkeypatch):
    clf = ensemble(3, kernel="rbf", tol=0.01)
    expected = clf.fit(X, LABELS[labels]).predict(X_new)
    objective = clf.dual_objective_
    monkeypatch.setattr(_inputs, "LARGEST_MATRIX", 0)
    actual = clf.fit(X, LABELS[labels]).predict(X_new)
    assert_allclose(clf.dual_objective_, objective, rtol=0.01)
    assert np.mean(actual == expected) > 0.95


@pytest.mark.usefixtures("_no_matrix")
def test_threads_change_no_bit_without_a_matrix():
    one, other = (
        ensemble(3, kernel="rbf", n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2)
    )
    assert_array_equal(one.dual_coef_, other.dual_coef_)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_matrix")
def test_weights_and_folds_work_without_a_matrix():
    weight = np.linspace(0.5, 2.0, len(X))
    fitted = ensemble(2, kernel="rbf", probability=True).fit(X, Y, weight)
    probabilities = np.array(fitted.predict_proba(X_new))
    assert ((probabilities >= 0.0) & (probabilities <= 1.0)).all()


def test_a_fold_has_the_rows_of_the_other_examples():
    train, test = np.arange(50), np.arange(50, 80)
    basis, rows = KernelRows(GAUSSIAN, X).fold(train, test)
    assert_array_equal(basis.X, X[train])
    assert_allclose(basis.matrix(), GAUSSIAN(X[train], X[train]))
    assert_allclose(rows @ np.eye(50), GAUSSIAN(X[test], X[train]))
