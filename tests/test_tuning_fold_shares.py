"""What a forest says of the test examples of a fold."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from searches import automatic, tuned
from small_data import CHANCE, COINS, NOISE, X, X_new
from small_data import NOISY_Y as Y

from spanforest import RandomGraphEnsembleClassifier
from spanforest._leaf_shares import LeafShares
from spanforest._weights import read_targets
from spanforest.kernels import ForestKernel
from spanforest.metrics import microlabel_accuracy
from spanforest.tuning import _contest
from spanforest.tuning._contest import Contest, Deadline
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


def shares_of_fold(X, Y, fold, weight=None, forest=FEW_TREES, **kernel):
    """Return what a forest says of the test rows of a fold."""
    targets = read_targets(len(Y), Y, weight, None, None)
    (shares,) = FoldShares(forest, X, targets, TEMPLATE).of(kernel, [fold])
    return shares


@pytest.mark.parametrize("weight", [None, np.tile([1.0, 1.0, 3.0], 20)])
def test_a_fold_grows_the_forest_of_its_training_examples(weight):
    shares = shares_of_fold(X, Y, (EVEN, ODD), weight, kernel="rbf")
    clf = RandomGraphEnsembleClassifier(2, probability=FEW_TREES, random_state=0)
    own = None if weight is None else weight[EVEN]
    assert_allclose(shares, of_forest(clf.fit(X[EVEN], Y[EVEN], own), X[ODD]))


def test_examples_that_do_not_count_are_left_out():
    weight = np.repeat([1.0, 0.0], 30)
    fold = EVEN[:15], ODD[:15]
    left_out = shares_of_fold(X, Y, fold, weight)
    assert_array_equal(left_out, shares_of_fold(X[:30], Y[:30], fold))


def test_labels_that_have_nothing_to_do_with_features_stay_at_chance():
    rows, forest = np.arange(300), ForestKernel(min_samples_leaf=1)
    train, test = rows[rows % 3 > 0], rows[rows % 3 == 0]
    shares = shares_of_fold(NOISE, COINS, (train, test), forest=forest)
    assert microlabel_accuracy(COINS[test], shares > 0.5) < CHANCE + 0.05


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
def test_each_kind_of_probabilities_has_its_own_thresholds_of_labels():
    fitted = automatic(thresholds=["labels"], scoring="f1_macro").fit(X, Y)
    lists = [
        one["threshold"] for one in fitted.cv_results_["params"] if "threshold" in one
    ]
    assert [len(one) for one in lists] == [4, 4]
    assert lists[0] != lists[1]


@pytest.fixture
def grown(monkeypatch):
    """Return a list of the forests that are grown: trees, and columns that they see."""
    forests = []
    grow = LeafShares.grow

    def remember(kernel, X, *others):
        forests.append((kernel.n_estimators, X.shape[1]))
        return grow(kernel, X, *others)

    monkeypatch.setattr(LeafShares, "grow", remember)
    return forests


@pytest.mark.needs_compiled
def test_forests_of_folds_have_few_trees_and_only_the_final_one_has_all(grown):
    with_forest(probability=ForestKernel(150, kind="random")).fit(X, Y)
    assert grown == [(100, 4)] * 3 + [(150, 4)]


@pytest.mark.needs_compiled
@pytest.mark.parametrize(("kernel", "n_columns"), [("rbf", 7), ("forest", 5)])
def test_folds_read_categories_as_the_final_ensemble_does(kernel, n_columns, grown):
    table = pd.DataFrame(X, columns=list("abcd"))
    table["e"] = pd.Categorical(np.array(["low", "mid", "high"])[np.arange(60) % 3])
    with_forest(kernels=[kernel]).fit(table, Y)
    assert {width for _, width in grown} == {n_columns}
    assert len(grown) == 4


@pytest.mark.needs_compiled
def test_changes_to_the_ensemble_do_not_change_what_was_chosen():
    fitted = with_forest().fit(X, Y)
    fitted.best_estimator_.set_params(probability__n_estimators=3)
    assert fitted.best_params_["probability"].n_estimators == 20
    assert FEW_TREES.n_estimators == 20


@pytest.mark.needs_compiled
def test_the_forest_may_take_too_long(monkeypatch):
    monkeypatch.setattr(Contest, "_fold_shares", lambda *_: [])
    fitted = automatic(thresholds="auto").fit(X, Y)
    assert "the time limit left out thresholds with a forest" in fitted.chosen_
    assert not any(
        isinstance(one.get("probability"), ForestKernel)
        for one in fitted.cv_results_["params"]
    )


@pytest.mark.parametrize(("limit", "n_shares"), [(16.0, 3), (15.9, 0)])
def test_forests_are_grown_if_the_final_one_ends_in_time(limit, n_shares, monkeypatch):
    """Three folds take a second each, the final forest three, the ensemble ten."""
    now = [0.0]

    class Grower:
        kernel = ForestKernel(100)

        def of(self, kernel_params, folds):
            for _ in folds:
                now[0] += 1.0
                yield np.zeros(())

    folds = [(np.arange(60), np.arange(60, 90))] * 3
    search = SimpleNamespace(n_samples=90, folds=folds)
    leader = SimpleNamespace(kernel_params={})
    monkeypatch.setattr(_contest, "clock", lambda: now[0])
    contest = Contest(search, None, Deadline(0.0, limit), False)
    shares = contest._fold_shares(Grower(), leader, 3, 200, 10.0)
    assert len(shares) == n_shares


def test_a_forest_needs_features():
    with pytest.raises(ValueError, match="with a precomputed kernel"):
        with_forest(kernels="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="True, False or a ForestKernel; got 'yes'"):
        with_forest(probability="yes").fit(X, Y)
