"""Which rows of a file still stand, now that a protocol may have other candidates.

A choice of parameters stands if it was made among the candidates that its protocol has
today. A result stands if it was made with the parameters of a choice that stands, or if
its method made such a choice itself. So a file from before a change of the grids is
added to, and nothing old is taken for new.
"""

from collections.abc import Iterable
from typing import Any

from spanforest.experiments._methods import LEARNERS, methods_of
from spanforest.experiments._protocols import PROTOCOLS
from spanforest.experiments._rows import Row, identity

ById = dict[tuple[Any, ...], Row]

_LEARNERS = {method: learner for learner in LEARNERS for method in methods_of(learner)}


def standing_choices(rows: Iterable[Row]) -> ById:
    """Give the choices that stand, by identity.

    Examples
    --------
    >>> from spanforest.experiments._standing import standing_choices
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


def _has_chosen_parameters(result: Row, choices: ById) -> bool:
    protocol = PROTOCOLS.get(result["protocol"])
    if protocol is None:
        return False
    family = protocol.learners.get(_LEARNERS.get(result["method"], ""))
    if family is None:
        return False
    if protocol.families[family].tunes_itself:
        return _among_todays_candidates({**result, "family": family})
    choice = choices.get(identity(choice_label(result, family)))
    return choice is not None and choice["params"] == result["params"]
