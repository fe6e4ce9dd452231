"""The record of a data set, and what to leave out of one."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._labels import read_labels
from spanforest.metrics import find_missing


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Examples with their labels; either features `X` or a kernel matrix `K`."""

    name: str
    Y: NDArray[Any]  # (n_samples, n_labels); NaN, or None among text, if missing
    X: NDArray[np.float64] | sparse.csr_array | None = None  # (n_samples, n_features)
    K: NDArray[np.float64] | None = None  # (n_samples, n_samples)
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    nominal_features: NDArray[np.bool_] | None = None  # columns of X with codes
    # names of features to the texts that their codes 0, 1, ... stand for
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    boolean_labels: tuple[str, ...] = ()  # labels that are true and false in the file
    split: tuple[int, int] | None = None  # published numbers of training and test rows
    is_text: bool = False  # X holds counts of words: apply TF-IDF first
    kernel: str = "linear"  # name of the kernel that suits X
    note: str = ""  # a remark for readers of results

    def __repr__(self) -> str:
        size = f"{self.n_samples} x {self.n_labels} labels"
        inputs = "kernel" if self.K is not None else f"{self.n_features} features"
        return f"<Dataset {self.name}: {size}, {inputs}>"

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return self.Y.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.Y.shape[1]

    @property
    def missing_labels(self) -> NDArray[np.bool_]:
        """Whether each label is missing, of shape (n_samples, n_labels)."""
        return find_missing(self.Y)

    @property
    def n_values(self) -> NDArray[np.intp]:
        """Number of different values of each label, of shape (n_labels,)."""
        columns = zip(self.Y.T, ~self.missing_labels.T, strict=True)
        counts = [len(set(column[known].tolist())) for column, known in columns]
        return np.array(counts, dtype=np.intp)

    @property
    def is_on(self) -> NDArray[np.bool_]:
        """Whether each label is on, of shape (n_samples, n_labels); off if missing.

        0 is off and 1 is on. Of other values the lowest is off and the others are on.
        """
        on = np.zeros(self.Y.shape, dtype=bool)
        missing = self.missing_labels
        for j in np.flatnonzero(~missing.all(axis=0)):
            codes, coding = read_labels(self.Y[~missing[:, j], j])
            on[~missing[:, j], j] = coding.is_on[0][codes[:, 0]]
        return on

    @property
    def n_features(self) -> int:
        """Number of features; 0 if there is only a kernel matrix."""
        return 0 if self.X is None else self.X.shape[1]

    @property
    def cardinality(self) -> float:
        """Average number of labels of an example that are on."""
        return float(self.is_on.sum() / max(self.n_samples, 1))

    @property
    def density(self) -> float:
        """Cardinality divided by the number of labels."""
        return self.cardinality / max(self.n_labels, 1)


def drop_degenerate(dataset: Dataset) -> Dataset:
    """Drop examples without features and then labels with a single value.

    An example whose features are all zero, or whose diagonal entry of the kernel is
    zero, cannot be scaled to unit length. A label that never varies cannot be learned.
    The paper's experiments leave out both.

    Parameters
    ----------
    dataset : Dataset
        It is not changed.

    Returns
    -------
    dataset : Dataset
        The same object if there is nothing to drop. `split` counts the remaining
        rows.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.datasets import Dataset, drop_degenerate
    >>> toy = Dataset("toy", X=np.array([[1.0], [0], [2]]), Y=np.array(
    ...     [[1, 0], [0, 0], [1, 1]]), label_names=("a", "b"))
    >>> drop_degenerate(toy).label_names
    ('b',)
    """
    X, K, Y = dataset.X, dataset.K, dataset.Y
    if X is not None:
        rows = np.asarray((X != 0).sum(axis=1)).ravel() > 0
    elif K is not None:
        rows = np.diagonal(K) != 0
    else:
        rows = np.ones(len(Y), dtype=bool)
    Y = Y[rows]
    known = ~find_missing(Y)
    labels = np.array(
        [(y[seen] != y[seen][:1]).any() for y, seen in zip(Y.T, known.T, strict=True)],
        dtype=bool,
    )
    if rows.all() and labels.all():
        return dataset
    names = np.array(dataset.label_names, dtype=object)
    split = dataset.split
    return replace(
        dataset,
        X=None if X is None else X[rows],
        K=None if K is None else K[np.ix_(rows, rows)],
        Y=Y[:, labels],
        label_names=tuple(names[labels]) if len(names) else (),
        split=split and (int(rows[: split[0]].sum()), int(rows[split[0] :].sum())),
    )
