"""Decorators that compile the routines of this package with Numba."""

from typing import Any

from numba import njit

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

# No fastmath: infinities and ties matter.
compiled = njit(**OPTIONS)

# For hot routines. Passing a factor graph to one of them costs more than the work of a
# small one, so their callers take them in. `_nrt=False` leaves out reference counting:
# the caller keeps these arrays alive, so no reference counting is needed. Such a
# routine, and every routine that it calls, must not create arrays, not even temporary
# ones. The option is not documented by Numba; without it the routines are only slower.
try:
    inlined = njit(**OPTIONS, forceinline=True, _nrt=False)  # type: ignore[call-overload]
except KeyError:  # this version of Numba does not know the option
    inlined = njit(**OPTIONS, forceinline=True)

# For sums of products: they vectorise only if their terms may be reordered.
summed = njit(**OPTIONS, fastmath=True)


# stamp: 93069ea48388e907
