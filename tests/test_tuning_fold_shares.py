"""What a forest says of the test examples of a fold."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from searches import automatic, tuned
from small_data import CHANCE, COINS, NOISE, X, X_new
from small_data import NOISY_Y as Y

from spanforest import RandomGraphEnsembleClassifier
from spanforest._weights import read_targets
from spanforest.kernels import ForestKernel
from spanforest.metrics import microlabel_accuracy
from spanforest.tuning import _contest
from spanforest.tuning._contest import Contest
from spanforest.tuning._fold_shares import FoldShares

FEW_TREES = ForestKernel(20, min_samples_leaf=2)
TEMPLATE = RandomGraphEnsembleClassifier(random_state=0)
EVEN, ODD = np.arange(0, 60, 2), np.arange(1, 60, 2)


def with_forest(**params):
    """Return a search that can only choose a threshold."""
    options = {"kernels": "linear", "offsets": -9.0, "probability": FEW_TREES, "cv": 3}
    return tuned(**options | {"thresholds": [0.4, 0.2]} | params)


def of_forest(fitted, X):
    return np.column_stack([one[:, 1] for one in fitted._leaf_shares.of(X)])


@pytest.mark.parametrize("weight", [None, np.tile([1.0, 1.0, 3.0], 20)])
def test_a_fold_grows_the_forest_of_its_training_examples(weight):
    targets = read_targets(60, Y, weight, None, None)
    shares = FoldShares.read(FEW_TREES, X, targets, TEMPLATE).of(EVEN, ODD)
    clf = RandomGraphEnsembleClassifier(2, probability=FEW_TREES, random_state=0)
    own = None if weight is None else weight[EVEN]
    assert_allclose(shares, of_forest(clf.fit(X[EVEN], Y[EVEN], own), X[ODD]))


def test_examples_that_do_not_count_are_left_out_and_categories_are_read():
    table = pd.DataFrame(X, columns=list("abcd"))
    table["e"] = pd.Categorical(np.where(X[:, 0] > 0, "up", "down"))
    weight = np.repeat([1.0, 0.0], 30)
    targets = read_targets(60, Y, weight, None, None)
    read = FoldShares.read(FEW_TREES, table, targets, TEMPLATE)
    assert read.X.shape == (30, 5)
    assert read.of(EVEN[:15], ODD[:15]).shape == (15, 4)


def test_labels_that_have_nothing_to_do_with_features_stay_at_chance():
    targets = read_targets(300, COINS, None, None, None)
    read = FoldShares.read(ForestKernel(min_samples_leaf=1), NOISE, targets, TEMPLATE)
    rows = np.arange(300)
    fold = rows % 3 == 0
    shares = read.of(rows[~fold], rows[fold])
    assert microlabel_accuracy(COINS[fold], shares > 0.5) < CHANCE + 0.05


# --- in the search --------------------------------------------------------------------


@pytest.mark.needs_compiled
def test_a_threshold_is_chosen_on_the_mean_with_the_forest():
    fitted = with_forest().fit(X, Y)
    assert fitted.threshold_ in (0.4, 0.2)
    assert fitted.best_params_["probability"] is FEW_TREES
    assert f"with {FEW_TREES}" in fitted.chosen_
    assert list(fitted.cv_results_["param_probability"][-2:]) == [FEW_TREES, FEW_TREES]
    plain = RandomGraphEnsembleClassifier(
        4, scaling=None, max_iter=1000, random_state=0, **fitted.best_params_
    )
    P = plain.fit(X, Y).predict_proba(X_new)
    assert_array_equal(fitted.predict_proba(X_new), P)
    assert_array_equal(fitted.predict(X_new), fitted.threshold_ < P)


@pytest.mark.needs_compiled
def test_thresholds_of_labels_are_those_of_the_mean():
    options = {"scoring": "f1_macro", "cv": 4, "thresholds": [1.0, "labels"]}
    both = with_forest(**options).fit(X, Y)
    plain = with_forest(**options, probability=True).fit(X, Y)
    assert len(both.threshold_) == len(plain.threshold_) == 4
    assert both.threshold_ != plain.threshold_


@pytest.mark.needs_compiled
def test_a_forest_is_tried_by_default_but_not_if_kernels_are_named():
    def tried(fitted):
        params = fitted.cv_results_["params"]
        return {str(one["probability"]) for one in params if "threshold" in one}

    thresholds = {"thresholds": "auto"}
    forest = "ForestKernel(kind='random', min_samples_leaf=2)"
    assert tried(automatic(**thresholds).fit(X, Y)) == {"True", forest}
    assert tried(automatic(kernels="forest", **thresholds).fit(X, Y)) == {"True"}
    words = (np.random.default_rng(0).random((60, 120)) < 0.1).astype(float)
    words = sparse.csr_array(words)
    assert tried(automatic(**thresholds).fit(words, Y)) == {"True", forest}
    gaps = np.where(X > 1.5, np.nan, X)
    assert tried(automatic(**thresholds).fit(gaps, Y)) == {"True", forest}


@pytest.mark.needs_compiled
def test_the_forest_may_take_too_long(monkeypatch):
    now = _contest.clock

    def slow(contest, n_folds, final):
        monkeypatch.setattr(_contest, "clock", lambda: now() + 1000.0)
        return fold_shares(contest, n_folds, final)

    fold_shares = Contest._fold_shares
    monkeypatch.setattr(Contest, "_fold_shares", slow)
    fitted = automatic(thresholds="auto", time_limit=900).fit(X, Y)
    assert "the time limit left out thresholds" in fitted.chosen_
    assert not any(
        isinstance(one.get("probability"), ForestKernel)
        for one in fitted.cv_results_["params"]
    )


def test_a_forest_needs_features():
    with pytest.raises(ValueError, match=r'with kernels="precomputed"[.] Set'):
        with_forest(kernels="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="True, False or a ForestKernel; got 'yes'"):
        with_forest(probability="yes").fit(X, Y)
