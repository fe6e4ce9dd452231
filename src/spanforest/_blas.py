"""One BLAS thread while members train.

The products of a solver are so small that several threads make them slower. The number
of threads would also change the last bits of a member.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController  # scikit-learn depends on it

__all__ = ["single_blas_thread"]

_lock = Lock()
_inside: list[object] = []  # an entry per concurrent user; the first one is the limit


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of all concurrent users has left.

    Examples
    --------
    >>> with single_blas_thread():
    ...     pass
    """
    with _lock:
        first = not _inside
        _inside.append(
            _controller().limit(limits=1, user_api="blas") if first else None
        )
    try:
        yield
    finally:
        with _lock:
            limit = _inside[0]
            if len(_inside) == 1:
                limit.restore_original_limits()  # type: ignore[attr-defined]
            _inside.pop()
