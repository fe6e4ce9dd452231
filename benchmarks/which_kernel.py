"""Quality of linear, Gaussian and forest kernels: same folds, same trees, C = 1.

    python benchmarks/which_kernel.py [data set ...]

Linear and Gaussian kernels get features as the guide advises: TF-IDF of words, else
standardised numbers, and rows of unit length for the linear kernel. The forest gets
the features as they are.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import list_datasets, load_npz
from spanforest.kernels import ForestKernel
from spanforest.metrics import MEASURES
from spanforest.model_selection import LabelCardinalityKFold

NAMES = ("emotions", "medical", "foodtruck", "water_quality")
KERNELS = {
    "linear": "linear",
    "rbf": "rbf",
    "forest, leaf 1": ForestKernel(min_samples_leaf=1),
    "forest, leaf 3": ForestKernel(min_samples_leaf=3),
    "forest, leaf 5": ForestKernel(min_samples_leaf=5),
    "random forest, leaf 5": ForestKernel(min_samples_leaf=5, kind="random"),
}
MEASURE_NAMES = ("microlabel_accuracy", "multilabel_accuracy", "microlabel_f1")


def load(name):
    """Return a data set, also one that the library does not know by name."""
    path = Path(os.environ.get("SPANFOREST_DATA", "."), f"{name}.npz")
    is_known = name in {known.name for known in list_datasets()}
    return common.load(name) if is_known else load_npz(path)


def features(data, kernel):
    """Return the features that suit a kernel."""
    if kernel == "linear":
        return common.unit_rows(data)
    if kernel != "rbf":
        return data.X
    if data.is_text:
        return TfidfTransformer().fit_transform(data.X)
    return StandardScaler().fit_transform(data.X)


def cross_validated(data, kernel):
    """Return the three measures in percent, means over three folds, and seconds."""
    X, scores = features(data, kernel), []
    start = time.process_time()
    for train, test in LabelCardinalityKFold(3, random_state=0).split(X, data.Y):
        clf = RandomGraphEnsembleClassifier(
            20, graph="informed_tree", kernel=kernel, tol=0.05, random_state=0
        )
        predicted = clf.fit(X[train], data.Y[train]).predict(X[test])
        scores.append(
            [MEASURES[name].function(data.Y[test], predicted) for name in MEASURE_NAMES]
        )
    return 100 * np.mean(scores, axis=0), time.process_time() - start


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in sys.argv[1:] or NAMES:
        data = load(name)
        for title, kernel in KERNELS.items():
            measures, seconds = cross_validated(data, kernel)
            shown = " / ".join(f"{value:.1f}" for value in measures)
            rows.append([name, title, shown, f"{seconds:.0f} s"])
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    common.print_table(["data set", "kernel", "accuracies and F1", "time"], rows)


if __name__ == "__main__":
    main()
