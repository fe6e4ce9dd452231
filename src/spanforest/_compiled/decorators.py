"""Decorators that compile the routines of this package with Numba.

Compiling takes long: `benchmarks/first_fit.py` measures it. Four habits keep it short.

* Routines do not create arrays. Python functions beside them create the buffers.
* Loops copy arrays, add them up and search them. ``a[:] = b`` and ``a.max()`` also
  compile Numba's error messages, which takes seconds; ``a[:] = 0.0`` does not.
* A routine that only other routines call is `internal` or `inlined`.
* A routine is inlined only if that makes `benchmarks/epoch.py` faster: LLVM optimises
  inlined code again in every caller.
"""

from typing import Any

from numba import njit

from spanforest._compilation import watch_compilation

# `_nrt=False` leaves out reference counting: the caller keeps the arrays alive, so none
# is needed. Such a routine, and every routine that it calls, must not create arrays,
# not even temporary ones. Numba does not document the option. No fastmath: infinities
# and ties matter.
OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
}
try:
    njit(**OPTIONS)
except KeyError:  # this version of Numba does not know it, so routines are slower
    del OPTIONS["_nrt"]

# Python cannot call such a routine: calling one ends the process.
WITHOUT_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

watch_compilation()

compiled = njit(**OPTIONS)
internal = njit(**OPTIONS, **WITHOUT_WRAPPERS)
inlined = njit(**OPTIONS, **WITHOUT_WRAPPERS, forceinline=True)
merged = njit(**OPTIONS, inline="always")

# For sums of products: they vectorise only if their terms may be reordered.
summed = njit(**OPTIONS, fastmath=True)


# stamp: ca2bf42e8e6a47e0
