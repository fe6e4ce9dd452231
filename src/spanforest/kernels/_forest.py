"""The forest kernel: two examples are alike if trees put them into the same leaves.

The trees are scikit-learn's. They are grown on all labels at once, and then only what
leads examples to leaves is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from spanforest import _compiled
from spanforest._parameters import check_count, check_option
from spanforest._wording import quoted

KINDS = ("extra", "random", "boosted")
# Boosted trees: chosen on one half of fifty tables, measured on the other; see the page
# on kernels. Rates of 0.1 to 0.3 and 4 to 16 leaves made little difference.
BOOSTED_LEAVES = 8
RATE = 0.2  # the part of a tree's prediction that the next trees need not explain
DRAWN_SHARE = 0.7  # of the examples, for each tree


class ForestKernel(BaseEstimator):
    """Kernel of a forest: the share of trees in which two examples share a leaf.

    A classifier with this kernel first grows a forest on its training examples and all
    of their labels at once. Then k(x, y) is the share of trees in which x and y fall
    into the same leaf. Features are used as they are: their scale does not matter. NaN
    and columns of categories are accepted.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees. Tree p does not depend on it.
    min_samples_leaf : int, default=3
        Smallest number of training examples in a leaf. Larger leaves make more examples
        alike. Where examples have weights, the sum of their weights in a leaf; weights
        that are smaller than 1 on average count as if they were 1 on average.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        How many features a split chooses from: the root or the binary logarithm of
        their number, a number, a share of them, or all with None.
    kind : {"extra", "random", "boosted"}, default="extra"
        ``"extra"``: thresholds are drawn at random (extremely randomised trees).
        ``"random"``: every tree sees a random sample of the examples and takes the best
        thresholds (random forest). ``"boosted"``: small trees, one after the other,
        each on what those before it left unexplained (gradient boosting of squared
        errors).
    categories : sequence of str or int, optional
        Names or positions of columns with categories, which may hold text. Columns of
        pandas' type ``category`` are always read so. A category that was not seen in
        training counts as missing.
    max_leaf_nodes : int, optional
        Largest number of leaves of a tree. By default there is no limit, but for
        boosted trees, which have at most 8.

    Notes
    -----
    The trees minimise the variance of label indicators, which for labels with two
    values is the Gini impurity, averaged over the labels. A label that is missing in
    some examples has its mean there.

    Categories are numbered in their order (that of pandas, else sorted), and trees
    split the numbers. Missing values go left or right, as it was best or as chance had
    it in training. If a feature had no missing values at a node, they go to the child
    with more examples.

    A boosted tree sees 70 percent of the examples, drawn at random, and the next trees
    are grown on the labels minus a fifth of its predictions.

    The forest is seeded by the classifier's `random_state`. The members of an ensemble
    share it.

    Examples
    --------
    >>> from spanforest import RandomGraphEnsembleClassifier
    >>> from spanforest.kernels import ForestKernel
    >>> X = [[0.0, 5.0], [1.0, float("nan")], [2.0, 1.0], [3.0, 1.0]]
    >>> Y = [[0, 0], [0, 0], [1, 1], [1, 1]]
    >>> kernel = ForestKernel(20, min_samples_leaf=1)
    >>> clf = RandomGraphEnsembleClassifier(3, kernel=kernel, C=10, random_state=0)
    >>> clf.fit(X, Y).predict([[0.5, float("nan")], [2.5, 1.0]])
    array([[0, 0],
           [1, 1]])
    """

    def __init__(
        self,
        n_estimators=200,
        min_samples_leaf=3,
        max_features="sqrt",
        kind="extra",
        categories=None,
        max_leaf_nodes=None,
    ):
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.kind = kind
        self.categories = categories
        self.max_leaf_nodes = max_leaf_nodes

    __hash__ = None  # type: ignore[assignment]  # parameters may change

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return _comparable(self) == _comparable(other)

    def check(self) -> None:
        """Refuse parameters that are out of range.

        Examples
        --------
        >>> ForestKernel(kind="extra").check()
        """
        check_count("n_estimators of a ForestKernel", self.n_estimators)
        check_count("min_samples_leaf of a ForestKernel", self.min_samples_leaf)
        check_option("kind of a ForestKernel", self.kind, KINDS)
        if not _is_share_of_features(self.max_features):
            raise ValueError(
                "max_features of a ForestKernel must be 'sqrt', 'log2', a whole number "
                "of at least 1, a share greater than 0 and at most 1, or None; got "
                f"{quoted(self.max_features)}."
            )
        most_leaves = self.max_leaf_nodes
        if most_leaves is not None and not (
            isinstance(most_leaves, Integral) and int(most_leaves) >= 2
        ):
            raise ValueError(
                "max_leaf_nodes of a ForestKernel must be a whole number of at least "
                f"2, or None; got {quoted(most_leaves)}."
            )
        if isinstance(self.categories, str):
            raise ValueError(
                "categories of a ForestKernel must be a list of columns, such as "
                f"[{quoted(self.categories)}]; got the text {quoted(self.categories)}."
            )
        if self.categories is not None and not np.iterable(self.categories):
            raise ValueError(
                "categories of a ForestKernel must be a list of columns, by name or "
                f"position, or None; got {quoted(self.categories)}. Pass "
                f"[{quoted(self.categories)}] for a single column."
            )

    def grow(
        self,
        X: Any,
        Y: NDArray[np.int32],
        seed: int,
        n_jobs: int | None = None,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> LeafMap:
        """Grow the forest, and return what leads examples to leaves.

        Parameters
        ----------
        X : float32 array or CSR matrix of shape (n_samples, n_features)
            The examples; a dense X may hold NaN.
        Y : ndarray of shape (n_samples, n_labels)
            Codes of their labels, -1 where not observed.
        seed : int
            Draws every random choice. `n_jobs` changes no result.
        n_jobs : int, optional
            Number of threads.
        sample_weight : ndarray of shape (n_samples,), optional
            How much the labels of each example count in the choice of splits, and the
            example in the size of a leaf.

        Examples
        --------
        >>> X = np.array([[0], [1], [2], [3]], dtype=np.float32)
        >>> Y = np.array([[0], [0], [1], [1]], dtype=np.int32)
        >>> leaves = ForestKernel(5, min_samples_leaf=2).grow(X, Y, 0).leaves(X)
        >>> leaves.shape
        (4, 5)
        """
        targets = label_targets(Y, sample_weight)
        seeds = np.random.SeedSequence(seed).generate_state(self.n_estimators)
        if self.kind == "boosted":
            trees = self._boost(X, targets, sample_weight, seeds)
            return LeafMap.of(trees, X.shape[1])
        X = _columns_of(X) if sparse.issparse(X) else X
        # threads, also on a cluster: a tree is too small to travel
        trees = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(self._grow_tree)(X, targets, sample_weight, int(own))
            for own in seeds
        )
        return LeafMap.of(trees, X.shape[1])

    def _grow_tree(
        self,
        X: Any,
        targets: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        seed: int,
    ) -> dict[str, NDArray[Any]]:
        """Grow one tree; return its nodes as `DecisionTrees` names them."""
        # imported here: it brings the linear models and SVMs of scikit-learn along
        from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

        options = self._tree_options(X.shape[1], seed, sample_weight)
        if self.kind == "extra":
            tree = ExtraTreeRegressor(**options).fit(X, targets, sample_weight)
            return _nodes_of(tree)
        n = X.shape[0]
        drawn = np.random.default_rng(seed).integers(n, size=n)
        weights = np.bincount(drawn, minlength=n).astype(np.float64)
        if sample_weight is not None:
            weights *= sample_weight
        return _nodes_of(DecisionTreeRegressor(**options).fit(X, targets, weights))

    def _boost(
        self,
        X: Any,
        targets: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        seeds: NDArray[np.unsignedinteger],
    ) -> list[dict[str, NDArray[Any]]]:
        """Grow trees one after the other; return the nodes of each."""
        from sklearn.tree import DecisionTreeRegressor

        if sparse.issparse(X):
            X = _columns_of(X).tocsr()  # with indices of 32 bits
        n = X.shape[0]
        unexplained = targets - np.average(targets, axis=0, weights=sample_weight)
        trees = []
        for seed in map(int, seeds):
            order = np.random.default_rng(seed).permutation(n)
            drawn = np.sort(order[: max(1, round(DRAWN_SHARE * n))])
            weights = None if sample_weight is None else sample_weight[drawn]
            options = self._tree_options(X.shape[1], seed, weights)
            tree = DecisionTreeRegressor(**options)
            tree.fit(X[drawn], unexplained[drawn], weights)
            unexplained -= RATE * tree.predict(X).reshape(unexplained.shape)
            trees.append(_nodes_of(tree))
        return trees

    def _tree_options(
        self, n_features: int, seed: int, sample_weight: NDArray[np.float64] | None
    ) -> dict[str, Any]:
        max_features, most_leaves = self.max_features, self.max_leaf_nodes
        if isinstance(max_features, Integral):
            # one choice may stand for data of many widths
            max_features = min(int(max_features), n_features)
        if most_leaves is None and self.kind == "boosted":
            most_leaves = BOOSTED_LEAVES
        return {
            **_leaf_size(self.min_samples_leaf, sample_weight),
            "max_features": max_features,
            "max_leaf_nodes": most_leaves,
            "random_state": seed,
        }


def _leaf_size(
    n_examples: int, sample_weight: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return how large a leaf must be, as scikit-learn is told.

    Examples
    --------
    >>> _leaf_size(2, None)
    {'min_samples_leaf': 2}
    >>> _leaf_size(2, np.full(5, 4.0)), _leaf_size(2, np.full(5, 0.1))
    ({'min_weight_fraction_leaf': 0.0999...}, {'min_weight_fraction_leaf': 0.3999...})
    """
    if sample_weight is None:
        return {"min_samples_leaf": n_examples}
    total = float(sample_weight.sum())
    # a little less, or rounding could refuse a leaf of just this weight
    least = (1.0 - 1e-9) * n_examples * min(1.0, total / len(sample_weight))
    if least > total / 2:  # no split leaves enough on both sides
        return {"min_samples_leaf": len(sample_weight)}
    return {"min_weight_fraction_leaf": least / total}


def _nodes_of(fitted: Any) -> dict[str, NDArray[Any]]:
    """Return the nodes of a tree of scikit-learn as `DecisionTrees` names them."""
    tree = fitted.tree_
    # copies: views would keep the whole tree, with a value per node and label
    return {
        "feature": np.where(tree.children_left < 0, -1, tree.feature).astype(np.int32),
        "threshold": tree.threshold.copy(),
        "left": tree.children_left.astype(np.int32),
        "right": tree.children_right.astype(np.int32),
        "nan_left": tree.missing_go_to_left.astype(bool),
    }


@dataclass(frozen=True, eq=False)
class LeafMap:
    """The trees of a forest, as far as they lead examples to leaves.

    The arrays are those of `_compiled.DecisionTrees`. Leaves are numbered from 0 on,
    through all trees.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    nan_left: NDArray[np.bool_]
    root: NDArray[np.int32]
    n_features: int

    @classmethod
    def of(cls, trees: list[dict[str, NDArray[Any]]], n_features: int) -> LeafMap:
        """Put the nodes of all trees one after the other, and number the leaves."""
        sizes = [len(tree["feature"]) for tree in trees]
        root = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
        nodes = {
            name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]
        }
        is_leaf = nodes["feature"] < 0
        first = np.repeat(root, sizes)
        for name in ("left", "right"):
            nodes[name] = np.where(is_leaf, -1, nodes[name] + first).astype(np.int32)
        nodes["left"][is_leaf] = np.arange(is_leaf.sum())
        return cls(**nodes, root=root, n_features=n_features)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.root)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return int((self.feature < 0).sum())

    def leaves(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of every example in every tree, shape (n_samples, n_trees).

        X is a float32 array or CSR matrix.
        """
        if X.shape[1] != self.n_features:  # or compiled code would read elsewhere
            raise ValueError(
                f"X must have the {self.n_features} features of training; got "
                f"{X.shape[1]}."
            )
        trees = _compiled.DecisionTrees(
            *(self.feature, self.threshold, self.left, self.right, self.nan_left),
            self.root,
        )
        leaves = np.empty((X.shape[0], self.n_trees), dtype=np.int32)
        if sparse.issparse(X):
            rows = _compiled.SparseRows.of(X)
            _compiled.sparse_leaves(rows, self.n_features, trees, leaves)
        else:
            _compiled.dense_leaves(_compiled.read_only(X), trees, leaves)
        return leaves

    def indicator(self, leaves: NDArray[np.int32]) -> sparse.csr_array:
        """Return a row per example with a 1 at each of its leaves.

        The shape is (n_samples, n_leaves).
        """
        return sparse.csr_array(
            (
                np.ones(leaves.size, dtype=np.float32),
                leaves.ravel(),
                np.arange(0, leaves.size + 1, self.n_trees),
            ),
            shape=(len(leaves), self.n_leaves),
        )

    def check(self) -> None:
        """Refuse arrays that would lead a search outside of them, or round in circles.

        Every child comes after its parent. So every search ends.
        """
        kinds: list[tuple[NDArray[Any], str]] = [(self.feature, "i")]
        kinds += [(self.threshold, "f"), (self.left, "i"), (self.right, "i")]
        kinds += [(self.nan_left, "b")]
        is_sound = all(
            array.dtype.kind == kind and array.shape == (len(self.feature),)
            for array, kind in kinds
        )
        is_sound &= self.root.dtype.kind == "i" and self.root.ndim == 1
        if not is_sound or not self._leads_to_leaves():
            raise ValueError("its forest is not a forest")

    def _leads_to_leaves(self) -> bool:
        n_nodes, inner = len(self.feature), np.flatnonzero(self.feature >= 0)
        children = np.concatenate([self.left[inner], self.right[inner]])
        numbers = self.left[self.feature < 0]
        return bool(
            np.all((self.root >= 0) & (self.root < n_nodes))
            and np.all(self.feature < self.n_features)
            and np.all((children > np.tile(inner, 2)) & (children < n_nodes))
            and np.all((numbers >= 0) & (numbers < len(numbers)))
        )


def label_targets(
    Y: NDArray[np.integer], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the numbers that trees are grown on, a column per label or per value.

    A label with two values has one column, 0 or 1. A label with more values has a
    column per value, scaled so that the variance over the label is half of its Gini
    impurity, as with two values. Entries that are not observed (-1) have the
    weighted mean of the others. Labels with one value are left out.

    Examples
    --------
    >>> label_targets(np.array([[0, 1, 0], [1, -1, 0], [0, 0, 0]])).tolist()
    [[0.0, 1.0], [1.0, 0.5], [0.0, 0.0]]
    """
    columns = []
    for codes in Y.T:
        n_values = int(codes.max(initial=-1)) + 1
        known = codes >= 0
        if n_values < 2 or not known.any():
            continue
        values, unit = ([1], 1.0) if n_values == 2 else (range(n_values), np.sqrt(0.5))
        for value in values:
            column = unit * (codes == value)
            weights = None if sample_weight is None else sample_weight[known]
            column[~known] = np.average(column[known], weights=weights)
            columns.append(column)
    return np.column_stack(columns) if columns else np.zeros((len(Y), 1))


def _columns_of(X: Any) -> Any:
    """Return a CSC matrix, with indices of 32 bits: scikit-learn's trees take no other.

    A matrix with more entries than that is refused by scikit-learn.
    """
    X = X.tocsc()
    if X.nnz <= np.iinfo(np.int32).max:
        X.indices = X.indices.astype(np.int32, copy=False)
        X.indptr = X.indptr.astype(np.int32, copy=False)
    return X


def _comparable(kernel: ForestKernel) -> dict[str, Any]:
    params = kernel.get_params(deep=False)
    if np.iterable(params["categories"]):  # `check` refuses all but lists and None
        params["categories"] = list(params["categories"])
    return params


def _is_share_of_features(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2")):
        return True
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return int(value) >= 1 if isinstance(value, Integral) else 0.0 < float(value) <= 1.0
