"""Reading DATA: what it is, and its examples, to train on or for a trained model."""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spanforest._whole_files import is_stream
from spanforest._wording import did_you_mean, listed, numbered_labels, quoted
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
_TEXT_TABLES = (Format.csv, Format.tsv)


class Request(NamedTuple):
    """The options that describe the data."""

    data: str  # a file, or the name of a data set
    labels: str | None = None
    drop: str | None = None
    format: Format | None = None  # after `_find`, None: a data set with a name
    data_home: Path | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    max_memory: int | None = None

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
                f"at least one label is needed; got {quoted(self.labels)}.", "--labels"
            )
        return names

    @property
    def dropped(self) -> list[str]:
        """The columns to leave out."""
        return _names(self.drop or "")

    @property
    def path(self) -> Path:
        """The file."""
        return Path("/dev/stdin" if self.data == "-" else self.data)

    @property
    def knows_its_columns(self) -> bool:
        """Whether the data say themselves what their labels and features are."""
        return self.format in (None, Format.libsvm, Format.npz)

    def row(self, i: int) -> str:
        """Return where an example stands, with its line if there is one."""
        from spanforest.datasets._csv_format import CsvFormat, line_of_row
        from spanforest.datasets._text_files import line_of_example

        line = None
        if self.format in _TEXT_TABLES:
            csv_format = CsvFormat(delimiter=self.delimiter, encoding=self.encoding)
            line = line_of_row(self.path, i, csv_format)
        elif self.format in (Format.arff, Format.libsvm):
            end = "@data" if self.format is Format.arff else ""
            line = line_of_example(self.path, i, end)
        return f"row {i + 1}" + (f" (line {line})" if line else "")


def _names(text: str) -> list[str]:
    """Split a list of names at its commas; a name with a comma is in quotes."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


def read_training_data(
    request: Request, *, fills_gaps: bool = False, keeps_gaps: bool = False
) -> "Dataset":
    """Read examples with their labels; labels without a name are numbered.

    Missing features are refused unless they are filled later (`fills_gaps`), or the
    classifier accepts them (`keeps_gaps`).
    """
    request = _find(request)
    dataset = _read_training_file(request)
    if dataset.X is not None and not dataset.n_features:
        raise ValueError(f"no column of {request.data} is left for the features.")
    advice = (
        "use --missing mean or --kernel forest, or leave such columns out with --drop"
    )
    _check_numbers(dataset, request, fills_gaps or keeps_gaps, advice)
    if keeps_gaps and not fills_gaps:
        _check_empty(dataset, request)
    if dataset.nominal_features is not None and dataset.nominal_features.any():
        # scikit-learn makes columns of the values of dense features only
        dataset = replace(dataset, X=_dense(dataset.X))
    if len(dataset.label_names) != dataset.n_labels:
        dataset = replace(dataset, label_names=numbered_labels(dataset.n_labels))
    return dataset


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


def _check_empty(dataset: "Dataset", request: Request) -> None:
    """Refuse features without any value: nothing can be learned from them."""
    import numpy as np
    from scipy import sparse

    if dataset.X is None or sparse.issparse(dataset.X):
        return
    empty = np.flatnonzero(np.isnan(dataset.X).all(axis=0)).tolist()
    if not empty:
        return
    numbers = [f"column {j + 1}" for j in range(dataset.n_features)]
    names = [(dataset.feature_names or numbers)[j] for j in empty]
    how = "" if request.knows_its_columns else " with --drop"
    raise ValueError(
        f"{request.data}: these features have no value in any row: {listed(names)}. "
        f"Leave them out{how}."
    )


def _read_training_file(request: Request) -> "Dataset":
    from spanforest.datasets import load_arff, load_dataset, load_libsvm, load_npz

    path, labels = request.path, request.label_columns
    if request.format is None:
        return load_dataset(request.data, request.data_home)
    if request.format is Format.libsvm:
        return load_libsvm(path, max_memory=request.max_memory)
    if request.format is Format.npz:
        return load_npz(path, max_memory=request.max_memory)
    if request.format is Format.arff:
        return load_arff(path, labels, drop=request.dropped, **_arff_options(request))
    if labels is None:
        raise bad_option(
            f"which columns of {path} are labels? Use --labels with their names, such "
            "as --labels happy,sad, or first:N or last:N.",
            "--labels",
        )
    return _read_table(request, labels, drop=request.dropped)


def read_for_model(
    request: Request, model: "TrainedModel", *, with_labels: bool
) -> "Dataset":
    """Read examples with the features of a model, in its order, and their labels.

    Without labels `Y` is empty. Columns that the model does not know are ignored.
    """
    request = _find(request)
    dataset = _read_file(request, model, with_labels)
    if with_labels:
        _check_labels(dataset, request, model.label_names)
    return _align(dataset, request, model, with_labels)


def read_for_report(request: Request, model: "TrainedModel") -> "Dataset":
    """Read examples for a model, with labels if the file has any; some may be missing.

    `Y` has no columns if the file has none of the labels.
    """
    from spanforest.datasets._columns import MissingColumnsError

    request = _find(request)
    with_labels = not _is_unlabelled_arff(request, model)
    try:
        dataset = _read_file(request, model, with_labels)
    except MissingColumnsError as error:
        has_no_label = set(error.missing) == set(model.label_names)
        if not has_no_label or request.labels is not None or is_stream(request.path):
            raise
        with_labels = False
        dataset = _read_file(request, model, with_labels)
    return _align(dataset, request, model, with_labels and dataset.n_labels > 0)


def _read_file(request: Request, model: "TrainedModel", with_labels: bool) -> "Dataset":
    """Read the data, whose format is known, as they are."""
    from spanforest.datasets import load_dataset, load_npz

    if request.format is None:
        return load_dataset(request.data, request.data_home)
    if request.format is Format.libsvm:
        return _read_libsvm(request, model, with_labels)
    if request.format is Format.npz:
        return load_npz(request.path, is_complete=False, max_memory=request.max_memory)
    return _read_columns(request, model, with_labels)


def _align(
    dataset: "Dataset", request: Request, model: "TrainedModel", with_labels: bool
) -> "Dataset":
    """Return the data set in the order of the model; refuse features with gaps."""
    dataset = model.align(dataset, request.data, with_labels=with_labels)
    advice = "or train the model with --missing mean"
    _check_numbers(dataset, request, model.fills_gaps, advice)
    return dataset


def _is_unlabelled_arff(request: Request, model: "TrainedModel") -> bool:
    """Return whether an ARFF file has all features of a model and no label of it."""
    from spanforest.datasets._arff_format import read_attributes

    if request.format is not Format.arff or request.labels is not None:
        return False
    attributes = read_attributes(request.path, **_arff_options(request))
    names = {attribute.name for attribute in attributes}
    features = set(model.feature_names or ())
    return bool(features) and features <= names and not names & set(model.label_names)


def _find(request: Request) -> Request:
    """Find the data and their format, and refuse options that do not suit them."""
    from spanforest.datasets import list_datasets

    path = request.path
    name = request.data.lower().replace("-", "_")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; DATA must be a file.")
    if path.exists():
        format = request.format or _format_of(path)
        delimiter = request.delimiter or ("\t" if format is Format.tsv else None)
        request = request._replace(format=format, delimiter=delimiter)
        if is_stream(path) and format not in _TEXT_TABLES:
            raise bad_option(
                f"only {' and '.join(_TEXT_TABLES)} can be read from a pipe; got "
                f"{format}. Write it to a file first.",
                "--format",
            )
    elif name in (known := [dataset.name for dataset in list_datasets()]):
        request = request._replace(format=None)
    else:
        raise FileNotFoundError(
            f"there is no file {path}, and no data set of that name."
            f"{did_you_mean([name], known)} 'spanforest datasets' lists the names; "
            "their files are searched in --data-home or "
            "the environment variable SPANFOREST_DATA."
        )
    _check_options(request)
    return request


def _check_options(request: Request) -> None:
    """Refuse options that do not suit the data."""
    article = "an" if request.format in (Format.arff, Format.npz) else "a"
    kind = f"{article} {request.format} file"
    if request.format is None:
        kind = "a data set with a name"
    if request.knows_its_columns:
        for option, value in (("--labels", request.labels), ("--drop", request.drop)):
            if value is not None:
                raise bad_option(
                    f"{kind} says itself what its labels and features are.", option
                )
    is_text = request.format in _TEXT_TABLES
    for option, value, suits in (
        ("--delimiter", request.delimiter, is_text),
        ("--decimal", request.decimal, is_text),
        ("--encoding", request.encoding, is_text or request.format is Format.arff),
    ):
        if value is not None and not suits:
            raise bad_option(f"{kind} has no {option.removeprefix('--')}.", option)


def _format_of(path: Path) -> Format:
    match = _SUFFIX.search(path.name)
    suffix = match[1].lower() if match else ""
    if suffix in list(Format):
        return Format(suffix)
    if suffix in _OTHER_SUFFIXES:
        return _OTHER_SUFFIXES[suffix]
    formats = ", ".join(_TEXT_TABLES if is_stream(path) else Format)
    raise bad_option(
        f"the name of {path} does not tell its format: use --format with one of "
        f"{formats}.",
        "--format",
    )


def _arff_options(request: Request) -> dict[str, Any]:
    return {"encoding": request.encoding or "utf-8", "max_memory": request.max_memory}


def _read_table(request: Request, labels: Any, **options: Any) -> "Dataset":
    from spanforest.datasets import load_csv, load_parquet

    options["max_memory"] = request.max_memory
    if isinstance(labels, Path):
        raise bad_option("an XML file names the labels of ARFF files only.", "--labels")
    if request.format not in _TEXT_TABLES:
        return load_parquet(request.path, labels, **options)
    return load_csv(
        request.path,
        labels,
        delimiter=request.delimiter,
        decimal=request.decimal,
        encoding=request.encoding,
        **options,
    )


def _read_columns(
    request: Request, model: "TrainedModel", with_labels: bool
) -> "Dataset":
    """Read a file with named columns; from a table only those that the model needs."""
    from spanforest.datasets import load_arff
    from spanforest.datasets._arff_format import read_attributes

    path, labels = request.path, request.label_columns
    if request.format is not Format.arff:
        if labels is None:
            labels = list(model.label_names) if with_labels else []
        return _read_table(request, labels, features=model.feature_names)
    options = _arff_options(request)
    attributes = read_attributes(path, **options)
    names = [attribute.name for attribute in attributes]
    known = model.feature_names or ()
    if labels is None:
        labels = [name for name in model.label_names if name in names] or None
    if labels is None and not with_labels and (known or len(names) == model.n_features):
        labels = []
    text = {one.name for one in attributes if one.kind in ("string", "date")}
    return load_arff(path, labels, drop=sorted(text - set(known)), **options)


def _read_libsvm(
    request: Request, model: "TrainedModel", with_labels: bool
) -> "Dataset":
    """Read a file whose features and labels are numbers.

    If the names in the model are numbers too, the file may lack some of them. If the
    features of the model have other names or none, there must be as many of them.
    """
    from spanforest.datasets import load_libsvm

    load = partial(load_libsvm, request.path, max_memory=request.max_memory)
    are_numbers = all(name.isdigit() for name in model.label_names)
    label_names = model.label_names if with_labels and are_numbers else None
    n_features = model.n_features
    for start in (0, 1):
        numbers = tuple(str(start + j) for j in range(n_features))
        if model.feature_names == numbers:
            return load(feature_names=numbers, label_names=label_names)
    dataset = load(label_names=label_names)
    if dataset.n_features != n_features:
        last = n_features - (dataset.feature_names[:1] == ("0",))
        advice = (
            "If the last ones are zero in all its examples, write one zero down, such "
            f"as {last}:0. "
        )
        raise ValueError(
            f"the model has {n_features} features, and {request.path} "
            f"{dataset.n_features}, numbered and without names, so it is not clear "
            "which are which. "
            f"{advice if dataset.n_features < n_features else ''}"
        )
    return replace(dataset, feature_names=())


def _check_labels(dataset: "Dataset", request: Request, wanted: Sequence[str]) -> None:
    """Refuse missing labels; if labels have names, only those that are wanted count."""
    names = dataset.label_names
    missing = dataset.missing_labels
    if len(names) == dataset.n_labels and set(wanted) <= set(names):
        missing[:, [name not in wanted for name in names]] = False
    if not missing.any():
        return
    i, j = divmod(int(missing.argmax()), missing.shape[1])
    which = quoted(names[j]) if len(names) == dataset.n_labels else f"column {j + 1}"
    n_rows = int(missing.any(axis=1).sum())
    raise ValueError(
        f"{request.data}: the measures need all labels of an example, and {n_rows} of "
        f"{dataset.n_samples} examples lack some, the first: {which} of "
        f"{request.row(i)}. Remove such rows."
    )


def _check_numbers(
    dataset: "Dataset", request: Request, fills_gaps: bool, advice: str
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
    column = quoted(names[j]) if len(names) else f"column {j + 1}"
    raise ValueError(f"{request.data}: {number}{column} of {request.row(i)}. {advice}.")


def _cells(X: Any, is_wanted: Callable[[Any], Any]) -> list[tuple[int, int]]:
    """Return row and column of the values of a matrix that are wanted."""
    import numpy as np
    from scipy import sparse

    if not sparse.issparse(X):
        return [(int(i), int(j)) for i, j in np.argwhere(is_wanted(X))]
    X = X.tocoo()
    wanted = is_wanted(X.data)
    return list(zip(*(at[wanted].tolist() for at in X.coords), strict=True))
