"""Accuracy lost when training labels are hidden, against one SVM per label.

    python benchmarks/missing_labels.py [ROWS.jsonl]

A share of the training labels is hidden at random. Predictions are compared with all
labels of the test examples. Both methods have the same kernel, and choose C from the
same values by cross-validation on the observed labels. Rows that are already in the
file are not computed again, so that a run can be interrupted.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from spanforest import RandomGraphEnsembleClassifier
from spanforest.metrics import MEASURES, microlabel_f1, multilabel_accuracy

NAMES = ("emotions", "yeast", "scene", "enron")
SHARES = (0.0, 0.1, 0.3, 0.5)
MOST_TRAINED, N_REPEATS = 600, 3
CS, N_FOLDS = (0.1, 1.0, 10.0), 3
N_TREES, N_TREES_TO_CHOOSE = 20, 5


# --- data --------------------------------------------------------------------------


class Split(NamedTuple):
    """Training examples with hidden labels, and test examples with all labels."""

    K: np.ndarray  # kernel among the training examples
    Y: np.ndarray  # nan where hidden
    K_test: np.ndarray
    Y_test: np.ndarray

    def fold(self, number: int) -> "Split":
        """Return a split whose test examples are a third of the training examples."""
        held_out = np.arange(len(self.Y)) % N_FOLDS == number
        inside, outside = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        return Split(
            self.K[np.ix_(inside, inside)],
            self.Y[inside],
            self.K[np.ix_(outside, inside)],
            self.Y[outside],
        )


def draw_split(K: np.ndarray, Y: np.ndarray, share: float, repeat: int) -> Split:
    """Draw training and test examples, the same ones for all shares, and hide labels.

    Every value of every label stays observed for one example, because neither method
    can learn a label without any observation.
    """
    rng = np.random.default_rng(repeat)
    rows = rng.permutation(len(Y))
    n_train = min(len(Y) * 2 // 3, MOST_TRAINED)
    train, test = rows[:n_train], rows[len(Y) * 2 // 3 :]
    hidden = rng.random((n_train, Y.shape[1])) < share
    for j in range(Y.shape[1]):
        _, first = np.unique(Y[train, j], return_index=True)
        hidden[first, j] = False
    known = np.where(hidden, np.nan, Y[train])
    return Split(K[np.ix_(train, train)], known, K[np.ix_(test, train)], Y[test])


def kernel(data: Any) -> np.ndarray:
    """Return the Gaussian kernel of numbers, or the linear one of words."""
    if not data.is_text:
        return common.gaussian_kernel(data)
    X = common.unit_rows(data)
    return (X @ X.T).toarray()


# --- methods -----------------------------------------------------------------------


def ensemble(split: Split, C: float, n_trees: int = N_TREES) -> np.ndarray:
    """Predict by MAM on random trees."""
    seen = ~np.isnan(split.Y).all(axis=0)  # a small fold may hide all of a label
    model = RandomGraphEnsembleClassifier(
        n_trees, kernel="precomputed", C=C, tol=0.05, random_state=0
    )
    predicted = np.zeros(split.Y_test.shape)
    predicted[:, seen] = model.fit(split.K, split.Y[:, seen]).predict(split.K_test)
    return predicted


def svms(split: Split, C: float) -> np.ndarray:
    """Predict each label by an SVM trained on the examples that observe it."""
    predicted = np.zeros(split.Y_test.shape)
    for j, y in enumerate(split.Y.T):
        rows = np.flatnonzero(~np.isnan(y))
        values = np.unique(y[rows])
        if len(values) < 2:
            predicted[:, j] = values[0] if len(values) else 0.0
            continue
        model = SVC(kernel="precomputed", C=C)
        model.fit(split.K[np.ix_(rows, rows)], y[rows])
        predicted[:, j] = model.predict(split.K_test[:, rows])
    return predicted


def quality(Y: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean of the three measures over the observed labels."""
    known = ~np.isnan(Y)
    filled = np.where(known, Y, predicted)  # labels that are missing count as right
    positives = np.where(known, predicted, 0.0), np.where(known, Y, 0.0)
    return float(
        np.mean(
            [
                (predicted == Y)[known].mean(),
                multilabel_accuracy(filled, predicted),
                microlabel_f1(*positives),
            ]
        )
    )


Method = Callable[[Split, float], np.ndarray]
METHODS: dict[str, tuple[Method, Method]] = {  # one to choose C, one to predict
    "SVMs": (svms, svms),
    "MAM": (lambda split, C: ensemble(split, C, N_TREES_TO_CHOOSE), ensemble),
}


def choose_slack_weight(predict: Method, split: Split) -> float:
    """Return the C of highest quality on held-out folds."""
    folds = [split.fold(number) for number in range(N_FOLDS)]
    return max(
        CS,
        key=lambda C: np.mean(
            [quality(fold.Y_test, predict(fold, C)) for fold in folds]
        ),
    )


# --- runs --------------------------------------------------------------------------


def measure(name: str, split: Split, **which: Any) -> list[dict[str, Any]]:
    """Return a row of results per method, which includes the fields `which`."""
    rows = []
    for method, (quick, predict) in METHODS.items():
        start = time.process_time()
        C = choose_slack_weight(quick, split)
        predicted = predict(split, C)
        scores = {
            key: function(split.Y_test, predicted)
            for key, (_, function) in MEASURES.items()
        }
        rows.append(
            {
                "dataset": name,
                **which,
                "method": method,
                "C": C,
                "scores": scores,
                "seconds": time.process_time() - start,
            }
        )
    return rows


def all_rows(path: Path | None) -> list[dict[str, Any]]:
    """Compute the rows that the file lacks, append them, and return all rows."""
    rows = []
    if path is not None and path.is_file():
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    done = {(row["dataset"], row["share"], row["repeat"]) for row in rows}
    for name in NAMES:
        data = common.load(name)
        K = kernel(data)
        for share, repeat in product(SHARES, range(N_REPEATS)):
            if (name, share, repeat) in done:
                continue
            split = draw_split(K, data.Y, share, repeat)
            new = measure(name, split, share=share, repeat=repeat)
            rows += new
            if path is not None:
                with path.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in new)
    return rows


# --- tables ------------------------------------------------------------------------


def mean_score(rows: list[dict[str, Any]], measure_name: str, **which: Any) -> float:
    """Return the mean of a measure in percent, over the rows with these values."""
    scores = [
        100 * row["scores"][measure_name]
        for row in rows
        if all(row[key] == value for key, value in which.items())
    ]
    return float(np.mean(scores))


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print a table per measure: a row per data set and method, a column per share."""
    for measure_name, (title, _) in MEASURES.items():
        print(f"\n{title}, %\n")
        lines = []
        for name in NAMES:
            for method in METHODS:
                scores = [
                    mean_score(
                        rows, measure_name, dataset=name, share=share, method=method
                    )
                    for share in SHARES
                ]
                lost = scores[0] - scores[-1]
                cells = [f"{score:.1f}" for score in (*scores, lost)]
                lines.append([name, method, *cells])
        header = [f"{100 * share:.0f} % hidden" for share in SHARES]
        common.print_table(["data", "method", *header, "lost at the end"], lines)
    print_differences(rows)
    spent = {m: sum(r["seconds"] for r in rows if r["method"] == m) for m in METHODS}
    print("\nProcessor seconds in all:", {m: round(s) for m, s in spent.items()})
    chosen = {m: [r["C"] for r in rows if r["method"] == m] for m in METHODS}
    counts = {m: {C: Cs.count(C) for C in CS} for m, Cs in chosen.items()}
    print("How often each C was chosen:", counts)


def print_differences(rows: list[dict[str, Any]]) -> None:
    """Print in how many runs MAM was ahead of the SVMs, and by how much on average."""
    print("\nMAM minus SVMs, on the same examples\n")
    scores = {
        (r["dataset"], r["share"], r["repeat"], r["method"]): r["scores"] for r in rows
    }
    lines = []
    for measure_name, (title, _) in MEASURES.items():
        cells = []
        for share in SHARES:
            runs = list(product(NAMES, [share], range(N_REPEATS)))
            ahead = [
                scores[*run, "MAM"][measure_name] - scores[*run, "SVMs"][measure_name]
                for run in runs
            ]
            n_ahead = sum(difference > 0 for difference in ahead)
            cells.append(f"{100 * np.mean(ahead):+.1f} ({n_ahead} of {len(runs)})")
        lines.append([title, *cells])
    header = [f"{100 * share:.0f} % hidden" for share in SHARES]
    common.print_table(["measure", *header], lines)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    print_rows(all_rows(Path(sys.argv[1]) if len(sys.argv) > 1 else None))


if __name__ == "__main__":
    main()
