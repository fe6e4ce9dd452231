"""Table 2 from rows made by hand: cells, ranks, marks and notes."""

import re
import statistics
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import experiments, failed_row, make_row, rows_of_line
from strategies import trials

from spanforest.metrics import MEASURES
from spanforest.paper import METHODS, dataset_table, performance_table
from spanforest.paper._published import PAPER_METHODS


def cells_of(rows, measure="microlabel_accuracy", dataset="emotions"):
    table = performance_table(rows)
    return {name: table.cell(measure, dataset, name) for name in table.methods}


@given(
    st.lists(st.integers(0, 100), min_size=2, max_size=6), st.sampled_from([*MEASURES])
)
def test_a_cell_has_the_mean_and_the_sample_deviation_in_percent(hundredths, measure):
    scores = [k / 100 for k in hundredths]
    n_folds = len(scores)
    rows = [make_row(fold=k, score=s, n_folds=n_folds) for k, s in enumerate(scores)]

    cell = performance_table(rows).cell(measure, "emotions", "mam")

    assert cell.state == "value"
    assert cell.mean == pytest.approx(statistics.fmean(hundredths))
    assert cell.deviation == pytest.approx(statistics.stdev(hundredths), abs=1e-9)
    assert (cell.n_folds, cell.n_failed, cell.n_missing) == (n_folds, 0, 0)


@given(experiments())
@trials(50)
def test_top2_equals_a_brute_force_count(rows):
    table = performance_table(rows)
    for measure in MEASURES:
        counts = dict.fromkeys(table.methods, 0)
        for dataset in table.datasets:
            printed = {}
            for method in table.methods:
                folds = [
                    row
                    for row in rows
                    if (row["dataset"], row["method"]) == (dataset, method)
                    and row["error"] is None
                ]
                silent = all(row["n_positive"] == 0 for row in folds)
                if len(folds) < rows[0]["n_folds"] or (
                    measure == "microlabel_f1" and silent
                ):
                    continue
                mean = statistics.fmean(100 * row["scores"][measure] for row in folds)
                printed[method] = float(f"{mean:.1f}")
            threshold = sorted(printed.values())[-2:][:1]
            for method, value in printed.items():
                counts[method] += value >= threshold[0]
        assert table.top2(measure) == counts


@given(experiments())
@trials(50)
def test_top2_among_some_methods_is_that_of_a_table_without_the_others(rows):
    table = performance_table(rows)
    for chosen in (table.methods[::2], PAPER_METHODS):
        left = [row for row in rows if row["method"] in chosen]
        if not left:
            assert table.top2("microlabel_f1", chosen) == {}
            continue
        alone = performance_table(left)
        for measure in MEASURES:
            counts = {m: n for m, n in table.top2(measure, chosen).items() if n}
            assert counts == {m: n for m, n in alone.top2(measure).items() if n}


def test_top2_is_counted_as_in_the_paper_and_among_all_methods():
    scores = {"svm": 0.5, "mmcrf": 0.6, "mve": 0.9, "amm": 0.8, "mam": 0.7}
    block = performance_table(rows_of_line(scores)).layout().blocks[0]
    lines = {
        line.name: [(each.value, each.paper, each.mark) for each in line.entries]
        for line in block.footer
    }
    # the paper's SVM and MMCRF are behind its MTL and MAM on Emotions
    assert lines == {
        "@Top2": [
            ("0", "0", ""),
            ("1", "0", "best"),
            ("", "", ""),
            ("", "", ""),
            ("1", "1", "best"),
        ],
        "@Top2 of all": [
            ("0", "", ""),
            ("0", "", ""),
            ("1", "", "best"),
            ("1", "", "best"),
            ("0", "", ""),
        ],
    }


@pytest.mark.parametrize(
    ("methods", "names", "note"),
    [
        (
            PAPER_METHODS,
            ["@Top2"],
            "at least second best among SVM, Bagging, AdaBoost, MTL, MMCRF, MAM, which "
            "is how the paper counts, on the same sets.",
        ),
        (
            METHODS[:8],
            ["@Top2", "@Top2 of all"],
            "MAM, which is how the paper counts, on the same sets. @Top2 of all is "
            "among all methods shown.",
        ),
        (
            ("svm", "mam"),
            ["@Top2"],
            "among SVM, MAM; the paper's is among SVM, Bagging, AdaBoost, MTL, MMCRF, "
            "MAM, on the same sets.",
        ),
        (("mve", "ecc"), ["@Top2"], "is at least second best."),
    ],
    ids=["six", "eight", "two", "others"],
)
def test_the_note_says_among_which_methods_top2_counts(methods, names, note):
    table = performance_table(rows_of_line(dict.fromkeys(methods, 0.5)))
    layout = table.layout()
    assert [line.name for line in layout.blocks[0].footer] == names
    assert layout.notes[1].endswith(note)


@given(experiments(), st.randoms(use_true_random=False))
@trials(50)
def test_the_order_of_rows_changes_nothing(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert performance_table(shuffled) == performance_table(rows)
    assert dataset_table(shuffled) == dataset_table(rows)
    assert performance_table(shuffled).to_markdown() == (
        performance_table(rows).to_markdown()
    )


def test_values_equal_as_printed_are_bold_together_and_leave_no_second():
    cells = cells_of(rows_of_line({"svm": 0.8004, "mtl": 0.7996, "mam": 0.799}))

    assert [cell.rank for cell in cells.values()] == [1, 1, 3]
    assert [cell.mark for cell in cells.values()] == ["best", "best", ""]


def test_second_best_may_be_shared_too():
    cells = cells_of(rows_of_line({"svm": 0.7, "mtl": 0.8, "mve": 0.7, "mam": 0.6}))
    assert [cell.mark for cell in cells.values()] == ["second", "best", "second", ""]


def test_a_line_of_equal_values_has_no_mark_but_counts():
    rows = rows_of_line({"svm": 0.0, "mtl": 0.0, "mam": 0.0})
    assert [cell.mark for cell in cells_of(rows).values()] == ["", "", ""]
    assert set(performance_table(rows).top2("microlabel_f1").values()) == {1}


def test_one_fold_has_no_deviation():
    table = performance_table([make_row("own", score=0.25, n_folds=1)])
    cell = table.cell("microlabel_f1", "own", "mam")
    assert (cell.mean, cell.deviation) == (25.0, None)
    assert "±" not in table.to_markdown()


def test_folds_of_several_seeds_are_pooled():
    scores = {(0, 0): 0.1, (0, 1): 0.2, (1, 0): 0.4, (1, 1): 0.5}
    rows = [
        make_row(fold=fold, score=score, seed=seed)
        for (seed, fold), score in scores.items()
    ]

    table = performance_table(rows)

    cell = table.cell("multilabel_accuracy", "emotions", "mam")
    assert cell.mean == pytest.approx(30.0)
    assert cell.deviation == pytest.approx(100 * statistics.stdev(scores.values()))
    assert (cell.n_folds, cell.n_missing) == (4, 0)
    assert table.settings.seeds == (0, 1)
    assert "60 trees; 2 folds; seeds 0, 1" in table.to_markdown()
    assert "every seed" not in table.to_markdown()


def test_seeds_that_some_methods_lack_are_mentioned():
    rows = rows_of_line({"svm": 0.1, "mam": 0.2})
    table = performance_table([*rows, rows[0] | {"seed": 1}])
    assert "Not every method was run with every seed" in table.to_markdown()
    assert table.cell("microlabel_f1", "emotions", "mam").rank == 1


def test_a_method_that_failed_everywhere_is_shown_as_failed():
    rows = [failed_row(method="mtl", fold=k) for k in range(2)]
    rows += rows_of_line({"svm": 0.1, "mam": 0.2}, n_folds=2)
    cell = cells_of(rows)["mtl"]

    assert (cell.state, cell.mean, cell.rank, cell.n_failed) == (
        "failed",
        None,
        None,
        2,
    )
    text = performance_table(rows).to_markdown()
    assert "failed (79.8±1.8)" in text
    assert "- failed: no fold succeeded." in text


@pytest.mark.parametrize("lost", ["failed", "missing"])
def test_folds_that_are_lost_leave_a_footnote_and_no_rank(lost):
    rows = rows_of_line({"svm": 0.1, "mam": 0.9}, n_folds=3)
    last = rows.pop()
    if lost == "failed":
        rows.append(failed_row(method="mam", fold=last["fold"], n_folds=3))

    cells = cells_of(rows)

    assert cells["mam"].mean == pytest.approx(90.0)
    assert (cells["mam"].n_folds, cells["mam"].rank) == (2, None)
    assert cells["svm"].rank == 1
    text = performance_table(rows).to_markdown()
    assert "| 90.0±0.0† (80.5±1.4) |" in text
    n_failed = int(lost == "failed")
    assert f"not ranked: MAM on Emotions (2 of 3, {n_failed} failed)." in text


def test_f1_is_a_dash_only_if_no_fold_has_a_positive_prediction():
    rows = rows_of_line({"svm": 0.0, "mtl": 0.0, "mam": 0.6, "mve": 0.5}, n_folds=2)
    for row in rows:
        if row["method"] == "svm" or (row["method"] == "mtl" and row["fold"] == 0):
            row["n_positive"] = 0

    cells = cells_of(rows, "microlabel_f1")

    assert (cells["svm"].state, cells["svm"].mean) == ("no positives", None)
    assert cells["svm"].rank is None
    assert (cells["mtl"].state, cells["mtl"].mean, cells["mtl"].rank) == ("value", 0, 3)
    assert cells_of(rows, "microlabel_accuracy")["svm"].mean == 0.0
    assert "| - (57.1±4.4) |" in re.sub(
        " +", " ", performance_table(rows).to_markdown()
    )
    assert (
        "A dash: no positive label predicted." in performance_table(rows).to_markdown()
    )


def test_a_method_that_was_not_run_leaves_its_place_empty():
    rows = [*rows_of_line({"svm": 0.1, "mve": 0.2}), make_row("yeast", n_folds=1)]
    table = performance_table(rows)

    assert table.datasets == ("emotions", "yeast")
    assert table.methods == ("svm", "mve", "mam")
    cell = table.cell("microlabel_accuracy", "yeast", "mve")
    assert (cell.state, cell.mean, cell.n_folds, cell.paper) == (
        "absent",
        None,
        0,
        None,
    )
    line = next(x for x in table.to_markdown().split("\n") if x.startswith("| Yeast"))
    fields = [field.strip() for field in line.strip("|").split("|")]
    assert fields == ["Yeast", "(80.0±0.6)", "", "50.0 (79.9±0.4)"]


def test_a_fold_that_was_run_again_counts_once():
    first = failed_row(fold=0, finished="2026-01-01")
    second = make_row(fold=0, score=0.4, finished="2026-01-02")
    third = make_row(fold=0, score=0.6, finished="2026-01-03")
    for rows in ([first, second, third], [third, second, first]):
        cell = cells_of(rows)["mam"]
        assert (cell.mean, cell.n_folds, cell.n_failed) == (60.0, 1, 0)


def test_tables_cannot_be_changed():
    table = performance_table([make_row()])
    with pytest.raises(FrozenInstanceError):
        table.methods = ()
    with pytest.raises(TypeError):
        table.cells["microlabel_f1", "emotions", "mam"] = None


def training_notes_of(*rows):
    notes = performance_table(rows).layout().notes
    return [note for note in notes if "stopped short" in note]


def test_training_that_stopped_short_is_named_with_its_folds_and_its_gap():
    said = ["Training did not converge."]
    ensemble = [
        make_row(method=method, fold=fold, gap=gap, warnings=said if fold else [])
        for method in ("mve", "amm", "mam")
        for fold, gap in ((0, 0.04), (1, 0.234))
    ]
    others = [
        make_row(method="mmcrf", fold=fold, gap=0.06, warnings=said) for fold in (0, 1)
    ]
    others += [make_row(method="svm", gap=None, warnings=[])]
    elsewhere = [make_row("yeast", "logistic", gap=None, warnings=said)]

    assert training_notes_of(*ensemble, *others, *elsewhere) == [
        "Emotions: training stopped short of its goal: MMCRF (2 of 2 folds, duality "
        "gap up to 6% of the dual objective); MVE, AMM, MAM (1 of 2 folds, duality "
        "gap up to 23% of the dual objective).",
        "Yeast: training stopped short of its goal: Logistic regression "
        "(1 of 1 folds).",
    ]
