"""When Numba compiles the routines of this package: a note to users, and a clock.

Numba announces every compilation to listeners (`numba.core.event`). It announces none
when it reads a compiled routine from its cache on disk.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event

__all__ = ["clock", "clock_stopped", "quietly", "watch_compilation"]

NOTE = (
    "spanforest compiles its routines for this kind of input: some seconds, once per "
    "machine. To do so ahead of time for all kinds, call spanforest.warm_up() or run "
    "`spanforest warm-up`."
)


class _Listener(event.Listener):
    """Adds up the time in which this package's routines are compiled.

    Meanwhile Python does not search for garbage. Numba makes so many objects that
    these searches would take a tenth of the time, and nearly all of them are in use.
    """

    def __init__(self) -> None:
        self.is_told = False
        self._lock = threading.Lock()
        self._n_open = 0  # compilations that have begun: a routine compiles its callees
        self._start = 0.0  # of the first of them
        self._seconds = 0.0
        self._collects = False  # whether Python searched for garbage before

    def on_start(self, event: event.Event) -> None:
        """Note when a compilation begins; tell the user about the first one."""
        if not _is_ours(event):
            return
        self.stop_clock()
        with self._lock:
            is_first, self.is_told = not self.is_told, True
        # a process of a pool is silent: its siblings compile the same routines
        if is_first and multiprocessing.current_process().name == "MainProcess":
            logging.getLogger("spanforest").warning(NOTE)

    def on_end(self, event: event.Event) -> None:
        """Add the time of the outermost compilation, also if it failed."""
        if _is_ours(event):
            self.start_clock()

    def stop_clock(self) -> None:
        """Stop the clock when a compilation begins."""
        with self._lock:
            self._n_open += 1
            if self._n_open == 1:
                self._start = time.perf_counter()
                self._collects = gc.isenabled()
                gc.disable()

    def start_clock(self) -> None:
        """Start the clock again when the outermost compilation ends."""
        with self._lock:
            self._n_open -= 1
            if self._n_open == 0:
                self._seconds += time.perf_counter() - self._start
                if self._collects:
                    gc.enable()

    def clock(self) -> float:
        """Return the time now, without the time spent compiling."""
        with self._lock:
            now = self._start if self._n_open else time.perf_counter()
            return now - self._seconds


def _is_ours(event: event.Event) -> bool:
    return event.data["dispatcher"].py_func.__module__.startswith("spanforest.")


_listener = _Listener()


def watch_compilation() -> None:
    """Listen to Numba from now on."""
    event.register("numba:compile", _listener)


def clock() -> float:
    """Return seconds like `time.perf_counter`, on a clock that stops while compiling.

    Compilation happens once per machine, so reported times leave it out.

    Examples
    --------
    >>> start = clock()
    >>> clock() >= start
    True
    """
    return _listener.clock()


@contextmanager
def clock_stopped() -> Iterator[None]:
    """Stop the clock in this block, which compiles what Numba tells no listener about.

    Examples
    --------
    >>> with clock_stopped():
    ...     pass  # compile
    """
    _listener.stop_clock()
    try:
        yield
    finally:
        _listener.start_clock()


@contextmanager
def quietly() -> Iterator[None]:
    """Do not tell the user about compilations inside of this block.

    Examples
    --------
    >>> with quietly():
    ...     pass  # compile
    """
    before, _listener.is_told = _listener.is_told, True
    try:
        yield
    finally:
        _listener.is_told = before
