"""Predictions with a proof, and lists of label sets, against exhaustive search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.inference import exhaustive_search, score_labels

# how far training got does not matter here
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def noisy_problem(n_samples=60, n_labels=7, n_values=2, seed=0):
    """Labels that are mostly noise: consensus scores that do not agree."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    return X, rng.integers(0, n_values, size=(n_samples, n_labels))


MODELS = {
    "tree": lambda: MMCRFClassifier(C=10, tol=0.2, random_state=0),
    "cycles": lambda: MMCRFClassifier(
        graph=[(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (5, 6)],
        C=10,
        tol=0.3,
        random_state=0,
    ),
    "ensemble": lambda: RandomGraphEnsembleClassifier(
        12, C=100, max_iter=10, random_state=0
    ),
    "pairs": lambda: RandomGraphEnsembleClassifier(
        5, graph="random_pairing", C=10, tol=0.3, random_state=0
    ),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]().fit(*noisy_problem())


def factors_and_scores(model, X):
    factors = model._factors
    return factors, np.vstack([model._scores(basis) for basis in model._row_chunks(X)])


@pytest.mark.needs_compiled
def test_certified_predictions_are_the_exhaustive_maximum(model):
    X, _ = noisy_problem(seed=1)
    decoding = model.predict_certified(X)
    factors, scores = factors_and_scores(model, X)
    assert_allclose(decoding.score, exhaustive_search(factors, scores).score)
    assert_allclose(decoding.score, score_labels(factors, scores, decoding.labels))
    assert decoding.proven.all()
    assert_array_equal(decoding.labels, model.predict(X))


@pytest.mark.needs_compiled
def test_top_lists_are_the_best_of_all_label_sets(model):
    X, _ = noisy_problem(n_samples=8, seed=2)
    k = 6
    lists = model.predict_topk(X, k)
    factors, scores = factors_and_scores(model, X)
    everything = np.array(list(np.ndindex(*factors.n_values)))
    for i, row in enumerate(scores):
        tiled = np.tile(row, (len(everything), 1))
        truth = np.sort(score_labels(factors, tiled, everything))[::-1]
        assert_allclose(lists.scores[i], truth[:k])
        assert_allclose(score_labels(factors, tiled[:k], lists.labels[i]), truth[:k])
    assert lists.proven.all()
    assert_allclose(lists.scores[:, 0], model.predict_certified(X).score)


def test_lists_hold_the_values_of_training():
    X, Y = noisy_problem(n_labels=3, n_values=3)
    words = np.array(["low", "middle", "high"])[Y]
    model = RandomGraphEnsembleClassifier(3, tol=0.3, random_state=0).fit(X, words)
    lists = model.predict_topk(X[:4], k=100)
    assert lists.labels.shape == (4, 27, 3)
    assert_array_equal(lists.labels[:, 0], model.predict(X[:4]))
    assert set(lists.labels.ravel()) == {"low", "middle", "high"}


def test_a_vector_target_has_lists_of_values():
    X, Y = noisy_problem(n_labels=1, n_values=3)
    model = MMCRFClassifier(random_state=0, tol=0.3).fit(X, Y[:, 0])
    lists = model.predict_topk(X, k=2)
    assert lists.labels.shape == (len(X), 2)
    assert_array_equal(lists.labels[:, 0], model.predict(X))


@pytest.mark.needs_compiled
def test_the_time_for_an_example_can_be_limited():
    X, Y = noisy_problem(n_samples=40, n_labels=16)
    model = RandomGraphEnsembleClassifier(40, C=100, max_iter=5, random_state=0).fit(
        X, Y
    )
    X, _ = noisy_problem(seed=1)
    soon, late = model.predict_certified(X, seconds=1e-9), model.predict_certified(X)
    assert (soon.score <= late.score + 1e-9).all()
    assert (soon.bound >= late.bound - 1e-9).all()


@pytest.mark.needs_compiled
def test_the_time_for_a_list_can_be_limited():
    X, Y = noisy_problem(n_samples=40, n_labels=16)
    model = RandomGraphEnsembleClassifier(40, C=100, max_iter=5, random_state=0).fit(
        X, Y
    )
    X, _ = noisy_problem(n_samples=10, seed=1)
    soon, late = model.predict_topk(X, 20, seconds=1e-9), model.predict_topk(X, 20)
    assert late.proven.all()
    assert not soon.proven.all()
    assert (soon.scores <= late.scores + 1e-9).all()
    assert (soon.bound >= late.bound - 1e-9).all()


@pytest.mark.needs_compiled
@pytest.mark.parametrize("seconds", [0, -1, "soon", np.nan])
def test_a_limit_must_be_a_positive_number(seconds):
    model = MODELS["tree"]().fit(*noisy_problem())
    with pytest.raises(ValueError, match="seconds"):
        model.predict_certified([[0.0] * 5], seconds=seconds)
    with pytest.raises(ValueError, match="seconds"):
        model.predict_topk([[0.0] * 5], seconds=seconds)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("k", [0, -1, 1.5, "all"])
def test_the_length_of_a_list_must_be_a_count(k):
    model = MODELS["tree"]().fit(*noisy_problem())
    with pytest.raises((ValueError, TypeError), match="k"):
        model.predict_topk([[0.0] * 5], k=k)
