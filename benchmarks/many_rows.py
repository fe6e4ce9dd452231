"""Fifty trees on 120,000 sparse examples with 30 labels, against LinearSVC per label.

    python benchmarks/many_rows.py [--rows 120000] [--trees 50]

Only 2 and 6 trees are trained. The difference gives the time of each further tree.
"""

import argparse
import time
import warnings

import common
import numpy as np
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from spanforest import RandomGraphEnsembleClassifier

N_FEATURES, N_WORDS, N_LABELS = 2000, 25, 30


def documents(n_samples, n_features=N_FEATURES, n_labels=N_LABELS):
    """Return rows of unit length with a few words each, and labels that follow them."""
    rng = np.random.default_rng(0)
    words = (n_features * rng.random(n_samples * N_WORDS) ** 2).astype(np.int32)
    starts = np.arange(0, n_samples * N_WORDS + 1, N_WORDS, dtype=np.int32)
    X = sparse.csr_array(
        (np.ones(len(words)), words, starts), shape=(n_samples, n_features)
    )
    X.sum_duplicates()
    scores = X @ rng.normal(size=(n_features, n_labels))
    scores += 0.5 * scores.std() * rng.normal(size=scores.shape)
    return normalize(X), (scores > 1.3 * scores.std()).astype(int)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--trees", type=int, default=50)
    options = parser.parse_args()
    X, Y = documents(options.rows)

    def fit(n_trees, rows=slice(None)):
        clf = RandomGraphEnsembleClassifier(
            n_trees, kernel="linear", scaling=None, random_state=0
        )
        return clf.fit(X[rows], Y[rows])

    fit(2, slice(0, 50))  # compile
    clock = time.process_time
    few, more = (common.seconds(lambda n=n: fit(n), clock) for n in (2, 6))
    ours = few + (options.trees - 2) / 4 * (more - few)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label that did not converge
        machines = OneVsRestClassifier(LinearSVC())
        reference = common.seconds(lambda: machines.fit(X, Y), clock)
    what = f"{options.rows} sparse examples, {N_LABELS} labels, {options.trees} trees"
    row = common.Comparison(what, ours, reference, target=10.0)
    common.print_comparisons([row])
    print("\nProcessor time. That of all trees follows from 2 and 6 trees.")


if __name__ == "__main__":
    main()
