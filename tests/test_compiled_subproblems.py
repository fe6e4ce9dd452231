"""Parts of a search: their scores, bounds, caps of values, and messages."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import loopy_problems, random_problem, trials

from spanforest import _compiled, inference
from spanforest._compiled import StoppingRule
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.inference import score_labels


def some_alive(factors, rng):
    """Confine labels to some of their values, at least one each."""
    alive = rng.random(factors.n_values.sum()) < 0.6
    alive[factors.value_start + rng.integers(0, factors.n_values)] = True
    return alive


def labellings_within(factors, alive):
    choices = np.split(alive, factors.value_start[1:])
    return np.array(list(itertools.product(*map(np.flatnonzero, choices))))


def as_messages(factors, alive, rng):
    """Messages of any kind for the free labels of a part: none are forbidden."""
    counts = np.add.reduceat(alive.astype(int), factors.value_start)
    free = (counts[factors.graph.edges] > 1).all(axis=1)
    return rng.normal(size=counts[factors.graph.edges[free]].sum())


def bound_part(part, stop, messages):
    """Score, bound and sweeps of a part, then its labelling and the caps of values."""
    labels = np.zeros(len(part.n_values), dtype=np.intp)
    caps = np.empty(part.n_values.sum())
    numbers = _compiled.bound_part(
        part.scores, part.graph, stop, messages, labels, caps
    )
    return numbers, labels, caps


@given(problem=loopy_problems, seed=st.integers(0, 2**32 - 1))
@trials(100)
def test_a_part_has_the_scores_of_the_whole(problem, seed):
    factors, scores = problem
    alive = some_alive(factors, np.random.default_rng(seed))
    within = labellings_within(factors, alive)
    for row in scores:
        part = _compiled.restrict(row, factors.arrays, alive)
        values = np.empty(len(within))
        _compiled.score_all(part.scores, part.graph, values)
        tiled = np.tile(row, (len(within), 1))
        truth = score_labels(factors, tiled, within)
        assert_allclose(values + part.constant, truth, atol=1e-9)


@given(
    problem=loopy_problems,
    seed=st.integers(0, 2**32 - 1),
    n_sweeps=st.integers(1, 9),
    target=st.sampled_from([-np.inf, 0.0]),
)
@trials(200)
def test_no_labelling_of_a_part_exceeds_its_bound_nor_its_values_caps(
    problem, seed, n_sweeps, target
):
    factors, scores = problem
    rng = np.random.default_rng(seed)
    alive = some_alive(factors, rng)
    within = labellings_within(factors, alive)
    if len(within) == 1:
        return
    for row in scores:
        part = _compiled.restrict(row, factors.arrays, alive)
        messages = _compiled.message_buffers(part.graph, _compiled.TIE)
        messages.sent[:] = as_messages(factors, alive, rng)  # as if from a part before
        stop = StoppingRule(n_sweeps, target - part.constant, 0.0, np.inf)
        (score, bound, _), labels, caps = bound_part(part, stop, messages)
        truth = score_labels(factors, np.tile(row, (len(within), 1)), within)
        assert bound + part.constant >= truth.max() - 1e-9
        own = _compiled.labelling_score(part.scores, part.graph, labels)
        assert score == pytest.approx(own)
        counts = np.add.reduceat(alive.astype(int), factors.value_start)
        is_free = alive & np.repeat(counts > 1, factors.n_values)
        cells = factors.value_start + within
        best = [truth[(cells == c).any(axis=1)].max() for c in np.flatnonzero(is_free)]
        assert (caps + part.constant >= np.array(best) - 1e-9).all()


def test_the_caps_of_the_best_values_meet_the_maximum_on_a_tree():
    rng = np.random.default_rng(0)
    factors = FactorGraph(LabelGraph(5, [(0, 1), (1, 2), (1, 3), (3, 4)]), [3] * 5)
    scores = rng.normal(size=(1, factors.n_cells))
    everything = np.ones(15, dtype=bool)
    part = _compiled.restrict(scores[0], factors.arrays, everything)
    messages = _compiled.message_buffers(part.graph, _compiled.TIE)
    _, _, caps = bound_part(part, StoppingRule(200, -np.inf, 0.0, np.inf), messages)
    truth = np.concatenate(inference.max_marginals(factors, scores), axis=1)[0]
    assert (caps + part.constant >= truth - 1e-9).all()
    is_best = np.isclose(truth, truth.max())
    assert is_best.sum() == 5
    assert_allclose((caps + part.constant)[is_best], truth.max())


def test_messages_keep_their_edges_when_a_part_gets_smaller():
    rng = np.random.default_rng(0)
    factors, _ = random_problem(5, 3, seed=0)
    large, small = np.ones(15, dtype=bool), np.ones(15, dtype=bool)
    large[[1, 6, 7]] = False  # label 0 lost a value, label 2 all but one
    small[[0, 1, 6, 7, 10]] = False  # label 0 is decided as well, label 3 lost a value
    before = as_messages(factors, large, rng)
    now = np.full(len(as_messages(factors, small, rng)), np.nan)

    _compiled.carry_messages(factors.arrays, large, before, small, now)

    def named(alive, messages):
        names, counts = {}, np.add.reduceat(alive.astype(int), factors.value_start)
        values = iter(messages)
        for u, v in factors.graph.edges:
            if counts[u] > 1 and counts[v] > 1:
                for j in (u, v):
                    for a in np.flatnonzero(alive[3 * j : 3 * j + 3]):
                        names[u, v, j, a] = next(values)
        return names

    whole = named(large, before)
    assert all(whole[key] == value for key, value in named(small, now).items())


def test_a_part_that_begins_with_messages_needs_fewer_sweeps():
    rng = np.random.default_rng(1)
    pairs = list(itertools.combinations(range(30), 2))
    factors = FactorGraph(LabelGraph(30, pairs), [2] * 30, np.arange(30))
    row = rng.normal(size=factors.n_cells) * 0.2
    row[-60:] *= 20
    everything = np.ones(60, dtype=bool)
    part = _compiled.restrict(row, factors.arrays, everything)
    stop = StoppingRule(200, -np.inf, 0.0, np.inf)
    messages = _compiled.message_buffers(part.graph, _compiled.TIE)
    (_, bound, cold), _, _ = bound_part(part, stop, messages)
    (_, again, warm), _, _ = bound_part(part, stop, messages)
    assert warm < cold
    assert again <= bound + 1e-9
