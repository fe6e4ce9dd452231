"""What the page says about one protocol: scores, curves, ranks, time and training."""

import re
from collections.abc import Sequence

from spanforest.experiments import (
    MEASURES,
    compare_ranks,
    display_name,
    learning_curves,
    performance_table,
)
from spanforest.report._collect import (
    Run,
    gap_block,
    parameter_block,
    seconds_block,
)
from spanforest.report._curves import Panel, panel_figure
from spanforest.report._html import Html, element
from spanforest.report._ranks import rank_diagram
from spanforest.report._tables import html_table, notes_list, scroll_box

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
    left_out = None
    if run.left_out:
        left_out = f"Left out, under other settings: {'; '.join(run.left_out)}."
    return element(
        "section",
        element("h2", title, id=section_id(run, "protocol")),
        element("p", f"{settings.capitalize()}. {explanation}"),
        element("p", left_out, class_="notice") if left_out else None,
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
    heading = element("h3", "Average ranks", id=section_id(run, "ranks"))
    if len(run.datasets) < 2 or len(run.methods) < 3:
        return []
    explanation = element(
        "p",
        "Methods ranked on each data set, 1 for the best, and averaged. Bars join "
        "those that Nemenyi's test does not tell apart at the level of 5 %.",
    )
    diagrams = []
    for number, measure in enumerate(MEASURES):
        try:
            parts = _rank_parts(run, measure)
        except ValueError:
            parts = _no_ranks(
                measure,
                "fewer than 3 methods have a score of all folds on every data set.",
            )
        except ImportError as error:
            parts = _no_ranks(measure, str(error))
        diagrams.append(_of_measure(number, *parts))
    return [heading, explanation, *diagrams]


def _no_ranks(measure: str, reason: str) -> Sequence[Html | None]:
    notice = element("p", f"No comparison: {reason}", class_="notice")
    return element("h4", display_name(measure)), notice


def _rank_parts(run: Run, measure: str) -> Sequence[Html | None]:
    comparison = compare_ranks(run.folds, measure, run.settings.protocol)
    layout = comparison.layout()
    label = section_id(run, "ranks", measure)
    return (
        element("h4", display_name(measure), id=label),
        scroll_box(rank_diagram(comparison), label, "diagram"),
        element(
            "details",
            element("summary", "Ranks in numbers"),
            html_table(layout.blocks[0], label),
        ),
        notes_list(layout.notes),
    )


def _training(run: Run) -> list[Html | None]:
    return [*_seconds(run), *_gaps(run), _parameters(run)]


def _seconds(run: Run) -> list[Html]:
    block = seconds_block(run)
    if block is None:
        return []
    label = section_id(run, "seconds")
    return [
        element("h3", "Seconds", id=label),
        element(
            "p",
            "Mean of a fold: training, and predicting as the second value. MVE, AMM "
            "and MAM come from one training.",
        ),
        html_table(block, label, second="predicting"),
    ]


def _gaps(run: Run) -> list[Html]:
    block = gap_block(run)
    if block is None:
        return []
    label = section_id(run, "gaps")
    return [
        element("h3", "Duality gaps", id=label),
        element(
            "p",
            "How far training was from its optimum at most, in per cent of the dual "
            "objective: the largest of all members and folds.",
        ),
        html_table(block, label),
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
