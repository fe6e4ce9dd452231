"""Drawing output graphs: what the generators promise, and graphs by name."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import mutual_info_score
from strategies import seeds, trials

from spanforest.graphs import (
    FROM_LABELS,
    GENERATORS,
    LabelGraph,
    _generators,
    chow_liu_tree,
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

TREES = [random_spanning_tree, uniform_random_tree, recursive_random_tree]


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
def test_random_trees_have_one_edge_fewer_than_labels_and_are_connected(
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


def test_recursive_trees_have_the_smallest_and_uniform_trees_the_largest_diameter():
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
def test_the_same_seed_draws_the_same_graph(generator, n_labels, seed):
    first, second = (generator(n_labels, np.random.default_rng(seed)) for _ in range(2))
    assert first == second


@given(
    st.integers(1, 5),
    seeds,
    st.sampled_from(["normal", "ties", "negative", "equal", "zero"]),
)
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


def test_maximum_spanning_tree_reads_the_weights_above_the_diagonal(monkeypatch):
    monkeypatch.setattr(_generators, "MIRROR_BLOCK", 3)
    weights = np.random.default_rng(0).normal(size=(8, 8))
    upper = np.triu(weights, k=1)
    expected = nx.maximum_spanning_tree(nx.from_numpy_array(upper + upper.T))
    found = maximum_spanning_tree(weights).edges.tolist()
    assert sorted(found) == sorted(sorted(edge) for edge in expected.edges)


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
@trials(50)
def test_mutual_information_agrees_with_scikit_learn(Y):
    expected = [[mutual_info_score(a, b) for b in Y.T] for a in Y.T]
    assert_allclose(mutual_information(Y), expected, atol=1e-12)


@given(label_codes())
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
def test_trees_drawn_from_labels_span_them_even_without_information(Y):
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


def test_pairs_without_information_are_joined_last():
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


def test_a_fixed_graph_draws_no_random_numbers():
    rng = np.random.default_rng(0)
    draw_graph([(0, 1)], np.zeros((2, 3), dtype=int), rng)
    assert rng.random() == np.random.default_rng(0).random()


def test_an_unknown_name_is_refused_with_the_known_ones():
    known = "random_tree.*uniform_tree.*recursive_tree.*random_pairing.*chow_liu"
    with pytest.raises(ValueError, match=f"{known}.*got 'star'"):
        draw_graph("star", np.zeros((2, 3), dtype=int), np.random.default_rng(0))
