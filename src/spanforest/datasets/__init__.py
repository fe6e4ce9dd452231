"""Data sets: generated, read from files, and by name."""

from spanforest.datasets._arff import load_arff
from spanforest.datasets._arff_format import ArffError, Attribute, Relation, read_arff
from spanforest.datasets._circle import make_circle
from spanforest.datasets._csv_format import CsvFormat
from spanforest.datasets._csv_parquet import load_csv, load_parquet
from spanforest.datasets._dataset import Dataset, drop_degenerate
from spanforest.datasets._libsvm import load_libsvm
from spanforest.datasets._named import (
    PAPER_DATASETS,
    KnownDataset,
    list_datasets,
    load_dataset,
)
from spanforest.datasets._npz import load_npz

__all__ = [
    "PAPER_DATASETS",
    "ArffError",
    "Attribute",
    "CsvFormat",
    "Dataset",
    "KnownDataset",
    "Relation",
    "drop_degenerate",
    "list_datasets",
    "load_arff",
    "load_csv",
    "load_dataset",
    "load_libsvm",
    "load_npz",
    "load_parquet",
    "make_circle",
    "read_arff",
]
