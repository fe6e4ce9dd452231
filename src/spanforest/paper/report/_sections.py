"""What the page says about one protocol and about label graphs."""

import re
from typing import NamedTuple

from spanforest._html import draw_label_graph, edge_ends, strength_text
from spanforest.metrics import MEASURES
from spanforest.paper import (
    Block,
    Entry,
    Line,
    PerformanceTable,
    RankComparison,
    compare_ranks,
    learning_curves,
    performance_table,
)
from spanforest.paper.report._graph_sources import GraphSource
from spanforest.paper.report._pictures import Panel, draw_panel, draw_ranks
from spanforest.paper.report._run_facts import gap_block, parameter_block, seconds_block
from spanforest.paper.report._shown_runs import Run
from spanforest.paper.report._verdicts import ALPHA, Verdict, ranked_methods, verdict
from spanforest.plots import LabelGraphDisplay
from spanforest.plots._label_graph import EDGE_KINDS

N_EDGES = 20  # in the table of the strongest edges
_TITLES = {"paper": "The paper's protocol", "tuned": "Tuned protocol"}
_EXPLANATIONS = {
    "paper": "Parameters are chosen once for a data set, on a tenth of it.",
    "tuned": "Parameters are chosen in every fold, on its training examples.",
}


class Ranking(NamedTuple):
    """Comparison of the methods by one measure, or the reason why there is none."""

    problem: str = ""
    picture: str = ""  # empty if the diagram would show no difference
    block: Block | None = None
    notes: tuple[str, ...] = ()


class ProtocolSection(NamedTuple):
    """Results of one protocol; lists have an item for each measure."""

    key: str  # the protocol, as ids may have it
    title: str
    text: str
    verdicts: list[Verdict]
    notices: list[str]
    scores: list[Block]
    notes: tuple[str, ...]
    curves: list[list[Panel]]  # empty if no row has curves
    ranks: list[Ranking]  # empty if there are too few methods or data sets
    seconds: Block | None
    gaps: Block | None
    parameters: Block | None
    has_width: bool  # whether the width of a kernel is among the parameters


def protocol_section(run: Run) -> ProtocolSection:
    """Compute the tables and draw the figures of a run."""
    protocol = run.settings.protocol
    settings = str(run.settings).partition("; ")[2].capitalize()
    table = performance_table(run.folds, protocol)
    layout = table.layout()
    curves = learning_curves(run.folds, protocol).values()
    has_ranks = len(run.datasets) >= 2 and len(run.methods) >= 3
    measures = MEASURES if has_ranks else ()
    compared = {measure: _comparison(run, table, measure) for measure in measures}
    tests = {
        measure: comparison
        for measure, comparison in compared.items()
        if isinstance(comparison, RankComparison)
    }
    return ProtocolSection(
        key=re.sub(r"[^\w-]+", "-", protocol),
        title=_TITLES.get(protocol, f"Protocol {protocol}"),
        text=f"{settings}. {_EXPLANATIONS.get(protocol, '')}",
        verdicts=[verdict(table, measure, tests.get(measure)) for measure in MEASURES],
        notices=_notices(run),
        scores=list(layout.blocks),
        notes=layout.notes,
        curves=[
            [draw_panel(each, measure) for each in curves]
            for measure in MEASURES
            if curves
        ],
        ranks=[_ranking(compared[measure]) for measure in compared],
        seconds=seconds_block(run),
        gaps=gap_block(run),
        parameters=parameter_block(run),
        has_width=any("width" in (row.get("params") or {}) for row in run.folds),
    )


def _notices(run: Run) -> list[str]:
    notices = []
    if run.left_out:
        notices.append(f"Left out: {'; '.join(run.left_out)}.")
    if run.is_outdated:
        notices.append(
            "Parameters were chosen otherwise than the protocol does today: "
            "`spanforest reproduce` would compute these results again."
        )
    return notices


def _comparison(
    run: Run, table: PerformanceTable, measure: str
) -> RankComparison | str:
    """Compare the ranks of the methods, or return the reason why this fails."""
    if len(ranked_methods(table, measure)) < 3:
        return "fewer than 3 methods have a score of all folds on every data set."
    try:
        return compare_ranks(run.folds, measure, run.settings.protocol)
    except ImportError as error:
        return str(error)


def _ranking(comparison: RankComparison | str) -> Ranking:
    """Draw the diagram where the tests tell at least two methods apart."""
    if isinstance(comparison, str):
        return Ranking(comparison)
    has_difference = comparison.p_value < ALPHA and (comparison.nemenyi < ALPHA).any()
    layout = comparison.layout()
    picture = draw_ranks(comparison) if has_difference else ""
    return Ranking("", picture, layout.blocks[0], layout.notes)


class GraphArticle(NamedTuple):
    """A label graph as the page shows it."""

    source: GraphSource
    picture: str
    n_labels: int
    n_shown: int  # edges in the picture
    kinds: dict[str, str]  # of edges, with their texts
    strongest: Block

    @classmethod
    def of(cls, source: GraphSource, display: LabelGraphDisplay) -> "GraphArticle":
        """Draw a graph and list its strongest edges."""
        edges = display.shown_edges
        kinds = {display.edge_kind(e) for e in edges}
        lines = []
        for e in edges[:N_EDGES]:
            one, other = edge_ends(display, e)
            entries = (Entry(other), Entry(strength_text(display, e)))
            lines.append(Line(one, entries))
        return cls(
            source,
            draw_label_graph(display, source.name),
            len(display.label_names),
            len(edges),
            {key: text for key, (text, _) in EDGE_KINDS.items() if key in kinds},
            Block("", ("Label", "Label", "Coupling"), tuple(lines)),
        )
