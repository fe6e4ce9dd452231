"""Graphs and kernels that the members of an ensemble may differ in."""

import networkx as nx
import numpy as np
import pytest

from spanforest._member_choices import (
    check_member_kernels,
    is_graph_list,
    member_graphs,
)
from spanforest.graphs import LabelGraph

TREE, PAIR = LabelGraph(3, [(0, 1), (1, 2)]), [(0, 1)]
ONE_GRAPH = {
    "a name": "random_tree",
    "a graph": TREE,
    "edges": [(0, 1), (1, 2)],
    "edges by name": [["sun", "sea"], ["sea", "wind"]],
    "rows of a matrix": [[0, 1], [1, 0]],
    "a matrix": np.eye(2),
    "networkx": nx.path_graph(3),
}
SEVERAL = {
    "graphs": [TREE, TREE],
    "names": ["random_tree", "chow_liu"],
    "mixed": [TREE, "random_tree", lambda n, rng: PAIR],
    "lists of edges": [PAIR, [(0, 1), (1, 2)]],
}


@pytest.mark.parametrize("graph", ONE_GRAPH.values(), ids=ONE_GRAPH)
def test_one_graph_is_that_of_every_member(graph):
    assert not is_graph_list(graph)
    given = member_graphs(graph, 3)
    assert len(given) == 3
    assert all(one is graph for one in given)


@pytest.mark.parametrize("graphs", SEVERAL.values(), ids=SEVERAL)
def test_a_list_has_a_graph_for_every_member(graphs):
    assert is_graph_list(graphs)
    assert member_graphs(tuple(graphs), len(graphs)) == graphs
    with pytest.raises(ValueError, match=rf"Set n_estimators={len(graphs)}\."):
        member_graphs(graphs, 7)


def test_every_kernel_needs_a_member():
    check_member_kernels("rbf", 1)
    check_member_kernels(["rbf", "linear"], 2)
    with pytest.raises(ValueError, match="got 2 kernels for n_estimators=1"):
        check_member_kernels(["rbf", "linear"], 1)
    with pytest.raises(ValueError, match="cannot be one of several"):
        check_member_kernels(["rbf", "auto"], 3)
