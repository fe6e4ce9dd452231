"""The k best labellings of a forest against a sorted list of all."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import indicators, label_sets
from strategies import problems, trials

from spanforest import _compiled


@given(problems(max_labels=5, extra_unary=True), st.integers(1, 30))
@trials(100)
def test_lists_descend_through_the_scores_of_all_labellings(problem, k):
    factors, scores = problem
    labels = np.zeros((len(scores), k, factors.n_labels), dtype=np.int64)
    best = np.empty((len(scores), k))
    _compiled.forest_k_best_rows(scores, factors.arrays, labels, best)

    Z = label_sets(factors)
    truth = -np.sort(-scores @ indicators(factors, Z).T, axis=1)[:, :k]
    n_listed = min(k, len(Z))
    assert_allclose(best[:, :n_listed], truth, atol=1e-12)
    assert (best[:, n_listed:] == -np.inf).all()
    for row, listed, values in zip(scores, labels, best, strict=True):
        listed = listed[:n_listed]
        assert len(np.unique(listed, axis=0)) == n_listed
        own = indicators(factors, listed) @ row
        assert_allclose(own, values[:n_listed], atol=1e-12)
