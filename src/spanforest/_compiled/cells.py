"""Cells of factors: where they stand, and scores of labellings."""

from spanforest._compiled.decorators import compiled, inlined, place

# Relative; closer scores tie, so that rounding errors do not choose. Predictions count
# this in the slack that they state. Training compares scores of different forms, whose
# own rounding errors are larger; a step towards a slightly worse labelling is as good.
TIE = 2.0**-50
TRAINING_TIE = 1e-12
NEGLIGIBLE = 1e-14  # relative; smaller numbers are rounding errors
EMPTY = 1e-12  # the same for masses, whose rounding errors add up over epochs
FORBIDDEN = -1e300  # score of a cell that must not be picked; sums of it stay finite


@inlined
def exceeds(value, best, tie):
    """Return whether a score is larger, by more than `tie` relative to the two."""
    return value - best > tie * (abs(value) + abs(best))


@inlined
def picked_cell(factor, labels):
    """Return the cell of a factor that the labelling picks."""
    first = labels[place(factor["first"])]
    if factor["second"] < 0:
        return factor["offset"] + first
    second = labels[place(factor["second"])]
    return factor["offset"] + first * factor["n_second"] + second


@compiled
def labelling_score(scores, g, labels):
    """Return <scores, U(labels)>."""
    factors = g.factor
    total = 0.0
    for f in range(factors.shape[0]):
        total += scores[picked_cell(factors[f], labels)]
    return total


@inlined
def other_end(factor, j):
    """Return the label at the other end of an edge at label j, -1 if unary."""
    return factor["second"] if factor["first"] == j else factor["first"]


@inlined
def edge_cell(factor, j, a, b):
    """Return the cell of an edge where label j takes a and the other end takes b."""
    if factor["first"] == j:
        return factor["offset"] + a * factor["n_second"] + b
    return factor["offset"] + b * factor["n_second"] + a


# stamp: bf4b671b9d7ccd4c
