"""The leaves of decision trees: those that scikit-learn's trees lead to."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor

from spanforest import _compiled


def grown(X, targets):
    """Return a tree of scikit-learn, and the same tree with leaves numbered from 0."""
    tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0).fit(X, targets)
    nodes = tree.tree_
    is_leaf = nodes.children_left < 0
    left = np.where(is_leaf, np.cumsum(is_leaf) - 1, nodes.children_left)
    arrays = _compiled.DecisionTrees(
        np.where(is_leaf, -1, nodes.feature).astype(np.int32),
        nodes.threshold,
        left.astype(np.int32),
        nodes.children_right.astype(np.int32),
        nodes.missing_go_to_left.astype(bool),
        np.zeros(1, dtype=np.int32),
    )
    return tree, arrays, np.cumsum(is_leaf) - 1


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_examples_fall_into_the_leaves_of_scikit_learn(share_missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)).astype(np.float32)
    X[rng.random(X.shape) < share_missing] = np.nan
    tree, arrays, number = grown(X, rng.normal(size=(80, 2)))
    leaves = np.empty((80, 1), dtype=np.int32)
    _compiled.dense_leaves(X, arrays, leaves)
    assert_array_equal(leaves[:, 0], number[tree.apply(X)])
    assert len(np.unique(leaves)) > 5


def test_all_examples_go_through_every_tree_however_many_they_are():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4)).astype(np.float32)
    tree, arrays, number = grown(X, rng.normal(size=(80, 2)))
    twice = arrays._replace(root=np.zeros(2, dtype=np.int32))
    many = rng.normal(size=(2500, 4)).astype(np.float32)  # two blocks and a half
    leaves = np.full((2500, 2), -1, dtype=np.int32)
    _compiled.dense_leaves(many, twice, leaves)
    for column in leaves.T:
        assert_array_equal(column, number[tree.apply(many)])


def test_sparse_rows_fall_where_dense_ones_do():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((60, 5)) < 0.5, rng.normal(size=(60, 5)), 0.0)
    X = X.astype(np.float32)
    _, arrays, _ = grown(X, rng.normal(size=(60, 1)))
    dense, from_rows = np.empty((2, 60, 1), dtype=np.int32)
    _compiled.dense_leaves(X, arrays, dense)
    rows = sparse.csr_array(X)
    rows = _compiled.SparseRows(rows.data, rows.indices, rows.indptr)
    _compiled.sparse_leaves(rows, 5, arrays, from_rows)
    assert_array_equal(from_rows, dense)


def test_shared_leaves_are_counted_over_the_trees():
    leaves = np.array([[0, 2], [1, 2], [0, 3]], dtype=np.int32)
    members = sparse.csr_array(
        (np.ones(6), (leaves.ravel(), np.repeat(np.arange(3), 2))), shape=(4, 3)
    )
    K = np.zeros((3, 3))
    _compiled.add_shared_leaves(leaves, members.indptr, members.indices, K)
    assert_array_equal(K, (leaves[:, None] == leaves[None]).sum(axis=2))
