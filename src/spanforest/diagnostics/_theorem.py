"""Theorem 1 of the paper in numbers: diversity and coherence of an ensemble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from spanforest.branch_and_bound import decode_exactly
from spanforest.diagnostics._models import codes_of, fitted_ensemble
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.factors import FactorGraph
from spanforest.inference import score_labels


class ReconstructionGap(NamedTuple):
    """The terms of Theorem 1, averaged over examples.

    The theorem says that `gap`, from the errors, equals `variance`, from the scores.
    """

    member_error: float  # Δ_I: mean squared error of the members' scores
    ensemble_error: float  # Δ_MAM: squared error of the average score
    diversity: float  # sum over labels of the variance of their scores
    coherence: float  # sum over pairs of labels of the covariance of their scores

    @property
    def gap(self) -> float:
        """Left side of the theorem: what averaging takes off the members' error."""
        return self.member_error - self.ensemble_error

    @property
    def variance(self) -> float:
        """Right side of the theorem: diversity plus coherence."""
        return self.diversity + self.coherence

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the members' error, between 0 and 1."""
        return self.variance / self.member_error if self.member_error > 0 else 0.0


class DiversityCurve(NamedTuple):
    """The terms of Theorem 1 for the first 1, 2, ..., n_trees members."""

    member_error: NDArray[np.float64]  # (n_trees,), as are all
    ensemble_error: NDArray[np.float64]
    diversity: NDArray[np.float64]
    coherence: NDArray[np.float64]

    @property
    def n_trees(self) -> NDArray[np.intp]:
        """The sizes 1, 2, ..., n_trees."""
        return np.arange(1, len(self.diversity) + 1)

    @property
    def gap(self) -> NDArray[np.float64]:
        """Left side of the theorem at every size."""
        return self.member_error - self.ensemble_error

    @property
    def variance(self) -> NDArray[np.float64]:
        """Right side of the theorem at every size."""
        return self.diversity + self.coherence


def reconstruction_gap(
    ensemble: Any, X: Any, Y: Any, target: ArrayLike | None = None
) -> ReconstructionGap:
    """Compute both sides of Theorem 1 of Su & Rousu (2013).

    For an example x with labels y, member t gives label j the score

        ψ_j(x, y) = ½ Σ_{e at j} ψ_e(x, y_e),

    half of what its edges give to the values of their two ends, so that the ψ_j sum to
    the score of y. The theorem: the mean squared error of the members' scores, minus
    the squared error of their average (MAM), is the variance of the score over the
    members; and that is *diversity*, the variances of the ψ_j, plus *coherence*, the
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
        The optimal scores ψ*. The paper assumes them given. By default, for each x, the
        highest score that the ensemble gives to any label set: what the true label
        set must score to be predicted. The ensemble's error is then 0 where MAM's
        prediction is `Y`. The gap does not depend on this choice.

    Returns
    -------
    ReconstructionGap
        Averages over the examples. The errors come from the average weights on the
        consensus graph and the members' total scores, diversity and coherence from
        the members' scores of single labels.

    Notes
    -----
    Variances divide by the number of members, as the theorem needs. An edge that a
    member lacks scores 0 there. A label without an edge has a factor of its own, which
    counts in full. Values of `Y` that did not occur in training have no score and are
    refused.

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
    ensemble, X = fitted_ensemble(ensemble, X)
    factors = ensemble._factors
    terms, error = np.zeros((4, len(ensemble.estimators_))), 0.0
    for part in _labelled_parts(ensemble, X, Y, target):
        terms += _summed_terms(ensemble, part)
        found = score_labels(factors, ensemble._scores(part.basis), part.codes)
        error += np.sum((part.target - found) ** 2) / part.n_samples
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
    ensemble, X = fitted_ensemble(ensemble, X)
    terms = np.zeros((4, len(ensemble.estimators_)))
    for part in _labelled_parts(ensemble, X, Y, target):
        terms += _summed_terms(ensemble, part)
    return DiversityCurve(*terms)


class _Part(NamedTuple):
    """Some of the examples, as many as are scored at once."""

    basis: Any
    codes: NDArray[np.int32]
    target: NDArray[np.float64]
    n_samples: int  # of all examples together


def _labelled_parts(
    ensemble: RandomGraphEnsembleClassifier, X: Any, Y: Any, target: ArrayLike | None
) -> Iterator[_Part]:
    codes = codes_of(ensemble, Y)
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    goals = None if target is None else np.asarray(target, dtype=float)
    sizes = (len(codes), n_samples if goals is None else len(goals))
    if set(sizes) != {n_samples}:
        raise ValueError(
            f"X, Y and target must have one row per example each; got {n_samples} rows "
            f"in X, {sizes[0]} in Y and {'no target' if goals is None else sizes[1]}."
        )
    factors, start = ensemble._factors, 0
    for basis in ensemble._bases(X):
        rows = slice(start, start + basis.shape[0])
        start = rows.stop
        if goals is None:
            best = decode_exactly(factors, ensemble._scores(basis)).score
        else:
            best = goals[rows]
        yield _Part(basis, codes[rows], best, n_samples)


def _summed_terms(
    ensemble: RandomGraphEnsembleClassifier, part: _Part
) -> NDArray[np.float64]:
    """Return what these examples add to the terms; (4, n_trees), as DiversityCurve.

    Means and sums of squared deviations are updated member by member (Welford), which
    loses no digits where scores are large and vary little.
    """
    terms = np.zeros((4, len(ensemble.estimators_)))
    mean = np.zeros(part.codes.shape)
    variances, covariances, squares = np.zeros((3, len(part.codes)))
    for t, member in enumerate(ensemble.estimators_):
        scores = node_scores(member._factors, member._scores(part.basis), part.codes)
        before = scores - mean
        mean += before / (t + 1)
        after = scores - mean
        own = before * after
        variances += own.sum(axis=1)
        others = after.sum(axis=1, keepdims=True) - after  # of every other label
        covariances += (before * others).sum(axis=1)
        squares += (part.target - scores.sum(axis=1)) ** 2
        ensemble_error = (part.target - mean.sum(axis=1)) ** 2
        terms[0, t] = squares.sum() / (t + 1)
        terms[1, t] = ensemble_error.sum()
        terms[2, t] = variances.sum() / (t + 1)
        terms[3, t] = covariances.sum() / (t + 1)
    return terms / part.n_samples


def node_scores(
    factors: FactorGraph, scores: ArrayLike, labels: ArrayLike
) -> NDArray[np.float64]:
    """Share the score of labellings out among the labels (ψ_j of the paper).

    Parameters
    ----------
    factors : FactorGraph
        The factors.
    scores : array-like of shape (n, n_cells)
        Their scores.
    labels : array-like of shape (n, n_labels)
        Codes of a labelling per row of the scores.

    Returns
    -------
    ndarray of shape (n, n_labels)
        Half the score of every edge for each of its ends, and all of a unary factor's
        score for its label: rows sum to the scores of the labellings.

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
