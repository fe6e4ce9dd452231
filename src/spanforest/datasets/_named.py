"""Data sets by name: those of the paper, a few more, and files in a folder."""

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import fetch_openml

from spanforest._wording import did_you_mean, numbered_labels, quoted
from spanforest.datasets._arff import load_arff
from spanforest.datasets._circle import make_circle
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._npz import load_npz
from spanforest.datasets._words import whole_numbers

PAPER_DATASETS = (
    *("emotions", "yeast", "scene", "enron", "cal500"),
    *("fingerprint", "nci60", "medical", "circle10", "circle50"),
)


class KnownDataset(NamedTuple):
    """A data set that `load_dataset` knows, not loaded."""

    name: str
    n_samples: int
    n_features: int  # 0: a kernel matrix instead
    n_labels: int
    cardinality: float
    source: str  # "generated", a file, "OpenML", or "" if there is no source
    home: str  # a page where files of the data set can be found, or ""
    note: str


class _Known(NamedTuple):
    """What a data set must look like, and where it comes from."""

    n_samples: int
    n_features: int  # 0: a kernel matrix instead
    n_labels: int
    cardinality: float
    openml: int | None = None  # OpenML's data_id
    is_text: bool = False
    stem: str | None = None  # name of the file, if it differs
    drop: tuple[str, ...] = ()  # attributes of the ARFF file that identify rows
    kernel: str = "linear"
    home: str = ""  # where its files can be found
    note: str = ""


_MULAN = "https://github.com/tsoumakas/mulan/tree/master/data/multi-label"
_MLDR = "https://github.com/fcharte/mldr.datasets/tree/master/data"
_AUTHORS = "https://github.com/hongyusu/RandomOutputGraphEnsemble"

# Cardinalities are those of the data. Table 1 of the paper agrees, but for enron
# (printed: 3.36), medical (printed: 1.14) and nci60 (see its note).
_KNOWN = {
    "emotions": _Known(593, 72, 6, 1.868, openml=40589, home=_MULAN),
    "yeast": _Known(2417, 103, 14, 4.237, openml=40597, home=_MULAN),
    "scene": _Known(2407, 294, 6, 1.074, openml=40595, home=_MULAN),
    "enron": _Known(1702, 1001, 53, 3.378, openml=40590, is_text=True, home=_MULAN),
    "cal500": _Known(502, 68, 174, 26.044, home=_MULAN),
    "fingerprint": _Known(490, 0, 286, 49.104, home=_AUTHORS),
    "nci60": _Known(
        *(3281, 2048, 59, 13.756),
        stem="nci60_subset",
        kernel="tanimoto",
        home="https://github.com/hongyusu/Master_thesis",
        note=(
            "Not the set of the paper's Table 1 (4547 molecules, 60 cell lines, "
            "cardinality 11.05) but a subset of its 59-line predecessor: the 3281 "
            "molecules whose structure could be found. Inactive molecules are "
            "under-represented. The features are 2048-bit path fingerprints, for "
            "the Tanimoto kernel."
        ),
    ),
    "medical": _Known(978, 1449, 45, 1.245, is_text=True, home=_MULAN),
    "circle10": _Known(1000, 3, 10, 8.54),
    "circle50": _Known(1000, 3, 50, 35.63),
    "bibtex": _Known(7395, 1836, 159, 2.402, is_text=True, home=_MULAN),
    "tmc2007_500": _Known(28596, 500, 22, 2.158, is_text=True, home=_MULAN),
    "genbase": _Known(
        662, 1185, 27, 1.252, openml=40591, drop=("protein",), home=_MULAN
    ),
    "foodtruck": _Known(407, 21, 12, 2.290, home=_MULAN),
    "water_quality": _Known(
        *(1060, 16, 14, 5.073), home="https://github.com/JiaxuanGood/EML2"
    ),
    "slashdot": _Known(3749, 1079, 22, 1.182, is_text=True, home=_MLDR),
}
_SUFFIXES = (".npz", ".arff", ".arff.bz2", ".arff.gz")


def list_datasets(
    data_home: str | os.PathLike[str] | None = None,
) -> list[KnownDataset]:
    """Return the data sets that `load_dataset` knows, without loading any.

    Parameters
    ----------
    data_home : path or None, default=None
        The folder to look in, as for `load_dataset`.

    Returns
    -------
    list of KnownDataset
        `source` says where `load_dataset` would take each data set from. Data sets on
        OpenML are downloaded, unless they are in scikit-learn's cache.

    Examples
    --------
    >>> from spanforest.datasets import list_datasets
    >>> circle = [known for known in list_datasets() if known.name == "circle10"]
    >>> circle[0].n_labels, circle[0].source
    (10, 'generated')
    """
    return [
        KnownDataset(
            name=name,
            n_samples=known.n_samples,
            n_features=known.n_features,
            n_labels=known.n_labels,
            cardinality=known.cardinality,
            source=_source(name, known, _folder(data_home)),
            home=known.home,
            note=known.note,
        )
        for name, known in _KNOWN.items()
    ]


def load_dataset(name: str, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Return one of the paper's data sets, or one of a few others, by its name.

    The paper's ten are emotions, yeast, scene, enron, cal500, fingerprint, nci60,
    medical, circle10 and circle50. The others are bibtex, tmc2007_500, genbase,
    foodtruck, water_quality and slashdot. Circle10 and Circle50 are generated. The rest
    is read from a folder with files ``NAME.npz`` (see `load_npz`), or ``NAME.arff``,
    plain or compressed, with ``NAME.xml``. If the folder does not have them, emotions,
    yeast, scene, enron and genbase are downloaded from OpenML and kept in
    scikit-learn's cache. Any other name is that of a file in the folder, for data of
    your own.

    Parameters
    ----------
    name : str
        Upper and lower case do not matter, nor do ``-`` and ``_``.
    data_home : path or None, default=None
        The folder. None stands for the environment variable ``SPANFOREST_DATA``.

    Returns
    -------
    dataset : Dataset
        Size and cardinality have been checked, but for data of your own. `is_text`
        marks the sets to which the paper applies TF-IDF. Only a subset of NCI60 is
        available: its `note` says so.

    Raises
    ------
    ValueError
        If the name is neither known nor that of a file in the folder, or if the data do
        not have the expected size.
    FileNotFoundError
        If there is no source for the data set; the message says what to do.

    Examples
    --------
    >>> from spanforest.datasets import load_dataset
    >>> circle = load_dataset("Circle10")
    >>> circle
    <Dataset circle10: 1000 x 10 labels, 3 features>
    >>> round(circle.cardinality, 2)
    8.54
    """
    key, folder = _as_key(name), _folder(data_home)
    if key not in _KNOWN:
        return _own_dataset(key, folder)
    known = _KNOWN[key]
    dataset, source = _load(key, known, folder)
    _check(key, known, dataset, source)
    return replace(
        dataset,
        name=key,
        is_text=known.is_text,
        kernel=known.kernel,
        note=known.note,
    )


def _folder(data_home: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    return data_home or os.environ.get("SPANFOREST_DATA")


def _own_dataset(key: str, folder: str | os.PathLike[str] | None) -> Dataset:
    """Return the data set of a file in the folder that is not one of the known ones."""
    files = sorted(Path(folder).iterdir()) if folder and Path(folder).is_dir() else []
    wanted = [key + suffix for suffix in _SUFFIXES]
    path = next((str(one) for one in files if _as_key(one.name) in wanted), None)
    if path is None:
        raise ValueError(
            f"name must be one of {', '.join(_KNOWN)}, or that of a file with the "
            f"ending {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]} in "
            f"{folder or 'the folder data_home'}; got {quoted(key)}."
            f"{did_you_mean([key], _KNOWN)}"
        )
    dataset = load_npz(path) if path.endswith(".npz") else load_arff(path)
    return replace(dataset, name=key)


def _as_key(name: str) -> str:
    return name.lower().replace("-", "_")


def _source(name: str, known: _Known, folder: str | os.PathLike[str] | None) -> str:
    """Return "generated", the path of a file, "OpenML", or "" if there is no source."""
    if name.startswith("circle"):
        return "generated"
    stem = known.stem or name
    paths = [Path(folder, stem + suffix) for suffix in _SUFFIXES] if folder else []
    nowhere = "OpenML" if known.openml else ""
    return next((str(path) for path in paths if path.is_file()), nowhere)


def _load(
    name: str, known: _Known, folder: str | os.PathLike[str] | None
) -> tuple[Dataset, str]:
    """Return the data set and its source."""
    source = _source(name, known, folder)
    if source == "generated":
        X, Y = make_circle(known.n_samples, known.n_labels, random_state=0)
        labels = numbered_labels(known.n_labels)
        features = ("x", "y", "constant")
        return Dataset(name, Y, X, feature_names=features, label_names=labels), source
    if source.endswith(".npz"):
        return load_npz(source), source
    if source not in ("OpenML", ""):
        return load_arff(source, drop=known.drop), source

    stem = known.stem or name
    looked = f"is not in {folder}" if folder else "needs a folder"
    advice = (
        f"the data set {name} {looked}. Put {stem}.npz, or {stem}.arff (also .bz2, "
        f".gz) with {stem}.xml, into a folder, and pass it as data_home or set the "
        "environment variable SPANFOREST_DATA to it. Its files, to be converted if "
        f"need be, are at {known.home}."
    )
    if not source:
        raise FileNotFoundError(advice[0].upper() + advice[1:])
    try:
        return _fetch(name, known), f"OpenML, data_id {known.openml}"
    except OSError as error:  # no network, or OpenML does not answer
        raise FileNotFoundError(
            f"OpenML could not be reached ({error}), and {advice}"
        ) from error


def _fetch(key: str, known: _Known) -> Dataset:
    """Download a data set from OpenML, or take it from scikit-learn's cache."""
    bunch = fetch_openml(
        data_id=known.openml, as_frame=False, parser="liac-arff", cache=True
    )
    X = bunch.data
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    features = np.array(bunch.feature_names, dtype=object)
    kept = ~np.isin(features, known.drop)
    return Dataset(
        name=key,
        X=X[:, kept].astype(np.float64),
        Y=np.column_stack([_label(column) for column in np.asarray(bunch.target).T]),
        feature_names=tuple(features[kept]),
        label_names=tuple(bunch.target_names),
    )


def _label(column: np.ndarray) -> np.ndarray:
    """Turn OpenML's words, mostly TRUE and FALSE, into numbers."""
    values, codes = np.unique(column.astype(str), return_inverse=True)
    return np.array(whole_numbers(values.tolist()))[codes]


def _check(key: str, known: _Known, dataset: Dataset, source: str) -> None:
    """Raise an error unless a data set has the known size and cardinality."""
    expected = (known.n_samples, known.n_features, known.n_labels)
    actual = (dataset.n_samples, dataset.n_features, dataset.n_labels)
    if expected != actual or abs(dataset.cardinality - known.cardinality) > 5e-3:
        raise ValueError(
            f"{key} must have {expected} examples, features and labels and cardinality "
            f"{known.cardinality}; found {actual} and {dataset.cardinality:.3f} "
            f"({source}). Replace the file, or read it with load_arff or load_npz."
        )
