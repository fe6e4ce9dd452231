"""How many trees, and how small a gap, the measures need: on folds of training parts.

    python benchmarks/trees_and_gaps.py [--rows 1500] [NAME ...]

Four fifths of each data set are cut into three folds; the last fifth is not used. The
table shows differences to 60 trees with a gap of 1 %, in points, and their processor
time. Only the 40 most frequent labels are kept.
"""

import argparse
import time

import common
import numpy as np

from spanforest import RandomGraphEnsembleClassifier
from spanforest.branch_and_bound import decode_exactly
from spanforest.factors import consensus_factors, running_sums
from spanforest.metrics import MEASURES
from spanforest.model_selection import LabelCardinalityKFold

NAMES = ("emotions", "yeast", "scene", "medical")
SIZES, GAPS = (10, 20, 30), (0.05, 0.1, 0.2)
REFERENCE = 60, 0.01


def training_part(name, n_rows):
    """Return features and labels of at most `n_rows` of the training rows."""
    data = common.load(name)
    rng = np.random.default_rng(0)
    rows = rng.permutation(data.n_samples)[: int(0.8 * data.n_samples)]
    rows = np.sort(rng.permutation(np.sort(rows))[:n_rows])
    frequent = np.argsort(-(data.Y[rows] > 0).sum(axis=0), kind="stable")[:40]
    return data.X[rows], data.Y[rows][:, np.sort(frequent)]


def predictions(clf, X, sizes):
    """Yield the predictions of the first members, for some of their numbers."""
    rows, members = clf._input.rows(clf._read_new_examples(X)), clf._member_factors
    scores = (member._scores(rows) for member in clf.estimators_)
    sums = running_sums(clf._factors, members, scores)
    for t, total in enumerate(sums, start=1):
        if t in sizes:
            factors = consensus_factors(members[:t])
            means = total[:, clf._factors.places_of(factors)] / t
            yield clf._coding.to_labels(decode_exactly(factors, means).labels)


def measure(X, Y, sizes, gap):
    """Return the measures in percent, (n_sizes, n_folds, n_measures), and seconds."""
    scores, seconds = [], 0.0
    folds = LabelCardinalityKFold(3, random_state=0).split(Y, Y)
    for seed, (train, test) in enumerate(folds):
        clf = RandomGraphEnsembleClassifier(max(sizes), tol=gap, random_state=seed)
        start = time.process_time()
        clf.fit(X[train], Y[train])
        seconds += (time.process_time() - start) / 3
        scores.append(
            [
                [100 * each.function(Y[test], labels) for each in MEASURES.values()]
                for labels in predictions(clf, X[test], sizes)
            ]
        )
    return np.array(scores).swapaxes(0, 1), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rows", type=int, default=1500)
    options = parser.parse_args()
    titles = [each.title for each in MEASURES.values()]
    lines = []
    for name in options.names or NAMES:
        X, Y = training_part(name, options.rows)
        trees, gap = REFERENCE
        (best,), seconds = measure(X, Y, (trees,), gap)
        ends = zip(best.mean(axis=0), best.std(axis=0, ddof=1), strict=True)
        cells = [f"{mean:.1f} ± {deviation:.1f}" for mean, deviation in ends]
        lines.append([name, trees, f"{gap:.0%}", *cells, f"{seconds:.2f}"])
        for gap in GAPS:
            scores, seconds = measure(X, Y, SIZES, gap)
            for size, of_size in zip(SIZES, scores, strict=True):
                cells = [f"{each:+.1f}" for each in (of_size - best).mean(axis=0)]
                share = seconds * size / max(SIZES)
                lines.append([name, size, f"{gap:.0%}", *cells, f"{share:.2f}"])
    common.print_table(["data set", "trees", "gap", *titles, "seconds"], lines)


if __name__ == "__main__":
    main()
