"""Processor time and memory of tuning as texts grow, and what searching a part costs.

    python benchmarks/tuning_many_rows.py [--rows 2000,6000,20000] [--limit 60]

The first table has no time limit. Its last column is the score on 2,000 texts that no
fit has seen, beside that of a search that compares all candidates on all rows (only for
the smaller sizes). The second table has a time limit.
"""

import argparse
import time

import common
from many_rows import documents
from thousand_labels import resident_gb

from spanforest.metrics import microlabel_f1
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.tuning import RandomGraphEnsembleClassifierCV

N_LABELS, N_FEATURES, N_TEST = 20, 1000, 2000
MOST_COMPARED_IN_FULL = 6000
TARGET_SECONDS, TARGET_GB = 300, 3.0


def fitted(X, Y, **options):
    """Return a tuned ensemble, and the processor seconds and seconds of its fit."""
    start, wall = time.process_time(), time.perf_counter()
    model = RandomGraphEnsembleClassifierCV(random_state=0, **options).fit(X, Y)
    return model, time.process_time() - start, time.perf_counter() - wall


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="2000,6000,20000")
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    sizes = [int(rows) for rows in options.rows.split(",")]
    X, Y = documents(max(sizes) + N_TEST, N_FEATURES, N_LABELS)
    fitted(X[:200], Y[:200])  # compile
    new = slice(max(sizes), None)
    rows = []
    for n in sizes:
        model, busy, _ = fitted(X[:n], Y[:n])
        score = microlabel_f1(Y[new], model.predict(X[new]))
        in_full = "-"
        if n <= MOST_COMPARED_IN_FULL:
            folds = LabelCardinalityKFold(3, random_state=0)
            other, slow, _ = fitted(X[:n], Y[:n], cv=folds)
            other_score = microlabel_f1(Y[new], other.predict(X[new]))
            in_full = f"{100 * other_score:.1f} ({slow:.0f} s)"
        rows.append(
            [
                f"{n:,}",
                f"{busy:.0f} s",
                f"{resident_gb():.2f} GB",
                f"{100 * score:.1f}",
                in_full,
                model.chosen_,
            ]
        )
    header = [
        "texts",
        "processor time",
        "peak",
        "F1, %",
        "search of all rows",
        "chosen",
    ]
    common.print_table(header, rows)
    met = "met" if busy <= TARGET_SECONDS else "missed"
    print(
        f"\nTarget for 20,000 texts with {N_FEATURES:,} words and {N_LABELS} labels: "
        f"{TARGET_SECONDS} s ({met}) and {TARGET_GB:g} GB."
    )
    n = max(sizes)
    model, _, wall = fitted(X[:n], Y[:n], time_limit=options.limit)
    print(
        f"\nWith time_limit={options.limit:g}, {n:,} texts took {wall:.0f} s by the "
        f"clock: {model.chosen_}"
    )


if __name__ == "__main__":
    main()
