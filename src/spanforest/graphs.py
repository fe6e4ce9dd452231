"""Output graphs over the labels: drawing them, and reading those that users pass.

A graph has a node per label and undirected edges. It may be a tree or a forest, and may
have cycles and isolated labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

__all__ = [
    "FROM_LABELS",
    "GENERATORS",
    "LabelGraph",
    "as_label_graph",
    "chow_liu_tree",
    "consensus_graph",
    "draw_graph",
    "independent_labels",
    "informed_random_tree",
    "maximum_spanning_tree",
    "mutual_information",
    "random_pairing",
    "random_spanning_tree",
    "recursive_random_tree",
    "uniform_random_tree",
]


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
                u = above[u] = above[above[u]]
            while above[v] != v:
                v = above[v] = above[above[v]]
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
            f"n_labels must be a whole number of at least 1; got {n_labels!r}."
        )
    try:
        pairs = np.asarray(edges)
    except ValueError:  # rows of different lengths
        pairs = np.empty(0, dtype=object)
    if pairs.dtype.kind not in "biuf":
        raise ValueError(f"edges must be pairs of label numbers; got {edges!r:.80}.")
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


# --- drawing graphs ----------------------------------------------------------------

MIRROR_BLOCK = 256  # labels


def maximum_spanning_tree(weights: ArrayLike) -> LabelGraph:
    """Return the spanning tree of a complete graph that has the largest total weight.

    Parameters
    ----------
    weights : array-like of shape (n_labels, n_labels)
        Symmetric. Weights may be any finite numbers, also zero and negative ones. The
        diagonal is ignored.

    Examples
    --------
    >>> maximum_spanning_tree([[0, 3, 1], [3, 0, 2], [1, 2, 0]]).edges.tolist()
    [[0, 1], [1, 2]]
    """
    symmetric = _mirrored(weights)
    n_labels = len(symmetric)
    # Prim's method: the tree grows from label 0. `best` is the largest weight that
    # joins a label to the tree, and `pair` the number of that edge. Ties go to the
    # lower number, so the tree does not depend on where it starts.
    outside, newest = np.arange(1, n_labels), 0
    best, pair = np.full(len(outside), -np.inf), np.zeros(len(outside), dtype=np.int64)
    chosen: list[int] = []
    while len(outside) > 0:
        row = symmetric[newest].take(outside)
        number = np.minimum(outside, newest) * n_labels + np.maximum(outside, newest)
        better = (row > best) | ((row == best) & (number < pair))
        np.copyto(best, row, where=better)
        np.copyto(pair, number, where=better)
        top = np.flatnonzero(best == best.max())
        at = top[pair[top].argmin()]
        newest = int(outside[at])
        chosen.append(int(pair[at]))
        for array in (outside, best, pair):  # the last label takes the free place
            array[at] = array[-1]
        outside, best, pair = outside[:-1], best[:-1], pair[:-1]
    edges = np.divmod(np.array(chosen, dtype=np.int64), n_labels)
    return LabelGraph(n_labels, np.column_stack(edges))


def _mirrored(weights: ArrayLike) -> NDArray[np.float64]:
    """Return a symmetric matrix: the weights above the diagonal, and zeros on it.

    It is mirrored in blocks, which the processor's cache holds.
    """
    copy = np.array(weights, dtype=float)
    for start in range(0, len(copy), MIRROR_BLOCK):
        stop = start + MIRROR_BLOCK
        copy[start:stop, :start] = copy[:start, start:stop].T
        own = np.triu(copy[start:stop, start:stop], k=1)
        copy[start:stop, start:stop] = own + own.T
    return copy


def random_spanning_tree(n_labels: int, rng: np.random.Generator) -> LabelGraph:
    """Draw the paper's random tree: the maximum spanning tree of random edge weights.

    Examples
    --------
    >>> random_spanning_tree(5, np.random.default_rng(0)).n_edges
    4
    """
    return maximum_spanning_tree(rng.uniform(size=(n_labels, n_labels)))


def uniform_random_tree(n_labels: int, rng: np.random.Generator) -> LabelGraph:
    """Draw one of the n_labels ** (n_labels - 2) trees, all equally likely.

    Node j > 0 joins node min(U, j - 1), where U is uniform over all nodes. Then the
    nodes are shuffled (Aldous 1990).

    Examples
    --------
    >>> uniform_random_tree(5, np.random.default_rng(0)).n_components
    1
    """
    child = np.arange(1, n_labels)
    parent = np.minimum(rng.integers(n_labels, size=n_labels - 1), child - 1)
    shuffled = rng.permutation(n_labels)
    return LabelGraph(n_labels, shuffled[np.column_stack([child, parent])])


def recursive_random_tree(n_labels: int, rng: np.random.Generator) -> LabelGraph:
    """Draw a tree that grows by joining each new label to a random earlier one.

    These trees have smaller diameters than spanning trees of random weights.

    Examples
    --------
    >>> recursive_random_tree(5, np.random.default_rng(0)).is_forest
    True
    """
    child = np.arange(1, n_labels)
    parent = rng.integers(child)
    shuffled = rng.permutation(n_labels)
    return LabelGraph(n_labels, shuffled[np.column_stack([child, parent])])


def random_pairing(n_labels: int, rng: np.random.Generator) -> LabelGraph:
    """Draw disjoint pairs of labels; an odd number of labels leaves one alone.

    Examples
    --------
    >>> random_pairing(5, np.random.default_rng(0)).degrees.sum()
    np.int64(4)
    """
    shuffled = rng.permutation(n_labels)
    return LabelGraph(n_labels, shuffled[: n_labels // 2 * 2].reshape(-1, 2))


def independent_labels(
    n_labels: int, rng: np.random.Generator | None = None
) -> LabelGraph:
    """Return the graph without edges, which makes labels independent of each other.

    Examples
    --------
    >>> independent_labels(3).n_components
    3
    """
    return LabelGraph(n_labels, np.empty((0, 2), dtype=np.intp))


def mutual_information(
    Y: ArrayLike, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the empirical mutual information of all pairs of labels, in nats.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_labels)
        Codes 0, 1, ... of each label's values, -1 where not observed. For a pair of
        labels, only the rows count where both are observed.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.

    Examples
    --------
    >>> mutual_information([[0, 0, 1], [1, 1, 1]]).round(3)[0].tolist()
    [0.693, 0.693, 0.0]
    """
    Y = np.asarray(Y)
    n_samples, n_labels = Y.shape
    n_values = np.maximum(Y.max(axis=0) + 1, 1)  # 1 for a label never observed
    start = np.concatenate([[0], np.cumsum(n_values)[:-1]])
    observed = (Y >= 0).astype(float)
    one_hot = np.zeros((n_samples, n_values.sum()))
    one_hot[np.arange(n_samples)[:, None], start + np.maximum(Y, 0)] = observed

    label = np.repeat(np.arange(n_labels), n_values)  # the label of every value
    weight = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight)
    weighted = weight[:, None] * observed
    both = (weighted.T @ observed)[label][:, label]  # rows where both are observed
    joint = (weight[:, None] * one_hot).T @ one_hot
    alone = (one_hot.T @ weighted)[:, label]  # count of a value among these rows
    seen = joint > 0
    terms = np.zeros_like(joint)
    ratio = joint[seen] * both[seen] / (alone[seen] * alone.T[seen])
    terms[seen] = joint[seen] / both[seen] * np.log(ratio)
    return np.add.reduceat(np.add.reduceat(terms, start, axis=0), start, axis=1)


def chow_liu_tree(Y: ArrayLike, sample_weight: ArrayLike | None = None) -> LabelGraph:
    """Return the tree with the largest total mutual information of its edges.

    It spans all labels: constant and independent ones get edges of no information.
    `sample_weight` is that of `mutual_information`.

    Examples
    --------
    >>> chow_liu_tree([[0, 0, 1], [1, 1, 1], [0, 0, 0]]).n_edges
    2
    """
    return maximum_spanning_tree(mutual_information(Y, sample_weight))


def informed_random_tree(
    Y: ArrayLike, rng: np.random.Generator, sample_weight: ArrayLike | None = None
) -> LabelGraph:
    """Draw a tree that prefers label pairs of high mutual information.

    Pairs are drawn one after another without replacement, with probabilities
    proportional to their mutual information. A drawn pair becomes an edge unless its
    labels are already connected. Pairs without information are drawn last.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_labels)
        Codes of the labels, as for `mutual_information`.
    rng : Generator
        Source of randomness.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.

    Examples
    --------
    >>> Y = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]]  # the first two are equal
    >>> informed_random_tree(Y, np.random.default_rng(0)).edges[0].tolist()
    [0, 1]
    """
    information = mutual_information(Y, sample_weight)
    information = np.maximum(information, 1e-100)  # for the logarithm
    # sorting by log p + Gumbel noise draws from p without replacement
    noise = rng.gumbel(size=information.shape)
    return maximum_spanning_tree(np.log(information) + noise)


GraphGenerator = Callable[[int, np.random.Generator], Any]

GENERATORS: dict[str, GraphGenerator] = {
    "random_tree": random_spanning_tree,
    "uniform_tree": uniform_random_tree,
    "recursive_tree": recursive_random_tree,
    "random_pairing": random_pairing,
    "independent": independent_labels,
}

LabelledGenerator = Callable[..., LabelGraph]  # of Y, rng and sample_weight

FROM_LABELS: dict[str, LabelledGenerator] = {
    "informed_tree": informed_random_tree,
    "chow_liu": lambda Y, rng, sample_weight: chow_liu_tree(Y, sample_weight),
}


def draw_graph(
    graph: Any,
    Y: NDArray[np.integer],
    rng: np.random.Generator,
    label_names: Sequence[Any] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> LabelGraph:
    """Return the graph of one model from the `graph` that a user passed.

    Parameters
    ----------
    graph : str, callable or graph
        A name in `GENERATORS` or `FROM_LABELS`, a function of ``(n_labels, rng)``, or
        a graph in any form that `as_label_graph` reads.
    Y : ndarray of shape (n_samples, n_labels)
        Codes of the training labels, -1 where not observed.
    rng : Generator
        Source of randomness; fixed graphs do not use it.
    label_names : sequence, optional
        Names of the labels, which edges may use instead of numbers.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the rows of `Y`, for generators that look at the labels.

    Examples
    --------
    >>> Y = np.array([[0, 1, 0], [1, 0, 1]])
    >>> draw_graph("random_tree", Y, np.random.default_rng(0))
    LabelGraph(n_labels=3, n_edges=2)
    """
    n_labels = Y.shape[1]
    if isinstance(graph, str):
        if graph in FROM_LABELS:
            return FROM_LABELS[graph](Y, rng, sample_weight)
        if graph not in GENERATORS:
            known = ", ".join(map(repr, [*GENERATORS, *FROM_LABELS]))
            raise ValueError(
                f"graph must be one of {known}, a callable, or a graph; got {graph!r}."
            )
        return GENERATORS[graph](n_labels, rng)
    if callable(graph):
        graph = graph(n_labels, rng)
    return as_label_graph(graph, n_labels, label_names)


# --- reading graphs ----------------------------------------------------------------


def as_label_graph(
    graph: Any, n_labels: int, label_names: Sequence[Any] | None = None
) -> LabelGraph:
    """Read a graph over `n_labels` labels.

    Parameters
    ----------
    graph : LabelGraph, networkx graph, square matrix or list of pairs
        An array or sparse matrix of shape (n_labels, n_labels) is a symmetric adjacency
        matrix, whose non-zero entries are edges. The nodes of a networkx graph are the
        label names, or 0, ..., n_labels - 1; directions are ignored.
    n_labels : int
        Number of labels of the problem.
    label_names : sequence, optional
        The names, in the order of the labels.

    Examples
    --------
    >>> as_label_graph([(0, 1)], 3)
    LabelGraph(n_labels=3, n_edges=1)
    >>> as_label_graph([[0, 1, 1], [1, 0, 0], [1, 0, 0]], 3).edges.tolist()
    [[0, 1], [0, 2]]
    """
    if isinstance(graph, LabelGraph):
        _check_size(graph.n_labels, n_labels)
        label_graph = graph
    elif hasattr(graph, "nodes") and hasattr(graph, "edges"):  # networkx, not imported
        _check_size(len(graph.nodes), n_labels)
        edges = _networkx_edges(graph, n_labels, label_names)
        label_graph = LabelGraph(n_labels, edges)
    else:
        label_graph = _from_array(_numbered(graph, label_names), n_labels)
    if label_graph.n_edges == 0 and n_labels > 1:
        raise ValueError(
            f"the graph is empty: expected at least one edge between the {n_labels} "
            'labels. Pass graph="independent" to learn every label on its own.'
        )
    return label_graph


def consensus_graph(graphs: Sequence[LabelGraph]) -> LabelGraph:
    """Return the graph that has the edges of all given graphs (MAM's graph).

    Examples
    --------
    >>> consensus_graph([LabelGraph(3, [(0, 1)]), LabelGraph(3, [(2, 1)])]).n_edges
    2
    """
    edges = np.concatenate([graph.edges for graph in graphs])
    return LabelGraph(graphs[0].n_labels, np.unique(edges, axis=0))


def _check_size(n_nodes: int, n_labels: int) -> None:
    if n_nodes != n_labels:
        raise ValueError(
            f"the graph must have {n_labels} nodes, one per label; it has {n_nodes}. "
            "Pass a graph over the labels of Y."
        )


def _networkx_edges(
    graph: Any, n_labels: int, label_names: Sequence[Any] | None
) -> list[tuple[int, int]]:
    number: dict[Any, int] = {j: j for j in range(n_labels)}
    named = () if label_names is None else label_names
    names = {name: j for j, name in enumerate(named)}
    if any(node in names for node in graph.nodes):
        number = names
    unknown = [node for node in graph.nodes if node not in number]
    if unknown:
        raise ValueError(
            f"the nodes of the graph must be 0 to {n_labels - 1} or the label names; "
            f"found {unknown[0]!r}."
        )
    edges = [(number[u], number[v]) for u, v in graph.edges()]
    if graph.is_directed():  # arrows in both directions are one edge
        edges = sorted({(min(edge), max(edge)) for edge in edges})
    return edges


def _numbered(graph: Any, label_names: Sequence[Any] | None) -> Any:
    """Replace names by label numbers in a list or set of pairs of names."""
    if isinstance(graph, Set):
        graph = list(graph)
    if label_names is None or not isinstance(graph, list | tuple):
        return graph
    number = {name: j for j, name in enumerate(label_names)}
    is_named = all(
        isinstance(pair, list | tuple) and all(isinstance(end, str) for end in pair)
        for pair in graph
    )
    if not is_named:
        return graph
    unknown = [end for pair in graph for end in pair if end not in number]
    if unknown:
        raise ValueError(
            f"edges must join labels of Y; {unknown[0]!r} is none of "
            f"{', '.join(map(str, label_names))}."
        )
    return [tuple(number[end] for end in pair) for pair in graph]


def _from_array(graph: Any, n_labels: int) -> LabelGraph:
    if sparse.issparse(graph):
        array = graph.toarray()
    else:
        try:
            array = np.asarray(graph)
        except ValueError:  # rows of different lengths
            array = np.empty(0, dtype=object)
        if array.ndim == 0 or (
            array.dtype.kind not in "biuf" and array.size + array.dtype.hasobject
        ):
            raise ValueError(
                "graph must be a name, a callable, a LabelGraph, a networkx graph, an "
                "adjacency matrix or a list of pairs of label numbers (names, if Y is "
                "a DataFrame); got "
                f"{type(graph).__name__}: {graph!r:.80}."
            )
    # For two labels a 2 x 2 array is a matrix: two labels have one edge, not two.
    square = array.ndim == 2 and array.shape[0] == array.shape[1] and len(array) > 0
    if not square or (array.shape != (n_labels, n_labels) and array.shape == (2, 2)):
        return LabelGraph(n_labels, array)
    _check_size(len(array), n_labels)
    missing = np.argwhere(array != array)  # NaN differs from itself
    if len(missing):
        raise ValueError(
            "an adjacency matrix must hold numbers; the entry at row "
            f"{missing[0][0]}, column {missing[0][1]} is NaN. Write 0 for no edge."
        )
    if not np.array_equal(array != 0, array.T != 0):
        raise ValueError(
            "an adjacency matrix must be symmetric, because edges have no direction. "
            "Pass (A + A.T) instead of A."
        )
    loops = np.flatnonzero(np.diag(array))
    if len(loops):
        raise ValueError(
            f"an edge must join two different labels; found the self-loop ({loops[0]}, "
            f"{loops[0]}). Clear the diagonal of the adjacency matrix."
        )
    return LabelGraph(n_labels, np.argwhere(np.triu(array != 0)))
