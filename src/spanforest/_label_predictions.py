"""Predictions of single labels: probabilities, decisions that follow, and rankings."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from spanforest._labels import LabelCoding
from spanforest._parameters import check_count, check_option
from spanforest.calibration import Calibration
from spanforest.decisions import (
    expected_f1_decisions,
    hamming_decisions,
    threshold_decisions,
)

__all__ = ["LabelPredictionsMixin", "Ranking", "needs_probability"]


class _NeedsProbability:
    """A method that exists with ``probability=True`` only.

    A search that has chosen a threshold has an ensemble with probabilities too. It is
    scikit-learn's ``available_if`` with a message that says what to do.
    """

    def __init__(self, method: Callable[..., Any]):
        self.__doc__ = method.__doc__
        self.method = method

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.method
        final = getattr(model, "best_estimator_", model)  # of a search
        if not final.probability:
            raise AttributeError(
                f"{type(model).__name__} has no {self.method.__name__} with "
                "probability=False. Set probability=True and call 'fit' again."
            )
        return MethodType(self.method, model)


def needs_probability(method: Callable[..., Any]) -> Any:
    """Make a method available with ``probability=True`` only."""
    return _NeedsProbability(method)


class Ranking(NamedTuple):
    """Labels in the order of their strengths, the strongest first."""

    labels: NDArray[Any]  # (n_samples, k), names of labels; numbers if they have none
    strengths: NDArray[np.float64]  # (n_samples, k), probabilities or decisions


class LabelPredictionsMixin:
    """Methods about single labels: their probabilities, and what follows from them.

    The classifier computes margins; here they become probabilities and decisions.
    """

    _coding: LabelCoding
    _by_label: Any  # turns rows into one array per label
    _calibrated_margins: Any  # margins of rows, of the kind that was calibrated
    _leaf_shares: Any  # probabilities of a forest, if `probability` is one
    _read_new_examples: Any
    calibration_: Calibration
    probability: Any
    decision_function: Any

    @needs_probability
    def predict_proba(self, X: Any) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Return the probability of each label, calibrated on held-out folds.

        It grows with the `decision_function` of the label (with MVE, with that of AMM),
        by a sigmoid fitted to examples that were left out of training. With a
        `ForestKernel` as `probability` it is the mean of that and of what the forest
        says. There is one probability for each label, none for the label set. Needs
        ``probability=True``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The probability that a label is on, that is, has the higher of its values.
            If some label has more than two values: a list with an array (n_samples,
            n_values) per label. For 1-D `y`: (n_samples, n_classes).

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> from spanforest.datasets import make_circle
        >>> X, Y = make_circle(100, random_state=0)
        >>> clf = RandomGraphEnsembleClassifier(5, random_state=0, probability=True)
        >>> clf.fit(X, Y).predict_proba(X).shape == Y.shape
        True
        """
        P = self._probabilities(X)
        if self._coding.is_vector:
            return P[0]
        if self._coding.n_values.max() > 2:
            return P
        return self._probability_on(P)

    @needs_probability
    def predict_for(
        self, X: Any, measure: str = "hamming", threshold: Any = None
    ) -> NDArray[Any]:
        """Predict the label sets that are best on average for a measure.

        The choice rests on the probabilities of the labels, not on the offset.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        measure : {"hamming", "f1"}, default="hamming"
            ``"hamming"``: most labels right. ``"f1"``: highest F1 of the label set, if
            labels are independent given the example; it predicts more labels, and needs
            labels with two values.
        threshold : float or list of float, optional
            Predict the labels whose probability is larger than this number between 0
            and 1, or than the number of the label, whatever the measure is. It needs
            labels with two values.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,)
            Labels, of the form and type of `y`; a CSR array if `y` was sparse.

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> from spanforest.datasets import make_circle
        >>> X, Y = make_circle(100, random_state=0)
        >>> clf = RandomGraphEnsembleClassifier(5, random_state=0, probability=True)
        >>> clf.fit(X, Y).predict_for(X, "f1").shape == Y.shape
        True
        """
        check_option("measure", measure, ("hamming", "f1"))
        P = self._probabilities(X)
        if measure == "hamming" and threshold is None:
            return self._coding.to_output(hamming_decisions(P))
        n_values = self._coding.n_values
        if n_values.max() > 2:
            j = int(n_values.argmax())
            what = "F1 is" if threshold is None else "a threshold is"
            raise ValueError(
                f"{what} defined for labels with two values; label "
                f"{j} has {n_values[j]}. Use measure='hamming'."
            )
        on = self._probability_on(P)
        if threshold is None:
            codes = expected_f1_decisions(on)
        else:
            codes = threshold_decisions(on, threshold)
        return self._coding.to_output(np.minimum(codes, n_values - 1))

    def _probability_on(self, P: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the probability of the higher value of labels with two values.

        A label that had one value is on if that is 1, as in `decision_function`.
        """
        columns = [
            of_label[:, 1] if len(is_on) == 2 else np.full(len(of_label), is_on[0])
            for of_label, is_on in zip(P, self._coding.is_on, strict=True)
        ]
        return np.column_stack(columns).astype(np.float64)

    def _log_odds_above(self, X: Any, threshold: Any) -> NDArray[np.float64]:
        """Return the log odds of labels minus those of the threshold.

        They are positive where the probability is larger than the threshold.
        """
        on = self._probability_on(self._probabilities(X))
        smallest = np.finfo(np.float64).eps
        odds, limit = (
            logit(np.clip(p, smallest, 1 - smallest))
            for p in (on, np.asarray(threshold, dtype=np.float64))
        )
        above = odds - limit
        return above[:, 0] if self._coding.is_vector else above

    def _probabilities(self, X: Any) -> list[NDArray[np.float64]]:
        """Return the probability of each value of each label."""
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                f"this {type(self).__name__} was fitted with probability=False. Call "
                "'fit' again."
            )
        calibrated = self._by_label(
            X,
            lambda rows: self.calibration_.probabilities(
                self._calibrated_margins(rows)
            ),
        )
        if "_leaf_shares" not in vars(self):
            return calibrated
        shares = self._leaf_shares.of(self._read_new_examples(X))
        return [(p + share) / 2 for p, share in zip(calibrated, shares, strict=True)]

    def _margins_to_decisions(
        self, margins: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Turn how well each value of each label does into a decision function."""
        if self._coding.is_vector and self._coding.n_values[0] > 2:
            return margins[0]
        columns = []
        for j, (is_on, margin) in enumerate(
            zip(self._coding.is_on, margins, strict=True)
        ):
            if len(is_on) > 2:
                raise ValueError(
                    f"decision_function is defined for labels with two values; label "
                    f"{j} has {len(is_on)}. Use predict."
                )
            if len(is_on) == 2:
                columns.append(margin[:, 1] - margin[:, 0])
            else:  # never or always seen: no score, only the sign that fits predict
                columns.append(np.full(len(margin), 1.0 if is_on[0] else -1.0))
        return columns[0] if self._coding.is_vector else np.column_stack(columns)

    def predict_ranking(self, X: Any, k: int = 5) -> Ranking:
        """Return the k most likely labels of every example, the most likely one first.

        Labels are ranked one by one. Those at the top need not form a likely label set;
        `predict_topk` returns whole label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        k : int, default=5
            How many labels; all if there are fewer.

        Returns
        -------
        Ranking
            `labels`: names of labels, or their numbers if `y` had no names; for 1-D
            `y`, its classes. `strengths`: probabilities with ``probability=True``, else
            values of the `decision_function`. Both have shape (n_samples, k). Of equal
            strengths the first label comes first.

        Examples
        --------
        >>> from spanforest import MMCRFClassifier
        >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> Y = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]
        >>> clf = MMCRFClassifier(C=10, random_state=0).fit(X, Y)
        >>> clf.predict_ranking([[0, 1]], k=3).labels.tolist()
        [[1, 2, 0]]
        """
        k = check_count("k", k)
        strength = self.predict_proba if self.probability else self.decision_function
        strengths = strength(X)
        if isinstance(strengths, list):
            raise ValueError(
                "predict_ranking ranks labels with two values; some labels have more. "
                "predict_topk ranks whole label sets."
            )
        if strengths.ndim == 1:
            strengths = np.column_stack([-strengths, strengths])
        coding = self._coding
        names = coding.classes[0] if coding.is_vector else coding.names
        if names is None:
            names = np.arange(len(coding.classes))
        order = np.argsort(-strengths, axis=1, kind="stable")[:, :k]
        return Ranking(names[order], np.take_along_axis(strengths, order, axis=1))

    @needs_probability
    def predict_log_proba(
        self, X: Any
    ) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.

        Returns
        -------
        ndarray or list of ndarray
            Of the form of `predict_proba`.
        """
        P = self.predict_proba(X)
        with np.errstate(divide="ignore"):  # of labels that never or always occur
            return list(map(np.log, P)) if isinstance(P, list) else np.log(P)
