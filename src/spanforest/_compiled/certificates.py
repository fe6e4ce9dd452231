"""Scores with the loss, from which margin violations on graphs with cycles follow.

`passes.Inspection` gives the margin violations on a forest.
"""

from spanforest._compiled.decorators import compiled
from spanforest._compiled.visits import augment_with_loss


@compiled
def augment_rows(scores, rows, problem, true_scores):
    """Apply `augment_with_loss` to the scores of some examples, `rows`."""
    factors, targets = problem.graph.factor, problem.targets
    true_cells = problem.visit.true_cells
    for r in range(rows.shape[0]):
        true_scores[r] = augment_with_loss(
            rows[r], scores[r], factors, targets, true_cells
        )


# stamp: 161d6cf7ddad88f9
