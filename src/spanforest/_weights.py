"""How much training examples and values of labels count: checks, and arrays.

An example of weight 0, or without any label, is left out before anything else looks at
the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._labels import LabelCoding, read_labels
from spanforest._parameters import LARGEST, check_number, check_sample_weight
from spanforest._wording import quoted

__all__ = ["WeightedLabels", "read_targets"]

Weights = NDArray[np.float64]

_SMALLEST = 1e-100  # the product of two smaller weights could vanish


class WeightedLabels(NamedTuple):
    """The labels of the examples that count, and how much they count."""

    Y: NDArray[np.int32]  # (n_samples, n_labels) codes, -1 where not observed
    coding: LabelCoding
    sample_weight: Weights | None  # (n_samples,) positive; None if all are 1
    label_weight: Weights | None  # (n_samples, n_labels); None if all are 1
    rows: NDArray[np.intp] | None  # the rows that count; None if all do


def read_targets(
    n_samples: int, y: Any, sample_weight: Any, class_weight: Any, missing_label: Any
) -> WeightedLabels:
    """Check labels and weights, and leave out examples of weight 0 or without labels.

    Parameters
    ----------
    n_samples : int
        Number of rows of X.
    y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels), or 1-D
        Labels, which may be missing; see `read_labels`.
    sample_weight : array-like of shape (n_samples,) or None
        Weights of the examples.
    class_weight : None, "balanced", dict or list of dict
        Weights of values of labels; see `MMCRFClassifier`.
    missing_label : number, str or None
        A value that means missing.

    Examples
    --------
    >>> targets = read_targets(3, [[0], [1], [2]], [1, 0, 3], {2: 5}, None)
    >>> targets.Y.tolist(), targets.label_weight.tolist(), targets.rows.tolist()
    ([[0], [1]], [[1.0], [5.0]], [0, 2])
    """
    Y, coding = read_labels(y, allow_missing=True, missing_label=missing_label)
    if n_samples != len(Y):
        raise ValueError(
            f"X and y must have one row per example each; got {n_samples} rows in X "
            f"and {len(Y)} in y. Pass the labels of exactly these examples."
        )
    weight, rows = _read_sample_weight(sample_weight, len(Y)), None
    counts = (Y >= 0).any(axis=1)
    if weight is not None:
        counts &= weight > 0
    if not counts.all():
        rows = np.flatnonzero(counts)
        weight = None if weight is None else weight[rows]
        Y, coding = coding.restricted_to(Y[rows])
    if weight is not None and (weight == 1.0).all():
        weight = None
    tables = _read_class_weight(class_weight, Y, coding, weight)
    return WeightedLabels(Y, coding, weight, _label_weight(tables, Y), rows)


def _read_sample_weight(sample_weight: Any, n_samples: int) -> Weights | None:
    """Return weights that training can work with; None if there are none."""
    weight = check_sample_weight(sample_weight, n_samples)
    if weight is None:
        return None
    extreme = np.flatnonzero((weight > 0) & (weight < _SMALLEST) | (weight > LARGEST))
    if len(extreme):
        i = int(extreme[0])
        raise ValueError(
            f"sample_weight must be 0 or between {_SMALLEST:g} and {LARGEST:g}; the "
            f"weight of example {i} is {weight[i]:g}. Multiply all weights by a "
            "constant, and divide C by it."
        )
    return weight


def _read_class_weight(
    class_weight: Any, Y: NDArray[np.int32], coding: LabelCoding, weight: Weights | None
) -> list[Weights] | None:
    """Return the weights of the values of every label."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = [
            np.bincount(
                column[column >= 0],
                None if weight is None else weight[column >= 0],
                minlength=n_values,
            )
            for column, n_values in zip(Y.T, coding.n_values, strict=True)
        ]
        return [count.sum() / (len(count) * count) for count in counts]
    if isinstance(class_weight, Mapping):
        if any(isinstance(own, Mapping) for own in class_weight.values()):
            raise ValueError(
                "a dict as class_weight has a number for every value, the same for all "
                "labels; got a dict of dicts. For weights of single labels pass a list "
                f"with a dict for each of the {len(coding.classes)} labels, in their "
                "order; an empty dict means weight 1."
            )
        possible = set().union(*map(_possible_values, coding.classes))
        _check_values(class_weight, possible, "any label")
        return [_table(class_weight, values) for values in coding.classes]
    if not isinstance(class_weight, list | tuple):
        raise ValueError(
            'class_weight must be None, "balanced", a dict from values to weights, or '
            f"a list with such a dict for every label; got {quoted(class_weight)}."
        )
    n_labels = len(coding.classes)
    if len(class_weight) != n_labels:
        raise ValueError(
            "a list of class_weight must have a dict for each label, here "
            f"{n_labels}; got {len(class_weight)}. Use an empty dict for a label whose "
            "values all have weight 1."
        )
    for j, (own, values) in enumerate(zip(class_weight, coding.classes, strict=True)):
        name = f"label {coding.name_of(j)}"
        if not isinstance(own, Mapping):
            raise ValueError(
                "a list of class_weight must hold a dict from values to weights for "
                f"every label; for {name} it holds {quoted(own)}."
            )
        _check_values(own, _possible_values(values), name)
    return list(map(_table, class_weight, coding.classes))


def _possible_values(values: NDArray[Any]) -> set[Any]:
    """Return the values of a label; both 0 and 1 even if only one of them is seen."""
    seen = set(values.tolist())
    return seen | {0, 1} if seen <= {0, 1} else seen


def _check_values(weights: Mapping[Any, Any], values: set[Any], where: str) -> None:
    for value, weight in weights.items():
        if value not in values:
            known = ", ".join(sorted(map(repr, values))[:10])
            raise ValueError(
                f"class_weight has a weight for {quoted(value)}, which is not a value "
                f"of {where} in y. Values are {known}; leave the others out."
            )
        name = f"class_weight of {quoted(value)}"
        check_number(name, weight, maximum=LARGEST, strict=False)


def _table(weights: Mapping[Any, Any], values: NDArray[Any]) -> Weights:
    return np.array([float(weights.get(value, 1.0)) for value in values.tolist()])


def _label_weight(tables: list[Weights] | None, Y: NDArray[np.int32]) -> Weights | None:
    """Return the weight of every label of every example; any where not observed."""
    if tables is None or all((table == 1.0).all() for table in tables):
        return None
    known = np.maximum(Y, 0)
    columns = [table[codes] for table, codes in zip(tables, known.T, strict=True)]
    weights = np.ascontiguousarray(np.column_stack(columns))
    if not weights[Y >= 0].any():
        raise ValueError(
            "class_weight must be positive for some value that occurs in y; all are "
            "zero, so there is nothing to learn from."
        )
    return weights
