"""The result of a run in words."""

import numpy as np
import pytest
from hypothesis import given
from report_rows import graded, make_rows
from rows import experiments, make_row
from scipy.stats import rankdata
from strategies import trials

from spanforest.metrics import MEASURES
from spanforest.paper import compare_ranks, display_name, performance_table
from spanforest.paper.report._verdicts import ranked_methods, verdict

FIRST = "microlabel_accuracy"


def text_of(rows, measure=FIRST, comparison=None):
    return verdict(performance_table(rows), measure, comparison).text


def rows_of(scores):
    """Return rows of one fold; `scores` has the score of a data set and a method."""
    return [
        make_row(dataset, method, score=score, n_folds=1)
        for dataset, line in scores.items()
        for method, score in line.items()
    ]


def test_the_winner_the_lead_and_the_number_of_sets_are_told():
    scores = {
        "yeast": {"svm": 0.5, "mtl": 0.1, "mam": 0.6},
        "scene": {"svm": 0.7, "mtl": 0.1, "mam": 0.8},
        "enron": {"svm": 0.9, "mtl": 0.1, "mam": 0.4},
    }
    assert text_of(rows_of(scores)) == (
        "MAM has the best average rank, 1.33 among 3 methods on 3 data sets. It is "
        "best on 2 of them. Next is SVM with 1.67, although its mean score is "
        "10.0 points higher."
    )


def test_one_data_set_has_scores_and_no_ranks():
    assert text_of(rows_of({"yeast": {"svm": 0.5, "mam": 0.62}})) == (
        "MAM scores best on Yeast: 62.0 %. Next is SVM, whose mean score is 12.0 "
        "points lower."
    )


def test_methods_that_tie_share_the_first_place():
    tie = {"svm": 0.5, "mtl": 0.5}
    assert text_of(rows_of({"yeast": tie, "scene": tie})) == (
        "SVM and MTL have the best average rank, 1.50 among 2 methods on 2 data sets. "
        "All methods tie."
    )


def test_nobody_wins_alone():
    rows = rows_of({"yeast": {"svm": 0.5, "mam": 0.6}, "scene": {"svm": 0.5}})
    assert text_of(rows).startswith("Only one method has a score of all folds")


def test_the_tests_say_what_may_be_chance():
    pytest.importorskip("scikit_posthocs")
    datasets = [f"set {k}" for k in range(6)]
    rows = graded(make_rows(datasets))
    told = text_of(rows, comparison=compare_ranks(rows, FIRST))
    assert "Nemenyi's test tells SVM apart from 2 of the 5 others." in told
    few = make_rows(datasets[:2])
    assert "may be chance" in text_of(few, comparison=compare_ranks(few, FIRST))


@trials(40)
@given(rows=experiments())
def test_no_ranked_method_has_a_better_average_rank_than_the_winner(rows):
    table = performance_table(rows)
    for measure in MEASURES:
        text = verdict(table, measure).text
        methods = ranked_methods(table, measure)
        if len(methods) < 2:
            assert "nobody won" in text
            continue
        means = [
            [table.cell(measure, dataset, method).mean for method in methods]
            for dataset in table.datasets
        ]
        ranks = rankdata(-np.round(means, 9), axis=1).mean(axis=0)
        winner = display_name(methods[int(ranks.argmin())])
        assert winner in text.split(". ")[0]
