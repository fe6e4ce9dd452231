"""Named tuples of arrays that the layers above pass to compiled routines.

Buffers that only compiled routines read are defined beside these routines. Numba writes
the names of all these classes and of their modules into its cache on disk. Renaming or
moving a class breaks a cache that an earlier version wrote under the same file name.
"""

import math
from typing import NamedTuple

import numpy as np


class FactorArrays(NamedTuple):
    """A factor graph; see LABEL_FIELDS, FACTOR_FIELDS and BRANCH_FIELDS in `factors`.

    Factors are numbered edges first, then the unary factors. Their tables lie one
    after the other in a vector of cells; cell (a, b) of the edge (u, v), u < v, is
    ``offset + a * n_second + b``.
    """

    label: np.ndarray  # (n_labels,) records
    factor: np.ndarray  # (n_factors,) records
    branch: np.ndarray  # records: edges of a spanning forest, from the roots down
    root: np.ndarray  # (n_components,) its roots
    order: np.ndarray  # (n_labels,) breadth first: parents before children
    incident: np.ndarray  # (2 * n_edges,) the edges at each label


# The loss of a factor: `worst` if both ends are wrong. The other weights are subtracted
# where they are right. `losses` explains these three.
LOSS_FIELDS = np.dtype(
    [(name, np.float64) for name in ("worst", "joint", "first", "second")]
)


class Targets(NamedTuple):
    """What the examples teach.

    `taught` is empty if every label of every example is observed and counts. Otherwise
    Y holds an arbitrary code where a label is not observed. `factor_weight` is empty if
    all are 1.
    """

    loss: np.ndarray  # (n_factors,) records
    Y: np.ndarray  # (n_samples, n_labels) codes of the true labels
    taught: np.ndarray  # (n_samples, n_factors) whether all its labels are observed
    box: np.ndarray  # (n_samples,) C times the weight of each example
    factor_weight: np.ndarray  # (n_samples, n_factors) how often a factor counts

    def of(self, chunk):
        """Return the targets of a slice of the examples; empty arrays stay so."""
        return self._replace(
            Y=self.Y[chunk],
            taught=self.taught[chunk],
            box=self.box[chunk],
            factor_weight=self.factor_weight[chunk],
        )


class ProblemArrays(NamedTuple):
    """A training problem."""

    graph: FactorArrays
    layout: np.ndarray  # (n_factors,) records, see `factors.Coordinates`
    targets: Targets
    visit: tuple  # the buffers of a visit, see `visits.Visit`


# Rows of `visits.Visit.cells`. One array compiles faster than four.
SCORES = 0  # F_i, and then loss + F_i
MARGINALS = 1
SHIFT = 2  # what the marginals gained
MASKED = 3  # minus the scores where there is mass, FORBIDDEN elsewhere

# Rows of `visits.Visit.labels`.
GAINING = 0
LOSING = 1

NOTHING = np.zeros(0)


class State(NamedTuple):
    """The arrays that an epoch changes, and how a change enters the weights."""

    dual_coef: np.ndarray  # (n_samples, n_coordinates) A itself, in coordinates
    intercept: np.ndarray  # (n_coordinates,) of the smoothed A
    hinge: np.ndarray  # (n_samples,) margin violation before the visit
    scale: np.ndarray  # (1,) a change of the dual variables enters the weights times it
    constant: float  # value of the constant feature
    squared_norms: np.ndarray = NOTHING  # (n_samples,) <F_i, A_i>, or empty


class DenseRows(NamedTuple):
    """Dense data with the weights that multiply them, one row of data per example."""

    data: np.ndarray  # (n_samples, n_columns) features or kernel values
    weights: np.ndarray  # (n_coordinates, n_columns) in double precision
    rounded: np.ndarray  # the weights in the data's precision: a copy, or the same


class SparseRows(NamedTuple):
    """The three arrays of a CSR matrix without duplicates."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    @classmethod
    def of(cls, matrix):
        """Return the arrays of a matrix, with 32-bit indices if they suffice."""
        indices, indptr = matrix.indices, matrix.indptr
        if max(matrix.shape[1], matrix.nnz) <= np.iinfo(np.int32).max:
            indices = indices.astype(np.int32, copy=False)
            indptr = indptr.astype(np.int32, copy=False)
        return cls(*map(read_only, (matrix.data, indices, indptr)))


def read_only(array):
    """Return a C-contiguous array that cannot be written, a view if possible.

    Numba compiles routines anew for arrays of users that are read-only, or have
    another layout. So all arrays of users pass through here.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


class DecisionTrees(NamedTuple):
    """The nodes of all trees of a forest, one tree after the other.

    A leaf has feature -1, and its number stands in `left`.
    """

    feature: np.ndarray  # (n_nodes,) which feature a node looks at
    threshold: np.ndarray  # (n_nodes,) examples up to it go left
    left: np.ndarray  # (n_nodes,) the child to the left, or the number of a leaf
    right: np.ndarray  # (n_nodes,) the child to the right
    nan_left: np.ndarray  # (n_nodes,) whether examples without a value go left
    root: np.ndarray  # (n_trees,) the first node of each tree


class Schedule(NamedTuple):
    """How long and how carefully max-product passes messages."""

    n_sweeps: int
    damping: float  # share of the old message that is kept


class StoppingRule(NamedTuple):
    """When to stop passing messages in a part of a search."""

    max_sweeps: int
    target: float  # stop when the bound is down to this score
    patience: float  # stop when two sweeps close less than this share of the gap
    meet: float  # a bound that exceeds a score by at most this meets it


class Subproblem(NamedTuple):
    """The inference problem that is left when some labels are fixed."""

    scores: np.ndarray  # (n_cells,)
    graph: FactorArrays  # of the free labels, without the fields that forests need
    constant: float  # score of the factors whose labels are all fixed

    @property
    def n_values(self) -> np.ndarray:
        """Numbers of values of the free labels."""
        return self.graph.label["n_values"]

    @property
    def n_labellings(self) -> int:
        """Number of labellings; a Python integer, since it may be huge."""
        return math.prod(self.n_values.tolist())

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.graph.incident) // 2


# stamp: bf4b671b9d7ccd4c
