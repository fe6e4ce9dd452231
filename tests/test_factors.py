"""Factor graphs: cells, branches, and the factors of a consensus graph."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import FORESTS, any_kind, factor_graphs, random_graph, seeds

from spanforest._compiled import TIE, message_buffers
from spanforest.factors import FactorGraph, consensus_factors
from spanforest.graphs import LabelGraph
from spanforest.inference import score_labels

any_factors = factor_graphs(any_kind, max_labels=6, extra_unary=True)


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
def test_cells_agree_with_a_plain_loop(factors):
    Y = np.array(list(np.ndindex(*factors.n_values)))[:200]
    assert len(Y) == min(factors.n_labellings, 200)
    by_hand = [cells_by_hand(factors, y)[0] for y in Y]
    assert_array_equal(factors.cells(Y), by_hand)
    assert factors.n_cells == cells_by_hand(factors, Y[0])[1]
    assert factors.n_factors == len(by_hand[0])


@given(any_factors)
def test_labels_without_an_edge_have_a_unary_factor(factors):
    plain = FactorGraph(factors.graph, factors.n_values)
    alone = np.flatnonzero(plain.graph.degrees == 0)
    assert_array_equal(plain.unary_labels, alone)
    assert plain.n_factors == plain.graph.n_edges + len(alone)
    assert plain.n_factors >= 1


@given(any_factors)
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
def test_a_branch_addresses_the_table_of_its_edge(factors):
    Y = np.array(list(np.ndindex(*factors.n_values)))[:50]
    cells = factors.cells(Y)
    edge_number = {tuple(e): f for f, e in enumerate(factors.graph.edges.tolist())}
    for branch in factors.arrays.branch:
        parent, child = int(branch["parent"]), int(branch["child"])
        found = (
            branch["offset"]
            + Y[:, parent] * branch["parent_stride"]
            + Y[:, child] * branch["child_stride"]
        )
        assert_array_equal(found, cells[:, edge_number[tuple(sorted((parent, child)))]])
        assert branch["n_parent"] == factors.n_values[parent]
        assert branch["n_child"] == factors.n_values[child]
        assert branch["parent_start"] == factors.value_start[parent]
        assert branch["child_start"] == factors.value_start[child]


@given(any_factors)
def test_value_starts_and_messages_are_counted_by_label(factors):
    sizes = factors.n_values.tolist()
    assert factors.value_start.tolist() == [sum(sizes[:j]) for j in range(len(sizes))]
    ends = factors.graph.edges.ravel().tolist()
    messages = message_buffers(factors.arrays, TIE)
    assert len(messages.sent) == sum(sizes[j] for j in ends)


def test_no_labellings_have_no_cells():
    factors = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 2, 2])
    assert factors.cells(np.empty((0, 3), dtype=int)).shape == (0, 2)


def test_one_label_has_one_unary_factor():
    factors = FactorGraph(LabelGraph(1, []), [3])
    assert (factors.n_factors, factors.n_cells) == (1, 3)
    assert len(message_buffers(factors.arrays, TIE).sent) == 0
    assert factors.cells([[2], [0]]).tolist() == [[2], [0]]


def test_the_number_of_labellings_does_not_overflow():
    factors = FactorGraph(LabelGraph(100, [(0, 1)]), np.full(100, 2))
    assert factors.n_labellings == 2**100


def test_factors_need_a_number_of_values_for_every_label():
    with pytest.raises(ValueError, match="one number per label of the graph, 3; got 2"):
        FactorGraph(LabelGraph(3, [(0, 1)]), [2, 2])


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


@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from(FORESTS), seeds)
def test_scores_moved_to_the_consensus_factors_add_up(n_labels, n, kind, seed):
    rng = np.random.default_rng(seed)
    n_values = rng.integers(1, 4, size=n_labels)
    members = [FactorGraph(kind(n_labels, rng), n_values) for _ in range(n)]
    united = consensus_factors(members)
    Y = np.array(list(np.ndindex(*n_values)))
    expected = np.zeros(len(Y))
    moved = np.zeros((1, united.n_cells))
    for member in members:
        scores = rng.normal(size=(1, member.n_cells))
        expected += score_labels(member, np.repeat(scores, len(Y), axis=0), Y)
        places = united.places_of(member)
        assert len(set(places)) == member.n_cells
        moved[:, places] += scores
    found = score_labels(united, np.repeat(moved, len(Y), axis=0), Y)
    assert_allclose(found, expected, atol=1e-12)


def test_a_label_alone_in_one_member_keeps_its_unary_factor_in_the_consensus():
    alone = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 3, 4])
    joined = FactorGraph(LabelGraph(3, [(1, 2)]), [2, 3, 4])
    united = consensus_factors([alone, joined])
    assert united.graph == LabelGraph(3, [(0, 1), (1, 2)])
    assert united.unary_labels.tolist() == [0, 2]
    assert united.n_cells == 6 + 12 + 2 + 4


def test_a_graph_with_a_foreign_factor_has_no_place():
    whole = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 2, 2])
    other = FactorGraph(LabelGraph(3, [(1, 2)]), [2, 2, 2])
    with pytest.raises(ValueError, match="factors are all factors of this one"):
        whole.places_of(other)
