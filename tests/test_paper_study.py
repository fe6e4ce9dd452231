"""A published study: its scores, splits of its sizes, and our place in it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spanforest.datasets import Dataset
from spanforest.metrics import MEASURES
from spanforest.paper import STUDY_DATASETS, study_table
from spanforest.paper._study import TUNED_FOR, published_scores, study_split


def rows_of(scores, dataset="scene", n_folds=2):
    """Make the rows of a run whose scores are the same for all measures."""
    return [
        {
            **{"kind": "fold", "protocol": "study", "quick": False, "seed": 0},
            **{"dataset": dataset, "method": method, "n_trees": 3, "fold": fold},
            **{"n_folds": n_folds, "error": None},
            "scores": dict.fromkeys(MEASURES, scores[fold]),
        }
        for method in TUNED_FOR.values()
        for fold in range(n_folds)
    ]


def test_the_study_has_28_scores_for_every_data_set_and_measure():
    published = published_scores()
    assert {*published} == {(d, m) for d in STUDY_DATASETS for m in MEASURES}
    assert {len(scores) for scores in published.values()} == {28}
    assert published["medical", "multilabel_accuracy"]["SSM"] == 65.7


@pytest.mark.parametrize(("name", "n_test"), [("foodtruck", 146), ("slashdot", 163)])
def test_a_split_has_the_size_of_the_study_and_keeps_the_share_of_labels(name, n_test):
    Y = (np.random.default_rng(0).random((407, 3)) < [0.1, 0.5, 0.9]).astype(int)
    dataset = Dataset(name, Y, X=np.zeros((407, 1)))
    train, test = study_split(dataset, seed=1)
    assert len(test) == n_test
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(407))
    gaps = Y[test].sum(axis=0) - Y.sum(axis=0) * n_test / 407
    assert np.abs(gaps).max() < 1.5
    assert not np.array_equal(test, study_split(dataset, seed=2)[1])


def test_our_rank_is_one_more_than_the_number_of_better_published_scores():
    table = study_table(rows_of([0.70, 0.72]))
    for standing in table.standings:
        published = published_scores()["scene", standing.measure]
        assert standing.mean == pytest.approx(71.0)
        assert standing.deviation == pytest.approx(np.sqrt(2))
        assert standing.rank == 1 + sum(score > 71.0 for score in published.values())
        assert standing.best_score == max(published.values())
    assert table.average_rank("multilabel_accuracy") == 2  # chains have 71.1


def test_a_score_that_prints_like_the_best_one_shares_its_rank():
    table = study_table(rows_of([0.71051, 0.71149]))
    assert table.average_rank("multilabel_accuracy") == 1
    assert "**71.1" in table.to_markdown()


def test_each_measure_counts_the_ensemble_that_is_tuned_for_it():
    rows = [row for row in rows_of([0.5, 0.5]) if row["method"].endswith("_f1")]
    assert {each.measure for each in study_table(rows).standings} == {"microlabel_f1"}
