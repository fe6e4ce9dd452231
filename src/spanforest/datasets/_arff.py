"""Reading data sets from ARFF files: features and labels as numbers.

The format itself is in `_arff_format`, the choice of the labels in `_arff_labels`.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._wording import quoted, to_drop
from spanforest.datasets._arff_format import Attribute, Relation, read_arff
from spanforest.datasets._arff_labels import choose_labels
from spanforest.datasets._columns import Columns, whole_labels
from spanforest.datasets._dataset import Dataset
from spanforest.datasets._memory import MemoryLimit
from spanforest.datasets._text_files import line_of_example, stem
from spanforest.datasets._words import numbers_of_words, whole_numbers

_BYTES_OF_ENTRY = 12  # of a sparse matrix: a number and its column


def load_arff(
    path: str | os.PathLike[str],
    labels: str | os.PathLike[str] | int | Sequence[str] | None = None,
    *,
    drop: str | Iterable[str] = (),
    encoding: str = "utf-8",
    max_memory: int | None = None,
) -> Dataset:
    """Read a multilabel data set from an ARFF file.

    Parameters
    ----------
    path : path
        The file; ``.bz2``, ``.gz`` and ``.xz`` are decompressed.
    labels : path, int, sequence of str or None, default=None
        Which attributes are labels: the path of a Mulan XML file that names them;
        their names; or their number, counted from the beginning or, if negative, from
        the end, without those in `drop`. None stands for the XML file next to `path`
        (``a.xml`` for ``a.arff.bz2`` and for ``a-train.arff``) or, without one, for
        MEKA's ``-C`` in the relation's name. A ``-C`` that contradicts the XML file is
        refused, and so is one in a name that filters have changed.
    drop : str or iterable of str, default=()
        Names of attributes to leave out, such as identifiers. Strings and dates must
        be dropped, since they are not numbers.
    encoding : str, default="utf-8"
        The encoding of the file.
    max_memory : int, optional
        The largest number of bytes that the contents may take. By default 2 GiB, or
        a quarter of the machine's memory if that is less.

    Returns
    -------
    dataset : Dataset
        Labels are in the order of `labels`, features in the order of the file. `X` is a
        CSR array if the file is sparse; missing features are NaN. `Y` holds whole
        numbers. If some labels are missing, `Y` is of type float and they are NaN;
        estimators learn from the others. `nominal_features` marks the nominal features
        with more than two values. The order of their numbers has no meaning; encode
        them with scikit-learn's ``OneHotEncoder``. `categories` says what the numbers
        of text stand for.

    Raises
    ------
    ArffError
        If the file is not valid ARFF; the message names file and line.
    ValueError
        If the labels are not known, a column cannot be used, or the contents need more
        memory than `max_memory`.

    Notes
    -----
    A nominal value becomes a number. If all values of the attribute are whole numbers,
    they stay as they are. No and yes, or false and true, become 0 and 1. Other values
    become their positions in the declaration.

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
    relation = read_arff(path, encoding=encoding, max_memory=max_memory)
    path = os.fspath(path)
    memory = MemoryLimit.of(path, max_memory)
    names = [attribute.name for attribute in relation.attributes]
    everything = Columns(names, path, "attributes")
    kept = everything.without(drop)
    label_names = choose_labels(labels, relation.name, everything, kept)
    are_kept, are_labels = set(kept.names), set(label_names)
    place = {name: j for j, name in enumerate(names)}
    features = [place[name] for name in kept.names if name not in are_labels]
    chosen = [place[name] for name in label_names if name in are_kept]
    for attribute in (relation.attributes[j] for j in (*features, *chosen)):
        if attribute.kind in ("string", "date"):
            raise ValueError(
                f"{path}: the attribute {quoted(attribute.name)} is a "
                f"{attribute.kind}, not a number or category. Leave it out: "
                f"{to_drop([attribute.name])}."
            )
    n_values = [len(relation.attributes[j].values) for j in features]
    texts = {names[j]: relation.attributes[j].values for j in features}
    return Dataset(
        name=stem(path),
        X=_numbers(relation, features, memory),
        Y=_label_matrix(relation, chosen, memory),
        feature_names=tuple(names[j] for j in features),
        label_names=tuple(names[j] for j in chosen),
        nominal_features=np.array(n_values) > 2,
        categories={name: own for name, own in texts.items() if _are_texts(own)},
    )


def _are_texts(values: Sequence[str]) -> bool:
    """Return whether the numbers of values are positions, which the file chooses."""
    are_numbers = all(re.fullmatch(r"[+-]?[0-9]{1,9}", value) for value in values)
    return not are_numbers and numbers_of_words(values) is None


def _numbers(
    relation: Relation, columns: list[int], memory: MemoryLimit
) -> NDArray[np.float64] | sparse.csr_array:
    """Return columns in which nominal codes are replaced by their numbers."""
    data = relation.data[:, columns]
    values = [_values_of(relation.attributes[j]) for j in columns]
    if isinstance(data, np.ndarray):
        for j, numbers in enumerate(values):
            if numbers is not None:
                data[:, j] = _decode(data[:, j], numbers)
        return data

    # An omitted entry stands for the first value, whatever its number is. Shift that
    # number to zero, decode the stored entries, and shift back.
    data = data.tocsc()
    first = np.zeros(len(columns))
    for j, numbers in enumerate(values):
        if numbers is not None:
            first[j] = numbers[0]
            stored = slice(data.indptr[j], data.indptr[j + 1])
            data.data[stored] = _decode(data.data[stored], numbers) - first[j]
    data = data.tocsr()
    if first.any():
        n_shifted = np.count_nonzero(first)
        memory.check(_BYTES_OF_ENTRY * (data.nnz + data.shape[0] * n_shifted))
        every_row = sparse.csr_array(np.ones((data.shape[0], 1)))
        data = data + every_row @ sparse.csr_array(first[np.newaxis])
    data.eliminate_zeros()
    return data


def _values_of(attribute: Attribute) -> NDArray[np.float64] | None:
    """Return the number of every code; None if each code is its own number."""
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


def _label_matrix(
    relation: Relation, columns: list[int], memory: MemoryLimit
) -> NDArray[Any]:
    path = memory.path

    def place(i: int, j: int) -> str:
        name = relation.attributes[columns[j]].name
        line = line_of_example(Path(path), i, header_end="@data")
        return (
            f"the label {quoted(name)} in {f'line {line}' if line else f'row {i + 1}'}"
        )

    memory.check(8 * relation.data.shape[0] * len(columns))
    Y = _numbers(relation, columns, memory)
    return whole_labels(Y if isinstance(Y, np.ndarray) else Y.toarray(), path, place)
