"""Quality of the self-tuning default, against linear and Gaussian kernels alone.

    python benchmarks/default_choice.py [data set ...]

Three outer folds, at most 900 examples of each data set, all parameters chosen inside
each fold. "before" tries linear and Gaussian kernels without offsets; "auto" is
`RandomGraphEnsembleClassifierCV()`. Both are also tuned for microlabel F1. Seconds are
processor time per fit.
"""

import sys
import time
import warnings

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from which_kernel import load

from spanforest.metrics import MEASURES
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.tuning import RandomGraphEnsembleClassifierCV

NAMES = (
    *("emotions", "yeast", "medical", "enron", "scene", "foodtruck"),
    "water_quality",
)
MOST_EXAMPLES = 900
CHOICES = {"before": {"kernels": ("linear", "rbf"), "offsets": 0.0}, "auto": {}}
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


def row(name, scoring, choice):
    """Return the means over the outer folds, in percent."""
    data = load(name)
    part = np.random.default_rng(0).permutation(data.n_samples)[:MOST_EXAMPLES]
    X, Y = data.X[part], data.Y[part]
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
