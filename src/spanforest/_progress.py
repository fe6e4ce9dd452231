"""Progress of long work, shown on a terminal if rich is installed, and else silent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

__all__ = ["track", "watch_gap"]


def _shown(verbose: bool) -> bool:
    # rich is an optional extra, so that its absence is no error
    return verbose and sys.stderr.isatty() and find_spec("rich") is not None


def track(
    items: Iterable[Any], total: int, description: str, *, verbose: bool
) -> Iterator[Any]:
    """Yield the items; if `verbose`, show how many of them were yielded.

    Examples
    --------
    >>> list(track("ab", 2, "letters", verbose=False))
    ['a', 'b']
    """
    if not _shown(verbose):
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(items, total=total, description=description)


@contextmanager
def watch_gap(
    goal: float, *, verbose: bool
) -> Iterator[Callable[[int, float], None] | None]:
    """Yield a function of (pass, relative gap) that shows both, or None if silent.

    Examples
    --------
    >>> with watch_gap(0.01, verbose=False) as watch:
    ...     print(watch)
    None
    """
    if not _shown(verbose):
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("training") as status:
        yield lambda n_passes, gap: status.update(
            f"pass {n_passes}: duality gap {gap:.2%} of the dual objective, "
            f"goal {goal:.2%}"
        )
