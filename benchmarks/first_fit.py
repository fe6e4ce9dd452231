"""First fit in a fresh process: compiled code from the cache, and an empty cache."""

import json
import os
import subprocess
import sys
import tempfile

import common

# Prints the processor time of every step, imports included. Importing scikit-learn and
# Numba is the unit that the others are compared with.
STEPS = """
import json, sys, time, warnings
times, last = {}, 0.0
def step(what):
    global last
    times[what], last = time.process_time() - last, time.process_time()
import numba, sklearn.svm
step("import scikit-learn and Numba")
import logging
import numpy as np
from scipy import sparse
from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
warnings.simplefilter("ignore")
logging.disable()
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8))
Y = (X[:, :6] + rng.normal(size=(60, 6)) > 0).astype(int)
many = (X[:, np.arange(10) % 8] + rng.normal(size=(60, 10)) > 0).astype(int)
gaps = np.where(np.arange(Y.size).reshape(Y.shape) % 5 == 0, np.nan, Y)
step("import spanforest")
def ensemble(X, Y=Y, kernel="rbf"):
    clf = RandomGraphEnsembleClassifier(10, kernel=kernel, scaling=None, random_state=0)
    clf.fit(X, Y).predict(X)
    return clf
clf = ensemble(X)
step("fit and predict, Gaussian kernel")
clf.predict(X, aggregation="amm")
clf.predict(X, aggregation="mve")
step("AMM and MVE")
clf.predict_certified(X)
step("predict_certified")
clf.predict_topk(X[:3], 3)
step("predict_topk")
ensemble(X, many)
step("ten labels instead of six")
ensemble(X, gaps)
step("missing labels")
ensemble(X.astype(np.float32))
step("float32, Gaussian kernel")
ensemble(X, kernel="linear")
step("linear, dense")
ensemble(sparse.csr_matrix(X), kernel="linear")
step("linear, sparse")
ensemble(X.astype(np.float32), kernel="linear")
step("linear, float32")
ensemble(X @ X.T, kernel="precomputed")
step("precomputed kernel")
MMCRFClassifier([(j, (j + 1) % 6) for j in range(6)], max_iter=3).fit(X, Y).predict(X)
step("graph with a cycle")
print(json.dumps(times))
"""
FIRST = (
    "import scikit-learn and Numba",
    "import spanforest",
    "fit and predict, Gaussian kernel",
)


def processor_times(cache):
    """Return the seconds of every step of a process with this cache folder."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout)


def main():
    with tempfile.TemporaryDirectory() as cache:
        cold = processor_times(cache)
        warm = processor_times(cache)
    for times in (cold, warm):
        times["these three together"] = sum(times[what] for what in FIRST)
    unit = min(cold[FIRST[0]], warm[FIRST[0]])
    further = [what for what in warm if what not in (*FIRST, "these three together")]
    rows = [
        (what, f"{cold[what]:.2f}", f"{warm[what]:.2f}", f"{cold[what] / unit:.1f}")
        for what in (*FIRST, "these three together", *further)
    ]
    header = ("step", "empty cache", "full cache", "empty cache, in imports")
    common.print_table(header, rows)
    print(
        "\nProcessor time in seconds, one process per column. An import is that of "
        "scikit-learn and Numba.\nEach step comes after those above it."
    )


if __name__ == "__main__":
    main()
