"""Ten trees over thousands of labels, trained and predicted with MAM in little memory.

python benchmarks/thousand_labels.py [--labels 1000] [--rows 5000] [--limit 4]
"""

import argparse
import resource

import common
from sklearn.datasets import make_multilabel_classification

from spanforest import RandomGraphEnsembleClassifier

TOL = 0.05


def resident_gb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # Linux: KB


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--limit", type=float, default=4.0, help="in GB")
    options = parser.parse_args()
    n_labels, n_rows = options.labels, options.rows
    X, Y = make_multilabel_classification(
        n_rows, n_features=500, n_classes=n_labels, sparse=True, random_state=0
    )
    clf = RandomGraphEnsembleClassifier(
        n_estimators=10,
        kernel="linear",
        scaling=None,
        normalize_kernel=True,
        tol=TOL,
        random_state=0,
    )
    clf.fit(X[:9], Y[:9]).predict(X[:9])  # compile
    before = resident_gb()
    fit = common.seconds(lambda: clf.fit(X, Y))
    proven = clf.predict_certified(X[:100]).proven.mean()
    predict = common.seconds(lambda: clf.predict(X))
    peak = resident_gb()
    met = "met" if peak < options.limit else "missed"
    size = f"{n_rows} examples, {n_labels} labels"
    gap = (clf.duality_gap_ / clf.dual_objective_).max()
    common.print_table(
        ["what", "measured", "target"],
        [
            [f"fit, {size}, 10 trees", f"{fit:.1f} s", "-"],
            ["relative gap, largest", f"{gap:.1%}", f"at most {TOL:.0%}"],
            ["epochs, most", str(clf.n_iter_.max()), "-"],
            [f"predict {len(Y)} examples, MAM", f"{predict:.1f} s", "-"],
            ["predictions of 100 examples that are proven", f"{proven:.0%}", "-"],
            [
                "peak memory of the process",
                f"{peak:.2f} GB",
                f"under {options.limit:g} GB ({met})",
            ],
            ["of it before the fit", f"{before:.2f} GB", "-"],
        ],
    )


if __name__ == "__main__":
    main()
