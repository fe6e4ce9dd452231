"""Label sets chosen from probabilities: the best ones on average for a measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest._parameters import check_sample_weight
from spanforest._wording import quoted

__all__ = [
    "check_threshold",
    "expected_f1",
    "expected_f1_decisions",
    "f1_thresholds",
    "hamming_decisions",
    "threshold_decisions",
]

CHUNK_CELLS = 2**20  # largest number of table entries in memory: 8 MB


def hamming_decisions(
    P: ArrayLike | Sequence[NDArray[np.floating]],
) -> NDArray[np.intp]:
    """Return the most probable value of every label.

    No other choice has more labels right on average, whether or not the labels depend
    on each other. Ties go to the lower value.

    Parameters
    ----------
    P : array-like of shape (n, n_labels), or list of arrays of shape (n, n_values)
        Probability that each label is on; or a list with one array per label, which
        holds the probability of each of its values.

    Returns
    -------
    ndarray of shape (n, n_labels)
        Codes of the values: 0 and 1, or column numbers in the arrays of the list.

    Examples
    --------
    >>> hamming_decisions([[0.4, 0.9]]).tolist()
    [[0, 1]]
    >>> import numpy as np
    >>> colour, size = np.array([[0.2, 0.5, 0.3]]), np.array([[0.9, 0.1]])
    >>> hamming_decisions([colour, size]).tolist()
    [[1, 0]]
    """
    if isinstance(P, list | tuple) and any(np.ndim(P_j) == 2 for P_j in P):
        return np.column_stack([np.argmax(P_j, axis=1) for P_j in P])
    return (_as_probabilities(P) > 0.5).astype(np.intp)


def threshold_decisions(P: ArrayLike, threshold: ArrayLike) -> NDArray[np.intp]:
    """Return the labels whose probability is larger than a threshold.

    A threshold of 0.5 has most labels right on average. A smaller one suits the F1 of
    all labels together.

    Parameters
    ----------
    P : array-like of shape (n, n_labels)
        Probability that each label is on.
    threshold : float or array-like of shape (n_labels,)
        One number between 0 and 1 for all labels, or one per label.

    Returns
    -------
    ndarray of shape (n, n_labels)
        1 for the labels that are predicted, else 0.

    Examples
    --------
    >>> threshold_decisions([[0.4, 0.2]], 0.3).tolist()
    [[1, 0]]
    >>> threshold_decisions([[0.4, 0.2]], [0.5, 0.1]).tolist()
    [[0, 1]]
    """
    P = _as_probabilities(P)
    check_threshold(threshold, np.full(P.shape[1], 2))
    return np.greater(P, np.asarray(threshold, dtype=np.float64)).astype(np.intp)


def f1_thresholds(
    P: ArrayLike, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return, for every label, the threshold of highest expected F1 of this label.

    So they suit the mean of the labels' F1 ("macro"). The more rarely a label is on, or
    the less certain it is, the smaller is its threshold. Probabilities must mean what
    they say, as calibrated ones do.

    With the k most probable examples predicted, and true labels drawn by their
    probabilities, F1 is about 2 (p_1 + ... + p_k) / (k + p_1 + ... + p_n). Adding an
    example raises that while its probability is larger than half of it. So the best
    threshold is half of the highest F1.

    Parameters
    ----------
    P : array-like of shape (n, n_labels)
        Probability that each label is on, in examples like those to predict.
    sample_weight : array-like of shape (n,), optional
        How much each example counts.

    Returns
    -------
    ndarray of shape (n_labels,)
        Numbers between 0 and 0.5, for `threshold_decisions`.

    References
    ----------
    Lipton, Elkan & Naryanaswamy, "Optimal thresholding of classifiers to maximize F1
    measure", ECML 2014.

    Examples
    --------
    >>> f1_thresholds([[1.0, 0.1], [0.0, 0.2], [1.0, 0.1]]).round(3).tolist()
    [0.5, 0.143]
    """
    P = _as_probabilities(P)
    if not len(P):
        raise ValueError("P must have a row for at least one example; got none.")
    weight = check_sample_weight(sample_weight, len(P))
    weight = np.ones(len(P)) if weight is None else weight
    P, weight = P[weight > 0], weight[weight > 0]
    order = np.argsort(-P, axis=0, kind="stable")
    hits = weight[order] * np.take_along_axis(P, order, axis=0)
    predicted = np.cumsum(weight[order], axis=0)
    best = np.cumsum(hits, axis=0) / (predicted + hits.sum(axis=0))
    return best.max(axis=0)  # F1 is twice this


def check_threshold(threshold: ArrayLike, n_values: NDArray[np.integer]) -> None:
    """Refuse a threshold that does not fit labels with these numbers of values.

    Examples
    --------
    >>> check_threshold([0.5, 0.2], np.array([2, 2]))
    """
    if n_values.max() > 2:
        j = int(n_values.argmax())
        raise ValueError(
            "a threshold is defined for labels with two values; label "
            f"{j} has {n_values[j]}. Pass threshold=None."
        )
    try:
        limits = np.asarray(threshold, dtype=np.float64)
    except (TypeError, ValueError):
        limits = np.array(np.nan)
    if limits.shape not in ((), n_values.shape):
        raise ValueError(
            f"threshold must be one number, or one for each of the {len(n_values)} "
            f"labels; got an array of shape {limits.shape}."
        )
    if not np.all((limits >= 0) & (limits <= 1)):
        raise ValueError(
            "threshold must be between 0 and 1, as probabilities are; got "
            f"{quoted(threshold)}."
        )


def expected_f1_decisions(P: ArrayLike) -> NDArray[np.intp]:
    """Return, for every example, the label set of highest expected F1.

    F1 of a predicted and a true label set is twice the number of labels they share,
    divided by the sum of their sizes; it is 1 if both are empty. Labels are assumed to
    be independent given the example.

    The best label set of size s holds the s most probable labels: replacing a label by
    another whose probability is larger by d adds 2 d E[1 / (s + 1 + M)] to the expected
    F1, where M is the number of true labels besides the two. So only n_labels + 1 sets
    need to be compared, which takes O(n_labels²) steps.

    Parameters
    ----------
    P : array-like of shape (n, n_labels)
        Probability that each label is on.

    Returns
    -------
    ndarray of shape (n, n_labels)
        1 for the labels of the set, else 0. Ties go to the smaller set.

    Examples
    --------
    A label may be worth predicting though it is more likely off than on:

    >>> expected_f1_decisions([[0.4, 0.4, 0.1]]).tolist()
    [[1, 1, 0]]
    """
    P = _as_probabilities(P)
    decisions = np.zeros(P.shape, dtype=np.intp)
    for rows in _chunks(P):
        order = np.argsort(-P[rows], axis=1, kind="stable")
        ranked = np.take_along_axis(P[rows], order, axis=1)
        values = _f1_of_the_most_probable(ranked)
        # rounding errors must not make the larger of two equally good sets the best
        is_best = values >= values.max(axis=1, keepdims=True) - 1e-12
        size = is_best.argmax(axis=1)
        chosen = np.arange(P.shape[1]) < size[:, None]
        np.put_along_axis(decisions[rows], order, chosen.astype(np.intp), axis=1)
    return decisions


def expected_f1(P: ArrayLike, decisions: ArrayLike) -> NDArray[np.float64]:
    """Return the expected F1 of given label sets, for independent labels.

    Parameters
    ----------
    P : array-like of shape (n, n_labels)
        Probability that each label is on.
    decisions : array-like of shape (n, n_labels)
        The label sets, as 0 and 1.

    Returns
    -------
    ndarray of shape (n,)
        Between 0 and 1; see `expected_f1_decisions`.

    Examples
    --------
    >>> expected_f1([[0.5, 0.5]], [[1, 0]]).round(4).tolist()
    [0.4167]
    """
    P, chosen = _as_probabilities(P), np.asarray(decisions, dtype=bool)
    if chosen.shape != P.shape:
        raise ValueError(
            f"decisions must have the shape of P, {P.shape}; got {chosen.shape}."
        )
    expected = np.empty(len(P))
    for rows in _chunks(P):
        order = np.argsort(~chosen[rows], axis=1, kind="stable")
        members_first = np.take_along_axis(P[rows], order, axis=1)
        values = _f1_of_the_most_probable(members_first)
        sizes = chosen[rows].sum(axis=1)
        expected[rows] = values[np.arange(len(sizes)), sizes]
    return expected


def _f1_of_the_most_probable(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return E[F1] of the first s labels in column s = 0, ..., n_labels.

    With A the number of true labels among the first s and B among the others,

        E[F1] = sum_a P(A = a) 2 a E[1 / (s + a + B)].

    P(A = a) is computed for s = 0, 1, ..., adding a label at a time. The expectation
    R_s(m) = E[1 / (m + B)] is computed for s = n_labels, n_labels - 1, ..., by
    R_s(m) = (1 - p) R_{s+1}(m) + p R_{s+1}(m + 1), with p that of label s + 1.
    """
    n, n_labels = P.shape
    counts = np.zeros((n_labels + 1, n, n_labels + 1))  # P(A = a) at [s, :, a]
    counts[0, :, 0] = 1.0
    for s in range(n_labels):
        p = P[:, s, None]
        counts[s + 1] = counts[s] * (1 - p)
        counts[s + 1, :, 1:] += counts[s, :, :-1] * p
    values = np.empty((n, n_labels + 1))
    reciprocal = np.tile(1.0 / np.arange(1, 2 * n_labels + 1), (n, 1))  # m = 1, 2, ...
    for s in range(n_labels, 0, -1):
        hits = np.arange(1, s + 1)
        weighted = counts[s, :, 1 : s + 1] * reciprocal[:, s : 2 * s]
        values[:, s] = 2.0 * weighted @ hits
        p = P[:, s - 1, None]
        reciprocal = (1 - p) * reciprocal[:, :-1] + p * reciprocal[:, 1:]
    values[:, 0] = np.prod(1 - P, axis=1)
    return values


def _chunks(P: NDArray[np.float64]) -> list[slice]:
    step = max(1, CHUNK_CELLS // (P.shape[1] + 1) ** 2)
    return [slice(start, start + step) for start in range(0, len(P), step)]


def _as_probabilities(P: ArrayLike) -> NDArray[np.float64]:
    P = np.asarray(P, dtype=np.float64)
    if P.ndim != 2:
        raise ValueError(
            "P must hold the probability that each label is on, shape (n, n_labels); "
            f"got an array of shape {P.shape}."
        )
    if not np.all((P >= 0) & (P <= 1)):
        raise ValueError(
            "P must hold probabilities, between 0 and 1; got values from "
            f"{P.min():.3g} to {P.max():.3g}."
        )
    return P
