"""The label graph in the row of MAM."""

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paper_helpers import TINY, make_fold

from spanforest.diagnostics import edge_couplings, graph_of
from spanforest.paper import StoredGraph, _stored_graph
from spanforest.paper._methods import LEARNERS, run_learner


@pytest.mark.parametrize("kind", ["dense", "text"])
def test_the_result_of_mam_holds_the_strongest_couplings_of_its_fit(monkeypatch, kind):
    monkeypatch.setattr(_stored_graph, "MOST_EDGES", 2)
    fold, params = make_fold(kind), {"C": 0.1}
    results = run_learner("ensemble", fold, params, TINY, 0)

    ensemble, inputs = LEARNERS["ensemble"](fold, params, TINY, 0)
    ensemble.fit(inputs.train, fold.Y.train)
    couplings = edge_couplings(ensemble, inputs.train, fold.Y.train)
    stored = StoredGraph.from_field(results["mam"].label_graph)
    expected = couplings.strongest(2)
    assert_array_equal(stored.couplings.edges, expected.edges)
    assert_allclose(stored.couplings.strength, expected.strength, rtol=1e-5)
    assert stored.n_edges == len(couplings.strength) == graph_of(ensemble).n_edges
    assert_allclose(stored.frequencies, fold.Y.train.mean(axis=0), rtol=1e-5)
    assert stored.label_names == fold.label_names
    assert stored.n_samples == len(fold.Y.train)
    assert results["mve"].label_graph is results["amm"].label_graph is None
