"""Couplings (which labels attract or repel each other) and frequencies of labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._labels import read_labels
from spanforest.diagnostics._models import FittedModel, final_step


class Couplings(NamedTuple):
    """How strongly the labels at every edge depend on each other."""

    edges: NDArray[np.intp]  # (n_edges, 2)
    strength: NDArray[np.float64]  # (n_edges,), in units of the score
    is_signed: NDArray[np.bool_]  # (n_edges,): both labels have two values

    def strongest(self, number: int) -> Couplings:
        """Return the couplings furthest from zero, the strongest first.

        Parameters
        ----------
        number : int
            Largest number of couplings to return.

        Returns
        -------
        Couplings
            Equally strong ones keep their order.

        Examples
        --------
        >>> import numpy as np
        >>> from spanforest.diagnostics import Couplings
        >>> edges, strength = np.array([[0, 1], [1, 2], [0, 2]]), np.array([1, -3, 2])
        >>> Couplings(edges, strength, np.ones(3, dtype=bool)).strongest(2).strength
        array([-3,  2])
        """
        order = np.argsort(-np.abs(self.strength), kind="stable")[:number]
        return Couplings(self.edges[order], self.strength[order], self.is_signed[order])


def edge_couplings(model: Any, X: Any, Y: Any = None) -> Couplings:
    """Measure which labels attract and which repel each other.

    Let s be the edge scores, averaged over the examples and over the members of an
    ensemble (an edge that a member lacks scores zero there). Let p and q be the
    frequencies of two binary labels. Their coupling is

        (s(1, 1) + s(0, 0) - s(1, 0) - s(0, 1)) √(p (1 - p)) √(q (1 - q)).

    The first factor is the interaction: how much the score for one label rises when the
    other is switched on. It is positive if the labels attract each other and negative
    if they repel each other. It is zero if the edge scores are a sum of one score for
    each label, and does not change when such a score moves from one edge to another.
    The product with the two roots is the standard deviation of the interaction over
    label sets whose labels are drawn independently by their frequencies. Without the
    roots, pairs of labels that hardly ever occur would seem to be the strongest.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted. For an ensemble, couplings are those of the consensus graph, as in MAM.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Examples to average over, as for `predict`.
    Y : array-like, DataFrame or sparse matrix of shape (n, n_labels), optional
        Labels to count the frequencies in, where they are known; by default the
        labels predicted for X.

    Returns
    -------
    Couplings
        For labels of more than two values the strength is the standard deviation of
        the interaction, which has no sign.

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
    fitted, X = FittedModel.of(model, X)
    labels = fitted.classifier.predict(X) if Y is None else Y
    codes, factors = fitted.codes(labels, allow_missing=True), fitted.factors
    edges = factors.graph.edges
    tables = np.split(_mean_scores(fitted, X), factors.arrays.factor["offset"][1:])
    shares = [
        np.bincount(column[column >= 0], minlength=n_values) / (column >= 0).sum()
        for column, n_values in zip(codes.T, factors.n_values, strict=True)
    ]
    strength = [
        _coupling(table, shares[u], shares[v])
        for table, (u, v) in zip(tables[: len(edges)], edges, strict=True)
    ]
    is_signed = (factors.n_values[edges] == 2).all(axis=1)
    return Couplings(edges, np.array(strength), is_signed)


def _mean_scores(fitted: FittedModel, X: Any) -> NDArray[np.float64]:
    """Return the score of every cell, averaged over the examples."""
    total, n_samples = np.zeros(fitted.factors.n_cells), 0
    for rows in fitted.row_chunks(X):
        total += fitted.scores(rows).sum(axis=0)
        n_samples += rows.shape[0]
    return total / n_samples


def _coupling(
    cells: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> float:
    """Return the standard deviation of a doubly centred table; signed if 2 by 2."""
    table = cells.reshape(len(rows), len(columns))
    table = table - (table @ columns)[:, None]
    table = table - rows @ table
    deviation = float(np.sqrt(rows @ table**2 @ columns))
    if table.shape != (2, 2):
        return deviation
    attraction = table[1, 1] + table[0, 0] - table[1, 0] - table[0, 1]
    return float(np.copysign(deviation, attraction))


def keep_summary(model: Any, X: Any, Y: Any) -> None:
    """Store couplings and label frequencies of the training examples in a model.

    A model without a kernel cannot compute them later, because it keeps no examples.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted. It gets the attributes `couplings_` and `label_frequencies_`, which are
        saved with it.
    X, Y
        The training examples and their labels, as for `edge_couplings`.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.diagnostics import keep_summary, training_couplings
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0, 0], [0, 1], [1, 1]]
    >>> model = MMCRFClassifier(kernel="linear", random_state=0).fit(X, Y)
    >>> training_couplings(model) is None
    True
    >>> keep_summary(model, X, Y)
    >>> training_couplings(model).edges.tolist()
    [[0, 1]]
    """
    model.couplings_ = edge_couplings(model, X, Y)._asdict()
    missing_label = final_step(model)[0].missing_label
    model.label_frequencies_ = label_frequencies(Y, missing_label)


def training_couplings(model: Any) -> Couplings | None:
    """Return the couplings over the training examples, if the model knows them.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted; also as the last step of a pipeline.

    Returns
    -------
    Couplings or None
        Those that `keep_summary` stored. Otherwise the couplings over the examples that
        a model with a kernel keeps. None for other models.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.diagnostics import training_couplings
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0, 0], [0, 1], [1, 1]]
    >>> model = MMCRFClassifier(kernel="rbf", tol=0.1, random_state=0).fit(X, Y)
    >>> training_couplings(model).edges.tolist()
    [[0, 1]]
    """
    if hasattr(model, "couplings_"):
        return Couplings(**model.couplings_)
    classifier, examples = _kept_examples(model)
    return None if examples is None else edge_couplings(classifier, examples)


def training_frequencies(model: Any) -> NDArray[np.float64] | None:
    """Return the label frequencies in training, if the model knows them.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted; also as the last step of a pipeline.

    Returns
    -------
    ndarray of shape (n_labels,) or None
        Those that `keep_summary` stored. Otherwise the frequencies of the labels
        predicted for the examples that a model with a kernel keeps. None for other
        models.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.diagnostics import keep_summary, training_frequencies
    >>> X, Y = [[0.0], [1.0]], [[0, 1], [1, 1]]
    >>> model = MMCRFClassifier(tol=0.1, random_state=0).fit(X, Y)
    >>> keep_summary(model, X, Y)
    >>> training_frequencies(model).tolist()
    [0.5, 1.0]
    """
    if hasattr(model, "label_frequencies_"):
        return np.asarray(model.label_frequencies_)
    classifier, examples = _kept_examples(model)
    return None if examples is None else label_frequencies(classifier.predict(examples))


def _kept_examples(model: Any) -> tuple[Any, Any]:
    """Return the classifier and the training examples it keeps, or None."""
    classifier, _ = final_step(model)
    examples = getattr(classifier, "X_fit_", None)
    names = getattr(classifier, "feature_names_in_", None)
    if examples is None or names is None:
        return classifier, examples
    import pandas  # installed: only a DataFrame has names of features

    return classifier, pandas.DataFrame(examples, columns=list(names))


def label_frequencies(Y: Any, missing_label: Any = None) -> NDArray[np.float64]:
    """Return the share of examples for which each label is on.

    Parameters
    ----------
    Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
        Labels. Of values other than 0 and 1, all but the lowest are on. NaN and None
        mean not observed; such examples do not count.
    missing_label : number or str, optional
        Another value that means not observed, such as -1.

    Returns
    -------
    ndarray of shape (n_labels,)
        Between 0 and 1.

    Examples
    --------
    >>> from spanforest.diagnostics import label_frequencies
    >>> label_frequencies([[1, 0, 2], [1, 1, 0]]).tolist()
    [1.0, 0.5, 0.5]
    >>> label_frequencies([[0], [-1], [1]], missing_label=-1).tolist()
    [0.5]
    """
    codes, coding = read_labels(Y, allow_missing=True, missing_label=missing_label)
    columns = [on[column] for column, on in zip(codes.T, coding.is_on, strict=True)]
    return np.asarray(
        np.ma.masked_array(np.column_stack(columns), codes < 0).mean(axis=0)
    )
