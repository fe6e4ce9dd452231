"""Reading the graphs that users pass: edges, names, matrices and networkx graphs."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from scipy import sparse

from spanforest._wording import did_you_mean, listed, quoted
from spanforest.graphs._label_graph import LabelGraph


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
            f"found {quoted(unknown[0])}.{did_you_mean(unknown, named)}"
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
            f"edges must join labels of Y; {quoted(unknown[0])} is none of "
            f"{listed(list(label_names))}.{did_you_mean(unknown, label_names)}"
        )
    _check_named_pairs(graph)
    return [tuple(number[end] for end in pair) for pair in graph]


def _check_named_pairs(pairs: Any) -> None:
    """Refuse self-loops and repeated edges by the names of their labels."""
    seen = set()
    for pair in pairs:
        ends = frozenset(pair)
        if len(pair) == 2 and len(ends) == 1:
            raise ValueError(
                "an edge must join two different labels; found an edge from "
                f"{quoted(pair[0])} to itself. Remove it."
            )
        if len(pair) == 2 and ends in seen:
            raise ValueError(
                "each edge must be given once, in either direction; the one between "
                f"{quoted(pair[0])} and {quoted(pair[1])} was given more than once. "
                "Remove the duplicates."
            )
        seen.add(ends)


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
                f"{type(graph).__name__}: {quoted(graph)}."
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
