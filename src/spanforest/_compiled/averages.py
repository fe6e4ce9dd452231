"""Exponential averages of the dual variables, and of values that are linear in them."""

from spanforest._compiled.decorators import compiled


def advance_averages(values, once, past, rho, scale):
    """Begin an epoch with new smoothing: see `Acceleration.advance`.

    `rho` and `scale` are pairs: those of the last epoch and those of the new one. The
    three arrays have one shape and layout, and are changed in place.
    """
    flat = [array.ravel(order="K") for array in (values, once, past)]
    _advance(*flat, (*rho, *scale))


@compiled
def _advance(values, once, past, settings):
    """Do the work of `advance_averages`, on arrays of one dimension."""
    rho, new_rho, scale, new_scale = settings
    for c in range(values.shape[0]):
        latest = (values[c] - past[c]) / scale
        once[c] = once[c] * rho + (1.0 - rho) * latest
        past[c] = new_rho * values[c] + (1.0 - new_rho) * new_rho * once[c]
        values[c] = past[c] + new_scale * latest


# stamp: f475182651d69268
