"""The factors of an output graph, and where their cells stand.

The layout of the cells is decided here. Compiled routines read it from arrays of
records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest import _compiled
from spanforest._compiled import FactorArrays
from spanforest.graphs import LabelGraph, consensus_graph
from spanforest.losses import FactorLoss, find_loss

__all__ = ["Coordinates", "FactorGraph", "consensus_factors"]


def _integers(*names: str) -> np.dtype:
    return np.dtype([(name, np.int64) for name in names])


LABEL_FIELDS = _integers(
    "n_values",
    "start",  # where its values stand among the values of all labels
    "unary",  # first cell of its unary factor, or -1
    "incident_start",  # where its edges stand in `incident`
    "incident_stop",
)
FACTOR_FIELDS = _integers(
    "first",  # smaller label
    "second",  # larger label, or -1 for a unary factor
    "n_second",  # values of the second label, 1 for a unary factor
    "offset",  # first cell
    "n_cells",
    "to_first",  # where the message into the first label starts
    "to_second",
)
BRANCH_FIELDS = _integers(
    "parent",  # label towards the root
    "n_parent",  # number of its values
    "parent_start",  # where its values stand among the values of all labels
    "parent_stride",  # number of cells from one of its values to the next
    "child",  # label away from the root; the next three are as for the parent
    "n_child",
    "child_start",
    "child_stride",
    "offset",  # first cell of the edge
    "choices",  # where routines note the child's best value for each of the parent's
)
COORDINATE_FIELDS = _integers(
    "offset",  # first cell of the factor
    "n_first",
    "n_second",
    "row_sums",  # where the sums of its rows stand, without the first row
    "column_sums",  # where the sums of its columns stand, without the first column
    "inner",  # where the cells outside of the first row and column stand
)


class FactorGraph:
    """The factors of a graph over labels with given numbers of values.

    The factors are the edges, and one unary factor for every label without an edge, so
    that no label goes unseen, or for the labels in `unary_labels`. A labelling y picks
    one cell of every factor's table; U(y) marks these cells.

    Parameters
    ----------
    graph : LabelGraph
        The output graph.
    n_values : array-like of shape (n_labels,)
        How many values each label takes, at least one.
    unary_labels : array-like of int, optional
        Labels that have a unary factor; by default those without an edge.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> factors = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 3, 2])
    >>> factors.n_factors, factors.n_cells
    (2, 8)
    >>> factors.cells([[1, 2, 0]]).tolist()
    [[5, 6]]
    """

    def __init__(
        self,
        graph: LabelGraph,
        n_values: ArrayLike,
        unary_labels: ArrayLike | None = None,
    ) -> None:
        if unary_labels is None:
            unary_labels = np.flatnonzero(graph.degrees == 0)
        self.graph = graph
        self.n_values = np.asarray(n_values, dtype=np.intp)
        self.unary_labels = np.asarray(unary_labels, dtype=np.intp)
        if len(self.n_values) != graph.n_labels:
            raise ValueError(
                f"n_values must hold one number per label of the graph, "
                f"{graph.n_labels}; got {len(self.n_values)}."
            )

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.graph.n_labels

    @property
    def n_factors(self) -> int:
        """Number of edges and unary factors."""
        return len(self.arrays.factor)

    @property
    def n_cells(self) -> int:
        """Number of cells over all factors: q in the paper's notation."""
        return int(self.arrays.factor["n_cells"].sum())

    @property
    def n_labellings(self) -> int:
        """Number of labellings; a Python integer, since it may be huge."""
        return math.prod(self.n_values.tolist())

    @property
    def value_start(self) -> NDArray[np.intp]:
        """Where each label's values start when all values lie in a row."""
        return self.arrays.label["start"]

    def cells(self, Y: ArrayLike) -> NDArray[np.int32]:
        """Return the cells that labellings pick, of shape (n_samples, n_factors)."""
        Y = np.asarray(Y)
        factor = self.arrays.factor
        picked = Y[:, factor["first"]] * factor["n_second"] + factor["offset"]
        n_edges = self.graph.n_edges
        picked[:, :n_edges] += Y[:, factor["second"][:n_edges]]
        return picked.astype(np.int32)

    def loss(self, name: str) -> FactorLoss:
        """Return the weights on these factors of the loss called `name`."""
        factor = self.arrays.factor
        return find_loss(name)(factor["first"], factor["second"])

    def places_of(self, member: FactorGraph) -> NDArray[np.intp]:
        """Return where the cells of `member`, which has some of these factors, are."""
        here, there = self.arrays.factor, member.arrays.factor
        keys, wanted = self._keys(here), self._keys(there)
        order = np.argsort(keys)
        at = order[np.searchsorted(keys, wanted, sorter=order) % len(order)]
        if not np.array_equal(keys[at], wanted):
            raise ValueError(
                "places_of expects a graph whose factors are all factors of this one; "
                "got others as well. Pass a member of consensus_factors."
            )
        moved = here["offset"][at] - there["offset"]
        return np.arange(member.n_cells) + np.repeat(moved, there["n_cells"])

    def _keys(self, factor: NDArray[np.void]) -> NDArray[np.intp]:
        """Return a number for every factor that identifies its labels."""
        return factor["first"] * (self.n_labels + 1) + factor["second"] + 1

    @cached_property
    def arrays(self) -> FactorArrays:
        """The arrays that compiled routines read."""
        n_values = self.n_values
        u, v = self.graph.edges.T
        n_edges = len(u)
        singles = self.unary_labels

        factor = np.zeros(n_edges + len(singles), FACTOR_FIELDS)
        factor["first"] = np.concatenate([u, singles])
        factor["second"] = np.concatenate([v, np.full(len(singles), -1)])
        factor["n_second"] = np.concatenate([n_values[v], np.ones(len(singles))])
        factor["n_cells"] = n_values[factor["first"]] * factor["n_second"]
        factor["offset"] = _starts(factor["n_cells"])
        factor["to_first"][:n_edges] = _starts(n_values[u] + n_values[v])
        factor["to_second"][:n_edges] = factor["to_first"][:n_edges] + n_values[u]

        label = np.full(self.n_labels, -1, LABEL_FIELDS)
        label["n_values"] = n_values
        label["start"] = _starts(n_values)
        label["unary"][singles] = factor["offset"][n_edges:]
        degrees = self.graph.degrees
        label["incident_start"] = _starts(degrees)
        label["incident_stop"] = label["incident_start"] + degrees
        by_label = np.argsort(np.concatenate([u, v]), kind="stable")
        incident = np.tile(np.arange(n_edges), 2)[by_label]

        order, parent, parent_edge = _breadth_first(self.graph)
        child = order[parent[order] >= 0]
        edge = factor[parent_edge[child]]
        is_second = edge["second"] == child
        branch = np.zeros(len(child), BRANCH_FIELDS)
        for end, labels in (("parent", parent[child]), ("child", child)):
            branch[end] = labels
            branch[f"n_{end}"] = n_values[labels]
            branch[f"{end}_start"] = label["start"][labels]
        branch["parent_stride"] = np.where(is_second, edge["n_second"], 1)
        branch["child_stride"] = np.where(is_second, 1, edge["n_second"])
        branch["offset"] = edge["offset"]
        branch["choices"] = _starts(branch["n_parent"])
        root = np.flatnonzero(parent < 0)
        return FactorArrays(label, factor, branch, root, order, incident)


CHUNK_SIZE = 1024  # rows whose tables are in memory at once


class Coordinates(NamedTuple):
    """Where the independent numbers of a sum of differences U(y) - U(z) stand.

    The tables of such a sum have two properties: each table sums to zero, and two
    factors that share a label agree about the sums of its values. So a few numbers
    determine all cells: l - 1 sums for a label with l values, and for an edge the cells
    outside of its table's first row and column. On a tree of labels with two values
    these are 2 n_labels - 1 numbers instead of 4 (n_labels - 1) cells. Dual variables
    are such sums, so weights and scores are too: products of matrices need only these
    columns.
    """

    layout: NDArray[np.void]  # (n_factors,) records, see COORDINATE_FIELDS
    n: int  # how many numbers

    @classmethod
    def of(cls, factors: FactorGraph, *, shared: bool = True) -> Coordinates:
        """Return the coordinates of a factor graph.

        Factors share the sums of a label, unless `shared` is False: where an example
        teaches only some of the factors, their sums need not agree.

        Examples
        --------
        >>> factors = FactorGraph(LabelGraph(3, [(0, 1), (1, 2)]), [2, 2, 2])
        >>> factors.n_cells, Coordinates.of(factors).n
        (8, 5)
        >>> Coordinates.of(factors, shared=False).n
        6
        """
        factor, n_edges = factors.arrays.factor, factors.graph.n_edges
        n_first = factors.n_values[factor["first"]]
        layout = np.zeros(len(factor), COORDINATE_FIELDS)
        layout["offset"] = factor["offset"]
        layout["n_first"] = n_first
        layout["n_second"] = factor["n_second"]
        if shared:
            sums = _starts(factors.n_values - 1)
            layout["row_sums"] = sums[factor["first"]]
            layout["column_sums"][:n_edges] = sums[factor["second"][:n_edges]]
            n_sums = int((factors.n_values - 1).sum())
        else:
            own = n_first + factor["n_second"] - 2
            layout["row_sums"] = _starts(own)
            layout["column_sums"] = layout["row_sums"] + n_first - 1
            n_sums = int(own.sum())
        n_inner = (n_first - 1) * (factor["n_second"] - 1)
        layout["inner"] = n_sums + _starts(n_inner)
        return cls(layout, n_sums + int(n_inner.sum()))

    @property
    def n_cells(self) -> int:
        """Number of cells of all tables."""
        last = self.layout[-1]
        return int(last["offset"] + last["n_first"] * last["n_second"])

    def expand(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the tables, of shape (n, n_cells), that have these coordinates."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        cells = np.empty((len(values), self.n_cells))
        _compiled.expand_rows(self.layout, values, cells)
        return cells

    def squared_norm(self, values: ArrayLike) -> float:
        """Return the sum of the squares of all cells."""
        values, total = np.asarray(values), 0.0
        for start in range(0, len(values), CHUNK_SIZE):
            cells = self.expand(values[start : start + CHUNK_SIZE])
            total += float(np.vdot(cells, cells))
        return total


def consensus_factors(members: Sequence[FactorGraph]) -> FactorGraph:
    """Return the factor graph with every factor of any of the members.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> one = FactorGraph(LabelGraph(3, [(0, 1)]), [2, 2, 2])
    >>> two = FactorGraph(LabelGraph(3, [(1, 2)]), [2, 2, 2])
    >>> consensus_factors([one, two]).n_factors
    4
    """
    unary = [member.unary_labels for member in members]
    graph = consensus_graph([member.graph for member in members])
    return FactorGraph(graph, members[0].n_values, np.unique(np.concatenate(unary)))


def running_sums(
    union: FactorGraph,
    members: Sequence[FactorGraph],
    scores: Iterable[NDArray[np.float64]],
) -> Iterator[NDArray[np.float64]]:
    """Yield the sum of the scores of the first 1, 2, ... members on their union.

    Weights and intercepts are summed in the same way: they have a column per cell too.

    Parameters
    ----------
    union : FactorGraph
        With every factor of the members; scores of other factors are 0.
    members : sequence of FactorGraph
        At least one.
    scores : iterable of ndarray of shape (n, n_cells of the member)
        The scores, or the weights, of each member.

    Yields
    ------
    ndarray of shape (n, n_cells of the union)
        The same array every time: use it before you take the next one.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> edges, n_values = [(0, 1), (1, 2)], [1, 1, 2]
    >>> union = FactorGraph(LabelGraph(3, edges), n_values)
    >>> one, two = (FactorGraph(LabelGraph(3, [e]), n_values, []) for e in edges)
    >>> sums = running_sums(union, [one, two], [np.ones((1, 1)), np.full((1, 2), 3.0)])
    >>> [total.tolist() for total in sums]
    [[[1.0, 0.0, 0.0]], [[1.0, 3.0, 3.0]]]
    """
    total: Any = None
    for member, own in zip(members, scores, strict=True):
        if total is None:
            total = np.zeros((len(own), union.n_cells))
        total[:, union.places_of(member)] += own
        yield total


def average_scores(
    union: FactorGraph,
    members: Sequence[FactorGraph],
    scores: Iterable[NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return the mean of the members' scores, or weights, on their union.

    See `running_sums`.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> pair = FactorGraph(LabelGraph(2, [(0, 1)]), [1, 2])
    >>> average_scores(pair, [pair, pair], np.array([[[0.0, 2.0]], [[4.0, 4.0]]]))
    array([[2., 3.]])
    """
    *_, total = running_sums(union, members, scores)
    total /= len(members)
    return total


def _starts(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where items of these sizes start when they lie in a row."""
    return np.cumsum(sizes) - sizes


def _breadth_first(
    graph: LabelGraph,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Visit every component breadth first: order, parent, edge to the parent."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(graph.n_labels)]
    for e, (u, v) in enumerate(graph.edges.tolist()):
        neighbours[u].append((v, e))
        neighbours[v].append((u, e))
    parent, parent_edge = np.full((2, graph.n_labels), -1)
    seen = np.zeros(graph.n_labels, dtype=bool)
    order: list[int] = []
    for root in range(graph.n_labels):
        if seen[root]:
            continue
        seen[root] = True
        component = [root]
        for j in component:  # grows while it is read: a queue
            for other, e in neighbours[j]:
                if not seen[other]:
                    seen[other] = True
                    parent[other], parent_edge[other] = j, e
                    component.append(other)
        order += component
    return np.array(order, dtype=np.intp), parent, parent_edge
