"""Running many tasks at the same time, with progress."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from joblib import Parallel, parallel_config
from joblib.parallel import get_active_backend

from spanforest._progress import track


class Workers(NamedTuple):
    """How tasks are run."""

    n_jobs: int | None
    verbose: bool

    def run(self, tasks: list[Any], what: str, shared: Sequence[Any]) -> list[Any]:
        """Run tasks by joblib, in threads unless it was told otherwise.

        `what` names the tasks to users. `shared` are the large arrays that many of them
        have as arguments: to a distributed backend each is sent once, if it is an
        argument itself and not a part of one.
        """
        with _on_all_workers(shared):
            parallel = Parallel(
                n_jobs=self.n_jobs,
                prefer="threads",
                return_as="generator" if self.verbose else "list",
            )
            return list(track(parallel(tasks), len(tasks), what, verbose=self.verbose))


def _on_all_workers(shared: Sequence[Any]) -> AbstractContextManager[Any]:
    """Return a context in which every Dask worker holds the arrays, if Dask is used.

    Left to itself joblib puts them on one worker, and they are lost with it.
    """
    backend, _ = get_active_backend()
    if not hasattr(backend, "client"):
        return nullcontext()
    return parallel_config("dask", client=backend.client, scatter=list(shared))
