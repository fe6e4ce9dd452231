"""Predictions by a forest of many examples: sums over leaves."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_data import X as NUMBERS
from small_data import X_new
from small_data import Y as LABELS

from spanforest import RandomGraphEnsembleClassifier, _forest_rows
from spanforest._forest_input import ForestInput
from spanforest._forest_rows import GrownForest
from spanforest._inputs import Resources
from spanforest.kernels import ForestKernel, KernelSpec

FEW_TREES = ForestKernel(20, min_samples_leaf=2)
CODES = LABELS.astype(np.int32)


@pytest.fixture
def no_matrix(monkeypatch):
    """Let any number of examples be too many for a kernel matrix."""
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", 0)


def fitted_input(X, codes, kernel=FEW_TREES):
    """Return an input fitted to X, and the basis of X."""
    given = ForestInput(KernelSpec(kernel), normalize=False, resources=Resources(0))
    return given, given.fit(X, codes)


@pytest.mark.parametrize("largest", [1, 3000, 2**24])
@pytest.mark.parametrize("most_kept", [0, 2**22])
@pytest.mark.parametrize("n_new", [0, 1, 3, 30, 60])
def test_sums_over_leaves_multiply_as_the_matrix_does(
    largest, most_kept, n_new, monkeypatch
):
    """By way of the leaves of few new examples, or of all leaves; in blocks."""
    given, _ = fitted_input(NUMBERS, CODES, ForestKernel(20, min_samples_leaf=1))
    new = np.random.default_rng(0).normal(size=(n_new, NUMBERS.shape[1]))
    weights = np.random.default_rng(1).normal(size=(60, 5))
    matrix = given.rows(new)
    monkeypatch.setattr(_forest_rows, "MOST_IN_MATRIX", 0)
    monkeypatch.setattr(_forest_rows, "LARGEST_SUMS", largest)
    monkeypatch.setattr(_forest_rows, "MOST_KEPT", most_kept)
    rows = given.rows(new)
    for own in (weights, weights[:, 1:], np.asfortranarray(weights), weights[:, :0]):
        assert (rows @ own).shape == (n_new, own.shape[1])
        assert_allclose(rows @ own, matrix @ own, atol=1e-14)


def test_leaves_of_few_examples_are_collected_once_for_all_members(
    no_matrix, monkeypatch
):
    given, _ = fitted_input(NUMBERS, CODES)
    rows = given.rows(X_new[:2])
    weights = np.random.default_rng(0).normal(size=(60, 3))
    expected = rows.toarray() @ weights
    made = []
    collect = GrownForest.block
    monkeypatch.setattr(
        GrownForest,
        "block",
        lambda self, leaves: made.append(1) or collect(self, leaves),
    )
    for _ in range(3):
        assert_allclose(rows @ weights, expected)
    assert len(made) == 1
    monkeypatch.setattr(_forest_rows, "MOST_KEPT", 0)
    rows = given.rows(X_new[:2])
    for _ in range(3):
        assert_allclose(rows @ weights, expected)
    assert len(made) == 4


def test_rows_of_leaves_can_be_sent_to_workers_array_by_array(no_matrix):
    given, _ = fitted_input(NUMBERS, CODES)
    rows = given.rows(X_new)
    arrays = _arrays_in(rows)
    assert any(array is rows.forest.members for array in arrays)
    assert any(array is rows.leaves for array in arrays)


def _arrays_in(item):
    """Return what `_parallel` finds inside of nested tuples."""
    if isinstance(item, tuple | list):
        return [array for one in item for array in _arrays_in(one)]
    return [item]


@pytest.mark.parametrize("kernel", [FEW_TREES, [FEW_TREES, "rbf"]])
def test_chunks_of_new_examples_grow_with_trees_not_training_examples(
    kernel, no_matrix, monkeypatch
):
    model = RandomGraphEnsembleClassifier(2, kernel=kernel, random_state=0)
    model.fit(NUMBERS, LABELS)
    monkeypatch.setattr("spanforest._classifier.CHUNK_CELLS", 40 * 10)
    sizes = [rows.shape[0] for rows in model._row_chunks(NUMBERS)]
    assert sizes[0] == (20 if kernel is FEW_TREES else 400 // (20 + 60))


@pytest.mark.needs_compiled
def test_multiplying_by_many_examples_takes_memory_for_their_leaves_only(no_matrix):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    Y = (X[:, :2] > 0).astype(np.int32)
    given, _ = fitted_input(X, Y, ForestKernel(10, min_samples_leaf=100))
    weights = rng.normal(size=(3000, 6))
    tracemalloc.start()
    assert (given.rows(X) @ weights).shape == (3000, 6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * 3000 * 3000 * 8  # examples share leaves with most others
