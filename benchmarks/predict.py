"""Prediction with MAM against one SVC per label, on the same kernel values."""

import common
import numpy as np
from sklearn.svm import SVC

from spanforest import RandomGraphEnsembleClassifier


def main():
    data = common.load("yeast")
    K = common.gaussian_kernel(data)
    rows = np.random.default_rng(0).permutation(data.n_samples)
    train, test = rows[:1933], rows[1933:]
    K_train, K_test, Y = K[np.ix_(train, train)], K[np.ix_(test, train)], data.Y[train]
    ensemble = RandomGraphEnsembleClassifier(
        n_estimators=60, kernel="precomputed", tol=0.1, random_state=0
    ).fit(K_train, Y)
    machines = [SVC(kernel="precomputed").fit(K_train, labels) for labels in Y.T]

    def ours():
        return ensemble.predict(K_test, aggregation="mam")

    def theirs():
        return np.column_stack([machine.predict(K_test) for machine in machines])

    ours(), theirs()
    times = np.array(common.race(ours, theirs, repeats=7)) / len(test)
    what = f"predict, MAM, T = 60, {Y.shape[1]} labels, per example, against `SVC`"
    common.print_comparisons([common.Comparison(what, *times, target=1.0)])
    agreement = np.mean(ours() == theirs())
    print(f"\n{len(test)} examples; {agreement:.1%} of the labels are the same.")


if __name__ == "__main__":
    main()
