"""Which rows count: for a table, and after the candidates of a protocol have changed.

A choice of parameters is *current* if it was made among the candidates that its
protocol has today. A result is current if its parameters are those of a current choice,
or if its method tunes itself among today's candidates. After a change of candidates,
a run adds rows to the file and does not use the outdated ones.
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

from spanforest._wording import count, quoted
from spanforest.paper._methods import LEARNERS, methods_of
from spanforest.paper._protocols import PROTOCOLS
from spanforest.paper._rows import Row, identity, latest

ById = dict[tuple[Any, ...], Row]

_LEARNERS = {method: learner for learner in LEARNERS for method in methods_of(learner)}


class RunSettings(NamedTuple):
    """The settings that all rows of one table share."""

    protocol: str
    n_trees: int | None
    n_folds: int
    quick: bool
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        words = [f"protocol {self.protocol}"]
        if self.n_trees is not None:
            words.append(count(self.n_trees, "tree"))
        words.append(count(self.n_folds, "fold"))
        seeds = ", ".join(map(str, self.seeds))
        words.append(f"seed{'s' if len(self.seeds) > 1 else ''} {seeds}")
        if self.quick:
            words.append("quick run, not comparable with the paper")
        return "; ".join(words)


def select_folds(rows: Iterable[Row], protocol: str) -> tuple[RunSettings, list[Row]]:
    """Return the settings that the results of a protocol share, and one row per fold.

    The rows are sorted by data set, method, seed and fold. Of several rows of one fold
    the `latest` counts. Rows that are not results are ignored.

    Raises
    ------
    ValueError
        If there are no results, or if they differ in the number of trees or folds or in
        being a quick run: their means would not be comparable.

    Examples
    --------
    >>> from spanforest.paper import select_folds
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "method": "mam", "fold": 0, "n_folds": 5, "n_trees": 60}
    >>> settings, folds = select_folds(
    ...     [{**fold, "error": "ValueError: no"}, fold], "paper"
    ... )
    >>> str(settings), len(folds), folds[0] is fold
    ('protocol paper; 60 trees; 5 folds; seed 0', 1, True)
    """
    results = [row for row in rows if row.get("kind") == "fold"]
    chosen = [row for row in results if row["protocol"] == protocol]
    if not chosen:
        others = sorted({row["protocol"] for row in results})
        raise ValueError(
            f"rows must have folds of protocol {quoted(protocol)}; found "
            f"{', '.join(map(repr, others)) or 'none of any protocol'}. Run the "
            "experiment first, or ask for another protocol."
        )
    settings = RunSettings(
        protocol,
        _common(chosen, "n_trees"),
        _common(chosen, "n_folds"),
        bool(_common(chosen, "quick")),
        tuple(sorted({row["seed"] for row in chosen})),
    )
    place = itemgetter("dataset", "method", "seed", "fold")
    return settings, sorted(latest(chosen), key=place)


def _common(rows: Iterable[Row], key: str) -> Any:
    """Return the one value of a field; rows of methods without trees have no `n_trees`.

    None if no row has a value.
    """
    values = {row[key] for row in rows if row.get(key) is not None}
    if len(values) > 1:
        raise ValueError(
            f"rows of one table must have the same {key}; found "
            f"{', '.join(map(str, sorted(values)))}. Pass the rows of one of them."
        )
    return values.pop() if values else None


def current_choices(rows: Iterable[Row]) -> ById:
    """Return the choices among today's candidates, by identity."""
    return {
        identity(row): row
        for row in rows
        if row.get("kind") == "choice" and _is_among_todays(row, row["family"])
    }


def current_results(rows: Iterable[Row], choices: ById) -> ById:
    """Return the results that go back to the current `choices`, by identity."""
    return {
        identity(row): row
        for row in rows
        if row.get("kind") == "fold" and _has_chosen_parameters(row, choices)
    }


def outdated(rows: Iterable[Row]) -> list[Row]:
    """Return the choices and results that are known not to be current.

    A choice is outdated if it was made among other candidates than its protocol has
    today. A result is outdated if it goes back to such a choice, or if its parameters
    are not those that were chosen last. Rows that leave this open are not outdated:
    choices without a list of candidates, results without a choice, and rows of an
    unknown protocol.

    Examples
    --------
    >>> from spanforest.paper import outdated
    >>> place = {"protocol": "paper", "dataset": "emotions", "seed": 0}
    >>> choice = {"kind": "choice", "family": "adaboost", "quick": False,
    ...           "params": {"n": 4}, "candidates": [{"params": {"n": 4}}], **place}
    >>> result = {"kind": "fold", "method": "adaboost", "fold": 0, "n_folds": 5,
    ...           "params": {"n": 4}, **place}
    >>> len(outdated([choice, result])), len(outdated([result]))
    (2, 0)
    """
    rows = latest(rows)
    choices = {
        identity(row): row
        for row in rows
        if row.get("kind") == "choice"
        and row.get("candidates")
        and row["protocol"] in PROTOCOLS
    }
    current = current_choices(choices.values())
    old_choices = [row for key, row in choices.items() if key not in current]
    old_results = [
        row
        for row in rows
        if row.get("kind") == "fold"
        and (_tunes_itself(row) or _choice_of(row) in choices)
        and not _has_chosen_parameters(row, current)
    ]
    return old_choices + old_results


def choice_label(row: Row, family: str) -> Row:
    """Return the fields that identify the choice behind a result of a family."""
    per_fold = PROTOCOLS[row["protocol"]].chooses_per_fold
    return {
        "kind": "choice",
        "protocol": row["protocol"],
        "quick": False,  # quick and full runs share their choices
        "dataset": row["dataset"],
        "fold": row["fold"] if per_fold else None,
        "n_folds": row["n_folds"] if per_fold else None,
        "seed": row["seed"],
        "family": family,
    }


def _is_among_todays(row: Row, family: str | None) -> bool:
    """Tell whether a row lists the candidates that a family has today."""
    protocol = PROTOCOLS.get(row["protocol"])
    if protocol is None or family is None or family not in protocol.families:
        return False
    recorded = [candidate["params"] for candidate in row.get("candidates") or ()]
    return recorded == list(protocol.families[family].candidates)


def _family_of(result: Row) -> str | None:
    """Return the family of the method, or None if its protocol does not have it."""
    protocol = PROTOCOLS.get(result["protocol"])
    return protocol and protocol.learners.get(_LEARNERS.get(result["method"], ""))


def _tunes_itself(result: Row) -> bool:
    family = _family_of(result)
    if family is None:
        return False
    return PROTOCOLS[result["protocol"]].families[family].tunes_itself


def _choice_of(result: Row) -> tuple[Any, ...] | None:
    """Return the identity of the choice behind a result, or None if it is unknown."""
    family = _family_of(result)
    return None if family is None else identity(choice_label(result, family))


def _has_chosen_parameters(result: Row, choices: ById) -> bool:
    if _tunes_itself(result):
        return _is_among_todays(result, _family_of(result))
    choice = choices.get(_choice_of(result) or ())
    return choice is not None and choice["params"] == result.get("params")
