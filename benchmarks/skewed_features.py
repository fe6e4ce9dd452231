"""Quality of the self-tuned ensemble on skewed features, with a power transform first.

    python benchmarks/skewed_features.py [data set ...]

Three outer folds, at most 900 examples of each data set. "as they are" is
`RandomGraphEnsembleClassifierCV()`. "power" has scikit-learn's `PowerTransformer`
before it, which makes every feature look more like a normal distribution. Both are
fitted inside each fold. "better inside" takes the one with the higher `best_score_`,
which is known without the test examples. Scores are means of multilabel accuracy,
microlabel accuracy and F1 in percent. Skewness is the median over the features.
"""

import sys

import common
import numpy as np
from default_choice import MOST_EXAMPLES, TABLES, examples
from scipy.stats import skew
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

from spanforest.metrics import MEASURES
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.tuning import RandomGraphEnsembleClassifierCV

NAMES = ("scene", "yeast", "emotions", "foodtruck", "water_quality", *TABLES)
HEADER = ["data set", "skewness", "as they are", "power", "better inside"]


def main():
    rows = []
    for name in sys.argv[1:] or NAMES:
        rows.append(row(name))
        print("...", *rows[-1], file=sys.stderr, flush=True)
    common.print_table(HEADER, rows)


def row(name):
    """Return the means over the outer folds."""
    X, Y = examples(name)
    rows = np.random.default_rng(0).permutation(len(Y))[:MOST_EXAMPLES]
    X, Y = X[rows], Y[rows]
    scores = []
    for train, test in LabelCardinalityKFold(3, random_state=0).split(X, Y):
        plain = RandomGraphEnsembleClassifierCV(random_state=0)
        power = make_pipeline(
            PowerTransformer(), RandomGraphEnsembleClassifierCV(random_state=0)
        )
        own = []
        for model in (plain, power):
            predicted = model.fit(X[train], Y[train]).predict(X[test])
            measures = [one.function(Y[test], predicted) for one in MEASURES.values()]
            own.append(100 * np.mean(measures))
        inside = plain.best_score_, power[-1].best_score_
        scores.append([*own, own[int(np.argmax(inside))]])
    skewness = np.median(np.abs(skew(X, axis=0)))
    return [name, f"{skewness:.1f}", *(f"{mean:.1f}" for mean in np.mean(scores, 0))]


if __name__ == "__main__":
    main()
