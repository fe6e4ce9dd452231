"""Checks of parameters: numbers, counts, options and random states."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from spanforest._wording import quoted

__all__ = [
    "LARGEST",
    "check_count",
    "check_n_jobs",
    "check_number",
    "check_option",
    "check_sample_weight",
    "check_verbose",
    "seed_sequence",
]

LARGEST = 1e100  # limit of C, weights and offsets; products of two do not overflow


def check_number(
    name: str,
    value: Any,
    *,
    minimum: float = 0.0,
    maximum: float = np.inf,
    strict: bool = True,
) -> float:
    """Return a finite number greater than `minimum`; or equal to it if not `strict`.

    It may be equal to `maximum`.

    Examples
    --------
    >>> check_number("C", 0.5)
    0.5
    """
    ok = isinstance(value, Real) and not isinstance(value, bool)
    ok = ok and np.isfinite(value) and (value > minimum or not strict)
    if not ok or value < minimum:
        relation = "greater than" if strict else "at least"
        raise ValueError(
            f"{name} must be a number {relation} {minimum:g}; got {quoted(value)}."
        )
    if value > maximum:
        raise ValueError(f"{name} must be at most {maximum:g}; got {quoted(value)}.")
    return float(value)


def check_count(name: str, value: Any) -> int:
    """Return a whole number of at least one.

    Examples
    --------
    >>> check_count("max_iter", 5)
    5
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{name} must be a whole number of at least 1; got {quoted(value)}."
        )
    return int(value)


def check_n_jobs(value: Any) -> None:
    """Refuse a number of jobs that joblib does not take.

    Examples
    --------
    >>> check_n_jobs(-1)
    """
    if value is None:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value == 0:
        raise ValueError(
            "n_jobs must be None or a whole number that is not 0, such as 2, or -1 for "
            f"all processors; got {quoted(value)}."
        )


def check_verbose(value: Any) -> None:
    """Refuse what does not say whether progress is shown.

    Examples
    --------
    >>> check_verbose(1)
    """
    if not isinstance(value, Integral | np.bool_) or int(value) < 0:
        raise ValueError(
            "verbose must be True, False or a whole number of at least 0; got "
            f"{quoted(value)}."
        )


def check_sample_weight(
    sample_weight: Any, n_samples: int
) -> NDArray[np.float64] | None:
    """Return the weights of examples as an array; None if there are none.

    Examples
    --------
    >>> check_sample_weight([1, 0.5], 2)
    array([1. , 0.5])
    """
    if sample_weight is None:
        return None
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must be an array of numbers, one per example; {error}."
        ) from error
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one number per example, shape ({n_samples},); "
            f"got shape {weight.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(
            "sample_weight must hold finite numbers of at least 0; the weight of "
            f"example {i} is {weight[i]:g}. Give an example weight 0 to leave it "
            "out."
        )
    if not weight.any():
        raise ValueError(
            "sample_weight must be positive for at least one example; all of them are "
            "zero."
        )
    return weight


def check_option(name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return `value` if it is one of the options.

    Examples
    --------
    >>> check_option("aggregation", "mam", ("mve", "amm", "mam"))
    'mam'
    """
    if not isinstance(value, str) or value not in options:
        known = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {known}; got {quoted(value)}.")
    return value


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the seed from which a fit derives all its randomness.

    Parameters
    ----------
    random_state : None, int, RandomState or Generator
        An integer gives the same seed every time. A generator draws the seed, and so
        changes its state.

    Examples
    --------
    >>> seed_sequence(3).entropy
    3
    """
    if random_state is None or isinstance(random_state, Integral):
        check_random_state(random_state)  # refuses negative numbers
        entropy = None if random_state is None else int(random_state)
        return np.random.SeedSequence(entropy)
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    words = check_random_state(random_state).randint(2**31, size=4)
    return np.random.SeedSequence(words.tolist())
