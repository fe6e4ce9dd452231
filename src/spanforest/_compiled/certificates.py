"""Scores with the loss, from which margin violations on graphs with cycles follow.

`passes.Inspection` gives the margin violations on a forest.
"""

from spanforest._compiled.decorators import compiled
from spanforest._compiled.visits import augment_with_loss, weigh_scores


@compiled
def augment_rows(scores, rows, problem, true_scores):
    """Add the loss to the scores of some examples, `rows`, and weigh them.

    See `augment_with_loss` and `weigh_scores`.
    """
    factors, targets, visit = problem.graph.factor, problem.targets, problem.visit
    true_cells, weight = visit.true_cells, visit.weight
    is_even = targets.taught.shape[0] == 0 and targets.factor_weight.shape[0] == 0
    for r in range(rows.shape[0]):
        i, row = rows[r], scores[r]
        true_scores[r] = augment_with_loss(i, row, factors, targets, true_cells)
        if not is_even:
            true_scores[r] = weigh_scores(i, row, factors, targets, true_cells, weight)


# stamp: bf4b671b9d7ccd4c
