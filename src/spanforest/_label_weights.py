"""Weights of features for each label, in the form that scikit-learn's tools expect.

A model has weights for the cells of its factors. Those of a label sum them up: they are
for the label being on, on average over the values of all other labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spanforest._labels import LabelCoding
from spanforest.factors import FactorGraph

__all__ = ["LabelWeightsMixin", "label_contrasts"]


class LabelWeightsMixin:
    """The attributes `coef_` and `intercept_`, with a linear or cosine kernel."""

    _coding: LabelCoding
    _factors: FactorGraph
    cell_intercept_: NDArray[np.float64]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the features for each label, as in scikit-learn's linear models.

        ``X @ coef_.T + intercept_`` is the mean score of all label sets with the label
        on minus the mean score of all label sets with the label off. Without edges it
        is the `decision_function`. With rows of unit length, such as those of the
        cosine kernel, X stands for these, after the scaling.
        """
        contrasts = self._contrasts("coef_")
        return contrasts.T @ vars(self)["cell_coef_"].T

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The constants that belong to `coef_`."""
        return self._contrasts("intercept_").T @ self.cell_intercept_

    def _contrasts(self, name: str) -> Any:
        """Return what multiplies the weights of cells."""
        kind = type(self).__name__
        if "cell_coef_" not in vars(self):  # for hasattr, also before fit
            raise AttributeError(
                f"{kind} has {name} after a fit with a linear kernel only. Set "
                'kernel="linear", or use spanforest.diagnostics.feature_importance.'
            )
        n_values = self._coding.n_values
        if self._coding.is_vector and n_values[0] > 2:
            return sparse.eye_array(n_values[0], format="csr")
        if n_values.max() > 2:
            j = int(n_values.argmax())
            raise AttributeError(
                f"{kind} has {name} for labels with two values only; label {j} has "
                f"{n_values[j]}. The weights of all cells are in cell_coef_."
            )
        return label_contrasts(self._factors)


def label_contrasts(factors: FactorGraph) -> Any:
    """Return the share of every cell in the contrast between on and off of a label.

    Parameters
    ----------
    factors : FactorGraph
        Factors of labels with at most two values.

    Returns
    -------
    sparse array of shape (n_cells, n_labels)
        For the score of an edge's cell, 1 over the number of values of its other end if
        the label is on there, minus that if it is off. A label with one value has no
        contrast.

    Examples
    --------
    >>> from spanforest.graphs import LabelGraph
    >>> label_contrasts(FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])).toarray().T
    array([[-0.5, -0.5,  0.5,  0.5],
           [-0.5,  0.5, -0.5,  0.5]])
    """
    factor = factors.arrays.factor
    of_cell = factor[np.repeat(np.arange(len(factor)), factor["n_cells"])]
    cells = np.arange(factors.n_cells)
    values = np.divmod(cells - of_cell["offset"], of_cell["n_second"])
    n_values = {
        "first": factors.n_values[of_cell["first"]],
        "second": of_cell["n_second"],
    }
    total = sparse.csr_array((factors.n_cells, factors.n_labels))
    for end, other, value in zip(n_values, reversed(n_values), values, strict=True):
        varies = n_values[end] == 2
        share = np.where(value == 1, 1.0, -1.0) / n_values[other]
        places = cells[varies], of_cell[end][varies]
        total += sparse.csr_array((share[varies], places), shape=total.shape)
    return total
