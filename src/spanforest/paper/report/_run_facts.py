"""Facts about a run: failures, time, duality gaps, parameters, circumstances."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from spanforest._wording import count
from spanforest.aggregation import AGGREGATIONS
from spanforest.paper import Block, Entry, Line, Row, display_name, in_order
from spanforest.paper.report._shown_runs import Run


class Seconds(NamedTuple):
    """Measured time of a run, in seconds; the time to read data is not measured."""

    choose: float
    fit: float
    predict: float


class Failure(NamedTuple):
    """Folds that failed with the same message."""

    message: str
    method: str
    dataset: str
    folds: str


def failures(run: Run) -> tuple[Failure, ...]:
    """Return the failures of a run, grouped by message, method and data set.

    Examples
    --------
    >>> from spanforest.paper.report._shown_runs import find_runs
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "method": "mam", "n_folds": 5, "n_trees": 60, "error": "ValueError: no"}
    >>> [run] = find_runs([{**fold, "fold": 2}, {**fold, "fold": 0}])
    >>> failures(run)
    (Failure(message='ValueError: no', method='MAM', dataset='Emotions',
    folds='folds 1, 3'),)
    """
    several_seeds = len(run.settings.seeds) > 1
    places: dict[tuple[str, str, str], list[str]] = {}
    for row in run.folds:
        if row.get("error") is not None:
            method, dataset = map(display_name, (row["method"], row["dataset"]))
            key = (row["error"], method, dataset)
            seed = f" of seed {row['seed']}" if several_seeds else ""
            places.setdefault(key, []).append(f"{row['fold'] + 1}{seed}")
    n_all = run.settings.n_folds * len(run.settings.seeds)
    groups = []
    for key, folds in places.items():
        which = f"fold{'s' if len(folds) > 1 else ''} {', '.join(folds)}"
        groups.append(Failure(*key, "all folds" if len(folds) == n_all else which))
    return tuple(groups)


def measured_seconds(run: Run) -> Seconds:
    """Return the total seconds of a run; the ensembles of a fold share one fit."""
    fits = {}
    for row in run.folds:
        learner = "ensemble" if row["method"] in AGGREGATIONS else row["method"]
        place = row["dataset"], learner, row["seed"], row["fold"]
        fits[place] = _seconds(row, "fit")
    return Seconds(
        choose=sum(_seconds(row, "choose") for row in run.choices),
        fit=sum(fits.values()),
        predict=sum(_seconds(row, "predict") for row in run.folds),
    )


def _seconds(row: Row, key: str) -> float:
    return (row.get("seconds") or {}).get(key) or 0.0


def seconds_block(run: Run) -> Block | None:
    """Return the mean seconds of a fold: training, then predicting as second value.

    Return None if no row has them.

    Examples
    --------
    >>> from spanforest.paper.report._shown_runs import find_runs
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "method": "svm", "n_folds": 2, "n_trees": None}
    >>> rows = [{**fold, "fold": k, "seconds": {"fit": 2.0 + k, "predict": 0.25}}
    ...         for k in range(2)]
    >>> [run] = find_runs(rows)
    >>> [line] = seconds_block(run).lines
    >>> line.name, line.entries[0].value, line.entries[0].paper
    ('Emotions', '2.50', '0.25')
    """

    def entry(folds: list[Row]) -> Entry:
        timed = [row for row in folds if row.get("seconds")]
        if not timed:
            return Entry()
        fit, predict = (
            sum(_seconds(row, key) for row in timed) / len(timed)
            for key in ("fit", "predict")
        )
        return Entry(_short(fit), paper=_short(predict))

    if not any(row.get("seconds") for row in run.folds):
        return None
    return _block(run, {display_name(name): (name,) for name in run.methods}, entry)


def _short(seconds: float) -> str:
    digits = 2 if seconds < 9.995 else 1 if seconds < 99.95 else 0
    return f"{seconds:.{digits}f}"


def gap_block(run: Run) -> Block | None:
    """Return the largest relative duality gap of the graph methods, in per cent.

    Return None if no row has one.

    Examples
    --------
    >>> from spanforest.paper.report._shown_runs import find_runs
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "fold": 0, "method": "mam", "n_folds": 2, "n_trees": 60, "gap": 0.034}
    >>> [run] = find_runs([fold])
    >>> gap_block(run).header, gap_block(run).lines[0].entries[0].value
    (('Data set', 'MAM'), '3.4')
    """
    learners = _learners(run, lambda row: row.get("gap") is not None)

    def entry(folds: list[Row]) -> Entry:
        gaps = [row["gap"] for row in folds if row.get("gap") is not None]
        return Entry(f"{100 * max(gaps):.1f}" if gaps else "")

    return _block(run, learners, entry) if learners else None


def parameter_block(run: Run) -> Block | None:
    r"""Return the chosen parameters, with the number of folds if they differ.

    Return None if nothing was chosen.

    Examples
    --------
    >>> from spanforest.paper.report._shown_runs import find_runs
    >>> fold = {"kind": "fold", "protocol": "tuned", "dataset": "emotions", "seed": 0,
    ...         "method": "svm", "n_folds": 3, "n_trees": None}
    >>> rows = [{**fold, "fold": k, "params": {"C": C, "width": None}}
    ...         for k, C in enumerate([1.0, 10.0, 1.0])]
    >>> [run] = find_runs(rows)
    >>> parameter_block(run).lines[0].entries[0].value
    'C=1, width=none (2)\nC=10, width=none (1)'
    """

    def entry(folds: list[Row]) -> Entry:
        first = {(row["seed"], row["fold"]): row.get("params") for row in folds}
        chosen = Counter(parameter_text(params) for params in first.values() if params)
        if len(chosen) < 2:
            return Entry("".join(chosen))
        return Entry("\n".join(f"{text} ({n})" for text, n in chosen.most_common()))

    learners = _learners(run, lambda row: bool(row.get("params")))
    return _block(run, learners, entry) if learners else None


def parameter_text(params: Row) -> str:
    """Return parameters as one line of text.

    Examples
    --------
    >>> parameter_text({"width": None, "C": 10.0})
    'C=10, width=none'
    """

    def text(value: Any) -> str:
        if value is None:
            return "none"
        return f"{value:g}" if isinstance(value, int | float) else str(value)

    return ", ".join(f"{name}={text(params[name])}" for name in sorted(params))


def setup_text(n_trees: int, params: Row, examples: str, gap: float) -> str:
    """Describe how an ensemble was set up and how well it was trained.

    Examples
    --------
    >>> print(setup_text(60, {"C": 3.0, "width": 0.5}, "80 examples", 0.01))
    60 trees, C=3, Gaussian kernel (width 0.5), 80 examples; duality gap at most 1.0 %.
    >>> print(setup_text(60, {"C": 3.0, "width": None}, "80 examples", 0.01))
    60 trees, C=3, the data set's own kernel, 80 examples; duality gap at most 1.0 %.
    """
    others = dict(params)
    width = others.pop("width", None)
    kernel = "the data set's own kernel"
    if width is not None:
        kernel = f"Gaussian kernel (width {width:g})"
    return (
        f"{count(n_trees, 'tree')}, {parameter_text(others)}, {kernel}, {examples}; "
        f"duality gap at most {100 * gap:.1f} %."
    )


def _learners(run: Run, has_value: Callable[[Row], bool]) -> dict[str, tuple[str, ...]]:
    """Return the learners of a run that have a value in at least one row."""
    methods = {row["method"] for row in run.folds if has_value(row)}
    learners = run.learners.items()
    return {name: own for name, own in learners if methods.intersection(own)}


def _block(
    run: Run,
    columns: dict[str, tuple[str, ...]],
    entry: Callable[[list[Row]], Entry],
) -> Block:
    """Return a table of data sets by columns; `entry` gets the folds of each cell.

    `columns` maps the name of a column to its methods.
    """
    by_cell: dict[tuple[str, str], list[Row]] = {}
    for row in run.folds:
        by_cell.setdefault((row["dataset"], row["method"]), []).append(row)
    lines = []
    for dataset in run.datasets:
        entries = [
            entry([row for name in methods for row in by_cell.get((dataset, name), [])])
            for methods in columns.values()
        ]
        lines.append(Line(display_name(dataset), tuple(entries)))
    return Block("", ("Data set", *columns), tuple(lines))


class Fact(NamedTuple):
    """One fact about the run as a whole."""

    name: str
    text: str


def circumstance_facts(rows: Sequence[Row]) -> tuple[Fact, ...]:
    """Return when and where rows were computed; different values are listed.

    Examples
    --------
    >>> rows = [{"commit": "abc", "versions": {"numpy": version},
    ...          "machine": {"processor": "x86", "cores": 2, "system": "Linux"},
    ...          "finished": "2026-11-15T22:00:00+00:00"} for version in ("2.0", "2.1")]
    >>> for fact in circumstance_facts(rows):
    ...     print(fact.name, "|", fact.text)
    Finished | 2026-11-15 22:00 UTC
    Machine | x86, 2 cores, Linux
    Commit | abc
    Versions | numpy 2.0 and 2.1
    """
    times = sorted({row["finished"] for row in rows if row.get("finished")})
    machines = {_machine(row["machine"]) for row in rows if row.get("machine")}
    commits = {row["commit"] for row in rows if row.get("commit")}
    versions: dict[str, set[str]] = {}
    for row in rows:
        for package, version in (row.get("versions") or {}).items():
            if version is not None:
                versions.setdefault(package, set()).add(version)
    packages = in_order(versions, ("spanforest", "python"))
    texts = [f"{name} {' and '.join(sorted(versions[name]))}" for name in packages]
    facts = (
        Fact("Finished", _span(times)),
        Fact("Machine", "; ".join(sorted(machines))),
        Fact("Commit", ", ".join(sorted(commits))),
        Fact("Versions", ", ".join(texts)),
    )
    return tuple(fact for fact in facts if fact.text)


def _span(times: Sequence[str]) -> str:
    """Return the first and last of ISO times; rows have them in UTC."""
    if not times:
        return ""
    first, last = (time[:16].replace("T", " ") for time in (times[0], times[-1]))
    if first == last:
        return f"{first} UTC"
    return f"{first} to {last.removeprefix(first[:11])} UTC"


def _machine(machine: Row) -> str:
    cores = machine.get("cores")
    texts = (machine.get("processor"), cores and count(cores, "core"))
    return ", ".join(filter(None, (*texts, machine.get("system"))))


def duration(seconds: float) -> str:
    """Return seconds in units that are easy to read.

    Examples
    --------
    >>> duration(3.21), duration(150), duration(7300)
    ('3.2 s', '2 min 30 s', '2 h 2 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    if seconds < 3599.5:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, rest = divmod(round(seconds / 60), 60)
    return f"{hours} h {rest} min"
