"""What the search chooses from by default."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._offsets import check_offset, read_offset
from spanforest._parameters import LARGEST, check_number
from spanforest._wording import quoted
from spanforest.decisions import check_threshold
from spanforest.kernels import ForestKernel
from spanforest.tuning._thresholds import BY_LABEL

GAMMAS = (0.5, 1.0, 2.0)
CS = (0.3, 1.0, 3.0, 10.0)
LARGER_CS = (30.0, 100.0)  # for a kernel that is best with the largest of CS
# A wrong label costs about 1 in training, so an offset of 1 would turn on all labels
# that training is sure of. Those above 0.6 are for F1: docs/guide/measures.rst.
OFFSETS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, -0.15)
MOST_CALIBRATED = 3000  # examples, if nobody asked for thresholds
THRESHOLDS = (0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
# Trees of a forest in the search; the final forest has all of its trees.
SEARCH_TREES = 100
# Joint training is tried on the union of few graphs, with few labels and examples.
JOINT_GRAPHS = 5
MOST_JOINT_LABELS = 40
MOST_JOINT_EXAMPLES = 3000
# The final ensemble learns from all examples: the kernel matrix of more takes over 800
# MB. Boosted trees grow one after the other, for each label.
MOST_GAUSSIAN = 10_000
MOST_COLUMNS = 100  # of a table whose entries are mostly zero, such as a survey


class Menu(NamedTuple):
    """Kernels to choose from."""

    kernels: list[Any]
    note: str = ""  # for users: why some kernels are not on it
    has_gaps: bool = False  # whether values are missing
    is_open: bool = True  # whether the search may drop and average kernels


def kernels_for(X: Any) -> Menu:
    """Return the kernels that suit the examples, those of low cost first.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The examples; NaN where a value is missing.

    Examples
    --------
    >>> kernels_for(np.array([[3.0, 1.0], [5.0, np.nan]])).note
    'X has NaN, so only forests were tried'
    >>> kernels_for(np.eye(3)).kernels[0]
    'linear'
    """
    values = X.data if sparse.issparse(X) else X
    has_gaps = bool(np.isnan(values).any())
    is_mostly_zero = 2 * np.count_nonzero(values) < np.prod(X.shape)
    if is_mostly_zero and not has_gaps and X.shape[1] > MOST_COLUMNS:  # words, bits
        # longer texts are no more certain of their labels, so that length is no clue
        return Menu(["cosine", *_forests((5, 1), ["sqrt"])])
    many = _many_of(X.shape[1])
    forests = _forests((5, 2, 1), ["sqrt", many])
    if X.shape[0] <= MOST_GAUSSIAN:
        forests.append(
            ForestKernel(100, min_samples_leaf=5, max_features=many, kind="boosted")
        )
    if has_gaps:
        return Menu(forests, "X has NaN, so only forests were tried", has_gaps)
    if X.shape[0] > MOST_GAUSSIAN:
        note = (
            "no Gaussian kernel and no boosted forest were tried on more than "
            f"{MOST_GAUSSIAN:,} examples"
        )
        return Menu(["linear", *forests], note)
    return Menu(["linear", "rbf", *forests])


def forest_of_probabilities() -> ForestKernel:
    """Return the forest that thresholds are tried with, beside calibration alone.

    Examples
    --------
    >>> forest_of_probabilities()
    ForestKernel(kind='random', min_samples_leaf=2)
    """
    return ForestKernel(min_samples_leaf=2, kind="random")


def _forests(leaves: Sequence[int], features: Sequence[Any]) -> list[ForestKernel]:
    """Return forests with all smallest leaves and all numbers of features per split."""
    return [
        ForestKernel(min_samples_leaf=size, max_features=number)
        for number in features
        for size in leaves
    ]


def _many_of(n_features: int) -> int:
    """Return a number of features per split that is larger than "sqrt", the root.

    It is 30 percent of them, or twice the root of their number if that is more: of few
    features 30 percent are no more than the root. A single feature is all there is.

    Examples
    --------
    >>> [_many_of(n) for n in (1, 3, 9, 100)]
    [1, 3, 6, 30]
    """
    return int(min(n_features, max(0.3 * n_features, 2.0 * n_features**0.5)))


def as_list(name: str, values: Any) -> list[Any]:
    """Return the values to choose from; a single value is a choice of one.

    Examples
    --------
    >>> as_list("losses", "edge"), as_list("Cs", (1, 10))
    (['edge'], [1, 10])
    """
    if isinstance(values, str) or callable(values) or not isinstance(values, Iterable):
        return [values]
    choices = list(values)
    if not choices:
        raise ValueError(f"{name} must hold at least one value; got {values!r}.")
    return choices


def check_alone(kernels: Sequence[Any]) -> None:
    """Refuse several kernels if one of them can only stand alone.

    Examples
    --------
    >>> check_alone(["linear", "rbf"])
    """
    if len(kernels) > 1 and "precomputed" in kernels:
        raise ValueError(
            '"precomputed" cannot be one of several kernels: X is either a kernel '
            f'matrix or features. Pass kernels="precomputed"; got {kernels!r}.'
        )
    if "auto" in kernels:
        raise ValueError(
            '"auto" chooses all kernels, so it cannot be one of several. Pass '
            f'kernels="auto", or name them; got {kernels!r}.'
        )


def read_costs(Cs: Any) -> tuple[list[float], int]:
    """Return the values of C to choose from, and how many every kernel is tried with.

    Examples
    --------
    >>> read_costs([3, 1])
    ([1.0, 3.0], 2)
    >>> read_costs("auto")
    ([0.3, 1.0, 3.0, 10.0, 30.0, 100.0], 4)
    """
    if isinstance(Cs, str) and Cs == "auto":
        return [*CS, *LARGER_CS], len(CS)
    given = as_list("Cs", Cs)
    checked = {check_number("each of Cs", C, maximum=LARGEST) for C in given}
    return sorted(checked), len(checked)


def read_offsets(offsets: Any, n_values: NDArray[np.integer]) -> list[Any]:
    """Return the offsets to choose from, the one nearest to zero first.

    Each is a number, or a list of numbers, one per label.

    Examples
    --------
    >>> read_offsets([-0.5, 0, 1], np.array([2, 2]))
    [0.0, -0.5, 1.0]
    >>> read_offsets([[0.5, 0], 0.3, [0.5, 0]], np.array([2, 2]))
    [0.3, [0.5, 0.0]]
    >>> read_offsets("auto", np.array([2, 3]))
    [0.0]
    """
    if isinstance(offsets, str) and offsets == "auto":
        return list(OFFSETS) if n_values.max() <= 2 else [0.0]
    checked: list[Any] = []
    for given in as_list("offsets", offsets):
        offset = read_offset(given, "each of offsets")
        check_offset(offset, n_values)
        if offset.tolist() not in checked:
            checked.append(offset.tolist())
    return sorted(checked, key=lambda one: (np.abs(one).max(), np.sum(one)))


def read_thresholds(
    thresholds: Any,
    n_values: NDArray[np.integer],
    n_samples: int,
    *,
    by_label: bool = False,
) -> list[Any]:
    """Return the thresholds to choose from, the one nearest to a half first.

    Each is a number, a list of numbers, one per label, or BY_LABEL. With many examples
    there are none unless they are named: an ensemble with a threshold is calibrated,
    which takes as long as three ensembles. `by_label`: whether BY_LABEL is among the
    default ones.

    Examples
    --------
    >>> read_thresholds(["labels", 0.2, [0.5, 0.1], 0.4], np.array([2, 2]), 10**6)
    [0.4, 0.2, [0.5, 0.1], 'labels']
    >>> read_thresholds("auto", np.array([2, 3]), 100)
    []
    >>> read_thresholds("auto", np.array([2, 2]), 10**6)
    []
    """
    if isinstance(thresholds, str) and thresholds == "auto":
        is_open = len(n_values) > 1 and n_values.max() == 2
        if not is_open or n_samples > MOST_CALIBRATED:
            return []
        return [*THRESHOLDS, *[BY_LABEL] * by_label]
    if thresholds is None:
        return []
    if n_values.max() > 2:
        j = int(n_values.argmax())
        raise ValueError(
            f"thresholds are for labels with two values; label {j} has {n_values[j]}. "
            "Pass thresholds=None."
        )
    checked: list[Any] = []
    for given in as_list("thresholds", thresholds):
        one = given if isinstance(given, str) else _read_threshold(given, n_values)
        if isinstance(one, str) and one != BY_LABEL:
            raise ValueError(
                "each of thresholds must be a number, a list with one for each label, "
                f"or {BY_LABEL!r}; got {quoted(given)}."
            )
        if one not in checked:
            checked.append(one)
    return sorted(checked, key=_distance_to_half)


def _read_threshold(threshold: Any, n_values: NDArray[np.integer]) -> Any:
    if np.ndim(threshold) == 0:
        return check_number("each of thresholds", threshold, maximum=1.0)
    check_threshold(threshold, n_values)
    return np.asarray(threshold, dtype=np.float64).tolist()


def _distance_to_half(threshold: Any) -> tuple[bool, bool, float, float]:
    """Return what thresholds are sorted by: numbers come first, BY_LABEL last."""
    if isinstance(threshold, str):
        return True, True, 0.0, 0.0
    numbers = np.asarray(threshold)
    distance = np.abs(numbers - 0.5).max()
    return False, numbers.ndim > 0, float(distance), float(numbers.sum())


def with_fewer_trees(kernel: Any) -> Any:
    """Return a kernel as the search sees it: a forest has at most 100 trees.

    Examples
    --------
    >>> with_fewer_trees("forest").n_estimators, with_fewer_trees("rbf")
    (100, 'rbf')
    """
    if isinstance(kernel, str) and kernel == "forest":
        kernel = ForestKernel()
    if not isinstance(kernel, ForestKernel) or kernel.n_estimators <= SEARCH_TREES:
        return kernel
    return ForestKernel(**{**kernel.get_params(), "n_estimators": SEARCH_TREES})
