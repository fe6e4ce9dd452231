"""Growth of the cost of fit with examples, labels and trees; drawn to scaling.png."""

import time
import warnings
from pathlib import Path

import common
import matplotlib
import numpy as np
from many_rows import documents
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from spanforest import RandomGraphEnsembleClassifier

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EPOCHS = 5
TARGET = 1.05
STRAIGHT = 0.25  # points further off the line mean that the run was disturbed
REPEATS = 3
N_UPPER = 4  # number of largest sizes to which the line is fitted
PICTURE = Path(__file__).with_name("scaling.png")


def fit(X, Y, n_estimators=1):
    RandomGraphEnsembleClassifier(
        n_estimators,
        kernel="linear",
        scaling=None,
        tol=1e-9,
        max_iter=EPOCHS,
        random_state=0,
    ).fit(X, Y)


def measure(cases):
    """Return the least seconds of each case; each repeat runs all cases in turn."""
    rounds = [
        [
            common.seconds(lambda case=case: fit(*case), time.process_time)
            for case in cases
        ]
        for _ in range(REPEATS)
    ]
    return np.min(rounds, axis=0)


def all_results():
    """Yield the name of the quantity that grows, its sizes, and the seconds."""
    m = [3750, 7500, 15_000, 30_000, 60_000, 120_000]
    X, Y = documents(m[-1])
    fit(X[:50], Y[:50])  # compile
    yield "examples, m", m, measure([(X[:n], Y[:n]) for n in m])

    k = [125, 250, 500, 1000, 2000, 4000]
    Z, L = make_multilabel_classification(
        500, n_features=500, n_classes=k[-1], sparse=True, random_state=0
    )
    L = L[:, np.argsort(-L.sum(axis=0), kind="stable")]  # frequent labels first
    yield "labels, k", k, measure([(normalize(Z), L[:, :n]) for n in k])

    T = [1, 2, 4, 8, 16, 32, 64]
    yield "trees, T", T, measure([(X[:1600], Y[:1600], n) for n in T])


def fit_line(sizes, times):
    """Return the log-log line of the largest sizes, and the farthest point off it."""
    x, y = np.log(sizes[-N_UPPER:]), np.log(times[-N_UPPER:])
    line = np.polyfit(x, y, 1)
    return line, np.exp(np.abs(y - np.polyval(line, x)).max()) - 1.0


def draw(results):
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for ax, (what, sizes, times, (line, _)) in zip(axes, results, strict=True):
        ax.loglog(sizes, times, "o", label="measured")
        fitted = np.exp(np.polyval(line, np.log(sizes)))
        ax.loglog(sizes, fitted, "-", label=f"slope {line[0]:.2f}")
        ax.set(xlabel=f"number of {what}", xticks=sizes, xticklabels=sizes)
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        ax.legend(loc="upper left")
    axes[0].set_ylabel(f"seconds of fit, {EPOCHS} epochs")
    figure.savefig(PICTURE, dpi=120)


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    results = [
        (what, sizes, times, fit_line(sizes, times))
        for what, sizes, times in all_results()
    ]
    draw(results)
    rows = []
    for what, sizes, times, (line, off) in results:
        met = "met" if line[0] <= TARGET else "missed"
        verdict = met if off <= STRAIGHT else "not a line: undecided"
        spans = f"{sizes[0]} to {sizes[-1]}", f"{times[0]:.3g} to {times[-1]:.3g}"
        slope = f"{line[0]:.2f}", f"{off:.0%}"
        rows.append([what, *spans, *slope, f"at most {TARGET} ({verdict})"])
    header = ["against", "from, to", "seconds", "slope", "off the line", "target"]
    common.print_table(header, rows)
    print(
        f"\nLinear form, sparse, processor time; line through the {N_UPPER} largest "
        "sizes, log-log.\n"
    )
    print(f"![cost of fit]({PICTURE.name})")


if __name__ == "__main__":
    main()
