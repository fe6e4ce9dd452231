"""Decorators that compile the routines of this package with Numba.

Compiling takes long, and users wait for it: `benchmarks/first_fit.py` measures it. LLVM
optimises a routine once for itself and once more in each routine above it. These
habits keep the time short:

* Routines create no arrays. Python functions beside them create the buffers.
* Loops copy arrays, add them up and search them. ``a[:] = b`` and ``a.max()`` also
  compile Numba's error messages, which takes seconds. ``a[:] = 0.0`` does not.
* Records of arrays are small: each array is seven arguments of each call.
* A routine that Python does not call is `internal`, `merged` or `inlined`.
"""

from typing import Any

from numba import njit

from spanforest._compilation import watch_compilation

watch_compilation()

# No fastmath: infinities and ties matter. `_nrt=False` leaves out reference counting:
# the caller keeps the arrays alive, so none is needed. Such a routine must not create
# arrays, not even temporary ones. Numba does not document this option.
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

WITHOUT_WRAPPERS: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}

# For routines that Python calls.
compiled = njit(**OPTIONS)

# For routines that only other routines call. A call from Python ends the process.
internal = njit(**OPTIONS, **WITHOUT_WRAPPERS)

# For long routines with one caller or two. Numba copies them into the caller before it
# compiles. Without this LLVM would optimise them at one more level.
merged = njit(**OPTIONS, inline="always")

# For short routines in hot loops. LLVM copies them into their callers.
inlined = njit(**OPTIONS, **WITHOUT_WRAPPERS, forceinline=True)

# For sums of products: they vectorise only if their terms may be reordered.
summed = njit(**OPTIONS, fastmath=True)


# stamp: e33d46e46192b681
