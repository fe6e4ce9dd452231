"""Support vector machines per label, alone and in bags, as the paper sets them up."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_scalar

from spanforest._wording import quoted
from spanforest.paper.baselines._signs import SignClassifier, constant_columns


def svm_per_label(
    C: float = 1.0, kernel: Any = "linear", gamma: str | float = "scale"
) -> PerLabelClassifier:
    """Set up the paper's first baseline: one support vector machine per label.

    Parameters
    ----------
    C : float, default=1.0
        Margin softness.
    kernel : str or callable, default="linear"
        Kernel of `sklearn.svm.SVC`, or "precomputed".
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient of `sklearn.svm.SVC`.

    Returns
    -------
    classifier : PerLabelClassifier
        Not fitted; `C` is its parameter `estimator__C`.

    Examples
    --------
    >>> from spanforest.paper.baselines import svm_per_label
    >>> svm_per_label(C=0.5)
    PerLabelClassifier(estimator=SVC(C=0.5, kernel='linear'))
    """
    return PerLabelClassifier(SVC(C=C, kernel=kernel, gamma=gamma))


class PerLabelClassifier(SignClassifier):
    """One copy of a binary classifier per label.

    Unlike `sklearn.multiclass.OneVsRestClassifier`, it accepts labels with one value in
    training. They are predicted as seen, with a score of -1 or +1 and no warning.

    Parameters
    ----------
    estimator : classifier
        Binary classifier with `decision_function` or `predict_proba`. X may be a kernel
        matrix if the classifier accepts one.

    Attributes
    ----------
    estimators_ : list of (classifier or None)
        The fitted copies; None for labels with one value.
    constant_scores_ : ndarray of shape (n_labels,)
        -1 or +1 for labels with one value, otherwise 0.
    classes_ : ndarray
        The two values of an indicator matrix, or the classes of a 1-D target.
    outputs_2d_ : bool
        Whether the target was a matrix.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` had string names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from spanforest.paper.baselines import PerLabelClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, 1], [1, 1], [1, 1]])
    >>> PerLabelClassifier(SVC(kernel="linear")).fit(X, Y).predict([[0.5], [2.5]])
    array([[0, 1],
           [1, 1]])
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def _fit_signs(self, X: Any, signs: NDArray[np.float64]) -> None:
        constant = constant_columns(signs)
        self.constant_scores_ = np.where(constant, signs[0], 0.0)
        self.estimators_ = [
            None if constant[j] else clone(self.estimator).fit(X, signs[:, j])
            for j in range(signs.shape[1])
        ]

    def _sign_scores(self, X: Any) -> NDArray[np.float64]:
        scores = np.tile(self.constant_scores_, (X.shape[0], 1))
        for j, estimator in enumerate(self.estimators_):
            if estimator is not None:
                scores[:, j] = _binary_scores(estimator, X)
        return scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.pairwise = inner.pairwise
        return tags


class BaggedSVMClassifier(SignClassifier):
    """Votes of support vector machines trained on random samples of the examples.

    Each of `n_estimators` samples, drawn without replacement and the same for all
    labels, trains one `sklearn.svm.SVC` per label. The score of a label is the mean
    vote, from -1 to +1; a tie goes to the smaller value. If a sample holds one value of
    a label, it votes for that value. So a label that most samples lack is not
    predicted.

    `sklearn.ensemble.BaggingClassifier` accepts no indicator matrix, no kernel matrix
    and no sample with one class. Here the kernel is computed once for all machines, and
    only their coefficients are stored.

    Parameters
    ----------
    C : float, default=1.0
        Margin softness.
    kernel : str or callable, default="linear"
        "precomputed", a name known to `sklearn.metrics.pairwise.pairwise_kernels`, or a
        function of two data matrices that returns their kernel matrix.
    gamma : {"scale"} or float, default="scale"
        Kernel coefficient; "scale" is one over the number of features times the
        variance of X, as in `sklearn.svm.SVC`.
    n_estimators : int, default=60
        Number of samples drawn. The first ones do not depend on it.
    max_samples : float, default=0.4
        Share of the examples in one sample.
    random_state : int, RandomState instance or None, default=None
        Which examples are drawn.

    Attributes
    ----------
    samples_ : ndarray of shape (n_estimators, sample_size)
        Rows of X in each sample.
    dual_coef_ : ndarray of shape (n_estimators, sample_size, n_labels)
        Coefficients of the machines.
    intercept_ : ndarray of shape (n_estimators, n_labels)
        Their intercepts.
    X_fit_ : {ndarray, sparse matrix} or None
        The training data; None for a precomputed kernel.
    gamma_ : float
        The kernel coefficient in use.
    classes_ : ndarray
        The two values of an indicator matrix, or the classes of a 1-D target.
    outputs_2d_ : bool
        Whether the target was a matrix.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` had string names.

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24, 1996.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from spanforest.paper.baselines import BaggedSVMClassifier
    >>> X, Y = make_multilabel_classification(n_samples=60, n_classes=3, random_state=0)
    >>> model = BaggedSVMClassifier(n_estimators=5, random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (60, 3)
    """

    def __init__(
        self,
        C=1.0,
        kernel="linear",
        gamma="scale",
        n_estimators=60,
        max_samples=0.4,
        random_state=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.random_state = random_state

    def _fit_signs(self, X: Any, signs: NDArray[np.float64]) -> None:
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        check_scalar(
            self.max_samples,
            "max_samples",
            Real,
            min_val=0,
            max_val=1,
            include_boundaries="right",
        )
        precomputed = self._is_precomputed()
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "A precomputed kernel of the training data must be square; got shape "
                f"{X.shape}. Pass one row and one column per example."
            )
        rng = check_random_state(self.random_state)
        n_samples = X.shape[0]
        size = max(1, round(self.max_samples * n_samples))

        self.gamma_ = _kernel_coefficient(X, self.gamma)
        self.X_fit_ = None if precomputed else X
        self.samples_ = np.array(
            [rng.permutation(n_samples)[:size] for _ in range(self.n_estimators)]
        )
        K = self._kernel_matrix(X)
        machines = [
            _machines_per_label(K[np.ix_(rows, rows)], signs[rows], self.C)
            for rows in self.samples_
        ]
        self.dual_coef_ = np.array([machine.dual_coef for machine in machines])
        self.intercept_ = np.array([machine.intercept for machine in machines])

    def _sign_scores(self, X: Any) -> NDArray[np.float64]:
        K = self._kernel_matrix(X)
        members = zip(self.samples_, self.dual_coef_, self.intercept_, strict=True)
        votes = sum(
            np.sign(K[:, rows] @ dual_coef + intercept)
            for rows, dual_coef, intercept in members
        )
        return votes / len(self.samples_)

    def _kernel_matrix(self, X: Any) -> Any:
        """Return the kernel of the rows of `X` with the training data."""
        if self._is_precomputed():
            return X
        if callable(self.kernel):
            return np.asarray(self.kernel(X, self.X_fit_), dtype=float)
        return pairwise_kernels(
            X, self.X_fit_, metric=self.kernel, filter_params=True, gamma=self.gamma_
        )

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


class _Machines(NamedTuple):
    dual_coef: NDArray[np.float64]  # (n_samples, n_labels)
    intercept: NDArray[np.float64]  # (n_labels,)


def _machines_per_label(K: Any, signs: NDArray[np.float64], C: float) -> _Machines:
    """Train a machine per column of `signs`; a constant column is its intercept."""
    constant = constant_columns(signs)
    dual_coef = np.zeros(signs.shape)
    intercept = np.where(constant, signs[0], 0.0)
    for j in np.flatnonzero(~constant):
        machine = SVC(C=C, kernel="precomputed").fit(K, signs[:, j])
        dual_coef[machine.support_, j] = machine.dual_coef_[0]
        intercept[j] = machine.intercept_[0]
    return _Machines(dual_coef, intercept)


def _kernel_coefficient(X: Any, gamma: str | float) -> float:
    if not isinstance(gamma, str):
        check_scalar(gamma, "gamma", Real, min_val=0)
        return float(gamma)
    if gamma != "scale":
        raise ValueError(
            f"gamma must be 'scale' or a number; got {quoted(gamma)}. Pass one of "
            "these."
        )
    n_entries = X.shape[0] * X.shape[1]
    mean = X.sum() / n_entries
    squares = X.multiply(X) if hasattr(X, "multiply") else X * X
    variance = squares.sum() / n_entries - mean**2
    return float(1 / (X.shape[1] * variance)) if variance > 0 else 1.0


def _binary_scores(estimator: Any, X: Any) -> NDArray[np.float64]:
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return 2 * estimator.predict_proba(X)[:, 1] - 1
