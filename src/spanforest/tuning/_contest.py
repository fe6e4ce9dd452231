"""Which kernels are tried on which folds, and which of them are averaged.

Kernels that were named are tried on all folds. Otherwise the best kernel of each kind
goes on after the first fold, and in the end averages of the best three are tried too.
Their members have the same graphs, so averages need no training. With the best of all,
thresholds on probabilities are tried. Where members may be trained separately or
jointly, each kernel takes part in both ways, or the best kernel is trained jointly in
the end.

A kernel that goes on after the first round, and is best with the largest C then, is
tried with larger values.

Nothing here depends on time unless there is a time limit, nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from spanforest._compilation import clock
from spanforest._input_kinds import is_linear
from spanforest._training import TrainingSet
from spanforest._wording import count
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel
from spanforest.tuning._candidate_names import (
    decision_in_words,
    entrant_name,
    kernel_name,
    score_name,
)
from spanforest.tuning._cross_validation import Members, ResultTable, Search
from spanforest.tuning._entrants import (
    Entrant,
    average_of,
    best_first,
    kinds_in_turn,
    survivors,
)
from spanforest.tuning._fold_shares import FoldShares

UNKNOWN = 1.5  # a kernel may take this many times as long as those before it
MOST_AVERAGED = 3  # kernels, the best ones
OVERRUN = 1.25  # times the limit: a little late is better than a far worse kernel
CALIBRATED = 4.0  # calibrated, an ensemble takes this many times as long
MOST_HELD = 2**30  # bytes of held-out scores, kept for averages and thresholds
Reader = Callable[[dict[str, Any]], tuple[RandomGraphEnsembleClassifier, TrainingSet]]


class Deadline(NamedTuple):
    """When `fit` began, and how long it should take."""

    start: float  # by a clock that stops while routines are compiled
    limit: float | None = None  # seconds

    def allows(self, seconds: float, overrun: float = 1.0) -> bool:
        """Return whether work of this length ends within so many times the limit."""
        if self.limit is None:
            return True
        return clock() - self.start + seconds <= overrun * self.limit


class Rules(NamedTuple):
    """How many folds a round has, who goes on, and whether kernels are averaged."""

    rounds: list[list[int]]  # numbers of folds
    averages: bool = False

    @classmethod
    def of(cls, n_folds: int, *, is_open: bool, averages: bool) -> Rules:
        """Return the rules; if the choice is open, kernels leave after each fold.

        Examples
        --------
        >>> Rules.of(3, is_open=True, averages=True).rounds
        [[0], [1], [2]]
        >>> Rules.of(3, is_open=False, averages=True)
        Rules(rounds=[[0, 1, 2]], averages=False)
        """
        folds = list(range(n_folds))
        if is_open:
            return cls([[fold] for fold in folds], averages)
        return cls([folds])


class Outcome(NamedTuple):
    """The winner, on how many folds, and what was not tried."""

    leader: Entrant
    n_folds: int
    untried: list[str]  # for lack of time: names of kernels, and what else is missing
    averages: list[Entrant]
    jointly: list[Entrant]  # what was also trained jointly, after all others
    notes: list[str]  # what was not tried for other reasons


def compete(
    search: Search,
    entrants: list[Entrant],
    rules: Rules,
    reader: Reader,
    deadline: Deadline,
    joint: Members | None = None,
) -> Outcome:
    """Score kernels in rounds of some folds each; after each the best go on.

    In the end the best kernel is tried with the members `joint`, if there are any.

    With a deadline, a kernel is tried, and another round is held, if that and the
    training of the final ensemble are expected to end in time. The first kernel is
    always tried, and kernels of other kinds come before more of one kind.
    """
    contest = Contest(search, reader, deadline, rules.averages)
    going, n_folds, untried = list(entrants), 0, []
    if deadline.limit is not None:
        going = kinds_in_turn(going)
    for number, places in enumerate(rules.rounds):
        is_last = number == len(rules.rounds) - 1
        if number and not contest.has_time_for_round(going, n_folds):
            break
        n_folds += len(places)
        scored = contest.hold_round(going, places, n_folds, is_last=is_last)
        untried += [one.name for one in going if one not in scored]
        # averages want one kernel of each kind, also after the only fold
        if not is_last or (number == 0 and rules.averages):
            going = survivors(scored, n_folds)
        else:
            going = scored
        for one in scored:
            if one not in going:
                one.forget()
        if number == 0:
            in_time = contest.try_larger_costs(going, n_folds, is_last=is_last)
            untried += [] if in_time else ["larger values of C"]
    averages, are_all = contest.average(going, n_folds)
    if not are_all:
        untried.append("some averages" if averages else "averages of kernels")
    leader, slower = contest.choose([*going, *averages], n_folds)
    jointly, in_time = contest.try_jointly(joint, going, n_folds)
    untried += [] if in_time else ["joint training"]
    leader = next((one for one in jointly if one.is_ahead_of(leader, n_folds)), leader)
    notes = contest.hindrances(leader, n_folds)
    if slower:
        names = ", ".join(one.name for one in slower)
        notes.append(f"better, but too slow to train in the time limit: {names}")
    if left_out := contest.try_thresholds(leader, n_folds):
        untried.append(left_out)
    leader.held_out = {}
    for one in (*going, *averages, *jointly):
        if one is not leader:
            one.forget()
    return Outcome(leader, n_folds, untried, averages, jointly, notes)


@dataclass
class Contest:
    """How kernels are tried, and what is kept of them."""

    search: Search
    reader: Reader
    deadline: Deadline
    averages: bool  # whether kernels are averaged
    has_room: bool = True  # whether memory allows for keeping held-out scores
    last_read: Any = None  # the last kernel, and the examples as it reads them

    def has_time_for_round(self, going: list[Entrant], n_folds: int) -> bool:
        """Return whether another fold with these kernels ends in time."""
        seconds = sum(one.seconds for one in going)
        return self.deadline.allows(seconds + self._final_seconds(going, n_folds))

    def hold_round(
        self,
        going: list[Entrant],
        places: Sequence[int],
        n_folds: int,
        *,
        is_last: bool,
    ) -> list[Entrant]:
        """Score kernels on some folds, and return those that time allowed for.

        `n_folds` is the number of folds after this round.
        """
        is_first, scored = places[0] == 0, list[Entrant]()
        for entrant in going:
            slowness = entrant.members.slowness
            times = [
                one.seconds * max(1.0, slowness / one.members.slowness)
                for one in scored
            ]
            expected = max(times, default=0.0)
            expected += self._final_seconds(scored, n_folds)
            has_time = self.deadline.allows(UNKNOWN * expected)
            if is_first and scored and not has_time:
                continue
            self._score(entrant, places)
            scored.append(entrant)
            self._make_room(scored, n_folds, is_last=is_last)
        self.last_read = None
        return scored

    def try_larger_costs(
        self, entrants: list[Entrant], n_folds: int, *, is_last: bool
    ) -> bool:
        """Try larger values of C with kernels that are best with the largest so far.

        Return whether time allowed for all. These kernels are trained again with all
        values, from the smallest on, so that each value of C has the scores of a search
        that had all of them from the beginning.

        The passes of training grow with C, and the final ensemble may make more of them
        than the search.
        """
        Cs, are_all = self.search.grid.Cs, True
        n_costs = len(Cs)
        for one in entrants:
            is_at_edge = one.table.place_of_best(n_folds)[0] == one.n_costs - 1
            if one.n_costs == n_costs or not is_at_edge:
                continue
            final = self._seconds_to_train(one, n_folds) * Cs[-1] / Cs[one.n_costs - 1]
            if not self.deadline.allows(2 * one.seconds + final):
                are_all = False
                continue
            one.n_costs, one.table.near_best = n_costs, []
            self._score(one, range(n_folds))
            self._make_room(entrants, n_folds, is_last=is_last)
        return are_all

    def average(
        self, entrants: list[Entrant], n_folds: int
    ) -> tuple[list[Entrant], bool]:
        """Return the averages of two or more kernels, and whether time allowed for all.

        They are scored on all folds so far. Members that are trained jointly are one
        model, which cannot have several kernels.
        """
        search, averages = self.search, list[Entrant]()
        if not (self.averages and self.has_room):
            return averages, True
        separate = [one for one in entrants if not one.members.is_joint]
        best = best_first(separate, n_folds)[:MOST_AVERAGED]
        entrants = [one for one in separate if one in best]
        most = min((one.members.n_final for one in entrants), default=0)
        sizes = range(2, min(len(entrants), most) + 1)
        for group in chain.from_iterable(combinations(entrants, n) for n in sizes):
            start = clock()
            slowest = max(averages, key=lambda one: one.seconds, default=entrants[0])
            final = self._final_seconds(entrants, n_folds)
            if not self.deadline.allows(slowest.seconds + UNKNOWN * final):
                return averages, False
            average = average_of(group, ResultTable(search.grid, len(search.folds)))
            search.score(average.held_out, average.table, average.members)
            average.seconds = clock() - start
            averages.append(average)
        return averages, True

    def try_jointly(
        self, members: Members | None, entrants: list[Entrant], n_folds: int
    ) -> tuple[list[Entrant], bool]:
        """Train the best kernel jointly too, and say whether time allowed for it.

        It is tried with its best loss, and with values of C up to its best one. Two
        folds would not tell whether joint training is better.
        """
        alone = [one for one in entrants if len(one.kernels) == 1]
        if members is None or n_folds < 3 or not alone:
            return [], True
        best = best_first(alone, n_folds)[0]
        seconds = UNKNOWN * members.slowness * (n_folds + 1) * best.seconds
        if not self.deadline.allows(seconds):
            return [], False
        at_c, at_loss, _ = best.table.place_of_best(n_folds)
        first = at_c + 1, [at_loss]
        table = ResultTable(self.search.grid, len(self.search.folds), first)
        joint = Entrant(best.kernel_params, members, table, *first, read=best.read)
        self._score(joint, range(n_folds))
        return [joint], True

    def choose(
        self, entrants: list[Entrant], n_folds: int
    ) -> tuple[Entrant, list[Entrant]]:
        """Return the best entrant, and better ones that would take too long to train.

        If all would take too long, it is the one that takes least.
        """
        seconds = {one: self._seconds_to_train(one, n_folds) for one in entrants}
        ranked = best_first(entrants, n_folds)
        in_time = [one for one in ranked if self.deadline.allows(seconds[one], OVERRUN)]
        leader = in_time[0] if in_time else min(ranked, key=seconds.__getitem__)
        return leader, ranked[: ranked.index(leader)]

    def hindrances(self, leader: Entrant, n_folds: int) -> list[str]:
        """Return what will not be tried, and why, if it is not for lack of time."""
        thresholds = "thresholds" if self.search.grid.thresholds else ""
        if thresholds and not self.search.can_calibrate(n_folds):
            return ["no thresholds were tried: they need test examples of other folds"]
        if self.has_room:
            return []
        names = ["averages of kernels"] if self.averages else []
        names += [thresholds] if thresholds and leader.n_kept < n_folds else []
        held = f"held-out scores take more than {MOST_HELD / 2**30:g} GiB"
        return [f"no {' and '.join(names)} were tried: {held}"] if names else []

    def try_thresholds(self, leader: Entrant, n_folds: int) -> str:
        """Try thresholds with the best kernel; return what time did not allow for.

        There must be examples to calibrate on and others to measure on, and the scores
        must have been kept. A threshold makes the final ensemble calibrate its scores.
        """
        search = self.search
        if not search.grid.thresholds or leader.n_kept < n_folds:
            return ""
        if not search.can_calibrate(n_folds):
            return ""
        final = self._seconds_to_train(leader, n_folds)
        final *= 1.0 if search.calibrates else CALIBRATED
        if not self.deadline.allows(final):
            return "thresholds"
        candidate, folds = search.margins_of_best(
            leader.held_out, leader.table, n_folds
        )
        for kind, probability in enumerate(search.grid.probabilities):
            if isinstance(probability, ForestKernel) and search.shares is not None:
                shares = self._fold_shares(
                    search.shares, leader, n_folds, probability.n_estimators, final
                )
                if not shares:
                    return "thresholds with a forest"
                pairs = zip(folds, shares, strict=True)
                folds = [fold._replace(shares=own) for fold, own in pairs]
            search.score_thresholds(folds, leader.table, candidate, kind)
        return ""

    def _fold_shares(
        self,
        forest: FoldShares,
        leader: Entrant,
        n_folds: int,
        n_trees: int,
        final: float,
    ) -> list[NDArray[np.float64]]:
        """Return what a forest says in each fold; nothing if there is no time for it.

        The final ensemble has a forest of `n_trees`, and takes `final` without it.
        """
        search, start = self.search, clock()
        shares = list[NDArray[np.float64]]()
        growth = search.n_samples / len(search.folds[0][0])
        growth *= n_trees / forest.kernel.n_estimators
        for one in forest.of(leader.kernel_params, search.folds[:n_folds]):
            shares.append(one)
            per_fold = (clock() - start) / len(shares)
            n_left = n_folds - len(shares) + growth
            if not self.deadline.allows(n_left * per_fold + final):
                return []
        return shares

    def _score(self, entrant: Entrant, places: Sequence[int]) -> None:
        start = clock()
        if entrant.read is None:
            entrant.read = self._read(entrant.kernel_params)
        data, search = entrant.read[1], self.search
        what, members = entrant.name, entrant.members
        if len(places) == 1:
            what += f", fold {places[0] + 1} of {len(search.folds)}"
        held_out = search.train(
            *(data, members, what, places), entrant.n_costs, entrant.at_losses
        )
        search.score(held_out, entrant.table, members)
        entrant.held_out.update(held_out)
        entrant.seconds = clock() - start

    def _read(self, kernel_params: dict[str, Any]) -> Any:
        """Return the examples as a kernel reads them.

        Entrants of one kernel come one after the other, so that it reads once.
        """
        if self.last_read is None or self.last_read[0] is not kernel_params:
            self.last_read = None  # makes room for the next one
            self.last_read = kernel_params, self.reader(kernel_params)
        return self.last_read[1]

    def _make_room(
        self, entrants: list[Entrant], n_folds: int, *, is_last: bool
    ) -> None:
        """Forget what is not needed, and what takes too much memory."""
        for one in best_first(entrants, n_folds)[1:]:
            if is_last:  # no more is trained
                one.read = None
            if is_last and not self.averages:
                one.held_out = {}
        held = (held for one in entrants for held in one.held_out.values())
        if sum(one.n_bytes for one in held) > MOST_HELD:
            self.has_room = False
            for one in entrants:
                one.held_out = {}

    def _final_seconds(self, entrants: list[Entrant], n_folds: int) -> float:
        """Return how long the final ensemble takes that would be chosen of these.

        A better one that is too slow does not count: it must not keep others from being
        tried.
        """
        if not entrants:
            return 0.0
        return self._seconds_to_train(self.choose(entrants, n_folds)[0], n_folds)

    def _seconds_to_train(self, one: Entrant, n_folds: int) -> float:
        """Return how long the final ensemble will take to train, as far as is known.

        A member takes as long as one of the search, but for the number of examples: a
        matrix has a row and a column for each. A forest has more trees than in the
        search.
        """
        search = self.search
        at_c, at_loss, _ = one.table.place_of_best(n_folds)
        of_search = one.table.fit_seconds[at_c, at_loss, 0, 0]
        n_jobs = effective_n_jobs(search.workers.n_jobs)
        growth = search.n_samples / len(search.folds[0][0])
        seconds = of_search * one.members.growth * growth / n_jobs
        seconds *= CALIBRATED if search.calibrates else 1.0
        if all(map(is_linear, one.kernels)):
            return seconds
        has_forest = any(
            kernel == "forest" or isinstance(kernel, ForestKernel)
            for kernel in one.kernels
        )
        return (seconds + (one.seconds if has_forest else 0.0)) * growth


def choice_in_words(
    results: dict[str, Any],
    best: int,
    outcome: Outcome,
    notes: Sequence[str],
    scoring: Any = "mean",
) -> str:
    """Return one line that says what was chosen among what.

    Parameters
    ----------
    results : dict
        As `cv_results` returns them.
    best : int
        The place of the choice in them.
    outcome : Outcome
        Of the kernels.
    notes : sequence of str
        What else users should know.
    scoring : str or callable
        What candidates were compared by, as the user gave it.
    """
    params, scores = results["params"][best], results["mean_test_score"]
    tried = np.flatnonzero(np.isfinite(results["split0_test_score"]))
    names = {kernel_name(results["params"][place]) for place in tried}
    n_averages = len(outcome.averages)
    among = count(len(names) - n_averages, "kernel")
    if n_averages:
        among += f" and {count(n_averages, 'average')} of them"
    if outcome.jointly:
        among += ", the best one also trained jointly"
    elif len({one.get("training") for one in results["params"]}) > 1:
        among += ", trained separately and jointly"
    line = (
        f"{entrant_name(params)}, C {params['C']:g}, loss {params['loss']}, "
        f"{decision_in_words(params)}: {score_name(scoring)} {scores[best]:.3f} on "
        f"{count(outcome.n_folds, 'fold')}, best of {count(len(tried), 'candidate')} "
        f"with {among}"
    )
    left_out = list(outcome.untried)
    n_folds = sum(key.startswith("split") for key in results)
    if outcome.n_folds < n_folds:
        left_out.append(count(n_folds - outcome.n_folds, "fold"))
    notes = [*notes, *outcome.notes]
    if left_out:
        notes = [*notes, f"the time limit left out {' / '.join(left_out)}"]
    return "; ".join([line, *(note for note in notes if note)])
