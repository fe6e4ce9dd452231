"""Reading data sets from ARFF and npz files."""

import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._files import line_of_example
from spanforest.arff import Attribute, Relation, read_arff
from spanforest.datasets._dataset import Dataset
from spanforest.metrics import find_missing

_WORDS = {"no": 0, "n": 0, "false": 0, "f": 0, "yes": 1, "y": 1, "true": 1, "t": 1}
_NOT_AN_ARCHIVE = (  # what NumPy and zipfile raise for other or damaged files
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError),
    *(AttributeError, ValueError),
)
_NPZ_KEYS = {
    *("X", "X_data", "X_indices", "X_indptr", "X_shape", "K", "Y"),
    *("feature_names", "label_names", "nominal_features", "split"),
}


def load_arff(
    path: str | os.PathLike[str],
    labels: str | os.PathLike[str] | int | Sequence[str] | None = None,
    *,
    drop: str | Iterable[str] = (),
    encoding: str = "utf-8",
) -> Dataset:
    """Read a multilabel data set from an ARFF file.

    Parameters
    ----------
    path : path
        The file; ``.bz2`` and ``.gz`` are decompressed.
    labels : path, int, sequence of str or None, default=None
        Which attributes are labels: the path of a Mulan XML file that names
        them; a number, of attributes at the beginning or, if negative, at the end,
        where those in `drop` do not count; or their names. With None it is the XML
        file that stands beside `path` (``a.xml`` for ``a.arff.bz2``) or, without one,
        MEKA's ``-C`` in the relation's name.
    drop : str or iterable of str, default=()
        Names of attributes to leave out, such as identifiers. Attributes that are
        strings or dates must be dropped, since they are no numbers.
    encoding : str, default="utf-8"
        How the file is encoded.

    Returns
    -------
    dataset : Dataset
        Labels come in the order of `labels`, features in that of the file. `X` is a CSR
        array if the file is sparse; missing features are NaN. `Y` holds whole numbers,
        of type float only if some labels are missing, which are NaN: estimators then
        learn from the others. `nominal_features` tells
        the nominal features with more than two values, whose numbers have no meaning:
        scikit-learn's ``OneHotEncoder`` encodes them.

    Raises
    ------
    ArffError
        If the file is not valid ARFF, with file and line.
    ValueError
        If the labels are not to be found, or a column cannot be used.

    Notes
    -----
    A nominal value becomes a number: itself if all values of the attribute are whole
    numbers (so labels with several values keep them), 0 or 1 if they are no and yes or
    false and true, else its position in the declaration.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spanforest.datasets import load_arff
    >>> text = '''@relation 'toy: -C 2'
    ... @attribute rain {no, yes}
    ... @attribute clouds {0, 1, 2}
    ... @attribute temperature numeric
    ... @data
    ... no, 0, 25
    ... yes, 2, 12.5
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.arff")
    ...     _ = path.write_text(text)
    ...     toy = load_arff(path)
    >>> toy.label_names, toy.feature_names
    (('rain', 'clouds'), ('temperature',))
    >>> toy.Y
    array([[0, 0],
           [1, 2]])
    """
    relation = read_arff(path, encoding=encoding)
    path = os.fspath(path)
    names = [attribute.name for attribute in relation.attributes]
    dropped = [drop] if isinstance(drop, str) else list(drop)
    _check_known(dropped, names, path, "drop")
    if isinstance(labels, int | np.integer):
        kept = [name for name in names if name not in dropped]
        labels = counted_names(int(labels), kept, path, "attributes")
    label_names = _label_names(labels, relation, path)
    _check_known(label_names, names, path, "labels")

    left_out = {*dropped, *label_names}
    features = [j for j, name in enumerate(names) if name not in left_out]
    chosen = [names.index(name) for name in label_names if name not in dropped]
    for attribute in (relation.attributes[j] for j in (*features, *chosen)):
        if attribute.kind in ("string", "date"):
            raise ValueError(
                f"{path}: the attribute {attribute.name!r} is a {attribute.kind}, no "
                f"number or category. Leave it out: drop=[{attribute.name!r}]."
            )
    kinds = [relation.attributes[j] for j in features]
    return Dataset(
        name=_stem(path),
        X=_numbers(relation, features),
        Y=_label_matrix(relation, chosen, path),
        feature_names=tuple(names[j] for j in features),
        label_names=tuple(names[j] for j in chosen),
        nominal_features=np.array([len(kind.values) > 2 for kind in kinds], dtype=bool),
    )


def load_npz(path: str | os.PathLike[str], *, is_complete: bool = True) -> Dataset:
    """Read a data set from a NumPy archive.

    Parameters
    ----------
    path : path
        An archive with `Y`; with `X`, or a CSR matrix as `X_data`, `X_indices`,
        `X_indptr` and `X_shape`, or a kernel matrix `K`; and, as far as known,
        `feature_names`, `label_names`, `nominal_features` and `split`. Other arrays are
        ignored, and so nothing is unpickled.
    is_complete : bool, default=True
        Pass False for examples to predict for: `Y` may be absent, and then has no
        columns; `K` need not be square, since it has a column per training example.

    Returns
    -------
    dataset : Dataset
        With the name of the file. `Y` is of type float, with NaN, only if some labels
        are missing.

    Raises
    ------
    ValueError
        If the file is no such archive, or its arrays do not fit together.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from spanforest.datasets import load_npz
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "toy.npz"), X=[[1.5], [2.0]], Y=[[0, 1], [1, 1]])
    ...     load_npz(Path(folder, "toy.npz"))
    <Dataset toy: 2 x 2 labels, 1 features>
    """
    path = os.fspath(path)
    with open(path, "rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
            names = _NPZ_KEYS.intersection(archive.files)
            arrays = {name: archive[name] for name in names}
        except _NOT_AN_ARCHIVE as error:
            raise ValueError(
                f"{path}: expected a NumPy archive (npz) of plain arrays; {error}"
            ) from error

    inputs = [key for key in ("X", "X_data", "K") if key in arrays]
    if (is_complete and "Y" not in arrays) or len(inputs) != 1:
        raise ValueError(
            f"{path}: expected {'Y and ' * is_complete}one of X, X_data (CSR) and K; "
            f"found {', '.join(sorted(arrays)) or 'none of these'}."
        )
    X, K = _npz_inputs(arrays, path)
    shape: tuple[int, ...] = (K if X is None else X).shape  # type: ignore[union-attr]
    Y = arrays.get("Y", np.empty((*shape[:1], 0)))
    if Y.dtype.kind not in "biu":
        Y = Y.astype(float)
        if not (np.isnan(Y) | (np.rint(Y) == Y) & np.isfinite(Y)).all():
            raise ValueError(
                f"{path}: Y must hold whole numbers, or NaN for labels that were not "
                "observed; found fractions or infinity."
            )
    if not find_missing(Y).any():
        Y = Y.astype(int)
    n_samples = Y.shape[0] if Y.ndim == 2 else -1
    fits = K is None or not is_complete or shape == (n_samples, n_samples)
    if len(shape) != 2 or shape[0] != n_samples or not fits:
        raise ValueError(
            f"{path}: Y must be a matrix with a row for each row of {inputs[0]}, and K "
            f"square; found shapes {Y.shape} and {tuple(shape)}."
        )
    split = arrays.get("split")
    return Dataset(
        name=Path(path).stem,
        X=X,
        K=K,
        Y=Y,
        feature_names=tuple(arrays.get("feature_names", np.array([])).tolist()),
        label_names=tuple(arrays.get("label_names", np.array([])).tolist()),
        nominal_features=arrays.get("nominal_features"),
        split=None if split is None else (int(split[0]), int(split[1])),
    )


def whole_numbers(values: Sequence[str]) -> list[int]:
    """Give the numbers that the values of a nominal attribute stand for.

    Whole numbers stand for themselves, no and yes or false and true for 0 and 1, and
    other values for their positions.
    """
    if all(re.fullmatch(r"[+-]?[0-9]{1,9}", value) for value in values):
        numbers = [int(value) for value in values]
        if len(set(numbers)) == len(numbers):  # not so with 1 and 01
            return numbers
    if len(values) <= 2 and all(value.lower() in _WORDS for value in values):
        numbers = [_WORDS[value.lower()] for value in values]
        if len(set(numbers)) == len(numbers):
            return numbers
    return list(range(len(values)))


def counted_names(number: int, names: list[str], path: str, what: str) -> list[str]:
    """Give the first names or, if the number is negative, the last ones."""
    if not 0 < abs(number) <= len(names):
        raise ValueError(
            f"{path}: there are {len(names)} {what}, so that a number of labels must "
            f"be between 1 and {len(names)}; got {abs(number)}."
        )
    return names[:number] if number > 0 else names[number:]


def _stem(path: str) -> str:
    """Give the name of a file without its folder, ``.arff`` and compression."""
    return re.sub(r"(?i)\.arff(\.\w+)?$", "", Path(path).name)


def _label_names(labels: Any, relation: Relation, path: str) -> list[str]:
    """Find out the labels' names; see `load_arff`."""
    names = [attribute.name for attribute in relation.attributes]
    if labels is None:
        beside = Path(path).with_name(_stem(path) + ".xml")
        option = re.search(r"-C\s+(-?\d+)", relation.name)
        # A relation keeps its old -C when Weka's filters have moved the labels.
        if beside.is_file():
            labels = beside
        elif option:
            labels = int(option[1])
        else:
            raise ValueError(
                f"{path}: which attributes are labels? There is no {beside.name} next "
                "to it, and no '-C n' in the relation's name. Pass labels= a Mulan XML "
                "file, the names, or a number of attributes (negative: the last ones)."
            )
    if isinstance(labels, str | os.PathLike):
        return _mulan_labels(os.fspath(labels))
    if isinstance(labels, int | np.integer):
        return counted_names(int(labels), names, path, "attributes")
    return list(labels)


def _mulan_labels(path: str) -> list[str]:
    """Give the names in a Mulan XML file; a hierarchy is read from top to bottom."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(
            f"{path}, line {error.position[0]}: expected a Mulan XML file, which names "
            f"the labels; {error}."
        ) from error
    found = [e.get("name") for e in root.iter() if e.tag.rpartition("}")[2] == "label"]
    names = [name for name in found if name is not None]
    if not names or len(names) < len(found):
        raise ValueError(
            f'{path}: expected elements <label name="..."/>; found {len(found)} label '
            f"elements, {len(names)} of them with a name."
        )
    return names


def _check_known(wanted: list[str], names: list[str], path: str, what: str) -> None:
    unknown = [name for name in wanted if name not in set(names)]
    if unknown or len(set(wanted)) < len(wanted):
        found = f"{unknown[0]!r} is none" if unknown else "one stands there twice"
        raise ValueError(
            f"{path}: {what} must be distinct names of attributes; {found}."
        )


def _numbers(
    relation: Relation, columns: list[int]
) -> NDArray[np.float64] | sparse.csr_array:
    """Give columns with the numbers that the codes of nominal values stand for."""
    data = relation.data[:, columns]
    values = [_values_of(relation.attributes[j]) for j in columns]
    if isinstance(data, np.ndarray):
        for j, numbers in enumerate(values):
            if numbers is not None:
                data[:, j] = _decode(data[:, j], numbers)
        return data

    # An omitted entry stands for the first value, whatever its number: shift that
    # number to zero, decode what is stored, and shift back.
    data = data.tocsc()
    first = np.zeros(len(columns))
    for j, numbers in enumerate(values):
        if numbers is not None:
            first[j] = numbers[0]
            stored = slice(data.indptr[j], data.indptr[j + 1])
            data.data[stored] = _decode(data.data[stored], numbers) - first[j]
    data = data.tocsr()
    if first.any():
        every_row = sparse.csr_array(np.ones((data.shape[0], 1)))
        data = data + every_row @ sparse.csr_array(first[np.newaxis])
    data.eliminate_zeros()
    return data


def _values_of(attribute: Attribute) -> NDArray[np.float64] | None:
    """Give the number of every code; None if each code is its own number."""
    numbers = whole_numbers(attribute.values)
    if numbers == list(range(len(numbers))):
        return None
    return np.array(numbers, dtype=np.float64)


def _decode(
    codes: NDArray[np.float64], numbers: NDArray[np.float64]
) -> NDArray[np.float64]:
    known = ~np.isnan(codes)
    decoded = np.full(codes.shape, np.nan)
    decoded[known] = numbers[codes[known].astype(int)]
    return decoded


def _label_matrix(relation: Relation, columns: list[int], path: str) -> NDArray[Any]:
    """Give the labels as whole numbers; as floats, with NaN, if some are missing."""
    Y = _numbers(relation, columns)
    Y = Y if isinstance(Y, np.ndarray) else Y.toarray()
    missing = np.isnan(Y)
    whole = (np.rint(Y) == Y) & (np.abs(Y) < 2**31)
    if not (whole | missing).all():
        i, j = np.argwhere(~(whole | missing))[0]
        name = relation.attributes[columns[j]].name
        line = line_of_example(Path(path), i, header_end="@data")
        place = f"example {i} (from 0)" if line is None else f"line {line}"
        raise ValueError(
            f"{path}: labels must be whole numbers or categories; the label {name!r} "
            f"in {place} is {Y[i, j]}. Drop the label, or remove such examples from "
            "the file."
        )
    return Y if missing.any() else Y.astype(int)


def _npz_inputs(
    arrays: dict[str, NDArray], path: str
) -> tuple[NDArray[np.float64] | sparse.csr_array | None, NDArray[np.float64] | None]:
    if "K" in arrays:
        return None, arrays["K"].astype(np.float64)
    if "X" in arrays:
        return arrays["X"].astype(np.float64), None
    try:
        parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        X = sparse.csr_array(parts, shape=tuple(arrays["X_shape"]), dtype=np.float64)
        X.check_format()
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"{path}: X_data, X_indices, X_indptr and X_shape must be a CSR matrix; "
            f"{error}"
        ) from error
    return X, None
