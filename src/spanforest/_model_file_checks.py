"""What a model file may hold: trusted names, archives of sane size, sound indices.

Loading trusts nothing else in a file. `spanforest.persistence` reads and writes the
files and turns the errors of this module into advice.
"""

from __future__ import annotations

import io
import zipfile
from collections import deque
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.svm import SVC, NuSVC

from spanforest._classifier import GraphClassifier
from spanforest._forest_input import ForestInput
from spanforest._leaf_shares import LeafShares
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.graphs import LabelGraph
from spanforest.kernels._forest import LeafMap
from spanforest.tuning import RandomGraphEnsembleClassifierCV

__all__ = [
    *("TRUSTED", "check_contents", "contents", "largest_size", "name_in_file"),
    "unpacked_size",
]
# Deflate can turn a kilobyte into a megabyte. Files of `save` stay below both limits.
EXPANSION = 100
ALWAYS_ALLOWED = 2**28  # bytes

# Names that a model may hold besides those that skops trusts. Loading may call them
# with arguments from the file, so they must be classes and pure functions.
_TRUSTED_NAMES = {
    "spanforest.mmcrf": "MMCRFClassifier",
    "spanforest.ensemble": "RandomGraphEnsembleClassifier",
    "spanforest.tuning._estimator": "RandomGraphEnsembleClassifierCV",
    "spanforest.calibration": "Calibration",
    "spanforest._labels": "LabelCoding",
    "spanforest._leaf_shares": "LeafShares",
    "spanforest._inputs": "KernelInput LinearInput PrecomputedInput",
    "spanforest._forest_input": "ForestInput",
    "spanforest._several_inputs": "SeveralInputs SumInput",
    "spanforest._category_columns": "CategoryColumns",
    "spanforest.kernels._forest": "ForestKernel LeafMap",
    "spanforest.kernels._sum": "SumKernel",
    "spanforest._scaling": "Rule Scaling",
    "spanforest.kernels._registry": "KernelSpec",
    "spanforest.model_selection": "IterativeLabelKFold LabelCardinalityKFold",
    "spanforest.metrics": "microlabel_accuracy microlabel_f1 multilabel_accuracy",
    "sklearn.model_selection._split": (
        "KFold GroupKFold StratifiedKFold RepeatedKFold ShuffleSplit "
        "StratifiedShuffleSplit LeaveOneOut"
    ),
    "spanforest.graphs._label_graph": "LabelGraph",
    "spanforest.graphs._generators": (
        "independent_labels random_pairing random_spanning_tree "
        "recursive_random_tree uniform_random_tree"
    ),
    "spanforest.kernels._functions": "tanimoto_kernel",
    "spanforest.paper.baselines._adaboost_mh": "AdaBoostMHClassifier",
    "spanforest.paper.baselines._multitask": "MultiTaskFeatureClassifier",
    "spanforest.paper.baselines._svm": "BaggedSVMClassifier PerLabelClassifier",
    "sklearn.metrics.pairwise": (
        "additive_chi2_kernel chi2_kernel cosine_similarity laplacian_kernel "
        "linear_kernel polynomial_kernel rbf_kernel sigmoid_kernel"
    ),
    "numpy": "dtype",
    # skops does not trust these, because wrong indices crash the process; here
    # check_contents checks the indices
    "scipy.sparse._csc": "csc_array csc_matrix",
    "scipy.sparse._csr": "csr_array csr_matrix",
    "sklearn.tree._tree": "Tree",
}
TRUSTED = {
    f"{home}.{name}" for home, names in _TRUSTED_NAMES.items() for name in names.split()
}
# Forests pass examples to their trees unchecked, so checking the trees does not help.
_FORESTS = {f"sklearn.ensemble._{name}" for name in ("forest", "gb", "iforest")}
# Arrays of examples that compiled code of scikit-learn compares with new ones.
_EXAMPLES = {"_fit_X", "cluster_centers_"}


# --- archives ------------------------------------------------------------------------


def largest_size(archive: bytes) -> int:
    """Return the number of bytes to which an archive may unpack."""
    return max(ALWAYS_ALLOWED, EXPANSION * len(archive))


def unpacked_size(archive: bytes, *, nested: bool = False) -> int:
    """Return the size that an archive declares; zipfile unpacks no more than that.

    Member names that `save` never writes are refused. A sparse matrix is an archive
    inside the archive, and is counted if the outer archive is small enough to unpack.
    """
    with zipfile.ZipFile(io.BytesIO(archive)) as unpacked:
        members = unpacked.infolist()
        names = [member.orig_filename for member in members]
        for name in names:
            if not name or name.startswith(".") or set(name) & set("/\\:\0"):
                raise ValueError(f"a member has the name {name[:80]!r}")
        if len(set(names)) < len(names):
            raise ValueError("two members have the same name")
        n_bytes = sum(member.file_size for member in members)
        if nested or n_bytes > largest_size(archive):
            return n_bytes
        for member in members:
            with unpacked.open(member) as file:
                start = file.read(2)
                if start == b"PK":
                    n_bytes += unpacked_size(start + file.read(), nested=True)
    return n_bytes


# --- objects of a model --------------------------------------------------------------


def contents(model: BaseEstimator) -> Iterator[tuple[str, Any]]:
    """Yield every object inside a model, with the attributes that lead to it."""
    queue: deque[tuple[str, Any]] = deque([("", model)])
    seen: dict[int, Any] = {}  # keeps objects alive, so that no id is used twice
    while queue:
        where, item = queue.popleft()
        if id(item) in seen or item is None or isinstance(item, str | int | float):
            continue
        seen[id(item)] = item
        yield where.removeprefix("."), item
        if isinstance(item, type | ModuleType | FunctionType):
            continue
        if isinstance(item, dict):
            queue += [(f"{where}[{key!r:.40}]", value) for key, value in item.items()]
            queue += [(where, key) for key in item]
        elif isinstance(item, list | tuple | set | frozenset) or (
            isinstance(item, np.ndarray) and item.dtype.hasobject
        ):
            values = item.ravel() if isinstance(item, np.ndarray) else item
            queue += [(f"{where}[{i}]", value) for i, value in enumerate(values)]
        attributes = getattr(item, "__dict__", {})
        queue += [(f"{where}.{name}", value) for name, value in attributes.items()]


def name_in_file(item: Any) -> str:
    """Return the name in a file of a function, a class, or the class of an object."""
    named = item if hasattr(item, "__qualname__") else type(item)
    return f"{named.__module__}.{named.__qualname__}"


def check_contents(model: BaseEstimator) -> None:
    """Refuse indices that would make compiled code read outside of its arrays."""
    for where, item in contents(model):
        if isinstance(item, GraphClassifier):
            _check_classifier(item)
        elif isinstance(item, RandomGraphEnsembleClassifierCV):
            _check_search(item)
        elif isinstance(item, LabelGraph):
            again = LabelGraph(item.n_labels, item.edges)
            if again != item or again.n_components != item.n_components:
                raise ValueError(f"{where} is not a graph")
        elif isinstance(item, ForestInput):
            _check_forest(item)
        elif sparse.issparse(item):
            item.check_format(full_check=True)
        elif isinstance(item, BaseEstimator):
            if type(item).__module__ in _FORESTS:
                raise ValueError(f"a {type(item).__name__} cannot be checked")
            if type(tree := vars(item).get("tree_")).__name__ == "Tree":
                _check_tree(tree, item.n_features_in_)
            if "_n_support" in vars(item):
                _check_support_vectors(item)
            _check_examples(item)


def _check_classifier(model: GraphClassifier) -> None:
    if not model.__sklearn_is_fitted__():
        return
    n_values = model._coding.n_values
    is_ensemble = isinstance(model, RandomGraphEnsembleClassifier)
    for member in model.estimators_ if is_ensemble else [model]:
        fits = np.array_equal(member._coding.n_values, n_values)
        if not fits or member.graph_.n_labels != len(n_values) or min(n_values) < 1:
            raise ValueError("its graph and its labels do not fit together")
    if "_leaf_shares" in vars(model):
        _check_shares(model._leaf_shares, n_values)
    n_cells, n_columns = model._factors.n_cells, model._weights.shape[1]
    if n_columns != n_cells or model.cell_intercept_.shape != (n_cells,):
        raise ValueError("its weights and its graph do not fit together")


def _check_search(search: RandomGraphEnsembleClassifierCV) -> None:
    """Refuse results without a row per candidate, or without a chosen candidate."""
    if "cv_results_" not in vars(search):  # not fitted
        return
    results = vars(search)["cv_results_"]
    candidates = results["params"]
    if (
        any(len(column) != len(candidates) for column in results.values())
        or not all({"kernel", "C", "loss"} <= {*one} for one in candidates)
        or not all({"offset", "threshold"} & {*one} for one in candidates)
        or search.best_index_ not in range(len(candidates))
    ):
        raise ValueError("its candidates and their scores do not fit together")


def _check_examples(item: BaseEstimator) -> None:
    """Refuse examples with more or fewer features than those to predict for."""
    for name in _EXAMPLES & vars(item).keys():
        shape = np.shape(vars(item)[name])
        if len(shape) != 2 or shape[1] != item.n_features_in_:
            raise ValueError(f"its {name} and its number of features do not fit")


def _check_support_vectors(model: Any) -> None:
    """Refuse a support vector machine whose arrays have other sizes than it says."""
    if not isinstance(model, SVC | NuSVC):
        raise ValueError(f"a {type(model).__name__} cannot be checked")
    counts, support = np.asarray(model._n_support), np.asarray(model.support_)
    n_pairs = len(counts) * (len(counts) - 1) // 2
    is_precomputed = model.kernel == "precomputed"
    vectors = np.shape(model.support_vectors_)
    is_sound = (
        len(counts) == len(model.classes_) >= 2
        and counts.min() >= 0
        and support.shape == (counts.sum(),)
        and support.min(initial=0) >= 0
        and support.max(initial=0) < model.shape_fit_[0]
        and (is_precomputed or vectors == (len(support), model.n_features_in_))
        and (not is_precomputed or model.shape_fit_[0] == model.n_features_in_)
        and np.shape(model._dual_coef_) == (len(counts) - 1, len(support))
        and np.shape(model._intercept_) == (n_pairs,)
        and all(
            np.shape(one) in ((0,), (n_pairs,)) for one in (model._probA, model._probB)
        )
    )
    if not is_sound:
        raise ValueError("one of its support vector machines is not sound")


def _check_forest(fitted: ForestInput) -> None:
    if "leaf_map" not in vars(fitted):  # not fitted
        return
    leaf_map, members = fitted.leaf_map, fitted.members
    if not isinstance(leaf_map, LeafMap) or not sparse.issparse(members):
        raise ValueError("its forest is not a forest")
    leaf_map.check()
    members.check_format(full_check=True)
    if members.format != "csr" or members.shape[0] != leaf_map.n_leaves:
        raise ValueError("its forest and its examples do not fit together")


def _check_shares(shares: Any, n_values: Any) -> None:
    """Refuse values of other examples than those of the forest, or of other labels.

    The forest and the matrix of values are checked as such.
    """
    if not isinstance(shares, LeafShares) or not isinstance(shares.forest, ForestInput):
        raise ValueError("its shares of leaves have no forest")
    forest, targets = vars(shares.forest), shares.targets
    fits = np.array_equal(shares.n_values, n_values) and "members" in forest
    fits = fits and sparse.issparse(targets)
    if not fits or targets.shape != (forest["members"].shape[1], sum(n_values)):
        raise ValueError("its shares of leaves and its labels do not fit together")
    if not np.isfinite(targets.data).all() or (targets.data < 0).any():
        raise ValueError("its shares of leaves are no shares")


def _check_tree(tree: Any, n_features: int) -> None:
    """Refuse a tree unless every node but the root is the child of one earlier node.

    `max_depth` must be right too, because scikit-learn sizes arrays by it.
    """
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero((left != -1) | (right != -1))
    children = np.concatenate([left[inner], right[inner]])
    level, depth = np.zeros(1, dtype=np.intp), 0
    is_tree = (
        tree.n_features == n_features
        and np.all(children > np.tile(inner, 2))
        and np.all(children < tree.node_count)
        and len(np.unique(children)) == len(children) == tree.node_count - 1
        and np.all((tree.feature[inner] >= 0) & (tree.feature[inner] < n_features))
    )
    while is_tree and len(level := np.intersect1d(level, inner)):
        level, depth = np.concatenate([left[level], right[level]]), depth + 1
    if not is_tree or depth > tree.max_depth:
        raise ValueError("one of its trees is not a tree")
