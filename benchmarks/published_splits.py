"""Can the published scores be had where test examples are not in training?

    python benchmarks/published_splits.py [data set ...]

A random forest of scikit-learn for each label (the study's RFDTBR), on the first split
of `spanforest reproduce --protocol study`, beside the published scores. Where the two
agree, the published split is like ours. Ours is cut at one half, theirs at the number
of labels per example, so microlabel accuracy compares best. The last columns are about
methods that only predict label sets of the training examples (the study's LP): the
share of test examples with such a label set, and the published multilabel accuracy.
"""

import sys

import common
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from which_kernel import load

from spanforest.metrics import MEASURES
from spanforest.paper._study import published_scores, study_split

NAMES = ("emotions", "yeast", "scene", "medical", "cal500", "tmc2007_500")
SHORT_NAMES = ("microlabel acc.", "multilabel acc.", "F1")
HEADER = [
    *("data set", *SHORT_NAMES, *(f"{name}, published" for name in SHORT_NAMES)),
    *("label sets of training", "LP, published"),
]


def main():
    rows = []
    for name in sys.argv[1:] or NAMES:
        rows.append(row(name))
        print("...", *rows[-1], file=sys.stderr, flush=True)
    common.print_table(HEADER, rows)


def row(name):
    """Return our scores, the published ones, and what LP can have right."""
    data = load(name)
    train, test = study_split(data, 0)
    model = MultiOutputClassifier(RandomForestClassifier(random_state=0), n_jobs=2)
    predicted = model.fit(data.X[train], data.Y[train]).predict(data.X[test])
    ours = [one.function(data.Y[test], predicted) for one in MEASURES.values()]
    published = [published_scores()[name, measure]["RFDTBR"] for measure in MEASURES]
    label_powerset = published_scores()[name, "multilabel_accuracy"]["LP"]
    seen = set(map(bytes, np.asarray(data.Y[train], dtype=np.uint8)))
    known = [bytes(y) in seen for y in np.asarray(data.Y[test], dtype=np.uint8)]
    percent = [f"{100 * score:.1f}" for score in (*ours, np.mean(known))]
    return [name, *percent[:3], *published, percent[3], label_powerset]


if __name__ == "__main__":
    main()
