"""Which rows count: in a table, and after the candidates of a protocol have changed."""

import pytest
from rows import make_row, rows_of_line

from spanforest.paper import (
    PROTOCOLS,
    dataset_table,
    learning_curves,
    outdated,
    performance_table,
)
from spanforest.paper._row_selection import current_choices, current_results


@pytest.mark.parametrize("key", ["n_trees", "n_folds", "quick"])
def test_rows_of_different_experiments_are_refused(key):
    values = {"n_trees": (60, 10), "n_folds": (5, 2), "quick": (False, True)}[key]
    rows = [make_row(fold=k, **{key: value}) for k, value in enumerate(values)]
    found = ", ".join(map(str, sorted(values)))
    for function in (performance_table, learning_curves):
        with pytest.raises(ValueError, match=f"the same {key}; found {found}"):
            function(rows)


def test_other_kinds_and_protocols_are_ignored():
    rows = rows_of_line({"svm": 0.1, "mam": 0.2})
    others = [
        {"kind": "choice", "protocol": "paper", "dataset": "yeast", "family": "svm"},
        {"kind": "future"},
        make_row("yeast", "ecc", protocol="tuned", n_trees=10, quick=True),
    ]
    assert performance_table(rows + others) == performance_table(rows)
    tuned = performance_table(rows + others, protocol="tuned")
    assert (tuned.datasets, tuned.methods) == (("yeast",), ("ecc",))
    assert "quick run, not comparable with the paper" in tuned.to_markdown()


def test_without_rows_the_error_names_what_is_there():
    with pytest.raises(ValueError, match="protocol 'paper'; found 'tuned'"):
        performance_table([make_row(protocol="tuned")])
    with pytest.raises(ValueError, match="found none of any protocol"):
        performance_table([])
    with pytest.raises(ValueError, match="found none"):
        dataset_table([make_row(data=None)])


def choice_row(candidates, chosen, family="svm", **changes):
    """Return the choice of one of some candidates for all folds of emotions."""
    row = {
        "kind": "choice",
        "protocol": "paper",
        "quick": False,
        "dataset": "emotions",
        "fold": None,
        "n_folds": None,
        "seed": 0,
        "family": family,
        "params": chosen,
        "candidates": [{"params": each, "score": 0.5} for each in candidates],
        "error": None,
        "finished": "2026-11-15T21:00:00+00:00",
    }
    return {**row, **changes}


TODAYS = PROTOCOLS["paper"].families["svm"].candidates


def test_results_with_the_parameters_of_a_current_choice_are_current():
    choice = choice_row(TODAYS, TODAYS[3])
    current = [make_row(method=m, params=TODAYS[3]) for m in ("svm", "bagging")]
    other = make_row(method="svm", params=TODAYS[0])  # an earlier choice
    elsewhere = make_row("yeast", method="svm", params=TODAYS[3])
    rows = [choice, *current, other | {"fold": 1}, elsewhere]

    choices = current_choices(rows)

    assert list(choices.values()) == [choice]
    assert list(current_results(rows, choices).values()) == current
    assert outdated(rows) == [other | {"fold": 1}]  # of yeast no choice is known


@pytest.mark.parametrize(
    "candidates", [TODAYS[:-1], TODAYS[::-1], (*TODAYS, {"C": 100.0})]
)
def test_a_choice_among_other_candidates_is_outdated_and_so_are_its_results(candidates):
    choice, result = choice_row(candidates, {"C": 1.0}), make_row(method="svm")
    mtl = make_row(method="mtl", params={"gamma": 1.0})
    assert current_choices([choice]) == current_results([result], {}) == {}
    assert outdated([choice, result, mtl]) == [choice, result]


def test_a_method_that_tunes_itself_lists_its_candidates_in_its_result():
    family = PROTOCOLS["tuned"].families["selftuned"]
    candidates = [{"params": each, "score": 0.5} for each in family.candidates]
    result = make_row(method="selftuned", protocol="tuned", candidates=candidates)
    old = result | {"fold": 1, "candidates": candidates[1:]}
    assert list(current_results([result, old], {}).values()) == [result]
    assert outdated([result, old]) == [old]


def test_rows_that_leave_their_choice_open_are_not_outdated():
    unknown = {"protocol": "future"}
    rows = [
        choice_row([], {"C": 1.0}),  # no list of candidates
        make_row(method="svm"),
        choice_row(TODAYS[:1], {"C": 1.0}, **unknown),
        make_row(method="svm", **unknown),
        make_row(method="new_method"),
        {"kind": "note"},
    ]
    assert outdated(rows) == []
