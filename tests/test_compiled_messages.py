"""Message passing: bounds that hold, and labellings that no single change improves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import from_python, indicators, label_sets
from strategies import loopy_problems, problems, seeds, trials

from spanforest import _compiled
from spanforest._compiled import messages as compiled_messages
from spanforest._compiled.messages import BACKWARD, FORWARD, climb

reweighted_sweep = from_python(compiled_messages.reweighted_sweep)
directions = st.sampled_from([FORWARD, BACKWARD])


@given(loopy_problems, st.lists(directions, min_size=1, max_size=6))
@trials(100)
def test_after_any_sweeps_no_labelling_exceeds_the_bound(problem, ways):
    factors, scores = problem
    best = (scores @ indicators(factors, label_sets(factors)).T).max(axis=1)
    messages = _compiled.message_buffers(factors.arrays, _compiled.TIE)
    no_drops = np.empty(0)
    for row, value in zip(scores, best, strict=True):
        messages.sent[:] = 0.0
        for way in ways:
            bound = reweighted_sweep(row, factors.arrays, way, messages, no_drops)
            assert bound >= value - 1e-9


@given(loopy_problems, seeds)
@trials(100)
def test_climbing_ends_where_no_change_of_one_label_raises_the_score(problem, seed):
    factors, scores = problem
    start = np.random.default_rng(seed).integers(factors.n_values)
    labels = start.copy()
    messages = _compiled.message_buffers(factors.arrays, _compiled.TIE)
    climb(scores[0], factors.arrays, messages, labels)
    margins = np.empty((1, factors.n_values.sum()))
    _compiled.flip_margins(scores[:1], factors.arrays, labels[None], margins)
    assert margins.max() <= 1e-9
    before, after = indicators(factors, np.array([start, labels])) @ scores[0]
    assert after >= before - 1e-12


@given(problems(max_labels=5, extra_unary=True))
@trials(100)
def test_undamped_max_product_over_the_diameter_is_exact_on_forests(problem):
    factors, scores = problem
    labels = np.empty((len(scores), factors.n_labels), dtype=np.int64)
    change = np.empty(len(scores))
    schedule = _compiled.Schedule(n_sweeps=factors.n_labels + 1, damping=0.0)
    _compiled.max_product_rows(scores, factors.arrays, schedule, labels, change)
    best = (scores @ indicators(factors, label_sets(factors)).T).max(axis=1)
    own = (indicators(factors, labels) * scores).sum(axis=1)
    assert_allclose(own, best, atol=1e-9)
    assert_allclose(change, 0.0, atol=1e-9)


@given(loopy_problems)
@trials(50)
def test_rows_do_not_see_the_messages_of_earlier_rows(problem):
    factors, scores = problem

    def decoded(rows):
        labels = np.empty((len(rows), factors.n_labels), dtype=np.int64)
        score, bound = np.empty(len(rows)), np.empty(len(rows))
        meet = np.full(len(rows), 1e-12)
        _compiled.tree_reweighted_rows(
            rows, factors.arrays, 20, meet, labels, score, bound
        )
        return np.column_stack([labels, score, bound])

    alone = np.vstack([decoded(row[None]) for row in scores])
    assert_array_equal(decoded(scores), alone)
