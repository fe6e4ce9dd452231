"""Nystroem features for more examples than a kernel matrix allows, on tmc2007_500."""

import warnings

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from spanforest import RandomGraphEnsembleClassifier
from spanforest.metrics import MEASURES

GAMMA = 1.0  # rows have unit length
N_TEST = 5000
N_EXACT = 4000


def ensemble(**params):
    params = {"kernel": "linear", "scaling": None, **params}
    return RandomGraphEnsembleClassifier(
        10, tol=0.05, max_iter=200, random_state=0, **params
    )


def main():
    warnings.simplefilter("error", ConvergenceWarning)
    data = common.load("tmc2007_500")
    X, n_train = common.unit_rows(data), data.split[0]
    some = np.random.default_rng(0).permutation(n_train)[:N_EXACT]
    everyone = np.arange(n_train)
    test = slice(n_train, n_train + N_TEST)
    features = Nystroem(gamma=GAMMA, n_components=500, random_state=0)
    contestants = [
        ("linear", ensemble(), everyone),
        ("Nystroem, 500 components", make_pipeline(features, ensemble()), everyone),
        ("exact Gaussian kernel", ensemble(kernel="rbf", gamma=GAMMA), some),
    ]
    rows = []
    for what, clf, train in contestants:
        clf.fit(X[:600], data.Y[:600])  # compile
        X_train, Y_train = X[train], data.Y[train]
        fit = common.seconds(lambda clf=clf, X=X_train, Y=Y_train: clf.fit(X, Y))
        predict = common.seconds(lambda clf=clf: clf.predict(X[test]))
        predicted = clf.predict(X[test])
        values = (m.function(data.Y[test], predicted) for m in MEASURES.values())
        scores = [f"{100 * value:.1f}" for value in values]
        rows.append([what, len(train), f"{fit:.1f}", f"{predict:.1f}", *scores])
    header = ["what", "training rows", "seconds of fit", "of predict"]
    names = [f"{measure.title}, %" for measure in MEASURES.values()]
    common.print_table(header + names, rows)
    print(f"\n10 trees, C = 1, {N_TEST} rows of the published test set, 5 % gap.")


if __name__ == "__main__":
    main()
