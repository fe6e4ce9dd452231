"""Parts of features in the score of one example."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from spanforest._feature_contributions import forest_contributions, linear_contributions
from spanforest.kernels import ForestKernel

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3)).astype(np.float32)
X[rng.random(X.shape) < 0.2] = np.nan
Y = (np.nan_to_num(X[:, :2]) > 0).astype(np.int32)
WEIGHTS = rng.normal(size=(30, 2))


def grow(**options):
    leaf_map = ForestKernel(4, min_samples_leaf=1, **options).grow(X, Y, seed=0)
    return leaf_map, leaf_map.indicator(leaf_map.leaves(X)).T.tocsr()


def contributions_by_hand(trees, members, x, weights):
    """Walk down every tree with all training examples that get as far as x."""
    outputs = members @ weights / trees.n_trees  # at every leaf
    leaves = trees.leaves(X)
    contributions = np.zeros((X.shape[1], weights.shape[1]))
    for t, node in enumerate(trees.root):
        reached, rows = X, np.arange(len(X))
        while trees.feature[node] >= 0:
            before = outputs[leaves[rows, t]].mean(axis=0)
            k, threshold = trees.feature[node], trees.threshold[node]

            def is_left(values, node=node, threshold=threshold):
                nan = np.isnan(values)
                return np.where(nan, trees.nan_left[node], values <= threshold)

            same = is_left(reached[:, k]) == is_left(x[k])
            reached, rows = reached[same], rows[same]
            contributions[k] += outputs[leaves[rows, t]].mean(axis=0) - before
            node = trees.left[node] if is_left(x[k]) else trees.right[node]
    return contributions


@pytest.mark.parametrize("kind", ["extra", "random"])
def test_contributions_in_a_forest_are_changes_of_the_mean_on_the_way_down(kind):
    trees, members = grow(kind=kind)
    for x in (X[0], np.array([0.5, np.nan, -2.0], dtype=np.float32)):
        contributions = forest_contributions(trees, members, x, WEIGHTS)
        expected = contributions_by_hand(trees, members, x, WEIGHTS)
        assert_allclose(contributions, expected, atol=1e-12)


def test_contributions_in_a_forest_sum_to_the_distance_from_the_mean_output():
    trees, members = grow()
    outputs = trees.indicator(trees.leaves(X)) @ members @ WEIGHTS / trees.n_trees
    for x, output in zip(X, outputs, strict=True):
        total = forest_contributions(trees, members, x, WEIGHTS).sum(axis=0)
        assert_allclose(total, output - outputs.mean(axis=0), atol=1e-6)


def test_a_forest_of_roots_has_no_contributions():
    leaf_map = ForestKernel(2, min_samples_leaf=30).grow(X, Y, seed=0)
    members = leaf_map.indicator(leaf_map.leaves(X)).T.tocsr()
    assert not forest_contributions(
        leaf_map, sparse.csr_array(members), X[0], WEIGHTS
    ).any()


def test_linear_contributions_sum_to_the_product_with_the_weights():
    row, centre = np.array([1.0, 4.0, 2.0]), np.array([1.0, 0.0, 5.0])
    weights = rng.normal(size=(3, 2))
    contributions = linear_contributions(row, centre, weights)
    assert_allclose(contributions.sum(axis=0), (row - centre) @ weights)
    assert not contributions[0].any()
