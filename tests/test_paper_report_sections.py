"""Sections of the page: one per protocol, and one per label graph."""

import numpy as np
import pytest
from report_rows import graded, make_rows

from spanforest.diagnostics import Couplings
from spanforest.metrics import MEASURES
from spanforest.paper.report._graph_sources import GraphSource
from spanforest.paper.report._sections import N_EDGES, GraphArticle, protocol_section
from spanforest.paper.report._shown_runs import find_runs
from spanforest.plots import LabelGraphDisplay


def section_of(rows):
    [run] = find_runs(rows)
    return protocol_section(run)


def test_every_measure_has_a_verdict_scores_curves_and_ranks():
    section = section_of(make_rows())
    assert len(section.scores) == len(section.curves) == len(MEASURES)
    assert len(section.verdicts) == len(section.ranks) == len(MEASURES)
    assert all(ranking.block and not ranking.problem for ranking in section.ranks)
    assert section.title == "The paper's protocol"


def test_a_diagram_is_drawn_where_the_tests_tell_methods_apart():
    pytest.importorskip("scikit_posthocs")
    datasets = [f"set {k}" for k in range(6)]
    for rows, has_picture in (
        (graded(make_rows(datasets)), True),
        (make_rows(datasets[:2]), False),
    ):
        ranks = section_of(rows).ranks
        assert [bool(ranking.picture) for ranking in ranks] == [has_picture] * 3


@pytest.mark.parametrize(
    "rows", [make_rows(("emotions",)), make_rows(methods=("svm", "mam"))]
)
def test_few_data_sets_or_methods_have_no_ranks(rows):
    assert section_of(rows).ranks == []


def test_methods_that_lack_a_data_set_are_the_reason_for_missing_ranks():
    rows = [
        row
        for row in make_rows(methods=("svm", "mtl", "mam"))
        if (row["dataset"], row["method"]) != ("nci60", "mtl")
    ]
    assert {ranking.problem for ranking in section_of(rows).ranks} == {
        "fewer than 3 methods have a score of all folds on every data set."
    }


def test_a_label_graph_lists_its_strongest_edges_first():
    edges = np.argwhere(np.triu(np.ones((9, 9)), k=1))
    strength = np.linspace(-1.0, 0.5, len(edges))
    couplings = Couplings(edges, strength, np.ones(len(edges), dtype=bool))
    names = [f"L{j}" for j in range(9)]
    display = LabelGraphDisplay(couplings, np.full(9, 0.5), names, max_edges=99)
    article = GraphArticle.of(GraphSource("a graph", "", display), display)
    assert (article.n_labels, article.n_shown) == (9, len(edges))
    lines = article.strongest.lines
    assert len(lines) == N_EDGES
    assert (lines[0].name, lines[0].entries[0].value) == ("L0", "L1")
    sizes = [abs(float(line.entries[1].value)) for line in lines]
    assert sizes == sorted(sizes, reverse=True)
