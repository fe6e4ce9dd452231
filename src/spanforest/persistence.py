"""Saving and loading models, without pickle: loading a file runs no code of the file.

A model file is three parts one after the other: a line of JSON that says what is in the
file, a line with that line's SHA-256, and the model as written by skops. Every version
of the format keeps the first two, so that any version can say what it cannot read.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import warnings
import zipfile
from collections import deque
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from spanforest import __version__
from spanforest._classifier import GraphClassifier
from spanforest._files import check_target, is_stream, whole_file
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.graphs import LabelGraph

__all__ = ["FORMAT_VERSION", "ModelFile", "ModelFileError", "describe", "load", "save"]

FORMAT_VERSION = 2  # 1: models without gamma_

_FORMAT = "spanforest-model"
_MAGIC = f'{{"format": "{_FORMAT}"'.encode()
_LONGEST_HEADER = 2**16
_DIGEST_LINE = 65  # 64 hexadecimal digits and the end of the line

# Deflate can turn a kilobyte into a megabyte. Files of `save` stay below both.
_EXPANSION = 100
_ALWAYS_ALLOWED = 2**28  # bytes

# What a model may hold besides what skops trusts by itself. A name here may be called
# on loading, with arguments of the file's choice: classes and pure functions only.
_TRUSTED_PARTS = {
    "spanforest.mmcrf": "MMCRFClassifier",
    "spanforest.ensemble": "RandomGraphEnsembleClassifier",
    "spanforest.tuning._estimator": "RandomGraphEnsembleClassifierCV",
    "spanforest.calibration": "Calibration",
    "spanforest._labels": "LabelCoding",
    "spanforest._inputs": "KernelInput LinearInput PrecomputedInput",
    "spanforest.kernels._spec": "KernelSpec",
    "spanforest.model_selection": "LabelCardinalityKFold",
    "spanforest.metrics": "microlabel_accuracy microlabel_f1 multilabel_accuracy",
    "sklearn.model_selection._split": (
        "KFold GroupKFold StratifiedKFold RepeatedKFold ShuffleSplit "
        "StratifiedShuffleSplit LeaveOneOut"
    ),
    "spanforest.graphs": (
        "LabelGraph independent_labels random_pairing random_spanning_tree "
        "recursive_random_tree uniform_random_tree"
    ),
    "spanforest.kernels._functions": "tanimoto_kernel",
    "spanforest.paper.baselines._adaboost_mh": "AdaBoostMHClassifier",
    "spanforest.paper.baselines._multitask": "MultiTaskFeatureClassifier",
    "spanforest.paper.baselines._svm": "BaggedSVMClassifier PerLabelClassifier",
    "sklearn.metrics.pairwise": (
        "additive_chi2_kernel chi2_kernel cosine_similarity laplacian_kernel "
        "linear_kernel polynomial_kernel rbf_kernel sigmoid_kernel"
    ),
    "numpy": "dtype",
    # not trusted by skops because bad indices crash the process: see _check_parts
    "scipy.sparse._csc": "csc_array csc_matrix",
    "scipy.sparse._csr": "csr_array csr_matrix",
    "sklearn.tree._tree": "Tree",
}
_TRUSTED = {f"{home}.{n}" for home, ns in _TRUSTED_PARTS.items() for n in ns.split()}
# These hand examples to their trees unchecked, so that no check of a tree is enough.
_FORESTS = {f"sklearn.ensemble._{name}" for name in ("forest", "gb", "iforest")}

_ADVICE = {
    "kernel": "Fit again with the name of a kernel, a kernel function of "
    'spanforest.kernels or sklearn.metrics.pairwise, or "precomputed".',
    "graph": "Pass edge lists or LabelGraphs. Those that fit drew are in graphs_ "
    "(graph_ of an MMCRFClassifier): set_params(graph=model.graphs_) needs no new fit.",
    "other": "Replace it, or save the part without it, such as pipeline[-1] or "
    "search.best_estimator_. joblib saves it, but loading that can run any code.",
}


class ModelFileError(ValueError):
    """A file is no model that can be loaded, or a model cannot become a file."""


class ModelFile(NamedTuple):
    """What the header of a model file says."""

    model: str  # class of the model
    versions: dict[str, str]  # of spanforest, Python and the libraries, when saved
    payload_bytes: int  # size of the model, compressed
    payload_sha256: str


# --- saving --------------------------------------------------------------------------


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that `load` reads (needs skops).

    The file is written whole or not at all. It holds data and names of known classes,
    no code, so that `load` need not trust where it comes from. Therefore a model that
    holds a function of your own cannot be saved.

    Parameters
    ----------
    model : estimator
        Any estimator of this library, or one of scikit-learn around it such as a
        pipeline; fitted or not.
    path : str or path
        Where to write. The folder must exist; a file there is replaced.

    Raises
    ------
    ModelFileError
        If the model holds something that `load` would refuse, or if `path` cannot be a
        file. The message says what to do.
    OSError
        If the file cannot be written, such as on a full disk.

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
            "save takes an estimator of this library, or of scikit-learn around one; "
            f"got {model!r:.80}. Pass the fitted object itself."
        )
    path = Path(path)
    _check_target(path)
    payload = _to_payload(model)
    header = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "model": _name(model),
        "versions": _versions(),
        "payload_bytes": len(payload),
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
    }
    line = json.dumps(header).encode() + b"\n"
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.writelines([line, _digest_line(line), payload])


def _check_target(path: Path) -> None:
    if is_stream(path):  # a model cannot be read from there
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
        foreign = set(untrusted(data=payload)) - _TRUSTED
        if not foreign:
            _check_parts(model)
    except Exception as error:  # skops meets a lambda, say, with any kind of error
        _refuse_to_save(model, _unnameable(model), error)
    if foreign:
        found = [(at, part) for at, part in _parts(model) if _name(part) in foreign]
        _refuse_to_save(model, found, f"it needs {', '.join(sorted(foreign))}")
    if _expanded_bytes(payload) > _allowed_bytes(payload):  # nearly all zeros
        payload = dumps(model)
    return payload


def _unnameable(model: BaseEstimator) -> list[tuple[str, Any]]:
    """Return the parts that have no name by which a file could refer to them."""
    return [
        (where, part)
        for where, part in _parts(model)
        if (callable(part) and not isinstance(part, type | BaseEstimator))
        or (hasattr(part, "nodes") and hasattr(part, "edges"))  # networkx
    ]


def _refuse_to_save(
    model: BaseEstimator, guilty: list[tuple[str, Any]], reason: object
) -> NoReturn:
    where, part = guilty[0] if guilty else ("", model)
    parameter = where.rpartition(".")[2].partition("[")[0]
    what = f"its {where} is {part!r:.80}" if where else _short(reason)
    raise ModelFileError(
        "a model file holds data, numbers and known classes only, so that loading it "
        f"runs no code; this {type(model).__name__} cannot be saved: {what}. "
        f"{_ADVICE.get(parameter, _ADVICE['other'])}"
    ) from (reason if isinstance(reason, Exception) else None)


# --- loading -------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file of `save` (needs skops).

    With the same versions of the libraries, predictions are the same to the last bit.
    Before anything is built from the file, its checksums are compared and the types it
    names are looked up in a fixed list.

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
        If the file is not there, not a model, damaged, of a newer format, or asks for
        types outside the list. The message says which, and what to do.

    Warns
    -----
    UserWarning
        If the model was saved with another version of scikit-learn.

    Notes
    -----
    A checksum finds damage, not intent: anybody can write a file with a right one. Such
    a file can hold a bad model, but not make `load` run its code. Indices in trees,
    sparse matrices and output graphs are checked, since wrong ones would crash the
    process; other parts of scikit-learn are trusted as far as skops trusts them.

    Examples
    --------
    >>> from spanforest.persistence import load
    >>> load("missing.spanforest")
    Traceback (most recent call last):
        ...
    spanforest.persistence.ModelFileError: ... missing.spanforest does not exist. ...
    """
    skops_io = _import_skops()
    path = Path(path)
    with _open(path) as file:
        header, payload = _read_header(path, file), file.read()
    if hashlib.sha256(payload).hexdigest() != header.payload_sha256:
        raise _damaged(path, "the checksum of its model is wrong")
    _check_archive(path, payload)
    try:
        asked = set(skops_io.get_untrusted_types(data=payload))
    except Exception as error:  # the schema is not what skops writes: any kind of error
        raise _damaged(path, f"its model cannot be read ({_short(error)})") from error
    if foreign := asked - _TRUSTED:
        names = _short(", ".join(sorted(foreign)))
        raise ModelFileError(
            f"a model file may name types of spanforest, scikit-learn and NumPy that "
            f"are known to be harmless; {path} asks for {names}. Nothing of "
            "it was run. Do not use this file: spanforest.save does not write such."
        )
    _warn_of_other_version(path, header)
    try:
        with warnings.catch_warnings():  # ours says the same, once for all estimators
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = skops_io.loads(payload, trusted=sorted(asked))
        if not isinstance(model, BaseEstimator):
            raise TypeError(f"it holds a {type(model).__name__}, not an estimator")
        _check_parts(model)
    except Exception as error:  # what is missing or misplaced can fail in any way
        raise ModelFileError(
            f"the model in {path} cannot be built: {_short(error)}."
            f"{_changed_versions(header)} Use the versions it was saved with, or fit "
            "the model and save it again."
        ) from error
    return model


def describe(path: str | os.PathLike[str]) -> ModelFile:
    """Say what a model file holds, from its header alone.

    Nothing of the model is read, and skops is not needed.

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
        If the file is not there, not a model file, of a newer format, or if its header
        or its size is not what it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.persistence import describe, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(MMCRFClassifier(), Path(folder) / "model.spanforest")
    ...     found = describe(Path(folder) / "model.spanforest")
    >>> found.model, found.versions["spanforest"]
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
    """Read the first two lines; compare the size of the rest with what they say."""
    line, digest = file.readline(_LONGEST_HEADER), file.read(_DIGEST_LINE)
    if not line.startswith(_MAGIC):
        raise ModelFileError(
            f"{path} is not a spanforest model file: {_looks_like(line)}. Pass a file "
            "that spanforest.save has written."
        )
    if digest != _digest_line(line):
        raise _damaged(path, "the checksum of its header is wrong")
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "its header is not JSON") from error
    version = header.get("version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}; spanforest {__version__} reads "
            f"versions up to {FORMAT_VERSION}. Install a newer spanforest."
        )
    found = ModelFile(*map(header.get, ModelFile._fields))
    if version not in range(1, FORMAT_VERSION + 1) or not _is_sound(found):
        raise _damaged(path, "its header lacks something")
    n_bytes = os.fstat(file.fileno()).st_size - file.tell()
    if n_bytes != found.payload_bytes:
        expected = f"its model should have {found.payload_bytes} bytes"
        raise _damaged(path, f"{expected} and has {n_bytes}")
    return found


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
        return "it is a pickle, which is never loaded here because it could run code"
    return f"it starts with {line[:20]!r}"


def _check_archive(path: Path, payload: bytes) -> None:
    """Refuse archives that would unpack to far more than they are, or to elsewhere."""
    allowed = _allowed_bytes(payload)
    try:
        n_bytes = _expanded_bytes(payload)
    except Exception as error:  # zipfile has many ways to fail
        raise _damaged(path, f"its model is no archive ({_short(error)})") from error
    if n_bytes > allowed:
        raise ModelFileError(
            f"the model in {path} would unpack from {len(payload)} to {n_bytes} bytes; "
            f"at most {allowed} are accepted, and spanforest.save stays below that. Do "
            "not use this file; ask for another from who made it."
        )


def _allowed_bytes(payload: bytes) -> int:
    return max(_ALWAYS_ALLOWED, _EXPANSION * len(payload))


def _expanded_bytes(archive: bytes, *, nested: bool = False) -> int:
    """Return the size an archive declares, which is the most that zipfile unpacks.

    Sparse matrices are archives in the archive, so these are counted as well; they are
    looked for only when the outer ones are small enough to be unpacked.
    """
    with zipfile.ZipFile(io.BytesIO(archive)) as unpacked:
        members = unpacked.infolist()
        names = [member.orig_filename for member in members]
        for name in names:
            if not name or name.startswith(".") or set(name) & set("/\\:\0"):
                raise ValueError(f"a member has the name {name[:80]!r}")
        if len(set(names)) < len(names):
            raise ValueError("two members have the same name")
        n_bytes = sum(member.file_size for member in members)
        if nested or n_bytes > _allowed_bytes(archive):
            return n_bytes
        for member in members:
            with unpacked.open(member) as file:
                start = file.read(2)
                if start == b"PK":
                    n_bytes += _expanded_bytes(start + file.read(), nested=True)
    return n_bytes


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


# --- what a model is made of ---------------------------------------------------------


def _check_parts(model: BaseEstimator) -> None:
    """Refuse indices that would make compiled code read outside of its arrays."""
    for where, part in _parts(model):
        if isinstance(part, GraphClassifier):
            _check_classifier(part)
        elif isinstance(part, LabelGraph):
            again = LabelGraph(part.n_labels, part.edges)
            if again != part or again.n_components != part.n_components:
                raise ValueError(f"{where} is no graph")
        elif sparse.issparse(part):
            part.check_format(full_check=True)
        elif isinstance(part, BaseEstimator):
            if type(part).__module__ in _FORESTS:
                raise ValueError(f"a {type(part).__name__} cannot be checked")
            if type(tree := vars(part).get("tree_")).__name__ == "Tree":
                _check_tree(tree, part.n_features_in_)


def _check_classifier(model: GraphClassifier) -> None:
    if "_coding" not in vars(model):  # not fitted
        return
    n_values = model._coding.n_values
    is_ensemble = isinstance(model, RandomGraphEnsembleClassifier)
    for member in model.estimators_ if is_ensemble else [model]:
        fits = np.array_equal(member._coding.n_values, n_values)
        if not fits or member.graph_.n_labels != len(n_values) or min(n_values) < 1:
            raise ValueError("its graph and its labels do not fit together")
    factors = model._factors
    n_columns = model._weights.shape[1]
    if n_columns != factors.n_cells or model.intercept_.shape != (n_columns,):
        raise ValueError("its weights and its graph do not fit together")


def _check_tree(tree: Any, n_features: int) -> None:
    """Check that every node has two children further on, or none, and is one's child.

    `max_depth` must hold as well: scikit-learn sizes arrays by it.
    """
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero((left != -1) | (right != -1))
    children = np.concatenate([left[inner], right[inner]])
    level, depth = np.zeros(1, dtype=np.intp), 0
    ok = (
        tree.n_features == n_features
        and np.all(children > np.tile(inner, 2))
        and np.all(children < tree.node_count)
        and len(np.unique(children)) == len(children) == tree.node_count - 1
        and np.all((tree.feature[inner] >= 0) & (tree.feature[inner] < n_features))
    )
    while ok and len(level := np.intersect1d(level, inner)):
        level, depth = np.concatenate([left[level], right[level]]), depth + 1
    if not ok or depth > tree.max_depth:
        raise ValueError("one of its trees is no tree")


def _parts(model: BaseEstimator) -> Iterator[tuple[str, Any]]:
    """Yield everything a model is made of, with the attributes that lead there."""
    queue: deque[tuple[str, Any]] = deque([("", model)])
    seen: dict[int, Any] = {}  # the objects too: a freed one would free its number
    while queue:
        where, part = queue.popleft()
        if id(part) in seen or part is None or isinstance(part, str | int | float):
            continue
        seen[id(part)] = part
        yield where.removeprefix("."), part
        if isinstance(part, type | ModuleType | FunctionType):
            continue
        if isinstance(part, dict):
            queue += [(f"{where}[{key!r:.40}]", item) for key, item in part.items()]
            queue += [(where, key) for key in part]
        elif isinstance(part, list | tuple | set | frozenset) or (
            isinstance(part, np.ndarray) and part.dtype.hasobject
        ):
            items = part.ravel() if isinstance(part, np.ndarray) else part
            queue += [(f"{where}[{i}]", item) for i, item in enumerate(items)]
        attributes = getattr(part, "__dict__", {})
        queue += [(f"{where}.{name}", item) for name, item in attributes.items()]


def _name(part: Any) -> str:
    """Return the name by which files call a function, a class, or an object's class."""
    named = part if hasattr(part, "__qualname__") else type(part)
    return f"{named.__module__}.{named.__qualname__}"


# --- small things --------------------------------------------------------------------


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
        f"{path} is damaged, cut short or altered: {what}. Copy it again from where it "
        "came from, or save the model again."
    )


def _short(text: object) -> str:
    """Return a text short and printable: it may come from a hostile file."""
    return "".join(c if c.isprintable() else " " for c in str(text)[:300])
