"""Columns of a file: which are labels, and the labels as whole numbers."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._wording import did_you_mean, listed, quoted

_LARGEST = 2**53  # floats represent every whole number up to this one


class MissingColumnsError(ValueError):
    """Some columns that a reader asked for are not in the file."""

    def __init__(self, message: str, missing: Sequence[str]) -> None:
        super().__init__(message)
        self.missing = tuple(missing)


class Columns(NamedTuple):
    """The names of the columns of a file."""

    names: list[str]
    path: str
    noun: str = "columns"  # the word of the file format, for messages

    def check(self, wanted: Sequence[str], option: str) -> None:
        """Raise an error unless `wanted` are distinct names of columns."""
        known = set(self.names)
        missing = [name for name in wanted if name not in known]
        if missing:
            raise MissingColumnsError(
                f"{self.path}: {option} must be names of {self.noun}; "
                f"{listed(missing)} not found.{did_you_mean(missing, self.names)} The "
                f"{self.noun} are {listed(self.names)}.",
                missing,
            )
        if len(set(wanted)) < len(wanted):
            twice = Counter(wanted).most_common(1)[0][0]
            raise ValueError(
                f"{self.path}: {option} must be distinct; {quoted(twice)} is there "
                "twice."
            )

    def without(self, drop: str | Iterable[str]) -> "Columns":
        """Return the columns that are left after some are dropped."""
        dropped = [drop] if isinstance(drop, str) else list(drop)
        self.check(dropped, "drop")
        out = set(dropped)
        kept = [name for name in self.names if name not in out]
        return self._replace(names=kept)

    def choose(self, labels: str | int | Sequence[str]) -> list[str]:
        """Return the names of the labels: given by name, or counted from one end.

        A positive number counts from the beginning, a negative one from the end.
        """
        if isinstance(labels, str):
            return [labels]
        if not isinstance(labels, int | np.integer):
            return list(labels)
        if not 0 < abs(labels) <= len(self.names):
            raise ValueError(
                f"{self.path}: there are {len(self.names)} {self.noun}, so the number "
                f"of labels must be between 1 and {len(self.names)}; got {abs(labels)}."
            )
        return self.names[:labels] if labels > 0 else self.names[labels:]


def whole_labels(
    Y: NDArray[np.float64], path: str, place: Callable[[int, int], str]
) -> NDArray[Any]:
    """Return labels as integers, or as floats if some are missing (NaN).

    `place(i, j)` says where label j of example i stands, for the error that a fraction
    or an infinite value raises.
    """
    missing = np.isnan(Y)
    is_whole = (np.rint(Y) == Y) & (np.abs(Y) <= _LARGEST)
    if not (is_whole | missing).all():
        i, j = (int(at) for at in np.argwhere(~(is_whole | missing))[0])
        raise ValueError(
            f"{path}: labels must be whole numbers or categories; {place(i, j)} is "
            f"{Y[i, j]:g}. Is it a feature?"
        )
    return Y if missing.any() else Y.astype(int)
