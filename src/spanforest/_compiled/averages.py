"""Exponential averages of the dual variables, and of values that are linear in them."""

from spanforest._compiled.decorators import compiled


def advance_averages(values, once, past, rho, scale):
    """Begin an epoch with new smoothing: see `Acceleration.advance`.

    `rho` and `scale` are pairs: those of the last epoch and those of the new one. The
    others are lists of arrays, which are changed in place. All are done in one call:
    every call gives other threads a chance, which costs more than a few numbers.
    """
    flat = [
        tuple([array.ravel(order="K") for array in arrays])
        for arrays in (values, once, past)
    ]
    _advance(*flat, (*rho, *scale))


@compiled
def _advance(all_values, all_once, all_past, settings):
    """Do the work of `advance_averages`, on tuples of arrays of one dimension."""
    rho, new_rho, scale, new_scale = settings
    for number in range(len(all_values)):
        values, once, past = all_values[number], all_once[number], all_past[number]
        for at in range(values.shape[0]):
            latest = (values[at] - past[at]) / scale
            once[at] = once[at] * rho + (1.0 - rho) * latest
            past[at] = new_rho * values[at] + (1.0 - new_rho) * new_rho * once[at]
            values[at] = past[at] + new_scale * latest


# stamp: c10441d68cdfd243
