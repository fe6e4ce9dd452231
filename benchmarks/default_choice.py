"""Quality of the self-tuning default, against fewer kernels to choose from.

    python benchmarks/default_choice.py [data set ...]

Three outer folds, at most 900 examples of each data set, all parameters chosen inside
each fold. "no forests" tries linear and Gaussian kernels without offsets. "two forests"
tries on all data sets the two forests that "auto" tries on words. "auto" is the
default, `RandomGraphEnsembleClassifierCV()`. All are also tuned for microlabel F1.
Seconds are processor time per fit.

Breast cancer, wine and diabetes are tables of scikit-learn: every second column becomes
a label, which is on in the examples with the largest three tenths of its values.
"""

import sys
import time
import warnings
from unittest import mock

import common
import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from which_kernel import load

from spanforest.metrics import MEASURES
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.tuning import RandomGraphEnsembleClassifierCV, _candidates

TABLES = ("breast_cancer", "wine", "diabetes")  # of scikit-learn
NAMES = (
    *("emotions", "yeast", "medical", "enron", "scene", "foodtruck"),
    *("water_quality", *TABLES),
)
MOST_EXAMPLES = 900
CHOICES = {
    "no forests": {"kernels": ("linear", "rbf"), "offsets": 0.0},
    "two forests": {},
    "auto": {},
}
HEADER = ["data set", "tuned for", "choice", *MEASURES, "seconds", "chosen in fold 1"]


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in sys.argv[1:] or NAMES:
        for scoring in ("mean", "microlabel_f1"):
            for choice in CHOICES:
                rows.append(row(name, scoring, choice))
                print("...", *rows[-1], file=sys.stderr, flush=True)
    common.print_table(HEADER, rows)


def examples(name):
    """Return examples and their labels."""
    if name in TABLES:
        table = getattr(datasets, f"load_{name}")().data
        labels = table[:, ::2] > np.quantile(table[:, ::2], 0.7, axis=0)
        return table[:, 1::2], labels.astype(int)
    data = load(name)
    return data.X, data.Y


def row(name, scoring, choice):
    """Return the means over the outer folds, in percent."""
    if choice != "two forests":
        return measured(name, scoring, choice)
    two_forests = _candidates._forests((5, 1), ["sqrt"])
    with mock.patch.object(_candidates, "_forests", return_value=two_forests):
        return measured(name, scoring, choice)


def measured(name, scoring, choice):
    """Do the work of `row`, with the forests that are there."""
    X, Y = examples(name)
    rows = np.random.default_rng(0).permutation(len(Y))[:MOST_EXAMPLES]
    X, Y = X[rows], Y[rows]
    folds = LabelCardinalityKFold(3, random_state=0).split(X, Y)
    scores, seconds, chosen = [], [], []
    for train, test in folds:
        model = RandomGraphEnsembleClassifierCV(
            scoring=scoring, random_state=0, **CHOICES[choice]
        )
        start = time.process_time()
        predicted = model.fit(X[train], Y[train]).predict(X[test])
        seconds.append(time.process_time() - start)
        scores.append([one.function(Y[test], predicted) for one in MEASURES.values()])
        chosen.append(model.chosen_.partition(":")[0])
    means = [f"{100 * mean:.1f}" for mean in np.mean(scores, axis=0)]
    return [name, scoring, choice, *means, f"{np.mean(seconds):.1f}", chosen[0]]


if __name__ == "__main__":
    main()
