"""Import and first fit in a fresh process with cached compiled code, on emotions."""

import statistics
import subprocess
import sys
import time

import common

PREPARE = """
import warnings; warnings.simplefilter("ignore")  # some members stop at max_iter
from sklearn.preprocessing import StandardScaler
from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.datasets import load_dataset
data = load_dataset("emotions")
OLD = RandomGraphEnsembleClassifier(50, kernel="linear", scaling=None, tol=0.01)
X, Y, scaled = data.X, data.Y, StandardScaler().fit_transform(data.X)
"""
CASES = {
    "import spanforest": "import spanforest",
    "one tree, raw features": PREPARE
    + "MMCRFClassifier(kernel='linear', scaling=None).fit(X, Y)",
    "50 trees, scaled to unit norm": PREPARE
    + "OLD.set_params(normalize_kernel=True).fit(scaled, Y)",
    "50 trees, Gaussian kernel": PREPARE
    + "OLD.set_params(kernel='rbf').fit(scaled, Y)",
    "50 trees, raw features (all stop at max_iter)": PREPARE + "OLD.fit(X, Y)",
    "defaults, raw features": PREPARE + "RandomGraphEnsembleClassifier().fit(X, Y)",
}


def seconds(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main():
    common.load("emotions")
    rows = []
    for what, code in CASES.items():
        seconds(code)  # fills the cache
        rows.append((what, f"{statistics.median(seconds(code) for _ in range(3)):.2f}"))
    common.print_table(("fresh process, imports included", "seconds"), rows)


if __name__ == "__main__":
    main()
