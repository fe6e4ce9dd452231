"""What users would pick today, set up to take any multilabel data.

Labels that have one value in a training fold, which these methods refuse, are an
ordinary case here. BOOMER and MLkNN are used where they are installed.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from spanforest.paper.baselines import PerLabelClassifier


def logistic_regression(C: float) -> Any:
    """Set up logistic regression per label."""
    return PerLabelClassifier(LogisticRegression(C=C, max_iter=1000))


def classifier_chains(C: float, n_chains: int, seed: int) -> "ClassifierChains":
    """Set up chains of logistic regressions."""
    return ClassifierChains(LogisticRegression(C=C, max_iter=1000), n_chains, seed)


class ClassifierChains(ClassifierMixin, BaseEstimator):
    """Chains over the labels in random orders, whose probabilities are averaged.

    Parameters
    ----------
    estimator : classifier with `predict_proba`
        Learns one label from the features and the labels before it.
    n_chains : int, default=10
        Number of orders.
    random_state : int, default=0
        Draws the orders.
    """

    def __init__(self, estimator: Any, n_chains: int = 10, random_state: int = 0):
        self.estimator = estimator
        self.n_chains = n_chains
        self.random_state = random_state

    def fit(self, X: Any, Y: NDArray) -> Self:
        """Fit all chains to the labels that vary; the others are kept as seen."""
        self.constants_ = np.where((Y[0] == Y).all(axis=0), Y[0], -1)
        varying = Y[:, self.constants_ < 0]
        self.chains_ = []
        if varying.shape[1]:
            self.chains_ = [
                ClassifierChain(
                    self.estimator, order="random", random_state=self.random_state + t
                ).fit(X, varying)
                for t in range(self.n_chains)
            ]
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Predict the labels whose average probability is above one half."""
        prediction = np.tile(self.constants_, (X.shape[0], 1))
        if self.chains_:
            chances = np.mean(
                [chain.predict_proba(X) for chain in self.chains_], axis=0
            )
            prediction[:, self.constants_ < 0] = chances > 0.5
        return prediction


class BoomerRules(ClassifierMixin, BaseEstimator):
    """BOOMER's boosted rules (Rapp et al. 2020), learned in one thread.

    Parameters
    ----------
    max_rules : int, default=1000
        Number of rules.
    shrinkage : float, default=0.3
        Weight of a new rule.
    l2_regularization_weight : float, default=1.0
        Pulls what a rule adds to a score towards zero.
    random_state : int, default=0
        Must be positive for BOOMER, so one is added.
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
            random_state=self.random_state % (2**31 - 1) + 1,
            parallel_rule_refinement="false",
            parallel_statistic_update="false",
            # with one thread BOOMER 0.12 writes beyond its arrays when it predicts
            parallel_prediction="true{num_preferred_threads=2}",
        )
        self.rules_.fit(_single(X), Y.astype(np.uint8))
        return self

    def predict(self, X: Any) -> NDArray:
        """Predict all labels."""
        return _dense(self.rules_.predict(_single(X))).astype(int)


class NearestNeighbours(ClassifierMixin, BaseEstimator):
    """MLkNN (Zhang & Zhou 2007) of scikit-multilearn-ng.

    Parameters
    ----------
    k : int, default=10
        Number of neighbours.
    s : float, default=1.0
        Smoothing.
    """

    def __init__(self, k: int = 10, s: float = 1.0):
        self.k = k
        self.s = s

    def fit(self, X: Any, Y: NDArray) -> Self:
        """Keep the examples."""
        from skmultilearn.adapt import MLkNN

        self.neighbours_ = MLkNN(k=min(self.k, len(Y) - 1), s=self.s)
        self.neighbours_.fit(_dense(X), Y)
        return self

    def predict(self, X: Any) -> NDArray:
        """Predict all labels."""
        return _dense(self.neighbours_.predict(_dense(X))).astype(int)


def _dense(X: Any) -> NDArray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _single(X: Any) -> Any:
    """BOOMER reads 32-bit features."""
    return (
        sparse.csr_matrix(X, dtype=np.float32)
        if sparse.issparse(X)
        else np.asarray(X, dtype=np.float32)
    )
