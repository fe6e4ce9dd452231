"""Inputs of a fold: kernels by naive formulas, and nothing learned from test rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from paper_helpers import KINDS, dense, make_dataset, make_fold
from scipy import sparse
from strategies import trials

from spanforest.datasets import Dataset, make_circle
from spanforest.paper import _fold_inputs
from spanforest.paper._fold_inputs import FoldInputs


def inputs_of(fold, which):
    """Return every input of a method, dense: of the training (0) or test set (1)."""
    pieces = [fold.features, fold.unit_features, fold.kernel()]
    for width in (None, 0.5, 2.0):
        pieces += [fold.kernel(width), fold.explicit_features(width)]
    return [dense(piece[which]) for piece in pieces] + [fold.Y[which]]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 1000), scaling=st.sampled_from(["unit", "standard"]))
@trials(8)
def test_nothing_is_learned_from_test_rows(kind, seed, scaling):
    fold = make_fold(kind, scaling, seed=seed)
    dataset, train, test = fold._dataset, fold._train, fold._test
    other = make_dataset(kind, seed=seed + 5000)
    Y = dataset.Y.copy()
    Y[test] = 1 - Y[test]
    X = K = None
    if kind == "kernel":
        K = other.K.copy()
        K[np.ix_(train, train)] = dataset.K[np.ix_(train, train)]
    else:
        X = dense(dataset.X).copy()
        X[test] = 1 - X[test] if kind == "tanimoto" else 100 * dense(other.X)[test] + 1
        X = sparse.csr_array(X) if sparse.issparse(dataset.X) else X
    changed = Dataset(kind, Y, X, K, is_text=dataset.is_text, kernel=dataset.kernel)

    after = FoldInputs(changed, train, test, scaling)

    for one, two in zip(inputs_of(fold, 0), inputs_of(after, 0), strict=True):
        assert_array_equal(one, two)
    assert (fold.Y.test != after.Y.test).all()


@pytest.mark.parametrize("width", [None, 0.5, 2.0])
@pytest.mark.parametrize("scaling", ["unit", "standard"])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_have_a_unit_diagonal_and_are_positive_semidefinite(
    kind, scaling, width
):
    fold = make_fold(kind, scaling)
    K = fold.kernel(width).train

    assert K.shape == (16, 16)
    assert fold.kernel(width).test.shape == (8, 16)
    assert_allclose(np.diagonal(K), 1.0)
    assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    # the rows of the test set are those of one kernel over both sets
    rows = np.concatenate([fold._train, fold._test])
    both = FoldInputs(fold._dataset, fold._train, rows, scaling).kernel(width).test
    assert_allclose(both, np.concatenate(fold.kernel(width)), atol=1e-12)


@pytest.mark.parametrize("scaling", ["unit", "standard"])
@pytest.mark.parametrize("kind", ["dense", "constant", "sparse", "text"])
def test_products_of_unit_features_are_the_kernel(kind, scaling):
    fold = make_fold(kind, scaling)
    assert fold.is_linear
    for X, K in zip(fold.unit_features, fold.kernel(), strict=True):
        assert_allclose(np.linalg.norm(dense(X), axis=1), 1.0)
        assert_allclose(dense(X) @ dense(fold.unit_features.train).T, K, atol=1e-12)


def test_features_of_the_paper_lie_between_zero_and_one():
    train = make_fold("dense").features.train
    assert_allclose(train.min(axis=0), 0.0, atol=1e-12)
    assert_allclose(train.max(axis=0), 1.0)


def test_the_constant_feature_of_circle_survives_scaling():
    X, Y = make_circle(30, 10, random_state=0)
    rows = np.arange(30)
    fold = FoldInputs(Dataset("circle10", Y, X), rows[:20], rows[20:])
    for X in fold.features:
        assert_array_equal(X[:, 2], 1.0)


def test_a_feature_that_no_training_example_has_stays_zero():
    dataset = make_dataset("dense")
    X = np.column_stack([dataset.X, np.arange(24) >= 16])
    fold = FoldInputs(Dataset("new", dataset.Y, X), np.arange(16), np.arange(16, 24))
    without = FoldInputs(dataset, np.arange(16), np.arange(16, 24))

    assert_array_equal(fold.features.train[:, -1], 0.0)
    assert_array_equal(fold.kernel().train, without.kernel().train)


@pytest.mark.parametrize("width", [0.5, 1.0, 3.0])
def test_gaussian_kernel_of_standardised_features_is_the_naive_one(width):
    fold = make_fold("dense", "standard")
    X, train, test = fold._dataset.X, fold._train, fold._test
    Z = (X - X[train].mean(axis=0)) / X[train].std(axis=0)

    def squared_distance(i, j):
        return sum((a - b) ** 2 for a, b in zip(Z[i], Z[j], strict=True))

    mean = np.mean([squared_distance(i, j) for i in train for j in train])
    naive = [
        [np.exp(-2 * squared_distance(i, j) / (width * mean)) for j in train]
        for i in (*train, *test)
    ]

    assert_allclose(np.concatenate(fold.kernel(width)), naive)


def test_gaussian_kernel_of_equal_examples_is_one():
    dataset = Dataset("equal", np.eye(6, 2, dtype=int), np.ones((6, 2)))
    kernel = FoldInputs(dataset, np.arange(4), np.arange(4, 6)).kernel(1.0)
    assert_array_equal(np.concatenate(kernel), 1.0)


def test_tanimoto_data_use_the_tanimoto_kernel():
    fold = make_fold("tanimoto")
    bits = [set(row.nonzero()[0]) for row in dense(fold._dataset.X)]
    naive = [
        [len(bits[i] & bits[j]) / len(bits[i] | bits[j]) for j in fold._train]
        for i in (*fold._train, *fold._test)
    ]
    assert not fold.is_linear
    assert_allclose(np.concatenate(fold.kernel()), naive)
    assert_array_equal(dense(fold.features.test), dense(fold._dataset.X)[fold._test])


def test_kernel_data_have_their_kernel_as_features():
    fold = make_fold("kernel")
    K = fold._dataset.K
    naive = K / np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))
    for kernel, rows in zip(fold.kernel(), (fold._train, fold._test), strict=True):
        assert_allclose(kernel, naive[np.ix_(rows, fold._train)])
    for one, two in zip(fold.features, fold.kernel(), strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize("kind", KINDS)
def test_an_inner_fold_is_the_fold_of_its_rows(kind):
    outer = make_fold(kind)
    train, test = np.array([5, 1, 2, 9]), np.array([0, 7])
    rows = outer._train
    direct = FoldInputs(outer._dataset, rows[train], rows[test])

    nested = outer.inner_fold(train, test)

    assert_array_equal(nested.Y.train, outer.Y.train[train])
    assert_array_equal(nested.Y.test, outer.Y.train[test])
    for which in (0, 1):
        for one, two in zip(
            inputs_of(nested, which), inputs_of(direct, which), strict=True
        ):
            assert_array_equal(one, two)


def test_an_inner_fold_keeps_the_scaling():
    nested = make_fold("dense", "standard").inner_fold(np.arange(8), np.arange(8, 16))
    assert_allclose(nested.features.train.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("width", [None, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_explicit_features_are_the_kernel(kind, width):
    fold = make_fold(kind)
    features = fold.explicit_features(width)
    for X, K in zip(features, fold.kernel(width), strict=True):
        assert X.shape[0] == K.shape[0]
        products = dense(X) @ dense(features.train).T
        assert_allclose(products, K, atol=1e-6)


def test_explicit_features_project_a_kernel_on_some_examples(monkeypatch):
    fold = make_fold("dense")
    K = fold.kernel(1.0).train
    left = []
    for n_basis in (4, 8, 12):
        monkeypatch.setattr(_fold_inputs, "_N_BASIS", n_basis)
        features = fold.explicit_features(1.0)
        assert features.train.shape == (16, n_basis)
        assert features.test.shape == (8, n_basis)
        residual = K - features.train @ features.train.T
        exact = np.abs(residual).max(axis=1) < 1e-8
        assert exact.sum() == n_basis  # the basis itself
        assert np.linalg.eigvalsh(residual).min() > -1e-9
        left.append(np.trace(residual))
    assert left[0] > left[1] > left[2] > 0


def test_explicit_features_of_many_examples_are_three_hundred():
    dataset = make_dataset("dense", n_samples=330)
    fold = FoldInputs(dataset, np.arange(320), np.arange(320, 330))
    features = fold.explicit_features(0.01)  # narrow: full rank
    assert features.train.shape == (320, 300)
    assert features.test.shape == (10, 300)


@pytest.mark.parametrize("kind", ["dense", "text", "tanimoto"])
def test_methods_that_scale_features_get_them_as_they_are(kind):
    fold = make_fold(kind, "standard")
    X = make_dataset(kind).X
    rows = np.random.default_rng(0).permutation(24)
    assert_array_equal(dense(fold.as_they_are.train), dense(X[rows[:16]]))
    assert_array_equal(dense(fold.as_they_are.test), dense(X[rows[16:]]))
    assert fold.own_kernel_name == ("tanimoto" if kind == "tanimoto" else "linear")


def test_a_data_set_without_features_names_its_matrix():
    fold = make_fold("kernel")
    assert fold.own_kernel_name == "precomputed"
    assert_array_equal(fold.as_they_are.test, fold.kernel().test)


@pytest.mark.parametrize("scaling", ["unit", "standard"])
def test_nominal_features_become_a_column_for_each_value_seen_in_training(scaling):
    X = np.array([[0, 1.0], [2, 3.0], [2, 5.0], [1, 2.0]])
    nominal = np.array([True, False])
    dataset = Dataset("toy", np.eye(4, dtype=int), X, nominal_features=nominal)
    fold = FoldInputs(dataset, np.arange(3), np.arange(3, 4), scaling)
    assert_array_equal(fold.features.train[:, :2], [[1, 0], [0, 1], [0, 1]])
    assert_array_equal(fold.features.test[:, :2], [[0, 0]])  # a value never seen
    assert fold.features.train.shape[1] == 3
