"""Memory and seconds of the forest kernel as examples grow: linear, no m x m matrix.

    python benchmarks/forest_kernel.py [examples ...]

Each size runs in a process of its own, which prints its peak memory.
"""

import resource
import subprocess
import sys
import time

import common
import numpy as np

from spanforest import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel

SIZES = (12_500, 25_000, 50_000, 100_000)
N_FEATURES, N_LABELS, N_TREES = 20, 10, 50


def make_data(n_samples):
    """Return numbers, a tenth of them missing, and noisy labels."""
    rule = np.random.default_rng(1).normal(size=(N_FEATURES, N_LABELS))
    rng = np.random.default_rng(n_samples)
    X = rng.normal(size=(n_samples, N_FEATURES)).astype(np.float32)
    noise = rng.normal(size=(n_samples, N_LABELS))
    Y = X @ rule + noise > 3
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, Y.astype(int)


def megabytes():
    """Return the peak of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds_of_predict(clf, X):
    """Return the processor time that predictions take."""
    start = time.process_time()
    clf.predict(X)
    return time.process_time() - start


def measure(n_samples):
    """Train on so many examples, and print what it took."""
    clf = RandomGraphEnsembleClassifier(
        3,
        kernel=ForestKernel(N_TREES, min_samples_leaf=5),
        graph="informed_tree",
        tol=0.05,
        random_state=0,
    )
    X, Y = make_data(6_000)  # compiles, and is more than a kernel matrix is made for
    clf.fit(X, Y).predict(X[:10])
    X, Y = make_data(n_samples)
    before, start = megabytes(), time.process_time()
    clf.fit(X, Y)
    fit, start = time.process_time() - start, time.process_time()
    score = clf.score(*make_data(1000))
    predict = time.process_time() - start
    X, _ = make_data(20_000)
    alone = min(seconds_of_predict(clf, X[i : i + 1]) for i in range(10))
    many = seconds_of_predict(clf, X)
    square = 8 * n_samples**2 / 2**20
    print(
        f"{n_samples}\t{before:.0f} MB\t{megabytes():.0f} MB\t{square:.0f} MB\t"
        f"{fit:.0f} s\t{1000 * alone:.1f} ms\t{predict:.1f} s\t{many:.1f} s\t"
        f"{max(clf.n_iter_)}\t{score:.3f}"
    )


def main():
    if "--one" in sys.argv:
        return measure(int(sys.argv[-1]))
    rows = []
    for n_samples in map(int, sys.argv[1:] or SIZES):
        call = [sys.executable, __file__, "--one", str(n_samples)]
        run = subprocess.run(call, check=True, capture_output=True, text=True)
        rows.append(run.stdout.strip().split("\t"))
    header = ["examples", "before fit", "peak", "m x m matrix", "fit", "predict 1"]
    header += ["predict 1000", "predict 20,000", "passes", "multilabel accuracy"]
    return common.print_table(header, rows)


if __name__ == "__main__":
    main()
