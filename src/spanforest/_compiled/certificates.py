"""Scores with the loss, from which margin violations on graphs with cycles follow.

`passes.hinge_rows` gives the margin violations on a forest.
"""

from spanforest._compiled.decorators import compiled
from spanforest._compiled.visits import augment_with_loss


def augment_rows(scores, rows, problem, true_scores):
    """Apply `augment_with_loss` to the scores of some examples, `rows`."""
    factors, true_cells = problem.graph.factor, problem.visit.true_cells
    _augment_rows(scores, rows, factors, problem.targets, true_cells, true_scores)


@compiled
def _augment_rows(scores, rows, factors, targets, true_cells, true_scores):
    """Do the work of `augment_rows`."""
    for r in range(rows.shape[0]):
        true_scores[r] = augment_with_loss(
            rows[r], scores[r], factors, targets, true_cells
        )


# stamp: e94e4d60c30122dd
