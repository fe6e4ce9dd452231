"""Data sets: generated, read from files, and by name."""

from spanforest.arff import ArffError
from spanforest.datasets._circle import make_circle
from spanforest.datasets._dataset import Dataset, drop_degenerate
from spanforest.datasets._files import load_arff, load_npz
from spanforest.datasets._named import PAPER_DATASETS, load_dataset

__all__ = [
    "PAPER_DATASETS",
    "ArffError",
    "Dataset",
    "drop_degenerate",
    "load_arff",
    "load_dataset",
    "load_npz",
    "make_circle",
]
