"""What the page of a run says."""

import json
import os
import random
import re
import sys
from pathlib import Path

import pytest
from pages import assert_policy_allows_only_what_is_inside
from report_rows import (
    DATASETS,
    HOSTILE,
    METHODS,
    N_TREES,
    SUBSET,
    choice_of,
    curve_values,
    example_rows,
    make_rows,
    mean,
    random_row,
    text_of,
)
from rows import as_failure

from spanforest.metrics import MEASURES
from spanforest.paper.report import make_report

GOLDEN = Path(__file__).parent / "golden" / "report.html"


@pytest.fixture(scope="module")
def page():
    """The page of complete rows."""
    return make_report(make_rows())


@pytest.fixture(scope="module")
def example_page():
    """The page of rows with failures."""
    return make_report(example_rows())


@pytest.mark.parametrize("measure", MEASURES)
def test_the_page_has_every_mean(page, measure):
    rows = make_rows()
    start = page.index(f'id="scores-paper-{measure}"')
    table = page[start : page.index("</table>", start)]

    lines = re.findall(r'<tr>\n<th scope="row">(.*?)</tr>', table, flags=re.DOTALL)
    assert len(lines) > len(DATASETS)  # and @Top2
    for dataset, line in zip(DATASETS, lines, strict=False):
        shown = re.findall(r'data-value="(.*?)"', line)
        assert shown == [mean(rows, dataset, method, measure) for method in METHODS]


def test_the_same_rows_give_the_same_page_in_any_order(example_page):
    rows = example_rows()
    shuffled = random.Random(0).sample(rows, len(rows))
    assert make_report(iter(shuffled)) == example_page


def test_the_page_tells_the_facts_of_the_run(example_page):
    text = text_of(example_page)
    for fact in (
        "3: Emotions, NCI60, my_data",
        "6: SVM, MTL, MMCRF, MVE, AMM, MAM",
        "paper; 5 trees; 2 folds; seed 0",
        "36 results, 2 failed",
        "2026-11-15 22:00 to 22:01 UTC",
        "Abacus, 2 cores, Linux",
        "abc1234",
        "spanforest 0.0, python 3.0, numpy 2.0",
        "MTL on NCI60, all folds: MemoryError: 12 GiB",
        f"NCI60: {SUBSET}",
        "my_data: Not in the paper.",
    ):
        assert fact in text


def test_missing_folds_are_listed_and_a_long_list_is_folded_away():
    rows = make_rows(curve=None, members=None)
    few = make_report(rows[:-1])
    assert "not ranked: MAM on my_data (1 of 2, 0 failed)." in text_of(few)
    many = make_report([row for row in rows if row["fold"] == 0])
    [places] = re.findall(r"not ranked</summary>\n<p>(.*?)</p>", many)
    assert places.count("(1 of 2, 0 failed)") == len(DATASETS) * len(METHODS)


def test_each_protocol_has_a_section(page):
    tuned = make_rows(methods=("svm", "forest"), protocol="tuned")
    both = make_report(make_rows(methods=("svm",)) + tuned)
    assert re.findall(r'<h2 id="protocol-(.*?)"', both) == ["paper", "tuned"]
    assert re.findall(r'<h2 id="protocol-(.*?)"', page) == ["paper"]
    assert "Random forest" in both


def test_the_page_says_what_it_leaves_out_and_what_is_outdated(page):
    rows = make_rows(("emotions",), ("svm",))
    outdated = choice_of("svm", {"C": 1.0}, [{"C": 1.0}])
    text = text_of(make_report([*rows, outdated, random_row(method="svm", quick=True)]))
    assert "chosen otherwise than the protocol does today" in text
    assert "Left out: 1 result with 2 folds, quick run." in text
    assert "than the protocol does today" not in text_of(page)
    assert "Left out: " not in text_of(page)


def test_rows_with_only_the_required_fields_make_a_page():
    keys = ("kind", "protocol", "dataset", "method", "fold", "seed", "n_folds", "data")
    row = {key: random_row()[key] for key in (*keys, "scores")}
    page = make_report([row])
    assert "1 result, none failed" in text_of(page)
    for absent in ("Seconds", "Duality gaps", "Chosen parameters", "<dt>Machine"):
        assert absent not in page
    assert "<dt>Time" not in page


def test_nothing_in_the_rows_becomes_markup():
    hostile = {"dataset": HOSTILE, "protocol": HOSTILE, "commit": HOSTILE}
    rows = [
        random_row(method=method) | hostile | {"params": {HOSTILE: HOSTILE}}
        for method in ("svm", "mve", HOSTILE)
    ]
    rows.append(as_failure(random_row(method="mtl"), HOSTILE) | hostile)
    rows[0]["versions"] = {HOSTILE: HOSTILE}
    rows[0]["machine"] = {"processor": HOSTILE, "cores": 1, "system": HOSTILE}
    for row in rows:
        row["data"] = row["data"] | {"note": HOSTILE}
    page = make_report(rows)
    assert page.count("<script") == 2  # numbers, and the page's own
    assert "<img" not in page
    assert page.count("window.harmed") > 10


def test_the_policy_allows_only_the_style_and_script_of_the_page(page):
    assert_policy_allows_only_what_is_inside(page)
    assert 'style="' not in page


def test_ranks_need_three_methods_and_two_data_sets(example_page):
    pytest.importorskip("scikit_posthocs")
    assert "Average ranks" not in make_report(make_rows(("emotions",), ("svm", "mam")))
    assert "Average ranks" not in make_report(make_rows(methods=("svm", "mtl")))
    assert "Left out: MTL (failed on NCI60)" in text_of(example_page)
    two_left = make_rows(methods=("svm", "mam"))
    two_left += [as_failure(random_row(dataset, "mtl")) for dataset in DATASETS]
    assert "No comparison: fewer than 3 methods" in text_of(make_report(two_left))


def test_without_scikit_posthocs_only_the_ranks_are_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    text = text_of(make_report(make_rows()))
    assert "scikit-posthocs" in text
    assert "Learning curves" in text


@pytest.mark.parametrize("module", ["jinja2", "matplotlib.style"])
def test_a_missing_package_is_asked_for_by_its_extra(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "spanforest\[cli\]"'):
        make_report(make_rows(methods=("svm",)))


def test_the_numbers_of_the_curves_are_embedded_as_json(page):
    [text] = re.findall(r'id="curve-data">(.*?)</script>', page)
    panels = json.loads(text)["panels"]
    assert len(panels) == len(MEASURES) * len(DATASETS)
    for n_trees in range(1, N_TREES + 1):
        expected = list(curve_values("emotions", n_trees).values())
        assert [texts[n_trees - 1] for texts in panels[0]["text"]] == expected


# --- the golden file ------------------------------------------------------------------


def masked(page):
    """Return a page without style, script, figures and versions.

    The first two are in their own files. Figures depend on the version of matplotlib.
    """
    page = re.sub(r"(<style>|<script>).*?(</)", r"\1…\2", page, flags=re.DOTALL)
    page = re.sub(r"(<svg [^>]*>).*?(</svg>)", r"\1…\2", page, flags=re.DOTALL)
    page = re.sub(r'"[xy]":(\[\[.*?\]\]|\[.*?\])', r'"…":…', page)
    page = re.sub(r"sha256-[\w+/=]+", "sha256-…", page)
    return re.sub(r'(content="spanforest ).*?"', r'\1…"', page)


def test_the_page_is_as_it_was():
    pytest.importorskip("scikit_posthocs")
    rows = make_rows(("emotions", "nci60"), ("svm", "mmcrf", "mam"))
    page = masked(make_report(rows))
    if os.environ.get("SPANFOREST_GOLDEN") == "1":
        GOLDEN.write_text(page, encoding="utf-8")
    assert page == GOLDEN.read_text(encoding="utf-8"), (
        "the report changed; look at the difference after running this test with "
        "SPANFOREST_GOLDEN=1"
    )
