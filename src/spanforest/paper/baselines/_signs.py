"""Targets as signs, and the base of classifiers that predict by the sign of a score.

A target is turned into a matrix of -1 and +1 with a column per binary question: one
per label of an indicator matrix, one for a single target of two classes, and one per
class ("is it this class?") for a single target of more.
"""

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from spanforest._labels import LabelCoding


class SignClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of classifiers that score every label and predict by the sign.

    A subclass implements `_fit_signs(X, signs)` and `_sign_scores(X)`. This class
    validates, and turns scores into values of the caller's target. A positive score
    means the larger value; a score of zero means the smaller one. A column with one
    value in training must get scores of its own sign, so that it is predicted as seen.
    """

    _x_checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": np.float64}

    @abstractmethod
    def _fit_signs(self, X: Any, signs: NDArray[np.float64]) -> None:
        """Learn from validated `X` and `signs` (n_samples, n_columns) of -1, +1."""

    @abstractmethod
    def _sign_scores(self, X: Any) -> NDArray[np.float64]:
        """Return scores (n_samples, n_columns) of validated `X`."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
            Indicator matrix whose entries take at most two values, or a single target
            of any number of classes (1-D or one column).

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, multi_output=True, **self._x_checks)
        if sparse.issparse(y):
            y = y.toarray()
        self.outputs_2d_ = y.ndim == 2
        if self.outputs_2d_ and y.shape[1] != 1:
            self.classes_, signs = _indicator_signs(y)
        else:
            self.classes_, signs = _class_signs(y.ravel())
        self._fit_signs(X, signs)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score every label; positive means that the label is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels)
            For a 1-D target of at most two classes (n_samples,); for a single target of
            more (n_samples, n_classes).
        """
        return self._as_fitted(self._sign_scores(self._validated(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y : ndarray of shape (n_samples, n_labels) or (n_samples,)
            Values of the type and shape of the target of `fit`.
        """
        return self._decoded(self.decision_function(X))

    def _validated(self, X: Any) -> Any:
        """Return `X`, checked against the data of `fit`."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._x_checks)

    def _as_fitted(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores that are 1-D if the target was 1-D with at most two classes."""
        single = not self.outputs_2d_ and scores.shape[1] == 1
        return scores[:, 0] if single else scores

    def _decoded(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return values of the target for scores of the shape of `_as_fitted`."""
        if len(self.classes_) > 2:
            best = scores.argmax(axis=1)
            return self.classes_[best[:, None] if self.outputs_2d_ else best]
        # with one value in all of `y`, both signs stand for it
        codes = np.minimum(scores > 0, len(self.classes_) - 1)
        return self.classes_[codes]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


def constant_columns(signs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which columns of `signs` hold one value."""
    return (signs == signs[0]).all(axis=0)


def _indicator_signs(Y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the values of an indicator matrix, and its entries as signs."""
    classes = np.unique(Y)
    if len(classes) > 2:
        many = [j for j in range(Y.shape[1]) if len(np.unique(Y[:, j])) > 2]
        where = (
            f"column {many[0]} alone has more than two" if many else "columns differ"
        )
        raise ValueError(
            f"y with {Y.shape[1]} columns must be an indicator matrix of two values, "
            f"such as 0 and 1; got {len(classes)} values ({where}). Binarise y, for "
            "example with one column per value."
        )
    return classes, _two_value_signs(Y, classes)


def _class_signs(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the classes of a single target, and its signs.

    More than two classes have a column of signs each.
    """
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) > 2:
        return classes, np.where(y[:, None] == classes, 1.0, -1.0)
    return classes, _two_value_signs(y[:, None], classes)


def _two_value_signs(Y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return +1 where a label is on, as `LabelCoding` defines it, and -1 elsewhere."""
    is_on = LabelCoding([classes], None, True, classes.dtype).is_on[0]
    return np.where(is_on[np.searchsorted(classes, Y)], 1.0, -1.0)
