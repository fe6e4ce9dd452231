"""Examples that are given more than once, in every kind of training."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from small_data import X, X_new, Y
from strategies import seeds, trials

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)
from spanforest._copies import Copies, put_together
from spanforest._weights import read_targets
from spanforest.kernels import ForestKernel, SumKernel

FEW_TREES = ForestKernel(10, min_samples_leaf=2)
TIMES = np.random.default_rng(3).integers(0, 4, len(X))
KERNELS = {
    "linear": "linear",
    "rbf": "rbf",
    "forest": FEW_TREES,
    "boosted": ForestKernel(10, kind="boosted"),
    "in turn": ["linear", "rbf", FEW_TREES],
    "sum": SumKernel(["rbf", FEW_TREES]),
}
COARSE = np.round(X)  # many examples agree in these
WORDS = sparse.csr_array(np.maximum(COARSE, 0.0))


def shuffled(seed=0):
    """Return the examples `TIMES` times in some order, and once with weights."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(np.repeat(np.arange(len(X)), TIMES))
    return places, rng.permutation(len(X))


@given(seed=seeds, n_samples=st.integers(1, 12))
@trials(60)
def test_copies_are_the_examples_that_agree_in_everything(seed, n_samples):
    rng = np.random.default_rng(seed)
    features = rng.choice([-0.0, 0.0, 1.0, np.nan], (n_samples, 2))
    codes = rng.integers(0, 2, (n_samples, 1)).astype(np.int32)
    weight = rng.integers(1, 5, n_samples) / 2.0
    seen = [
        (*map(repr, row + 0.0), code)
        for row, code in zip(features, codes.ravel(), strict=True)
    ]
    copies = Copies.of(features, codes, weight)
    assert len(copies.rows) == len(set(seen))
    for i, one in enumerate(seen):
        assert seen[copies.rows[copies.place[i]]] == one
    places, total = copies.together()
    assert_array_equal(places, np.arange(len(copies.rows)))
    assert_allclose(total.sum(), weight.sum())
    plain = Copies.of(features, codes, None)
    assert (plain is None) == (len(set(seen)) == n_samples)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_order_of_what_remains_depends_on_the_examples_alone(form):
    copied, moved = shuffled()
    moved = moved[TIMES[moved] > 0]

    def put(rows, weight):
        targets = read_targets(len(rows), Y[rows], weight, None, None)
        return put_together(form(COARSE)[rows], targets)

    one, its, _ = put(copied, None)
    other, others, _ = put(moved, TIMES[moved])
    assert (one != other).sum() == 0
    assert_array_equal(its.Y, others.Y)
    assert_array_equal(its.sample_weight, others.sample_weight)
    assert its.sample_weight.sum() == TIMES.sum()


def test_sparse_examples_are_put_together_like_dense_ones():
    explicit = WORDS.copy()
    explicit.data[:5] = 0.0  # stored zeros
    codes = Y.astype(np.int32)
    dense = Copies.of(explicit.toarray(), codes, None)
    thin = Copies.of(explicit, codes, None)
    assert len(dense.rows) < len(X)
    assert_array_equal(dense.rows, thin.rows)
    assert_array_equal(dense.place, thin.place)
    assert explicit.nnz == WORDS.nnz  # the caller's matrix is as it was


def test_examples_that_all_differ_stay_as_they_are():
    assert Copies.of(X, Y.astype(np.int32), None) is None


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("training", ["separate", "joint"])
def test_a_weight_is_that_many_copies_in_any_order(kernel, training):
    if training == "joint" and isinstance(kernel, list):
        pytest.skip("one model cannot have several kernels")
    copied, moved = shuffled()
    model = RandomGraphEnsembleClassifier(
        4, kernel=kernel, training=training, random_state=0
    )
    one = clone(model).fit(X[copied], Y[copied])
    other = clone(model).fit(X[moved], Y[moved], sample_weight=TIMES[moved])
    assert_array_equal(one.dual_objective_, other.dual_objective_)
    assert_array_equal(one.n_iter_, other.n_iter_)
    decisions = [each.decision_function(X_new) for each in (one, other)]
    assert_allclose(*decisions, rtol=1e-9, atol=1e-9)


@pytest.mark.needs_compiled
def test_the_search_takes_a_weight_for_that_many_copies_in_the_fold():
    rows = [np.flatnonzero(np.arange(len(X)) % 3 == fold) for fold in range(3)]
    times = [TIMES[rows[0]], np.ones(len(rows[1]), int), np.ones(len(rows[2]), int)]
    copied = [np.repeat(*each) for each in zip(rows, times, strict=True)]

    def folds(parts):
        number = np.repeat(np.arange(3), [len(part) for part in parts])
        return [
            (np.flatnonzero(number != f), np.flatnonzero(number == f)) for f in range(3)
        ]

    search = RandomGraphEnsembleClassifierCV(
        3, kernels=("linear", "rbf", FEW_TREES), random_state=0
    )
    place = np.concatenate(copied)
    one = clone(search).set_params(cv=folds(copied)).fit(X[place], Y[place])
    place, weight = np.concatenate(rows), np.concatenate(times)
    other = search.set_params(cv=folds(rows))
    other.fit(X[place], Y[place], sample_weight=weight)
    assert one.best_params_ == other.best_params_
    for name in ("mean_test_score", "std_test_score"):
        assert_allclose(one.cv_results_[name], other.cv_results_[name], rtol=1e-12)
    assert_array_equal(one.dual_objective_, other.dual_objective_)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_users_see_every_example_again(kernel):
    codes = (Y[:, :2] > 0).astype(int)
    model = RandomGraphEnsembleClassifier(4, kernel=kernel, C=2.0, random_state=0)
    model.fit(COARSE, codes)
    copies = Copies.of(COARSE, codes.astype(np.int32), None)
    assert len(copies.rows) < len(X)
    if hasattr(model, "X_fit_"):
        assert_array_equal(model.X_fit_, COARSE)
    if hasattr(model, "dual_coef_"):
        assert len(model.dual_coef_) == len(X)
        for i, j in enumerate(copies.rows[copies.place]):
            assert_allclose(model.dual_coef_[i], model.dual_coef_[j])
    assert model.predict(COARSE).shape == codes.shape


@pytest.mark.needs_compiled
def test_the_model_is_that_of_the_examples_as_they_were_given():
    exact = {"kernel": "rbf", "scaling": None, "gamma": 0.5, "tol": 1e-7}
    model = MMCRFClassifier([(0, 1)], **exact, max_iter=10**4, random_state=0)
    codes = (Y[:, :2] > 0).astype(int)
    together = clone(model).fit(COARSE, codes)
    # a feature too small for the kernel keeps copies apart
    apart = np.column_stack([COARSE, np.arange(len(X)) * 1e-9])
    alone = clone(model).fit(apart, codes)
    assert_allclose(together.dual_objective_, alone.dual_objective_, rtol=1e-6)
    K = np.exp(-0.5 * np.square(COARSE[:, None] - COARSE[None]).sum(axis=2))
    squared_norm = np.einsum("ic,ij,jc", together.dual_coef_, K, together.dual_coef_)
    others = np.einsum("ic,ij,jc", alone.dual_coef_, K, alone.dual_coef_)
    assert_allclose(squared_norm, others, rtol=1e-3)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_calibration_holds_out_examples_not_all_copies_of_one(kernel):
    place = np.arange(200) % 2  # of only two different examples
    is_on = np.random.default_rng(0).random((200, 2)) < [[0.3, 0.7]]
    codes = np.where(place[:, None] == 0, is_on, ~is_on).astype(int)
    features = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])[place]
    apart = features + np.outer(np.arange(200), [0.0, 0.0, 1e-9])
    model = RandomGraphEnsembleClassifier(
        3, kernel=kernel, gamma=0.5, scaling=None, probability=True, random_state=0
    ).set_params(tol=1e-6, max_iter=10**4)
    chances = [
        clone(model).fit(given, codes).predict_proba(features[:2])
        for given in (features, apart)
    ]
    assert_allclose(*chances, atol=0.01)
