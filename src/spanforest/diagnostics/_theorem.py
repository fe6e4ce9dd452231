"""Theorem 1 of the paper in numbers: diversity and coherence of an ensemble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from spanforest._several_inputs import of_member
from spanforest.branch_and_bound import decode_exactly
from spanforest.diagnostics._models import FittedModel
from spanforest.factors import FactorGraph
from spanforest.inference import score_labels

Number = TypeVar("Number", float, NDArray[np.float64])


class _Terms(NamedTuple, Generic[Number]):
    """The terms of Theorem 1, averaged over examples.

    The theorem: `gap`, computed from errors, equals `variance`, computed from scores.
    """

    member_error: Number  # Δ_I: mean squared error of the members' scores
    ensemble_error: Number  # Δ_MAM: squared error of the average score
    diversity: Number  # sum over labels of the variance of their scores
    coherence: Number  # sum over pairs of labels of the covariance of their scores

    @property
    def gap(self) -> Number:
        """Left side of the theorem: error that averaging removes."""
        return self.member_error - self.ensemble_error

    @property
    def variance(self) -> Number:
        """Right side of the theorem: diversity plus coherence."""
        return self.diversity + self.coherence


class ReconstructionGap(_Terms[float]):
    """The terms of Theorem 1 for all members: `gap` equals `variance`."""

    @property
    def relative_gap(self) -> float:
        """The variance divided by the members' error, between 0 and 1."""
        return self.variance / self.member_error if self.member_error > 0 else 0.0


class DiversityCurve(_Terms[NDArray[np.float64]]):
    """The terms of Theorem 1 for the first 1, 2, ..., n_trees members, as arrays."""

    @property
    def n_trees(self) -> NDArray[np.intp]:
        """The sizes 1, 2, ..., n_trees."""
        return np.arange(1, len(self.diversity) + 1)


def reconstruction_gap(
    ensemble: Any, X: Any, Y: Any, target: ArrayLike | None = None
) -> ReconstructionGap:
    """Compute both sides of Theorem 1 of Su & Rousu (2013).

    For an example x with labels y, member t gives label j the score

        ψ_j(x, y) = ½ Σ_{e at j} ψ_e(x, y_e),

    half of the scores of its edges, so that the ψ_j sum to the score of y. By the
    theorem, the mean squared error of the members' scores minus the squared error of
    their average (MAM) is the variance of the score over the members. This variance is
    *diversity*, the sum of the variances of the ψ_j, plus *coherence*, the sum of the
    covariances of all pairs of different labels.

    Parameters
    ----------
    ensemble : RandomGraphEnsembleClassifier
        Fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Examples, as for `predict`.
    Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
        The label sets at which scores are compared: the true ones, or any others.
    target : array-like of shape (n_samples,), optional
        The optimal scores ψ*, which the paper assumes to be known; by default the
        highest score that the ensemble gives to any label set of each x. Then the
        ensemble's error is 0 where MAM predicts `Y`. The gap does not depend on them.

    Returns
    -------
    ReconstructionGap
        Averages over the examples. The errors are computed from total scores, diversity
        and coherence separately from the members' scores of single labels.

    Notes
    -----
    Variances divide by the number of members, as the theorem requires. An edge that a
    member lacks scores 0 there. The whole score of a unary factor belongs to its label.
    Values of `Y` that did not occur in training have no score and are refused.

    Examples
    --------
    >>> from spanforest import RandomGraphEnsembleClassifier
    >>> from spanforest.datasets import make_circle
    >>> from spanforest.diagnostics import reconstruction_gap
    >>> X, Y = make_circle(100, random_state=0)
    >>> ensemble = RandomGraphEnsembleClassifier(5, tol=0.1, random_state=0).fit(X, Y)
    >>> terms = reconstruction_gap(ensemble, X, Y)
    >>> abs(terms.gap - terms.variance) < 1e-9 * terms.member_error
    True
    """
    fitted, X = FittedModel.of(ensemble, X)
    members, error = fitted.members, 0.0
    terms = np.zeros((4, len(members)))
    for block in _blocks(fitted, X, Y, target):
        terms += _summed_terms(members, block)
        score = score_labels(fitted.factors, fitted.scores(block.rows), block.codes)
        error += np.sum((block.target - score) ** 2) / block.n_samples
    member_error, _, diversity, coherence = terms[:, -1].tolist()
    return ReconstructionGap(member_error, float(error), diversity, coherence)


def diversity_curve(
    ensemble: Any, X: Any, Y: Any, target: ArrayLike | None = None
) -> DiversityCurve:
    """Compute the terms of Theorem 1 for the first 1, 2, ..., n_trees members.

    Parameters
    ----------
    ensemble : RandomGraphEnsembleClassifier
        Fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Examples, as for `predict`.
    Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
        The label sets at which scores are compared.
    target : array-like of shape (n_samples,), optional
        As in `reconstruction_gap`; by default the highest scores of the whole
        ensemble, at every size.

    Returns
    -------
    DiversityCurve
        Averages over the examples, from one pass over the members.

    Examples
    --------
    >>> from spanforest import RandomGraphEnsembleClassifier
    >>> from spanforest.datasets import make_circle
    >>> from spanforest.diagnostics import diversity_curve
    >>> X, Y = make_circle(100, random_state=0)
    >>> ensemble = RandomGraphEnsembleClassifier(5, tol=0.1, random_state=0).fit(X, Y)
    >>> float(diversity_curve(ensemble, X, Y).diversity[0])  # one member: no variance
    0.0
    """
    fitted, X = FittedModel.of(ensemble, X)
    members = fitted.members
    terms = np.zeros((4, len(members)))
    for block in _blocks(fitted, X, Y, target):
        terms += _summed_terms(members, block)
    return DiversityCurve(*terms)


class _Block(NamedTuple):
    """Examples that are scored together."""

    rows: Any
    codes: NDArray[np.int32]
    target: NDArray[np.float64]
    n_samples: int  # in all blocks together


def _blocks(
    fitted: FittedModel, X: Any, Y: Any, target: ArrayLike | None
) -> Iterator[_Block]:
    codes = fitted.codes(Y)
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    targets = None if target is None else np.asarray(target, dtype=float)
    sizes = (len(codes), n_samples if targets is None else len(targets))
    if set(sizes) != {n_samples}:
        raise ValueError(
            f"X, Y and target must have one row per example each; got {n_samples} rows "
            f"in X, {sizes[0]} in Y and {'no target' if targets is None else sizes[1]}."
        )
    start = 0
    for rows in fitted.row_chunks(X):
        numbers = slice(start, start + rows.shape[0])
        start = numbers.stop
        if targets is None:
            best = decode_exactly(fitted.factors, fitted.scores(rows)).score
        else:
            best = targets[numbers]
        yield _Block(rows, codes[numbers], best, n_samples)


def _summed_terms(members: list[FittedModel], block: _Block) -> NDArray[np.float64]:
    """Return what a block adds to the terms, shape (4, n_trees), as DiversityCurve.

    Means and sums of squared deviations are updated member by member (Welford), which
    loses no digits where scores are large and vary little.
    """
    terms = np.zeros((4, len(members)))
    mean = np.zeros(block.codes.shape)
    variances, covariances, squares = np.zeros((3, len(block.codes)))
    for t, member in enumerate(members):
        member_scores = member.scores(of_member(block.rows, t))
        scores = node_scores(member.factors, member_scores, block.codes)
        before = scores - mean
        mean += before / (t + 1)
        after = scores - mean
        own = before * after
        variances += own.sum(axis=1)
        others = after.sum(axis=1, keepdims=True) - after  # of every other label
        covariances += (before * others).sum(axis=1)
        squares += (block.target - scores.sum(axis=1)) ** 2
        ensemble_error = (block.target - mean.sum(axis=1)) ** 2
        terms[0, t] = squares.sum() / (t + 1)
        terms[1, t] = ensemble_error.sum()
        terms[2, t] = variances.sum() / (t + 1)
        terms[3, t] = covariances.sum() / (t + 1)
    return terms / block.n_samples


def node_scores(
    factors: FactorGraph, scores: ArrayLike, labels: ArrayLike
) -> NDArray[np.float64]:
    """Divide the score of labellings among the labels (ψ_j of the paper).

    Parameters
    ----------
    factors : FactorGraph
        The factors.
    scores : array-like of shape (n, n_cells)
        Their scores.
    labels : array-like of shape (n, n_labels)
        Codes of one labelling per row of the scores.

    Returns
    -------
    ndarray of shape (n, n_labels)
        Half the score of every edge goes to each of its ends, and the whole score of a
        unary factor to its label. Rows sum to the scores of the labellings.

    Examples
    --------
    >>> from spanforest.factors import FactorGraph
    >>> from spanforest.graphs import LabelGraph
    >>> chain = FactorGraph(LabelGraph(3, [(0, 1), (1, 2)]), [2, 2, 2])
    >>> node_scores(chain, [[1, 2, 3, 4, 5, 6, 7, 8]], [[0, 1, 0]]).tolist()
    [[1.0, 4.5, 3.5]]
    """
    picked = np.take_along_axis(np.asarray(scores), factors.cells(labels), axis=1)
    n_edges = factors.graph.n_edges
    ends = factors.arrays.factor
    share = np.where(np.arange(factors.n_factors) < n_edges, 0.5, 1.0)
    label = np.concatenate([ends["first"], ends["second"][:n_edges]])
    factor = np.concatenate([np.arange(factors.n_factors), np.arange(n_edges)])
    sharing = sparse.csr_array(
        (share[factor], (factor, label)), shape=(factors.n_factors, factors.n_labels)
    )
    return picked @ sharing
