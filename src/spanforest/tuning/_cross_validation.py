"""Scores of every candidate of one kernel on every fold.

The kernel matrix is computed once and sliced per fold. Values of C are solved in
ascending order, each from the previous solution. Offsets are added to the scores of
held-out examples, and thresholds are applied to probabilities that follow from these
scores: neither needs training.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from numbers import Integral
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from spanforest._blas import single_blas_thread
from spanforest._calibration_folds import RefittedMembers
from spanforest._compilation import clock
from spanforest._offsets import offset_cells
from spanforest._parallel import Workers
from spanforest._several_inputs import of_member
from spanforest._training import Draw, Settings, TrainingSet, scores_of, train_path
from spanforest._weights import WeightedLabels
from spanforest._wording import quoted
from spanforest.aggregation import combine, margins_for
from spanforest.factors import FactorGraph, consensus_factors
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.tuning._fold_shares import FoldShares
from spanforest.tuning._scoring import Judge
from spanforest.tuning._thresholds import (
    BY_LABEL,
    HeldOutMargins,
    label_thresholds,
    threshold_predictions,
)

N_NEAR_BEST = 3  # pairs of C and loss, per kernel, that are tried with every offset


class Grid(NamedTuple):
    """The losses, values of C, offsets and thresholds to choose from."""

    losses: list[str]
    Cs: list[float]  # ascending
    n_first: int  # so many values of C are tried with every kernel
    offsets: list[Any]  # each a number, or one per label; the first is always tried
    thresholds: list[Any]  # tried in place of offsets with the best candidate
    probabilities: Sequence[Any] = (True,)  # that each threshold is tried on

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """The parameters of an ensemble for each offset, then for each threshold."""
        offsets = [{"offset": one} for one in self.offsets]
        return offsets + [
            {"threshold": one, "probability": kind}
            for kind in self.probabilities
            for one in self.thresholds
        ]

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many values of C, losses and decisions there are."""
        return len(self.Cs), len(self.losses), len(self.decisions)


class ResultTable:
    """Results of the candidates of one kernel.

    All arrays have the shape (n_costs, n_losses, n_decisions, n_folds), with NaN for
    what was not tried. Costs are values of C.
    """

    def __init__(
        self, grid: Grid, n_folds: int, first: tuple[int, list[int]] | None = None
    ) -> None:
        """Set up the results; `first` is how many values of C, and which losses.

        These are listed even if there was no time to try them; None: all of the grid's.
        """
        shape = *grid.shape, n_folds
        n_costs, at_losses = first or (grid.n_first, range(len(grid.losses)))
        self.is_listed = np.zeros(grid.shape, dtype=bool)
        self.is_listed[:n_costs, at_losses, 0] = True
        self.scores = np.full(shape, np.nan)
        self.fit_seconds = np.full(shape, np.nan)
        self.score_seconds = np.full(shape, np.nan)
        self.near_best: list[tuple[int, int]] = []  # places of C and loss
        # what BY_LABEL stands for, by the place of the probabilities
        self.label_thresholds: dict[int, list[float]] = {}

    def means(self, n_folds: int) -> NDArray[np.float64]:
        """Return the mean scores over the first folds; -inf for untried candidates."""
        means = self.scores[..., :n_folds].mean(axis=3)
        return np.where(np.isnan(means), -np.inf, means)

    def best(self, n_folds: int) -> float:
        """Return the highest mean over the first folds."""
        return float(self.means(n_folds).max())

    def scores_of_best(self, n_folds: int) -> NDArray[np.float64]:
        """Return the scores of the candidate with the highest mean, fold by fold."""
        return self.scores[self.place_of_best(n_folds)][:n_folds]

    def place_of_best(self, n_folds: int) -> tuple[int, int, int]:
        """Return the places of C, loss and decision with the highest mean."""
        means = self.means(n_folds)
        at_c, at_loss, at_decision = np.unravel_index(means.argmax(), means.shape)
        return int(at_c), int(at_loss), int(at_decision)


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


class PathScores(NamedTuple):
    """One member's scores of the test examples of a fold, for every C."""

    factors: FactorGraph
    scores: list[NDArray[np.float64]]  # (n_test, n_cells) each
    seconds: list[float]  # of training


class HeldOut(NamedTuple):
    """Scores of the test examples of a fold, by all members trained with one loss."""

    members: list[PathScores]
    values: list[NDArray[np.integer]]  # as of the `Fold`

    @property
    def n_bytes(self) -> int:
        """The memory that the scores take."""
        return sum(own.nbytes for member in self.members for own in member.scores)

    @property
    def n_costs(self) -> int:
        """How many values of C all members have in common, the first ones."""
        return min(len(member.scores) for member in self.members)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """The time that all members took to train, for these values of C."""
        return np.sum(
            [member.seconds[: self.n_costs] for member in self.members], axis=0
        )

    def margins_of_on(
        self, how: Settings, aggregation: str, at_c: int
    ) -> NDArray[np.float64]:
        """Return how strongly each label is predicted to be on.

        `at_c` is the place of C. The unit is what training asks of a label, as in
        calibration. A label that has one value in the fold has NaN.
        """
        factors = [member.factors for member in self.members]
        members = RefittedMembers(factors, how, margins_for(aggregation))
        margins = members.margins(factors, [one.scores[at_c] for one in self.members])
        on = [
            margin[:, 1] - margin[:, 0]
            if margin.shape[1] == 2
            else np.nan * margin[:, 0]
            for margin in margins
        ]
        return np.column_stack(on) / members.margin_units

    def codes_in_all_data(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the codes that all data have for predicted codes."""
        columns = zip(self.values, codes.T, strict=True)
        return np.column_stack([values[column] for values, column in columns])


class Members(NamedTuple):
    """The members of the search that one way of training makes."""

    training: str
    draws: list[Any]  # those that are trained jointly have one draw together
    n_final: int  # how many draws the final ensemble has
    slowness: float = 1.0  # how many times as long as trees it may take, while unknown
    params: Mapping[str, Any] = MappingProxyType({})  # that tell it from other ways

    @property
    def is_joint(self) -> bool:
        """Whether there is one model for all graphs."""
        return self.training == "joint"

    @property
    def growth(self) -> float:
        """How many times as many models the final ensemble has."""
        return self.n_final / len(self.draws)


# by the number of the fold and the place of the loss in the grid
AllHeldOut = dict[tuple[int, int], HeldOut]


class Search(NamedTuple):
    """The candidates, settings and folds that all kernels share."""

    grid: Grid
    settings: Settings
    folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    judge: Judge
    aggregation: str
    workers: Workers
    n_samples: int  # that the final ensemble learns from
    calibrates: bool = False  # whether the final ensemble is calibrated anyway
    shares: FoldShares | None = None  # of a forest, for probabilities

    def train(
        self,
        data: TrainingSet,
        members: Members,
        what: str,
        places: Sequence[int],
        n_costs: int,
        at_losses: Sequence[int],
    ) -> AllHeldOut:
        """Train all members with one kernel on some folds; `what` names it to users.

        They are trained with the first `n_costs` values of C, and with some losses.

        Kernels are in single precision, which takes half the memory and time; its
        rounding is far below the tolerance of the search.
        """
        data = data._replace(basis=data.basis.in_single_precision())
        folds = {place: Fold.of(data, *self.folds[place]) for place in places}
        losses = self.grid.losses
        settings = [self.settings._replace(loss=loss) for loss in losses]
        keys = list(product(places, at_losses))
        costs = self.grid.Cs[:n_costs]
        calls = [
            (*folds[place].of_member(t), draw, settings[at_loss], costs)
            for place, at_loss in keys
            for t, draw in enumerate(members.draws)
        ]
        paths = iter(self.workers.run(scores_along_path, calls, what))
        n_members = len(members.draws)
        return {
            key: HeldOut([next(paths) for _ in range(n_members)], folds[key[0]].values)
            for key in keys
        }

    def score(self, held_out: AllHeldOut, table: ResultTable, members: Members) -> None:
        """Score all candidates of one kernel, or of several that are averaged.

        Every C and loss is tried with the first offset, the best of them with all.
        """
        n_costs = min(held.n_costs for held in held_out.values())
        for (place, at_loss), held in held_out.items():
            # of as many members as a single kernel has: averages have more
            share = len(members.draws) / len(held.members)
            seconds = held.seconds[:n_costs] * share
            table.fit_seconds[:n_costs, at_loss, :, place] = seconds[:, None]
        at_losses = sorted({at_loss for _, at_loss in held_out})
        everywhere = list(product(range(n_costs), at_losses))
        self._decode(held_out, table, everywhere, [0])
        if not table.near_best:
            table.near_best = self._near_best(table, {place for place, _ in held_out})
        others = range(1, len(self.grid.offsets))
        self._decode(held_out, table, table.near_best, others)

    def can_calibrate(self, n_folds: int) -> bool:
        """Return whether every fold leaves test examples of others to calibrate on."""
        tests = [np.unique(test) for _, test in self.folds[:n_folds]]
        n_tested = len(np.unique(np.concatenate(tests)))
        return all(len(test) < n_tested for test in tests)

    def margins_of_best(
        self, held_out: AllHeldOut, table: ResultTable, n_folds: int
    ) -> tuple[tuple[int, int], list[HeldOutMargins]]:
        """Return the best C and loss of one kernel, and the margins that they give."""
        grid, weight = self.grid, self.judge.sample_weight
        at_c, at_loss, _ = table.place_of_best(n_folds)
        settings = self.settings._replace(loss=grid.losses[at_loss])
        folds = []
        for place in range(n_folds):
            held, (_, test) = held_out[place, at_loss], self.folds[place]
            only = [-1 if len(values) > 1 else values[0] for values in held.values]
            folds.append(
                HeldOutMargins(
                    test,
                    held.margins_of_on(settings, self.aggregation, at_c),
                    np.array(only),
                    self.judge.Y[test],
                    None if weight is None else weight[test],
                )
            )
        return (at_c, at_loss), folds

    def score_thresholds(
        self,
        folds: list[HeldOutMargins],
        table: ResultTable,
        candidate: tuple[int, int],
        kind: int,
    ) -> None:
        """Score thresholds on one kind of probabilities of the grid.

        `candidate` holds the places of the C and the loss that `folds` come from.
        """
        grid, start = self.grid, clock()
        predictions = threshold_predictions(folds, grid.thresholds)
        seconds = (clock() - start) / (len(folds) * len(grid.thresholds))
        first = len(grid.offsets) + kind * len(grid.thresholds)
        for place, by_threshold in enumerate(predictions):
            _, test = self.folds[place]
            for at_decision, codes in enumerate(by_threshold, first):
                entry = *candidate, at_decision, place
                table.scores[entry] = self.judge.score(test, codes)
                table.score_seconds[entry] = seconds
        if BY_LABEL in grid.thresholds:
            table.label_thresholds[kind] = label_thresholds(folds)

    def _decode(
        self,
        held_out: AllHeldOut,
        table: ResultTable,
        candidates: list[tuple[int, int]],
        offsets: Sequence[int],
    ) -> None:
        """Predict with some values of C and losses at some offsets, and score that."""
        places = sorted({place for place, _ in held_out})
        entries = [
            (at_c, at_loss, at_offset, place)
            for place in places
            for at_c, at_loss in candidates
            for at_offset in offsets
        ]
        factors = {
            key: [member.factors for member in held.members]
            for key, held in held_out.items()
        }
        # computed once: many candidates share their members
        unions = {key: consensus_factors(members) for key, members in factors.items()}
        calls = [
            (
                self.aggregation,
                (factors[place, at_loss], unions[place, at_loss]),
                [member.scores[at_c] for member in held_out[place, at_loss].members],
                self.grid.offsets[at_offset],
            )
            for at_c, at_loss, at_offset, place in entries
        ]
        predictions = self.workers.run(predict_timed, calls, "scores", is_brief=True)
        for entry, (codes, seconds) in zip(entries, predictions, strict=True):
            _, at_loss, _, place = entry
            _, test = self.folds[place]
            codes = held_out[place, at_loss].codes_in_all_data(codes)
            table.scores[entry] = self.judge.score(test, codes)
            table.score_seconds[entry] = seconds

    def _near_best(
        self, table: ResultTable, places: Iterable[int]
    ) -> list[tuple[int, int]]:
        """Return the values of C and losses that are worth trying with all offsets."""
        means = table.scores[:, :, 0, sorted(places)].mean(axis=2)
        n_tried = np.isfinite(means).sum()
        order = np.argsort(-means, axis=None, kind="stable")  # untried ones come last
        order = order[: min(N_NEAR_BEST, n_tried)]
        n_losses = len(self.grid.losses)
        return sorted((int(at) // n_losses, int(at) % n_losses) for at in order)


def scores_along_path(
    data: TrainingSet, test_rows: Any, draw: Draw, settings: Settings, Cs: list[float]
) -> PathScores:
    """Train a member as the ensemble would, with one C after the other."""
    factors, rng = draw.make_factors(data)
    scores, seconds = [], []
    for solution in train_path(data, factors, rng, settings, Cs):
        with single_blas_thread():
            scores.append(scores_of(test_rows, solution.weights, solution.intercept))
        seconds.append(float(solution.seconds[-1]))
    return PathScores(factors, scores, seconds)


def predict_timed(
    aggregation: str,
    factors: tuple[list[FactorGraph], FactorGraph],
    scores: list[NDArray[np.float64]],
    offset: Any,
) -> tuple[NDArray[np.intp], float]:
    """Return the codes that an ensemble predicts, and the seconds it took.

    `factors` are those of the members and of their union.
    """
    start, (members, union) = clock(), factors
    if np.any(offset):
        pairs = zip(members, scores, strict=True)
        scores = [own + offset_cells(member, offset) for member, own in pairs]
    codes = combine(aggregation, members, scores, union)
    return codes, clock() - start


def cv_results(
    kernels: list[dict[str, Any]], grid: Grid, tables: list[ResultTable], n_folds: int
) -> dict[str, Any]:
    """Return a row for every candidate, in the layout of scikit-learn's searches.

    Offsets and thresholds that were not tried with some C and loss have no row, nor do
    larger values of C that were not tried. Scores of a kernel that was dropped are NaN
    on the folds that it was not tried on, and so is its mean.

    Parameters
    ----------
    kernels : list of dict
        The parameters of every kernel.
    grid : Grid
        What was tried with each.
    tables : list of ResultTable
        The results of every kernel.
    n_folds : int
        Means are over the first folds, this many.
    """
    params = [
        {**kernel, "C": C, "loss": loss, **_decision(decision, table, grid)}
        for kernel, table in zip(kernels, tables, strict=True)
        for C, loss, decision in product(grid.Cs, grid.losses, grid.decisions)
    ]
    scores, fit_seconds, score_seconds = (
        _stacked([getattr(table, name) for table in tables])
        for name in ("scores", "fit_seconds", "score_seconds")
    )
    is_kept = np.isfinite(scores).any(axis=1)
    is_kept |= np.concatenate([table.is_listed.ravel() for table in tables])
    kept = np.flatnonzero(is_kept)
    params, scores = [params[place] for place in kept], scores[kept]
    results: dict[str, Any] = {}
    for key, seconds in (("fit", fit_seconds[kept]), ("score", score_seconds[kept])):
        results[f"mean_{key}_time"] = seconds[:, :n_folds].mean(axis=1)
        results[f"std_{key}_time"] = seconds[:, :n_folds].std(axis=1)
    kinds = {"kernel": object, "gamma": float, "C": float, "loss": object}
    has_lists = any(isinstance(offset, list) for offset in grid.offsets)
    kinds["offset"] = object if has_lists else float
    if grid.thresholds:
        is_plain = all(np.isscalar(one) and one != BY_LABEL for one in grid.thresholds)
        kinds["threshold"] = float if is_plain else object
    for name in ("training", "n_estimators"):
        if any(name in one for one in kernels):
            kinds[name] = object
    if grid.thresholds and list(grid.probabilities) != [True]:
        kinds["probability"] = object
    for key, kind in kinds.items():
        column = np.ma.masked_all(len(params), dtype=kind)
        for place, candidate in enumerate(params):
            if key in candidate:
                column[place] = candidate[key]
        results[f"param_{key}"] = column
    results["params"] = params
    for number, fold_scores in enumerate(scores.T):
        results[f"split{number}_test_score"] = fold_scores.copy()
    scores = scores[:, :n_folds]
    results["mean_test_score"] = scores.mean(axis=1)
    results["std_test_score"] = scores.std(axis=1)
    ranked = np.nan_to_num(results["mean_test_score"], nan=-np.inf)
    results["rank_test_score"] = rankdata(-ranked, method="min").astype(np.int32)
    return results


def _decision(
    decision: dict[str, Any], table: ResultTable, grid: Grid
) -> dict[str, Any]:
    """Return the parameters of a decision, with the numbers of single labels."""
    if decision.get("threshold") != BY_LABEL:
        return decision
    kind = list(grid.probabilities).index(decision["probability"])
    return {**decision, "threshold": table.label_thresholds.get(kind)}


def _stacked(arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a row per candidate and a column per fold."""
    return np.concatenate([array.reshape(-1, array.shape[-1]) for array in arrays])


def draw_folds(
    cv: Any, X: Any, targets: WeightedLabels, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the training rows and the test rows of every fold.

    They are places among the examples that count. A splitter sees their labels, and
    row numbers in place of features; folds that are given as rows have the numbers of
    all examples.
    """
    Y = targets.Y
    if cv is None:
        raise ValueError("cv must be a number, a splitter or folds; got None.")
    if not isinstance(cv, Integral):
        splitter = check_cv(cv)
        n = len(Y)
        if splitter is cv:  # it never looks at X, of which some rows may not count
            place = np.arange(n)
            labels = targets.coding.to_labels(np.maximum(Y, 0))
            sides = _sides(splitter, place, labels)
        else:  # the folds themselves, as rows of the caller's X
            n_all = X.shape[0] if hasattr(X, "shape") else len(X)
            place = np.full(n_all, -1)
            place[slice(None) if targets.rows is None else targets.rows] = np.arange(n)
            sides = splitter.split()
        try:
            folds = [(place[train], place[test]) for train, test in sides]
        except IndexError as error:
            raise ValueError(
                f"the folds in cv must hold rows of X, which has {len(place)}: {error}."
            ) from error
        if not folds:
            advice = ""
            if isinstance(cv, Iterator):
                advice = (
                    " A generator or iterator can be used once: pass list(...) of a "
                    "new one."
                )
            raise ValueError(
                "cv must hold at least one fold, a pair of training rows and test "
                f"rows; got {quoted(cv)}.{advice}"
            )
        return [(train[train >= 0], test[test >= 0]) for train, test in folds]
    if not 2 <= int(cv) <= len(Y):
        counted = "" if targets.rows is None else " that have weight and a known label"
        raise ValueError(
            f"cv={cv} folds cannot be made of n_samples={len(Y)}{counted}: there must "
            "be two or more folds, with an example in each. Pass another cv, or use "
            "RandomGraphEnsembleClassifier with parameters of your choice."
        )
    return list(LabelCardinalityKFold(int(cv), random_state=seed).split(Y, Y))


def _sides(
    splitter: Any, place: NDArray[np.intp], labels: Any
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the folds of a splitter; explain why it fails without groups."""
    try:
        return list(splitter.split(place, labels))
    except (TypeError, ValueError) as error:
        if not _asks_for_groups(splitter) and "group" not in str(error):
            raise
        name = type(splitter).__name__
        raise ValueError(
            f"cv must be a splitter that needs X and y only; {name} needs groups. Pass "
            f"its folds themselves: cv=list({name}(...).split(X, y, groups))."
        ) from error


def _asks_for_groups(splitter: Any) -> bool:
    """Return whether a splitter of scikit-learn requests groups."""
    if not hasattr(splitter, "get_metadata_routing"):
        return False
    requests = splitter.get_metadata_routing().split.requests
    return bool(requests.get("groups"))
