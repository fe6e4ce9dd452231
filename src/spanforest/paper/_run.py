"""Run an experiment: do what is not done yet and append a row for each result."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from spanforest._blas import single_blas_thread
from spanforest._compilation import clock
from spanforest._progress import track
from spanforest.datasets import Dataset, drop_degenerate, load_dataset
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.paper._experiment import (
    ChoiceTask,
    Experiment,
    FoldTask,
    choice_behind,
    choice_tasks,
    fold_tasks,
    row_label,
)
from spanforest.paper._fold_inputs import FoldInputs
from spanforest.paper._methods import Effort, Result, fit_and_score, run_learner
from spanforest.paper._protocols import (
    CHOICE_EFFORT,
    CHOICE_FOLDS,
    FEWEST_IN_SAMPLE,
    PROTOCOLS,
    SAMPLE_SHARE,
    Family,
)
from spanforest.paper._provenance import provenance
from spanforest.paper._row_selection import ById, current_choices, current_results
from spanforest.paper._rows import Row, RowFile, identity
from spanforest.paper._study import study_split


def run(
    experiment: Experiment,
    rows: RowFile,
    *,
    n_jobs: int = 1,
    retry: bool = False,
    verbose: bool = False,
) -> list[Row]:
    """Do what is not done yet, appending each result as soon as it is finished.

    Parameters
    ----------
    experiment : Experiment
        What to run. All its data sets must be available.
    rows : RowFile
        Earlier results. They are not computed again, unless the protocol has other
        candidates for their parameters by now. The file is locked during the run.
    n_jobs : int, default=1
        Number of processes. Results do not depend on it.
    retry : bool, default=False
        Whether to try failures again.
    verbose : bool, default=False
        Whether to show progress on a terminal.

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
        earlier = [row for row in rows if not (retry and row.get("error"))]
        choices = current_choices(earlier)
        calls = _choice_calls(experiment, choices)
        with _started(calls, "choosing parameters", n_jobs, verbose) as outcomes:
            _store(outcomes, rows, choices)
        results = current_results(earlier, choices)
        calls = _fold_calls(experiment, choices, results)
        with _started(calls, "training and testing", n_jobs, verbose) as outcomes:
            _store(outcomes, rows, results)
    return experiment.select([*choices.values(), *results.values()])


def _choice_calls(experiment: Experiment, choices: ById) -> list[Any]:
    """Return the calls that make the choices that are still open."""
    return [
        delayed(_choose)(experiment, task)
        for task in choice_tasks(experiment)
        if identity(row_label(experiment, task)) not in choices
    ]


def _fold_calls(experiment: Experiment, choices: ById, results: ById) -> list[Any]:
    """Return the calls that make the results that are still open."""
    return [
        delayed(_evaluate)(experiment, task, _parameters(experiment, task, choices))
        for task in fold_tasks(experiment)
        if any(
            identity(row_label(experiment, task, method)) not in results
            for method in task.methods
        )
    ]


def _store(outcomes: Iterator[list[Row]], rows: RowFile, known: ById) -> None:
    """Append each outcome to the file, and to `known`, as soon as it is finished."""
    for finished in outcomes:
        new = [row for row in finished if identity(row) not in known]
        rows.append(new)
        known.update((identity(row), row) for row in new)


@contextmanager
def _started(
    calls: Sequence[Any], title: str, n_jobs: int, verbose: bool
) -> Iterator[Iterator[list[Row]]]:
    """Start the calls and provide their outcomes in the order in which they finish.

    If the run is stopped, calls that are still running are ended. joblib's warning
    about them is suppressed.
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
    """Make processes that are started in this context ignore Ctrl-C.

    A terminal sends Ctrl-C to them too, and they would print a traceback. The main
    process ends them.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signals
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


class _Parameters(NamedTuple):
    """What to fit with, and what the row says about it."""

    params: Any
    facts: Row
    error: str | None


def _parameters(experiment: Experiment, task: FoldTask, choices: ById) -> _Parameters:
    """Return the chosen parameters, or the whole grid if the learner tunes itself."""
    protocol = PROTOCOLS[experiment.protocol]
    choice = choice_behind(protocol, task)
    family = protocol.families[choice.family]
    if family.tunes_itself:
        facts = {"params": None, "candidates": _not_scored(family)}
        return _Parameters(family.grid, facts, None)
    row = choices[identity(row_label(experiment, choice))]
    error = row["error"] and f"parameter choice failed: {row['error']}"
    return _Parameters(row["params"], {"params": row["params"]}, error)


def _not_scored(family: Family) -> list[dict[str, Any]]:
    return [{"params": each, "score": None} for each in family.candidates]


def _choose(experiment: Experiment, task: ChoiceTask) -> list[Row]:
    """Choose the parameters of a family; a failure gives a row too."""
    _load(task.dataset, experiment.data_home)  # a missing data set stops the run
    _warm_up()
    family = PROTOCOLS[experiment.protocol].families[task.family]
    start = clock()
    candidates = _not_scored(family)
    outcome: Row = {"params": None, "candidates": candidates, "error": None}
    try:
        with single_blas_thread():
            scored = _score_candidates(experiment, task, family)
    except Exception as failure:
        outcome["error"] = f"{type(failure).__name__}: {failure}"
    else:
        # a tie goes to the first
        best = max(scored, key=lambda candidate: candidate["score"])
        outcome.update(params=best["params"], candidates=scored)
    outcome["seconds"] = {"choose": clock() - start}
    return [{**row_label(experiment, task), **outcome, **provenance()}]


def _score_candidates(
    experiment: Experiment, task: ChoiceTask, family: Family
) -> list[dict[str, Any]]:
    """Return every candidate with its mean score over the inner folds."""
    if len(family.candidates) == 1:
        return _not_scored(family)
    dataset, _ = _load(task.dataset, experiment.data_home)
    scaling = PROTOCOLS[experiment.protocol].scaling
    if task.fold is None:
        rows = _sample(dataset, experiment.seed)
    else:
        rows = _split(dataset, experiment)[task.fold][0]
    outer = FoldInputs(dataset, rows, rows[:0], scaling)
    splitter = LabelCardinalityKFold(CHOICE_FOLDS, random_state=experiment.seed)
    splits = splitter.split(outer.Y.train, outer.Y.train)
    inner = [outer.inner_fold(*split) for split in splits]
    seed = _seed(experiment, task)
    scored = []
    for group in family.fits:
        scores = [
            fit_and_score(task.family, fold, group, CHOICE_EFFORT, seed)
            for fold in inner
        ]
        means = np.mean(scores, axis=0).tolist()
        scored += [
            {"params": params, "score": mean}
            for params, mean in zip(group, means, strict=True)
        ]
    return scored


def _evaluate(
    experiment: Experiment, task: FoldTask, parameters: _Parameters
) -> list[Row]:
    """Fit and test a learner on one fold; a failure gives rows too."""
    dataset, data_facts = _load(task.dataset, experiment.data_home)
    results: dict[str, Result] = {}
    error = parameters.error
    if error is None:
        _warm_up()
        try:
            with single_blas_thread():
                split = _split(dataset, experiment)[task.fold]
                fold = FoldInputs(
                    dataset, *split, PROTOCOLS[experiment.protocol].scaling
                )
                results = run_learner(
                    task.learner,
                    fold,
                    parameters.params,
                    experiment.effort,
                    _seed(experiment, task),
                )
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
    facts = {"data": data_facts, "error": error, **provenance()}
    rows = []
    for method in task.methods:
        outcome: Row = dict.fromkeys(Result._fields)
        if results:
            outcome = results[method]._asdict()
        own_choice = outcome.pop("choice")
        chosen = parameters.facts if own_choice is None else own_choice._asdict()
        label = row_label(experiment, task, method)
        rows.append({**label, **outcome, **chosen, **facts})
    return rows


@lru_cache(maxsize=2)
def _load(name: str, data_home: str | None) -> tuple[Dataset, dict[str, Any]]:
    """Read a data set without what the paper leaves out, and facts about it."""
    whole = load_dataset(name, data_home)
    used = drop_degenerate(whole)
    return used, _facts(whole, used)


@lru_cache(maxsize=1)
def _warm_up() -> None:
    """Load or compile the compiled routines before any clock starts."""
    rows = np.arange(8)
    for X in (np.eye(8, 3), sparse.csr_array(np.eye(8, 3)), None):
        K = np.eye(8) if X is None else None
        toy = Dataset("toy", np.eye(8, 5, dtype=int), X=X, K=K)
        run_learner("ensemble", FoldInputs(toy, rows, rows), {"C": 1.0}, Effort(4), 0)


def _facts(whole: Dataset, used: Dataset) -> dict[str, Any]:
    """Return the statistics of Table 1; rows of a kernel matrix count as features."""
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
    """Draw the rows on which the paper's protocol chooses parameters."""
    n_samples = dataset.n_samples
    size = min(n_samples, max(FEWEST_IN_SAMPLE, round(SAMPLE_SHARE * n_samples)))
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_samples, size, replace=False))


def _split(
    dataset: Dataset, experiment: Experiment
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of the training and test set of each fold."""
    if PROTOCOLS[experiment.protocol].is_study:
        seeds = np.random.SeedSequence(experiment.seed).generate_state(experiment.folds)
        return [study_split(dataset, int(seed)) for seed in seeds]
    splitter = LabelCardinalityKFold(experiment.folds, random_state=experiment.seed)
    return list(splitter.split(dataset.Y, dataset.Y))


def _seed(experiment: Experiment, task: FoldTask | ChoiceTask) -> int:
    """Return a seed of its own for each fold."""
    fold = -1 if task.fold is None else task.fold
    sequence = np.random.SeedSequence([experiment.seed, fold + 1])
    return int(sequence.generate_state(1)[0] % 2**31)
