"""The training examples, and those of them that the search sees."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from spanforest._input_kinds import is_linear
from spanforest._parameters import seed_sequence
from spanforest._weights import read_targets
from spanforest.ensemble import RandomGraphEnsembleClassifier

# Examples in the search: few enough for several kernel matrices.
MOST_COMPARED = 3000
MOST_LINEAR = 20000  # without a matrix
_ROWS_KEY = 0x726F7773  # no member of an ensemble has this key


class Examples(NamedTuple):
    """Training examples, as the user gave them."""

    X: Any
    y: Any
    sample_weight: Any = None

    def select(self, rows: NDArray[np.intp]) -> Examples:
        """Return the examples of these rows."""
        weight = self.sample_weight
        weight = None if weight is None else _rows_of(weight, rows)
        return Examples(_rows_of(self.X, rows), _rows_of(self.y, rows), weight)

    def for_search(
        self,
        kernels: list[Any],
        cv: Any,
        template: RandomGraphEnsembleClassifier,
    ) -> tuple[Examples, str]:
        """Return the examples that the search sees, and a note if these are not all.

        Folds that were given, and kernel matrices, are about all examples.
        """
        n = _num_samples(self.X)
        is_whole = not isinstance(cv, Integral) or "precomputed" in kernels
        if is_whole or n <= MOST_COMPARED:
            return self, ""
        targets = read_targets(
            n, self.y, self.sample_weight, template.class_weight, template.missing_label
        )
        rows = search_rows(targets.Y, kernels, template.random_state)
        if rows is None:
            return self, ""
        note = f"the search saw {len(rows):,} of {n:,} examples"
        rows = rows if targets.rows is None else targets.rows[rows]
        return self.select(rows), note


def _rows_of(data: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an array, a table or a sparse matrix of any form."""
    return _safe_indexing(data.tocsr() if sparse.issparse(data) else data, rows)


def search_rows(
    Y: NDArray[np.integer], kernels: list[Any], random_state: int
) -> NDArray[np.intp] | None:
    """Return the examples that the search sees, at random; None if it sees all.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_labels)
        Codes of the labels, -1 where not observed. Every value of every label occurs in
        some example, and also in those that are returned. With very many rare labels
        that adds some rows.
    kernels : list
        The kernels to choose from.
    random_state : int
        Draws the examples.

    Examples
    --------
    >>> search_rows(np.zeros((1000, 2)), ["rbf"], 0) is None
    True
    >>> search_rows(np.zeros((9000, 2)), ["linear", "cosine"], 0) is None
    True
    >>> len(search_rows(np.zeros((9000, 2)), ["linear", "forest"], 0))
    3000
    """
    most = MOST_LINEAR if all(map(is_linear, kernels)) else MOST_COMPARED
    if len(Y) <= most:
        return None
    root = seed_sequence(random_state)
    own = np.random.SeedSequence(root.entropy, spawn_key=(_ROWS_KEY,))
    drawn = np.random.default_rng(own).choice(len(Y), most, replace=False)
    firsts = [_first_of_each(column, column[drawn]) for column in np.asarray(Y).T]
    return np.unique(np.concatenate([drawn, *firsts]))


def _first_of_each(
    codes: NDArray[np.integer], drawn: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Return the first rows of the values of a label that were not drawn."""
    values, first = np.unique(codes, return_index=True)
    return first[(values >= 0) & ~np.isin(values, drawn)]
