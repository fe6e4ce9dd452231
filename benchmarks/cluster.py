"""A cluster of processes that loses a worker, against one process.

    python benchmarks/cluster.py [--rows 120000] [--trees 100] [--search-rows 20000]
                                 [--workers 2] [--memory 2GB]

A local Dask cluster stands in for a real one: each worker is a process with a memory
limit, and all data travel over TCP. One worker is killed in the middle of each fit.
"""

import argparse
import logging
import os
import resource
import signal
import threading
import time
import warnings
from typing import Any, NamedTuple

import common
import dask
import joblib
import numpy as np
import psutil
from distributed import Client, LocalCluster
from many_rows import N_LABELS, documents

from spanforest import RandomGraphEnsembleClassifier, RandomGraphEnsembleClassifierCV

MB = 2**20


class Run(NamedTuple):
    """What was measured of one fit."""

    fitted: Any
    seconds: float
    n_bytes: int = 0  # over the loopback interface


class Killer(threading.Thread):
    """Kills a worker that is training, some seconds after the workers began."""

    def __init__(self, client, delay):
        super().__init__(daemon=True)
        self.client, self.delay = client, delay
        self.over = threading.Event()
        self.killed = None

    def run(self):
        while not any(self.client.processing().values()):
            if self.over.wait(0.1):
                return
        if self.over.wait(self.delay):
            return
        busy = [address for address, keys in self.client.processing().items() if keys]
        if busy:
            pids = self.client.run(os.getpid, workers=busy[:1])
            self.killed = pids[busy[0]]
            os.kill(self.killed, signal.SIGKILL)


def fit_here(estimator, X, Y):
    """Fit in this process."""
    start = time.perf_counter()
    fitted = estimator.fit(X, Y)
    return Run(fitted, time.perf_counter() - start)


def fit_on(client, estimator, X, Y, delay):
    """Fit on the cluster, and kill a worker `delay` seconds after the workers begin."""
    killer = Killer(client, delay)
    killer.start()
    before, start = loopback_bytes(), time.perf_counter()
    with joblib.parallel_config(backend="dask"):
        fitted = estimator.fit(X, Y)
    elapsed, n_bytes = time.perf_counter() - start, loopback_bytes() - before
    killer.over.set()
    killer.join()
    if killer.killed is None:
        raise SystemExit("the fit was over before a worker died: fit more trees")
    return Run(fitted, elapsed, n_bytes)


def loopback_bytes():
    """Return how many bytes were ever sent over the loopback interface."""
    counters = psutil.net_io_counters(pernic=True)
    return sum(counters[name].bytes_sent for name in counters if name.startswith("lo"))


def same_bits(one, other):
    """Return whether two ensembles have the same graphs and the same weights."""
    pairs = list(zip(one.estimators_, other.estimators_, strict=True))
    return all(
        a.graph_ == b.graph_
        and np.array_equal(a.cell_coef_, b.cell_coef_)
        and np.array_equal(a.cell_intercept_, b.cell_intercept_)
        for a, b in pairs
    )


def size_of(X, Y):
    """Return the bytes of sparse features and of labels as codes of 32 bits."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + 4 * Y.size


def compare(what, estimator, data, client, n_workers):
    """Return rows of the table: the same fit in one process and on the cluster.

    The worker dies when about a third of the fit is done.
    """
    X, Y = data
    client.wait_for_workers(n_workers, timeout=600)
    alone = fit_here(estimator(), X, Y)
    together = fit_on(client, estimator(), X, Y, alone.seconds / n_workers / 3)
    fitted = together.fitted
    ensemble = getattr(fitted, "best_estimator_", fitted)
    models = sum(member.cell_coef_.nbytes for member in ensemble.estimators_)
    same = same_bits(getattr(alone.fitted, "best_estimator_", alone.fitted), ensemble)
    if hasattr(fitted, "best_params_"):
        same = same and fitted.best_params_ == alone.fitted.best_params_
    return [
        [f"{what}: one process", f"{alone.seconds:.0f} s"],
        [f"{what}: cluster, one worker killed", f"{together.seconds:.0f} s"],
        ["of it sent over the network", f"{together.n_bytes / MB:.0f} MB"],
        ["features and labels", f"{size_of(X, Y) / MB:.0f} MB"],
        ["weights of all members", f"{models / MB:.0f} MB"],
        ["the same bits", "yes" if same else "NO"],
    ]


def peak_mb():
    """Return the largest memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10  # Linux: KB


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--search-rows", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="2GB", help="limit of each worker")
    options = parser.parse_args()
    # a busy machine takes long to start a worker again
    patience = ("comm.timeouts.connect", "deploy.lost-worker-timeout")
    dask.config.set({f"distributed.{name}": "300s" for name in patience})
    warnings.simplefilter("ignore")  # of workers that were lost
    X, Y = documents(options.rows)
    n = options.search_rows
    shared = {"scaling": None, "random_state": 0}

    def ensemble():
        return RandomGraphEnsembleClassifier(options.trees, kernel="linear", **shared)

    def search():
        return RandomGraphEnsembleClassifierCV(
            options.trees, kernels="linear", **shared
        )

    with (
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=options.memory,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,  # it tells of lost workers
        ) as cluster,
        Client(cluster) as client,
    ):
        ensemble().fit(X[:50], Y[:50])  # compile; workers load the cache
        size = client, options.workers
        rows = compare(f"{options.trees} trees", ensemble, (X, Y), *size)
        rows += compare("self-tuned", search, (X[:n], Y[:n]), *size)
        peaks = client.run(peak_mb)
    rows.append(["peak memory of a worker", f"{max(peaks.values()):.0f} MB"])
    common.print_table(["what", "measured"], rows)
    print(
        f"\n{options.rows} sparse examples ({n} for self-tuning), {N_LABELS} labels; "
        f"{options.workers} workers of one thread, at most {options.memory} each; "
        "seconds of wall time."
    )


if __name__ == "__main__":
    main()
