"""The kind of input whose kernel is a forest that is fitted to examples and labels.

Few examples are compared by a kernel matrix. With many examples the solver works on the
leaves of each, so that no such matrix is made. Both are the same model: its weights are
the dual variables, a row per training example.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest import _compiled
from spanforest._category_columns import CategoryColumns
from spanforest._copies import Copies
from spanforest._feature_contributions import forest_contributions
from spanforest._forest_rows import GrownForest
from spanforest._inputs import Basis, Indices, Input, KernelMatrix
from spanforest._parameters import seed_sequence
from spanforest._scaling import Scaling
from spanforest.factors import Coordinates
from spanforest.kernels import ForestKernel
from spanforest.kernels._forest import LeafMap
from spanforest.solver import Epoch, SparseForm

LARGEST = float(np.finfo(np.float32).max)  # the trees of scikit-learn compare float32
# They also take values as equal that differ by 1e-7 or less. Features with a smaller
# range are multiplied by a power of two, which changes nothing else in a tree.
SMALLEST_RANGE = 2.0**-7
SMALLEST_SHARE = 2.0**-10  # of the size; or float32 would leave few different values
_SEED_KEY = 0x666F72657374  # no member of an ensemble has this key


class LeafForm(SparseForm):
    """F = Z V with V = Z^T A, where row i of Z holds the leaves of example i.

    As in the kernel form the weights are A itself, which is far smaller than V: a
    forest has many more leaves than examples. V is made anew in every epoch.
    """

    def __init__(
        self, data: Any, coordinates: Coordinates, fit_intercept: bool = False
    ) -> None:
        super().__init__(data, coordinates, fit_intercept)
        self.leaf_weights = self.weights
        self.weights = np.zeros_like(self.dual_coef)

    def epochs(
        self,
        order: NDArray[np.intp],
        problem: _compiled.Packed,
        hinge: NDArray[np.float64],
        mixtures: _compiled.Mixtures | None,
    ) -> Epoch:
        """Return a function that visits examples one at a time."""
        rows, state = self.rows, self._state(hinge)

        def epoch() -> None:
            before = self.dual_coef.copy()
            self._sum_over_leaves()
            visit = _compiled.sparse_pass(
                order, rows, self.leaf_weights, problem, state, mixtures
            )
            visit()
            self.weights += self.scale * (self.dual_coef - before)

        return epoch

    def begin(self, A: NDArray[np.float64]) -> None:
        """Start at these dual variables; the weights become A itself."""
        super().begin(A)
        self._sum_over_leaves()

    def squared_norm(self) -> float:
        """Return ‖w‖², the constant feature's weights included."""
        norm = self.coordinates.squared_norm
        return norm(self.leaf_weights) + norm(self.intercept[None])

    def _sum_over_leaves(self) -> None:
        del self.leaf_weights  # frees it before the next one is made
        self.leaf_weights = self.data.T @ self.weights

    def _weights_of(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        return A

    def _products(self, rows: Any) -> NDArray[np.float64]:
        return rows @ self.leaf_weights


class Leaves(NamedTuple):
    """The leaves of training examples; inner products are the kernel."""

    features: Any  # CSR, see `leaf_features`

    def form(self, coordinates: Coordinates, fit_intercept: bool) -> LeafForm:
        """Return the solver's form of these examples."""
        return LeafForm(self.features, coordinates, fit_intercept)

    def matrix(self) -> NDArray[np.float64]:
        """Return the kernel matrix, for a sum with other kernels."""
        return (self.features @ self.features.T).toarray()

    def in_single_precision(self) -> Leaves:
        """Return the leaves as they are."""
        return self

    def prepared(self, tol: float) -> Leaves:
        """Return the leaves as they are: they are ready for training."""
        return self


def grow(basis: ForestBasis) -> tuple[GrownForest, ForestBasis]:
    """Grow the forest of training examples; return it, and the basis with it."""
    grown, leaves = basis.forest()
    if grown.is_matrix:
        compared: Any = KernelMatrix(grown.matrix(leaves))
    else:
        compared = Leaves(leaf_features(grown.members, grown.leaf_map.n_trees))
    return grown, basis._replace(compared=compared)


class ForestBasis(NamedTuple):
    """Training examples that a forest compares, and all that growing it again needs."""

    X: Any
    Y: NDArray[np.int32]
    kernel: ForestKernel
    seed: int
    n_jobs: int | None
    sample_weight: NDArray[np.float64] | None = None
    compared: Any = None  # KernelMatrix or Leaves; None for a basis of folds
    is_single: bool = False

    def forest(self) -> tuple[GrownForest, NDArray[np.int32]]:
        """Grow the forest; return it, and the leaves of the examples."""
        leaf_map = self.kernel.grow(
            self.X, self.Y, self.seed, self.n_jobs, self.sample_weight
        )
        leaves = leaf_map.leaves(self.X)
        return GrownForest(leaf_map, leaf_map.indicator(leaves).T.tocsr()), leaves

    def matrix(self) -> NDArray[np.floating]:
        """Return the kernel matrix."""
        return self.compared.matrix()

    def form(self, coordinates: Coordinates, fit_intercept: bool) -> Any:
        """Return the solver's form of these examples."""
        return self.compared.form(coordinates, fit_intercept)

    def fold(
        self, train: Indices, test: Indices, sample_weight: Any = None
    ) -> tuple[ForestBasis, Any]:
        """Grow a forest on the rows `train` alone; it never saw the others."""
        X, Y = self.X[train], self.Y[train]
        grown, inside = grow(self._replace(X=X, Y=Y, sample_weight=sample_weight))
        if self.is_single:
            inside = inside.in_single_precision()
        return inside, grown.rows(self.X[test])

    def in_single_precision(self) -> ForestBasis:
        """Return the basis with a matrix in float32, also in folds."""
        if self.compared is None:
            return self._replace(is_single=True)
        single = self.compared.in_single_precision()
        return self._replace(compared=single, is_single=True)

    def prepared(self, tol: float) -> Basis:
        """Return what training needs. It has no folds: the labels are not in it."""
        return self.compared.prepared(tol)


class ForestInput(Input):
    """Features that are compared by a forest, which is fitted to the labels too."""

    accepts_nan = True
    is_fitted_per_fold = True
    has_indicators: bool = False  # whether other kernels need them for categories
    leaf_map: LeafMap
    members: Any

    @property
    def kernel(self) -> ForestKernel:
        """The forest's parameters."""
        name = self.spec.name
        return name if isinstance(name, ForestKernel) else ForestKernel()

    @property
    def grown(self) -> GrownForest:
        """The forest, after `fit`."""
        return GrownForest(self.leaf_map, self.members)

    def has_categories(self, X: Any, *, reset: bool) -> bool:
        """Return whether columns of X hold categories; `reset` learns them."""
        if reset:
            self.columns = CategoryColumns.of(X, self.kernel.categories)
        return self.columns is not None

    def numbers(self, X: Any) -> NDArray[np.float64]:
        """Return the user's X with numbers in place of categories."""
        if self.columns is None:
            raise ValueError("X has no columns of categories.")
        if self.has_indicators:
            return self.columns.indicators(X)
        return self.columns.numbers(X)

    def check(self, X: Any) -> None:
        """Refuse columns without values, and kernel matrices."""
        _check_columns(X)
        _check_no_kernel_matrix(X)

    def learn_scaling(
        self, name: str | None, X: Any, sample_weight: Any = None
    ) -> None:
        """Check the name; features are only scaled so that trees can tell them apart.

        So their unit and their origin do not matter.
        """
        super().learn_scaling(name, X, sample_weight)
        self.scaling = _scaling_for_trees(X)

    def fit(
        self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None
    ) -> ForestBasis:
        """Grow the forest."""
        basis = self.for_folds(X, Y, sample_weight)
        (self.leaf_map, self.members), basis = grow(basis)
        return basis

    def grow_alone(self, X: Any, Y: NDArray[np.int32], sample_weight: Any) -> None:
        """Grow the forest without comparing the examples, which takes memory."""
        basis = self.for_folds(X, Y, sample_weight)
        (self.leaf_map, self.members), _ = basis.forest()

    def for_folds(
        self, X: Any, Y: NDArray[np.int32], sample_weight: Any = None
    ) -> ForestBasis:
        """Return a basis without a forest: every fold grows one of its own."""
        X = self._for_trees(X)
        root = seed_sequence(self._resources.random_state)
        place = self._resources.place
        key = (_SEED_KEY, *place) if any(place) else (_SEED_KEY,)
        own = np.random.SeedSequence(root.entropy, spawn_key=key)
        seed = int(own.generate_state(1, np.uint64)[0])
        n_jobs = self._resources.n_jobs
        return ForestBasis(X, Y, self.kernel, seed, n_jobs, sample_weight)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes that the estimator shows to users after `fit`."""
        return {"gamma_": None, "kernel_": self.spec.name}

    def tell_apart(self, copies: Copies) -> None:
        """Compare new examples with every training example, copies included."""
        super().tell_apart(copies)
        self.members = self.members[:, copies.place]

    def rows(self, X: Any) -> Any:
        """Return the kernel values between new and training examples."""
        return self.grown.rows(self._for_trees(X))

    def leaves(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of every new example in every tree."""
        return self.leaf_map.leaves(self._for_trees(X))

    def row_size(self, n_weights: int) -> int:
        """Return how many numbers `rows` keeps per example: leaves, if not a matrix."""
        return n_weights if self.grown.is_matrix else self.leaf_map.n_trees

    def feature_contributions(
        self, X: Any, weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what the features that trees split contribute."""
        row = self._for_trees(X)
        row = row.toarray()[0] if sparse.issparse(row) else row[0]
        return forest_contributions(self.leaf_map, self.members, row, weights)

    def _for_trees(self, X: Any) -> Any:
        """Return X as the trees compare it, in single precision."""
        _check_values(X)
        if self.scaling is not None:
            with np.errstate(over="ignore"):  # beyond all training examples
                X = self.scaling.apply(X.astype(np.float64, copy=False))
            values = X.data if sparse.issparse(X) else X
            np.clip(values, -LARGEST, LARGEST, out=values)  # on the same side as before
        with np.errstate(invalid="ignore"):  # missing values of R are NaN that signal
            return X.astype(np.float32, copy=False)


def leaf_features(members: sparse.csr_array, n_trees: int) -> sparse.csr_array:
    """Return features of training examples whose inner products are the kernel.

    There is a feature per leaf with two or more examples. All leaves that an example
    has to itself are one feature together: they count in k(x, x) only.

    Examples
    --------
    >>> members = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 1]]))
    >>> Z = leaf_features(members, 2)
    >>> (Z @ Z.T).toarray().round(12).tolist()
    [[0.5, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    is_shared = np.diff(members.indptr) > 1
    own = np.asarray(members[~is_shared].sum(axis=0), dtype=np.float64).ravel()
    alone = np.flatnonzero(own)
    private = sparse.csr_array(
        (np.sqrt(own[alone]), (alone, np.arange(len(alone)))),
        shape=(members.shape[1], len(alone)),
    )
    shared = members[is_shared].T.astype(np.float64)
    return sparse.hstack([shared, private], format="csr") / np.sqrt(n_trees)


def _scaling_for_trees(X: Any) -> Scaling | None:
    """Return a scaling of the features that trees could not tell apart as they are.

    These are features of a small range, or of a range that is small beside their size.
    None if there are no such features.
    """
    if sparse.issparse(X):  # zeros stay zero
        high = abs(X).max(axis=0).toarray().ravel().astype(np.float64)
        low = np.zeros_like(high)
    else:  # these ignore NaN
        low = np.fmin.reduce(X, axis=0).astype(np.float64)
        high = np.fmax.reduce(X, axis=0).astype(np.float64)
    with np.errstate(over="ignore"):  # `_check_values` refuses such features
        spread = high - low
    is_far = spread < SMALLEST_SHARE * np.maximum(np.abs(low), np.abs(high))
    is_far &= spread > 0.0
    is_small = (spread < SMALLEST_RANGE) & (spread > 0.0)
    if not (is_far | is_small).any():
        return None
    exponent = np.maximum(np.frexp(spread)[1], -1000)
    factor = np.where(is_small, np.ldexp(1.0, -exponent), 1.0)
    return Scaling(np.where(is_far, low + spread / 2, 0.0), factor)


def _check_values(X: Any) -> None:
    """Refuse values that the trees cannot compare."""
    values = X.data if sparse.issparse(X) else X
    if sparse.issparse(X) and np.isnan(values).any():
        raise ValueError(
            "X is sparse and has NaN. The forest kernel accepts NaN in a dense X only. "
            "Pass X.toarray(), or replace the NaN."
        )
    with np.errstate(invalid="ignore"):
        if np.any(np.abs(values) > LARGEST):
            raise ValueError(
                f"X has values above {LARGEST:.2g} in size, the largest that a forest "
                "can compare. Divide these features by a constant."
            )


def _check_columns(X: Any) -> None:
    if sparse.issparse(X):
        return
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if not len(empty):
        return
    needed = "every feature needs a value in some training example; "
    if len(empty) == 1:
        raise ValueError(
            f"{needed}column {empty[0]} of X is NaN everywhere. Leave it out."
        )
    shown = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
    raise ValueError(
        f"{needed}{len(empty)} columns of X ({shown}) are NaN everywhere. Leave them "
        "out."
    )


def _check_no_kernel_matrix(X: Any) -> None:
    """Refuse what looks like a kernel matrix: symmetric, with a large diagonal."""
    n_rows, n_columns = X.shape
    if sparse.issparse(X) or n_rows != n_columns or n_rows < 3:
        return
    own = X.diagonal()
    if not (own > 0).all() or not np.allclose(X, X.T, rtol=1e-5, atol=0):
        return
    others = np.abs(X - np.diag(own))
    if others.any() and np.all(others <= 1.001 * np.sqrt(np.outer(own, own))):
        raise ValueError(
            f"X looks like a kernel matrix: {n_rows} rows and columns, symmetric. The "
            "forest kernel needs features. Pass features, or choose the kernel "
            '"precomputed" if X is a kernel matrix.'
        )
