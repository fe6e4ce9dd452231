"""Running many calls at the same time, with progress.

This is the only module that knows what a distributed backend needs: large arrays that
are arguments of their own, each sent once to every worker that needs it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from scipy import sparse

from spanforest._progress import track

LARGE = 2**16  # bytes; smaller arrays travel with each call


class Workers(NamedTuple):
    """How calls are run."""

    n_jobs: int | None = None
    verbose: bool = False

    def run(
        self,
        function: Callable[..., Any],
        calls: Iterable[tuple[Any, ...]],
        what: str,
        *,
        is_brief: bool = False,
    ) -> list[Any]:
        """Return the function's results for many tuples of arguments.

        joblib runs them, in threads unless it was told otherwise. `what` names the
        calls to users, who see no line about calls that are brief. Arguments may be
        named tuples, tuples and lists that hold arrays; calls may share them.
        """
        backend, _ = get_active_backend()
        client = getattr(backend, "client", None)  # of Dask
        # joblib does not send calls to a cluster of one worker: it runs them here
        if client is None or effective_n_jobs(self.n_jobs) == 1:
            tasks = [delayed(function)(*call) for call in calls]
            return self._run(tasks, what, is_brief)
        packed = [_pack(arguments) for arguments in calls]
        held = _hold(client, [array for _, arrays in packed for array in arrays])
        tasks = [
            delayed(_call)(function, box, *(held[id(array)] for array in arrays))
            for box, arrays in packed
        ]
        return self._run(tasks, what, is_brief)

    def _run(self, tasks: list[Any], what: str, is_brief: bool) -> list[Any]:
        parallel = Parallel(
            n_jobs=self.n_jobs,
            prefer="threads",
            return_as="generator" if self.verbose else "list",
        )
        options = {"verbose": self.verbose, "is_brief": is_brief}
        return list(track(parallel(tasks), len(tasks), what, **options))


def _hold(client: Any, arrays: list[Any]) -> dict[int, Any]:
    """Return futures of arrays by their ids, as the results of tasks of a Dask client.

    The scheduler keeps the task, array included, and runs it again if the workers that
    had the result die. Data that are scattered instead are lost for good when their
    last worker dies; and Dask soon drops all copies but one, even of data that were
    scattered to every worker.
    """
    held: dict[int, Any] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        for array in arrays:
            if id(array) not in held:
                held[id(array)] = client.submit(_same, array, pure=False)
    return held


def _same(array: Any) -> Any:
    return array


class _Place(NamedTuple):
    """Stands in a packed argument for one of the arrays."""

    number: int


def _pack(argument: Any) -> tuple[Any, list[Any]]:
    """Take the large arrays out of nested tuples and lists, and number their places."""
    arrays: list[Any] = []

    def pack(item: Any) -> Any:
        if _n_bytes(item) >= LARGE:
            arrays.append(item)
            return _Place(len(arrays) - 1)
        return _rebuilt(item, pack)

    return pack(argument), arrays


def _call(function: Callable[..., Any], box: Any, *arrays: Any) -> Any:
    """Put the arrays back into their places and call the function."""

    def unpack(item: Any) -> Any:
        if isinstance(item, _Place):
            return arrays[item.number]
        return _rebuilt(item, unpack)

    return function(*unpack(box))


def _rebuilt(item: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of a tuple or list with its items changed; anything else as is."""
    if not isinstance(item, tuple | list):
        return item
    items = [change(inner) for inner in item]
    if hasattr(item, "_make"):  # a named tuple
        return item._make(items)
    return type(item)(items)


def _n_bytes(item: Any) -> int:
    array = item.data if sparse.issparse(item) else item
    return array.nbytes if isinstance(array, np.ndarray) else 0
