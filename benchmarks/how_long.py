"""Processor time of a default fit, by rows and labels, and the formula that fits it.

    python benchmarks/how_long.py [--rows 300,1000,3000,10000,30000] [--labels 5,20,100]

Numbers in columns are drawn at random. Up to 5,000 rows the default kernel is Gaussian,
beyond it is linear. The second table has real data, on which the formula is tested.
"""

import argparse
import time
import warnings

import common
import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from spanforest import RandomGraphEnsembleClassifier, RandomGraphEnsembleClassifierCV

N_FEATURES = 50
REAL = ("emotions", "scene", "yeast", "medical", "enron", "tmc2007_500")
TUNED = REAL[:5]  # the last one would take many minutes
EXTRA_LABELS = 5  # what an example costs beside its labels, in labels
OTHER_WIDTHS = (10, 200)  # features: fits of one width cannot tell a and b apart


def draw(n_samples, n_labels, n_features=N_FEATURES):
    """Return numbers in columns, and labels that follow them with errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    scores = X @ rng.normal(size=(n_features, n_labels)) / np.sqrt(n_features)
    scores += 0.5 * rng.normal(size=scores.shape)
    return X, (scores > 0.8).astype(int)


def fit_time(model, X, Y):
    """Return the seconds of a fit on one core."""
    return common.seconds(lambda: model.fit(X, Y), time.process_time)


def values_per_row(X):
    """Return how many features of a row are stored: those that are not zero."""
    return X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]


def inner_size(model, X):
    """Return what a pass multiplies by: rows in a kernel matrix, else features."""
    return X.shape[0] if model.kernel_ == "rbf" else values_per_row(X)


def work_of(model, Y):
    """Return the number of visits of a pass over all trees, in labels."""
    n_samples, n_labels = Y.shape
    return model.n_estimators * n_samples * (n_labels + EXTRA_LABELS)


def fit_formula(measured):
    """Return a, b of `seconds = work * (a + b * size)`, none of them negative.

    Relative errors are squared, so that small sizes count as much as large ones.
    """
    units, sizes, seconds = np.array(measured).T
    share = units / seconds
    return nnls(np.column_stack([share, share * sizes]), np.ones(len(share)))[0]


def by_rows_and_labels(rows, labels):
    """Print the table of generated data; return (work, size, seconds) by kernel."""
    lines, measured = [], {"rbf": [], "linear": []}

    def measure(X, Y):
        model = RandomGraphEnsembleClassifier(random_state=0)
        spent = fit_time(model, X, Y)
        place = work_of(model, Y), inner_size(model, X)
        measured[model.kernel_].append((*place, spent))
        return model.kernel_, spent

    for m in rows:
        found = [measure(*draw(m, k)) for k in labels]
        lines.append([f"{m:,}", found[0][0], *(f"{spent:.2g}" for _, spent in found)])
    for width in OTHER_WIDTHS:
        measure(*draw(10_000, 20, width))
    common.print_table(["rows", "kernel", *(f"{k} labels" for k in labels)], lines)
    print(f"\nSeconds of processor time, {N_FEATURES} features, all defaults.\n")
    return {kernel: found for kernel, found in measured.items() if found}


def report_formulas(measured):
    """Print the formula of each kernel and how far it is from the measurements."""
    formulas, lines = {}, []
    for kernel, found in measured.items():
        a, b = formulas[kernel] = fit_formula(found)
        units, sizes, seconds = np.array(found).T
        off = np.log(units * (a + b * sizes) / seconds)
        worst = np.exp(np.abs(off).max())
        lines.append([kernel, f"{a * 1e6:.2g}", f"{b * 1e9:.2g}", f"{worst:.1f}"])
    header = ["kernel", "a, microseconds", "b, nanoseconds", "largest factor off"]
    common.print_table(header, lines)
    work = f"trees * rows * (labels + {EXTRA_LABELS})"
    print(f"\nseconds = {work} * (a + b * size); size: rows, or features of a row\n")
    return formulas


def on_real_data(formulas, names):
    """Print times on real data, beside what the formula says."""
    lines = []
    for name in names:
        data = common.load(name)
        model = RandomGraphEnsembleClassifier(random_state=0)
        spent = fit_time(model, data.X, data.Y)
        a, b = formulas[model.kernel_]
        said = work_of(model, data.Y) * (a + b * inner_size(model, data.X))
        guess = common.seconds(
            lambda m=model, d=data: m.predict(d.X), time.process_time
        )
        tuned = "-"
        if name in TUNED:
            search = RandomGraphEnsembleClassifierCV(random_state=0)
            tuned = f"{fit_time(search, data.X, data.Y):.2g}"
        size = f"{data.n_samples:,} x {data.n_labels}"
        per_row = 1e6 * guess / data.n_samples
        cells = [model.kernel_, f"{spent:.2g}", f"{said:.2g}", tuned, f"{per_row:.0f}"]
        lines.append([name, size, *cells])
    header = ["data", "rows x labels", "kernel", "fit", "by the formula", "tuned fit"]
    common.print_table([*header, "predict, microseconds a row"], lines)


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=numbers, default=[300, 1000, 3000, 10000, 30000])
    parser.add_argument("--labels", type=numbers, default=[5, 20, 100])
    parser.add_argument("--real", default=",".join(REAL), help="names of data sets")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, Y = draw(60, 5)
    for kernel in ("rbf", "linear"):  # compile
        RandomGraphEnsembleClassifier(3, kernel=kernel).fit(X, Y).predict(X)
        RandomGraphEnsembleClassifier(3, kernel=kernel).fit(sparse.csr_array(X), Y)
    RandomGraphEnsembleClassifierCV(3).fit(X, Y)
    measured = by_rows_and_labels(options.rows, options.labels)
    formulas = report_formulas(measured)
    on_real_data(formulas, options.real.split(","))


if __name__ == "__main__":
    main()
