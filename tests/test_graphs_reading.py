"""All forms of a graph that users pass, and how they are read."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import random_graph, seeds

from spanforest.graphs import LabelGraph, as_label_graph, draw_graph

NAMES = ["sky", "sea", "sun", "sand"]


@given(st.integers(2, 6), seeds, st.data())
def test_all_forms_of_a_graph_are_read_as_the_same_graph(n_labels, seed, data):
    rng = np.random.default_rng(seed)
    graph = random_graph(n_labels, rng)
    if graph.n_edges == 0:
        graph = LabelGraph(n_labels, [(0, n_labels - 1)])
    flipped = np.where(
        rng.random((graph.n_edges, 1)) < 0.5, graph.edges, graph.edges[:, ::-1]
    )
    shuffled = rng.permutation(flipped)
    names = [f"label {j}" for j in rng.permutation(n_labels)]
    named = nx.Graph()
    named.add_nodes_from(rng.permutation(names).tolist())
    named.add_edges_from((names[u], names[v]) for u, v in shuffled)
    directed = nx.DiGraph()
    directed.add_nodes_from(rng.permutation(n_labels).tolist())
    directed.add_edges_from(shuffled.tolist())
    dense = graph.adjacency.toarray()
    symmetric = rng.normal(size=dense.shape)
    forms = {
        "LabelGraph": graph,
        "array of edges": shuffled,
        "list of edges": shuffled.tolist(),
        "tuples": tuple(map(tuple, shuffled.tolist())),
        "whole floats": shuffled.astype(float),
        "networkx": graph.to_networkx(),
        "networkx by name": named,
        "DiGraph": directed,
        "dense adjacency": dense,
        "lists of lists": dense.tolist(),
        "bool adjacency": dense.astype(bool),
        "weights": dense * (symmetric + symmetric.T),
        "csr_array": graph.adjacency,
        "csr_matrix": sparse.csr_matrix(dense),
        "coo_array": sparse.coo_array(dense),
        "lil_array": sparse.lil_array(dense),
    }
    form = data.draw(st.sampled_from(sorted(forms)))
    read = as_label_graph(forms[form], n_labels, names)
    assert read == graph, form


def test_two_edges_over_three_labels_are_edges_not_a_matrix():
    assert as_label_graph([(0, 1), (1, 2)], 3) == LabelGraph(3, [(0, 1), (1, 2)])


def test_a_two_by_two_matrix_over_two_labels_is_an_adjacency_matrix():
    assert as_label_graph([[0, 1], [1, 0]], 2) == LabelGraph(2, [(0, 1)])


def test_label_names_may_be_whole_numbers_that_are_not_positions():
    graph = nx.Graph([(10, 20), (20, 30)])
    assert as_label_graph(graph, 3, [30, 20, 10]) == LabelGraph(3, [(0, 1), (1, 2)])


def test_a_graph_survives_the_way_to_networkx_and_back():
    graph = random_graph(7, np.random.default_rng(0))
    assert as_label_graph(graph.to_networkx(), 7) == graph


def test_one_label_needs_no_edge():
    for empty in ([], np.zeros((1, 1)), nx.empty_graph(1), LabelGraph(1, [])):
        assert as_label_graph(empty, 1) == LabelGraph(1, [])
    graph = LabelGraph(1, [])
    assert (graph.n_edges, graph.n_components, graph.diameter) == (0, 1, 0)
    assert graph.is_forest


ASYMMETRIC = np.triu(np.ones((4, 4)), k=1)
LOOP = np.ones((4, 4))
WRONG_GRAPHS = {
    "label out of range": ([(0, 1), (2, 4)], "labels 0 to 3.*found label 4"),
    "negative label": ([(0, 1), (-1, 2)], "labels 0 to 3.*found label -1"),
    "self-loop": ([(0, 1), (2, 2)], r"self-loop \(2, 2\)"),
    "self-loop on the diagonal": (LOOP, r"self-loop \(0, 0\)"),
    "self-loop, sparse": (sparse.csr_array(LOOP), r"self-loop \(0, 0\)"),
    "self-loop, networkx": (
        nx.Graph([(0, 1), (1, 1), (1, 2), (2, 3)]),
        r"self-loop \(1, 1\)",
    ),
    "duplicate": ([(0, 1), (1, 2), (0, 1)], r"once.*\(0, 1\) was given 2 times"),
    "reverse duplicate": ([(0, 1), (1, 2), (1, 0)], r"once.*\(0, 1\) was given 2"),
    "parallel edges": (
        nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 3)]),
        r"\(0, 1\) was given 2",
    ),
    "no edges": ([], "empty.*at least one edge"),
    "no edges, array": (np.empty((0, 2), dtype=int), "empty"),
    "no edges, matrix": (np.zeros((4, 4)), "empty"),
    "no edges, sparse": (sparse.csr_array((4, 4)), "empty"),
    "no edges, networkx": (nx.empty_graph(4), "empty"),
    "no edges, LabelGraph": (LabelGraph(4, []), "empty"),
    "too few nodes": (LabelGraph(3, [(0, 1)]), "4 nodes.*it has 3"),
    "too many nodes": (LabelGraph(5, [(0, 1)]), "4 nodes.*it has 5"),
    "too few nodes, networkx": (nx.path_graph(3), "4 nodes.*it has 3"),
    "too small a matrix": (np.ones((3, 3)) - np.eye(3), "4 nodes.*it has 3"),
    "too large a matrix": (np.ones((5, 5)) - np.eye(5), "4 nodes.*it has 5"),
    "asymmetric": (ASYMMETRIC, "symmetric"),
    "asymmetric, sparse": (sparse.csr_array(ASYMMETRIC), "symmetric"),
    "not square": (np.ones((4, 3)), r"shape \(n_edges, 2\).*\(4, 3\)"),
    "one edge, not nested": ((0, 1), r"shape \(n_edges, 2\).*\(2,\)"),
    "three dimensions": (np.ones((1, 2, 2)), r"shape \(n_edges, 2\)"),
    "fractions": ([(0, 1), (1, 2.5)], "whole label numbers"),
    "NaN": ([(0, 1), (1, np.nan)], "whole label numbers"),
    "infinity": ([(0, 1), (1, np.inf)], "whole label numbers"),
    "unknown name of a label": ([("sky", "moon")], "'moon' is none of 'sky', 'sea'"),
    "ragged": ([(0, 1), (2,)], "graph must be a name.*got list"),
    "None": (None, "graph must be a name.*got NoneType"),
    "dict": ({0: [1]}, "graph must be a name.*got dict"),
    "number": (7, "graph must be a name.*got int: 7"),
    "unknown name": ("tree", "graph must be.*got .*tree"),
    "unknown name of a node": (nx.path_graph([*NAMES[:3], "moon"]), "found 'moon'"),
    "unknown number of a node": (nx.path_graph([1, 2, 3, 4]), "found 4"),
}


@pytest.mark.parametrize("case", WRONG_GRAPHS)
def test_a_wrong_graph_is_refused_by_naming_what_is_wrong(case):
    graph, message = WRONG_GRAPHS[case]
    with pytest.raises(ValueError, match=message):
        as_label_graph(graph, 4, NAMES)


@pytest.mark.parametrize("case", WRONG_GRAPHS)
def test_a_callable_that_returns_a_wrong_graph_is_refused_for_the_same_reason(case):
    graph, message = WRONG_GRAPHS[case]
    with pytest.raises(ValueError, match=message):
        draw_graph(
            lambda n_labels, rng: graph,
            np.zeros((2, 4), dtype=int),
            np.random.default_rng(0),
            NAMES,
        )


def test_edges_may_be_given_by_name_and_as_a_set():
    expected = LabelGraph(4, [(0, 1), (1, 3)])
    assert as_label_graph([("sky", "sea"), ("sand", "sea")], 4, NAMES) == expected
    assert as_label_graph({(0, 1), (3, 1)}, 4) == expected
    assert as_label_graph(nx.Graph([(0, 1), (3, 1), (2, 0)]).edges, 4).n_edges == 3


def test_a_node_number_that_is_a_label_name_is_read_as_the_name():
    graph = nx.path_graph([2, 0, 1])
    assert as_label_graph(graph, 3, [2, 0, 1]).edges.tolist() == [[0, 1], [1, 2]]


@given(st.integers(0, 2), st.integers(0, 2))
def test_nan_in_an_adjacency_matrix_is_called_by_its_name(row, column):
    adjacency = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    adjacency[row, column] = np.nan
    with pytest.raises(ValueError, match=f"row {row}, column {column} is NaN"):
        as_label_graph(adjacency, 3)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("sky", "sky")], "from 'sky' to itself"),
        ([("sky", "sea"), ("sea", "sky")], "between 'sea' and 'sky' was given more"),
        ([("sky", "see")], r"Did you mean 'sea'\?"),
    ],
)
def test_wrong_edges_between_names_are_refused_by_name(edges, message):
    with pytest.raises(ValueError, match=message):
        as_label_graph(edges, 3, ["sky", "sea", "sun"])
