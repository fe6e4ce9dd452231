"""Folds and splits of multilabel data, stratified by labels or by their number."""

from abc import abstractmethod
from collections.abc import Iterator
from math import ceil
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state, indexable

from spanforest._labels import read_labels
from spanforest._wording import quoted

__all__ = ["IterativeLabelKFold", "LabelCardinalityKFold", "train_test_split_labels"]


class _LabelKFold(BaseCrossValidator):
    """Base of the splitters: a subclass deals the examples out in `_deal`."""

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state=None):
        if n_splits != int(n_splits) or n_splits < 2:
            raise ValueError(
                f"n_splits must be an integer of at least 2; got {n_splits}."
            )
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"shuffle must be True or False; got {quoted(shuffle)}.")
        if not shuffle and random_state is not None:
            raise ValueError(
                "random_state has no effect without shuffling. Leave it at None, or "
                "pass shuffle=True."
            )
        self.n_splits = int(n_splits)
        self.shuffle = bool(shuffle)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds; the arguments are not used."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the training rows and the test rows of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its length is used.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels) or (n_samples,)
            The labels.
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
        rng = check_random_state(self.random_state) if self.shuffle else None
        fold = self._deal(y, rng)
        for name in range(self.n_splits):
            yield np.flatnonzero(fold != name), np.flatnonzero(fold == name)

    @abstractmethod
    def _deal(self, y: Any, rng: np.random.RandomState | None) -> NDArray[np.intp]:
        """Return the fold of every example; without `rng`, in a fixed order."""

    def _check_size(self, n_samples: int) -> None:
        if n_samples < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} folds need at least as many examples; got "
                f"{n_samples}. Pass a smaller n_splits."
            )


class LabelCardinalityKFold(_LabelKFold):
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

    def _deal(self, y: Any, rng: np.random.RandomState | None) -> NDArray[np.intp]:
        cardinality = _n_positive(y)
        n_samples = len(cardinality)
        self._check_size(n_samples)
        # Examples are dealt out class by class. Each class goes on at the fold where
        # the last one stopped: if every class started at the first fold, that fold
        # would get one more example per class.
        fold_names = np.arange(self.n_splits)
        order = np.arange(n_samples)
        if rng is not None:
            rng.shuffle(fold_names)  # no fold is always the larger one
            rng.shuffle(order)
        order = order[np.argsort(cardinality[order], kind="stable")]
        fold = np.empty(n_samples, dtype=np.intp)
        fold[order] = fold_names[np.arange(n_samples) % self.n_splits]
        return fold


class IterativeLabelKFold(_LabelKFold):
    """K folds in which every label is on about equally often.

    Iterative stratification (Sechidis, Tsoumakas & Vlahavas, 2011): the examples of the
    label with the fewest examples left are dealt out first, each to the fold that still
    needs most examples of that label. Then comes the label that has the fewest examples
    left now, and so on.

    * The test folds partition the examples.
    * The sizes of two folds differ by at most one.
    * The number of examples of the rarest label in two folds differs by at most one;
      if there is one label only, so does the number of examples of every value.
    * Of a label with more than two values, all but the lowest count as labels of their
      own. So does not being observed (NaN, None): gaps are spread as labels are.
    * `y` may be dense, sparse or a DataFrame, and a label may have a single example.
    * An integer `random_state` gives the same folds at every call.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to deal out the examples of a label at random, or in their order.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling. Pass an int for the same folds at every call.

    See Also
    --------
    LabelCardinalityKFold : Folds that agree in the number of positive labels.
    train_test_split_labels : A single split of this kind.

    References
    ----------
    Sechidis, Tsoumakas & Vlahavas, "On the stratification of multi-label data",
    ECML PKDD 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.model_selection import IterativeLabelKFold
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 1]])
    >>> folds = IterativeLabelKFold(n_splits=2, random_state=0)
    >>> for train, test in folds.split(np.zeros((6, 1)), Y):
    ...     print(Y[test].sum(axis=0))
    [2 2]
    [2 2]
    """

    def _deal(self, y: Any, rng: np.random.RandomState | None) -> NDArray[np.intp]:
        columns = _label_columns(y)
        n_samples = columns.shape[0]
        self._check_size(n_samples)
        room = np.full(self.n_splits, n_samples // self.n_splits)
        larger = np.arange(self.n_splits) if rng is None else rng.permutation(len(room))
        room[larger[: n_samples % self.n_splits]] += 1
        # equal shares, although sizes may differ by one: so no fold gets more of all
        shares = np.full(self.n_splits, 1 / self.n_splits)
        return deal_out(columns, room, shares, rng)


def train_test_split_labels(
    X: Any,
    Y: Any,
    *arrays: Any,
    test_size: float = 0.25,
    random_state: Any = None,
) -> list[Any]:
    """Split data into two subsets in which every label is on about equally often.

    It is `sklearn.model_selection.train_test_split` with the iterative stratification
    of `IterativeLabelKFold`.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        Examples.
    Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
        Their labels, of any values; NaN and None are labels that were not observed.
    *arrays : array-like
        Other data with a row per example, such as weights.
    test_size : float or int, default=0.25
        The share of examples in the test subset, rounded up; or their number.
    random_state : int, RandomState instance or None, default=None
        Draws the subsets. Pass an int for the same subsets at every call.

    Returns
    -------
    list
        ``[X_train, X_test, Y_train, Y_test, ...]``: two subsets of each array, in the
        order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.model_selection import train_test_split_labels
    >>> X, Y = np.arange(8)[:, None], np.array([[1, 0], [0, 1]] * 4)
    >>> subsets = train_test_split_labels(X, Y, test_size=0.5, random_state=0)
    >>> X_train, X_test, Y_train, Y_test = subsets
    >>> Y_test.sum(axis=0)
    array([2, 2])
    """
    data = indexable(X, Y, *arrays)
    columns = _label_columns(Y)
    n_samples = columns.shape[0]
    n_test = _n_test(test_size, n_samples)
    rng = check_random_state(random_state)
    room = np.array([n_samples - n_test, n_test])
    subset = deal_out(columns, room, room / n_samples, rng)
    rows = [np.flatnonzero(subset == name) for name in (0, 1)]
    return [_safe_indexing(array, own) for array in data for own in rows]


def _n_test(test_size: Any, n_samples: int) -> int:
    is_count = isinstance(test_size, Integral) and not isinstance(test_size, bool)
    is_share = isinstance(test_size, Real) and 0.0 < float(test_size) < 1.0
    if not is_count and not is_share:
        raise ValueError(
            "test_size must be a share between 0 and 1, or a number of examples; got "
            f"{quoted(test_size)}."
        )
    n_test = int(test_size) if is_count else ceil(test_size * n_samples)
    if not 0 < n_test < n_samples:
        raise ValueError(
            f"test_size={test_size} leaves no example for one of the two subsets of "
            f"{n_samples}. Pass another size."
        )
    return n_test


def deal_out(
    columns: sparse.csr_array,
    room: NDArray[np.int_],
    shares: NDArray[np.float64],
    rng: np.random.RandomState | None,
) -> NDArray[np.intp]:
    """Deal examples out to subsets of given sizes by iterative stratification.

    Parameters
    ----------
    columns : CSR array of shape (n_samples, n_columns)
        What should be spread evenly: ones where an example has it.
    room : ndarray of shape (n_subsets,)
        The size of each subset.
    shares : ndarray of shape (n_subsets,)
        The share of each column that each subset should get; they sum to 1.
    rng : RandomState or None
        Breaks ties; without it the first example and the first subset come first.

    Returns
    -------
    ndarray of shape (n_samples,)
        The subset of every example.
    """
    n_samples, room = columns.shape[0], room.copy()
    by_column = columns.tocsc()
    left = np.diff(by_column.indptr)  # examples of each column that have no subset yet
    wanted = np.outer(shares, left)
    subset = np.full(n_samples, -1, dtype=np.intp)
    while left.any():
        rarest = int(np.where(left > 0, left, n_samples + 1).argmin())
        rows = by_column.indices[
            by_column.indptr[rarest] : by_column.indptr[rarest + 1]
        ]
        rows = rows[subset[rows] < 0]
        for i in rows if rng is None else rng.permutation(rows):
            subset[i] = chosen = _neediest(wanted[:, rarest], room, rng)
            own = columns.indices[columns.indptr[i] : columns.indptr[i + 1]]
            left[own] -= 1
            wanted[chosen, own] -= 1
            room[chosen] -= 1
    without = np.repeat(np.arange(len(room)), room)  # for examples of no column
    subset[subset < 0] = without if rng is None else rng.permutation(without)
    return subset


def _neediest(
    wanted: NDArray[np.float64],
    room: NDArray[np.int_],
    rng: np.random.RandomState | None,
) -> int:
    """Return the subset that needs most, then that with most room, then by chance."""
    best = np.flatnonzero(room > 0)
    for need in (wanted, room):
        # numbers that differ by rounding errors are equal
        best = best[need[best] >= need[best].max() - 1e-9]
    return int(best[0] if rng is None else rng.choice(best))


def _label_columns(y: Any) -> sparse.csr_array:
    """Return a column of ones and zeros for everything that should be spread evenly."""
    codes, coding = read_labels(y, allow_missing=True)
    columns = []
    for column, is_on in zip(codes.T, coding.is_on, strict=True):
        columns += [column == code for code in np.flatnonzero(is_on)]
        if (column < 0).any():
            columns.append(column < 0)
    if not columns:
        return sparse.csr_array((len(codes), 0))
    return sparse.csr_array(np.column_stack(columns))


def _n_positive(y: Any) -> NDArray[np.int_]:
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
