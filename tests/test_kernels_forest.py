"""The forest kernel alone: its trees, its targets, its parameters."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from spanforest import MMCRFClassifier
from spanforest.kernels import ForestKernel, KernelSpec
from spanforest.kernels._forest import label_targets

KINDS = ("extra", "random", "boosted")

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4)).astype(np.float32)
Y = (X[:, :3] + 0.3 * rng.normal(size=(50, 3)) > 0).astype(np.int32)
GAPS = np.where(rng.random(X.shape) < 0.2, np.nan, X).astype(np.float32)
COUNTS = np.maximum(np.round(2 * X), 0)


def same_leaf(leaves):
    """Return, for every pair of examples and every tree, whether they share a leaf."""
    return leaves[:, None, :] == leaves[None, :, :]


# --- trees ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("examples", "form"),
    [(X, np.asarray), (GAPS, np.asarray), (COUNTS, sparse.csr_array)],
    ids=["dense", "with NaN", "sparse"],
)
def test_examples_share_leaves_as_in_the_trees_of_scikit_learn(examples, form):
    kernel, given = ForestKernel(6, min_samples_leaf=2), form(examples)
    leaves = kernel.grow(given, Y, seed=3).leaves(given)
    seeds = np.random.SeedSequence(3).generate_state(6)
    for p, seed in enumerate(seeds):
        tree = ExtraTreeRegressor(
            min_samples_leaf=2, max_features="sqrt", random_state=int(seed)
        ).fit(given, Y.astype(float))
        expected = tree.apply(given)[:, None]
        assert_array_equal(same_leaf(leaves[:, [p]]), same_leaf(expected))


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_and_dense_examples_fall_into_the_same_leaves(kind):
    grown = ForestKernel(5, kind=kind).grow(COUNTS, Y, seed=0)
    assert_array_equal(grown.leaves(COUNTS), grown.leaves(sparse.csr_array(COUNTS)))


def test_indices_of_a_sparse_matrix_may_have_64_bits():
    wide = sparse.csr_array(COUNTS)
    wide.indices = wide.indices.astype(np.int64)
    wide.indptr = wide.indptr.astype(np.int64)
    grown = ForestKernel(5).grow(wide, Y, seed=0)
    expected = ForestKernel(5).grow(sparse.csr_array(COUNTS), Y, seed=0)
    assert_array_equal(grown.leaves(wide), expected.leaves(COUNTS))
    assert wide.indices.dtype == np.int64


def test_leaves_are_numbered_through_all_trees_and_none_is_empty():
    grown = ForestKernel(7, min_samples_leaf=4).grow(X, Y, seed=0)
    leaves = grown.leaves(X)
    assert_array_equal(np.unique(leaves), np.arange(grown.n_leaves))
    assert np.bincount(leaves.ravel()).min() >= 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_larger_forest_begins_with_the_trees_of_a_smaller_one(kind):
    few, many = (ForestKernel(n, kind=kind).grow(X, Y, seed=1) for n in (3, 8))
    assert_array_equal(few.leaves(X), many.leaves(X)[:, :3])


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_tree_but_seeds_do(kind):
    kernel = ForestKernel(6, kind=kind)
    one = kernel.grow(X, Y, seed=1).leaves(X)
    assert_array_equal(one, kernel.grow(X, Y, seed=1, n_jobs=2).leaves(X))
    assert not np.array_equal(
        same_leaf(one), same_leaf(kernel.grow(X, Y, seed=2).leaves(X))
    )


@pytest.mark.parametrize(("kind", "other"), [*combinations(KINDS, 2)])
def test_the_kinds_grow_different_trees(kind, other):
    one, two = (ForestKernel(5, kind=each).grow(X, Y, 0) for each in (kind, other))
    assert not np.array_equal(same_leaf(one.leaves(X)), same_leaf(two.leaves(X)))


@pytest.mark.parametrize(
    ("examples", "form"),
    [(X, np.asarray), (GAPS, np.asarray), (COUNTS, sparse.csr_array)],
    ids=["dense", "with NaN", "sparse"],
)
@pytest.mark.parametrize("weight", [None, np.linspace(1, 3, 50)])
def test_boosted_trees_explain_what_those_before_left_unexplained(
    examples, form, weight
):
    given = form(examples)
    kernel = ForestKernel(9, min_samples_leaf=2, max_features=None, kind="boosted")
    leaves = kernel.grow(given, Y, seed=3, sample_weight=weight).leaves(given)
    unexplained = Y - np.average(Y, axis=0, weights=weight)
    sizes = []
    for p, seed in enumerate(np.random.SeedSequence(3).generate_state(9)):
        drawn = np.sort(np.random.default_rng(int(seed)).permutation(50)[:35])
        of_drawn = None if weight is None else weight[drawn]
        leaf = {"min_samples_leaf": 2}
        if weight is not None:
            leaf = {"min_weight_fraction_leaf": 1.9999 / of_drawn.sum()}
        tree = DecisionTreeRegressor(max_leaf_nodes=8, random_state=int(seed), **leaf)
        tree.fit(given[drawn], unexplained[drawn], of_drawn)
        expected = tree.apply(given)[:, None]
        assert_array_equal(same_leaf(leaves[:, [p]]), same_leaf(expected))
        unexplained = unexplained - 0.2 * tree.predict(given)
        sizes.append((unexplained**2).sum())
    assert sizes[-1] < 0.6 * sizes[0]


def test_the_weight_of_a_leaf_is_never_below_the_smallest():
    for weight in ([2.0, 1.0, 1.0], [4.0, 4.0, 4.0], [0.1, 0.1, 0.1]):
        weight = np.array(weight)
        x = np.arange(3, dtype=np.float32)[:, None]
        codes = (x > 0).astype(np.int32)
        for kind in ("extra", "boosted"):
            kernel = ForestKernel(5, min_samples_leaf=3, max_features=None, kind=kind)
            grown = kernel.grow(x, codes, seed=0, sample_weight=weight).leaves(x)
            assert (len(np.unique(grown[:, 0])) > 1) == (weight[0] == 4.0)


def test_the_largest_number_of_leaves_holds_for_all_kinds():
    for kind in KINDS:
        kernel = ForestKernel(4, min_samples_leaf=1, kind=kind, max_leaf_nodes=3)
        leaves = kernel.grow(X, Y, seed=0).leaves(X)
        assert all(len(np.unique(column)) <= 3 for column in leaves.T)
    kernel = ForestKernel(4, min_samples_leaf=1, kind="boosted", max_leaf_nodes=20)
    leaves = kernel.grow(X, Y, seed=0).leaves(X)
    assert max(len(np.unique(column)) for column in leaves.T) > 8


def test_a_missing_value_that_training_did_not_have_goes_to_the_larger_child():
    x = np.arange(10, dtype=np.float32)[:, None]
    codes = (x > 6).astype(np.int32)
    grown = ForestKernel(5, 1, kind="random").grow(x, codes, seed=0)
    larger = grown.leaves(np.array([[1.0]], dtype=np.float32))
    missing = grown.leaves(np.array([[np.nan]], dtype=np.float32))
    assert_array_equal(missing, larger)


def test_examples_of_another_width_are_refused():
    with pytest.raises(ValueError, match="the 4 features of training; got 3"):
        ForestKernel(2).grow(X, Y, seed=0).leaves(X[:, :3])


@pytest.mark.parametrize(
    ("name", "node", "value"),
    [
        ("left", 0, 0),  # a circle
        ("right", 0, 10**6),
        ("feature", 0, 4),
        ("root", 1, -1),
        ("root", 1, 10**6),
        ("left", -1, 10**6),  # the number of a leaf
    ],
)
def test_trees_that_lead_nowhere_are_refused(name, node, value):
    grown = ForestKernel(3).grow(X, Y, seed=0)
    grown.check()
    array = getattr(grown, name).copy()
    array[node] = value
    with pytest.raises(ValueError, match="not a forest"):
        replace(grown, **{name: array}).check()


@pytest.mark.parametrize("name", ["threshold", "left", "right", "nan_left"])
def test_trees_with_arrays_of_wrong_length_or_type_are_refused(name):
    grown = ForestKernel(3).grow(X, Y, seed=0)
    array = getattr(grown, name)
    for wrong in (array[:-1], array.astype(object)):
        with pytest.raises(ValueError, match="not a forest"):
            replace(grown, **{name: wrong}).check()


# --- targets --------------------------------------------------------------------------


@given(n_values=st.integers(2, 5), seed=st.integers(0, 1000))
def test_the_variance_of_the_targets_is_half_of_the_gini_impurity(n_values, seed):
    codes = np.random.default_rng(seed).integers(n_values, size=(30, 1))
    codes[:n_values, 0] = np.arange(n_values)
    shares = np.bincount(codes[:, 0]) / len(codes)
    variance = label_targets(codes).var(axis=0).sum()
    assert_allclose(variance, (1 - (shares**2).sum()) / 2)


def test_a_label_that_is_not_observed_has_the_mean_of_the_others():
    codes = np.array([[0, 2], [1, -1], [-1, 0], [1, 1]])
    targets = label_targets(codes)
    assert_allclose(targets[2, 0], 2 / 3)
    assert_allclose(targets[1, 1:], np.sqrt(0.5) / 3)
    assert_allclose(targets.mean(axis=0)[0], 2 / 3)


def test_labels_that_teach_nothing_give_one_constant_target():
    assert_array_equal(label_targets(np.array([[0, -1], [0, -1]])), [[0], [0]])


# --- parameters -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators of a ForestKernel"),
        ({"min_samples_leaf": 0.5}, "min_samples_leaf of a ForestKernel"),
        ({"max_features": "all"}, "max_features of a ForestKernel .* got 'all'"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": 1.5}, "max_features"),
        ({"max_features": True}, "max_features"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes .* at least 2, or None; got 1"),
        ({"kind": "extra_trees"}, "kind .* 'random', 'boosted'; got 'extra_trees'"),
        ({"categories": "colour"}, r"a list of columns, such as \['colour'\]"),
        ({"categories": 7}, r"a list of columns, .* or None; got 7. Pass \[7\] for"),
    ],
)
def test_parameters_out_of_range_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        KernelSpec(ForestKernel(**params))
    with pytest.raises(ValueError, match=message):
        MMCRFClassifier(kernel=ForestKernel(**params)).fit(X, Y)


@pytest.mark.parametrize("max_features", ["sqrt", "log2", 1, 99, 0.5, 1.0, None])
def test_every_documented_share_of_features_grows_a_forest(max_features):
    kernel = ForestKernel(2, max_features=max_features)
    kernel.check()
    assert kernel.grow(X, Y, seed=0).n_trees == 2


def test_kernels_with_equal_parameters_are_equal():
    one, other = ForestKernel(5, categories=["a"]), ForestKernel(5, categories=("a",))
    assert one == other == clone(one)
    assert one != ForestKernel(6, categories=["a"])
    assert one != "forest"
    assert one != ForestKernel(5, categories=7)
    assert KernelSpec(one) == KernelSpec(other)
    assert repr(ForestKernel(5)) == "ForestKernel(n_estimators=5)"


def test_parameters_can_be_set_through_the_classifier():
    model = clone(MMCRFClassifier(kernel=ForestKernel()))
    model.set_params(kernel__min_samples_leaf=7)
    assert model.get_params()["kernel__min_samples_leaf"] == 7


def test_a_forest_that_is_not_grown_has_no_kernel_values():
    spec = KernelSpec("forest")
    assert spec.is_forest
    assert not spec.has_gamma
    assert spec.with_gamma(X).gamma is None
    for compute in (spec.matrix, spec.diagonal):
        with pytest.raises(ValueError, match="depend on training examples and labels"):
            compute(X)
