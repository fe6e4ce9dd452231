"""Training sets, and the graphs that members draw from them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from small_data import X, Y

from spanforest import _training
from spanforest._inputs import Features
from spanforest._training import (
    Draw,
    Settings,
    TrainingSet,
    model_factors,
    scores_of,
    train_first,
    train_member,
    warn_not_converged,
)
from spanforest.graphs import LabelGraph

CODES = Y.astype(np.int32)
DATA = TrainingSet(Features(X), CODES)
PAIR = LabelGraph(4, [(0, 1)])


def test_a_draw_repeats_itself_for_the_same_labels():
    draw = Draw("random_tree", np.random.SeedSequence(3))
    (one, rng), (other, same_rng) = draw.make_factors(DATA), draw.make_factors(DATA)
    assert_array_equal(one.graph.edges, other.graph.edges)
    assert rng.random() == same_rng.random()


def test_labels_have_unary_factors_everywhere_only_where_some_are_missing():
    assert DATA.factors(PAIR).unary_labels.tolist() == [2, 3]
    hidden = CODES.copy()
    hidden[0, 0] = -1
    partly = DATA._replace(Y=hidden)
    assert partly.factors(PAIR).unary_labels.tolist() == [0, 1, 2, 3]
    always = model_factors(PAIR, np.full(4, 2), unary_everywhere=True)
    assert always.unary_labels.tolist() == [0, 1, 2, 3]


def test_a_fold_knows_only_the_values_of_its_own_labels():
    labels = CODES.copy()
    labels[-1, 0] = 5
    fold, _ = DATA._replace(Y=labels).fold(np.arange(50), np.arange(50, 60))
    assert fold.factors(PAIR).n_values.tolist() == [2, 2, 2, 2]


def test_a_member_scores_its_own_labels_higher_than_others():
    settings = Settings(C=10.0, loss="edge", fit_intercept=True, tol=0.01, max_iter=999)
    draw = Draw(PAIR, np.random.SeedSequence(0))
    factors, solution = train_member(DATA, draw, settings)
    scores = scores_of(X, solution.weights, solution.intercept)
    assert scores.shape == (60, factors.n_cells)
    right = scores[np.arange(60), 2 * Y[:, 0] + Y[:, 1]]
    assert np.mean(right >= scores[:, :4].max(axis=1)) > 0.8
    assert solution.converged


SETTINGS = Settings(C=1.0, loss="edge", fit_intercept=True, tol=0.01, max_iter=999)


def test_a_member_that_starts_at_the_first_one_ends_at_its_own_optimum_sooner():
    one, other = (Draw("random_tree", np.random.SeedSequence(n)) for n in (0, 1))
    first, start = train_first(DATA, one, SETTINGS)
    started = DATA._replace(start=start)
    assert_array_equal(
        first.solution.weights, train_member(DATA, one, SETTINGS).solution.weights
    )
    cold, warm = (train_member(data, other, SETTINGS) for data in (DATA, started))
    assert cold.factors.graph == warm.factors.graph
    assert warm.solution.converged
    assert warm.solution.n_iter < cold.solution.n_iter
    assert_allclose(
        warm.solution.dual_objective, cold.solution.dual_objective, rtol=0.01
    )


@pytest.mark.parametrize("why", ["missing labels", "weights of labels"])
def test_members_start_from_zero_where_factors_differ_about_a_label(why):
    hidden = CODES.copy()
    hidden[0, 0] = -1
    data = DATA._replace(Y=hidden)
    if why == "weights of labels":
        data = DATA._replace(label_weight=np.full(CODES.shape, 2.0))
    draw = Draw("random_tree", np.random.SeedSequence(0))
    _, start = train_first(data, draw, SETTINGS)
    assert start is None


def test_a_member_on_a_graph_with_cycles_does_not_compute_a_start(monkeypatch):
    """There training begins with lists that hold the true labellings only."""
    monkeypatch.setattr(_training, "independent_start", None)
    started = DATA._replace(start=np.full((60, 4), 0.5))
    draw = Draw([(0, 1), (1, 2), (0, 2)], np.random.SeedSequence(0))
    few = SETTINGS._replace(max_iter=2)
    one, other = (train_member(data, draw, few) for data in (DATA, started))
    assert_array_equal(one.solution.weights, other.solution.weights)
    on_a_tree = Draw("random_tree", np.random.SeedSequence(0))
    with pytest.raises(TypeError):  # so it is computed there
        train_member(started, on_a_tree, few)


def test_the_warning_says_what_to_raise():
    with pytest.warns(ConvergenceWarning, match=r"converge: 2 of 5\. Raise max_iter"):
        warn_not_converged("2 of 5")
