"""Which rows count in a table."""

import pytest
from rows import make_row, rows_of_line

from spanforest.paper import dataset_table, learning_curves, performance_table


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
