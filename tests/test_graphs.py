"""Output graphs: what the generators promise, how graphs are read, their factors."""

import itertools
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.metrics import mutual_info_score
from strategies import FORESTS, factor_graphs, random_graph, seeds

from spanforest._compiled import message_buffers
from spanforest.factors import FactorGraph, consensus_factors
from spanforest.graphs import (
    FROM_LABELS,
    GENERATORS,
    LabelGraph,
    as_label_graph,
    chow_liu_tree,
    consensus_graph,
    draw_graph,
    independent_labels,
    informed_random_tree,
    maximum_spanning_tree,
    mutual_information,
    random_pairing,
    random_spanning_tree,
    recursive_random_tree,
    uniform_random_tree,
)
from spanforest.inference import score_labels

TREES = [random_spanning_tree, uniform_random_tree, recursive_random_tree]
any_kind = st.sampled_from([*FORESTS, random_graph])
any_factors = factor_graphs(any_kind, max_labels=6, extra_unary=True)


def spanning_trees(n_labels):
    """Every spanning tree of the complete graph, as tuples of edges."""
    pairs = list(itertools.combinations(range(n_labels), 2))
    for edges in itertools.combinations(pairs, n_labels - 1):
        component = list(range(n_labels))
        for u, v in edges:
            old, new = component[u], component[v]
            component = [new if c == old else c for c in component]
        if len(set(component)) == 1:
            yield edges


def best_total(weights):
    """The largest total weight of a spanning tree, by trying all of them."""
    trees = spanning_trees(len(weights))
    return max(sum(weights[u, v] for u, v in edges) for edges in trees)


def total(weights, tree):
    u, v = tree.edges.T
    return weights[u, v].sum()


def edge_frequencies(generator, n_labels, n_draws, seed=0):
    rng = np.random.default_rng(seed)
    count = np.zeros((n_labels, n_labels))
    for _ in range(n_draws):
        u, v = generator(n_labels, rng).edges.T
        count[u, v] += 1
    return count[np.triu_indices(n_labels, k=1)] / n_draws


# --- generators --------------------------------------------------------------------


@given(st.sampled_from(TREES), st.integers(1, 30), seeds)
@settings(deadline=None)
def test_random_trees_have_one_edge_less_than_labels_and_are_connected(
    generator, n_labels, seed
):
    tree = generator(n_labels, np.random.default_rng(seed))
    assert tree.n_labels == n_labels
    assert tree.n_edges == n_labels - 1
    assert tree.n_components == 1
    assert tree.is_forest
    assert tree.degrees.sum() == 2 * (n_labels - 1)


@pytest.mark.parametrize("generator", TREES)
def test_every_edge_is_equally_likely_in_a_random_tree(generator):
    frequencies = edge_frequencies(generator, n_labels=5, n_draws=1000)
    assert_allclose(frequencies, 2 / 5, atol=0.07)  # 4.5 standard deviations


@pytest.mark.parametrize(("n_labels", "expected"), [(4, 1 / 3), (5, 1 / 5)])
def test_every_pair_is_equally_likely_in_a_random_pairing(n_labels, expected):
    frequencies = edge_frequencies(random_pairing, n_labels, n_draws=1000)
    assert_allclose(frequencies, expected, atol=0.07)


def test_uniform_random_trees_are_uniform_over_the_sixteen_trees_of_four_labels():
    rng = np.random.default_rng(0)
    count = dict.fromkeys(spanning_trees(4), 0)
    assert len(count) == 16
    for _ in range(3200):
        edges = uniform_random_tree(4, rng).edges.tolist()
        count[tuple(map(tuple, edges))] += 1
    assert stats.chisquare(list(count.values())).pvalue > 1e-3


def test_recursive_trees_are_the_flattest_and_uniform_trees_the_deepest():
    rng = np.random.default_rng(0)
    recursive, spanning, uniform = (
        np.mean([generator(100, rng).diameter for _ in range(30)])
        for generator in (
            recursive_random_tree,
            random_spanning_tree,
            uniform_random_tree,
        )
    )
    assert recursive < 0.8 * spanning < 0.8 * uniform


@given(st.integers(1, 15), seeds)
@settings(deadline=None)
def test_pairings_are_disjoint_and_leave_at_most_one_label(n_labels, seed):
    pairing = random_pairing(n_labels, np.random.default_rng(seed))
    assert (pairing.degrees <= 1).all()
    assert (pairing.degrees == 0).sum() == n_labels % 2


@given(st.integers(1, 8))
def test_independent_labels_have_no_edges(n_labels):
    graph = independent_labels(n_labels)
    assert graph.n_edges == 0
    assert graph.n_components == n_labels


@given(st.sampled_from([*GENERATORS.values()]), st.integers(1, 12), seeds)
@settings(deadline=None)
def test_the_same_seed_draws_the_same_graph(generator, n_labels, seed):
    first, second = (generator(n_labels, np.random.default_rng(seed)) for _ in range(2))
    assert first == second


@given(
    st.integers(1, 5),
    seeds,
    st.sampled_from(["normal", "ties", "negative", "equal", "zero"]),
)
@settings(deadline=None)
def test_maximum_spanning_tree_is_the_best_of_all_spanning_trees(n_labels, seed, kind):
    weights = np.random.default_rng(seed).normal(size=(n_labels, n_labels))
    if kind == "ties":
        weights = np.round(weights)
    elif kind == "negative":
        weights = -np.abs(weights)
    elif kind in ("equal", "zero"):
        weights = np.full_like(weights, -3.0 if kind == "equal" else 0.0)
    weights = np.triu(weights) + np.triu(weights, k=1).T
    tree = maximum_spanning_tree(weights)
    assert tree.n_edges == n_labels - 1
    assert tree.n_components == 1
    assert_allclose(total(weights, tree), best_total(weights), atol=1e-12)


def random_weights(n_labels, seed=0):
    weights = np.random.default_rng(seed).normal(size=(n_labels, n_labels))
    return weights + weights.T


@pytest.mark.parametrize("scale", [1e-30, 1e-17, 1e17, 1e300])
def test_maximum_spanning_tree_does_not_depend_on_the_scale_of_the_weights(scale):
    weights = random_weights(6)
    assert maximum_spanning_tree(scale * weights) == maximum_spanning_tree(weights)


@pytest.mark.parametrize("value", [-1e30, 1e30, np.inf, np.nan])
def test_maximum_spanning_tree_ignores_the_diagonal(value):
    weights = random_weights(6)
    expected = maximum_spanning_tree(weights)
    np.fill_diagonal(weights, value)
    assert maximum_spanning_tree(weights) == expected


# --- mutual information ------------------------------------------------------------


@st.composite
def label_codes(draw, max_labels=5):
    """Codes of a few labels: some constant, some copies, some values unused."""
    rng = np.random.default_rng(draw(seeds))
    shape = draw(st.integers(1, 30)), draw(st.integers(1, max_labels))
    Y = rng.integers(0, rng.integers(1, 4, size=shape[1]) + 1, size=shape)
    if draw(st.booleans()):
        Y[:, 0] = draw(st.integers(0, 2))
    if draw(st.booleans()):
        Y[:, -1] = 2 * Y[:, 0]
    return Y


@given(label_codes())
@settings(deadline=None, max_examples=50)
def test_mutual_information_agrees_with_scikit_learn(Y):
    expected = [[mutual_info_score(a, b) for b in Y.T] for a in Y.T]
    assert_allclose(mutual_information(Y), expected, atol=1e-12)


@given(label_codes())
@settings(deadline=None)
def test_chow_liu_has_the_most_information_of_all_spanning_trees(Y):
    information = mutual_information(Y)
    tree = chow_liu_tree(Y)
    assert tree.n_edges == Y.shape[1] - 1
    assert tree.n_components == 1
    assert_allclose(total(information, tree), best_total(information), atol=1e-12)


@pytest.mark.parametrize(
    "Y",
    [
        np.zeros((4, 5), dtype=int),
        np.ones((1, 5), dtype=int),
        np.array(list(np.ndindex(2, 2, 2, 2, 2))),
        np.repeat(np.arange(4)[:, None], 5, axis=1),
    ],
    ids=["constant", "one example", "independent", "copies"],
)
def test_trees_of_labels_span_them_without_differences_in_information(Y):
    for tree in (chow_liu_tree(Y), informed_random_tree(Y, np.random.default_rng(0))):
        assert (tree.n_edges, tree.n_components) == (4, 1)


def test_informed_trees_draw_pairs_in_proportion_to_their_information():
    rng = np.random.default_rng(0)
    Y = rng.integers(2, size=(40, 4))
    Y[:25, 1] = Y[:25, 0]  # one pair is stronger than the others
    information = mutual_information(Y)
    pairs = list(itertools.combinations(range(4), 2))
    weights = np.array([information[pair] for pair in pairs])
    expected = np.zeros((4, 4))
    for order in itertools.permutations(range(len(pairs))):
        left = np.cumsum(weights[list(order)][::-1])[::-1]
        graph = nx.Graph()
        graph.add_nodes_from(range(4))
        for k in order:
            if not nx.has_path(graph, *pairs[k]):
                graph.add_edge(*pairs[k])
        for edge in graph.edges:
            expected[edge] += np.prod(weights[list(order)] / left)

    n_draws = 3000
    found = np.zeros((4, 4))
    for _ in range(n_draws):
        found[tuple(informed_random_tree(Y, rng).edges.T)] += 1 / n_draws

    assert_allclose(found, expected, atol=0.04)
    assert np.ptp(expected[np.triu_indices(4, 1)]) > 0.3  # not a random tree


def test_a_pair_without_information_is_joined_behind_all_others():
    a, b, c = np.array(list(np.ndindex(2, 2, 2))).T
    Y = np.column_stack([a, a, b, b, c])  # two copies, three independent groups
    for seed in range(20):
        edges = informed_random_tree(Y, np.random.default_rng(seed)).edges.tolist()
        assert [0, 1] in edges
        assert [2, 3] in edges


# --- drawing by name ---------------------------------------------------------------


@pytest.mark.parametrize("n_labels", [1, 2, 5])
@pytest.mark.parametrize("name", [*GENERATORS, *FROM_LABELS])
def test_every_named_graph_can_be_drawn(name, n_labels):
    Y = np.random.default_rng(0).integers(2, size=(10, n_labels))
    graph = draw_graph(name, Y, np.random.default_rng(1))
    if name == "chow_liu":
        expected = chow_liu_tree(Y)
    elif name == "informed_tree":
        expected = informed_random_tree(Y, np.random.default_rng(1))
    else:
        expected = GENERATORS[name](n_labels, np.random.default_rng(1))
    assert graph == expected


def test_a_callable_gets_the_number_of_labels_and_the_generator():
    rng = np.random.default_rng(0)
    seen = []

    def star(*args):
        seen.append(args)
        return [(0, j) for j in range(1, args[0])]

    graph = draw_graph(star, np.zeros((2, 4), dtype=int), rng)
    assert seen == [(4, rng)]
    assert graph == LabelGraph(4, [(0, 1), (0, 2), (0, 3)])


def test_a_given_graph_leaves_the_generator_untouched():
    rng = np.random.default_rng(0)
    draw_graph([(0, 1)], np.zeros((2, 3), dtype=int), rng)
    assert rng.random() == np.random.default_rng(0).random()


# --- reading graphs ----------------------------------------------------------------


NAMES = ["sky", "sea", "sun", "sand"]


@given(st.integers(2, 6), seeds, st.data())
@settings(deadline=None)
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


def test_nodes_may_be_called_by_whole_numbers_that_are_not_positions():
    graph = nx.Graph([(10, 20), (20, 30)])
    assert as_label_graph(graph, 3, [30, 20, 10]) == LabelGraph(3, [(0, 1), (1, 2)])


def test_networkx_graphs_round_trip():
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
    "unknown name of a label": ([("sky", "moon")], "'moon' is none of sky, sea"),
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


def test_an_unknown_name_is_refused_with_the_known_ones():
    known = "random_tree.*uniform_tree.*recursive_tree.*random_pairing.*chow_liu"
    with pytest.raises(ValueError, match=f"{known}.*got 'star'"):
        draw_graph("star", np.zeros((2, 3), dtype=int), np.random.default_rng(0))


def test_a_graph_needs_a_label():
    with pytest.raises(ValueError, match="at least 1; got 0"):
        LabelGraph(0, [])


# --- label graphs ------------------------------------------------------------------


@given(st.integers(1, 6), any_kind, seeds)
@settings(deadline=None)
def test_properties_agree_with_networkx(n_labels, kind, seed):
    graph = kind(n_labels, np.random.default_rng(seed))
    other = graph.to_networkx()
    assert graph.n_edges == other.number_of_edges()
    assert graph.n_components == nx.number_connected_components(other)
    assert graph.is_forest == nx.is_forest(other)
    assert_array_equal(graph.degrees, [other.degree[j] for j in range(n_labels)])
    assert_array_equal(graph.adjacency.toarray(), nx.to_numpy_array(other))
    parts = map(other.subgraph, nx.connected_components(other))
    assert graph.diameter == max(map(nx.diameter, parts))


def test_graphs_with_the_same_edges_are_the_same_graph():
    graph = LabelGraph(4, [(0, 1), (2, 3), (1, 2)])
    same = LabelGraph(4, np.array([(2, 1), (1, 0), (3, 2)], dtype=np.int8))
    assert graph == same
    assert hash(graph) == hash(same)
    assert len({graph, same}) == 1
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_graphs_with_other_edges_or_labels_differ():
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


def test_pickling_keeps_graphs_and_factors():
    graph = random_graph(5, np.random.default_rng(0))
    factors = FactorGraph(graph, [2, 3, 2, 4, 2])
    Y = np.array(list(np.ndindex(2, 3, 2, 4, 2)))
    expected = factors.cells(Y)  # fills the cache that is pickled too
    read = pickle.loads(pickle.dumps(factors))
    assert read.graph == graph
    assert hash(read.graph) == hash(graph)
    assert_array_equal(read.cells(Y), expected)
    assert_array_equal(read.unary_labels, factors.unary_labels)


# --- consensus ---------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 4), seeds)
@settings(deadline=None)
def test_the_consensus_graph_has_every_edge_of_any_graph_once(n_labels, n, seed):
    rng = np.random.default_rng(seed)
    graphs = [random_graph(n_labels, rng) for _ in range(n)]
    united = consensus_graph(graphs)
    expected = {tuple(edge) for graph in graphs for edge in graph.edges.tolist()}
    assert united.n_labels == n_labels
    assert {tuple(edge) for edge in united.edges.tolist()} == expected


@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from(FORESTS), seeds)
@settings(deadline=None)
def test_scores_moved_to_the_consensus_factors_add_up(n_labels, n, kind, seed):
    rng = np.random.default_rng(seed)
    n_values = rng.integers(1, 4, size=n_labels)
    parts = [FactorGraph(kind(n_labels, rng), n_values) for _ in range(n)]
    united = consensus_factors(parts)
    Y = np.array(list(np.ndindex(*n_values)))
    expected = np.zeros(len(Y))
    moved = np.zeros((1, united.n_cells))
    for part in parts:
        scores = rng.normal(size=(1, part.n_cells))
        expected += score_labels(part, np.repeat(scores, len(Y), axis=0), Y)
        places = united.places_of(part)
        assert len(set(places)) == part.n_cells
        moved[:, places] += scores
    found = score_labels(united, np.repeat(moved, len(Y), axis=0), Y)
    assert_allclose(found, expected, atol=1e-12)


def test_a_label_alone_in_one_part_keeps_its_unary_factor_in_the_consensus():
    alone = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 3, 4])
    joined = FactorGraph(LabelGraph(3, [(1, 2)]), [2, 3, 4])
    united = consensus_factors([alone, joined])
    assert united.graph == LabelGraph(3, [(0, 1), (1, 2)])
    assert united.unary_labels.tolist() == [0, 2]
    assert united.n_cells == 6 + 12 + 2 + 4


# --- factors -----------------------------------------------------------------------


def cells_by_hand(factors, y):
    """Cells of one labelling: tables of edges in order, then of single labels."""
    picked, offset = [], 0
    for u, v in factors.graph.edges.tolist():
        picked.append(offset + y[u] * factors.n_values[v] + y[v])
        offset += factors.n_values[u] * factors.n_values[v]
    for j in factors.unary_labels:
        picked.append(offset + y[j])
        offset += factors.n_values[j]
    return picked, offset


@given(any_factors)
@settings(deadline=None)
def test_cells_are_those_of_a_plain_loop(factors):
    Y = np.array(list(np.ndindex(*factors.n_values)))[:200]
    assert len(Y) == min(factors.n_labellings, 200)
    by_hand = [cells_by_hand(factors, y)[0] for y in Y]
    assert_array_equal(factors.cells(Y), by_hand)
    assert factors.n_cells == cells_by_hand(factors, Y[0])[1]
    assert factors.n_factors == len(by_hand[0])


@given(any_factors)
@settings(deadline=None)
def test_labels_without_an_edge_have_a_unary_factor(factors):
    plain = FactorGraph(factors.graph, factors.n_values)
    alone = np.flatnonzero(plain.graph.degrees == 0)
    assert_array_equal(plain.unary_labels, alone)
    assert plain.n_factors == plain.graph.n_edges + len(alone)
    assert plain.n_factors >= 1


@given(any_factors)
@settings(deadline=None)
def test_branches_reach_every_label_once_from_the_roots_down(factors):
    arrays = factors.arrays
    assert len(arrays.root) == factors.graph.n_components
    reached = set(arrays.root.tolist())
    for branch in arrays.branch:
        assert int(branch["parent"]) in reached
        assert int(branch["child"]) not in reached
        assert factors.graph.adjacency[branch["parent"], branch["child"]]
        reached.add(int(branch["child"]))
    assert reached == set(range(factors.n_labels))
    assert sorted(arrays.order) == list(range(factors.n_labels))


@given(any_factors)
@settings(deadline=None)
def test_the_table_of_a_branch_is_addressed_as_the_edge_is(factors):
    Y = np.array(list(np.ndindex(*factors.n_values)))[:50]
    cells = factors.cells(Y)
    edge_number = {tuple(e): f for f, e in enumerate(factors.graph.edges.tolist())}
    for branch in factors.arrays.branch:
        parent, child = int(branch["parent"]), int(branch["child"])
        found = (
            branch["table"]
            + Y[:, parent] * branch["parent_stride"]
            + Y[:, child] * branch["child_stride"]
        )
        assert_array_equal(found, cells[:, edge_number[tuple(sorted((parent, child)))]])
        assert branch["n_parent"] == factors.n_values[parent]
        assert branch["n_child"] == factors.n_values[child]
        assert branch["parent_start"] == factors.value_start[parent]
        assert branch["child_start"] == factors.value_start[child]


@given(any_factors)
@settings(deadline=None)
def test_values_and_messages_are_counted(factors):
    sizes = factors.n_values.tolist()
    assert factors.value_start.tolist() == [sum(sizes[:j]) for j in range(len(sizes))]
    ends = factors.graph.edges.ravel().tolist()
    messages = message_buffers(factors.arrays)
    assert len(messages.sent) == sum(sizes[j] for j in ends)


def test_cells_of_no_labellings_are_none():
    factors = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 2, 2])
    assert factors.cells(np.empty((0, 3), dtype=int)).shape == (0, 2)


def test_one_label_has_one_unary_factor():
    factors = FactorGraph(LabelGraph(1, []), [3])
    assert (factors.n_factors, factors.n_cells) == (1, 3)
    assert len(message_buffers(factors.arrays).sent) == 0
    assert factors.cells([[2], [0]]).tolist() == [[2], [0]]


def test_the_number_of_labellings_does_not_overflow():
    factors = FactorGraph(LabelGraph(100, [(0, 1)]), np.full(100, 2))
    assert factors.n_labellings == 2**100


def test_factors_need_as_many_numbers_of_values_as_labels():
    with pytest.raises(ValueError, match="one number per label of the graph, 3; got 2"):
        FactorGraph(LabelGraph(3, [(0, 1)]), [2, 2])


def test_a_part_with_a_foreign_factor_has_no_place():
    whole = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 2, 2])
    part = FactorGraph(LabelGraph(3, [(1, 2)]), [2, 2, 2])
    with pytest.raises(ValueError, match="factors are all factors of this one"):
        whole.places_of(part)


def test_edges_may_be_given_by_name_and_as_a_set():
    expected = LabelGraph(4, [(0, 1), (1, 3)])
    assert as_label_graph([("sky", "sea"), ("sand", "sea")], 4, NAMES) == expected
    assert as_label_graph({(0, 1), (3, 1)}, 4) == expected
    assert as_label_graph(nx.Graph([(0, 1), (3, 1), (2, 0)]).edges, 4).n_edges == 3


def test_numbers_that_are_names_are_names():
    graph = nx.path_graph([2, 0, 1])
    assert as_label_graph(graph, 3, [2, 0, 1]).edges.tolist() == [[0, 1], [1, 2]]


def test_an_unpickled_graph_is_read_only_and_equal():
    graph = LabelGraph(3, [(0, 1)])
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert not again.edges.flags.writeable
