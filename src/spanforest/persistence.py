"""Saving and loading models without pickle: loading a file runs no code of the file.

A model file consists of a line of JSON that describes the file, a line with the SHA-256
of the first line, and the model as written by skops. Every version of the format has
these two lines, so that each version can tell which files it cannot read.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import warnings
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from spanforest import __version__
from spanforest._model_file_checks import (
    TRUSTED,
    check_contents,
    contents,
    largest_size,
    name_in_file,
    unpacked_size,
)
from spanforest._whole_files import check_target, is_stream, whole_file
from spanforest._wording import quoted

__all__ = [
    *("FORMAT_VERSION", "TRUSTED_TYPES", "ModelFile", "ModelFileError", "describe"),
    *("load", "save"),
]

TRUSTED_TYPES = sorted(TRUSTED)
"""Names of types in a model that are safe, though skops does not know them.

For other tools that write files with skops, such as MLflow.
"""

FORMAT_VERSION = 3  # 1 and 2 were never released

_FORMAT = "spanforest-model"
_MAGIC = f'{{"format": "{_FORMAT}"'.encode()
_LONGEST_HEADER = 2**16
_DIGEST_LINE = 65  # 64 hexadecimal digits and the end of the line

_ADVICE = {
    "kernel": "Fit again with the name of a kernel, a ForestKernel, a SumKernel, a "
    'function of spanforest.kernels or sklearn.metrics.pairwise, or "precomputed".',
    "graph": "Pass edge lists or LabelGraphs. The graphs that fit drew are in graphs_ "
    "(graph_ of an MMCRFClassifier): set_params(graph=model.graphs_) needs no new fit.",
    "other": "Replace it, or save an estimator without it, such as pipeline[-1] or "
    "search.best_estimator_. joblib can save it, but loading that can run any code.",
}


class ModelFileError(ValueError):
    """A file that cannot be loaded as a model, or a model that cannot be saved."""


class ModelFile(NamedTuple):
    """The header of a model file."""

    model: str  # class of the model
    versions: dict[str, str]  # versions of spanforest, Python and the libraries
    payload_bytes: int  # size of the model, compressed
    payload_sha256: str


# --- saving --------------------------------------------------------------------------


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that `load` reads (needs skops).

    The file is written completely or not at all. It holds data and names of known
    classes but no code, so that `load` can read files from unknown sources. Therefore
    a model that holds a function of your own cannot be saved.

    Parameters
    ----------
    model : estimator
        Any estimator of this library, or a scikit-learn estimator such as a pipeline
        that holds one. It need not be fitted.
    path : str or path
        The file to write. Its folder must exist; an existing file is replaced.

    Raises
    ------
    ModelFileError
        If the model holds an object that `load` would refuse, or if `path` cannot be a
        file. The message says what to do.
    OSError
        If the file cannot be written, for example because the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.persistence import load, save
    >>> X, Y = [[0, 0], [0, 1], [1, 0], [1, 1]], [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = MMCRFClassifier(C=10, random_state=0).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.spanforest")
    ...     again = load(Path(folder) / "model.spanforest")
    >>> again.predict([[0, 1]])
    array([[0, 1]])
    """
    if isinstance(model, type) or not isinstance(model, BaseEstimator):
        raise ModelFileError(
            "save takes an estimator of this library, or a scikit-learn estimator that "
            f"holds one; got {quoted(model)}. Pass the fitted object itself."
        )
    path = Path(path)
    _check_target(path)
    payload = _to_payload(model)
    header = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "model": name_in_file(model),
        "versions": _versions(),
        "payload_bytes": len(payload),
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
    }
    line = json.dumps(header).encode() + b"\n"
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.writelines([line, _digest_line(line), payload])


def _check_target(path: Path) -> None:
    if is_stream(path):  # a pipe or a device, from which no model can be read
        raise ModelFileError(
            f"{path} is not an ordinary file. Choose the name of a file."
        )
    try:
        check_target(path)
    except OSError as error:
        raise ModelFileError(str(error)) from error


def _to_payload(model: BaseEstimator) -> bytes:
    dumps, untrusted = _import_skops().dumps, _import_skops().get_untrusted_types
    try:
        payload = dumps(model, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
        foreign = set(untrusted(data=payload)) - TRUSTED
        if not foreign:
            check_contents(model)
    except Exception as error:  # a lambda, for example, makes skops raise any error
        _refuse_to_save(model, _unnameable(model), error)
    if foreign:
        culprits = [
            (at, one) for at, one in contents(model) if name_in_file(one) in foreign
        ]
        _refuse_to_save(model, culprits, f"it needs {', '.join(sorted(foreign))}")
    if unpacked_size(payload) > largest_size(payload):  # nearly all zeros
        payload = dumps(model)
    return payload


def _unnameable(model: BaseEstimator) -> list[tuple[str, Any]]:
    """Return the objects of a model that have no name to write into a file."""
    return [
        (where, item)
        for where, item in contents(model)
        if (callable(item) and not isinstance(item, type | BaseEstimator))
        or (hasattr(item, "nodes") and hasattr(item, "edges"))  # networkx
    ]


def _refuse_to_save(
    model: BaseEstimator, culprits: list[tuple[str, Any]], reason: object
) -> NoReturn:
    where, item = culprits[0] if culprits else ("", model)
    parameter = where.rpartition(".")[2].partition("[")[0]
    what = f"its {where} is {quoted(item)}" if where else _short(reason)
    raise ModelFileError(
        "a model file holds data, numbers and known classes only, so that loading it "
        f"runs no code; this {type(model).__name__} cannot be saved: {what}. "
        f"{_ADVICE.get(parameter, _ADVICE['other'])}"
    ) from (reason if isinstance(reason, Exception) else None)


# --- loading -------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file that `save` has written (needs skops).

    With the same versions of the libraries, predictions are the same to the last bit.
    Before the model is built, the checksums are compared, and the names of types in the
    file are looked up in a fixed list.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The model as it was saved.

    Raises
    ------
    ModelFileError
        If the file does not exist, is not a model file, is damaged, has a newer format,
        or asks for types outside the list. The message says which, and what to do.

    Warns
    -----
    UserWarning
        If the model was saved with another version of scikit-learn.

    Notes
    -----
    Checksums detect damage but not malice: anybody can write a file with correct ones.
    Such a file can hold a bad model, but cannot make `load` run code. Indices in trees,
    support vector machines, sparse matrices and output graphs are checked, because
    wrong ones would crash the process. Other objects of scikit-learn are trusted as far
    as skops trusts them.

    Examples
    --------
    >>> from spanforest.persistence import load
    >>> load("missing.spanforest")
    Traceback (most recent call last):
        ...
    spanforest.persistence.ModelFileError: ... missing.spanforest does not exist. ...
    """
    _import_skops()
    path = Path(path)
    with _open(path) as file:
        header, payload = _read_header(path, file), file.read()
    if hashlib.sha256(payload).hexdigest() != header.payload_sha256:
        raise _damaged(path, "the checksum of its model is wrong")
    _check_archive(path, payload)
    requested = _requested_types(path, payload)
    _warn_of_other_version(path, header)
    try:
        return _build(payload, requested)
    except Exception as error:  # missing or misplaced data can raise any error
        raise ModelFileError(
            f"the model in {path} cannot be built: {_short(error).rstrip('.')}."
            f"{_changed_versions(header)} Use the versions it was saved with, or fit "
            "the model and save it again."
        ) from error


def describe(path: str | os.PathLike[str]) -> ModelFile:
    """Return the header of a model file.

    The model itself is not read, and skops is not needed.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    ModelFile
        The class of the model, the versions it was saved with, its size and checksum.

    Raises
    ------
    ModelFileError
        If the file does not exist, is not a model file, has a newer format, or if its
        header or its size has changed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.persistence import describe, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(MMCRFClassifier(), Path(folder) / "model.spanforest")
    ...     header = describe(Path(folder) / "model.spanforest")
    >>> header.model, header.versions["spanforest"]
    ('spanforest.mmcrf.MMCRFClassifier', '0.1.0')
    """
    path = Path(path)
    with _open(path) as file:
        return _read_header(path, file)


def _open(path: Path) -> BinaryIO:
    if not path.is_file():
        what = "is not an ordinary file" if path.exists() else "does not exist"
        raise ModelFileError(
            f"expected a model file written by spanforest.save; {path} {what}. Check "
            "the path."
        )
    return open(path, "rb")


def _read_header(path: Path, file: BinaryIO) -> ModelFile:
    """Read the first two lines, and compare the size of the rest with the header."""
    line, digest = file.readline(_LONGEST_HEADER), file.read(_DIGEST_LINE)
    if not line.startswith(_MAGIC):
        raise ModelFileError(
            f"{path} is not a spanforest model file: {_looks_like(line)}. Pass a file "
            "that spanforest.save has written."
        )
    if digest != _digest_line(line):
        raise _damaged(path, "the checksum of its header is wrong")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "its header is not JSON") from error
    version = fields.get("version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}; spanforest {__version__} reads "
            f"versions up to {FORMAT_VERSION}. Install a newer spanforest."
        )
    header = ModelFile(*map(fields.get, ModelFile._fields))
    if version in (1, 2):
        raise ModelFileError(
            f"{path} was saved by a development version, in format {version}. Fit the "
            "model again and save it."
        )
    if version != FORMAT_VERSION or not _is_sound(header):
        raise _damaged(path, "a field of its header is missing or wrong")
    n_bytes = os.fstat(file.fileno()).st_size - file.tell()
    if n_bytes != header.payload_bytes:
        expected = f"its model should have {header.payload_bytes} bytes"
        raise _damaged(path, f"{expected} and has {n_bytes}")
    return header


def _is_sound(header: ModelFile) -> bool:
    if tuple(map(type, header)) != (str, dict, int, str):
        return False
    texts = [header.model, *header.versions, *header.versions.values()]
    return all(isinstance(text, str) and text.isprintable() for text in texts)


def _looks_like(line: bytes) -> str:
    if not line:
        return "it is empty"
    if line.startswith(b"PK"):
        return "it is a zip archive, perhaps of skops itself (see skops.io.load)"
    if line[0] == 0x80:
        return "it is a pickle, which is never loaded because it could run code"
    return f"it starts with {line[:20]!r}"


def _check_archive(path: Path, payload: bytes) -> None:
    """Refuse archives that would unpack to far more bytes, or outside of the model."""
    allowed = largest_size(payload)
    try:
        n_bytes = unpacked_size(payload)
    except Exception as error:  # zipfile can raise many kinds of errors
        reason = f"its model is not a valid archive ({_short(error)})"
        raise _damaged(path, reason) from error
    if n_bytes > allowed:
        raise ModelFileError(
            f"the model in {path} would unpack from {len(payload)} to {n_bytes} bytes; "
            f"at most {allowed} are accepted, and spanforest.save stays below that. Do "
            "not use this file; ask its author for another."
        )


def _requested_types(path: Path, payload: bytes) -> list[str]:
    """Return the names that skops does not trust but this library does."""
    try:
        requested = set(_import_skops().get_untrusted_types(data=payload))
    except Exception as error:  # skops did not write this, so any error is possible
        raise _damaged(path, f"its model cannot be read ({_short(error)})") from error
    if foreign := requested - TRUSTED:
        names = _short(", ".join(sorted(foreign)))
        raise ModelFileError(
            f"a model file may name types of spanforest, scikit-learn and NumPy that "
            f"are known to be harmless; {path} asks for {names}. None of its code was "
            "run. Do not use this file: spanforest.save does not write such files."
        )
    return sorted(requested)


def _build(payload: bytes, trusted: list[str]) -> BaseEstimator:
    with warnings.catch_warnings():  # load warns once for all estimators
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = _import_skops().loads(payload, trusted=trusted)
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"it holds a {type(model).__name__}, not an estimator")
    check_contents(model)
    return model


def _warn_of_other_version(path: Path, header: ModelFile) -> None:
    name = "scikit-learn"
    there, here = header.versions.get(name, "?"), _versions()[name]
    if there != here:
        warnings.warn(
            f"{path} was saved with {name} {there}; this is {name} {here}. Compare "
            "some predictions, or fit the model and save it again.",
            UserWarning,
            stacklevel=3,
        )


def _changed_versions(header: ModelFile) -> str:
    here = _versions()
    changed = [
        f"{name} {version} (here: {here[name]})"
        for name, version in header.versions.items()
        if here.get(name, version) != version
    ]
    return f" It was saved with {', '.join(changed)}." if changed else ""


# --- versions, checksums, messages ---------------------------------------------------


def _import_skops() -> Any:
    try:
        import skops.io  # optional extra: only saving and loading need it
    except ImportError as error:
        raise ImportError(
            "saving and loading models needs skops, which is not installed. Install "
            'it with: pip install "spanforest[save]"'
        ) from error
    return skops.io


def _versions() -> dict[str, str]:
    libraries = ("numpy", "scipy", "scikit-learn", "skops")
    return {
        "spanforest": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in libraries},
    }


def _digest_line(line: bytes) -> bytes:
    return hashlib.sha256(line).hexdigest().encode() + b"\n"


def _damaged(path: Path, what: str) -> ModelFileError:
    return ModelFileError(
        f"{path} is damaged, cut short or altered: {what}. Copy the file again, or "
        "save the model again."
    )


def _short(text: object) -> str:
    """Return a text cut and made printable, because it may come from a hostile file."""
    return "".join(one if one.isprintable() else " " for one in str(text)[:300])
