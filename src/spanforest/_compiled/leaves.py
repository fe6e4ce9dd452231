"""The leaves of decision trees into which examples fall."""

import numpy as np

from spanforest._compiled.decorators import compiled, inlined

ROWS_PER_TREE = 1024  # go through a tree one after the other, while it is in the cache


@inlined
def _leaf_of(features, root, trees):
    """Return the number of the leaf into which a row of features falls."""
    node = root
    while trees.feature[node] >= 0:
        value = features[trees.feature[node]]
        if np.isnan(value):
            goes_left = trees.nan_left[node]
        else:
            goes_left = value <= trees.threshold[node]
        node = trees.left[node] if goes_left else trees.right[node]
    return trees.left[node]


@compiled
def dense_leaves(X, trees, leaves):
    """Fill `leaves` (n_samples, n_trees) with leaf numbers; X is float32.

    `trees` are `DecisionTrees`.
    """
    n_samples = X.shape[0]
    for start in range(0, n_samples, ROWS_PER_TREE):
        stop = min(start + ROWS_PER_TREE, n_samples)
        for tree in range(trees.root.shape[0]):
            for i in range(start, stop):
                leaves[i, tree] = _leaf_of(X[i], trees.root[tree], trees)


def sparse_leaves(rows, n_features, trees, leaves):
    """Fill `leaves` as `dense_leaves` does, for `SparseRows` of float32 features."""
    _sparse_leaves(rows, np.zeros(n_features, dtype=np.float32), trees, leaves)


@compiled
def _sparse_leaves(rows, features, trees, leaves):
    """Do the work of `sparse_leaves`; `features` are zeros."""
    for i in range(leaves.shape[0]):
        entries = slice(rows.indptr[i], rows.indptr[i + 1])
        for s in range(entries.start, entries.stop):
            features[rows.indices[s]] = rows.data[s]
        for tree in range(trees.root.shape[0]):
            leaves[i, tree] = _leaf_of(features, trees.root[tree], trees)
        for s in range(entries.start, entries.stop):
            features[rows.indices[s]] = 0.0


@compiled
def add_shared_leaves(leaves, indptr, indices, K):
    """Add to K[i, j] the number of trees in which examples i and j share a leaf.

    `leaves` (n_samples, n_trees) are those of the examples i. The examples j of leaf s
    are ``indices[indptr[s] : indptr[s + 1]]``.
    """
    for i in range(leaves.shape[0]):
        row = K[i]
        for tree in range(leaves.shape[1]):
            leaf = leaves[i, tree]
            for s in range(indptr[leaf], indptr[leaf + 1]):
                row[indices[s]] += 1.0


# stamp: bf4b671b9d7ccd4c
