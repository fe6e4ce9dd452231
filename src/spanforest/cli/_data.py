"""Finding out what DATA is, and reading it: to train on, or as a model needs it."""

import bz2
import csv
import gzip
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spanforest.cli._options import Format, bad_option

if TYPE_CHECKING:
    from spanforest.cli._model import TrainedModel
    from spanforest.datasets import Dataset

_SUFFIX = re.compile(r"\.(\w+?)(\.(gz|bz2|xz|zip))?$", re.IGNORECASE)
_OTHER_SUFFIXES = {
    "tab": Format.tsv,
    "pq": Format.parquet,
    "svm": Format.libsvm,
    "svmlight": Format.libsvm,
}
_OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open}


class Request(NamedTuple):
    """What the user says of the data."""

    source: str  # a file, or the name of a data set
    labels: str | None = None
    drop: str | None = None
    format: Format | None = None

    @property
    def label_columns(self) -> int | list[str] | Path | None:
        """The labels, in the form that the readers take."""
        if self.labels is None:
            return None
        counted = re.fullmatch(r"(first|last):([0-9]+)", self.labels.strip())
        if counted and int(counted[2]):
            number = int(counted[2])
            return number if counted[1] == "first" else -number
        if self.labels.lower().endswith(".xml"):
            return Path(self.labels)
        names = _names(self.labels)
        if counted or not names:
            raise bad_option(
                f"at least one label is needed; got {self.labels!r}.", "--labels"
            )
        return names

    @property
    def dropped(self) -> list[str]:
        """The columns to leave out."""
        return _names(self.drop or "")


def _names(text: str) -> list[str]:
    """Split a list of names at its commas; a name with a comma stands in quotes."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


def read_training_data(request: Request) -> "Dataset":
    """Read examples with their labels.

    Labels without a name are numbered.
    """
    from spanforest.datasets import load_arff, load_libsvm, load_npz

    path, kind = _locate(request)
    labels = request.label_columns
    if path is None or kind in (Format.libsvm, Format.npz):
        _refuse_columns(
            request, "a data set with a name" if path is None else f"an {kind} file"
        )
    if path is None:
        dataset = _known_dataset(request.source)
    elif kind is Format.arff:
        if isinstance(labels, int):  # counted as in tables: what is dropped is not
            names = [attribute.name for attribute in _arff_header(path)]
            kept = [name for name in names if name not in request.dropped]
            labels = kept[:labels] if labels > 0 else kept[labels:]
        dataset = load_arff(path, labels, drop=request.dropped)
    elif kind is Format.libsvm:
        dataset = load_libsvm(path)
    elif kind is Format.npz:
        dataset = load_npz(path)
    else:
        if labels is None:
            raise bad_option(
                f"which columns of {path} are labels? Say --labels with their names, "
                "such as --labels happy,sad, or first:N or last:N.",
                "--labels",
            )
        dataset = _read_table(path, kind, labels, drop=request.dropped)
    if len(dataset.label_names) != dataset.n_labels:
        numbered = tuple(f"label{j}" for j in range(dataset.n_labels))
        dataset = replace(dataset, label_names=numbered)
    return dataset


def read_for_model(
    request: Request, model: "TrainedModel", *, with_labels: bool
) -> "Dataset":
    """Read examples with the features of a model, in its order, and their labels.

    Without labels `Y` is empty. Columns that the model does not know are ignored.
    """
    from spanforest.datasets import load_libsvm

    path, kind = _locate(request)
    if path is None:
        dataset = _known_dataset(request.source)
    elif kind is Format.libsvm:
        numbers = [str(j + 1) for j in range(model.n_features)]
        dataset = load_libsvm(
            path,
            feature_names=model.feature_names or numbers,
            label_names=model.label_names if with_labels else None,
        )
    elif kind is Format.npz:
        dataset = _read_npz(path)
    else:
        dataset = _read_columns(request, path, kind, model, with_labels)
    return model.align(dataset, request.source, with_labels=with_labels)


def _locate(request: Request) -> tuple[Path | None, Format | None]:
    """Return the file and its format, or no file for a data set with a name."""
    from spanforest.datasets import list_datasets

    path = Path(request.source)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; DATA must be a file.")
    if path.exists():
        return path, request.format or _format_of(path)
    name = request.source.lower().replace("-", "_")
    if name in [known.name for known in list_datasets()]:
        return None, None
    raise FileNotFoundError(
        f"there is no file {path}, and no data set of that name. 'spanforest datasets' "
        "lists the names."
    )


def _format_of(path: Path) -> Format:
    found = _SUFFIX.search(path.name)
    suffix = found[1].lower() if found else ""
    if suffix in list(Format):
        return Format(suffix)
    if suffix in _OTHER_SUFFIXES:
        return _OTHER_SUFFIXES[suffix]
    raise bad_option(
        f"the name of {path} does not tell its format: say --format with one of "
        f"{', '.join(Format)}.",
        "--format",
    )


def _known_dataset(name: str) -> "Dataset":
    from spanforest.datasets import load_dataset

    return load_dataset(name)


def _refuse_columns(request: Request, what: str) -> None:
    for option, value in (("--labels", request.labels), ("--drop", request.drop)):
        if value is not None:
            raise bad_option(
                f"{what} says itself what its labels and features are.", option
            )


def _read_table(path: Path, kind: Format | None, labels: Any, **options: Any) -> Any:
    from spanforest.datasets import load_csv, load_parquet

    if isinstance(labels, Path):
        raise bad_option("an XML file names the labels of ARFF files only.", "--labels")
    if kind is Format.parquet:
        return load_parquet(path, labels, **options)
    separator = "\t" if kind is Format.tsv else ","
    return load_csv(path, labels, separator=separator, **options)


def _read_columns(
    request: Request,
    path: Path,
    kind: Format | None,
    model: "TrainedModel",
    with_labels: bool,
) -> "Dataset":
    """Read a file with named columns; of a table only what the model needs."""
    from spanforest.datasets import load_arff

    labels = request.label_columns
    if kind is Format.arff:
        attributes = _arff_header(path)
        names = [attribute.name for attribute in attributes]
        text = [a.name for a in attributes if a.kind in ("string", "date")]
        if labels is None and set(model.label_names) & set(names):
            labels = [name for name in model.label_names if name in names]
        elif labels is None and (model.feature_names or len(names) == model.n_features):
            labels = []
        unknown = set(text) - set(model.feature_names or ())
        return load_arff(path, labels, drop=sorted(unknown))
    if labels is None:
        labels = list(model.label_names) if with_labels else []
    return _read_table(path, kind, labels, features=model.feature_names)


def _arff_header(path: Path) -> Sequence[Any]:
    """Return the attributes that an ARFF file declares, without reading its rows."""
    from spanforest.arff import read_arff

    opener = _OPENERS.get(path.suffix.lower(), open)
    with opener(path, "rt", encoding="utf-8-sig", errors="replace") as lines:
        header = io.StringIO("".join(_up_to_data(lines)))
    header.name = str(path)  # for messages
    return read_arff(header).attributes


def _up_to_data(lines: Any) -> Iterator[str]:
    for line in lines:
        yield line
        if line.strip().lower() == "@data":
            return


def _read_npz(path: Path) -> "Dataset":
    """Read an archive that may lack labels, or hold kernel values with other rows."""
    import numpy as np
    from scipy import sparse

    from spanforest.datasets import Dataset, load_npz

    try:
        with np.load(path, allow_pickle=False) as archive:
            if "Y" in archive and "K" not in archive:
                return load_npz(path)
            wanted = ("X", "K", "Y", "feature_names", "label_names")
            arrays: Any = {key: archive[key] for key in wanted if key in archive}
            if not {"X", "K"} & set(arrays):
                parts = [archive[f"X_{part}"] for part in ("data", "indices", "indptr")]
                shape = tuple(archive["X_shape"])
                arrays["X"] = sparse.csr_array(tuple(parts), shape=shape)
    except (KeyError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path}: expected a NumPy archive (npz) with X, X_data (CSR) or K; {error}"
        ) from error
    n_samples = arrays["K" if "K" in arrays else "X"].shape[0]
    return Dataset(
        path.stem,
        Y=arrays.get("Y", np.empty((n_samples, 0))).astype(int),
        X=None if "K" in arrays else arrays["X"].astype(np.float64),
        K=arrays["K"].astype(np.float64) if "K" in arrays else None,
        feature_names=tuple(arrays.get("feature_names", np.array([])).tolist()),
        label_names=tuple(arrays.get("label_names", np.array([])).tolist()),
    )
