"""What the members of an ensemble may differ in: their graphs and their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from spanforest.kernels._sum import check_kernels, is_kernel_list

__all__ = ["check_member_kernels", "is_graph_list", "member_graphs"]


def member_graphs(graph: Any, n_estimators: int) -> list[Any]:
    """Return the graph parameter of each member.

    A list is a list of graphs unless it is one graph: a list of label pairs, or the
    rows of an adjacency matrix.
    """
    if not is_graph_list(graph):
        return [graph] * n_estimators
    if len(graph) != n_estimators:
        raise ValueError(
            f"a list of graphs must have one per member; got {len(graph)} graphs for "
            f"n_estimators={n_estimators}. Set n_estimators={len(graph)}."
        )
    return list(graph)


def is_graph_list(graph: Any) -> bool:
    """Return whether there is a graph for every member."""
    return isinstance(graph, list | tuple) and not _is_one_graph(graph)


def check_member_kernels(kernel: Any, n_estimators: int) -> None:
    """Refuse a list that cannot be the kernels of this many members."""
    if not is_kernel_list(kernel):
        return
    check_kernels(kernel, "kernel")
    if len(kernel) > n_estimators:
        raise ValueError(
            f"every kernel needs a member; got {len(kernel)} kernels for "
            f"n_estimators={n_estimators}. Set n_estimators={len(kernel)} or more."
        )


def _is_one_graph(graph: list | tuple) -> bool:
    kinds = (
        isinstance(one, str) or callable(one) or hasattr(one, "edges") for one in graph
    )
    if any(kinds):
        return False  # an edge or a row of a matrix is none of these
    try:
        return all(np.ndim(item) == 1 for item in graph)
    except ValueError:  # an item with rows of different lengths
        return False
