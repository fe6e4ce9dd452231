"""Peak memory of fit: no m x m matrix for linear kernels, no copy of K per member."""

import gc
import tracemalloc

import common

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier

MB = 1e6


def peak_of_fit(clf, X, Y):
    """Return the largest number of bytes that fit held at a time, without its input.

    NumPy reports its arrays to tracemalloc. The compiled routines, which do not, only
    allocate buffers for one example.
    """
    gc.collect()
    tracemalloc.start()
    clf.fit(X, Y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def linear_rows():
    data = common.load("bibtex")
    X = common.unit_rows(data)
    m = data.n_samples
    clf = MMCRFClassifier(kernel="linear", scaling=None, max_iter=1000, random_state=0)
    peak = peak_of_fit(clf, X, data.Y)
    size_X = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    n_coordinates = 2 * data.n_labels - 1  # of a tree over binary labels
    size_W, size_A = clf.cell_coef_.nbytes, 8 * m * n_coordinates
    least = size_X + size_W + size_A
    square = 8 * m * m
    return [
        ["bibtex, one tree: X + W + dual state", f"{least / MB:.0f} MB", "-"],
        [
            "bibtex, one tree: peak of fit, with X",
            f"{(peak + size_X) / MB:.0f} MB, {(peak + size_X) / least:.2f} x",
            "-",
        ],
        [
            "bibtex, one tree: per example",
            f"{(peak + size_X) / m:.0f} bytes ({size_A / m:.0f} of dual state)",
            "-",
        ],
        [
            "bibtex, one tree: peak of fit against an m x m matrix",
            f"{peak / square:.2f} x {square / MB:.0f} MB",
            verdict(peak < square, "below 1 x"),
        ],
    ]


def kernel_rows():
    data = common.load("yeast")
    K = common.gaussian_kernel(data)
    peaks = []
    for n_estimators in (1, 5):
        clf = RandomGraphEnsembleClassifier(
            n_estimators, kernel="precomputed", tol=0.1, random_state=0, n_jobs=2
        )
        peaks.append(peak_of_fit(clf, K, data.Y))
    return [
        ["yeast, Gaussian: size of K", f"{K.nbytes / MB:.0f} MB", "-"],
        ["the same: peak of fit without K, 1 tree", f"{peaks[0] / MB:.0f} MB", "-"],
        [
            "the same: 5 trees, two workers",
            f"{peaks[1] / MB:.0f} MB, {(peaks[1] - peaks[0]) / K.nbytes:.2f} of K more",
            # all members share a copy in single precision, which is half of K
            verdict(
                peaks[1] < peaks[0] + 0.5 * K.nbytes, "no copy per member: below 0.5"
            ),
        ],
    ]


def verdict(met, target):
    return f"{target} ({'met' if met else 'missed'})"


def main():
    common.print_table(["what", "measured", "target"], linear_rows() + kernel_rows())


if __name__ == "__main__":
    main()
