"""The loss term of the dual, and scores with the loss on graphs with cycles.

`passes.hinge_rows` gives the margin violations on a forest.
"""

from spanforest._compiled.cells import find_cells
from spanforest._compiled.coordinates import expand
from spanforest._compiled.decorators import compiled
from spanforest._compiled.visits import (
    MARGINALS,
    SCORES,
    add_loss,
    augment_with_loss,
)


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
    where factors have weights.
    """
    factors, visit = problem.graph.factor, problem.visit
    loss, A = visit.cells[SCORES], visit.cells[MARGINALS]
    total = 0.0
    for i in range(dual_coef.shape[0]):
        expand(problem.layout, dual_coef[i], A)
        loss[:] = 0.0
        find_cells(factors, problem.Y[i], visit.true_cells)
        add_loss(loss, factors, visit.true_cells, problem.loss)
        for c in range(loss.shape[0]):
            total -= loss[c] * A[c]
    return total


# stamp: 9a2b0bf11f9180b7
