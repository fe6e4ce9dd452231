"""Does the length of a text say something about its labels? Linear and other kernels.

    python benchmarks/words.py [data set ...]

Each kernel chooses C and an offset by cross-validation, on two random splits of each
data set of words. The measure is the mean of microlabel accuracy, multilabel accuracy
and microlabel F1, in percent, averaged over the splits.
"""

import sys
import time
import warnings

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from which_kernel import load

from spanforest import RandomGraphEnsembleClassifierCV
from spanforest.metrics import MEASURES

TRAINING_ROWS = {
    "medical": 600,
    "enron": 1000,
    "slashdot": 2000,
    "bibtex": 3000,
    "tmc2007_500": 3000,
}
MOST_TEST_ROWS = 3000
KERNELS = ("linear", "cosine", "tanimoto")
SEEDS = (11, 12)


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in sys.argv[1:] or TRAINING_ROWS:
        rows.append(row(name))
        print("...", *rows[-1], file=sys.stderr, flush=True)
    seconds = (f"{kernel}, seconds" for kernel in KERNELS)
    common.print_table(["data set", *KERNELS, *seconds], rows)


def row(name):
    """Return the scores of all kernels, then how long their searches took."""
    data = load(name)
    results = np.array(
        [[result(data, name, kernel, seed) for kernel in KERNELS] for seed in SEEDS]
    )
    scores, seconds = results.mean(axis=0).T
    return [name, *(f"{one:.1f}" for one in scores), *(f"{s:.1f}" for s in seconds)]


def result(data, name, kernel, seed):
    """Return the mean of the measures on one split, and the seconds of `fit`."""
    rows = np.random.default_rng(seed).permutation(data.X.shape[0])
    n_train = TRAINING_ROWS[name]
    train, test = rows[:n_train], rows[n_train : n_train + MOST_TEST_ROWS]
    Y = np.asarray(data.Y)
    Y = Y[:, np.ptp(Y[train], axis=0) > 0]  # training cannot know the other labels
    search = RandomGraphEnsembleClassifierCV(
        10,
        kernels=[kernel],
        thresholds=None,
        training="separate",
        losses="edge",
        random_state=seed,
    )
    start = time.perf_counter()
    search.fit(data.X[train], Y[train])
    seconds = time.perf_counter() - start
    predicted = search.predict(data.X[test])
    scores = [measure.function(Y[test], predicted) for measure in MEASURES.values()]
    return 100 * np.mean(scores), seconds


if __name__ == "__main__":
    main()
