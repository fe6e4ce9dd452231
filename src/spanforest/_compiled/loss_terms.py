"""The loss term of the dual objective: it is linear in the dual variables."""

import numpy as np

from spanforest._compiled.cells import picked_cell
from spanforest._compiled.coordinates import expand_rows
from spanforest._compiled.decorators import (
    from_python,
    keep_small,
    merged,
    pack,
    through_pointer,
)
from spanforest._compiled.records import MARGINALS


class LossTerm:
    """Computes sum_i <loss_i, mu_i> from the dual variables.

    It reads them anew whenever it is called.
    """

    def __init__(self, problem, dual_coef):
        self._total = np.zeros(1)
        packed = pack((dual_coef, self._total)), problem
        pointer = through_pointer(_add_up, packed, tuple(one.kind for one in packed))
        self._run = from_python(pointer, [one.address for one in packed])
        self._kept = packed

    def __call__(self):
        """Return the sum."""
        self._run()
        return float(self._total[0])


@merged
def _add_loss_of(i, A, factors, targets, total):
    """Return total - <loss_i, A_i>, from the cells of A.

    The loss of the true cells is zero, so this adds <loss_i, mu_i>, also where factors
    have weights. The cells of a factor of A sum to zero. So only the cells in which a
    label is right count: there the loss is below its worst.
    """
    loss, labels = targets.loss, targets.Y[i]
    for f in range(factors.shape[0]):
        factor, own_loss = factors[f], loss[f]
        true = picked_cell(factor, labels)
        total += own_loss["joint"] * A[true]
        if own_loss["first"] != 0.0 or own_loss["second"] != 0.0:
            start, n_second = factor["offset"], factor["n_second"]
            column = (true - start) % n_second
            for c in range(true - column, true - column + n_second):
                total += own_loss["first"] * A[c]
            for c in range(start + column, start + factor["n_cells"], n_second):
                total += own_loss["second"] * A[c]
    return total


def _add_up(record, problem):
    """Do the work of `LossTerm`."""
    keep_small()
    dual_coef, result = record[0]
    g, layout, targets, visit = problem[0]
    factors, cells, total = g.factor, visit.cells, 0.0
    for i in range(dual_coef.shape[0]):
        expand_rows(layout, dual_coef[i : i + 1], cells[MARGINALS : MARGINALS + 1])
        total = _add_loss_of(i, cells[MARGINALS], factors, targets, total)
    result[0] = total


# stamp: bf4b671b9d7ccd4c
