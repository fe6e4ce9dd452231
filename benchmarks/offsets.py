"""What offsets and thresholds on probabilities gain, chosen and measured on folds.

    python benchmarks/offsets.py [data set ...]

Five members are trained on three folds. The offset, or the threshold, that is best on
the held-out examples of two folds is measured on those of the third. No other examples
are used than the 900 that are drawn here.
"""

import sys
import warnings

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from which_kernel import load

from spanforest import RandomGraphEnsembleClassifier
from spanforest._offsets import offset_cells
from spanforest.aggregation import predicted_margins
from spanforest.branch_and_bound import decode_exactly
from spanforest.calibration import fit_calibration
from spanforest.decisions import threshold_decisions
from spanforest.factors import average_scores
from spanforest.metrics import MEASURES
from spanforest.model_selection import LabelCardinalityKFold

NAMES = ("emotions", "enron", "yeast", "medical", "foodtruck", "water_quality")
OFFSETS = (0.0, -0.3, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0)
THRESHOLDS = (0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
CHOSEN_FOR = ("microlabel_f1", "multilabel_accuracy")
HEADER = ["data set", "loss", "measure", "neither", "offset", "threshold"]


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in sys.argv[1:] or NAMES:
        for loss in ("edge", "hamming"):
            rows += compared(name, loss)
    common.print_table(HEADER, rows)


def compared(name, loss):
    """Return a row for every measure, in percent."""
    data = load(name)
    part = np.random.default_rng(0).permutation(data.n_samples)[:900]
    X, Y = data.X[part], data.Y[part]
    Y = Y[:, Y.sum(axis=0) > 5]  # each label has both values in every fold
    params = {"kernel": "linear", "C": 3.0} if data.is_text else {"kernel": "rbf"}
    shifted, margins, truths = [], [], []
    for train, test in LabelCardinalityKFold(3, random_state=0).split(X, Y):
        model = RandomGraphEnsembleClassifier(
            5, graph="informed_tree", loss=loss, random_state=0, **params
        ).fit(X[train], Y[train])
        shifted.append(predictions(model, X[test]))
        margins.append(margins_of(model, X[test]))
        truths.append(Y[test])
    rows = []
    for measure in CHOSEN_FOR:
        score = MEASURES[measure].function
        results = [
            held_out(score, f, shifted, margins, truths) for f in range(len(truths))
        ]
        means = (f"{100 * mean:.1f}" for mean in np.mean(results, axis=0))
        rows.append([name, loss, measure, *means])
    return rows


def predictions(model, X):
    """Return the label sets that are best with each of the offsets."""
    factors, scores = model._factors, model._scores(model._input.rows(X))
    cells = [offset_cells(m._factors, 1.0)[None] for m in model.estimators_]
    unit = average_scores(factors, model._member_factors, cells)[0]
    return [decode_exactly(factors, scores + o * unit).labels for o in OFFSETS]


def margins_of(model, X):
    """Return the margins of all labels, of shape (n, n_labels)."""
    scores = model._scores(model._input.rows(X))
    margins = predicted_margins(model._factors, scores)
    return np.column_stack([margin[:, 1] - margin[:, 0] for margin in margins])


def held_out(score, fold, shifted, margins, truths):
    """Return the scores of one fold: neither, offset, threshold."""
    others = [f for f in range(len(truths)) if f != fold]
    known = np.concatenate([truths[f] for f in others])
    by_offset = [
        score(known, np.concatenate([shifted[f][o] for f in others]))
        for o in range(len(OFFSETS))
    ]
    seen = np.concatenate([margins[f] for f in others])
    calibration = fit_calibration(pairs(seen), known.astype(np.int32))
    P, P_new = (
        np.column_stack([p[:, 1] for p in calibration.probabilities(pairs(m))])
        for m in (seen, margins[fold])
    )
    by_threshold = [score(known, threshold_decisions(P, t)) for t in THRESHOLDS]
    threshold = THRESHOLDS[int(np.argmax(by_threshold))]
    return (
        score(truths[fold], shifted[fold][0]),
        score(truths[fold], shifted[fold][int(np.argmax(by_offset))]),
        score(truths[fold], threshold_decisions(P_new, threshold)),
    )


def pairs(margins):
    """Return margins of both values of every label."""
    return [np.column_stack([np.zeros(len(m)), m]) for m in margins.T]


if __name__ == "__main__":
    main()
