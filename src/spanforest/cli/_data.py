"""Finding out what DATA is, and reading it: to train on, or as a model needs it."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spanforest._files import is_stream, line_of_example, line_of_row, open_text
from spanforest._wording import numbered_labels
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
_SEPARATORS = {Format.csv: ",", Format.tsv: "\t"}


class Request(NamedTuple):
    """What the user says of the data."""

    source: str  # a file, or the name of a data set
    labels: str | None = None
    drop: str | None = None
    format: Format | None = None
    data_home: Path | None = None

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


class Found(NamedTuple):
    """Where the data are; without a file it is a data set with a name."""

    source: str
    path: Path | None = None
    format: Format | None = None

    @property
    def knows_its_columns(self) -> bool:
        """Whether it says itself what its labels and features are."""
        return self.path is None or self.format in (Format.libsvm, Format.npz)

    def row(self, i: int) -> str:
        """Say where an example stands, with its line if it has one."""
        line = None
        if self.path is not None and self.format in _SEPARATORS:
            line = line_of_row(self.path, i, _SEPARATORS[self.format])
        elif self.path is not None and self.format in (Format.arff, Format.libsvm):
            end = "@data" if self.format is Format.arff else ""
            line = line_of_example(self.path, i, end)
        return f"row {i + 1}" + (f" (line {line})" if line else "")


def read_training_data(request: Request, *, fills_gaps: bool = False) -> "Dataset":
    """Read examples with their labels.

    Labels without a name are numbered. Missing features are refused unless they will be
    filled.
    """
    found = _find(request)
    dataset = _read_training_file(request, found)
    if dataset.X is not None and not dataset.n_features:
        raise ValueError(f"no column of {found.source} is left for the features.")
    advice = "say --missing mean, or leave such columns out with --drop"
    _check_numbers(dataset, found, fills_gaps, advice)
    if len(dataset.label_names) != dataset.n_labels:
        dataset = replace(dataset, label_names=numbered_labels(dataset.n_labels))
    return dataset


def _read_training_file(request: Request, found: Found) -> "Dataset":
    from spanforest.datasets import load_arff, load_libsvm, load_npz

    path, kind, labels = found.path, found.format, request.label_columns
    if path is None:
        return _known_dataset(request)
    if kind is Format.libsvm:
        return load_libsvm(path)
    if kind is Format.npz:
        return load_npz(path)
    if kind is Format.arff:
        return load_arff(path, labels, drop=request.dropped)
    if labels is None:
        raise bad_option(
            f"which columns of {path} are labels? Say --labels with their names, such "
            "as --labels happy,sad, or first:N or last:N.",
            "--labels",
        )
    return _read_table(found, labels, drop=request.dropped)


def read_for_model(
    request: Request, model: "TrainedModel", *, with_labels: bool
) -> "Dataset":
    """Read examples with the features of a model, in its order, and their labels.

    Without labels `Y` is empty. Columns that the model does not know are ignored.
    """
    from spanforest.datasets import load_npz

    found = _find(request)
    if found.path is None:
        dataset = _known_dataset(request)
    elif found.format is Format.libsvm:
        dataset = _read_libsvm(found.path, model, with_labels)
    elif found.format is Format.npz:
        dataset = load_npz(found.path, is_complete=False)
    else:
        dataset = _read_columns(request, found, model, with_labels)
    if with_labels:
        _check_labels(dataset, found, model.label_names)
    dataset = model.align(dataset, found.source, with_labels=with_labels)
    advice = "or train the model with --missing mean"
    _check_numbers(dataset, found, model.fills_gaps, advice)
    return dataset


def _find(request: Request) -> Found:
    """Find the data, and refuse options that do not suit them."""
    from spanforest.datasets import list_datasets

    path = Path("/dev/stdin" if request.source == "-" else request.source)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; DATA must be a file.")
    if path.exists():
        found = Found(request.source, path, request.format or _format_of(path))
        if is_stream(path) and found.format not in _SEPARATORS:
            raise bad_option(
                f"only {' and '.join(_SEPARATORS)} can be read from a pipe; got "
                f"{found.format}. Write it to a file first.",
                "--format",
            )
    elif request.source.lower().replace("-", "_") in [d.name for d in list_datasets()]:
        found = Found(request.source)
    else:
        raise FileNotFoundError(
            f"there is no file {path}, and no data set of that name. 'spanforest "
            "datasets' lists the names; their files are looked for in --data-home or "
            "the environment variable SPANFOREST_DATA."
        )
    if found.knows_its_columns:
        kind = f"an {found.format} file" if found.path else "a data set with a name"
        for option, value in (("--labels", request.labels), ("--drop", request.drop)):
            if value is not None:
                raise bad_option(
                    f"{kind} says itself what its labels and features are.", option
                )
    return found


def _format_of(path: Path) -> Format:
    found = _SUFFIX.search(path.name)
    suffix = found[1].lower() if found else ""
    if suffix in list(Format):
        return Format(suffix)
    if suffix in _OTHER_SUFFIXES:
        return _OTHER_SUFFIXES[suffix]
    formats = ", ".join(_SEPARATORS if is_stream(path) else Format)
    raise bad_option(
        f"the name of {path} does not tell its format: say --format with one of "
        f"{formats}.",
        "--format",
    )


def _known_dataset(request: Request) -> "Dataset":
    from spanforest.datasets import load_dataset

    return load_dataset(request.source, request.data_home)


def _read_table(found: Found, labels: Any, **options: Any) -> "Dataset":
    from spanforest.datasets import load_csv, load_parquet

    if isinstance(labels, Path):
        raise bad_option("an XML file names the labels of ARFF files only.", "--labels")
    if found.path is None or found.format not in _SEPARATORS:
        return load_parquet(str(found.path), labels, **options)
    separator = _SEPARATORS[found.format]
    return load_csv(found.path, labels, separator=separator, **options)


def _read_columns(
    request: Request, found: Found, model: "TrainedModel", with_labels: bool
) -> "Dataset":
    """Read a file with named columns; of a table only what the model needs."""
    from spanforest.datasets import load_arff

    labels = request.label_columns
    if found.path is None or found.format is not Format.arff:
        if labels is None:
            labels = list(model.label_names) if with_labels else []
        return _read_table(found, labels, features=model.feature_names)
    attributes = _arff_header(found.path)
    names = [attribute.name for attribute in attributes]
    known = model.feature_names or ()
    if labels is None:
        labels = [name for name in model.label_names if name in names] or None
    if labels is None and not with_labels and (known or len(names) == model.n_features):
        labels = []
    text = {a.name for a in attributes if a.kind in ("string", "date")}
    return load_arff(found.path, labels, drop=sorted(text - set(known)))


def _arff_header(path: Path) -> Any:
    """Return the attributes that an ARFF file declares, without reading its rows."""
    from spanforest.arff import read_arff

    with open_text(path) as lines:
        header = io.StringIO("".join(_up_to_data(lines)))
    header.name = str(path)  # for messages
    return read_arff(header).attributes


def _up_to_data(lines: Any) -> Iterator[str]:
    for line in lines:
        yield line
        if line.strip().lower() == "@data":
            return


def _read_libsvm(path: Path, model: "TrainedModel", with_labels: bool) -> "Dataset":
    """Read a file whose features and labels are numbers, as those of the model may be.

    If they are, a part of the data is understood as well. If the features of the model
    have other names or none, there must be as many.
    """
    from spanforest.datasets import load_libsvm

    are_numbers = all(name.isdigit() for name in model.label_names)
    label_names = model.label_names if with_labels and are_numbers else None
    n_features = model.n_features
    for start in (0, 1):
        numbers = tuple(str(start + j) for j in range(n_features))
        if model.feature_names == numbers:
            return load_libsvm(path, feature_names=numbers, label_names=label_names)
    dataset = load_libsvm(path, label_names=label_names)
    if dataset.n_features != n_features:
        last = n_features - (dataset.feature_names[:1] == ("0",))
        advice = (
            "If the last ones are zero in all its examples, write one zero down, such "
            f"as {last}:0. "
        )
        raise ValueError(
            f"the model has {n_features} features, and {path} {dataset.n_features}, "
            "numbered and without names, so that it is not clear which are which. "
            f"{advice if dataset.n_features < n_features else ''}"
        )
    return replace(dataset, feature_names=())


def _check_labels(dataset: "Dataset", found: Found, wanted: Sequence[str]) -> None:
    """Refuse missing labels, of those that are wanted if they have names."""
    names = dataset.label_names
    missing = dataset.missing_labels
    if len(names) == dataset.n_labels and set(wanted) <= set(names):
        missing[:, [name not in wanted for name in names]] = False
    if not missing.any():
        return
    i, j = divmod(int(missing.argmax()), missing.shape[1])
    which = repr(names[j]) if len(names) == dataset.n_labels else f"column {j + 1}"
    n_rows = int(missing.any(axis=1).sum())
    raise ValueError(
        f"{found.source}: the measures need all labels of an example, and {n_rows} of "
        f"{dataset.n_samples} examples lack some, the first: {which} of "
        f"{found.row(i)}. Remove such rows."
    )


def _check_numbers(
    dataset: "Dataset", found: Found, fills_gaps: bool, advice: str
) -> None:
    """Refuse infinite features, and missing ones unless they will be filled."""
    import numpy as np

    X = dataset.K if dataset.X is None else dataset.X
    gaps = [] if fills_gaps else _cells(X, np.isnan)
    cells = gaps or _cells(X, np.isinf)
    if not cells:
        return
    what = "missing" if gaps else "infinite"
    advice = f"Fill such values in, {advice}" if gaps else "Replace them by numbers"
    number = f"{len(cells)} values of features are {what}, the first: "
    if len(cells) == 1:
        number = f"1 value of a feature is {what}: "
    i, j = min(cells)
    names = dataset.feature_names
    column = repr(names[j]) if len(names) else f"column {j + 1}"
    raise ValueError(f"{found.source}: {number}{column} of {found.row(i)}. {advice}.")


def _cells(X: Any, is_wanted: Callable[[Any], Any]) -> list[tuple[int, int]]:
    """Return row and column of the values of a matrix that are wanted."""
    import numpy as np
    from scipy import sparse

    if not sparse.issparse(X):
        return [(int(i), int(j)) for i, j in np.argwhere(is_wanted(X))]
    X = X.tocoo()
    wanted = is_wanted(X.data)
    return list(zip(*(at[wanted].tolist() for at in X.coords), strict=True))
