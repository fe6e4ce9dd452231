"""Processor time of tuning, against a grid search over one SVM per label.

python benchmarks/self_tuning.py [NAME ...]
"""

import sys
import time
import warnings

import common
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from spanforest.kernels import median_gamma
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.tuning import RandomGraphEnsembleClassifierCV

NAMES = ("emotions", "yeast", "scene", "medical")
WORDS = ("medical",)
CS = (0.3, 1.0, 3.0, 10.0)
GAMMAS = (0.5, 1.0, 2.0)
N_FOLDS = 3


def machines(X):
    """Return a grid search over one SVM per label, linear and Gaussian."""
    unit = median_gamma(X)
    grid = [
        {"estimator__kernel": ["linear"], "estimator__C": CS},
        {
            "estimator__kernel": ["rbf"],
            "estimator__C": CS,
            "estimator__gamma": [multiple * unit for multiple in GAMMAS],
        },
    ]
    folds = LabelCardinalityKFold(N_FOLDS, random_state=0)
    return GridSearchCV(OneVsRestClassifier(SVC()), grid, cv=folds)


def ensemble(**options):
    """Return the ensemble that tunes itself, with the same folds and values of C."""
    return RandomGraphEnsembleClassifierCV(
        Cs=CS, cv=N_FOLDS, scaling=None, random_state=0, **options
    )


def compare(name):
    """Return two rows of the table: the same kernels, and the default."""
    X, Y = common.four_fifths(name, are_words=name in WORDS)
    same = ensemble(kernels=["linear", "rbf"], gammas=GAMMAS)
    default = ensemble()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels without a positive example
        for model in (same, default):  # compile
            model.fit(X[:60], Y[:60])
        reference, *ours = (
            common.seconds(lambda model=model: model.fit(X, Y), time.process_time)
            for model in (machines(X), same, default)
        )
    for what, seconds, model, target in (
        ("linear and Gaussian kernels", ours[0], same, 1.0),
        ("the default", ours[1], default, 2.0),
    ):
        n_candidates = len(model.cv_results_["params"])
        what = f"{name}, {what}, {n_candidates} candidates"
        yield common.Comparison(what, seconds, reference, target)


def main():
    names = sys.argv[1:] or NAMES
    common.print_comparisons([row for name in names for row in compare(name)])
    print(
        f"\nFour fifths of the rows, {N_FOLDS} folds, final fit included. "
        f"The grid search has {len(CS) * (1 + len(GAMMAS))} candidates: linear and "
        f"Gaussian kernels of {len(GAMMAS)} widths with {len(CS)} values of C. Ours "
        "add two losses, offsets and joint training; the default also forests and "
        "averages of kernels."
    )


if __name__ == "__main__":
    main()
