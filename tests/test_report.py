"""The report: what stands in the page, and how it behaves in a real browser."""

import base64
import hashlib
import itertools
import json
import math
import os
import random
import re
import shutil
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier, metrics
from spanforest.datasets import load_dataset
from spanforest.diagnostics import Couplings, edge_couplings
from spanforest.paper import (
    PROTOCOLS,
    RowFile,
    compare_ranks,
    display_name,
)
from spanforest.paper.report import (
    LabelGraph,
    NoLabelGraph,
    fit_label_graphs,
    make_report,
    read_label_graphs,
)
from spanforest.paper.report._collect import find_runs, measured_seconds
from spanforest.paper.report._curves import nice_step, nice_ticks
from spanforest.paper.report._ranks import groups
from spanforest.plots import LabelGraphDisplay

GOLDEN = Path(__file__).parent / "golden" / "report.html"
MEASURES = tuple(metrics.MEASURES)
DATASETS = ("emotions", "nci60", "my_data")
METHODS = ("svm", "mtl", "mmcrf", "mve", "amm", "mam")
ENSEMBLES = ("mve", "amm", "mam")
N_TREES, N_FOLDS = 5, 2
SUBSET = "Only a subset: 59 of 60 cell lines."
HOSTILE = (
    "</td></script><script>window.harmed = true</script><img src=x onerror=alert(1)>"
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(40, 4)) > 0).astype(int)


def make_row(dataset="emotions", method="mam", fold=0, **changes):
    """A row as the experiment writes it, with scores that depend on all of these."""
    at_random = random.Random(f"{dataset} {method} {fold}")

    def series():
        return [round(at_random.uniform(0.5, 0.7), 6) for _ in range(N_TREES)]

    curve = {measure: series() for measure in MEASURES} if method in ENSEMBLES else None
    members = random.Random(f"{dataset} {fold}").uniform(0.4, 0.5)
    row = {
        "kind": "fold",
        "protocol": "paper",
        "quick": False,
        "dataset": dataset,
        "method": method,
        "fold": fold,
        "seed": 0,
        "n_folds": N_FOLDS,
        "n_trees": N_TREES if method in ENSEMBLES else None,
        "params": {"C": 1.0},
        "scores": {measure: at_random.uniform(0.5, 0.7) for measure in MEASURES},
        "n_positive": 10,
        "seconds": {"fit": 2.0, "predict": 0.25},
        "gap": 0.031 if method in ("mmcrf", *ENSEMBLES) else None,
        "curve": curve,
        "members": curve and {measure: [members] * N_TREES for measure in MEASURES},
        "data": {
            "n_samples": 593,
            "n_labels": 6,
            "n_features": 72,
            "cardinality": 1.868,
            "density": 0.311,
            "note": SUBSET if dataset == "nci60" else "",
        },
        "error": None,
        "versions": {"spanforest": "0.0", "python": "3.0", "numpy": "2.0"},
        "commit": "abc1234",
        "machine": {"processor": "Abacus", "cores": 2, "system": "Linux"},
        "finished": f"2026-11-15T22:0{fold}:00+00:00",
    }
    return row | changes


def failed_row(*args, error="ValueError: no", **changes):
    return make_row(*args, **changes) | {
        "scores": None,
        "curve": None,
        "gap": None,
        "error": error,
    }


def make_rows(datasets=DATASETS, methods=METHODS, **changes):
    return [
        make_row(dataset, method, fold, **changes)
        for dataset in datasets
        for method in methods
        for fold in range(N_FOLDS)
    ]


def example_rows():
    """Rows with a failure, a method without positives, and a choice of parameters."""
    rows = make_rows()
    for number, row in enumerate(rows):
        place = row["dataset"], row["method"]
        if place == ("nci60", "mtl"):
            rows[number] = failed_row(*place, row["fold"], error="MemoryError: 12 GiB")
        if place == ("emotions", "mtl"):
            rows[number] = row | {"n_positive": 0}
    choice = {"kind": "choice", "protocol": "paper", "quick": False, "fold": None}
    choice |= {"dataset": "emotions", "family": "svm", "seed": 0, "n_folds": None}
    return [*rows, {**choice, "params": {"C": 1.0}, "seconds": {"choose": 4.0}}]


def mean(rows, dataset, method, measure):
    """The mean over folds, in percent, as a table prints it."""
    scores = [
        row["scores"][measure]
        for row in rows
        if row["kind"] == "fold"
        and (row["dataset"], row["method"]) == (dataset, method)
    ]
    return f"{100 * math.fsum(scores) / len(scores):.1f}"


def text_of(page):
    """What a reader sees of a page, without styles, scripts and tags."""
    page = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


# What stands in the page


@pytest.mark.parametrize("measure", MEASURES)
def test_every_mean_stands_in_the_page(measure):
    rows = make_rows()
    page = make_report(rows)
    start = page.index(f'id="scores-paper-{measure}"')
    table = page[start : page.index("</table>", start)]

    lines = re.findall(r'<tr>\n<th scope="row">(.*?)</tr>', table, flags=re.DOTALL)
    assert len(lines) > len(DATASETS)  # and @Top2
    for dataset, line in zip(DATASETS, lines, strict=False):
        found = re.findall(r'data-value="(.*?)"', line)
        assert found == [mean(rows, dataset, method, measure) for method in METHODS]


def test_the_same_rows_give_the_same_page_in_any_order():
    rows = example_rows()
    shuffled = random.Random(0).sample(rows, len(rows))
    assert make_report(rows) == make_report(shuffled) == make_report(iter(rows))


def test_the_facts_of_the_run_are_told():
    text = text_of(make_report(example_rows()))
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


def test_the_fit_that_ensembles_share_is_counted_once():
    [run] = find_runs(example_rows())
    n_places = len(DATASETS) * N_FOLDS
    seconds = measured_seconds(run)
    assert seconds.choose == 4.0
    assert seconds.fit == 2.0 * n_places * (1 + len(METHODS) - len(ENSEMBLES))
    assert seconds.predict == 0.25 * n_places * len(METHODS)


def test_where_folds_are_missing_is_told_and_folded_away_if_it_is_long():
    few = make_report(make_rows()[:-1])
    assert "not ranked: MAM on my_data (1 of 2, 0 failed)." in text_of(few)
    many = make_report([row for row in make_rows() if row["fold"] == 0])
    [places] = re.findall(r"not ranked</summary>\n<p>(.*?)</p>", many)
    assert places.count("(1 of 2, 0 failed)") == len(DATASETS) * len(METHODS)


def test_each_protocol_has_a_section():
    rows = make_rows() + make_rows(methods=("svm", "forest"), protocol="tuned")
    page = make_report(rows)
    assert re.findall(r'<h2 id="protocol-(.*?)"', page) == ["paper", "tuned"]
    assert re.findall(r'<h2 id="protocol-(.*?)"', make_report(make_rows())) == ["paper"]
    assert "Random forest" in page


def test_of_different_settings_the_most_complete_is_shown_and_the_rest_is_named():
    quick = make_rows(("emotions",), quick=True, n_folds=1)
    other_trees = [row | {"n_trees": 3} for row in make_rows(("emotions",), ENSEMBLES)]
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
        assert "12 results with 5 trees, 1 fold, quick" in text_of(
            make_report(itertools.chain(*rows))
        )


def test_more_data_sets_beat_more_folds():
    few = [make_row("emotions", "svm", fold, n_folds=9) for fold in range(9)]
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
    failed = [failed_row("emotions", "svm")]
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


def choice_of(family, params, candidates, **place):
    """A row of the paper's protocol about the parameters of a family."""
    tried = [{"params": each, "score": 0.5} for each in candidates]
    row = {"kind": "choice", "protocol": "paper", "quick": False, "fold": None}
    row |= {"dataset": "emotions", "family": family, "seed": 0, "n_folds": None}
    return row | {"params": params, "candidates": tried, **place}


def test_results_that_no_longer_stand_are_left_out_and_counted():
    grid = PROTOCOLS["paper"].families["mmcrf"].candidates
    rows = make_rows(("emotions", "yeast"), ("svm", "mam"))
    chosen_anew = choice_of("mmcrf", {"C": 0.1}, grid)
    still_so = choice_of("mmcrf", {"C": 1.0}, grid, dataset="yeast")
    [run] = find_runs([*rows, chosen_anew, still_so])
    shown = {(row["dataset"], row["method"]) for row in run.folds}
    assert shown == {("emotions", "svm"), ("yeast", "svm"), ("yeast", "mam")}
    reason = "2 results whose parameters would be chosen otherwise today"
    assert run.left_out == (reason,)
    assert f"Left out: {reason}." in text_of(make_report([*rows, chosen_anew]))

    of_others = choice_of("mmcrf", {"C": 1.0}, [{"C": 1.0}], dataset="yeast")
    [run] = find_runs([*rows, of_others])
    shown = {(row["dataset"], row["method"]) for row in run.folds}
    assert shown == {("emotions", "svm"), ("emotions", "mam"), ("yeast", "svm")}
    assert run.choices == []


def test_a_run_that_is_outdated_as_a_whole_is_shown_and_that_is_said():
    rows = make_rows(("emotions",), ("svm", "mam"))
    rows += [choice_of(each, {"C": 1.0}, [{"C": 1.0}]) for each in ("svm", "mmcrf")]
    [run] = find_runs(rows)
    assert len(run.folds) == 2 * N_FOLDS
    assert len(run.choices) == 2
    assert "chosen otherwise than the protocol does today" in text_of(make_report(rows))
    current = make_rows(("emotions",), ("svm", "mam"))
    assert "than the protocol does today" not in text_of(make_report(current))


def test_without_results_there_is_no_report():
    for rows in ([], [{"kind": "choice", "protocol": "paper"}]):
        with pytest.raises(ValueError, match="spanforest reproduce"):
            make_report(rows)


def test_a_page_can_be_made_of_the_least_a_row_has():
    keys = ("kind", "protocol", "dataset", "method", "fold", "seed", "n_folds", "data")
    row = {key: make_row()[key] for key in (*keys, "scores")}
    text = text_of(make_report([row]))
    assert "1 result, none failed" in text
    for absent in ("Seconds", "Duality gaps", "Chosen parameters", "Time", "Machine"):
        assert absent not in text


def test_nothing_in_the_rows_becomes_markup():
    hostile = {"dataset": HOSTILE, "protocol": HOSTILE, "commit": HOSTILE}
    rows = [
        make_row(method=method) | hostile | {"params": {HOSTILE: HOSTILE}}
        for method in ("svm", "mve", HOSTILE)
    ]
    rows.append(failed_row(method="mtl", error=HOSTILE) | hostile)
    rows[0]["versions"] = {HOSTILE: HOSTILE}
    rows[0]["machine"] = {"processor": HOSTILE, "cores": 1, "system": HOSTILE}
    for row in rows:
        row["data"] = row["data"] | {"note": HOSTILE}
    page = make_report(rows)
    assert page.count("<script") == 2  # numbers, and the page's own
    assert "<img" not in page
    assert page.count("window.harmed") > 10


def test_the_policy_allows_only_the_style_and_script_of_the_page():
    page = make_report(make_rows())
    [policy] = re.findall(r'Content-Security-Policy" content="(.*?)">', page)
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        [inside] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert 'style="' not in page


def test_a_single_tree_is_a_dot_and_no_line():
    rows = [make_row(method="mam", n_trees=1)]
    for key in ("curve", "members"):
        rows[0][key] = {measure: [0.5] for measure in MEASURES}
    page = make_report(rows)
    assert page.count('class="dot-mam"') == len(MEASURES)
    assert "curve-mam" not in page.partition("<main")[2]


# Ranks


@given(st.integers(3, 7), st.integers(0, 2**32 - 1), st.booleans())
@settings(deadline=None, max_examples=60)
def test_groups_are_the_maximal_runs_closer_than_the_critical_difference(
    n, seed, has_ties
):
    ranks = np.sort(np.random.default_rng(seed).uniform(1, n, n))
    if has_ties:
        ranks = np.round(ranks)
    distance = np.abs(ranks[:, None] - ranks)
    p_values = 0.1 / (1 + distance)  # falls with the distance, as Nemenyi's does
    alike = [
        (i, j)
        for i, j in itertools.combinations(range(n), 2)
        if (p_values[i : j + 1, i : j + 1] >= 0.05).all()
    ]
    maximal = [
        (i, j)
        for i, j in alike
        if not any(a <= i and j <= b and (a, b) != (i, j) for a, b in alike)
    ]
    assert groups(p_values) == maximal


@pytest.mark.parametrize("n", [3, 8])
def test_methods_of_equal_ranks_are_one_group_and_different_ones_are_none(n):
    assert groups(np.ones((n, n))) == [(0, n - 1)]
    assert groups(np.eye(n)) == []
    in_pairs = np.kron(np.eye(n), np.ones((2, 2)))  # equal groups of two
    assert groups(in_pairs) == [(k, k + 1) for k in range(0, 2 * n, 2)]


def test_one_bar_joins_methods_that_score_the_same_everywhere():
    pytest.importorskip("scikit_posthocs")
    scores = dict.fromkeys(MEASURES, 0.5)
    page = make_report([row | {"scores": scores} for row in make_rows()])
    main = page.partition("<main")[2]
    assert main.count('class="bar"') == len(MEASURES)
    names = ", ".join(map(display_name, METHODS))
    assert main.count(f"Not told apart: {names}.") == len(MEASURES)


def test_the_diagram_shows_the_average_ranks():
    pytest.importorskip("scikit_posthocs")
    rows = make_rows()
    page = make_report(rows)
    for measure in MEASURES:
        comparison = compare_ranks(rows, measure)
        start = page.index(f'id="ranks-paper-{measure}"')
        diagram = text_of(page[start : page.index("</svg>", start)])
        for rank in comparison.average_ranks:
            assert f"{rank:.2f}" in diagram
        assert f"{comparison.critical_difference():.2f}" in diagram


def test_ranks_are_compared_only_where_there_is_enough():
    pytest.importorskip("scikit_posthocs")
    assert "Average ranks" not in make_report(make_rows(("emotions",)))
    assert "Average ranks" not in make_report(make_rows(methods=("svm", "mam")))
    text = text_of(make_report(example_rows()))
    assert "Left out: MTL (failed on NCI60)" in text
    two_left = make_rows(methods=("svm", "mam"))
    two_left += [failed_row(dataset, "mtl") for dataset in DATASETS]
    assert "No comparison: fewer than 3 methods" in text_of(make_report(two_left))


def test_without_the_extra_the_rest_of_the_page_is_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    text = text_of(make_report(make_rows()))
    assert "scikit-posthocs" in text
    assert "Learning curves" in text


@given(st.floats(1e-4, 1e4), st.floats(0, 100))
def test_ticks_are_round_few_and_inside(span, low):
    step = nice_step(span / 4)
    ticks = nice_ticks(low, low + span, 4)
    assert 2 <= len(ticks) <= 7
    assert low - 1e-5 <= ticks[0] <= ticks[-1] <= low + span + 1e-5
    assert float(f"{step:.0e}") == pytest.approx(step)
    assert f"{step:.0e}"[0] in "125"


# Label graphs


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory):
    pytest.importorskip("skops")
    persistence = pytest.importorskip("spanforest.persistence")
    folder = tmp_path_factory.mktemp("models")

    def save(model, name="songs.spanforest"):
        persistence.save(model, folder / name)
        return folder / name

    return save


def ensemble_of(kernel):
    pandas = pytest.importorskip("pandas")
    labels = pandas.DataFrame(Y, columns=["sun", "<b>warm</b>", "rain", "wind"])
    ensemble = RandomGraphEnsembleClassifier(3, kernel=kernel, tol=0.1, random_state=0)
    return ensemble.fit(X, labels)


def test_a_model_adds_its_label_graph(saved_model):
    ensemble = ensemble_of("rbf")
    path = saved_model(ensemble)
    page = make_report(make_rows(), [path])
    assert page == make_report(make_rows(), [str(path)])  # no dates, no random names
    assert "Label graphs" not in make_report(make_rows())

    section = page[page.index('<h2 id="graphs"') :]
    text = text_of(section)
    couplings = edge_couplings(ensemble, X)
    assert f"3 graphs. {len(couplings.strength)} edges over 4 labels." in text
    assert f"{max(couplings.strength, key=abs):+.3g}" in text
    assert "<b>warm</b>" in text
    assert section.count('class="edge edge-') == len(couplings.strength)


def test_couplings_and_frequencies_in_the_file_are_used(saved_model):
    ensemble = ensemble_of("linear")
    ensemble.couplings_ = edge_couplings(ensemble, X)._asdict()
    without = make_report(make_rows(), [saved_model(ensemble)])
    assert "does not tell how frequent" in without
    assert "% of the examples" not in without
    assert "nan" not in without.partition('<h2 id="graphs"')[2].partition("</main")[0]
    ensemble.label_frequencies_ = Y.mean(axis=0)
    page = make_report(make_rows(), [saved_model(ensemble)])
    assert "does not tell how frequent" not in page
    for share in Y.mean(axis=0):
        assert f": {100 * share:.1f} % of the examples" in page


def test_models_without_a_graph_to_draw_are_refused(saved_model):
    linear = MMCRFClassifier(tol=0.1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="neither couplings nor training examples"):
        make_report(make_rows(), [saved_model(linear)])
    from sklearn.linear_model import RidgeClassifier

    other = RidgeClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="RidgeClassifier, which has no label graph"):
        make_report(make_rows(), [saved_model(other)])


def drawn_graph(n_labels, name="weather", long_names=False):
    """A label graph of any size, without a model."""
    seeded = np.random.default_rng(n_labels)
    edges = np.argwhere(np.triu(np.ones((n_labels, n_labels)), k=1))
    is_signed = np.full(len(edges), True)
    couplings = Couplings(edges, seeded.normal(size=len(edges)), is_signed)
    names = None
    if long_names:
        names = [f"quiet-still and-very-long-{j}" for j in range(n_labels)]
    display = LabelGraphDisplay(couplings, seeded.random(n_labels), names)
    return LabelGraph(name, "Made up.", display)


def test_the_edges_of_a_drawn_graph_are_the_strongest_with_their_sign():
    graph = drawn_graph(20)
    page = make_report(make_rows(), graphs=[graph])
    main = page.partition("<main")[2]
    couplings = graph.display.couplings
    order = np.argsort(-np.abs(couplings.strength))[:30]
    edge = r'<path d="[^"]*" stroke-width="(.*?)" .*? class="edge edge-(\w+)">'
    found = re.findall(rf"{edge}<title>(.*?)</title>", main)[::-1]  # weakest first
    assert [kind for _, kind, _ in found] == [
        "attract" if couplings.strength[e] > 0 else "repel" for e in order
    ]
    assert [title for _, _, title in found] == [
        "label{}, label{}: {:+.3g}".format(*couplings.edges[e], couplings.strength[e])
        for e in order
    ]
    widths = [float(width) for width, _, _ in found]
    assert widths == sorted(widths, reverse=True)
    assert "the 30 strongest of 190 edges" in text_of(main)


@pytest.mark.parametrize("n_labels", [1, 2, 17])
def test_label_graphs_of_any_size_are_drawn(n_labels):
    page = make_report(make_rows(), graphs=[drawn_graph(n_labels)])
    assert f" over {n_labels} label" in text_of(page)
    assert page.count("% of the examples</title>") == n_labels


def test_a_graph_that_lacks_is_one_line():
    missing = NoLabelGraph("Yeast", "its data are not here.")
    for graphs in ([missing], [drawn_graph(5), missing]):
        page = make_report(make_rows(), graphs=graphs)
        assert "Yeast: its data are not here." in text_of(page)
        assert page.count("<article>") == len(graphs) - 1


def small_circle(name, data_home):
    dataset = load_dataset(name, data_home)
    return replace(dataset, X=dataset.X[:60], Y=dataset.Y[:60])


def test_graphs_are_fitted_with_what_most_folds_chose(monkeypatch):
    monkeypatch.setattr("spanforest.paper.report._fits.load_dataset", small_circle)
    monkeypatch.setattr("spanforest.paper.report._fits.MOST_EXAMPLES", 40)
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)
    rows = [
        make_row(dataset, "mam", fold, n_folds=3, params={"C": 3.0 if fold else 7.0})
        for dataset in ("my_data", "cal500", "circle10", "emotions")
        for fold in range(3)
    ]
    rows += [make_row("yeast", "svm", fold, n_folds=3) for fold in range(3)]
    missing = failed_row("circle50", "mam", n_folds=3)
    emotions, cal500, circle, mine = fit_label_graphs([*rows, missing])
    assert isinstance(circle, LabelGraph)
    assert "trees, C=3, the data set's own kernel, 40 of 60 examples" in circle.made_of
    assert circle.display.label_names == [f"label{j}" for j in range(10)]
    [again] = fit_label_graphs(rows[6:9])
    strength = circle.display.couplings.strength
    assert (again.display.couplings.strength == strength).all()
    assert (emotions.name, "data are not here" in emotions.reason) == ("Emotions", True)
    assert cal500.reason.startswith("174 labels, more than the 60")
    assert mine == NoLabelGraph("my_data", "not a data set that is known by name.")

    tuned = [row | {"protocol": "tuned", "params": {"C": 0.3}} for row in rows[6:9]]
    [of_tuned] = fit_label_graphs(rows[6:9] + tuned)
    assert "C=0.3" in of_tuned.made_of


def graph_field(n_labels=3, n_edges=2):
    """A label graph as rows hold it, with edges from the first label on."""
    return {
        "label_names": [f"name {j}" for j in range(n_labels)],
        "frequencies": [0.5] * n_labels,
        "n_edges": n_edges,
        "n_samples": 474,
        "edges": [[0, j] for j in range(1, n_labels)],
        "strength": [float(j) for j in range(1, n_labels)],
        "is_signed": [True] * (n_labels - 1),
    }


def test_graphs_that_the_rows_hold_are_drawn_and_nothing_is_fitted(monkeypatch):
    monkeypatch.setattr(
        "spanforest.paper.report._fits.load_dataset", None
    )  # not called
    rows = make_rows(("circle10", "cal500"), ("svm", "mam"))
    for row in rows:
        if row["method"] == "mam":
            n_labels = 174 if row["dataset"] == "cal500" else 3 + row["fold"]
            row["label_graph"] = graph_field(n_labels, n_edges=700)
    cal500, circle = read_label_graphs(rows)
    assert cal500 == NoLabelGraph(
        "Cal500", "174 labels, more than the 60 that are drawn."
    )
    assert circle.display.label_names == ["name 0", "name 1", "name 2"]
    assert circle.made_of == (
        "Fold 1 of 2: 5 trees, C=1, the data set's own kernel, 474 examples; duality "
        "gap at most 3.1 %."
    )
    page = text_of(make_report(rows, graphs=[circle]))
    assert "700 edges over 3 labels" in page
    assert "the 2 strongest of 700 edges" in page
    assert fit_label_graphs(rows) == ()


def test_of_two_protocols_the_tuned_one_s_graph_is_drawn():
    rows = make_rows(("circle10",), ("mam",))
    tuned = make_rows(("circle10",), ("mam",), protocol="tuned", params={"C": 9.0})
    for row in rows:
        row["label_graph"] = graph_field()
    [of_paper] = read_label_graphs(rows + tuned)
    assert "C=1," in of_paper.made_of  # better than none
    tuned[1]["label_graph"] = graph_field()
    [of_tuned] = read_label_graphs(tuned + rows)
    assert "Fold 2 of 2: 5 trees, C=9," in of_tuned.made_of


def test_data_that_cannot_be_read_leave_the_page_whole(tmp_path):
    for name in ("emotions.npz", "yeast.arff"):
        (tmp_path / name).write_bytes(b"no data")
    rows = [make_row(dataset, "mam") for dataset in ("emotions", "yeast")]
    graphs = fit_label_graphs(rows, tmp_path)
    assert [type(graph) for graph in graphs] == [NoLabelGraph, NoLabelGraph]
    text = text_of(make_report(rows, graphs=graphs))
    for graph in graphs:
        assert graph.reason
        assert f"{graph.name}: {' '.join(graph.reason.split())}" in text


# The command


@pytest.fixture
def command():
    pytest.importorskip("typer")
    from spanforest.cli._report import report

    return report


@pytest.mark.parametrize("is_folder", [True, False])
def test_the_command_reads_a_folder_or_its_rows(command, tmp_path, capsys, is_folder):
    rows = RowFile(tmp_path / "rows.jsonl")
    rows.append(example_rows())
    output = tmp_path / "report.html"
    command([tmp_path if is_folder else rows.path], output, graphs=False)
    assert output.read_text(encoding="utf-8") == make_report(rows.read())
    assert str(output) in capsys.readouterr().out


def test_the_command_joins_the_rows_of_several_folders(command, tmp_path):
    tuned = make_rows(methods=("svm", "forest"), protocol="tuned")
    folders = [tmp_path / "paper", tmp_path / "tuned"]
    for folder, rows in zip(folders, (make_rows(), tuned), strict=True):
        RowFile(folder / "rows.jsonl").append(rows)
    output = tmp_path / "report.html"
    command(folders, output, graphs=False)
    assert output.read_text(encoding="utf-8") == make_report(make_rows() + tuned)


def test_the_command_adds_the_label_graphs_of_data_sets(command, tmp_path):
    rows = make_rows(("my_data", "cal500"), ("mam",))
    RowFile(tmp_path / "rows.jsonl").append(rows)
    output = tmp_path / "report.html"
    command([tmp_path], output)
    page = output.read_text(encoding="utf-8")
    assert page == make_report(rows, graphs=fit_label_graphs(rows))
    assert "Cal500: 174 labels" in text_of(page)


def test_the_command_says_so_when_it_fits(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("spanforest.paper.report._fits.load_dataset", small_circle)
    monkeypatch.setattr("spanforest.paper.report._fits.N_TREES", 2)
    rows = make_rows(("circle10", "circle50"), ("mam",))
    rows[0]["label_graph"] = graph_field()
    RowFile(tmp_path / "rows.jsonl").append(rows)
    output = tmp_path / "report.html"
    command([tmp_path], output)
    [line] = capsys.readouterr().err.splitlines()
    assert "hold no label graph of Circle50; small ensembles were fitted" in line
    text = text_of(output.read_text(encoding="utf-8"))
    assert "Fold 1 of 2: 5 trees" in text
    assert text.count("Fitted for this page") == 1

    command([tmp_path], output, graphs=False)
    assert capsys.readouterr().err == ""
    assert "Label graphs" not in text_of(output.read_text(encoding="utf-8"))


def test_the_command_says_what_is_missing(command, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"rows\.jsonl; expected the folder"):
        command([tmp_path], tmp_path / "report.html")
    with pytest.raises(FileNotFoundError, match="no folder"):
        command([tmp_path], tmp_path / "nowhere" / "report.html")
    assert not list(tmp_path.iterdir())


# The golden file


def masked(page):
    """A page without what stands in files of its own, and without the version."""
    page = re.sub(r"(<style>|<script>).*?(</)", r"\1…\2", page, flags=re.DOTALL)
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


# In a browser


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium to open the page in")
    with playwright.sync_playwright() as starter:
        browser = starter.chromium.launch(
            executable_path=program, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(make_report(example_rows()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """Open the page; every complaint and every request fails the test."""
    complaints, requests, contexts = [], [], []

    def open_page(url=address, width=1280, **options):
        viewport = {"width": width, "height": 800}
        contexts.append(browser.new_context(viewport=viewport, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(5000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert len(requests) == len(contexts)


def names_in_order(table):
    return table.locator("tbody th").all_inner_texts()


SCORES = ".measure-0 table"  # Table 2, the first measure


def test_the_table_can_be_read_in_a_browser(opened):
    table = opened().locator(SCORES).first
    rows = example_rows()
    means = {m: mean(rows, "emotions", m, MEASURES[0]) for m in METHODS}
    line = table.locator("tbody tr").first
    cells = line.locator("td").all_inner_texts()
    assert [cell.partition("±")[0] for cell in cells] == list(means.values())
    best = max(means, key=lambda method: float(means[method]))
    assert line.locator("strong").inner_text().startswith(means[best])
    assert cells[METHODS.index("mam")].split()[1:] == ["paper", "80.5±1.4"]


def test_columns_are_sorted_by_click_and_by_keyboard(opened):
    page = opened()
    table = page.locator(SCORES).first
    header = table.locator("thead th").nth(1 + METHODS.index("mtl"))
    button = header.locator("button")
    scores = {
        name: float(mean(make_rows(), dataset, "mtl", MEASURES[0]))
        for name, dataset in (("Emotions", "emotions"), ("my_data", "my_data"))
    }
    rising = [*sorted(scores, key=scores.__getitem__), "NCI60"]  # failed: always last
    falling = [*sorted(scores, key=scores.__getitem__, reverse=True), "NCI60"]
    given_order = ["Emotions", "NCI60", "my_data"]

    assert names_in_order(table) == given_order
    button.click()
    assert names_in_order(table) == falling
    assert header.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")  # the button keeps the focus
    assert names_in_order(table) == rising
    assert header.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert names_in_order(table) == given_order
    assert header.get_attribute("aria-sort") is None

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert table.locator("[aria-sort]").inner_text() == "MMCRF"
    table.locator("thead button").first.click()
    assert names_in_order(table) == ["Emotions", "my_data", "NCI60"]
    assert table.locator("[aria-sort]").inner_text() == "Data set"
    assert table.locator("tfoot th").first.inner_text() == "@Top2"


def curve_values(dataset, n_trees, measure=MEASURES[0]):
    """What a panel must show at a number of trees, computed from the rows."""
    values = {}
    for method in ENSEMBLES:
        rows = [make_row(dataset, method, fold) for fold in range(N_FOLDS)]
        scores = [row["curve"][measure][n_trees - 1] for row in rows]
        values[method.upper()] = 100 * np.mean(scores)
    members = [
        make_row(dataset, "mve", k)["members"][measure][0] for k in range(N_FOLDS)
    ]
    values["Mean member"] = 100 * np.mean(members)
    return {name: f"{value:.1f}" for name, value in values.items()}


def shown_values(panel):
    texts = panel.locator(".key").all_inner_texts()
    return dict(text.replace("\n", " ").rsplit(" ", 1) for text in texts)


def test_pointing_at_a_curve_shows_its_values_there(opened):
    page = opened()
    panel = page.locator(".panel").nth(1)
    assert shown_values(panel) == curve_values("nci60", N_TREES)
    plot = panel.locator(".plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    area = (36 / 300, 292 / 300)  # of the curves, as shares of the picture
    for n_trees in (1, 3, 4):
        share = np.interp(n_trees, (1, N_TREES), area)
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 20)
        assert panel.locator(".size").inner_text() == str(n_trees)
        assert shown_values(panel) == curve_values("nci60", n_trees)
        assert panel.locator(".crosshair").count() == 1
        dots = panel.locator("circle")
        assert dots.count() == 4
    page.mouse.move(0, 0)
    assert panel.locator(".crosshair").count() == 0
    assert shown_values(panel) == curve_values("nci60", N_TREES)


def test_arrow_keys_move_along_a_curve(opened):
    page = opened()
    panel = page.locator(".panel").first
    plot = panel.locator(".plot")
    plot.focus()
    moves = {"ArrowLeft": 4, "ArrowDown": 3, "ArrowRight": 4, "Home": 1, "End": N_TREES}
    for key, n_trees in moves.items():
        page.keyboard.press(key)
        values = curve_values("emotions", n_trees)
        assert shown_values(panel) == values
        assert plot.get_attribute("aria-valuenow") == str(n_trees)
        spoken = plot.get_attribute("aria-valuetext")
        assert spoken.startswith(f"{n_trees} of {N_TREES} trees: MVE {values['MVE']}")
    page.keyboard.press("PageDown")
    page.keyboard.press("Tab")
    assert shown_values(panel) == curve_values("emotions", N_TREES)
    assert page.locator(".plot").nth(1).evaluate("e => e === document.activeElement")


def test_the_dots_lie_on_the_curves(opened):
    page = opened()
    page.locator(".plot").first.focus()
    page.keyboard.press("ArrowLeft")
    for method in ENSEMBLES:
        path = page.locator(f".curve-{method}").first.get_attribute("d")
        x, y = map(float, path.lstrip("M").split("L")[-2].split())
        dot = page.locator(f"circle.dot-{method}").first
        assert float(dot.get_attribute("cx")) == pytest.approx(x, abs=0.01)
        assert float(dot.get_attribute("cy")) == pytest.approx(y, abs=0.01)


def test_one_measure_is_shown_at_a_time_and_all_on_paper(opened):
    page = opened()
    visible = (
        "() => [...document.querySelectorAll('.measure')].map(e => !!e.offsetHeight)"
    )
    parts = page.evaluate(visible)
    assert parts == [True, False, False] * 3  # scores, curves, ranks
    page.locator(".pick-0").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(visible) == [False, True, False] * 3
    assert page.locator(".picker").evaluate("e => getComputedStyle(e).position") == (
        "sticky"
    )
    page.emulate_media(media="print")
    assert all(page.evaluate(visible))
    assert not page.locator(".picker").is_visible()


def test_without_a_script_nothing_is_hidden_or_dead(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("button, [role=slider], .live:visible").count() == 0
    panel = page.locator(".panel").first
    assert panel.locator(".curve").count() == 4
    assert shown_values(panel) == curve_values("emotions", N_TREES)
    page.locator(".pick-2").check()
    assert page.locator(".measure-2 table").first.is_visible()
    assert not page.locator(".measure-0 table").first.is_visible()


CONTRASTS = """() => {
  const channels = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (e) => {
    for (; e; e = e.parentElement) {
      const colour = channels(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.getClientRects().length || e.tagName === 'SCRIPT') continue;
    const style = getComputedStyle(e);
    const ink = channels(e.ownerSVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(background(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push([e.outerHTML.slice(0, 80), ratio]);
  }
  return low;
}"""


@pytest.fixture(scope="module")
def full_address(tmp_path_factory):
    """The page with all there may be: many long names, both protocols, graphs."""
    pytest.importorskip("scikit_posthocs")
    methods = (*METHODS, "ecc", "forest", "logistic", "boomer", "mlknn")
    params = {"C": 0.3, "width": None}
    tuned = make_rows(methods=methods, protocol="tuned", params=params)
    graphs = [drawn_graph(6, "few", long_names=True), drawn_graph(14, "middling")]
    graphs += [drawn_graph(53, "many", long_names=True), drawn_graph(60, "most")]
    graphs.append(NoLabelGraph("Yeast", "its data are not here."))
    path = tmp_path_factory.mktemp("report") / "full.html"
    page = make_report(example_rows() + tuned, graphs=graphs)
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


SCROLLED = """() => [...document.querySelectorAll('body, body *')]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1)
  .filter((e) => /auto|scroll/.test(getComputedStyle(e).overflowX))
  .map((e) => e.outerHTML.slice(0, 80))"""

CUT_OFF = """() => [...document.querySelectorAll('svg text')]
  .filter((e) => e.getClientRects().length)
  .filter((e) => {
    const text = e.getBoundingClientRect();
    const picture = e.ownerSVGElement.getBoundingClientRect();
    return text.left < picture.left - 1 || text.right > picture.right + 1
      || text.top < picture.top - 4 || text.bottom > picture.bottom + 4
      || picture.right > innerWidth;
  })
  .map((e) => e.textContent)"""

SMALL_LETTERS = """() => [...document.querySelectorAll('svg text')]
  .filter((e) => e.getClientRects().length)
  .map((e) => [e.textContent, parseFloat(getComputedStyle(e).fontSize)
    * e.ownerSVGElement.getBoundingClientRect().width
    / e.ownerSVGElement.viewBox.baseVal.width])
  .filter(([_, size]) => size < 8.9)"""


def unfold(page):
    for part in page.locator("summary").all():
        if part.is_visible():
            part.click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window_and_can_be_read(opened, full_address, width, scheme):
    page = opened(full_address, width=width, color_scheme=scheme)
    unfold(page)
    wide, inner = page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert wide <= inner == width
    assert page.evaluate(CONTRASTS) == []
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate(SMALL_LETTERS) == []
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    is_light = int(re.findall(r"\d+", ground)[0]) > 127
    assert is_light == (scheme == "light")


def test_nothing_scrolls_sideways_on_a_phone(opened, full_address):
    page = opened(full_address, width=390)
    unfold(page)
    for number in range(len(MEASURES)):
        for picker in page.locator(f".pick-{number}").all():
            picker.check()
        assert page.evaluate(SCROLLED) == []


def test_a_line_of_a_wide_table_is_stacked_on_a_phone_and_names_its_values(opened):
    page = opened(width=390)
    table = page.locator(SCORES).first
    line = table.locator("tbody tr").first
    cells = line.locator("td")
    names = "e => getComputedStyle(e, '::before').content"
    assert [cell.evaluate(names) for cell in cells.all()] == [
        f'"{display_name(method)}"' for method in METHODS
    ]
    heights = {cell.bounding_box()["y"] for cell in cells.all()}
    assert len(heights) == 2  # of three each
    table.locator("thead button").nth(1 + METHODS.index("svm")).click()
    scores = {
        display_name(dataset): float(mean(make_rows(), dataset, "svm", MEASURES[0]))
        for dataset in DATASETS
    }
    falling = sorted(scores, key=scores.__getitem__, reverse=True)
    assert names_in_order(table) == falling


def test_nothing_is_cut_off_on_paper(opened, full_address):
    page = opened(full_address, width=703)  # A4 without its margins
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 703
    assert page.evaluate(CUT_OFF) == []
    boxes = "e => e.getBoundingClientRect().right"
    for table in page.locator("table").all():
        assert table.evaluate(boxes) <= 703


FAULTS = """() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (!document.documentElement.lang) faults.push('no language');
  if (!document.title) faults.push('no title');
  if (all('h1').length !== 1) faults.push('not one h1');
  if (all('main').length !== 1) faults.push('not one main');
  let level = 1;
  for (const h of all('h1, h2, h3, h4')) {
    if (Number(h.tagName[1]) > level + 1) faults.push('skips: ' + h.textContent);
    level = Number(h.tagName[1]);
  }
  const ids = all('[id]').map((e) => e.id);
  if (new Set(ids).size < ids.length) faults.push('an id occurs twice');
  for (const e of all('[aria-labelledby]'))
    if (!document.getElementById(e.getAttribute('aria-labelledby')))
      faults.push('no label: ' + e.getAttribute('aria-labelledby'));
  for (const a of all('a'))
    if (!document.getElementById(a.hash.slice(1))) faults.push('leads nowhere: ' + a);
  for (const b of all('th button, summary, a, legend, th'))
    if (!b.textContent.trim()) faults.push('no name: ' + b.outerHTML);
  for (const s of all('svg'))
    if (s.getAttribute('role') !== 'img' || !s.getAttribute('aria-label'))
      faults.push('picture without words');
  for (const t of all('thead th'))
    if (t.scope !== 'col') faults.push('header without scope');
  return faults;
}"""


def test_the_page_has_the_structure_that_assistive_programs_need(opened, full_address):
    page = opened(full_address)
    assert page.evaluate(FAULTS) == []
    headers = page.locator("table.sortable thead th").count()
    assert page.locator("table.sortable thead th > button").count() == headers
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    width = page.evaluate(
        "parseFloat(getComputedStyle(document.activeElement).outlineWidth)"
    )
    assert width >= 2  # the focus can be seen


def test_names_in_the_rows_run_no_script(opened, tmp_path):
    rows = make_rows((HOSTILE, "yeast"), ("svm", "mam", HOSTILE), protocol=HOSTILE)
    rows.append(failed_row("yeast", "mtl", error=HOSTILE, protocol=HOSTILE))
    path = tmp_path / "hostile.html"
    path.write_text(make_report(rows), encoding="utf-8")
    page = opened(path.as_uri())
    assert page.evaluate("window.harmed") is None
    assert page.locator("img").count() == 0
    assert page.locator(f"{SCORES} tbody th").nth(1).inner_text() == HOSTILE
    assert page.evaluate(FAULTS) == []


def test_the_numbers_of_the_curves_are_embedded_as_json():
    page = make_report(make_rows())
    [text] = re.findall(r'id="curve-data">(.*?)</script>', page)
    panels = json.loads(text)["panels"]
    assert len(panels) == len(MEASURES) * len(DATASETS)
    for n_trees in range(1, N_TREES + 1):
        expected = list(curve_values("emotions", n_trees).values())
        assert [texts[n_trees - 1] for texts in panels[0]["text"]] == expected
