"""The loss term of the dual, and scores with the loss on graphs with cycles.

`passes.hinge_rows` gives the margin violations on a forest.
"""

from spanforest._compiled.cells import find_cells
from spanforest._compiled.coordinates import expand
from spanforest._compiled.decorators import compiled
from spanforest._compiled.visits import MARGINALS, augment_with_loss


@compiled
def augment_rows(scores, rows, problem, true_scores):
    """Apply `augment_with_loss` to the scores of some examples, `rows`."""
    true_cells = problem.visit.true_cells
    for r in range(rows.shape[0]):
        true_scores[r] = augment_with_loss(rows[r], scores[r], problem, true_cells)


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


# stamp: e079918aeec19029
