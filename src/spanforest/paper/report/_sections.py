"""What the page says about one protocol: scores, curves, ranks, time and training."""

import re

from spanforest.metrics import MEASURES
from spanforest.paper import (
    Block,
    PerformanceTable,
    compare_ranks,
    display_name,
    learning_curves,
    performance_table,
)
from spanforest.paper.report._collect import (
    Run,
    gap_block,
    parameter_block,
    seconds_block,
)
from spanforest.paper.report._curves import Panel, panel_figure
from spanforest.paper.report._html import Html, element
from spanforest.paper.report._ranks import rank_diagram
from spanforest.paper.report._tables import html_table, notes_list

PROTOCOL_TITLES = {"paper": "The paper's protocol", "tuned": "Tuned protocol"}
_EXPLANATIONS = {
    "paper": "Parameters are chosen once for a data set, on a tenth of it.",
    "tuned": "Parameters are chosen in every fold, on its training part.",
}


def protocol_section(run: Run, panels: list[Panel]) -> Html:
    """Give all about one protocol; its learning curves are appended to `panels`."""
    protocol = run.settings.protocol
    title = PROTOCOL_TITLES.get(protocol, f"Protocol {protocol}")
    settings = str(run.settings).partition("; ")[2]
    explanation = _EXPLANATIONS.get(protocol, "")
    notices = []
    if run.left_out:
        notices.append(f"Left out: {'; '.join(run.left_out)}.")
    if run.is_outdated:
        notices.append(
            "Parameters were chosen otherwise than the protocol does today: "
            "`spanforest reproduce` would make these results anew."
        )
    return element(
        "section",
        element("h2", title, id=section_id(run, "protocol")),
        element("p", f"{settings.capitalize()}. {explanation}"),
        *(element("p", notice, class_="notice") for notice in notices),
        element(
            "div",
            _picker(protocol),
            *_scores(run),
            *_curves(run, panels),
            *_ranks(run),
            class_="measures",
        ),
        *_training(run),
        class_="protocol",
    )


def _picker(protocol: str) -> Html:
    """Let the reader choose which measure is shown; without styles all are."""
    choices = []
    for number, measure in enumerate(MEASURES):
        button = element(
            "input",
            type="radio",
            name=f"measure-{protocol}",
            class_=f"pick-{number}",
            checked=number == 0,
        )
        text = element("span", display_name(measure))
        choices.append(element("label", button, text))
    legend = element("legend", "Measure", class_="unseen")
    return element("fieldset", legend, *choices, class_="picker")


def _of_measure(number: int, *parts: Html | None) -> Html:
    return element("div", *parts, class_=f"measure measure-{number}")


def _hint(text: str) -> Html:
    """Say what the script of the page can do; it shows the hint itself."""
    return element("span", f" {text}", class_="live", hidden=True)


def section_id(run: Run, part: str, measure: str = "") -> str:
    """Give the id of a part of a section; spaces would make it two."""
    words = filter(None, (part, run.settings.protocol, measure))
    return re.sub(r"[^\w-]+", "-", "-".join(words))


def _scores(run: Run) -> list[Html | None]:
    layout = performance_table(run.folds, run.settings.protocol).layout()
    parts: list[Html | None] = [
        element("h3", "Scores", id=section_id(run, "scores")),
        element(
            "p",
            "Table 2 of the paper: mean and deviation over folds, in per cent; the "
            "second value is the paper's.",
            _hint("Press a column's name to sort."),
        ),
    ]
    for number, (measure, block) in enumerate(
        zip(MEASURES, layout.blocks, strict=True)
    ):
        label = section_id(run, "scores", measure)
        heading = element("h4", block.title, id=label)
        parts.append(_of_measure(number, heading, html_table(block, label)))
    return [*parts, notes_list(layout.notes)]


def _curves(run: Run, panels: list[Panel]) -> list[Html | None]:
    found = learning_curves(run.folds, run.settings.protocol)
    if not found:
        return []
    parts: list[Html | None] = [
        element("h3", "Learning curves", id=section_id(run, "curves")),
        element(
            "p",
            "Score in per cent of the first 1, 2, … members of the ensembles against "
            "their number; each data set on a scale of its own.",
            _hint(
                "Point at a panel, or go to it and use the arrow keys, to read off the "
                "values."
            ),
        ),
    ]
    for number, measure in enumerate(MEASURES):
        of_measure = [Panel.of(curves, measure) for curves in found.values()]
        panels += of_measure
        heading = element("h4", display_name(measure))
        grid = element("div", *map(panel_figure, of_measure), class_="panels")
        parts.append(_of_measure(number, heading, grid))
    return parts


def _ranks(run: Run) -> list[Html | None]:
    if len(run.datasets) < 2 or len(run.methods) < 3:
        return []
    explanation = element(
        "p",
        "Methods ranked on each data set, 1 for the best, and averaged. Bars join "
        "those that Nemenyi's test does not tell apart at the level of 5 %.",
    )
    table = performance_table(run.folds, run.settings.protocol)
    diagrams = []
    for number, measure in enumerate(MEASURES):
        label = section_id(run, "ranks", measure)
        heading = element("h4", display_name(measure), id=label)
        diagrams.append(_of_measure(number, heading, *_ranking(run, table, measure)))
    heading = element("h3", "Average ranks", id=section_id(run, "ranks"))
    return [heading, explanation, *diagrams]


def _ranking(run: Run, table: PerformanceTable, measure: str) -> list[Html | None]:
    whole = [
        method
        for method in table.methods
        if all(table.cell(measure, each, method).rank for each in table.datasets)
    ]
    if len(whole) < 3:
        return _no_ranking(
            "fewer than 3 methods have a score of all folds on every data set."
        )
    try:
        comparison = compare_ranks(run.folds, measure, run.settings.protocol)
    except ImportError as error:
        return _no_ranking(str(error))
    layout = comparison.layout()
    label = section_id(run, "ranks", measure)
    return [
        rank_diagram(comparison),
        element(
            "details",
            element("summary", "Ranks in numbers"),
            html_table(layout.blocks[0], label),
        ),
        notes_list(layout.notes),
    ]


def _no_ranking(reason: str) -> list[Html | None]:
    return [element("p", f"No comparison: {reason}", class_="notice")]


def _training(run: Run) -> list[Html | None]:
    return [
        *_titled(
            run,
            "Seconds",
            "Mean of a fold: training, and predicting as the second value. MVE, AMM "
            "and MAM come from one training.",
            seconds_block(run),
            second="predicting",
        ),
        *_titled(
            run,
            "Duality gaps",
            "How far training was from its optimum at most, in per cent of the dual "
            "objective: the largest of all members and folds.",
            gap_block(run),
        ),
        _parameters(run),
    ]


def _titled(
    run: Run, title: str, explanation: str, block: Block | None, second: str = "paper"
) -> list[Html]:
    if block is None:
        return []
    label = section_id(run, title.lower())
    return [
        element("h3", title, id=label),
        element("p", explanation),
        html_table(block, label, second),
    ]


def _parameters(run: Run) -> Html | None:
    block = parameter_block(run)
    if block is None:
        return None
    label = section_id(run, "parameters")
    has_width = any("width" in (row.get("params") or {}) for row in run.folds)
    explanation = (
        "In how many folds, where they differ. With a width the kernel is Gaussian; "
        "without one it is the data set's own."
    )
    return element(
        "details",
        element("summary", "Chosen parameters", id=label),
        element("p", explanation) if has_width else None,
        html_table(block, label),
    )
