"""Which labels attract and which repel each other, and how frequent they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest.diagnostics._models import (
    codes_of,
    factors_of,
    fitted_model,
    positives,
)


class Couplings(NamedTuple):
    """How strongly the labels at every edge depend on each other."""

    edges: NDArray[np.intp]  # (n_edges, 2)
    strength: NDArray[np.float64]  # (n_edges,), in units of the score
    is_signed: NDArray[np.bool_]  # (n_edges,): both labels have two values


def edge_couplings(model: Any, X: Any, Y: Any = None) -> Couplings:
    """Measure which labels attract and which repel each other.

    With s the edge scores averaged over the examples (and over the members of an
    ensemble, an edge that a member lacks counting as zero), and p, q the frequencies of
    two binary labels, their coupling is

        (s(1, 1) + s(0, 0) - s(1, 0) - s(0, 1)) √(p (1 - p)) √(q (1 - q)).

    The first factor is how much more having the one label on speaks for the other than
    having it off does: positive if they attract each other, negative if they repel
    each other, zero if the edge scores are a sum of one score for each label. Moving
    the score of a single label from one edge to another does not change it. With the
    other two it is the standard deviation that this interaction gives to the scores of
    label sets whose labels are drawn by their frequencies: without them, pairs of
    labels that hardly ever occur would seem to be the strongest.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted. Of an ensemble the consensus graph is measured, as MAM uses it.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Examples to average over, as for `predict`.
    Y : array-like, DataFrame or sparse matrix of shape (n, n_labels), optional
        Labels to take the frequencies from; by default those predicted for X.

    Returns
    -------
    Couplings
        Labels of more values have the same standard deviation, but no sign.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.diagnostics import edge_couplings
    >>> X = [[0.0], [0.1], [0.9], [1.0]]
    >>> Y = [[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]]
    >>> model = MMCRFClassifier(graph=[(0, 1), (1, 2)], C=10, random_state=0).fit(X, Y)
    >>> (edge_couplings(model, X, Y).strength > 0).tolist()  # equal, and opposite
    [True, False]
    """
    model, X = fitted_model(model, X)
    codes = codes_of(model, model.predict(X) if Y is None else Y)
    factors = factors_of(model)
    total, n_samples = np.zeros(factors.n_cells), 0
    for basis in model._bases(X):
        total += model._scores(basis).sum(axis=0)
        n_samples += basis.shape[0]
    edges = factors.graph.edges
    tables = np.split(total / n_samples, factors.arrays.factor["offset"][1:])
    shares = [
        np.bincount(column, minlength=n) / len(column)
        for column, n in zip(codes.T, factors.n_values, strict=True)
    ]
    strength = [
        _coupling(table, shares[u], shares[v])
        for table, (u, v) in zip(tables[: len(edges)], edges, strict=True)
    ]
    is_signed = (factors.n_values[edges] == 2).all(axis=1)
    return Couplings(edges, np.array(strength), is_signed)


def _coupling(
    cells: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> float:
    """Return the deviation of the doubly centred table; signed if it is 2 by 2."""
    table = cells.reshape(len(rows), len(columns))
    table = table - (table @ columns)[:, None]
    table = table - rows @ table
    deviation = float(np.sqrt(rows @ table**2 @ columns))
    if table.shape != (2, 2):
        return deviation
    attraction = table[1, 1] + table[0, 0] - table[1, 0] - table[0, 1]
    return float(np.copysign(deviation, attraction))


def label_frequencies(Y: Any) -> NDArray[np.float64]:
    """Return the share of examples that have each label.

    Parameters
    ----------
    Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
        Labels. Of labels with other values than 0 and 1, all values but the lowest
        count as having it.

    Returns
    -------
    ndarray of shape (n_labels,)
        Between 0 and 1.

    Examples
    --------
    >>> from spanforest.diagnostics import label_frequencies
    >>> label_frequencies([[1, 0, 2], [1, 1, 0]]).tolist()
    [1.0, 0.5, 0.5]
    """
    return positives(Y).mean(axis=0)
