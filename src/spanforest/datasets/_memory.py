"""How much memory a file may fill, so that a small file cannot exhaust the machine."""

import os
from typing import NamedTuple

_MOST = 2 * 2**30  # bytes; the default, on machines with four times as much or more


class TooLargeError(ValueError):
    """The contents of a file would fill more memory than is allowed."""


class MemoryLimit(NamedTuple):
    """The number of bytes that the contents of a file may take."""

    path: str
    n_bytes: int

    @classmethod
    def of(cls, path: str, max_memory: int | None) -> "MemoryLimit":
        """Return the limit for a file; None stands for the default."""
        if max_memory is None:
            return cls(path, min(_MOST, _machine_memory() // 4))
        if not max_memory > 0:
            raise ValueError(
                f"max_memory must be a number of bytes above 0; got {max_memory}."
            )
        return cls(path, int(max_memory))

    def check(self, n_bytes: float) -> None:
        """Raise an error if so many bytes are too many."""
        if n_bytes > self.n_bytes:
            raise TooLargeError(
                f"{self.path}: its contents need more than {size(self.n_bytes)} of "
                "memory, so reading was stopped. If you trust the file, allow more. "
                f"Pass max_memory={2 * int(n_bytes)}."
            )


def size(n_bytes: int) -> str:
    """Return a number of bytes as people write it.

    Examples
    --------
    >>> size(4 * 2**30), size(1_500_000)
    ('4.3 GB', '1.5 MB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes} bytes"


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a Unix
        return 4 * _MOST
