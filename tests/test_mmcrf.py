"""The classifier on one graph."""

import pytest
from small_data import (
    X,
    Y,
)

from spanforest import MMCRFClassifier


@pytest.mark.parametrize(
    ("name", "n_edges"),
    [
        ("random_tree", 3),
        ("uniform_tree", 3),
        ("recursive_tree", 3),
        ("chow_liu", 3),
        ("random_pairing", 2),
        ("independent", 0),
    ],
)
def test_a_graph_drawn_by_name_has_the_edges_of_its_kind(name, n_edges):
    fitted = MMCRFClassifier(graph=name, random_state=0, max_iter=1000).fit(X, Y)
    assert fitted.graph_.n_edges == n_edges
    assert fitted.score(X, Y) > 0.6
