"""Which rows of a file still stand, now that a protocol may have other candidates.

A choice of parameters stands if it was made among the candidates that its protocol has
today. A result stands if it was made with the parameters of a choice that stands, or if
its method made such a choice itself. So a file from before a change of the grids is
added to, and nothing old is taken for new.
"""

from collections.abc import Iterable
from typing import Any

from spanforest.paper._methods import LEARNERS, methods_of
from spanforest.paper._protocols import PROTOCOLS
from spanforest.paper._rows import Row, identity, latest

ById = dict[tuple[Any, ...], Row]

_LEARNERS = {method: learner for learner in LEARNERS for method in methods_of(learner)}


def standing_choices(rows: Iterable[Row]) -> ById:
    """Give the choices that stand, by identity.

    Examples
    --------
    >>> from spanforest.paper._standing import standing_choices
    >>> row = {"kind": "choice", "protocol": "paper", "family": "adaboost",
    ...        "candidates": [{"params": {}, "score": None}]}
    >>> other = {**row, "candidates": [{"params": {"max_leaf_nodes": 4}, "score": 0.5}]}
    >>> len(standing_choices([row])), len(standing_choices([other]))
    (1, 0)
    """
    return {
        identity(row): row
        for row in rows
        if row.get("kind") == "choice" and _among_todays_candidates(row)
    }


def standing_results(rows: Iterable[Row], choices: ById) -> ById:
    """Give the results that stand, by identity.

    Parameters
    ----------
    rows : iterable of dict
        Rows of any kind.
    choices : dict
        The choices that stand.
    """
    return {
        identity(row): row
        for row in rows
        if row.get("kind") == "fold" and _has_chosen_parameters(row, choices)
    }


def outdated(rows: Iterable[Row]) -> list[Row]:
    """Give the choices and results of which the rows themselves say so.

    A choice among other candidates than its protocol has today; a result that goes
    back to such a choice, or to one that was made anew and came to other parameters.
    What does not tell is not outdated: a result without its choice, a protocol that is
    not known.

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
        if row.get("kind") == "choice" and row.get("candidates")
    }
    standing = standing_choices(choices.values())
    known = [row for row in choices.values() if row["protocol"] in PROTOCOLS]
    old = [row for row in known if identity(row) not in standing]
    for row in rows:
        if row.get("kind") != "fold" or _has_chosen_parameters(row, standing):
            continue
        if _tunes_itself(row) or _choice_of(row) in choices:
            old.append(row)
    return old


def choice_label(row: Row, family: str) -> Row:
    """Give what identifies the choice that a result, or its label, goes back to."""
    per_fold = PROTOCOLS[row["protocol"]].chooses_per_fold
    return {
        "kind": "choice",
        "protocol": row["protocol"],
        "quick": False,  # quick runs choose as others do
        "dataset": row["dataset"],
        "fold": row["fold"] if per_fold else None,
        "n_folds": row["n_folds"] if per_fold else None,
        "seed": row["seed"],
        "family": family,
    }


def _among_todays_candidates(choice: Row) -> bool:
    protocol = PROTOCOLS.get(choice["protocol"])
    if protocol is None or choice["family"] not in protocol.families:
        return False
    recorded = [candidate["params"] for candidate in choice.get("candidates") or ()]
    return recorded == list(protocol.families[choice["family"]].candidates)


def _family_of(result: Row) -> str | None:
    """Give the family whose candidates a result was chosen from, if it is known."""
    protocol = PROTOCOLS.get(result["protocol"])
    return protocol and protocol.learners.get(_LEARNERS.get(result["method"], ""))


def _tunes_itself(result: Row) -> bool:
    family = _family_of(result)
    if family is None:
        return False
    return PROTOCOLS[result["protocol"]].families[family].tunes_itself


def _choice_of(result: Row) -> tuple[Any, ...] | None:
    """Give the identity of the choice that a result goes back to, if it is known."""
    family = _family_of(result)
    return None if family is None else identity(choice_label(result, family))


def _has_chosen_parameters(result: Row, choices: ById) -> bool:
    if _tunes_itself(result):
        return _among_todays_candidates({**result, "family": _family_of(result)})
    choice = choices.get(_choice_of(result) or ())
    return choice is not None and choice["params"] == result.get("params")
