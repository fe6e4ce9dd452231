"""Drawing graphs, at random or from the labels of the training examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest._wording import quoted
from spanforest.graphs._label_graph import LabelGraph
from spanforest.graphs._reading import as_label_graph

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
                f"graph must be one of {known}, a callable, or a graph; got "
                f"{quoted(graph)}."
            )
        return GENERATORS[graph](n_labels, rng)
    if callable(graph):
        graph = graph(n_labels, rng)
    return as_label_graph(graph, n_labels, label_names)
