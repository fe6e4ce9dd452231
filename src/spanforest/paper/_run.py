"""Running an experiment: which pieces of work there are, and doing what is not done."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from spanforest._blas import single_blas_thread
from spanforest._progress import track
from spanforest.datasets import PAPER_DATASETS, Dataset, drop_degenerate, load_dataset
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.paper._circumstances import circumstances
from spanforest.paper._inputs import Fold
from spanforest.paper._methods import (
    Effort,
    Result,
    fit_and_score,
    has_trees,
    methods_of,
    run_learner,
)
from spanforest.paper._protocols import (
    CHOICE_EFFORT,
    CHOICE_FOLDS,
    FEWEST_IN_SAMPLE,
    PROTOCOLS,
    QUICK_EFFORT,
    QUICK_FOLDS,
    SAMPLE_SHARE,
    Family,
    Protocol,
    available_learners,
)
from spanforest.paper._rows import Row, RowFile, identity
from spanforest.paper._standing import (
    ById,
    choice_label,
    standing_choices,
    standing_results,
)


@dataclass(frozen=True)
class Experiment:
    """What to run.

    Parameters
    ----------
    datasets : sequence of str
        Names that `spanforest.datasets.load_dataset` knows, in lower case.
    methods : sequence of str, optional
        All methods of the protocol that are installed if None.
    protocol : {"paper", "tuned"}
        Parameters from a tenth of the data, or from the training part of each fold.
    n_trees, n_folds : int, optional
        Size of the ensembles (60) and number of folds (5).
    seed : int
        Of folds, graphs and samples; at least 0 and less than 2**32.
    quick : bool
        Small ensembles and two folds, to see whether everything works. `n_trees` and
        `n_folds` still count if they are given.
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
                f"{self.protocol!r}."
            )
        for what in ("datasets", "methods"):
            names = getattr(self, what)
            if names is None:
                continue
            if isinstance(names, str) or not names or len(set(names)) < len(names):
                raise ValueError(
                    f"{what} must be a sequence of different names; got {names!r}."
                )
        known = self._known_methods()
        unknown = [name for name in self.chosen_methods if name not in known]
        if unknown:
            raise ValueError(
                f"methods of the protocol {self.protocol!r} are {', '.join(known)}; "
                f"got {', '.join(map(repr, unknown))}.{self._advice(unknown)}"
            )
        for name, least in (("n_trees", 1), ("n_folds", 2), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}; got {value}.")
        if self.seed >= 2**32:
            raise ValueError(f"seed must be less than 2**32; got {self.seed}.")

    def _known_methods(self) -> tuple[str, ...]:
        learners = available_learners(PROTOCOLS[self.protocol])
        return tuple(method for name in learners for method in methods_of(name))

    def _advice(self, unknown: Sequence[str]) -> str:
        """Say what to install, where that would help."""
        if not set(unknown) & set(PROTOCOLS[self.protocol].learners):
            return ""
        return ' BOOMER and MLkNN need an extra: pip install "spanforest[peers]".'

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
        """Number of results when all is done."""
        return len(self.datasets) * len(self.chosen_methods) * self.folds

    def select(self, rows: Sequence[Row]) -> list[Row]:
        """Give the results that belong to this experiment, of all that there are.

        Their order does not depend on which was finished first. A result whose
        parameters were chosen among other candidates than the protocol has today does
        not belong to it; the rows must have the choices too.
        """
        found = standing_results(rows, standing_choices(rows))
        wanted = (
            identity(self._label(task, method))
            for task in self._fold_tasks()
            for method in task.methods
        )
        return [found[key] for key in wanted if key in found]

    def select_comparable(self, rows: Sequence[Row]) -> list[Row]:
        """Give the results that share a table with those of this experiment.

        They may have other data sets and methods, but have the same protocol, seed,
        number of folds and trees, and are quick if these are.
        """
        n_trees = self.effort.n_trees
        return [
            row
            for row in self._of_its_kind(rows)
            if (row["n_folds"], row["seed"]) == (self.folds, self.seed)
            and row["n_trees"] in (None, n_trees)
        ]

    def file_suffix(self, rows: Sequence[Row]) -> str:
        """Give the end of the names that tables and figures have among these rows.

        It tells the protocol, but for the paper's, and a quick run. Trees, folds and
        seed are told where they are not those of the first results: so a run with
        others writes over nothing, in a folder with results or without.

        Examples
        --------
        >>> from spanforest.paper import Experiment
        >>> Experiment(protocol="tuned", n_folds=3, quick=True).file_suffix([])
        '-tuned-quick'
        """
        parts = [self.protocol] if self.protocol != "paper" else []
        parts += ["quick"] if self.quick else []
        n_trees = self.effort.n_trees
        sizes = {"{}-trees": n_trees, "{}-folds": self.folds, "seed-{}": self.seed}
        first = dict(zip(sizes, self._first_settings(rows), strict=True))
        parts += [
            text.format(value)
            for text, value in sizes.items()
            if first[text] not in (None, value)
        ]
        return "".join(f"-{part}" for part in parts)

    def _first_settings(self, rows: Sequence[Row]) -> tuple[int | None, ...]:
        """Give trees, folds and seed of the first results, as far as there are any."""
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
        """Give the results that stand, of the same protocol, and quick if these are."""
        return [
            row
            for row in standing_results(rows, standing_choices(rows)).values()
            if (row["protocol"], row["quick"]) == (self.protocol, self.quick)
        ]

    def _fold_tasks(self) -> Iterator[FoldTask]:
        """Yield what is to be fitted, all data sets and methods of a fold first.

        So a part of the run is a part of every table, and time runs evenly.
        """
        chosen = self.chosen_methods
        methods = {
            learner: tuple(name for name in methods_of(learner) if name in chosen)
            for learner in PROTOCOLS[self.protocol].learners
        }
        for fold in range(self.folds):
            for dataset in self.datasets:
                for learner, of_learner in methods.items():
                    if of_learner:
                        yield FoldTask(dataset, learner, fold, of_learner)

    def _choice_tasks(self) -> list[ChoiceTask]:
        """Give the choices that the results need, each once."""
        protocol = PROTOCOLS[self.protocol]
        tasks = (_choice_of(protocol, task) for task in self._fold_tasks())
        return [
            task
            for task in dict.fromkeys(tasks)
            if not protocol.families[task.family].tunes_itself
        ]

    def _label(self, task: FoldTask | ChoiceTask, method: str | None = None) -> Row:
        """Give the identity of a row."""
        row: Row = {
            "kind": "fold",
            "protocol": self.protocol,
            "quick": self.quick,
            "dataset": task.dataset,
            "fold": task.fold,
            "n_folds": self.folds,
            "seed": self.seed,
        }
        if isinstance(task, ChoiceTask):
            return choice_label(row, task.family)
        # other methods do not depend on the number of trees
        n_trees = self.effort.n_trees if has_trees(task.learner) else None
        return {**row, "method": method, "n_trees": n_trees}


class FoldTask(NamedTuple):
    """One fit."""

    dataset: str
    learner: str
    fold: int
    methods: tuple[str, ...]


class ChoiceTask(NamedTuple):
    """One choice of parameters."""

    dataset: str
    family: str
    fold: int | None  # None: once for the data set


def run(
    experiment: Experiment,
    rows: RowFile,
    *,
    n_jobs: int = 1,
    retry: bool = False,
    verbose: bool = False,
) -> list[Row]:
    """Do what is not done yet, appending each result as it is finished.

    Parameters
    ----------
    experiment : Experiment
        What to run. All its data sets must be to be had.
    rows : RowFile
        Results so far; what is done is not done again, unless the protocol has got
        other candidates for its parameters since. The file is locked meanwhile.
    n_jobs : int, default=1
        Processes; results do not depend on it.
    retry : bool, default=False
        Whether to try failures again.
    verbose : bool, default=False
        Show progress on a terminal.

    Returns
    -------
    list of dict
        All results of the experiment.

    Raises
    ------
    BlockingIOError
        If another run is writing to the same file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spanforest.paper import Experiment, RowFile, run
    >>> experiment = Experiment(("circle10",), ("mtl",), quick=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(experiment, RowFile(Path(folder, "rows.jsonl")))
    >>> [row["method"] for row in results]
    ['mtl', 'mtl']
    """
    with rows.locked():
        found = [row for row in rows if not (retry and row.get("error"))]
        choices = standing_choices(found)
        open_choices = [
            task
            for task in experiment._choice_tasks()
            if identity(experiment._label(task)) not in choices
        ]
        calls = [delayed(_choose)(experiment, task) for task in open_choices]
        with _working(calls, "choosing parameters", n_jobs, verbose) as outcomes:
            for chosen in outcomes:
                rows.append(chosen)
                choices.update((identity(row), row) for row in chosen)

        results = standing_results(found, choices)
        open_tasks = [
            task
            for task in experiment._fold_tasks()
            if any(
                identity(experiment._label(task, method)) not in results
                for method in task.methods
            )
        ]
        calls = [
            delayed(_evaluate)(experiment, task, _parameters(experiment, task, choices))
            for task in open_tasks
        ]
        with _working(calls, "training and testing", n_jobs, verbose) as outcomes:
            for finished in outcomes:
                new = [row for row in finished if identity(row) not in results]
                rows.append(new)
                results.update((identity(row), row) for row in new)
    return experiment.select([*choices.values(), *results.values()])


@contextmanager
def _working(
    calls: Sequence[Any], title: str, n_jobs: int, verbose: bool
) -> Iterator[Iterator[list[Row]]]:
    """Start the calls and give what comes of them as it comes.

    What still runs when we are stopped is ended, without joblib's advice about it.
    """
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    with _interrupts_ignored():
        started = parallel(calls)  # processes start here, not at the first outcome
    outcomes: Any = track(started, len(calls), title, verbose=verbose)
    try:
        yield outcomes
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes that are started here ignore Ctrl-C.

    It reaches them as it reaches us, and they would print a traceback. We end them.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield  # signals are not ours to set
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _choice_of(protocol: Protocol, task: FoldTask) -> ChoiceTask:
    fold = task.fold if protocol.chooses_per_fold else None
    return ChoiceTask(task.dataset, protocol.learners[task.learner], fold)


class _Parameters(NamedTuple):
    """What to fit with, and what a row says of it."""

    params: Any
    facts: Row
    error: str | None


def _parameters(experiment: Experiment, task: FoldTask, choices: ById) -> _Parameters:
    """Give what was chosen for a fit, or all it may choose from if it tunes itself."""
    protocol = PROTOCOLS[experiment.protocol]
    choice = _choice_of(protocol, task)
    family = protocol.families[choice.family]
    if family.tunes_itself:
        facts = {"params": None, "candidates": _not_scored(family)}
        return _Parameters(family.grid, facts, None)
    row = choices[identity(experiment._label(choice))]
    error = row["error"] and f"parameter choice failed: {row['error']}"
    return _Parameters(row["params"], {"params": row["params"]}, error)


def _not_scored(family: Family) -> list[dict[str, Any]]:
    return [{"params": each, "score": None} for each in family.candidates]


def _choose(experiment: Experiment, task: ChoiceTask) -> list[Row]:
    """Choose the parameters of a family; a failure is a result too."""
    _load(task.dataset, experiment.data_home)  # if it cannot be had, all stops
    _warm_up()
    family = PROTOCOLS[experiment.protocol].families[task.family]
    start = time.perf_counter()
    outcome: Row = {
        "params": None,
        "candidates": _not_scored(family),
        "error": None,
    }
    try:
        with single_blas_thread():
            scored = _score_candidates(experiment, task, family)
    except Exception as failure:
        outcome["error"] = f"{type(failure).__name__}: {failure}"
    else:
        # a tie goes to the first
        best = max(scored, key=lambda candidate: candidate["score"])
        outcome.update(params=best["params"], candidates=scored)
    outcome["seconds"] = {"choose": time.perf_counter() - start}
    return [{**experiment._label(task), **outcome, **circumstances()}]


def _score_candidates(
    experiment: Experiment, task: ChoiceTask, family: Family
) -> list[dict[str, Any]]:
    """Give every candidate its mean score over the inner folds."""
    if len(family.candidates) == 1:
        return _not_scored(family)
    dataset = _load(task.dataset, experiment.data_home).data
    scaling = PROTOCOLS[experiment.protocol].scaling
    if task.fold is None:
        rows = _sample(dataset, experiment.seed)
    else:
        rows = _split(dataset, experiment)[task.fold][0]
    outer = Fold(dataset, rows, rows[:0], scaling)
    splitter = LabelCardinalityKFold(CHOICE_FOLDS, random_state=experiment.seed)
    splits = splitter.split(outer.Y.train, outer.Y.train)
    inner = [outer.part(*split) for split in splits]
    seed = _seed(experiment, task)

    def mean_score(params: dict[str, Any]) -> float:
        scores = [
            fit_and_score(family.learner, fold, params, CHOICE_EFFORT, seed)
            for fold in inner
        ]
        return float(np.mean(scores))

    return [
        {"params": params, "score": mean_score(params)} for params in family.candidates
    ]


def _evaluate(
    experiment: Experiment, task: FoldTask, parameters: _Parameters
) -> list[Row]:
    """Fit and test a learner on one fold; a failure is a result too."""
    dataset, data_facts = _load(task.dataset, experiment.data_home)
    results: dict[str, Result] = {}
    error = parameters.error
    if error is None:
        _warm_up()
        try:
            with single_blas_thread():
                split = _split(dataset, experiment)[task.fold]
                fold = Fold(dataset, *split, PROTOCOLS[experiment.protocol].scaling)
                results = run_learner(
                    task.learner,
                    fold,
                    parameters.params,
                    experiment.effort,
                    _seed(experiment, task),
                )
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
    facts = {"data": data_facts, "error": error, **circumstances()}
    nothing = dict.fromkeys(Result._fields)
    rows = []
    for method in task.methods:
        found: Row = results[method]._asdict() if results else dict(nothing)
        own = found.pop("choice")
        chosen = parameters.facts if own is None else own._asdict()
        rows.append({**experiment._label(task, method), **found, **chosen, **facts})
    return rows


class _Loaded(NamedTuple):
    data: Dataset
    facts: dict[str, Any]


@lru_cache(maxsize=2)
def _load(name: str, data_home: str | None) -> _Loaded:
    """Read a data set and leave out what cannot be used, as the paper does."""
    whole = load_dataset(name, data_home)
    used = drop_degenerate(whole)
    return _Loaded(used, _facts(whole, used))


@lru_cache(maxsize=1)
def _warm_up() -> None:
    """Load or compile what is compiled, before any clock starts."""
    rows = np.arange(8)
    for X in (np.eye(8, 3), sparse.csr_array(np.eye(8, 3)), None):
        K = np.eye(8) if X is None else None
        toy = Dataset("toy", np.eye(8, 5, dtype=int), X=X, K=K)
        run_learner("ensemble", Fold(toy, rows, rows), {"C": 1.0}, Effort(4), 0)


def _facts(whole: Dataset, used: Dataset) -> dict[str, Any]:
    """Give the statistics of Table 1; a kernel matrix counts as features."""
    notes = [whole.note] if whole.note else []
    if used is not whole:
        n_rows = whole.n_samples - used.n_samples
        n_labels = whole.n_labels - used.n_labels
        notes.append(
            f"Left out: {n_rows} examples without features, "
            f"{n_labels} labels with one value."
        )
    return {
        "n_samples": whole.n_samples,
        "n_labels": whole.n_labels,
        "n_features": whole.n_features or whole.n_samples,
        "cardinality": whole.cardinality,
        "density": whole.density,
        "note": " ".join(notes),
    }


def _sample(dataset: Dataset, seed: int) -> np.ndarray:
    """Draw the rows that the paper's protocol chooses parameters on."""
    n_samples = dataset.n_samples
    size = min(n_samples, max(FEWEST_IN_SAMPLE, round(SAMPLE_SHARE * n_samples)))
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_samples, size, replace=False))


def _split(
    dataset: Dataset, experiment: Experiment
) -> list[tuple[np.ndarray, np.ndarray]]:
    splitter = LabelCardinalityKFold(experiment.folds, random_state=experiment.seed)
    return list(splitter.split(dataset.Y, dataset.Y))


def _seed(experiment: Experiment, task: FoldTask | ChoiceTask) -> int:
    """Give every fold graphs and samples of its own."""
    fold = -1 if task.fold is None else task.fold
    sequence = np.random.SeedSequence([experiment.seed, fold + 1])
    return int(sequence.generate_state(1)[0] % 2**31)
