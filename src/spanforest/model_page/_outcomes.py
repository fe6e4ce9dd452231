"""True and predicted labels of examples, as codes of the values of training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._html import cut
from spanforest._labels import LabelCoding, column_names
from spanforest._wording import quoted, visible
from spanforest.diagnostics import in_training_order
from spanforest.diagnostics._models import FittedModel
from spanforest.metrics import find_missing, is_missing

UNKNOWN = -1  # code of a true label that is missing
UNSEEN = -2  # code of a value that did not occur in training
_LONGEST = 80  # letters of a name; the page would grow without a bound


class Question(NamedTuple):
    """Whether a label has a value: a question with the answer yes or no."""

    name: str
    label: int
    code: int


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What a model predicted for examples, and what is true if that is known."""

    names: list[str]  # of the labels, fit to be shown
    coding: LabelCoding
    predicted: NDArray[np.int32]  # codes, (n_samples, n_labels)
    truth: NDArray[np.int32] | None  # codes, UNKNOWN or UNSEEN; None without any labels

    @classmethod
    def of(cls, fitted: FittedModel, X: Any, Y: Any) -> Self:
        """Predict the labels of X, and read the true ones unless Y is None."""
        coding = fitted.coding
        names = [shown(name) for name in fitted.label_names(None)]
        predicted = codes_of(fitted.classifier.predict(X), coding)
        if Y is None:
            return cls(names, coding, predicted, None)
        Y = in_training_order(fitted.classifier, Y)
        truth = codes_of(Y, coding, fitted.classifier.missing_label)
        if truth.shape != predicted.shape:
            raise ValueError(
                f"Y must hold {predicted.shape[1]} labels of {len(predicted)} "
                f"examples; got {truth.shape[1]} labels of {len(truth)} examples."
            )
        _check_values(truth, Y, coding)
        return cls(names, coding, predicted, None if (truth < 0).all() else truth)

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return len(self.predicted)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.names)

    @cached_property
    def complete(self) -> NDArray[np.intp]:
        """Numbers of the examples whose labels are all known."""
        if self.truth is None:
            return np.arange(0)
        return np.flatnonzero((self.truth != UNKNOWN).all(axis=1))

    @cached_property
    def questions(self) -> list[Question]:
        """What a table of labels asks: one row for a label of two values, else more.

        A label of two values, or of one, is asked whether it is on. A label of more
        values is asked for each of them.
        """
        return [question for j in range(self.n_labels) for question in self._asked(j)]

    def _asked(self, j: int) -> Iterator[Question]:
        n_values, is_on = len(self.coding.classes[j]), self.coding.is_on[j]
        if n_values > 2:
            for code in range(n_values):
                yield Question(self.texts[j][code], j, code)
        else:
            code = int(is_on.argmax()) if is_on.any() else UNSEEN
            yield Question(self.names[j], j, code)

    @cached_property
    def texts(self) -> list[list[str]]:
        """How a label set names each value of each label; empty for a label off."""
        return [
            _value_texts(name, values, is_on)
            for name, values, is_on in zip(
                self.names, self.coding.classes, self.coding.is_on, strict=True
            )
        ]

    def text(self, j: int, code: int) -> str:
        """Return how a label set names label j with a value; empty if it is off."""
        if code >= 0:
            return self.texts[j][code]
        is_unseen = code == UNSEEN
        return f"{self.names[j]} = a value that training lacks" if is_unseen else ""

    def label_set(self, codes: NDArray[np.int32]) -> list[str]:
        """Return the texts of a whole label set."""
        texts = (self.text(j, int(code)) for j, code in enumerate(codes))
        return [text for text in texts if text]

    def wrong(self, rows: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.bool_]:
        """Return which known labels of some examples are wrong."""
        if self.truth is None:
            return np.zeros(self.predicted[rows].shape, dtype=bool)
        truth = self.truth[rows]
        return (truth != UNKNOWN) & (truth != self.predicted[rows])


def shown(name: object) -> str:
    r"""Return a name or value that is safe and short enough to be shown.

    Examples
    --------
    >>> print(shown("a\x00b"), len(shown("long" * 100)))
    a\x00b 80
    """
    return cut(visible(str(name)), _LONGEST)


def _value_texts(
    name: str, values: NDArray[Any], is_on: NDArray[np.bool_]
) -> list[str]:
    are_bits = set(values.tolist()) <= {0, 1}
    texts = [name if are_bits else f"{name} = {shown(value)}" for value in values]
    if len(values) > 2:
        return texts
    return [text if on else "" for text, on in zip(texts, is_on, strict=True)]


def codes_of(
    Y: Any, coding: LabelCoding, missing_label: Any = None
) -> NDArray[np.int32]:
    """Return the codes that the values of Y had in training.

    Unlike `read_labels`, this takes labels of which no value is known.

    Examples
    --------
    >>> from spanforest._labels import read_labels
    >>> coding = read_labels([[0, "a"], [1, "b"]])[1]
    >>> codes_of([[1, "b"], [None, "c"]], coding).tolist()
    [[1, 1], [-1, -2]]
    """
    columns = _columns(Y)
    codes = np.full((len(columns[0]), len(columns)), UNSEEN, dtype=np.int32)
    # the caller compares the number of labels
    for j, (column, values) in enumerate(zip(columns, coding.classes, strict=False)):
        missing, given = find_missing(column), np.asarray(column)
        if missing_label is not None and not is_missing(missing_label):
            missing[~missing] = given[~missing] == missing_label
        rows = np.flatnonzero(~missing)
        codes[missing, j] = UNKNOWN
        for code, value in enumerate(values.tolist()):
            codes[rows[given[rows] == value], j] = code
    return codes


def _columns(Y: Any) -> Sequence[NDArray[Any]]:
    """Return the columns of labels of any form."""
    names = column_names(Y)
    if names is not None:
        return [np.asarray(Y[name]) for name in names]
    array = Y.toarray() if sparse.issparse(Y) else Y
    if not isinstance(Y, np.ma.MaskedArray):
        array = np.asarray(array)
        if isinstance(Y, list) and array.dtype.kind in "US":
            array = np.asarray(Y, dtype=object)  # keeps numbers that stand among texts
    return list(np.atleast_2d(array.T))


def _check_values(truth: NDArray[np.int32], Y: Any, coding: LabelCoding) -> None:
    """Refuse labels of which no value occurred in training."""
    unseen = truth == UNSEEN
    if not unseen.any() or (truth >= 0).any():
        return
    i, j = (int(at) for at in np.argwhere(unseen)[0])
    given = np.asarray(_columns(Y)[j]).tolist()[i]
    raise ValueError(
        "Y must hold values that occurred in training; none of them did. Label "
        f"{j} of example {i} is {quoted(given)}, and was "
        f"{quoted(coding.classes[j].tolist()[0])} in training, for example. Encode Y "
        "as for fit."
    )
