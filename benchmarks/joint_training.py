"""Joint training: epochs to a 1 % gap, quality and cost, and what C means.

Pass "epochs", "quality" or "C" for one of the three tables, and then names of data
sets. The first compares one informed tree with the union of five. The second compares
five trees trained jointly with thirty trained apart, on three folds. The third does so
for several C, inside the training part of the first of these folds.
"""

import sys
import time
import warnings

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.graphs import consensus_graph, draw_graph
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)
from spanforest.model_selection import LabelCardinalityKFold

EPOCH_SETS = ("emotions", "yeast", "scene", "medical", "enron")
QUALITY_SETS = ("emotions", "yeast", "scene", "medical")
N_TREES = 5
WAYS = {"5 jointly": ("joint", N_TREES), "30 apart": ("separate", 30)}


def fit_seconds(model, X, Y):
    """Return the processor seconds of a fit; another one compiled before."""
    start = time.process_time()
    model.fit(X, Y)
    return time.process_time() - start


def epochs(names):
    rows = []
    for name in names:
        data = common.load(name)
        Y = np.asarray(data.Y, dtype=np.int32)
        trees = [
            draw_graph("informed_tree", Y, np.random.default_rng(seed), None, None)
            for seed in range(N_TREES)
        ]
        cells = []
        for graph in (trees[0], consensus_graph(trees)):
            model = MMCRFClassifier(graph=graph, tol=0.01, max_iter=200, random_state=0)
            model.set_params(max_iter=1).fit(data.X, data.Y)
            seconds = fit_seconds(model.set_params(max_iter=200), data.X, data.Y)
            gap = model.duality_gap_ / model.dual_objective_
            cells += [model.n_iter_, f"{gap:.2%}", f"{seconds:.2f}"]
        rows.append([name, *cells, f"{cells[3] / cells[0]:.1f}"])
    header = ["data set", "epochs, tree", "gap", "seconds"]
    header += ["epochs, union", "gap", "seconds", "ratio of epochs"]
    common.print_table(header, rows)


def three_measures(model, X, Y):
    """Return microlabel accuracy, multilabel accuracy and F1."""
    predicted = model.predict(X)
    measures = microlabel_accuracy, multilabel_accuracy, microlabel_f1
    return [measure(Y, predicted) for measure in measures]


def compare(data, folds, C):
    """Return the mean measures of both ways on these folds, and their seconds."""
    results = []
    for training, n_trees in WAYS.values():
        scores, spent = [], 0.0
        for train, test in folds:
            model = RandomGraphEnsembleClassifier(
                n_trees, training=training, graph="informed_tree", C=C, random_state=0
            )
            spent += fit_seconds(model, data.X[train], data.Y[train])
            scores.append(three_measures(model, data.X[test], data.Y[test]))
        means = " / ".join(f"{100 * mean:.1f}" for mean in np.mean(scores, axis=0))
        results += [means, f"{spent:.1f}"]
    return results


def quality(names):
    rows = []
    for name in names:
        data = common.load(name)
        folds = list(LabelCardinalityKFold(3, random_state=0).split(data.Y, data.Y))
        few = slice(0, 60)
        compare(data, [(few, few)], C=1.0)  # compile
        rows.append([name, *compare(data, folds, C=1.0)])
        print(*rows[-1], file=sys.stderr, flush=True)
    header = ["data set"]
    header += [cell for way in WAYS for cell in (f"{way}", "seconds")]
    common.print_table(header, rows)


def price_of_slack(names):
    rows = []
    for name in names:
        data = common.load(name)
        folds = LabelCardinalityKFold(3, random_state=0)
        outer, _ = next(iter(folds.split(data.Y, data.Y)))
        inner = [
            (outer[train], outer[test])
            for train, test in folds.split(data.Y[outer], data.Y[outer])
        ]
        for C in (0.25, 0.5, 1.0, 2.0, 4.0):
            rows.append([name, f"{C:g}", *compare(data, inner, C)])
            print(*rows[-1], file=sys.stderr, flush=True)
    header = ["data set", "C"]
    header += [cell for way in WAYS for cell in (f"{way}", "seconds")]
    common.print_table(header, rows)


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    tables = {
        "epochs": (epochs, EPOCH_SETS),
        "quality": (quality, QUALITY_SETS),
        "C": (price_of_slack, QUALITY_SETS[:3]),
    }
    chosen, names = sys.argv[1:2] or list(tables), sys.argv[2:]
    for name in chosen:
        table, sets = tables[name]
        table(names or sets)
        print()


if __name__ == "__main__":
    main()
