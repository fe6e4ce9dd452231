"""Progress of long work: a bar on a terminal, else plain lines on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

__all__ = ["say", "track", "watch_gap"]

SECONDS_BETWEEN_LINES = 5.0


class _Lines:
    """Writes a line to stderr now and then, for those who see no bar."""

    def __init__(self) -> None:
        self._next = time.monotonic() + SECONDS_BETWEEN_LINES
        if sys.stderr.isatty():
            self._write("install rich for a progress bar: pip install rich")

    def show(self, text: str, *, is_last: bool = False) -> None:
        """Write a text if it is the last one, or the last line is some seconds old."""
        now = time.monotonic()
        if is_last or now >= self._next:
            self._write(text)
            self._next = now + SECONDS_BETWEEN_LINES

    def _write(self, text: str) -> None:
        say(text, verbose=True)


def say(text: str, *, verbose: bool) -> None:
    """Write a line to stderr if `verbose`.

    Examples
    --------
    >>> say("done", verbose=False)
    """
    if verbose:
        sys.stderr.write(f"spanforest: {text}\n")
        sys.stderr.flush()


def _has_bar() -> bool:
    # rich is an optional extra, so that its absence is no error
    return sys.stderr.isatty() and find_spec("rich") is not None


def track(
    items: Iterable[Any],
    total: int,
    description: str,
    *,
    verbose: bool,
    is_brief: bool = False,
) -> Iterator[Any]:
    """Yield the items; if `verbose`, show how many of them were yielded.

    Work that is expected to be brief gets lines only if it takes some seconds.

    Examples
    --------
    >>> list(track("ab", 2, "letters", verbose=False))
    ['a', 'b']
    """
    if not verbose:
        yield from items
    elif _has_bar():
        yield from _with_bar(items, total, description)
    else:
        lines, start = _Lines(), time.monotonic()
        for number, item in enumerate(items, start=1):
            seconds = time.monotonic() - start
            text = f"{description}: {number} of {total}, {seconds:.0f} s"
            lines.show(text, is_last=number == total and not is_brief)
            yield item


def _with_bar(items: Iterable[Any], total: int, description: str) -> Iterator[Any]:
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
    if not verbose:
        yield None
        return

    def text(n_passes: int, gap: float) -> str:
        return (
            f"pass {n_passes}: duality gap {gap:.2%} of the dual objective, "
            f"goal {goal:.2%}"
        )

    if not _has_bar():
        lines = _Lines()
        yield lambda n_passes, gap: lines.show(text(n_passes, gap), is_last=gap <= goal)
        return
    from rich.console import Console

    with Console(stderr=True).status("training") as status:
        yield lambda n_passes, gap: status.update(text(n_passes, gap))
