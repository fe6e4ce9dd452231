"""Progress of long work, on a terminal only; silent without rich or in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["track"]


def track(
    items: Iterable[Any], total: int, description: str, *, verbose: bool
) -> Iterator[Any]:
    """Yield the items and, if `verbose`, show how many of them have come.

    Examples
    --------
    >>> list(track("ab", 2, "letters", verbose=False))
    ['a', 'b']
    """
    if not verbose or not sys.stderr.isatty():
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import Progress, TimeElapsedColumn
    except ImportError:  # an optional extra: no reason to fail
        yield from items
        return
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(items, total=total, description=description)
