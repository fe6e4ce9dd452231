"""Predictions of single labels: the most likely ones, logarithms of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._labels import LabelCoding
from spanforest._parameters import check_count

__all__ = ["LabelPredictionsMixin", "Ranking", "needs_probability"]


class _NeedsProbability:
    """A method that exists with ``probability=True`` only.

    It is scikit-learn's ``available_if`` with a message that says what to do.
    """

    def __init__(self, method: Callable[..., Any]):
        self.__doc__ = method.__doc__
        self.method = method

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.method
        if not model.probability:
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
    """Methods that follow from probabilities and decisions of single labels."""

    _coding: LabelCoding
    probability: bool
    decision_function: Any
    predict_proba: Any

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
