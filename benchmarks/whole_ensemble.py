"""Processor time of fit of a default ensemble, against one SVM per label.

python benchmarks/whole_ensemble.py [NAME ...]
"""

import sys
import time
import warnings

import common
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

from spanforest import RandomGraphEnsembleClassifier
from spanforest.kernels import median_gamma

TABLES = {"yeast": 1.5, "scene": 1.5, "emotions": 3.0}  # largest ratio allowed
WORDS = {"bibtex": 5.0, "tmc2007_500": 5.0}
# ratios with 30 trees, each trained from zero
BEFORE = {
    "yeast": 1.32,
    "scene": 2.61,
    "emotions": 5.82,
    "bibtex": 13.6,
    "tmc2007_500": 12.6,
}
C = 1.0
REPEATS = 3


def compare(name):
    """Return a row of the table: the ensemble against one SVM per label."""
    X, Y = common.four_fifths(name, are_words=name in WORDS)
    if name in WORDS:
        parameters = {"kernel": "linear"}
        machines = OneVsRestClassifier(LinearSVC(C=C))
        what = f"{name}, sparse linear, against `LinearSVC` per label"
    else:
        gamma = median_gamma(X)
        parameters = {"kernel": "rbf", "gamma": gamma}
        machines = OneVsRestClassifier(SVC(C=C, gamma=gamma))
        what = f"{name}, Gaussian kernel, against `SVC` per label"
    ensemble = RandomGraphEnsembleClassifier(
        C=C, scaling=None, random_state=0, **parameters
    )
    with warnings.catch_warnings():
        # LinearSVC warns, and labels without a positive example do
        warnings.simplefilter("ignore")
        ensemble.fit(X[:50], Y[:50])  # compile
        times = common.race(
            lambda: ensemble.fit(X, Y),
            lambda: machines.fit(X, Y),
            REPEATS if name not in WORDS else 1,
            summary=min,
            clock=time.process_time,
        )
    notes = f"{ensemble.n_iter_.mean():.1f} epochs; ratio before: {BEFORE[name]}"
    target = {**TABLES, **WORDS}[name]
    return common.Comparison(f"{what} ({notes})", *times, target=target)


def main():
    names = sys.argv[1:] or [*TABLES, *WORDS]
    common.print_comparisons(map(compare, names))
    print(
        f"\nC = {C:g}, four fifths of the rows, default number of trees and gap "
        "(before: 30 trees, each trained from zero); "
        f"smallest of {REPEATS} runs, of sparse features one run."
    )


if __name__ == "__main__":
    main()
