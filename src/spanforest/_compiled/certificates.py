"""The numbers of a certificate: margin violations, and the loss term of the dual."""

import numpy as np

from spanforest._compiled.cells import find_cells
from spanforest._compiled.coordinates import expand
from spanforest._compiled.decorators import compiled, merged
from spanforest._compiled.enumeration import exhaustive_max, has_few_labellings
from spanforest._compiled.forests import forest_max_sum
from spanforest._compiled.messages import CERTIFYING_SWEEPS, tree_reweighted
from spanforest._compiled.visits import MARGINALS, augment_with_loss


@merged
def _upper_bound(scores, g, visit, messages):
    """Return the best score of a labelling, or on cycles a bound on it.

    Where the bound of message passing is not tight and there are few labellings, all
    of them are tried.
    """
    if messages is None:
        bound = forest_max_sum(scores, g, visit.walk, visit.gaining)
    else:
        messages.sent[:] = 0.0
        _, bound, met = tree_reweighted(
            scores, g, CERTIFYING_SWEEPS, np.inf, messages, visit.gaining
        )
        if not met and has_few_labellings(g):
            bound = exhaustive_max(scores, g, visit.losing, visit.gaining)
    return bound


@compiled
def hinge_rows(scores, rows, problem, hinge, messages):
    """Write the margin violations of some examples, `rows`, given F (overwritten).

        hinge_i = max_y loss(y_i, y) + <F_i, U(y)> - <F_i, U(y_i)>

    with the maximum replaced by an upper bound on graphs with cycles. As in `visits`,
    `messages` is None on a forest.
    """
    g, visit = problem.graph, problem.visit
    for r in range(rows.shape[0]):
        true_score = augment_with_loss(rows[r], scores[r], problem, visit.true_cells)
        bound = _upper_bound(scores[r], g, visit, messages)
        hinge[rows[r]] = max(bound - true_score, 0.0)


@compiled
def loss_term(dual_coef, problem):
    """Return sum_i <loss_i, mu_i>, the linear term of the dual objective.

    The loss of the true cells is zero, so it is the same as -sum_i <loss_i, A_i>, also
    where factors have weights. The cells of a factor of A sum to zero. So only the
    cells in which a label is right count: there the loss is below its worst.
    """
    factors, visit = problem.graph.factor, problem.visit
    true_cells, A = visit.true_cells, visit.cells[MARGINALS]
    total = 0.0
    for i in range(dual_coef.shape[0]):
        expand(problem.layout, dual_coef[i], A)
        find_cells(factors, problem.Y[i], true_cells)
        for f in range(true_cells.shape[0]):
            true, weights, factor = true_cells[f], problem.loss[f], factors[f]
            total += weights["joint"] * A[true]
            if weights["first"] == 0.0 and weights["second"] == 0.0:
                continue
            start, n_second = factor["offset"], factor["n_second"]
            column = (true - start) % n_second
            row = true - column
            for b in range(n_second):
                total += weights["first"] * A[row + b]
            for c in range(start + column, start + factor["n_cells"], n_second):
                total += weights["second"] * A[c]
    return total


# stamp: 62cfa2e112a90f2f
