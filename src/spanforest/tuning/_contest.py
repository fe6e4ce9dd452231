"""Which kernels are tried on which folds, and which of them are averaged.

Kernels that were named are tried on all folds. Otherwise the best kernel of each kind
goes on after the first fold, and in the end averages of these kernels are tried too.
Their members have the same graphs, so averages need no training.

Nothing here depends on time unless there is a time limit, nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from spanforest._compilation import clock
from spanforest._training import TrainingSet
from spanforest._wording import count, kernel_in_words
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel
from spanforest.kernels._sum import is_kernel_list
from spanforest.tuning._cross_validation import AllHeldOut, HeldOut, ResultTable, Search

UNKNOWN = 1.5  # a kernel may take this many times as long as those before it
MOST_HELD = 2**30  # bytes of held-out scores that are kept for averages
Reader = Callable[[dict[str, Any]], tuple[RandomGraphEnsembleClassifier, TrainingSet]]


@dataclass
class Entrant:
    """A kernel of the search, or several that are averaged, with all results."""

    params: dict[str, Any]
    table: ResultTable
    read: tuple[RandomGraphEnsembleClassifier, TrainingSet] | None = None
    seconds: float = 0.0  # that its last round took
    held_out: AllHeldOut = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What users see."""
        return entrant_name(self.params)

    @property
    def kernels(self) -> list[Any]:
        """The kernels that members take in turn; mostly one."""
        kernel = self.params["kernel"]
        return list(kernel) if is_kernel_list(kernel) else [kernel]

    @property
    def kind(self) -> Any:
        """What kernels of different scales or leaves have in common."""
        kernel = self.params["kernel"]
        return ForestKernel if isinstance(kernel, ForestKernel) else kernel

    def forget(self) -> None:
        """Make room: it takes no part any more."""
        self.read, self.held_out = None, {}


class Deadline(NamedTuple):
    """When `fit` began, and how long it should take."""

    start: float  # by a clock that stops while routines are compiled
    limit: float | None = None  # seconds

    def allows(self, seconds: float) -> bool:
        """Return whether work of this length ends in time."""
        if self.limit is None:
            return True
        return clock() - self.start + seconds <= self.limit


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
    untried: list[str]  # names of kernels, and whether averages are among it
    averages: list[Entrant]


def compete(
    search: Search,
    entrants: list[Entrant],
    rules: Rules,
    reader: Reader,
    deadline: Deadline,
) -> Outcome:
    """Score kernels in rounds of some folds each; after each the best go on.

    With a deadline, a kernel is tried, and another round is held, if that and the
    training of the final ensemble are expected to end in time. The first kernel is
    always tried.
    """
    going, n_folds, untried = list(entrants), 0, []
    for number, places in enumerate(rules.rounds):
        is_last = number == len(rules.rounds) - 1
        if number and not deadline.allows(
            sum(one.seconds for one in going) + _final_seconds(search, going, n_folds)
        ):
            break
        n_after = n_folds + len(places)
        scored: list[Entrant] = []
        for entrant in going:
            expected = max((one.seconds for one in scored), default=0.0)
            expected += _final_seconds(search, scored, n_after)
            if not number and scored and not deadline.allows(UNKNOWN * expected):
                untried.append(entrant.name)
                continue
            _score(search, entrant, places, reader)
            scored.append(entrant)
            if is_last:
                _forget_matrices(scored, n_after)
            if not rules.averages or _held_bytes(entrants) > MOST_HELD:
                rules = rules._replace(averages=False)
                for one in entrants:
                    one.held_out = {}
        n_folds = n_after
        if not is_last:
            going = _survivors(scored, n_folds)
            for one in scored:
                if not any(one is other for other in going):
                    one.forget()
        else:
            going = scored
    averages, are_all = _averages(search, going, n_folds, deadline)
    if not are_all:
        untried.append("some averages" if averages else "averages of kernels")
    leader = _best([*going, *averages], n_folds)[0]
    return Outcome(leader, n_folds, untried, averages)


def _score(
    search: Search, entrant: Entrant, places: Sequence[int], reader: Reader
) -> None:
    start = clock()
    if entrant.read is None:
        entrant.read = reader(entrant.params)
    held_out = search.train(entrant.read[1], entrant.name, places)
    search.score(held_out, entrant.table)
    entrant.held_out.update(held_out)
    entrant.seconds = clock() - start


def _best(entrants: list[Entrant], n_folds: int) -> list[Entrant]:
    """Return entrants by their best candidate; of equal ones the first stays first."""
    return sorted(entrants, key=lambda one: -one.table.best(n_folds))


def _survivors(entrants: list[Entrant], n_folds: int) -> list[Entrant]:
    """Return the best of each kind, in the old order; of a single kind the best half.

    Averages gain from kernels that differ, even if one of them is worse alone.
    """
    ranked = _best(entrants, n_folds)
    best_of_kind = {one.kind: one for one in reversed(ranked)}
    if len(best_of_kind) == 1:
        return ranked[: (len(ranked) + 1) // 2]
    return [one for one in entrants if best_of_kind[one.kind] is one]


def _forget_matrices(entrants: list[Entrant], n_folds: int) -> None:
    """Keep only what the leader has read: no more is trained."""
    for one in _best(entrants, n_folds)[1:]:
        one.read = None


def _averages(
    search: Search, entrants: list[Entrant], n_folds: int, deadline: Deadline
) -> tuple[list[Entrant], bool]:
    """Return the averages of two or more kernels, and whether time allowed for all.

    They are scored on all folds so far. There are none if held-out scores were not
    kept.
    """
    sizes = range(2, min(len(entrants), search.n_estimators) + 1)
    groups = chain.from_iterable(combinations(entrants, size) for size in sizes)
    averages: list[Entrant] = []
    if not _held_bytes(entrants):
        return averages, True
    are_all = True
    for group in groups:
        start = clock()
        slowest = max(averages, key=lambda one: one.seconds, default=entrants[0])
        final = _final_seconds(search, entrants, n_folds)
        if not deadline.allows(slowest.seconds + UNKNOWN * final):
            are_all = False
            break
        average = _average_of(group, ResultTable(search.grid, len(search.folds)))
        search.score(average.held_out, average.table)
        average.forget()
        average.seconds = clock() - start
        averages.append(average)
    for one in entrants:
        one.held_out = {}
    return averages, are_all


def _held_bytes(entrants: list[Entrant]) -> int:
    """Return the memory that all held-out scores take."""
    return sum(held.n_bytes for one in entrants for held in one.held_out.values())


def _average_of(group: Sequence[Entrant], table: ResultTable) -> Entrant:
    """Return an entrant with the members of all kernels in the group."""
    params = {key: value for one in group for key, value in one.params.items()}
    params["kernel"] = [one.params["kernel"] for one in group]
    held_out = {
        key: HeldOut(
            [member for one in group for member in one.held_out[key].members], values
        )
        for key, (_, values) in group[0].held_out.items()
    }
    return Entrant(params, table, held_out=held_out)


def _final_seconds(search: Search, entrants: list[Entrant], n_folds: int) -> float:
    """Return how long the final ensemble will take to train, as far as is known.

    A member takes as long as one of the search, but for the number of examples: a
    matrix has a row and a column for each. A forest has more trees than in the search.
    """
    if not entrants:
        return 0.0
    one = _best(entrants, n_folds)[0]
    at_c, at_loss, _ = np.unravel_index(one.table.means(n_folds).argmax(), search.shape)
    of_search = one.table.fit_seconds[at_c, at_loss, 0, 0]
    n_jobs = effective_n_jobs(search.workers.n_jobs)
    growth = search.n_samples / len(search.folds[0][0])
    members = search.n_estimators / len(search.plan.draws)
    seconds = of_search * members * growth / n_jobs
    if one.kernels == ["linear"]:
        return seconds
    has_forest = any(
        kernel == "forest" or isinstance(kernel, ForestKernel) for kernel in one.kernels
    )
    return (seconds + (one.seconds if has_forest else 0.0)) * growth


def entrant_name(params: dict[str, Any]) -> str:
    """Return what users see of an entrant: its kernel and scale.

    Examples
    --------
    >>> entrant_name({"kernel": "rbf", "gamma": 0.5})
    'rbf, gamma 0.5'
    >>> entrant_name({"kernel": ForestKernel(min_samples_leaf=5)})
    'ForestKernel(min_samples_leaf=5)'
    >>> entrant_name({"kernel": ["linear", "rbf"], "gamma": 0.5})
    'linear and rbf averaged, gamma 0.5'
    """
    kernel = params["kernel"]
    kernels = kernel if is_kernel_list(kernel) else [kernel]
    *others, last = map(kernel_in_words, kernels)
    name = f"{', '.join(others)} and {last} averaged" if others else last
    return name + (f", gamma {params['gamma']:.3g}" if params.get("gamma") else "")


def choice_in_words(
    results: dict[str, Any], best: int, outcome: Outcome, notes: Sequence[str]
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
    """
    params, scores = results["params"][best], results["mean_test_score"]
    tried = np.flatnonzero(np.isfinite(results["split0_test_score"]))
    names = {entrant_name(results["params"][place]) for place in tried}
    n_averages = len(outcome.averages)
    among = count(len(names) - n_averages, "kernel")
    if n_averages:
        among += f" and {count(n_averages, 'average')} of them"
    line = (
        f"{entrant_name(params)}, C {params['C']:g}, loss {params['loss']}, offset "
        f"{params['offset']:g}: score {scores[best]:.3f} on "
        f"{count(outcome.n_folds, 'fold')}, best of {count(len(tried), 'candidate')} "
        f"with {among}"
    )
    left_out = list(outcome.untried)
    n_folds = sum(key.startswith("split") for key in results)
    if outcome.n_folds < n_folds:
        left_out.append(count(n_folds - outcome.n_folds, "fold"))
    if left_out:
        notes = [*notes, f"the time limit left out {', '.join(left_out)}"]
    return "; ".join([line, *(note for note in notes if note)])
