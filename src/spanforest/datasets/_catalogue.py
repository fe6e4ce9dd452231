"""Which data sets are known by name, and which of them are to be had here."""

import os
from pathlib import Path
from typing import NamedTuple

from spanforest.datasets._named import _KNOWN, _SUFFIXES


class KnownDataset(NamedTuple):
    """A data set that `load_dataset` knows, not loaded."""

    name: str
    n_samples: int
    n_features: int  # 0: a kernel matrix instead
    n_labels: int
    cardinality: float
    source: str  # "generated", a file, "OpenML", or "" if it is not to be had
    note: str


def list_datasets(
    data_home: str | os.PathLike[str] | None = None,
) -> list[KnownDataset]:
    """Give the data sets that `load_dataset` knows, without loading any.

    Parameters
    ----------
    data_home : path or None, default=None
        The folder to look in, as for `load_dataset`.

    Returns
    -------
    list of KnownDataset
        `source` says where `load_dataset` would take each from. What is on OpenML must
        be fetched, unless scikit-learn has it in its cache.

    Examples
    --------
    >>> from spanforest.datasets import list_datasets
    >>> circle = [known for known in list_datasets() if known.name == "circle10"]
    >>> circle[0].n_labels, circle[0].source
    (10, 'generated')
    """
    folder = data_home or os.environ.get("SPANFOREST_DATA")
    return [
        KnownDataset(
            name=name,
            n_samples=known.n_samples,
            n_features=known.n_features,
            n_labels=known.n_labels,
            cardinality=known.cardinality,
            source=_source(name, known.stem or name, folder)
            or ("OpenML" if known.openml else ""),
            note=known.note,
        )
        for name, known in _KNOWN.items()
    ]


def _source(name: str, stem: str, folder: str | os.PathLike[str] | None) -> str:
    if name.startswith("circle"):
        return "generated"
    paths = [Path(folder, stem + suffix) for suffix in _SUFFIXES] if folder else []
    return next((str(path) for path in paths if path.is_file()), "")
