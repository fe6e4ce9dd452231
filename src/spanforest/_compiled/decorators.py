"""Decorators that compile the routines of this package with Numba.

Compiling takes long, and users wait for it: `benchmarks/first_fit.py` measures it. LLVM
optimises a routine once for itself and once more in each routine above it. These
habits keep the time short:

* Routines create no arrays. Python functions beside them create the buffers.
* A long routine with several callers is called through a pointer (`through_pointer`).
  LLVM optimises it once.
* A routine that is `merged` into another is short, and should have no routines merged
  into itself: Numba copies it block by block, and with each block all its variables.
* The time grows with the number of operations: an addition takes 1.5 ms, reading or
  writing an array 3, a loop 10, a routine of its own 40. So one loop over factors does
  all that is to be done with a factor.
* Loops copy arrays, add them up and search them. ``a[:] = b`` and ``a.max()`` also
  compile Numba's error messages, which takes seconds. ``a[:] = 0.0`` does not.
* Records of arrays are small: each array is seven arguments of each call. A routine
  reads its records into local names first, and gives the routines that are merged into
  it the arrays that they need.
* A routine that Python does not call is `internal`, `merged` or `inlined`.
* An integer constant that is passed on to a routine is a ``np.int64``. With an ``int``
  Numba compiles the routine once more, for this value.
* What NumPy does as fast needs no routine, such as trying 256 labellings.

These gained nothing: records read as attributes, Numba's option `no_rewrites`, and more
routines merged. These gained up to 0.3 s each, but small fits took 3 to 7 % longer: no
routine that only looks (`_look`), None in place of arrays that visits do not read, and
short parts of visits as routines that forests and graphs with cycles share.
"""

import threading
import zlib
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import cfunc, config, njit, typeof, types
from numba.core import cgutils
from numba.extending import intrinsic

from spanforest._compilation import clock_stopped, watch_compilation

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

WITHOUT_CALLBACK: dict[str, Any] = {"no_cfunc_wrapper": True}  # C does not call us
WITHOUT_WRAPPERS = {**WITHOUT_CALLBACK, "no_cpython_wrapper": True}

# For routines that Python calls.
compiled = njit(**OPTIONS, **WITHOUT_CALLBACK)

# For routines that only other routines call. A call from Python ends the process.
internal = njit(**OPTIONS, **WITHOUT_WRAPPERS)

# For routines of up to 40 lines with one caller or two. Numba copies them into the
# caller before it compiles. Without this LLVM would optimise them at one more level.
merged = njit(**OPTIONS, inline="always")

# For short routines in hot loops. LLVM copies them into their callers.
inlined = njit(**OPTIONS, **WITHOUT_WRAPPERS, forceinline=True)

# For sums of products: they vectorise only if their terms may be reordered.
summed = njit(**OPTIONS, **WITHOUT_CALLBACK, fastmath=True)

# An index. Numba adds code for negative indices, which count from the end, unless it
# knows that there are none. In a walk up a forest that code takes a third of the time.
place = np.uintp
NEXT = place(1)

_pointers: dict[Any, Any] = {}  # compiled routines; they must stay alive
_one_at_a_time = threading.Lock()


class Pointer(NamedTuple):
    """Where a compiled routine begins, and a checksum of what it takes.

    Two numbers. Numba would need 0.1 ms to look at a routine among the arguments of
    each call from Python, and other threads would have to wait.
    """

    address: int
    checksum: int


def through_pointer(function, arguments, kind=None, *, fastmath=False):
    """Return a pointer that other routines take as an argument, for `call_pointer`.

    The function is compiled once for each `kind` of arguments: looking up the types
    themselves would take milliseconds. Routines that call it do not compile it again.
    It returns nothing. An error inside of it, such as an index out of bounds, reaches
    `sys.unraisablehook` and not the caller; pytest reports it.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    if (function, kind) not in _pointers:
        with _one_at_a_time, clock_stopped():
            if (function, kind) not in _pointers:
                kinds = tuple(map(typeof, arguments))
                compile_it = cfunc(types.void(*kinds), **OPTIONS, fastmath=fastmath)
                routine: Any = compile_it(function)
                pointer = Pointer(routine.address, _checksum(kinds))
                _pointers[function, kind] = pointer, routine
    return _pointers[function, kind][0]


def _checksum(kinds):
    """Return a number that stands for the types of arguments."""
    return zlib.crc32(", ".join(map(str, kinds)).encode()) % 2**31


def call_function(function, arguments):
    """Call a function with a tuple of arguments, if nothing is compiled."""
    function(*arguments)


@intrinsic
def call_compiled(typing_context, pointer, arguments):
    """Call a compiled routine through its pointer, with a tuple of arguments.

    They must be of exactly the types that it was compiled for: else this is a
    TypeError.
    """
    kinds = tuple(map(types.unliteral, arguments))

    def generate(context, builder, signature, values):
        address, checksum = cgutils.unpack_tuple(builder, values[0], 2)
        expected = context.get_constant(types.intp, _checksum(kinds))
        differs = builder.icmp_signed("!=", checksum, expected)
        with builder.if_then(differs, likely=False):
            message = f"the routine was not compiled for {', '.join(map(str, kinds))}"
            context.call_conv.return_user_exc(builder, TypeError, (message,))
        like_c = ir.FunctionType(
            context.get_value_type(types.void), [*map(context.get_value_type, kinds)]
        )
        function = builder.inttoptr(address, like_c.as_pointer())
        builder.call(function, cgutils.unpack_tuple(builder, values[1], len(kinds)))
        return context.get_dummy_value()

    return types.void(pointer, arguments), generate


call_pointer: Any = call_compiled
if config.DISABLE_JIT:  # type: ignore[attr-defined]
    call_pointer = call_function


# stamp: 745db071af5eb7a1
