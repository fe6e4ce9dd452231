"""Data sets: generated, read from files, and by name."""

from spanforest.arff import ArffError
from spanforest.datasets._catalogue import KnownDataset, list_datasets
from spanforest.datasets._circle import make_circle
from spanforest.datasets._dataset import Dataset, drop_degenerate
from spanforest.datasets._files import load_arff, load_npz
from spanforest.datasets._named import PAPER_DATASETS, load_dataset
from spanforest.datasets._tables import load_csv, load_libsvm, load_parquet

__all__ = [
    "PAPER_DATASETS",
    "ArffError",
    "Dataset",
    "KnownDataset",
    "drop_degenerate",
    "list_datasets",
    "load_arff",
    "load_csv",
    "load_dataset",
    "load_libsvm",
    "load_npz",
    "load_parquet",
    "make_circle",
]
