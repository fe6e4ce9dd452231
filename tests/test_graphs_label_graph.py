"""Label graphs: their properties, and the union of several."""

import pickle
from itertools import combinations, compress, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import any_kind, random_graph, seeds

from spanforest.graphs import LabelGraph, consensus_graph


@given(st.integers(1, 6), any_kind, seeds)
def test_properties_of_a_graph_agree_with_networkx(n_labels, kind, seed):
    graph = kind(n_labels, np.random.default_rng(seed))
    other = graph.to_networkx()
    assert graph.n_edges == other.number_of_edges()
    assert graph.n_components == nx.number_connected_components(other)
    assert graph.is_forest == nx.is_forest(other)
    assert_array_equal(graph.degrees, [other.degree[j] for j in range(n_labels)])
    assert_array_equal(graph.adjacency.toarray(), nx.to_numpy_array(other))
    components = map(other.subgraph, nx.connected_components(other))
    assert graph.diameter == max(map(nx.diameter, components))


def test_graphs_with_the_same_edges_are_equal():
    graph = LabelGraph(4, [(0, 1), (2, 3), (1, 2)])
    same = LabelGraph(4, np.array([(2, 1), (1, 0), (3, 2)], dtype=np.int8))
    assert graph == same
    assert hash(graph) == hash(same)
    assert len({graph, same}) == 1
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_graphs_with_different_edges_or_labels_differ():
    graph = LabelGraph(4, [(0, 1), (2, 3)])
    assert graph != LabelGraph(4, [(0, 1), (1, 3)])
    assert graph != LabelGraph(5, [(0, 1), (2, 3)])
    assert graph != LabelGraph(4, [(0, 1)])
    assert graph != [(0, 1), (2, 3)]


def test_edges_are_a_copy_that_cannot_be_changed():
    given_edges = np.array([[0, 1]])
    graph = LabelGraph(3, given_edges)
    given_edges[0] = 2
    assert graph.edges.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0, 0] = 1


def test_an_unpickled_graph_is_equal_and_read_only():
    graph = LabelGraph(3, [(0, 1)])
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert not again.edges.flags.writeable


@given(st.integers(1, 6), st.integers(1, 4), seeds)
def test_the_consensus_graph_has_every_edge_of_any_graph_once(n_labels, n, seed):
    rng = np.random.default_rng(seed)
    graphs = [random_graph(n_labels, rng) for _ in range(n)]
    united = consensus_graph(graphs)
    expected = {tuple(edge) for graph in graphs for edge in graph.edges.tolist()}
    assert united.n_labels == n_labels
    assert {tuple(edge) for edge in united.edges.tolist()} == expected


def test_a_graph_needs_a_label():
    with pytest.raises(ValueError, match="at least 1; got 0"):
        LabelGraph(0, [])


def test_a_forest_has_one_edge_less_than_labels_in_every_component():
    pairs = list(combinations(range(6), 2))
    for chosen in product([False, True], repeat=len(pairs)):
        edges = list(compress(pairs, chosen))
        if len(edges) < 6:  # more edges than that have a cycle
            graph = LabelGraph(6, edges)
            n_components = nx.number_connected_components(graph_of(edges))
            assert graph.is_forest == (len(edges) == 6 - n_components), edges


def graph_of(edges):
    graph = nx.empty_graph(6)
    graph.add_edges_from(edges)
    return graph
