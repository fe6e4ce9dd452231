"""AdaBoost.MH: boosting over example-label pairs with confidence-rated trees."""

from collections.abc import Iterator
from itertools import accumulate
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_scalar

from spanforest.paper.baselines._signs import SignClassifier


class AdaBoostMHClassifier(SignClassifier):
    r"""AdaBoost.MH with real-valued decision trees.

    Every pair of an example i and a label j has a weight :math:`D_t(i, j)`, uniform at
    first. Round t grows one tree over the inputs whose leaves hold a real value per
    label, :math:`h_t(x, j)`, and reweights the pairs:

    .. math:: D_{t+1}(i, j) = D_t(i, j) \exp(-Y_{ij} h_t(x_i, j)) / Z_t,
              \qquad Y_{ij} \in \{-1, +1\}.

    With :math:`W_\pm` the weight of the positive and negative pairs of one label in
    one leaf, the value there is :math:`\frac12 \ln((W_+ + \epsilon) / (W_- +
    \epsilon))`, where :math:`\epsilon` is one over the number of pairs. The score of a
    label is :math:`\sum_t h_t(x, j)`. The share of wrong labels in the training data
    is at most :math:`\prod_t Z_t`, and no :math:`Z_t` is above 1.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of rounds.
    max_leaf_nodes : int, default=100
        Most leaves of a tree, at least 2.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features tried at each split, as in scikit-learn's trees: all of them if None.
        A share such as 0.1 makes data with thousands of features affordable.
    random_state : int, RandomState instance or None, default=None
        Order in which features are tried, which decides between equal splits. The
        first rounds do not depend on `n_estimators`.

    Attributes
    ----------
    classes_ : ndarray
        The two values of an indicator matrix, or the classes of a 1-D target.
    estimators_ : list of DecisionTreeRegressor
        The weak hypotheses: `predict` of member t returns :math:`h_t`.
    normalizers_ : ndarray of shape (n_estimators,)
        :math:`Z_t` of each round.
    outputs_2d_ : bool
        Whether the target was a matrix.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` had string names.

    Notes
    -----
    With these leaf values and no smoothing, :math:`Z_t = 2 \sum \sqrt{W_+ W_-}` over
    leaves and labels. A tree should make it small. scikit-learn's trees weigh
    examples, not pairs, but they can minimise a bound on it. Let
    :math:`S = W_+ - W_-` and :math:`W = W_+ + W_-`. From :math:`\sqrt{1 - u} \le 1 -
    u/2`,

    .. math:: 2 \sqrt{W_+ W_-} = \sqrt{W^2 - S^2} \le W - S^2 / (2 W)
              \le W - S^2 / (2 V),

    for any :math:`V \ge W`. A regression tree of squared error with sample weights
    :math:`v_i = \max_j D(i, j)` and targets :math:`D(i, j) Y_{ij} / v_i` maximises
    exactly :math:`\sum S^2 / V` over leaves and labels, where V sums :math:`v_i` over
    the leaf. No smaller weights keep the bound, and the second inequality is an
    equality where all labels of an example weigh the same, as in round one.

    References
    ----------
    R. E. Schapire and Y. Singer, "BoosTexter: A boosting-based system for text
    categorization", Machine Learning 39, 2000.

    R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated
    predictions", Machine Learning 37, 1999.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from spanforest.paper.baselines import AdaBoostMHClassifier
    >>> X, Y = make_multilabel_classification(n_samples=60, n_classes=3, random_state=0)
    >>> model = AdaBoostMHClassifier(n_estimators=10, random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (60, 3)
    >>> bool((model.predict(X) != Y).mean() <= model.normalizers_.prod())
    True
    """

    # trees compare features in single precision
    _x_checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": np.float32}

    def __init__(
        self,
        n_estimators=100,
        max_leaf_nodes=100,
        max_features=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.random_state = random_state

    def _fit_signs(self, X: Any, signs: NDArray[np.float64]) -> None:
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        check_scalar(self.max_leaf_nodes, "max_leaf_nodes", Integral, min_val=2)
        rng = check_random_state(self.random_state)
        by_feature = X.tocsc() if sparse.issparse(X) else X

        pair_weights = np.full(signs.shape, 1 / signs.size)
        self.estimators_ = []
        normalizers = []
        for _ in range(self.n_estimators):
            tree = DecisionTreeRegressor(
                max_leaf_nodes=self.max_leaf_nodes,
                max_features=self.max_features,
                random_state=rng.randint(np.iinfo(np.int32).max),
            )
            tree.fit(by_feature, *_regression_problem(signs, pair_weights))
            node_values = _node_values(tree.apply(X), tree, signs, pair_weights)
            tree.tree_.value[:, :, 0] = node_values  # predict now returns h_t

            pair_weights *= np.exp(-signs * _hypothesis(tree, X))
            normalizer = pair_weights.sum()
            pair_weights /= normalizer
            self.estimators_.append(tree)
            normalizers.append(normalizer)
        self.normalizers_ = np.array(normalizers)

    def _sign_scores(self, X: Any) -> Any:
        return sum(_hypothesis(tree, X) for tree in self.estimators_)

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the scores after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Yields
        ------
        scores : ndarray
            As `decision_function` returns for the rounds so far.
        """
        X = self._validated(X)
        for scores in accumulate(_hypothesis(tree, X) for tree in self.estimators_):
            yield self._as_fitted(scores)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predictions after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Yields
        ------
        y : ndarray
            As `predict` returns for the rounds so far.
        """
        for scores in self.staged_decision_function(X):
            yield self._decoded(scores)


def _regression_problem(
    signs: NDArray[np.float64], pair_weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return targets and sample weights of the tree that bounds Z (see Notes)."""
    sample_weights = pair_weights.max(axis=1)
    scale = np.maximum(sample_weights, np.finfo(float).tiny)  # weights may underflow
    return signs * pair_weights / scale[:, None], sample_weights


def _node_values(
    leaves: NDArray[np.intp],
    tree: DecisionTreeRegressor,
    signs: NDArray[np.float64],
    pair_weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return confidence-rated values (n_nodes, n_labels); zero at inner nodes."""
    n_samples = len(leaves)
    membership = sparse.csr_array(
        (np.ones(n_samples), (leaves, np.arange(n_samples))),
        shape=(tree.tree_.node_count, n_samples),
    )
    positive = membership @ np.where(signs > 0, pair_weights, 0.0)
    negative = membership @ np.where(signs < 0, pair_weights, 0.0)
    smoothing = 1 / signs.size
    return 0.5 * np.log((positive + smoothing) / (negative + smoothing))


def _hypothesis(tree: DecisionTreeRegressor, X: Any) -> NDArray[np.float64]:
    """Return h_t(x, j), shape (n_samples, n_labels)."""
    return tree.predict(X).reshape(X.shape[0], -1)
