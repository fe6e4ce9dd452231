"""Multilabel classification with ensembles of random output graphs."""

__version__ = "0.1.0"
