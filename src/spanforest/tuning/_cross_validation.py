"""Scores of every candidate of one kernel on every fold.

The kernel matrix is computed once and sliced per fold. Values of C are solved in
ascending order, each from the previous solution.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from spanforest._blas import single_blas_thread
from spanforest._compilation import clock
from spanforest._parallel import Workers
from spanforest._several_inputs import of_member
from spanforest._training import Draw, Settings, TrainingSet, scores_of, train_path
from spanforest.aggregation import combine
from spanforest.ensemble import Plan
from spanforest.factors import FactorGraph
from spanforest.tuning._scoring import Judge


class Grid(NamedTuple):
    """The losses and values of C to choose from."""

    losses: list[str]
    Cs: list[float]  # ascending


class Table(NamedTuple):
    """Results of the candidates of one kernel; arrays (n_Cs, n_losses, n_folds)."""

    scores: NDArray[np.float64]
    fit_seconds: NDArray[np.float64]
    score_seconds: NDArray[np.float64]

    @property
    def best(self) -> float:
        """The highest mean over the folds."""
        return float(_stacked([self.scores]).mean(axis=1).max())


class Fold(NamedTuple):
    """One fold of the data.

    Codes are numbered anew, because a value may be absent from the fold's training set.
    A label that is never observed there counts as observed with its first value.
    """

    data: TrainingSet
    test_rows: Any  # what weights are multiplied by
    values: list[NDArray[np.integer]]  # per label and code, the code in all data

    @classmethod
    def of(
        cls, data: TrainingSet, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> Fold:
        """Return the fold with these training and test examples."""
        inside, test_rows = data.fold(train, test)
        Y, values = inside.Y, []
        for column in Y.T:  # changed in place: inside.Y is a copy of its own
            observed = column >= 0
            if not observed.any():
                column[:], observed[:] = 0, True
            known, column[observed] = np.unique(column[observed], return_inverse=True)
            values.append(known)
        return cls(inside, test_rows, values)

    def of_member(self, t: int) -> tuple[TrainingSet, Any]:
        """Return what member t learns from, and the rows that it is tested on."""
        return self.data.of_member(t), of_member(self.test_rows, t)

    def codes_in_all_data(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the codes that all data have for predicted codes."""
        columns = zip(self.values, codes.T, strict=True)
        return np.column_stack([values[column] for values, column in columns])


class Search(NamedTuple):
    """The candidates, members and folds that all kernels share."""

    grid: Grid
    plan: Plan
    folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    judge: Judge
    aggregation: str
    workers: Workers

    def run(self, data: TrainingSet, what: str) -> Table:
        """Score all losses and values of C with one kernel; `what` names it to users.

        Kernels are in single precision, which takes half the memory and time; its
        rounding is far below the tolerance of the search.
        """
        data = data._replace(basis=data.basis.in_single_precision())
        folds = [Fold.of(data, *rows) for rows in self.folds]
        settings = [self.plan.settings._replace(loss=loss) for loss in self.grid.losses]
        calls = [
            (*fold.of_member(t), draw, setting, self.grid.Cs)
            for fold, setting in product(folds, settings)
            for t, draw in enumerate(self.plan.draws)
        ]
        paths = self.workers.run(scores_along_path, calls, what)
        n = len(self.plan.draws)
        ensembles = [paths[start : start + n] for start in range(0, len(paths), n)]
        return self._table(folds, ensembles)

    def _table(self, folds: list[Fold], ensembles: list[list[PathScores]]) -> Table:
        """Score every ensemble at every C; they come by fold, then by loss."""
        n_Cs, n_losses = len(self.grid.Cs), len(self.grid.losses)
        calls = [
            (
                self.aggregation,
                [member.factors for member in members],
                [member.scores[place] for member in members],
            )
            for members in ensembles
            for place in range(n_Cs)
        ]
        predictions = self.workers.run(predict_timed, calls, "scores")
        scores = []
        for place, (codes, _) in enumerate(predictions):
            number = place // (n_losses * n_Cs)
            fold, (_, test) = folds[number], self.folds[number]
            scores.append(self.judge.score(test, fold.codes_in_all_data(codes)))
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


class PathScores(NamedTuple):
    """One member's scores of the test examples of a fold, for every C."""

    factors: FactorGraph
    scores: list[NDArray[np.float64]]  # (n_test, n_cells) each
    seconds: list[float]  # of training


def scores_along_path(
    data: TrainingSet, test_rows: Any, draw: Draw, settings: Settings, Cs: list[float]
) -> PathScores:
    """Train a member as the ensemble would, with one C after the other."""
    factors, rng = draw.start(data)
    scores, seconds = [], []
    for solution in train_path(data, factors, rng, settings, Cs):
        with single_blas_thread():
            scores.append(scores_of(test_rows, solution.weights, solution.intercept))
        seconds.append(float(solution.seconds[-1]))
    return PathScores(factors, scores, seconds)


def predict_timed(
    aggregation: str, members: list[FactorGraph], scores: list[NDArray[np.float64]]
) -> tuple[NDArray[np.intp], float]:
    """Return the codes that an ensemble predicts, and the seconds it took."""
    start = clock()
    codes = combine(aggregation, members, scores)
    return codes, clock() - start


def cv_results(
    kernels: list[dict[str, Any]], grid: Grid, tables: list[Table]
) -> dict[str, Any]:
    """Return a row for every candidate, in the layout of scikit-learn's searches."""
    params = [
        {**kernel, "C": C, "loss": loss}
        for kernel, C, loss in product(kernels, grid.Cs, grid.losses)
    ]
    results: dict[str, Any] = {}
    for key in ("fit", "score"):
        seconds = _stacked([getattr(table, f"{key}_seconds") for table in tables])
        results[f"mean_{key}_time"] = seconds.mean(axis=1)
        results[f"std_{key}_time"] = seconds.std(axis=1)
    kinds = {"kernel": object, "gamma": float, "C": float, "loss": object}
    for key, kind in kinds.items():
        column = np.ma.masked_all(len(params), dtype=kind)
        for place, candidate in enumerate(params):
            if key in candidate:
                column[place] = candidate[key]
        results[f"param_{key}"] = column
    results["params"] = params
    scores = _stacked([table.scores for table in tables])
    for number, fold_scores in enumerate(scores.T):
        results[f"split{number}_test_score"] = fold_scores.copy()
    results["mean_test_score"] = scores.mean(axis=1)
    results["std_test_score"] = scores.std(axis=1)
    ranks = rankdata(-results["mean_test_score"], method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    return results


def _stacked(arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a row per candidate and a column per fold."""
    return np.concatenate([array.reshape(-1, array.shape[2]) for array in arrays])
