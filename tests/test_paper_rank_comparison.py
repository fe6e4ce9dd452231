"""Average ranks and their tests against formulas written out."""

import csv
import io
import math
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from paper_helpers import terminal_text
from rows import make_row
from scipy import stats
from strategies import trials

from spanforest.metrics import MEASURES
from spanforest.paper import DATASETS, METHODS, compare_ranks

pytest.importorskip("scikit_posthocs")


def rows_of(scores):
    """Return a row per entry of a matrix (n_datasets, n_methods)."""
    return [
        make_row(DATASETS[d], METHODS[m], score=float(score), n_folds=1)
        for (d, m), score in np.ndenumerate(np.asarray(scores))
    ]


def matrices(max_value):
    shapes = st.tuples(st.integers(2, 10), st.integers(3, 8))
    elements = st.integers(0, max_value).map(lambda k: k / max_value)
    return arrays(np.float64, shapes, elements=elements)


def distinct_scores(seed=0, shape=(10, 5)):
    return np.random.default_rng(seed).random(shape)


@given(matrices(max_value=4), st.randoms(use_true_random=False))
@trials(30)
def test_average_ranks_count_better_methods_and_half_of_the_ties(scores, random):
    rows = rows_of(scores)
    comparison = compare_ranks(random.sample(rows, len(rows)))

    better = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    equal = (scores[:, None, :] == scores[:, :, None]).sum(axis=2)
    expected = (1 + better + (equal - 1) / 2).mean(axis=0)
    assert_allclose(comparison.average_ranks, expected)
    assert_allclose(
        comparison.average_ranks, stats.rankdata(-scores, axis=1).mean(axis=0)
    )
    assert_allclose(comparison.means, 100 * scores)
    assert comparison.methods == METHODS[: scores.shape[1]]
    assert comparison.datasets == DATASETS[: scores.shape[0]]


def test_friedmans_statistic_without_ties_is_the_textbook_sum():
    scores = distinct_scores()
    comparison = compare_ranks(rows_of(scores))

    n, k = scores.shape
    squares = (comparison.average_ranks**2).sum()
    expected = 12 * n / (k * (k + 1)) * (squares - k * (k + 1) ** 2 / 4)
    assert comparison.statistic == pytest.approx(expected)
    assert comparison.p_value == pytest.approx(stats.chi2.sf(expected, k - 1))


def test_nemenyis_p_values_come_from_the_studentized_range():
    scores = distinct_scores()
    comparison = compare_ranks(rows_of(scores))

    n, k = scores.shape
    ranks = comparison.average_ranks
    distances = np.abs(ranks[:, None] - ranks) / math.sqrt(k * (k + 1) / (12 * n))
    expected = stats.studentized_range.sf(distances, k, np.inf)
    assert_allclose(comparison.nemenyi, expected, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5])
def test_methods_a_critical_difference_apart_are_those_that_nemenyi_rejects(alpha):
    scores = distinct_scores(1) + np.linspace(0, 1, 5)  # some differ
    comparison = compare_ranks(rows_of(scores / 2))
    ranks = comparison.average_ranks
    apart = np.abs(ranks[:, None] - ranks) > comparison.critical_difference(alpha)
    assert apart.any()
    assert ((comparison.nemenyi < alpha) == apart).all()


def test_the_critical_difference_is_that_of_published_tables():
    # Demšar (2006), Table 5: q = 2.728 for five methods at 0.05
    comparison = compare_ranks(rows_of(distinct_scores(shape=(10, 5))))
    expected = 2.728 * math.sqrt(5 * 6 / (6 * 10))
    assert comparison.critical_difference() == pytest.approx(expected, rel=1e-3)


def test_methods_that_all_tie_do_not_differ():
    comparison = compare_ranks(rows_of(np.full((3, 4), 0.5)))
    assert (comparison.statistic, comparison.p_value) == (0.0, 1.0)
    assert_allclose(comparison.average_ranks, 2.5)
    assert_allclose(comparison.nemenyi, 1.0)


def test_means_that_differ_in_the_last_digit_only_tie():
    scores = {"svm": (0.01, 0.13), "mtl": (0.07, 0.07), "mam": (0.02, 0.02)}
    comparison = compare_ranks(
        make_row(dataset, method, fold, score)
        for dataset in ("yeast", "scene")
        for method, folds in scores.items()
        for fold, score in enumerate(folds)
    )
    assert comparison.means[0, 0] != comparison.means[0, 1]  # 7.0, and nearly
    assert_allclose(comparison.average_ranks, [1.5, 1.5, 3])


def test_ranks_are_of_unrounded_means():
    rows = rows_of([[0.50001, 0.50002, 0.4], [0.50001, 0.50002, 0.4]])
    assert_allclose(compare_ranks(rows).average_ranks, [2, 1, 3])


@pytest.mark.parametrize("measure", MEASURES)
def test_the_scores_of_the_given_measure_are_ranked(measure):
    rows = rows_of([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]])
    for row in rows:
        row["scores"] = {
            name: score if name == measure else 1 - score
            for name, score in row["scores"].items()
        }
    assert_allclose(compare_ranks(rows, measure).average_ranks, [3, 2, 1])


def test_methods_without_a_score_on_every_data_set_are_left_out_with_a_reason():
    rows = [
        make_row(DATASETS[d], method, fold, 0.1 * m + 0.01 * fold)
        for d in range(3)
        for m, method in enumerate(METHODS[:7])
        for fold in range(2)
    ]
    for row in rows:
        place = row["dataset"], row["method"]
        if place == ("yeast", "svm"):
            row.update(scores=None, error="ValueError: no")
        if place == ("scene", "bagging"):
            row["n_positive"] = 0
        if place == ("scene", "adaboost") and row["fold"] == 1:
            row.update(scores=None, error="ValueError: no")
    rows = [row for row in rows if (row["dataset"], row["method"]) != ("yeast", "mtl")]

    comparison = compare_ranks(rows, "microlabel_f1")

    assert comparison.methods == ("mmcrf", "mve", "amm")
    assert dict(comparison.left_out) == {
        "svm": "failed on Yeast",
        "bagging": "no positive label predicted on Scene",
        "adaboost": "not all folds on Scene",
        "mtl": "not run on Yeast",
    }
    text = comparison.to_markdown()
    assert "- Left out: MTL (not run on Yeast)." in text
    # the same ranks as if they had never been run
    kept = [row for row in rows if row["method"] in comparison.methods]
    alone = compare_ranks(kept, "microlabel_f1")
    assert_allclose(alone.average_ranks, comparison.average_ranks)
    assert "bagging" not in compare_ranks(rows, "microlabel_accuracy").left_out


def test_too_few_methods_or_data_sets_are_refused():
    with pytest.raises(
        ValueError, match=r"at least 3 methods .* methods svm, bagging and"
    ):
        compare_ranks(rows_of([[0.1, 0.2], [0.2, 0.3]]))
    with pytest.raises(ValueError, match=r"2 data sets; .* data sets emotions"):
        compare_ranks(rows_of([[0.1, 0.2, 0.3]]))
    rows = rows_of([[0.1, 0.2, 0.3], [0.2, 0.3, 0.1]])
    with pytest.raises(ValueError, match=r"Left out: adaboost \(not run on Yeast\)"):
        compare_ranks(rows[:-1])


def test_an_unknown_measure_is_refused():
    with pytest.raises(
        ValueError, match=r"one of microlabel_accuracy.*; got 'accuracy'"
    ):
        compare_ranks(rows_of(distinct_scores()), "accuracy")


def test_without_scikit_posthocs_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(ImportError, match=r"spanforest\[paper\]"):
        compare_ranks(rows_of(distinct_scores()))


def test_the_table_lists_the_methods_from_best_to_worst():
    scores = distinct_scores()
    comparison = compare_ranks(rows_of(scores))
    lines = [x for x in comparison.to_markdown().split("\n") if x.startswith("| ")][2:]
    printed = [float(line.split("|")[2]) for line in lines]
    assert printed == sorted(printed)
    assert_allclose(sorted(comparison.average_ranks), printed, atol=5.1e-3)
    assert "over 10 data sets (protocol paper; 60 trees; 1 fold; seed 0)" in (
        comparison.to_markdown()
    )


def test_csv_reads_back_to_the_same_numbers():
    comparison = compare_ranks(rows_of(distinct_scores()))
    lines = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert [line["method"] for line in lines] == list(comparison.methods)
    for m, line in enumerate(lines):
        assert float(line["average_rank"]) == comparison.average_ranks[m]
        assert float(line["friedman_p_value"]) == comparison.p_value
        written = [float(line[f"nemenyi_{other}"]) for other in comparison.methods]
        assert written == list(comparison.nemenyi[m])


def test_a_terminal_shows_all_methods():
    comparison = compare_ranks(rows_of(distinct_scores()))
    lines = terminal_text(comparison, 80).split("\n")
    for name, rank in zip(
        ("SVM", "Bagging", "AdaBoost", "MTL", "MMCRF"),
        comparison.average_ranks,
        strict=True,
    ):
        line = next(x for x in lines if x.startswith(name + " "))
        assert f"{rank:.2f}" in line


def test_a_comparison_cannot_be_changed():
    comparison = compare_ranks(rows_of(distinct_scores()))
    with pytest.raises(FrozenInstanceError):
        comparison.p_value = 0.0
    with pytest.raises(TypeError):
        comparison.left_out["svm"] = "disliked"
    with pytest.raises(ValueError, match="read-only"):
        comparison.average_ranks[0] = 1.0
