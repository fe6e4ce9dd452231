"""What a report says about the run itself: which rows, how long, how well trained."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from spanforest._wording import count
from spanforest.aggregation import AGGREGATIONS as ENSEMBLES
from spanforest.paper import (
    DATASETS,
    METHODS,
    Block,
    Entry,
    Line,
    Row,
    Settings,
    display_name,
    identity,
    in_order,
    latest,
    outdated,
    select_folds,
)

_PROTOCOLS = ("paper", "tuned")


class Run(NamedTuple):
    """The folds of one protocol that have their settings in common."""

    settings: Settings
    folds: list[Row]  # one for each fold, method and data set
    choices: list[Row]  # of parameters
    left_out: tuple[str, ...]  # results that have no place here, a text for each
    is_outdated: bool = False  # chosen among other candidates than there are today

    @property
    def datasets(self) -> tuple[str, ...]:
        """Keys of the data sets, in the paper's order."""
        return in_order((row["dataset"] for row in self.folds), DATASETS)

    @property
    def methods(self) -> tuple[str, ...]:
        """Keys of the methods, in the order of the tables."""
        return in_order((row["method"] for row in self.folds), METHODS)

    @property
    def learners(self) -> dict[str, tuple[str, ...]]:
        """Methods by what is fitted for them: the ensembles share their members."""
        shared = tuple(method for method in self.methods if method in ENSEMBLES)
        learners: dict[str, tuple[str, ...]] = {
            method: (method,) for method in self.methods if method not in shared
        }
        if shared:
            learners[", ".join(map(display_name, shared))] = shared
        return learners


class Seconds(NamedTuple):
    """What was measured in a run; reading data is not."""

    choose: float
    fit: float
    predict: float

    @property
    def total(self) -> float:
        """All three."""
        return sum(self)


class Failure(NamedTuple):
    """Folds that failed in the same way."""

    message: str
    method: str
    dataset: str
    folds: str


def find_runs(rows: Iterable[Row]) -> tuple[Run, ...]:
    """Give a run for each protocol: the one with most results, if possible not quick.

    Results under other settings (number of trees or folds, quick) are left out, and so
    are `outdated` ones unless there are no others; it is said which.

    Raises
    ------
    ValueError
        If there are no results.

    Examples
    --------
    >>> from spanforest.paper.report._collect import find_runs
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "method": "mam", "fold": 0, "n_folds": 5, "n_trees": 60}
    >>> rows = [fold, {**fold, "fold": 1}, {**fold, "n_trees": 10}]
    >>> [run] = find_runs(rows)
    >>> run.settings.n_trees, len(run.folds), run.left_out
    (60, 2, ('1 result with 10 trees, 5 folds',))
    """
    rows = latest(rows)
    old = {identity(row) for row in outdated(rows)}
    by_protocol: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("kind") == "fold":
            by_protocol.setdefault(row["protocol"], []).append(row)
    if not by_protocol:
        raise ValueError(
            "a report needs rows with results; found none. Run `spanforest reproduce` "
            "first."
        )
    return tuple(
        _find_run(protocol, by_protocol[protocol], rows, old)
        for protocol in in_order(by_protocol, _PROTOCOLS)
    )


def _find_run(
    protocol: str, folds: Sequence[Row], rows: Sequence[Row], old: set[Any]
) -> Run:
    current = [row for row in folds if identity(row) not in old]
    is_outdated = not current
    if is_outdated:
        current, old = list(folds), set()
    best = max(_candidates(current), key=_completeness)
    settings, chosen = select_folds(best, protocol)
    known = {identity(row) for row in best}
    choices = [
        row
        for row in rows
        if row.get("kind") == "choice"
        and row["protocol"] == protocol
        and identity(row) not in old
        and row.get("seed") in settings.seeds
        and row.get("n_folds") in (None, settings.n_folds)
        and row.get("dataset") in {fold["dataset"] for fold in chosen}
    ]
    left_out = _describe(row for row in current if identity(row) not in known)
    if len(current) < len(folds):
        number = count(len(folds) - len(current), "result")
        left_out += (f"{number} whose parameters would be chosen otherwise today",)
    return Run(settings, list(map(dict, chosen)), choices, left_out, is_outdated)


def _candidates(folds: Iterable[Row]) -> list[list[Row]]:
    """Give the groups of folds whose means can be compared."""
    groups: dict[tuple[bool, int], dict[int | None, list[Row]]] = {}
    for row in folds:
        group = groups.setdefault((bool(row.get("quick")), row["n_folds"]), {})
        group.setdefault(row.get("n_trees"), []).append(row)
    candidates: list[list[Row]] = []
    for group in groups.values():
        without_trees = group.get(None, [])  # they go with any number of trees
        with_trees = [group[n_trees] for n_trees in group if n_trees is not None]
        candidates += [without_trees + each for each in with_trees or [[]]]
    return candidates


def _completeness(folds: Sequence[Row]) -> tuple[bool, int, int, int, int]:
    """Order groups of folds by what they tell.

    A quick run only shows that everything works: any result of a full one counts more.
    Ties go to the larger experiment.
    """
    good = [row for row in folds if row.get("error") is None]
    is_full = not all(row.get("quick") for row in good)
    cells = {(row["dataset"], row["method"]) for row in good}
    n_trees = max((row.get("n_trees") or 0 for row in folds), default=0)
    return is_full, len(cells), len(good), n_trees, folds[0]["n_folds"]


def _describe(folds: Iterable[Row]) -> tuple[str, ...]:
    groups: dict[tuple[bool, int], list[Row]] = {}
    for row in folds:
        groups.setdefault((bool(row.get("quick")), row["n_folds"]), []).append(row)
    texts = []
    for quick, n_folds in sorted(groups):
        group = groups[quick, n_folds]
        n_trees = sorted({row["n_trees"] for row in group if row.get("n_trees")})
        parts = [count(n, "tree") for n in n_trees]
        parts += [count(n_folds, "fold"), "quick run" if quick else ""]
        number = count(len(group), "result")
        texts.append(f"{number} with {', '.join(filter(None, parts))}")
    return tuple(texts)


def failures(run: Run) -> tuple[Failure, ...]:
    """Give the failures of a run, those of the same kind together.

    Examples
    --------
    >>> from spanforest.paper.report._collect import failures, find_runs
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "method": "mam", "n_folds": 5, "n_trees": 60, "error": "ValueError: no"}
    >>> [run] = find_runs([{**fold, "fold": 2}, {**fold, "fold": 0}])
    >>> failures(run)
    (Failure(message='ValueError: no', method='MAM', dataset='Emotions',
    folds='folds 1, 3'),)
    """
    several_seeds = len(run.settings.seeds) > 1
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in run.folds:
        if row.get("error") is not None:
            key = (
                row["error"],
                display_name(row["method"]),
                display_name(row["dataset"]),
            )
            seed = f" of seed {row['seed']}" if several_seeds else ""
            found.setdefault(key, []).append(f"{row['fold'] + 1}{seed}")
    n_all = run.settings.n_folds * len(run.settings.seeds)
    return tuple(
        Failure(*key, _which_folds(folds, n_all)) for key, folds in found.items()
    )


def _which_folds(folds: list[str], n_all: int) -> str:
    if len(folds) == n_all:
        return "all folds"
    return f"{'fold' if len(folds) == 1 else 'folds'} {', '.join(folds)}"


def measured_seconds(run: Run) -> Seconds:
    """Add up the seconds of a run; the ensembles of a fold share one fit.

    Examples
    --------
    >>> from spanforest.paper.report._collect import find_runs, measured_seconds
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "fold": 0, "n_folds": 2, "n_trees": 60,
    ...         "seconds": {"fit": 3.0, "predict": 0.5}}
    >>> [run] = find_runs([{**fold, "method": "mve"}, {**fold, "method": "mam"}])
    >>> measured_seconds(run)
    Seconds(choose=0, fit=3.0, predict=1.0)
    """
    fits = {}
    for row in run.folds:
        learner = "ensemble" if row["method"] in ENSEMBLES else row["method"]
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
    """Give the mean seconds of a fold: training, and predicting as second value.

    None if no row has them.

    Examples
    --------
    >>> from spanforest.paper.report._collect import find_runs, seconds_block
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
    return _block(run, {display_name(m): (m,) for m in run.methods}, entry)


def _short(seconds: float) -> str:
    digits = 2 if seconds < 9.995 else 1 if seconds < 99.95 else 0
    return f"{seconds:.{digits}f}"


def gap_block(run: Run) -> Block | None:
    """Give the largest relative duality gap of the graph methods, in per cent.

    None if no row has one.

    Examples
    --------
    >>> from spanforest.paper.report._collect import find_runs, gap_block
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "fold": 0, "method": "mam", "n_folds": 2, "n_trees": 60, "gap": 0.034}
    >>> [run] = find_runs([fold])
    >>> gap_block(run).header, gap_block(run).lines[0].entries[0].value
    (('Data set', 'MAM'), '3.4')
    """
    with_gap = {row["method"] for row in run.folds if row.get("gap") is not None}
    learners = {
        display_name(name): methods
        for name, methods in run.learners.items()
        if with_gap.intersection(methods)
    }

    def entry(folds: list[Row]) -> Entry:
        gaps = [row["gap"] for row in folds if row.get("gap") is not None]
        return Entry(f"{100 * max(gaps):.1f}" if gaps else "")

    return _block(run, learners, entry) if learners else None


def parameter_block(run: Run) -> Block | None:
    r"""Give the parameters that were chosen, and in how many folds if they differ.

    None if there was nothing to choose.

    Examples
    --------
    >>> from spanforest.paper.report._collect import find_runs, parameter_block
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
        found = Counter(parameter_text(params) for params in first.values() if params)
        if len(found) < 2:
            return Entry("".join(found))
        return Entry("\n".join(f"{text} ({n})" for text, n in found.most_common()))

    with_choice = {row["method"] for row in run.folds if row.get("params")}
    learners = {
        display_name(name): methods
        for name, methods in run.learners.items()
        if with_choice.intersection(methods)
    }
    return _block(run, learners, entry) if learners else None


def parameter_text(params: Row) -> str:
    """Give parameters in one line.

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
    """Say how an ensemble was set up, and how well it was trained.

    Examples
    --------
    >>> print(setup_text(60, {"C": 3.0, "width": 0.5}, "80 examples", 0.01))
    60 trees, C=3, Gaussian kernel (width 0.5), 80 examples; duality gap at most 1.0 %.
    >>> print(setup_text(60, {"C": 3.0, "width": None}, "80 examples", 0.01))
    60 trees, C=3, the data set's own kernel, 80 examples; duality gap at most 1.0 %.
    """
    width = params.get("width")
    kernel = "the data set's own kernel"
    if width is not None:
        kernel = f"Gaussian kernel (width {width:g})"
    others = {key: value for key, value in params.items() if key != "width"}
    return (
        f"{count(n_trees, 'tree')}, {parameter_text(others)}, {kernel}, {examples}; "
        f"duality gap at most {100 * gap:.1f} %."
    )


def _block(
    run: Run,
    columns: dict[str, tuple[str, ...]],
    entry: Callable[[list[Row]], Entry],
) -> Block:
    """Give a line per data set, its entries made of the folds of a column's methods."""
    by_cell: dict[tuple[str, str], list[Row]] = {}
    for row in run.folds:
        by_cell.setdefault((row["dataset"], row["method"]), []).append(row)
    lines = []
    for dataset in run.datasets:
        entries = [
            entry([row for m in methods for row in by_cell.get((dataset, m), [])])
            for methods in columns.values()
        ]
        lines.append(Line(display_name(dataset), tuple(entries)))
    return Block("", ("Data set", *columns), tuple(lines))


class Fact(NamedTuple):
    """Something about the run as a whole."""

    name: str
    text: str


def circumstance_facts(rows: Sequence[Row]) -> tuple[Fact, ...]:
    """Give when and where rows came about; values that differ stand side by side.

    Examples
    --------
    >>> from spanforest.paper.report._collect import circumstance_facts
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
    facts = (
        Fact("Finished", _span(times)),
        Fact("Machine", "; ".join(sorted(machines))),
        Fact("Commit", ", ".join(sorted(commits))),
        Fact(
            "Versions",
            ", ".join(f"{p} {' and '.join(sorted(versions[p]))}" for p in packages),
        ),
    )
    return tuple(fact for fact in facts if fact.text)


def _span(times: Sequence[str]) -> str:
    """Give the first and the last of ISO times, which the rows have in UTC."""
    if not times:
        return ""
    first, last = (time[:16].replace("T", " ") for time in (times[0], times[-1]))
    if first == last:
        return f"{first} UTC"
    return f"{first} to {last.removeprefix(first[:11])} UTC"


def _machine(machine: Row) -> str:
    cores = machine.get("cores")
    parts = (machine.get("processor"), cores and count(cores, "core"))
    return ", ".join(filter(None, (*parts, machine.get("system"))))


def duration(seconds: float) -> str:
    """Give seconds as a reader takes them in.

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
