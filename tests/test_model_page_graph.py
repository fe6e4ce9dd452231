"""The label graph of the page."""

import numpy as np
import pytest
from model_pages import LABELS, TEST, TRAIN, X, ensemble, outcomes_of, trained

from spanforest.diagnostics import edge_couplings, keep_summary
from spanforest.model_page._graph import MOST_LABELS, MOST_NEIGHBOURS, graph_section


@pytest.fixture(scope="module")
def section():
    outcomes = outcomes_of(trained(), X[TEST], LABELS[TEST])
    return graph_section(trained(), trained(), X[TEST], outcomes)


def test_every_label_has_its_neighbours_strongest_first(section):
    couplings = edge_couplings(trained(), X[TEST])
    expected = {j: [] for j in range(5)}
    order = np.argsort(-np.abs(couplings.strength), kind="stable")
    for e in order:
        u, v = couplings.edges[e].tolist()
        text = f"{couplings.strength[e]:+.3g}"
        expected[u].append([v, text])
        expected[v].append([u, text])
    neighbours = [[each[:2] for each in label] for label in section.data["neighbours"]]
    assert neighbours == list(expected.values())
    assert section.data["sizes"] == [len(label) for label in neighbours]
    assert section.averaged_over == "these examples"
    assert section.strongest[0].strength == couplings.strength[order[0]]


def test_drawn_edges_come_in_the_order_of_the_picture(section):
    drawn = section.picture.count('<g class="edge')
    assert (
        drawn == section.n_drawn_edges == len(section.data["edges"]) == section.n_edges
    )
    assert section.data["drawn"] == list(range(5))


def test_couplings_of_training_are_shown_if_the_model_has_them():
    model = ensemble().fit(X[TRAIN], LABELS[TRAIN])
    keep_summary(model, X[TRAIN], LABELS[TRAIN])
    outcomes = outcomes_of(model, X[TEST])
    section = graph_section(model, model, X[TEST], outcomes)
    assert section.averaged_over == "the training examples"


@pytest.mark.needs_compiled
def test_of_many_labels_those_with_the_strongest_edges_are_drawn():
    n_labels = MOST_LABELS + 15
    wide = np.random.default_rng(1).random((40, n_labels)) < 0.4
    pairs = [(0, j) for j in range(1, n_labels)]  # a star
    model = ensemble(graph=pairs, tol=0.5).fit(X[:40], wide.astype(int))
    section = graph_section(model, model, X[:40], outcomes_of(model, X[:40]))
    assert section.n_drawn_labels == len(section.data["drawn"]) == MOST_LABELS
    assert len(section.data["neighbours"][0]) == MOST_NEIGHBOURS
    assert section.data["sizes"][0] == n_labels - 1
    drawn = set(section.data["drawn"])
    assert all(drawn.issuperset(edge) for edge in section.data["edges"])
    assert section.data["neighbours"][0][0][0] in drawn


def test_a_label_that_never_varies_is_coupled_to_no_other():
    model = ensemble().fit(X[TRAIN], LABELS.assign(sad=0)[TRAIN])
    section = graph_section(model, model, X[TEST], outcomes_of(model, X[TEST]))
    sad = LABELS.columns.get_loc("sad")
    kinds = section.data["kinds"]
    assert {kinds[kind] for _, _, kind, _ in section.data["neighbours"][sad]} == {
        "not coupled"
    }
    of_sad = {edge.kind for edge in section.strongest if "sad" in edge.labels}
    assert of_sad == {"not coupled"}
    assert set(section.kinds) <= {"attract", "repel"}
