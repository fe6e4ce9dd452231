"""Exponential averages of the dual variables, and of values that are linear in them."""

import numpy as np

from spanforest._compiled.decorators import from_python, pack, through_pointer


class Averages:
    """Values with their averages, lists of arrays in the order of C or of Fortran.

    All are advanced in one call: every call gives other threads a chance, which costs
    more than a few numbers.
    """

    def __init__(self, values, once, past):
        flat = [
            tuple([array.ravel(order="K") for array in arrays])
            for arrays in (values, once, past)
        ]
        self._settings = np.empty(4)
        self._packed = pack((*flat, self._settings))
        pointer = through_pointer(_advance, (self._packed,), self._packed.kind)
        self._run = from_python(pointer, (self._packed.address,))

    def advance(self, rho, scale):
        """Begin an epoch with new smoothing: see `Acceleration.advance`.

        `rho` and `scale` are pairs: those of the last epoch and those of the new one.
        The arrays are changed in place.
        """
        self._settings[:] = *rho, *scale
        self._run()


def _advance(record):
    """Do the work of `Averages.advance`, on tuples of arrays of one dimension."""
    all_values, all_once, all_past, settings = record[0]
    rho, new_rho, scale, new_scale = settings
    for number in range(len(all_values)):
        values, once, past = all_values[number], all_once[number], all_past[number]
        for at in range(values.shape[0]):
            latest = (values[at] - past[at]) / scale
            once[at] = once[at] * rho + (1.0 - rho) * latest
            past[at] = new_rho * values[at] + (1.0 - new_rho) * new_rho * once[at]
            values[at] = past[at] + new_scale * latest


# stamp: bf4b671b9d7ccd4c
