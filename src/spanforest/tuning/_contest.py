"""Which kernels are tried on which folds: all on all, or the better half goes on.

Nothing here depends on time unless there is a time limit, nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from spanforest._compilation import clock
from spanforest._training import TrainingSet
from spanforest._wording import count
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel
from spanforest.tuning._cross_validation import Search, Table

UNKNOWN = 1.5  # a kernel may take this many times as long as those before it
Reader = Callable[[dict[str, Any]], tuple[RandomGraphEnsembleClassifier, TrainingSet]]


@dataclass
class Entrant:
    """A kernel of the search: its parameters, what it has read, and its results."""

    params: dict[str, Any]
    table: Table
    read: tuple[RandomGraphEnsembleClassifier, TrainingSet] | None = None
    seconds: float = 0.0  # that its last round took

    @property
    def name(self) -> str:
        """What users see."""
        return name_of(self.params)


class Deadline(NamedTuple):
    """The moment at which `fit` should be done, and what is still to come then."""

    start: float  # by a clock that stops while routines are compiled
    limit: float | None = None  # seconds

    def allows(self, seconds: float) -> bool:
        """Return whether work of this length ends in time."""
        if self.limit is None:
            return True
        return clock() - self.start + seconds <= self.limit


class Outcome(NamedTuple):
    """The kernel that won, on how many folds, and what was not tried."""

    leader: Entrant
    n_folds: int
    untried: list[str]  # names of kernels


def compete(
    search: Search,
    entrants: list[Entrant],
    rounds: Sequence[Sequence[int]],
    reader: Reader,
    deadline: Deadline,
) -> Outcome:
    """Score kernels in rounds of some folds each; after each the better half goes on.

    With a deadline, a kernel is tried, and another round is held, if that and the
    training of the final ensemble are expected to end in time. The first kernel is
    always tried.
    """
    going, n_folds, untried = list(entrants), 0, []
    for number, places in enumerate(rounds):
        is_last = number == len(rounds) - 1
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
                _keep_only(_best(scored, n_after)[:1], scored)
        n_folds = n_after
        n_kept = 1 if is_last else (len(scored) + 1) // 2
        going = _best(scored, n_folds)[: max(n_kept, 1)]
        _keep_only(going, scored)
    return Outcome(_best(going, n_folds)[0], n_folds, untried)


def _score(
    search: Search, entrant: Entrant, places: Sequence[int], reader: Reader
) -> None:
    start = clock()
    if entrant.read is None:
        entrant.read = reader(entrant.params)
    search.run(entrant.read[1], entrant.name, entrant.table, places)
    entrant.seconds = clock() - start


def _best(entrants: list[Entrant], n_folds: int) -> list[Entrant]:
    """Return kernels by their best candidate; of equal ones the first stays first."""
    return sorted(entrants, key=lambda one: -one.table.best(n_folds))


def _keep_only(kept: list[Entrant], entrants: list[Entrant]) -> None:
    """Forget the kernel matrices of all others."""
    for one in entrants:
        if not any(one is other for other in kept):
            one.read = None


def _final_seconds(search: Search, entrants: list[Entrant], n_folds: int) -> float:
    """Return how long the final ensemble will take to train, as far as is known.

    A member takes as long as one of the search, but for the number of examples: a
    matrix has a row and a column for each. A forest has more trees than in the search.
    """
    if not entrants:
        return 0.0
    one = _best(entrants, n_folds)[0]
    c, loss, _ = np.unravel_index(one.table.means(n_folds).argmax(), search.shape)
    of_search = one.table.fit_seconds[c, loss, 0, 0]
    n_jobs = effective_n_jobs(search.workers.n_jobs)
    growth = search.n_samples / len(search.folds[0][0])
    members = search.n_estimators / len(search.plan.draws)
    seconds = of_search * members * growth / n_jobs
    if one.params["kernel"] == "linear":
        return seconds
    grown = one.seconds if isinstance(one.params["kernel"], ForestKernel) else 0.0
    return seconds * growth + grown * growth


def rounds_of(n_folds: int, *, halve: bool) -> list[list[int]]:
    """Return the folds of every round: one after the other, or all at once.

    Examples
    --------
    >>> rounds_of(3, halve=True), rounds_of(3, halve=False)
    ([[0], [1], [2]], [[0, 1, 2]])
    """
    folds = list(range(n_folds))
    return [[fold] for fold in folds] if halve else [folds]


def name_of(params: dict[str, Any]) -> str:
    """Return the name of a kernel and its scale.

    Examples
    --------
    >>> name_of({"kernel": "rbf", "gamma": 0.5})
    'rbf, gamma 0.5'
    >>> name_of({"kernel": ForestKernel(min_samples_leaf=5)})
    'ForestKernel(min_samples_leaf=5)'
    """
    kernel = params["kernel"]
    name = getattr(kernel, "__name__", None) or " ".join(str(kernel).split())
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
    kernels = {name_of(results["params"][place]) for place in tried}
    line = (
        f"{name_of(params)}, C {params['C']:g}, loss {params['loss']}, offset "
        f"{params['offset']:g}: score {scores[best]:.3f} on "
        f"{count(outcome.n_folds, 'fold')}, best of {count(len(tried), 'candidate')} "
        f"with {count(len(kernels), 'kernel')}"
    )
    if outcome.untried:
        notes = [*notes, f"the time limit left out {', '.join(outcome.untried)}"]
    return "; ".join([line, *(note for note in notes if note)])
