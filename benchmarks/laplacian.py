"""Laplacian against Gaussian kernels on tables.

    python benchmarks/laplacian.py FOLDER      # of `unseen_tables.py`
    python benchmarks/laplacian.py             # data sets in SPANFOREST_DATA

Each kernel chooses its scale, C, loss and an offset by cross-validation, on two thirds
of at most 1,500 rows. The measure is the mean of microlabel accuracy, multilabel
accuracy and microlabel F1 on the others, in percent; of the known data sets, over three
splits. The last row has means, and the standard error of the mean difference.
"""

import sys
import warnings
from pathlib import Path

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from which_kernel import load

from spanforest import RandomGraphEnsembleClassifierCV
from spanforest.metrics import MEASURES

KNOWN = ("emotions", "yeast", "scene", "water_quality", "foodtruck")
KERNELS = ("rbf", "laplacian")
MOST_ROWS = 1500


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name, X, Y in data_sets():
        seeds = (61,) if len(sys.argv) > 1 else (61, 62, 63)
        scores = [[score(X, Y, kernel, seed) for kernel in KERNELS] for seed in seeds]
        rows.append([name, *np.mean(scores, axis=0)])
        print("...", *rows[-1], file=sys.stderr, flush=True)
    both = np.array([row[1:] for row in rows])
    ahead = both[:, 1] - both[:, 0]
    error = ahead.std(ddof=1) / np.sqrt(len(ahead))
    rows.append([f"mean (error of the difference {error:.1f})", *both.mean(axis=0)])
    shown = [[name, *(f"{one:.1f}" for one in scores)] for name, *scores in rows]
    common.print_table(["data set", *KERNELS], shown)


def data_sets():
    """Yield the name, features and labels of each data set."""
    if len(sys.argv) > 1:
        for path in sorted(Path(sys.argv[1]).glob("*.npz")):
            with np.load(path) as arrays:
                yield path.stem, arrays["X"].astype(float), arrays["Y"]
    else:
        for name in KNOWN:
            data = load(name)
            yield name, np.asarray(data.X, dtype=float), np.asarray(data.Y)


def score(X, Y, kernel, seed):
    """Return the mean of the measures on one split, in percent."""
    rows = np.random.default_rng(seed).permutation(len(Y))[:MOST_ROWS]
    train, test = np.split(rows, [2 * len(rows) // 3])
    search = RandomGraphEnsembleClassifierCV(
        10, kernels=kernel, thresholds=None, training="separate", random_state=seed
    )
    predicted = search.fit(X[train], Y[train]).predict(X[test])
    scores = [measure.function(Y[test], predicted) for measure in MEASURES.values()]
    return 100 * np.mean(scores)


if __name__ == "__main__":
    main()
