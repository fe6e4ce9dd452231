"""What Gaussian kernels and boosted trees cost, and gain, on thousands of rows.

    python benchmarks/larger_tables.py [--rows 10000]

The self-tuned ensemble with and without them, on a generated table: twelve numbers, and
twelve labels that depend on cosines of forty random directions, so that no kernel fits
by construction. The measures are of 2,000 rows that no fit has seen. Memory is the peak
so far: the search without them comes first.
"""

import argparse
import time

import common
import numpy as np
from thousand_labels import resident_gb

from spanforest.metrics import microlabel_accuracy, multilabel_accuracy
from spanforest.tuning import RandomGraphEnsembleClassifierCV, _candidates

N_FEATURES, N_DIRECTIONS, N_LABELS, N_TEST = 12, 40, 12, 2000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="10000")
    sizes = [int(rows) for rows in parser.parse_args().rows.split(",")]
    X, Y = generated(max(sizes) + N_TEST)
    RandomGraphEnsembleClassifierCV(random_state=0).fit(X[:200], Y[:200])  # compile
    rows = []
    for n in sizes:
        for name, most in (("without", 0), ("with", n)):
            _candidates.MOST_GAUSSIAN = most
            start = time.process_time()
            model = RandomGraphEnsembleClassifierCV(random_state=0).fit(X[:n], Y[:n])
            seconds = time.process_time() - start
            predicted, truth = model.predict(X[-N_TEST:]), Y[-N_TEST:]
            rows.append(
                [
                    *(f"{n:,}", name, f"{seconds:.0f} s", f"{resident_gb():.1f} GB"),
                    f"{100 * multilabel_accuracy(truth, predicted):.1f}",
                    f"{100 * microlabel_accuracy(truth, predicted):.1f}",
                    model.chosen_.split(":")[0],
                ]
            )
    measures = "multilabel accuracy, %", "microlabel accuracy, %", "chosen"
    common.print_table(
        ["rows", "rbf and boosted", "processor time", "peak", *measures], rows
    )


def generated(n):
    """Return the features and labels of n rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    directions = rng.normal(size=(N_FEATURES, N_DIRECTIONS)) / np.sqrt(N_FEATURES)
    weights = rng.normal(size=(N_DIRECTIONS, N_LABELS)) / np.sqrt(N_DIRECTIONS)
    noise = 0.2 * rng.normal(size=(n, N_LABELS))
    return X, (np.cos(2.0 * X @ directions) @ weights + noise > 0.5).astype(int)


if __name__ == "__main__":
    main()
