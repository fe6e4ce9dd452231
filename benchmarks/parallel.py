"""Time of fit with two workers, against one."""

import common
import numpy as np

from spanforest import RandomGraphEnsembleClassifier, RandomGraphEnsembleClassifierCV

TARGET = 1.8


def compare(what, estimator, X, Y):
    """Return a row of the table, and whether both fits gave the same weights."""
    weights = {}

    def fit(n_jobs):
        weights[n_jobs] = estimator.set_params(n_jobs=n_jobs).fit(X, Y).dual_coef_

    times = common.race(lambda: fit(2), lambda: fit(1), repeats=2)
    row = common.Comparison(
        f"{what}: two workers against one", *times, target=TARGET, speedup=True
    )
    return row, np.array_equal(weights[1], weights[2])


def main():
    data = common.load("yeast")
    K = common.gaussian_kernel(data)
    X, Y = data.X[:1000], data.Y[:1000]
    ensemble = RandomGraphEnsembleClassifier(
        60, kernel="precomputed", tol=0.01, random_state=0
    )
    search = RandomGraphEnsembleClassifierCV(kernels="rbf", random_state=0)
    ensemble.set_params(n_estimators=2).fit(K[:50, :50], data.Y[:50])  # compile
    rows, same = zip(
        compare(
            "fit, T = 60, yeast, Gaussian kernel",
            ensemble.set_params(n_estimators=60),
            K,
            data.Y,
        ),
        compare("the same, self-tuned, 1000 rows", search, X, Y),
        strict=True,
    )
    common.print_comparisons(rows)
    print(f"\nThe weights are {'identical' if all(same) else 'DIFFERENT'}.")


if __name__ == "__main__":
    main()
