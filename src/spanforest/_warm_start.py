"""Members of an earlier fit that a larger ensemble keeps."""

from __future__ import annotations

import warnings
from typing import Any

import joblib

__all__ = ["fingerprint", "members_to_keep"]

# Parameters that change no member that is already there.
_FREE = {
    *("n_estimators", "aggregation", "graph", "verbose", "n_jobs"),
    *("probability", "threshold"),
}


def fingerprint(params: dict[str, Any], *data: Any) -> str:
    """Return a digest of the training data and of the parameters that members share.

    Parameters
    ----------
    params : dict
        The parameters of an ensemble. A function counts by its name.
    *data
        Examples, labels and weights, in any form that can be pickled.

    Examples
    --------
    >>> fingerprint({"C": 1}, [[0.0]], [1]) == fingerprint({"C": 1}, [[0.0]], [0])
    False
    """
    shared = {
        name: _named(value) for name, value in params.items() if name not in _FREE
    }
    return joblib.hash((shared, data))


def _named(value: Any) -> Any:
    """Return a parameter with names in place of functions, in lists and sums too."""
    if isinstance(value, list | tuple):
        return [_named(one) for one in value]
    if hasattr(value, "get_params") and not isinstance(value, type):
        return [type(value).__name__, _named(list(value.get_params(False).values()))]
    return getattr(value, "__qualname__", str(value)) if callable(value) else value


def members_to_keep(ensemble: Any, digest: str | None) -> list[Any]:
    """Return the members that an ensemble has and need not train again.

    Parameters
    ----------
    ensemble : RandomGraphEnsembleClassifier
        Before its next fit.
    digest : str or None
        The fingerprint of that fit; None to keep no members.
    """
    before = vars(ensemble).get("_fit_digest")
    if digest is None or before is None:
        return []
    if digest != before:
        raise ValueError(
            "warm_start=True adds members to those of the last fit, so X, y, the "
            "weights and all parameters of the members must be those of that fit; some "
            "are different. Set warm_start=False to train all members again."
        )
    members, n_wanted = ensemble.estimators_, ensemble.n_estimators
    if n_wanted < len(members):
        raise ValueError(
            "with warm_start=True, n_estimators must be at least the number of members "
            f"that are there, {len(members)}; got {n_wanted}."
        )
    if n_wanted == len(members):
        warnings.warn(
            f"all {n_wanted} members are there already, so fit trains none. Raise "
            "n_estimators to add members.",
            stacklevel=3,
        )
    return list(members)
