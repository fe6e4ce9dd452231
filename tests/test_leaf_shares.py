"""Probabilities of a forest: shares of the values of labels in its leaves."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from small_data import GRADES, X_new
from small_data import NOISY_Y as Y
from small_data import X as NUMBERS

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    _leaf_shares,
    load,
    save,
)
from spanforest._inputs import Resources
from spanforest._leaf_shares import LeafShares
from spanforest.kernels import ForestKernel

FEW_TREES = ForestKernel(20, min_samples_leaf=2)


def shares_of(Y, kernel=FEW_TREES, sample_weight=None, n_values=None):
    codes = np.asarray(Y, dtype=np.int32)
    if n_values is None:
        n_values = codes.max(axis=0) + 1
    return LeafShares.grow(
        kernel, NUMBERS, codes, np.asarray(n_values), sample_weight, Resources(0)
    )


def counted(shares, Y, sample_weight):
    """Return the shares of new examples, one example, tree and label after another."""
    train, new = shares.forest.leaves(NUMBERS), shares.forest.leaves(X_new)
    results = [np.zeros((len(X_new), n)) for n in shares.n_values]
    for i, leaves in enumerate(new):
        for t, leaf in enumerate(leaves):
            for j, result in enumerate(results):
                known = Y[:, j] >= 0
                inside = known & (train[:, t] == leaf)
                if not inside.any():
                    inside = known
                share = np.bincount(
                    Y[inside, j], sample_weight[inside], result.shape[1]
                )
                result[i] += share / share.sum() / len(leaves)
    return results


@pytest.mark.parametrize("largest", [1, 2**22])
@pytest.mark.parametrize("kind", ["extra", "random", "boosted"])
def test_shares_are_counted_in_leaves(kind, largest, monkeypatch):
    """With gaps, weights, and labels of one, two and three values."""
    monkeypatch.setattr(_leaf_shares, "LARGEST_TABLE", largest)
    rng = np.random.default_rng(0)
    codes = np.column_stack([GRADES, Y[:, :2], 0 * Y[:, 0]]).astype(np.int32)
    codes[rng.random(codes.shape) < 0.4] = -1
    weight = rng.choice([0.5, 1.0, 3.0], size=60)
    kernel = ForestKernel(10, min_samples_leaf=2, kind=kind)
    shares = shares_of(codes, kernel, weight)
    for share, expected in zip(
        shares.of(X_new), counted(shares, codes, weight), strict=True
    ):
        assert_allclose(share, expected, atol=1e-12)
        assert_allclose(share.sum(axis=1), 1.0)


def test_shares_are_like_the_probabilities_of_scikit_learn():
    kernel = ForestKernel(2000, min_samples_leaf=3, max_features=2)
    trees = ExtraTreesClassifier(
        2000, min_samples_leaf=3, max_features=2, random_state=0
    )
    theirs = trees.fit(NUMBERS, Y).predict_proba(X_new)
    for own, their in zip(shares_of(Y, kernel).of(X_new), theirs, strict=True):
        assert_allclose(own, their, atol=0.05)


def test_a_label_that_was_never_observed_has_equal_shares():
    codes = np.column_stack([Y[:, 0], np.full(60, -1)])
    unknown = shares_of(codes, n_values=[2, 4]).of(X_new)[1]
    assert_array_equal(unknown, np.full((25, 4), 0.25))


def test_the_forest_learns_from_weights():
    heavy = np.where(NUMBERS[:, 0] > 0, 10.0, 1.0)
    splits = [
        shares_of(Y, sample_weight=weight).forest.leaf_map.feature
        for weight in (None, heavy)
    ]
    assert not np.array_equal(*splits)


def test_the_unit_and_the_origin_of_features_do_not_matter():
    def shares_in(factor, origin):
        def moved(X):
            return factor * X + origin

        codes, n_values = Y.astype(np.int32), np.full(4, 2)
        shares = LeafShares.grow(
            FEW_TREES, moved(NUMBERS), codes, n_values, None, Resources(0)
        )
        return np.concatenate(shares.of(moved(X_new)))

    for factor, origin in [(2.0**-40, 0.0), (1.0, 2.0**20)]:
        assert_array_equal(shares_in(factor, origin), shares_in(1.0, 0.0))


def test_no_examples_have_no_shares():
    assert [one.shape for one in shares_of(GRADES).of(X_new[:0])] == [(0, 3), (0, 2)]


# --- in the classifiers ---------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier", [MMCRFClassifier(), RandomGraphEnsembleClassifier(3)]
)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "forest"])
def test_probabilities_are_the_mean_of_calibrated_ones_and_shares(classifier, kernel):
    plain = clone(classifier).set_params(
        kernel=kernel, probability=True, random_state=0
    )
    both = clone(plain).set_params(probability=FEW_TREES).fit(NUMBERS, Y)
    of_forest = np.column_stack([one[:, 1] for one in both._leaf_shares.of(X_new)])
    calibrated = plain.fit(NUMBERS, Y).predict_proba(X_new)
    assert_allclose(both.predict_proba(X_new), (calibrated + of_forest) / 2)
    assert_array_equal(both.predict(X_new), plain.predict(X_new))
    assert_array_equal(both.decision_function(X_new), plain.decision_function(X_new))


@pytest.mark.parametrize("kind", [MMCRFClassifier, RandomGraphEnsembleClassifier])
@pytest.mark.parametrize("generator", [np.random.RandomState, np.random.default_rng])
def test_a_forest_does_not_change_predictions_whatever_draws_it(kind, generator):
    predicted = [
        kind(random_state=generator(3), probability=probability, tol=0.5)
        .fit(NUMBERS, Y)
        .decision_function(X_new)
        for probability in (True, FEW_TREES)
    ]
    assert_array_equal(*predicted)


def test_a_threshold_is_for_the_mean():
    options = {"n_estimators": 3, "random_state": 0, "threshold": 0.3}
    clf = RandomGraphEnsembleClassifier(probability=FEW_TREES, **options)
    clf.fit(NUMBERS, Y)
    P = clf.predict_proba(X_new)
    assert_array_equal(clf.predict(X_new), P > 0.3)
    assert_array_equal(clf.decision_function(X_new) > 0, P > 0.3)
    assert_array_equal(clf.predict_for(X_new, threshold=0.6), P > 0.6)


def test_shares_are_of_other_trees_than_the_kernel():
    clf = MMCRFClassifier(kernel=FEW_TREES, probability=FEW_TREES, random_state=0)
    clf.fit(NUMBERS, Y)
    thresholds = [
        given.leaf_map.threshold for given in (clf._input, clf._leaf_shares.forest)
    ]
    assert not np.array_equal(*thresholds)


def test_another_fit_forgets_the_forest():
    clf = RandomGraphEnsembleClassifier(2, probability=FEW_TREES, random_state=0)
    clf.fit(NUMBERS, Y).set_params(probability=True).fit(NUMBERS, Y)
    assert "_leaf_shares" not in vars(clf)


def test_every_form_of_examples_and_labels_has_shares():
    table = pd.DataFrame(NUMBERS, columns=list("abcd"))
    table["c"] = pd.Categorical(np.where(NUMBERS[:, 2] > 0, "up", "down"))
    gaps = np.where(np.abs(NUMBERS) > 1.5, np.nan, NUMBERS)
    words = sparse.csr_array(np.where(NUMBERS > 0, NUMBERS, 0.0))
    unknown = np.where(NUMBERS > 1, np.nan, Y)
    clf = RandomGraphEnsembleClassifier(2, probability=FEW_TREES, random_state=0)
    for X, y, kernel in [
        (table, Y, "rbf"),
        (table, Y, "forest"),
        (gaps, Y, "forest"),
        (words, sparse.csr_array(Y), "linear"),
        (NUMBERS, unknown, "auto"),
        (NUMBERS, unknown[:, 0], "auto"),
    ]:
        P = clf.set_params(kernel=kernel).fit(X, y).predict_proba(X)
        assert np.all((P >= 0) & (P <= 1))
        right = (P.reshape(60, -1)[:, -1] > 0.5) == (
            Y[:, -1] if y.ndim > 1 else Y[:, 0]
        )
        assert right.mean() > 0.6
    P = clf.fit(NUMBERS, GRADES).predict_proba(X_new)
    assert [one.shape for one in P] == [(25, 3), (25, 2)]
    assert_allclose(np.sum(P[0], axis=1), 1.0)


def test_a_model_with_shares_is_saved(tmp_path):
    clf = RandomGraphEnsembleClassifier(2, probability=FEW_TREES, random_state=0)
    save(clf.fit(NUMBERS, Y), tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.predict_proba(X_new), clf.predict_proba(X_new))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"probability": "forest"}, "True, False or a ForestKernel; got 'forest'"),
        ({"probability": None}, "True, False or a ForestKernel; got None"),
        (
            {"probability": ForestKernel(min_samples_leaf=0)},
            "min_samples_leaf of a ForestKernel must be a whole number",
        ),
        ({"probability": 2}, "True, False or a ForestKernel; got 2"),
        (
            {"probability": ForestKernel(categories=[0])},
            "reads the features as the kernel does, so it takes no categories",
        ),
        (
            {"probability": FEW_TREES, "kernel": "precomputed"},
            "none with a precomputed kernel. Set probability=True",
        ),
    ],
)
@pytest.mark.parametrize("kind", [MMCRFClassifier, RandomGraphEnsembleClassifier])
def test_what_probability_cannot_be_is_refused(kind, params, message):
    X = NUMBERS @ NUMBERS.T if "kernel" in params else NUMBERS
    with pytest.raises(ValueError, match=message):
        kind(**params).fit(X, Y)
