"""Time of fit with two workers, against one."""

import common
import numpy as np

from spanforest import RandomGraphEnsembleClassifier


def main():
    data = common.load("yeast")
    K = common.gaussian_kernel(data)
    fitted = {}

    def fit(n_jobs, n_estimators=60):
        fitted[n_jobs] = RandomGraphEnsembleClassifier(
            n_estimators, kernel="precomputed", tol=0.01, random_state=0, n_jobs=n_jobs
        ).fit(K, data.Y)

    fit(n_jobs=2, n_estimators=2)
    times = common.race(lambda: fit(2), lambda: fit(1), repeats=2)
    what = "fit, T = 60, yeast, Gaussian kernel: two workers against one"
    common.print_comparisons(
        [common.Comparison(what, *times, target=1.7, speedup=True)]
    )
    same = np.array_equal(fitted[1].dual_coef_, fitted[2].dual_coef_)
    print(f"\nThe two ensembles are {'identical' if same else 'DIFFERENT'}.")


if __name__ == "__main__":
    main()
