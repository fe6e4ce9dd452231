"""All candidates with one kernel, on all folds: the kernel is cut, C a path."""

from __future__ import annotations

import time
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy.stats import rankdata

from spanforest._blas import single_blas_thread
from spanforest._labels import LabelCoding
from spanforest._parallel import Workers
from spanforest._parameters import check_number, check_option
from spanforest._training import Settings, TrainingSet, factors_for, learn_path
from spanforest.aggregation import combine
from spanforest.ensemble import Plan
from spanforest.factors import FactorGraph
from spanforest.graphs import draw_graph
from spanforest.metrics import (
    MEASURES,
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)

SCORINGS = ("mean", *MEASURES)


class Grid(NamedTuple):
    """What there is to choose from besides kernels."""

    losses: list[str]
    Cs: list[float]  # ascending


class Judge(NamedTuple):
    """What predictions are compared with, and how."""

    scoring: Any
    Y: NDArray[np.int32]  # codes of all examples, -1 where not observed
    coding: LabelCoding

    @classmethod
    def read(cls, scoring: Any, Y: NDArray[np.int32], coding: LabelCoding) -> Judge:
        """Check that the labels can be scored so."""
        if hasattr(scoring, "_score_func") or not callable(scoring):
            # a scorer takes an estimator; only its name would tell what it measures
            check_option("scoring", scoring, SCORINGS)
        if scoring == "microlabel_f1" and coding.n_values.max() > 2:
            j = int(coding.n_values.argmax())
            raise ValueError(
                "the F1 score is defined for labels with two values; label "
                f'{j} has {coding.n_values[j]}. Pass scoring="microlabel_accuracy".'
            )
        return cls(scoring, Y, coding)

    def score(self, rows: NDArray[np.intp], predicted: NDArray[np.integer]) -> float:
        """Return how good the predicted codes of some examples are."""
        known = self.Y[rows] >= 0
        truth = np.where(known, self.Y[rows], predicted)
        if callable(self.scoring):
            labels = self.coding.decode(truth), self.coding.decode(predicted)
            score = self.scoring(*labels)
            return check_number("the result of scoring", score, minimum=-np.inf)
        some = known.any(axis=1)
        found = {
            "multilabel_accuracy": multilabel_accuracy(truth[some], predicted[some]),
            "microlabel_accuracy": microlabel_accuracy(truth[known], predicted[known]),
        }
        if self.coding.n_values.max() <= 2:
            shift = self._always_on()
            found["microlabel_f1"] = microlabel_f1(
                (truth + shift)[known], (predicted + shift)[known]
            )
        if self.scoring == "mean":
            return float(np.mean(list(found.values())))
        return found[self.scoring]

    def _always_on(self) -> NDArray[np.int_]:
        """Return 1 for labels that are on in all examples, whose only code is 0."""
        return np.array(
            [len(is_on) == 1 and is_on[0] for is_on in self.coding.is_on], dtype=int
        )


class Table(NamedTuple):
    """What the search found with one kernel; arrays (n_Cs, n_losses, n_folds)."""

    scores: NDArray[np.float64]
    fit_seconds: NDArray[np.float64]
    score_seconds: NDArray[np.float64]

    @property
    def best(self) -> float:
        """The highest mean over the folds."""
        return float(_stacked([self.scores]).mean(axis=1).max())


class Fold(NamedTuple):
    """A fold with one kernel: codes are numbered anew by what its training part has."""

    data: TrainingSet
    basis: Any  # of the test part
    values: list[NDArray[np.integer]]  # per label: the code in all data of each code

    @property
    def arrays(self) -> tuple[Any, NDArray[np.int32], Any]:
        """The basis and the codes of the training part, the basis of the test part."""
        return self.data.basis, self.data.Y, self.basis

    def decode(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the codes that all data have for predicted codes."""
        columns = zip(self.values, codes.T, strict=True)
        return np.column_stack([values[column] for values, column in columns])


class Search(NamedTuple):
    """The same for every kernel: candidates, members, folds, and what is best."""

    grid: Grid
    plan: Plan
    folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    judge: Judge
    aggregation: str
    workers: Workers

    def run(self, data: TrainingSet, what: str) -> Table:
        """Try all losses and values of C with one kernel; `what` names it to users."""
        folds = [cut(data, *rows) for rows in self.folds]
        settings = [self.plan.settings._replace(loss=loss) for loss in self.grid.losses]
        specs, seeds = self.plan.specs, self.plan.seeds
        names = self.judge.coding.names
        tasks = [
            delayed(scores_along_path)(
                *fold.arrays,
                Path(data.is_kernel, spec, seed, names, setting, self.grid.Cs),
            )
            for fold, setting in product(folds, settings)
            for spec, seed in zip(specs, seeds, strict=True)
        ]
        shared = [array for fold in folds for array in fold.arrays]
        paths = self.workers.run(tasks, what, shared)
        n = len(specs)
        ensembles = [paths[i : i + n] for i in range(0, len(paths), n)]
        return self._score(folds, ensembles)

    def _score(self, folds: list[Fold], ensembles: list[list[PathScores]]) -> Table:
        """Score every ensemble at every C; they come by fold, then by loss."""
        n_Cs, n_losses = len(self.grid.Cs), len(self.grid.losses)
        tasks = [
            delayed(predict_timed)(
                self.aggregation,
                [member.factors for member in members],
                [member.scores[c] for member in members],
            )
            for members in ensembles
            for c in range(n_Cs)
        ]
        predictions = self.workers.run(tasks, "scores", ())
        scores = []
        for i, (codes, _) in enumerate(predictions):
            f = i // (n_losses * n_Cs)
            _, test = self.folds[f]
            scores.append(self.judge.score(test, folds[f].decode(codes)))
        fit_seconds = [
            np.sum([member.seconds for member in members], axis=0)
            for members in ensembles
        ]
        score_seconds = [seconds for _, seconds in predictions]
        columns = (
            np.reshape(values, (len(folds), n_losses, n_Cs)).T
            for values in (scores, fit_seconds, score_seconds)
        )
        return Table(*columns)


def cut(data: TrainingSet, train: NDArray[np.intp], test: NDArray[np.intp]) -> Fold:
    """Cut a fold out of the data; a kernel is not computed again."""
    if data.is_kernel:
        # single precision: half the memory and time, and far more exact than the gap
        known, new = (
            data.basis[np.ix_(rows, train)].astype(np.float32, copy=False)
            for rows in (train, test)
        )
    else:
        known, new = data.basis[train], data.basis[test]
    Y, values = data.Y[train], []
    for column in Y.T:
        seen = column >= 0
        if not seen.any():  # nothing to learn: as if it were the first value always
            column[:], seen[:] = 0, True
        found, column[seen] = np.unique(column[seen], return_inverse=True)
        values.append(found)
    return Fold(TrainingSet(known, Y, data.is_kernel), new, values)


class Path(NamedTuple):
    """What one member does: learn with every C, from small to large."""

    is_kernel: bool  # what the bases are
    spec: Any  # what it draws its graph from
    seed: np.random.SeedSequence
    label_names: Any
    settings: Settings
    Cs: list[float]


class PathScores(NamedTuple):
    """What one member says of the test part of a fold, for every C."""

    factors: FactorGraph
    scores: list[NDArray[np.float64]]  # (n_test, n_cells) each
    seconds: list[float]  # of training


def scores_along_path(
    basis: Any, Y: NDArray[np.int32], new: Any, path: Path
) -> PathScores:
    """Train a member as the ensemble would, but with one C after the other.

    The arrays are arguments of their own, so that a cluster is sent them once.
    """
    data = TrainingSet(basis, Y, path.is_kernel)
    rng = np.random.default_rng(path.seed)
    graph = draw_graph(path.spec, data.Y, rng, path.label_names)
    factors = factors_for(data, graph)
    scores, seconds = [], []
    for found in learn_path(data, factors, rng, path.settings, path.Cs):
        with single_blas_thread():
            scores.append(np.asarray(new @ found.weights) + found.intercept)
        seconds.append(float(found.seconds[-1]))
    return PathScores(factors, scores, seconds)


def predict_timed(
    aggregation: str, parts: list[FactorGraph], scores: list[NDArray[np.float64]]
) -> tuple[NDArray[np.intp], float]:
    """Return the codes that an ensemble predicts, and the seconds it took."""
    start = time.perf_counter()
    codes = combine(aggregation, parts, scores)
    return codes, time.perf_counter() - start


def cv_results(
    kernels: list[dict[str, Any]], grid: Grid, tables: list[Table]
) -> dict[str, Any]:
    """Return a row for every candidate, in the form of scikit-learn's searches."""
    params = [
        {**kernel, "C": C, "loss": loss}
        for kernel, C, loss in product(kernels, grid.Cs, grid.losses)
    ]
    results: dict[str, Any] = {}
    for key in ("fit", "score"):
        seconds = _stacked([getattr(table, f"{key}_seconds") for table in tables])
        results[f"mean_{key}_time"] = seconds.mean(axis=1)
        results[f"std_{key}_time"] = seconds.std(axis=1)
    for key, kind in (
        ("kernel", object),
        ("gamma", float),
        ("C", float),
        ("loss", object),
    ):
        column = np.ma.masked_all(len(params), dtype=kind)
        for i, point in enumerate(params):
            if key in point:
                column[i] = point[key]
        results[f"param_{key}"] = column
    results["params"] = params
    scores = _stacked([table.scores for table in tables])
    for f, of_fold in enumerate(scores.T):
        results[f"split{f}_test_score"] = of_fold.copy()
    results["mean_test_score"] = scores.mean(axis=1)
    results["std_test_score"] = scores.std(axis=1)
    ranks = rankdata(-results["mean_test_score"], method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    return results


def _stacked(arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a row per candidate and a column per fold."""
    return np.concatenate([array.reshape(-1, array.shape[2]) for array in arrays])
