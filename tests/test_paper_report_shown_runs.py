"""Which results the page shows, and what it says about the others."""

import itertools

import pytest
from report_rows import (
    DATASETS,
    N_FOLDS,
    N_TREES,
    choice_of,
    make_rows,
    random_row,
)
from rows import as_failure

from spanforest.aggregation import AGGREGATIONS
from spanforest.paper import PROTOCOLS
from spanforest.paper.report._shown_runs import find_runs


def test_of_different_settings_the_most_complete_is_shown_and_the_rest_is_named():
    quick = make_rows(("emotions",), quick=True, n_folds=1)
    ensembles = make_rows(("emotions",), AGGREGATIONS)
    other_trees = [row | {"n_trees": 3} for row in ensembles]
    full = make_rows()
    for rows in itertools.permutations((quick, other_trees, full)):
        [run] = find_runs(itertools.chain(*rows))
        assert not run.settings.quick
        assert run.settings.n_trees == N_TREES
        assert len(run.folds) == len(full)
        assert run.left_out == (
            "6 results with 3 trees, 2 folds",
            "12 results with 5 trees, 1 fold, quick run",
        )


def test_more_data_sets_beat_more_folds():
    few = [random_row("emotions", "svm", fold, n_folds=9) for fold in range(9)]
    many = make_rows(methods=("svm",))
    [run] = find_runs(few + many)
    assert run.datasets == DATASETS


def test_a_full_run_is_shown_before_a_quick_one_that_has_more():
    quick = make_rows(quick=True)
    full = make_rows(("emotions",), ("svm", "mam"))
    for rows in (quick + full, full + quick):
        [run] = find_runs(rows)
        assert not run.settings.quick
        assert run.left_out == ("36 results with 5 trees, 2 folds, quick run",)
    [run] = find_runs(quick)
    assert run.settings.quick
    failed = [as_failure(random_row("emotions", "svm"))]
    [run] = find_runs(quick + failed)
    assert run.settings.quick


def test_runs_of_several_protocols_do_not_mix():
    paper = make_rows()
    tuned = make_rows(("yeast",), ("svm", "mam"), protocol="tuned", n_folds=3)
    tuned += make_rows(("yeast",), ("svm",), protocol="tuned", quick=True)
    choices = [
        {"kind": "choice", "protocol": protocol, "dataset": dataset, "seed": 0}
        for protocol in ("paper", "tuned")
        for dataset in ("emotions", "yeast")
    ]
    for rows in (paper + tuned + choices, choices + tuned + paper):
        runs = find_runs(rows)
        assert [run.settings.protocol for run in runs] == ["paper", "tuned"]
        assert [run.settings.n_folds for run in runs] == [N_FOLDS, 3]
        assert [run.datasets for run in runs] == [DATASETS, ("yeast",)]
        assert [run.left_out for run in runs] == [
            (),
            ("2 results with 2 folds, quick run",),
        ]
        for run, dataset in zip(runs, ("emotions", "yeast"), strict=True):
            [choice] = run.choices
            assert choice["protocol"] == run.settings.protocol
            assert choice["dataset"] == dataset


def test_outdated_results_are_left_out_and_counted():
    grid = PROTOCOLS["paper"].families["mmcrf"].candidates
    rows = make_rows(("emotions", "yeast"), ("svm", "mam"))
    chosen_anew = choice_of("mmcrf", {"C": 0.1}, grid)
    still_so = choice_of("mmcrf", {"C": 1.0}, grid, dataset="yeast")
    [run] = find_runs([*rows, chosen_anew, still_so])
    shown = {(row["dataset"], row["method"]) for row in run.folds}
    assert shown == {("emotions", "svm"), ("yeast", "svm"), ("yeast", "mam")}
    reason = "2 results whose parameters would be chosen otherwise today"
    assert run.left_out == (reason,)

    of_others = choice_of("mmcrf", {"C": 1.0}, [{"C": 1.0}], dataset="yeast")
    [run] = find_runs([*rows, of_others])
    shown = {(row["dataset"], row["method"]) for row in run.folds}
    assert shown == {("emotions", "svm"), ("emotions", "mam"), ("yeast", "svm")}
    assert run.choices == []


def test_a_run_that_is_outdated_as_a_whole_is_shown_and_marked():
    rows = make_rows(("emotions",), ("svm", "mam"))
    rows += [choice_of(each, {"C": 1.0}, [{"C": 1.0}]) for each in ("svm", "mmcrf")]
    [run] = find_runs(rows)
    assert run.is_outdated
    assert len(run.folds) == 2 * N_FOLDS
    assert len(run.choices) == 2
    [current] = find_runs(make_rows(("emotions",), ("svm", "mam")))
    assert not current.is_outdated


def test_rows_without_results_are_refused():
    for rows in ([], [{"kind": "choice", "protocol": "paper"}]):
        with pytest.raises(ValueError, match="spanforest reproduce"):
            find_runs(rows)
