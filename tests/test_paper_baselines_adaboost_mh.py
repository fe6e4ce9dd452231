"""AdaBoost.MH: its bound on the training error, and the best split of every tree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paper_helpers import multilabel_data
from sklearn.tree import DecisionTreeClassifier

from spanforest.paper.baselines import (
    AdaBoostMHClassifier,
)


@pytest.fixture
def data():
    return multilabel_data()


@pytest.mark.parametrize("max_leaf_nodes", [2, 5, 40])
@pytest.mark.parametrize("noise", [False, True])
def test_normalizers_bound_the_training_hamming_loss(data, max_leaf_nodes, noise):
    X, Y = data
    if noise:
        Y = np.random.default_rng(0).integers(2, size=Y.shape)
    model = AdaBoostMHClassifier(30, max_leaf_nodes, random_state=0).fit(X, Y)
    bounds = np.cumprod(model.normalizers_)
    losses = [np.mean(predicted != Y) for predicted in model.staged_predict(X)]
    assert np.all(losses <= bounds + 1e-12)
    assert np.all(model.normalizers_ <= 1 + 1e-12)
    assert bounds[-1] < 1


def test_normalizers_multiply_to_the_mean_exponential_loss(data):
    X, Y = data
    model = AdaBoostMHClassifier(12, 6, random_state=0).fit(X, Y)
    scores = np.array(list(model.staged_decision_function(X)))
    exponential = np.exp(-np.where(Y, 1, -1) * scores).mean(axis=(1, 2))
    assert_allclose(np.cumprod(model.normalizers_), exponential)


def test_leaf_values_are_the_smoothed_log_odds_of_their_weights(data):
    X, Y = data
    model = AdaBoostMHClassifier(2, 6, random_state=0).fit(X, Y)
    first, second = list(model.staged_decision_function(X))
    pair_weights = np.exp(-np.where(Y, 1, -1) * first)
    pair_weights /= pair_weights.sum()
    leaves = model.estimators_[1].apply(X)
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        positive = np.sum(pair_weights * (Y == 1), axis=0, where=inside[:, None])
        negative = np.sum(pair_weights * (Y == 0), axis=0, where=inside[:, None])
        expected = 0.5 * np.log((positive + 1 / Y.size) / (negative + 1 / Y.size))
        assert_allclose((second - first)[inside], np.tile(expected, (inside.sum(), 1)))


def test_every_stump_is_the_best_of_all_stumps_for_its_weights(data):
    # largest sum of S^2 / V over leaves and labels, V from the largest weight of a row
    X, _ = data
    Y = np.random.default_rng(0).integers(2, size=(len(X), 5))  # no split stands out
    signs = np.where(Y, 1.0, -1.0)

    def gain(inside, pair_weights):
        return sum(
            np.sum((signs * pair_weights)[part].sum(axis=0) ** 2)
            / pair_weights[part].max(axis=1).sum()
            for part in (inside, ~inside)
        )

    model = AdaBoostMHClassifier(15, 2, random_state=0).fit(X, Y)
    pair_weights = np.full(Y.shape, 1 / Y.size)
    for tree in model.estimators_:
        best = max(
            gain(X[:, feature] <= threshold, pair_weights)
            for feature in range(X.shape[1])
            for threshold in np.unique(X[:, feature])[:-1]
        )
        leaves = tree.apply(X)
        assert_allclose(gain(leaves == leaves[0], pair_weights), best)
        pair_weights *= np.exp(-signs * tree.predict(X))
        pair_weights /= pair_weights.sum()


def test_one_label_and_one_stump_is_the_first_stump_of_a_gini_tree(data):
    X, Y = data
    model = AdaBoostMHClassifier(1, 2, random_state=0).fit(X, Y[:, 0])
    gini = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0).fit(X, Y[:, 0])
    assert_array_equal(model.estimators_[0].apply(X), gini.apply(X))


def test_each_later_tree_lowers_the_bound_on_its_normalizer(data):
    # Z_t <= 1 - 1/2 sum S^2 / V: with smoothing small beside the weights of two leaves
    X, Y = data
    signs = np.where(Y, 1.0, -1.0)
    model = AdaBoostMHClassifier(6, 2, random_state=0).fit(X, Y)
    pair_weights = np.full(Y.shape, 1 / Y.size)
    for tree, normalizer in zip(model.estimators_, model.normalizers_, strict=True):
        leaves = tree.apply(X)
        bound = 1.0
        for leaf in np.unique(leaves):
            inside = leaves == leaf
            differences = (signs * pair_weights)[inside].sum(axis=0)
            bound -= np.sum(differences**2) / pair_weights[inside].max(axis=1).sum() / 2
        assert normalizer <= bound + 1e-3
        pair_weights *= np.exp(-signs * tree.predict(X))
        pair_weights /= pair_weights.sum()


def test_the_first_rounds_do_not_depend_on_their_number(data):
    X, Y = data
    few = AdaBoostMHClassifier(4, 6, random_state=3).fit(X, Y)
    many = AdaBoostMHClassifier(9, 6, random_state=3).fit(X, Y)
    assert_array_equal(few.normalizers_, many.normalizers_[:4])
    stages = list(many.staged_predict(X))
    assert_array_equal(stages[3], few.predict(X))
    assert_array_equal(stages[-1], many.predict(X))
