"""Multilabel classification with ensembles of random output graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanforest._warm_up import warm_up
    from spanforest.ensemble import RandomGraphEnsembleClassifier
    from spanforest.mmcrf import MMCRFClassifier
    from spanforest.persistence import load, save
    from spanforest.tuning import RandomGraphEnsembleClassifierCV

__version__ = "0.1.0"

__all__ = [
    "MMCRFClassifier",
    "RandomGraphEnsembleClassifier",
    "RandomGraphEnsembleClassifierCV",
    "__version__",
    "load",
    "save",
    "warm_up",
]

_HOMES = {
    "MMCRFClassifier": "spanforest.mmcrf",
    "RandomGraphEnsembleClassifier": "spanforest.ensemble",
    "RandomGraphEnsembleClassifierCV": "spanforest.tuning",
    "load": "spanforest.persistence",
    "save": "spanforest.persistence",
    "warm_up": "spanforest._warm_up",
}


_MODULES = {
    "aggregation",
    "branch_and_bound",
    "calibration",
    "datasets",
    "decisions",
    "diagnostics",
    "factors",
    "graphs",
    "inference",
    "kernels",
    "losses",
    "metrics",
    "model_selection",
    "paper",
    "persistence",
    "plots",
    "solver",
    "tuning",
}


def __getattr__(name: str) -> Any:
    # Imported on first use: scikit-learn takes over a second, and brings pandas along.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"spanforest.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
