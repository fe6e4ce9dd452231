"""Probabilities of labels, against one SVM per label with Platt's sigmoid."""

import argparse
import warnings
from typing import NamedTuple

import common
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.svm import SVC

from spanforest import RandomGraphEnsembleClassifier
from spanforest.metrics import microlabel_accuracy, multilabel_accuracy

DATASETS = (
    "emotions",
    "yeast",
    "scene",
    "enron",
    "cal500",
    "medical",
    "genbase",
    "circle10",
    "circle50",
)
CS = (0.1, 0.3, 1.0, 3.0, 10.0)
N_TREES = 30
N_TRAIN = 600  # largest number of training examples; the others are test examples
N_MICROLABELS = 10_000  # smallest number of predictions over all random splits
N_SEEN = 10  # labels are scored if they are on and off at least so often
N_BINS = 15


class Split(NamedTuple):
    """A kernel matrix, labels, and the rows to learn from and to predict."""

    K: np.ndarray
    Y: np.ndarray
    train: np.ndarray
    test: np.ndarray

    def choosing(self):
        """Return a split of the training rows, for the choice of C."""
        n = len(self.train) // 3
        return self._replace(train=self.train[n:], test=self.train[:n])

    @property
    def blocks(self):
        """Kernel values of training and of test rows, each with the training rows."""
        return (
            self.K[np.ix_(self.train, self.train)],
            self.K[np.ix_(self.test, self.train)],
        )


class Outcome(NamedTuple):
    """Probabilities and true values of the labels that are scored."""

    P: np.ndarray
    Y: np.ndarray

    @property
    def log_loss(self):
        right = np.where(self.Y, self.P, 1 - self.P)
        return -np.log(np.maximum(right, 1e-12)).mean()

    @property
    def calibration_error(self):
        """Mean difference of probability and frequency, over bins of equal width."""
        place = np.minimum((self.P * N_BINS).astype(int), N_BINS - 1)
        return np.abs(np.bincount(place, self.P - self.Y)).sum() / len(self.P)


def forest(C, split, n_trees=N_TREES):
    K, K_new = split.blocks
    clf = RandomGraphEnsembleClassifier(
        n_trees, kernel="precomputed", C=C, tol=0.01, random_state=0, probability=True
    )
    return clf.fit(K, split.Y[split.train]), K_new


def forest_probabilities(C, split, n_trees=10):
    clf, K_new = forest(C, split, n_trees)
    return clf.predict_proba(K_new)


def svm_probabilities(C, split):
    """Return Platt's probabilities, or the frequency of a label that is too rare."""
    K, K_new = split.blocks
    columns = []
    for y in split.Y[split.train].T:
        rarer = min(y.sum(), len(y) - y.sum())
        if rarer < 2:
            columns.append(np.full(len(K_new), (y.sum() + 1) / (len(y) + 2)))
            continue
        machine = CalibratedClassifierCV(
            SVC(kernel="precomputed", C=C), cv=int(min(5, rarer)), ensemble=False
        )
        columns.append(machine.fit(K, y).predict_proba(K_new)[:, 1])
    return np.column_stack(columns)


def choose(probabilities, split, Cs):
    """Return the C of lowest log-loss on a third of the training rows."""
    if len(Cs) == 1:
        return Cs[0]
    inner = split.choosing()
    losses = [scored(inner, probabilities(C, inner)).log_loss for C in Cs]
    return Cs[int(np.argmin(losses))]


def scored(split, P):
    n_on = split.Y[split.train].sum(axis=0)
    often = (n_on >= N_SEEN) & (n_on <= len(split.train) - N_SEEN)
    return Outcome(P[:, often].ravel(), split.Y[split.test][:, often].ravel())


def splits(name):
    """Yield random splits."""
    data = common.load(name)
    if data.is_text:
        X = common.unit_rows(data)
        K = (X @ X.T).toarray()
    else:
        K = common.gaussian_kernel(data)
    Y = np.asarray(data.Y, dtype=int)
    n = data.n_samples
    n_train = min(N_TRAIN, 2 * n // 3)
    for seed in range(-(-N_MICROLABELS // ((n - n_train) * Y.shape[1]))):
        rows = np.random.default_rng(seed).permutation(n)
        yield Split(K, Y, rows[:n_train], rows[n_train:])


def compare(name, Cs):
    """Return both outcomes of a data set, and measures of the predicted label sets."""
    outcomes, decisions = {"ours": [], "svm": []}, []
    for split in splits(name):
        clf, K_new = forest(choose(forest_probabilities, split, Cs), split)
        outcomes["ours"].append(scored(split, clf.predict_proba(K_new)))
        C = choose(svm_probabilities, split, Cs)
        outcomes["svm"].append(scored(split, svm_probabilities(C, split)))
        truth = split.Y[split.test]
        decisions.append(
            [
                measures(truth, clf.predict(K_new)),
                measures(truth, clf.predict_for(K_new, "hamming")),
                measures(truth, clf.predict_for(K_new, "f1")),
            ]
        )
    pooled = {
        method: Outcome(*map(np.concatenate, zip(*splits_of, strict=True)))
        for method, splits_of in outcomes.items()
    }
    return pooled, 100 * np.mean(decisions, axis=0), len(decisions)


def measures(truth, predicted):
    return (
        microlabel_accuracy(truth, predicted),
        multilabel_accuracy(truth, predicted),
        f1_score(truth, predicted, average="samples", zero_division=1.0),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument(
        "--C", type=float, nargs="+", default=CS, help="values to choose from"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows, decided = [], []
    for name in args.datasets:
        outcomes, decisions, n_splits = compare(name, args.C)
        ours, svm = outcomes["ours"], outcomes["svm"]
        rows.append(
            [
                name,
                n_splits,
                f"{ours.log_loss:.4f}",
                f"{svm.log_loss:.4f}",
                f"{ours.calibration_error:.4f}",
                f"{svm.calibration_error:.4f}",
            ]
        )
        decided.append([name, *(f"{value:.1f}" for value in decisions.T.ravel())])
    errors = ["log-loss, ours", "SVM", "calibration error, ours", "SVM"]
    common.print_table(["data set", "splits", *errors], rows)
    print(
        f"\nUp to {N_TRAIN} training rows, {N_TREES} trees. Both methods choose C from "
        f"{tuple(args.C)} by log-loss on a third of the training rows. Only labels "
        f"count that are on and off at least {N_SEEN} times in the training rows.\n"
    )
    ways = ["`predict`", "Hamming", "F1"]
    header = [f"{m}, {way}" for m in ("labels", "label sets", "F1") for way in ways]
    common.print_table(["data set", *header], decided)
    print("\nRight labels, right label sets, mean F1 of an example; all in per cent.")


if __name__ == "__main__":
    main()
