"""Folds for multilabel data, stratified by the number of positive labels."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state, indexable

__all__ = ["LabelCardinalityKFold"]


class LabelCardinalityKFold(BaseCrossValidator):
    """K folds whose examples have similar numbers of positive labels.

    The scheme of the paper's section "Parameter Selection and Evaluation Measures":
    examples with the same number of positive labels form a class, and each class is
    split at random over the folds. An entry of `y` is positive if it is greater than
    zero, so `y` may hold indicators, signs (-1, 1) or class codes.

    * The test folds partition the examples.
    * The sizes of two folds differ by at most one.
    * The number of examples of one class in two folds differs by at most one.
    * `y` may be dense, sparse or a DataFrame, and a label may have a single positive
      example or none.
    * An integer `random_state` gives the same folds at every call.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to split each class at random, or in the order of the examples.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling. Pass an int for the same folds at every call.

    See Also
    --------
    sklearn.model_selection.StratifiedKFold : The same for a single label.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.model_selection import LabelCardinalityKFold
    >>> Y = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [0, 0]])
    >>> folds = LabelCardinalityKFold(n_splits=2, random_state=0)
    >>> for train, test in folds.split(np.zeros((6, 1)), Y):
    ...     print(sorted(Y[test].sum(axis=1).tolist()))
    [0, 1, 2]
    [0, 1, 2]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state=None):
        if n_splits != int(n_splits) or n_splits < 2:
            raise ValueError(
                f"n_splits must be an integer of at least 2; got {n_splits}."
            )
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"shuffle must be True or False; got {shuffle!r}.")
        if not shuffle and random_state is not None:
            raise ValueError(
                "random_state has no effect without shuffling. Leave it at None, or "
                "pass shuffle=True."
            )
        self.n_splits = int(n_splits)
        self.shuffle = bool(shuffle)
        self.random_state = random_state

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """Return the number of folds; the arguments are not used."""
        return self.n_splits

    def split(
        self, X, y=None, groups=None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the training rows and the test rows of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its length is used.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels) or (n_samples,)
            The labels, as numbers.
        groups : None
            Not used; accepted for compatibility with scikit-learn.

        Yields
        ------
        train, test : ndarray of int
            Row numbers in ascending order.
        """
        if y is None:
            raise ValueError(
                "y must hold the labels, which define the folds; got None."
            )
        X, y = indexable(X, y)
        cardinality = _n_positive(y)
        n_samples = len(cardinality)
        if n_samples < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} folds need at least as many examples; got "
                f"{n_samples}. Pass a smaller n_splits."
            )

        # Examples are dealt out class by class. Each class goes on at the fold where
        # the last one stopped: if every class started at the first fold, that fold
        # would get one more example per class.
        fold_names = np.arange(self.n_splits)
        order = np.arange(n_samples)
        if self.shuffle:
            rng = check_random_state(self.random_state)
            rng.shuffle(fold_names)  # no fold is always the larger one
            rng.shuffle(order)
        order = order[np.argsort(cardinality[order], kind="stable")]
        fold = np.empty(n_samples, dtype=np.intp)
        fold[order] = fold_names[np.arange(n_samples) % self.n_splits]
        for name in range(self.n_splits):
            yield np.flatnonzero(fold != name), np.flatnonzero(fold == name)


def _n_positive(y) -> NDArray[np.int_]:
    """Count the positive labels of every example."""
    if sparse.issparse(y):
        return np.asarray((y > 0).sum(axis=1), dtype=int).ravel()
    y = np.asarray(y)
    if y.dtype.kind == "O":
        y = _as_numbers(y)
    if y.dtype.kind not in "biuf" or y.ndim not in (1, 2):
        raise ValueError(
            "y must be a vector or matrix of numbers; got an array of type "
            f"{y.dtype} and shape {y.shape}. Encode the labels first, for example "
            "with sklearn.preprocessing.MultiLabelBinarizer."
        )
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError("y must not have missing values; drop or fill these rows.")
    return (y > 0).sum(axis=1) if y.ndim == 2 else (y > 0).astype(int)


def _as_numbers(y: NDArray[np.object_]) -> NDArray:
    """Turn the objects of a mixed DataFrame into numbers, if all are numbers."""
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        return y
