"""What an experiment consists of: its fits, its choices of parameters, its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanforest._wording import quoted
from spanforest.datasets import PAPER_DATASETS
from spanforest.paper._methods import Effort, has_trees, methods_of
from spanforest.paper._protocols import (
    PROTOCOLS,
    QUICK_EFFORT,
    QUICK_FOLDS,
    Protocol,
    available_learners,
)
from spanforest.paper._row_selection import (
    choice_label,
    current_choices,
    current_results,
)
from spanforest.paper._rows import Row, identity


class FoldTask(NamedTuple):
    """One fit, whose results go to one row per method."""

    dataset: str
    learner: str
    fold: int
    methods: tuple[str, ...]


class ChoiceTask(NamedTuple):
    """One choice of parameters."""

    dataset: str
    family: str
    fold: int | None  # None: one choice for all folds of the data set


@dataclass(frozen=True)
class Experiment:
    """What to run.

    Parameters
    ----------
    datasets : sequence of str
        Names that `spanforest.datasets.load_dataset` knows, in lower case.
    methods : sequence of str, optional
        Names of methods. None stands for all methods of the protocol that are
        installed.
    protocol : {"paper", "tuned", "study"}
        Choose parameters on a tenth of the data, or on the training set of each fold;
        or compare with a published study.
    n_trees, n_folds : int, optional
        Size of the ensembles (60) and number of folds (5).
    seed : int
        Seed of folds, graphs and samples; at least 0 and less than 2**32.
    quick : bool
        Whether to use small ensembles and two folds, as a test that everything works.
        `n_trees` and `n_folds` still count if they are given.
    data_home : str, optional
        Folder of the data sets, see `load_dataset`.

    Examples
    --------
    >>> from spanforest.paper import Experiment
    >>> Experiment(datasets=("circle10",), methods=("svm", "mam"), quick=True).n_rows
    4
    """

    datasets: Sequence[str] = PAPER_DATASETS
    methods: Sequence[str] | None = None
    protocol: str = "paper"
    n_trees: int | None = None
    n_folds: int | None = None
    seed: int = 0
    quick: bool = False
    data_home: str | None = None

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(
                f"protocol must be one of {', '.join(PROTOCOLS)}; got "
                f"{quoted(self.protocol)}."
            )
        for what in ("datasets", "methods"):
            names = getattr(self, what)
            if names is None:
                continue
            if isinstance(names, str) or not names or len(set(names)) < len(names):
                raise ValueError(
                    f"{what} must be a sequence of different names; got "
                    f"{quoted(names)}."
                )
        self._check_methods()
        for name, least in (("n_trees", 1), ("n_folds", 2), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}; got {value}.")
        if self.seed >= 2**32:
            raise ValueError(f"seed must be less than 2**32; got {self.seed}.")

    def _check_methods(self) -> None:
        known = self._known_methods()
        unknown = [name for name in self.chosen_methods if name not in known]
        if not unknown:
            return
        advice = ""
        if set(unknown) & set(PROTOCOLS[self.protocol].learners):
            advice = ' BOOMER and MLkNN need an extra: pip install "spanforest[peers]".'
        raise ValueError(
            f"methods of the protocol {quoted(self.protocol)} are {', '.join(known)}; "
            f"got {', '.join(map(repr, unknown))}.{advice}"
        )

    def _known_methods(self) -> tuple[str, ...]:
        learners = available_learners(PROTOCOLS[self.protocol])
        return tuple(method for name in learners for method in methods_of(name))

    @property
    def chosen_methods(self) -> tuple[str, ...]:
        """The methods that are run."""
        if self.methods is None:
            return self._known_methods()
        return tuple(self.methods)

    @property
    def effort(self) -> Effort:
        """Sizes of the ensembles."""
        effort = QUICK_EFFORT if self.quick else Effort()
        return effort if self.n_trees is None else effort._replace(n_trees=self.n_trees)

    @property
    def folds(self) -> int:
        """Number of folds."""
        return self.n_folds or (QUICK_FOLDS if self.quick else 5)

    @property
    def n_rows(self) -> int:
        """Number of results of the complete experiment."""
        return len(self.datasets) * len(self.chosen_methods) * self.folds

    def select(self, rows: Sequence[Row]) -> list[Row]:
        """Return the results that belong to this experiment.

        Their order does not depend on which was finished first. A result does not
        belong to it if its parameters were chosen among other candidates than the
        protocol has today. So the rows must include the choices.
        """
        results = current_results(rows, current_choices(rows))
        wanted = (
            identity(row_label(self, task, method))
            for task in fold_tasks(self)
            for method in task.methods
        )
        return [results[key] for key in wanted if key in results]

    def select_comparable(self, rows: Sequence[Row]) -> list[Row]:
        """Return the results that share a table with those of this experiment.

        They may be of other data sets and methods. Protocol, seed, number of folds and
        trees are the same, and they are quick if these are.
        """
        n_trees = self.effort.n_trees
        return [
            row
            for row in self._of_its_kind(rows)
            if (row["n_folds"], row["seed"]) == (self.folds, self.seed)
            and row["n_trees"] in (None, n_trees)
        ]

    def file_suffix(self, rows: Sequence[Row]) -> str:
        """Return what the names of tables and figures end with.

        The suffix names the protocol, unless it is the paper's, and a quick run. It
        names the number of trees and folds and the seed only where they differ from
        those of the first results among the rows. So a run with other settings does
        not overwrite the tables of the first.

        Examples
        --------
        >>> from spanforest.paper import Experiment
        >>> Experiment(protocol="tuned", n_folds=3, quick=True).file_suffix([])
        '-tuned-quick'
        """
        words = [self.protocol] if self.protocol != "paper" else []
        words += ["quick"] if self.quick else []
        n_trees = self.effort.n_trees
        sizes = {"{}-trees": n_trees, "{}-folds": self.folds, "seed-{}": self.seed}
        first = dict(zip(sizes, self._first_settings(rows), strict=True))
        words += [
            text.format(value)
            for text, value in sizes.items()
            if first[text] not in (None, value)
        ]
        return "".join(f"-{word}" for word in words)

    def _first_settings(self, rows: Sequence[Row]) -> tuple[int | None, ...]:
        """Return trees, folds and seed of the first results; None where unknown."""
        results = self._of_its_kind(rows)
        if not results:
            return None, None, None
        n_folds, seed = results[0]["n_folds"], results[0]["seed"]
        sizes = [
            row["n_trees"]
            for row in results
            if row["n_trees"] and (row["n_folds"], row["seed"]) == (n_folds, seed)
        ]
        return next(iter(sizes), None), n_folds, seed

    def _of_its_kind(self, rows: Sequence[Row]) -> list[Row]:
        """Return the current results of the same protocol, quick if these are."""
        return [
            row
            for row in current_results(rows, current_choices(rows)).values()
            if (row["protocol"], row["quick"]) == (self.protocol, self.quick)
        ]


def fold_tasks(experiment: Experiment) -> Iterator[FoldTask]:
    """Yield the fits, fold by fold.

    All data sets and methods of the first fold come first. So the results of a stopped
    run cover every table, and the time per result is even.
    """
    chosen = experiment.chosen_methods
    methods = {
        learner: tuple(name for name in methods_of(learner) if name in chosen)
        for learner in PROTOCOLS[experiment.protocol].learners
    }
    for fold in range(experiment.folds):
        for dataset in experiment.datasets:
            for learner, of_learner in methods.items():
                if of_learner:
                    yield FoldTask(dataset, learner, fold, of_learner)


def choice_tasks(experiment: Experiment) -> list[ChoiceTask]:
    """Return the choices that the fits need, each once."""
    protocol = PROTOCOLS[experiment.protocol]
    tasks = (choice_behind(protocol, task) for task in fold_tasks(experiment))
    return [
        task
        for task in dict.fromkeys(tasks)
        if not protocol.families[task.family].tunes_itself
    ]


def choice_behind(protocol: Protocol, task: FoldTask) -> ChoiceTask:
    """Return the choice of the parameters of a fit."""
    fold = task.fold if protocol.chooses_per_fold else None
    return ChoiceTask(task.dataset, protocol.learners[task.learner], fold)


def row_label(
    experiment: Experiment, task: FoldTask | ChoiceTask, method: str | None = None
) -> Row:
    """Return the fields that identify a row; a fit has one row per method."""
    row: Row = {
        "kind": "fold",
        "protocol": experiment.protocol,
        "quick": experiment.quick,
        "dataset": task.dataset,
        "fold": task.fold,
        "n_folds": experiment.folds,
        "seed": experiment.seed,
    }
    if isinstance(task, ChoiceTask):
        return choice_label(row, task.family)
    # results of other methods do not depend on the number of trees
    n_trees = experiment.effort.n_trees if has_trees(task.learner) else None
    return {**row, "method": method, "n_trees": n_trees}
