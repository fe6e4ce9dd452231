"""Time of fit with two workers, against one, and the most that it can gain."""

import time

import common
import numpy as np

from spanforest import RandomGraphEnsembleClassifier, RandomGraphEnsembleClassifierCV
from spanforest._parallel import Workers

TARGET = 1.8


class SharedTime:
    """Measures the processor time of calls that several workers can share."""

    def __init__(self):
        self.seconds = 0.0
        self.run = Workers.run

    def __enter__(self):
        def run(workers, *arguments, **options):
            start = time.process_time()
            results = self.run(workers, *arguments, **options)
            self.seconds += time.process_time() - start
            return results

        Workers.run = run
        return self

    def __exit__(self, *error):
        Workers.run = self.run


def compare(what, estimator, X, Y):
    """Return a row of the table, two other ratios, and whether bits agree.

    The ratios are the largest that is possible, and the processor time with two workers
    relative to one. Other work on the machine changes them little.
    """
    weights, seconds = {}, {1: [], 2: []}

    def fit(n_jobs):
        start = time.process_time()
        weights[n_jobs] = estimator.set_params(n_jobs=n_jobs).fit(X, Y).dual_coef_
        seconds[n_jobs].append(time.process_time() - start)

    times = common.race(lambda: fit(2), lambda: fit(1))
    row = common.Comparison(
        f"{what}: two workers against one", *times, target=TARGET, speedup=True
    )
    with SharedTime() as shared:
        total = common.seconds(lambda: fit(1), time.process_time)
    most = total / (total - shared.seconds / 2)
    extra = min(seconds[2]) / min(seconds[1])
    return row, (f"{most:.2f}", f"{extra:.2f}"), np.array_equal(weights[1], weights[2])


def main():
    data = common.load("yeast")
    K = common.gaussian_kernel(data)
    X, Y = data.X[:1000], data.Y[:1000]
    ensemble = RandomGraphEnsembleClassifier(
        60, kernel="precomputed", tol=0.01, random_state=0
    )
    search = RandomGraphEnsembleClassifierCV(kernels="rbf", random_state=0)
    # compile: self-tuning uses routines for single precision, and decodes
    ensemble.set_params(n_estimators=2).fit(K[:50, :50], data.Y[:50])
    ensemble.set_params(n_estimators=60)
    search.fit(X[:100], Y[:100])
    what = "fit, T = 60, yeast, Gaussian kernel"
    rows, ratios, same = zip(
        compare(what, ensemble, K, data.Y),
        compare("the same, self-tuned, 1000 rows", search, X, Y),
        strict=True,
    )
    common.print_comparisons(rows)
    most, extra = zip(*ratios, strict=True)
    print(
        f"\nThe weights are {'identical' if all(same) else 'DIFFERENT'}. The largest "
        f"ratios possible, from the share of the processor time that workers divide "
        f"between them: {' and '.join(most)}. Processor time with two workers, "
        f"relative to one: {' and '.join(extra)}."
    )


if __name__ == "__main__":
    main()
