"""Choose which results of a file of rows the page shows."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from spanforest._wording import count
from spanforest.aggregation import AGGREGATIONS
from spanforest.paper import (
    DATASETS,
    METHODS,
    PROTOCOLS,
    Row,
    RunSettings,
    display_name,
    identity,
    in_order,
    latest,
    outdated,
    select_folds,
)


class Run(NamedTuple):
    """The results of one protocol that share their settings."""

    settings: RunSettings
    folds: list[Row]  # one row per fold, method and data set
    choices: list[Row]  # one row per choice of parameters
    left_out: tuple[str, ...]  # one text per group of results that is not shown
    is_outdated: bool = False  # parameters were chosen from other candidates than today

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
        """Methods that share one fit: all ensembles share their members."""
        shared = tuple(method for method in self.methods if method in AGGREGATIONS)
        learners: dict[str, tuple[str, ...]] = {
            display_name(name): (name,) for name in self.methods if name not in shared
        }
        if shared:
            learners[", ".join(map(display_name, shared))] = shared
        return learners


def find_runs(rows: Iterable[Row]) -> tuple[Run, ...]:
    """Return the most complete run of each protocol.

    A full run goes before a quick one. Results with other settings (number of trees or
    folds, quick) are left out. `outdated` results are left out too, unless there are no
    others. `Run.left_out` describes all of them.

    Raises
    ------
    ValueError
        If there are no results.
    """
    rows = latest(rows)
    old = {identity(row) for row in outdated(rows)}
    by_protocol: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("kind") == "fold":
            by_protocol.setdefault(row["protocol"], []).append(row)
    if not by_protocol:
        raise ValueError(
            "a report needs rows with results; there are none. Run `spanforest "
            "reproduce` first."
        )
    return tuple(
        _find_run(protocol, by_protocol[protocol], rows, old)
        for protocol in in_order(by_protocol, tuple(PROTOCOLS))
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
    """Return the groups of results whose means can be compared."""
    groups: dict[tuple[bool, int], dict[int | None, list[Row]]] = {}
    for row in folds:
        group = groups.setdefault((bool(row.get("quick")), row["n_folds"]), {})
        group.setdefault(row.get("n_trees"), []).append(row)
    candidates: list[list[Row]] = []
    for group in groups.values():
        without_trees = group.get(None, [])  # they join any number of trees
        with_trees = [group[n_trees] for n_trees in group if n_trees is not None]
        candidates += [without_trees + each for each in with_trees or [[]]]
    return candidates


def _completeness(folds: Sequence[Row]) -> tuple[bool, int, int, int, int]:
    """Return a key that is largest for the group of results to show.

    A full run goes before a quick one, which only shows that everything works. Then
    more cells of the table win, then more results, then the larger experiment.
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
        settings = [count(n, "tree") for n in n_trees]
        settings += [count(n_folds, "fold"), *(["quick run"] if quick else [])]
        texts.append(f"{count(len(group), 'result')} with {', '.join(settings)}")
    return tuple(texts)
