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
* A large record is packed (`pack`), and routines take its address. Taking the arrays of
  a training problem from Python takes 0.2 s in each routine that does it.
* A routine that Python does not call is `internal`, `merged` or `inlined`.
* An integer constant that is passed on to a routine is a ``np.int64``. With an ``int``
  Numba compiles the routine once more, for this value.
* A routine whose loops are short begins with ``keep_small()``. That gained 0.4 s.
* What few inputs need is a routine of its own, behind a pointer (`weigh_example`).
* What NumPy does as fast needs no routine, such as trying 256 labellings.

These gained nothing: records read as attributes, Numba's option `no_rewrites`, and more
routines merged. These gained up to 0.3 s each, but small fits took 3 to 7 % longer:
None in place of arrays that visits do not read, and short parts of visits as routines
that forests and graphs with cycles share. With `keep_small`, visits compile 0.2 s
faster and message passing 0.3 s, but they take 30 % longer. Steps on forests as a
routine of their own: 0.1 s, and 6 % longer.
"""

import ctypes
import struct
import threading
import zlib
from functools import partial
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


class Packed(NamedTuple):
    """A record of arrays in memory; see `pack`."""

    address: Any  # what routines take: they read the record with ``address[0]``
    kind: Any  # equal for records of equal types
    record: Any
    memory: Any = None  # it must stay alive


# Flags of NumPy that Numba compiles different code for.
C_ORDER, FORTRAN_ORDER, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400


def pack(record):
    """Write a tuple of arrays and numbers to memory, in the form that Numba gives it.

    Routines that take the address instead of the record compile faster. Those that only
    pass it on are compiled once for records of all types. The caller keeps the result
    alive as long as its address is in use. Packing takes two to three microseconds for
    each array. Numbers of less than eight bytes, and booleans, are refused.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return Packed((record,), (), record)
    words: list[int] = []
    kinds: list[Any] = []
    _write(record, words, kinds)
    memory = np.array(words, dtype=np.int64)
    return Packed(memory.ctypes.data, tuple(kinds), record, memory)


def _write(value, words, kinds):
    """Append the words of a value, and what tells its type.

    An array is what Numba's header for C declares, `_arraystruct.h`. The two zeros
    say that no Python object is known which the array belongs to.
    """
    if isinstance(value, tuple):
        for one in value:
            _write(one, words, kinds)
    elif isinstance(value, np.ndarray):
        shape, strides, flags = value.shape, value.strides, value.flags.num
        words += (0, 0, value.size, value.itemsize, value.ctypes.data, *shape, *strides)
        order = C_ORDER if flags & C_ORDER else FORTRAN_ORDER
        kinds += (value.dtype, len(shape), flags & (order | ALIGNED | WRITEABLE))
    elif isinstance(value, float):
        words += struct.unpack("q", struct.pack("d", value))
        kinds.append(float)
    elif type(value) in (int, np.int64):
        words.append(value)
        kinds.append(int)
    else:
        got = type(value).__name__
        raise TypeError(f"expected arrays, integers and floats, got {got}")


def through_pointer(function, arguments, kind=None, *, fastmath=False):
    """Return a pointer that other routines take as an argument, for `call_pointer`.

    The function is compiled once for each `kind` of arguments: looking up the types
    themselves would take milliseconds. Routines that call it do not compile it again.
    It returns nothing. An error inside of it, such as an index out of bounds, reaches
    `sys.unraisablehook` and not the caller; pytest reports it. Of an argument that is
    `Packed`, the function takes the address.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    if (function, kind) not in _pointers:
        with _one_at_a_time, clock_stopped():
            if (function, kind) not in _pointers:
                kinds = tuple(map(_kind_of, arguments))
                compile_it = cfunc(types.void(*kinds), **OPTIONS, fastmath=fastmath)
                routine: Any = compile_it(function)
                pointer = Pointer(routine.address, _checksum(kinds))
                _pointers[function, kind] = pointer, routine
    return _pointers[function, kind][0]


def _kind_of(argument):
    """Return the type that a routine takes an argument as."""
    if isinstance(argument, Packed):
        return types.CPointer(typeof(argument.record))
    return typeof(argument)


def _checksum(kinds):
    """Return a number that stands for the types of arguments.

    An address is a number or a pointer: C passes them alike.
    """
    names = [
        str(types.intp if isinstance(kind, types.CPointer) else kind) for kind in kinds
    ]
    return zlib.crc32(", ".join(names).encode()) % 2**31


def from_python(pointer, numbers):
    """Return a function without arguments that calls a routine with these numbers.

    They are integers, addresses and pointers. C passes a pointer as its two numbers.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return partial(pointer, *numbers)
    flat = list(_flat(numbers))
    like_c = ctypes.CFUNCTYPE(None, *[ctypes.c_ssize_t] * len(flat))
    return partial(like_c(pointer.address), *flat)


def _flat(numbers):
    """Yield the numbers of nested tuples."""
    for one in numbers:
        if isinstance(one, tuple):
            yield from _flat(one)
        else:
            yield one


@intrinsic
def mark_as_small(typing_context):
    """Have LLVM optimise the routine that calls this for size.

    LLVM then leaves loops as they are. Unrolling and vectorising them would take up to
    a third of the time of compiling. Where loops are short, they run as fast without.
    """

    def generate(context, builder, signature, values):
        builder.function.attributes.add("optsize")
        return context.get_dummy_value()

    return types.void(), generate


def do_nothing():
    """Mark nothing, if nothing is compiled."""


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
keep_small: Any = mark_as_small
if config.DISABLE_JIT:  # type: ignore[attr-defined]
    call_pointer = call_function
    keep_small = do_nothing


# stamp: bf4b671b9d7ccd4c
