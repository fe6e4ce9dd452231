"""Multilabel methods of other libraries, made to accept any multilabel data.

The libraries refuse labels with a single value in the training set; these classifiers
accept them. BOOMER and MLkNN are optional. `Thresholded` lets any of them predict more
labels, or fewer.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain


def logistic_regression(C: float) -> LogisticRegression:
    """Set up logistic regression for one label."""
    return LogisticRegression(C=C, max_iter=1000)


class ClassifierChains(ClassifierMixin, BaseEstimator):
    """Chains of logistic regressions in random orders, with averaged probabilities."""

    def __init__(self, C: float = 1.0, n_chains: int = 10, random_state: int = 0):
        self.C = C
        self.n_chains = n_chains
        self.random_state = random_state

    def fit(self, X: Any, Y: NDArray) -> Self:
        """Fit all chains to the labels that vary; predict the others as seen."""
        self.constants_ = _constants(Y)
        varying = Y[:, self.constants_ < 0]
        estimator = logistic_regression(self.C)
        self.chains_ = [
            ClassifierChain(
                estimator, order="random", random_state=self.random_state + t
            ).fit(X, varying)
            for t in range(self.n_chains if varying.shape[1] else 0)
        ]
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the average probability that each label is on."""
        chances = np.tile(self.constants_.astype(np.float64), (X.shape[0], 1))
        if self.chains_:
            of_chains = [chain.predict_proba(X) for chain in self.chains_]
            chances[:, self.constants_ < 0] = np.mean(of_chains, axis=0)
        return chances

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Predict the labels whose average probability is above one half."""
        return (self.predict_proba(X) > 0.5).astype(np.intp)


class Thresholded(ClassifierMixin, BaseEstimator):
    """A classifier that predicts the labels whose score is above a threshold.

    The score is the probability that a label is on, or the `decision_function` if there
    are no probabilities. A label that had one value in training is predicted as seen.
    """

    def __init__(self, estimator: Any, threshold: float):
        self.estimator = estimator
        self.threshold = threshold

    def fit(self, X: Any, Y: NDArray) -> Self:
        """Fit the classifier."""
        self.constants_ = _constants(Y)
        self.estimator_ = clone(self.estimator).fit(X, Y)
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Predict the labels whose score is above the threshold."""
        on = (_scores_on(self.estimator_, X) > self.threshold).astype(np.intp)
        return np.where(self.constants_ < 0, on, self.constants_)


def _scores_on(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Return how strongly each label is on, of shape (n_samples, n_labels)."""
    if not hasattr(estimator, "predict_proba"):
        return estimator.decision_function(X)
    chances = estimator.predict_proba(X)
    if not isinstance(chances, list):
        return chances
    # a forest: an array (n_samples, n_values) per label
    return np.column_stack([of_label[:, -1] for of_label in chances])


def _constants(Y: NDArray) -> NDArray[np.intp]:
    """Return the value of each label that has only one, and -1 for the others."""
    return np.where((Y[0] == Y).all(axis=0), Y[0], -1)


class BoomerRules(ClassifierMixin, BaseEstimator):
    """BOOMER's boosted rules (Rapp et al. 2020), trained in one thread.

    The parameters are BOOMER's own.
    """

    def __init__(
        self,
        max_rules: int = 1000,
        shrinkage: float = 0.3,
        l2_regularization_weight: float = 1.0,
        random_state: int = 0,
    ):
        self.max_rules = max_rules
        self.shrinkage = shrinkage
        self.l2_regularization_weight = l2_regularization_weight
        self.random_state = random_state

    def fit(self, X: Any, Y: NDArray) -> Self:
        """Learn the rules."""
        from mlrl.boosting import BoomerClassifier

        self.rules_ = BoomerClassifier(
            max_rules=self.max_rules,
            shrinkage=self.shrinkage,
            l2_regularization_weight=self.l2_regularization_weight,
            random_state=self.random_state % (2**31 - 1) + 1,  # must be positive
            parallel_rule_refinement="false",
            parallel_statistic_update="false",
            # BOOMER 0.12 writes beyond its arrays if it predicts with one thread
            parallel_prediction="true{num_preferred_threads=2}",
        )
        self.rules_.fit(_single(X), Y.astype(np.uint8))
        return self

    def predict(self, X: Any) -> NDArray:
        """Predict all labels."""
        return as_dense(self.rules_.predict(_single(X))).astype(int)


class NearestNeighbours(ClassifierMixin, BaseEstimator):
    """MLkNN (Zhang & Zhou 2007) with `k` neighbours, of scikit-multilearn-ng."""

    def __init__(self, k: int = 10, s: float = 1.0):
        self.k = k
        self.s = s

    def fit(self, X: Any, Y: NDArray) -> Self:
        """Store the examples."""
        from skmultilearn.adapt import MLkNN

        self.neighbours_ = MLkNN(k=min(self.k, len(Y) - 1), s=self.s)
        self.neighbours_.fit(as_dense(X), Y)
        return self

    def predict(self, X: Any) -> NDArray:
        """Predict all labels."""
        return as_dense(self.neighbours_.predict(as_dense(X))).astype(int)


def as_dense(X: Any) -> NDArray:
    """Return features as a dense array."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _single(X: Any) -> Any:
    """Return features in 32 bits, which is what BOOMER reads."""
    as_matrix = sparse.csr_matrix if sparse.issparse(X) else np.asarray
    return as_matrix(X, dtype=np.float32)
