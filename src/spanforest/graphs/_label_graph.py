"""The graph of a model: a node per label, and undirected edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from spanforest._wording import quoted


class LabelGraph:
    """An undirected graph whose nodes are the labels 0, ..., n_labels - 1.

    Parameters
    ----------
    n_labels : int
        Number of nodes.
    edges : array-like of shape (n_edges, 2)
        Pairs of labels, in any order. They are stored as pairs u < v in lexicographic
        order, so that graphs with the same edges are equal.

    Examples
    --------
    >>> graph = LabelGraph(4, [(2, 0), (0, 1)])
    >>> graph.edges.tolist()
    [[0, 1], [0, 2]]
    >>> graph.is_forest, graph.n_components
    (True, 2)
    """

    def __init__(self, n_labels: int, edges: ArrayLike) -> None:
        self.n_labels = n_labels
        self.edges = _canonical_edges(edges, n_labels)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LabelGraph)
            and self.n_labels == other.n_labels
            and np.array_equal(self.edges, other.edges)
        )

    def __hash__(self) -> int:
        return hash((self.n_labels, self.edges.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelGraph, (self.n_labels, self.edges)  # edges are read-only again

    def __repr__(self) -> str:
        return f"LabelGraph(n_labels={self.n_labels}, n_edges={self.n_edges})"

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def adjacency(self) -> sparse.csr_array:
        """Symmetric 0/1 matrix of shape (n_labels, n_labels)."""
        u, v = self.edges.T
        ones = np.ones(2 * self.n_edges, dtype=np.int8)
        ends = (np.concatenate([u, v]), np.concatenate([v, u]))
        return sparse.csr_array((ones, ends), shape=(self.n_labels, self.n_labels))

    @property
    def degrees(self) -> NDArray[np.intp]:
        """Number of edges at each label."""
        return np.bincount(self.edges.ravel(), minlength=self.n_labels)

    @cached_property
    def n_components(self) -> int:
        """Number of connected components."""
        n_components, _ = csgraph.connected_components(self.adjacency, directed=False)
        return int(n_components)

    @cached_property
    def is_forest(self) -> bool:
        """Whether the graph has no cycle: every edge joins two components."""
        if self.n_edges >= self.n_labels:
            return False
        above = list(range(self.n_labels))  # a label that it is joined to, or itself
        for u, v in self.edges.tolist():
            while above[u] != u:
                above[u] = u = above[above[u]]
            while above[v] != v:
                above[v] = v = above[above[v]]
            if u == v:
                return False
            above[v] = u
        return True

    @property
    def diameter(self) -> int:
        """Number of edges on the longest of all shortest paths inside components."""
        lengths = csgraph.shortest_path(self.adjacency, unweighted=True)
        return int(lengths[np.isfinite(lengths)].max())

    def to_networkx(self) -> Any:
        """Return the same graph as a `networkx.Graph`."""
        import networkx  # optional: nothing else needs it

        graph = networkx.Graph()
        graph.add_nodes_from(range(self.n_labels))
        graph.add_edges_from(map(tuple, self.edges.tolist()))
        return graph


def _canonical_edges(edges: ArrayLike, n_labels: int) -> NDArray[np.intp]:
    if not isinstance(n_labels, Integral) or n_labels < 1:
        raise ValueError(
            f"n_labels must be a whole number of at least 1; got {quoted(n_labels)}."
        )
    try:
        pairs = np.asarray(edges)
    except ValueError:  # rows of different lengths
        pairs = np.empty(0, dtype=object)
    if pairs.dtype.kind not in "biuf":
        raise ValueError(f"edges must be pairs of label numbers; got {quoted(edges)}.")
    if pairs.size == 0:
        pairs = np.empty((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"edges must have shape (n_edges, 2); got {pairs.shape}. "
            "Pass pairs of label numbers such as [(0, 1), (1, 2)]."
        )
    if pairs.dtype.kind not in "iu":
        odd = pairs[~np.isfinite(pairs) | (pairs != np.round(pairs))]
        if len(odd):
            raise ValueError(f"edges must hold whole label numbers; found {odd[0]}.")
    pairs = np.sort(pairs.astype(np.intp), axis=1)
    outside = (pairs < 0) | (pairs >= n_labels)
    if outside.any():
        raise ValueError(
            f"edges must join labels 0 to {n_labels - 1} (there are {n_labels} "
            f"labels); found label {pairs[outside][0]}."
        )
    loops = pairs[pairs[:, 0] == pairs[:, 1]]
    if len(loops):
        raise ValueError(
            f"an edge must join two different labels; found the self-loop "
            f"({loops[0, 0]}, {loops[0, 0]}). Remove it."
        )
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    is_again = (pairs[1:] == pairs[:-1]).all(axis=1)
    if is_again.any():
        u, v = pairs[1:][is_again][0]
        n_times = int((pairs == (u, v)).all(axis=1).sum())
        raise ValueError(
            f"each edge must be given once, in either direction; ({u}, {v}) was given "
            f"{n_times} times. Remove the duplicates."
        )
    pairs.setflags(write=False)
    return pairs


def consensus_graph(graphs: Sequence[LabelGraph]) -> LabelGraph:
    """Return the graph that has the edges of all given graphs (MAM's graph).

    Examples
    --------
    >>> consensus_graph([LabelGraph(3, [(0, 1)]), LabelGraph(3, [(2, 1)])]).n_edges
    2
    """
    edges = np.concatenate([graph.edges for graph in graphs])
    return LabelGraph(graphs[0].n_labels, np.unique(edges, axis=0))
