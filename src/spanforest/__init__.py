"""Multilabel classification with ensembles of random output graphs."""

from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.mmcrf import MMCRFClassifier

__version__ = "0.1.0"

__all__ = ["MMCRFClassifier", "RandomGraphEnsembleClassifier", "__version__"]
