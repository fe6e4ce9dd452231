"""The page: its data, put into templates, in one file without a network."""

import re
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from spanforest._html import Templates, page_style
from spanforest._wording import count
from spanforest.metrics import MEASURES
from spanforest.paper import (
    DATASETS,
    METHODS,
    Block,
    Row,
    dataset_table,
    display_name,
    in_order,
    spelled_out,
)
from spanforest.paper.report._graph_sources import (
    GraphSource,
    graph_of_model,
    graphs_of_runs,
)
from spanforest.paper.report._pictures import AREA
from spanforest.paper.report._run_facts import (
    Fact,
    circumstance_facts,
    duration,
    failures,
    measured_seconds,
)
from spanforest.paper.report._sections import GraphArticle, protocol_section
from spanforest.paper.report._shown_runs import Run, find_runs

_LONG_NOTE = 300  # letters; the note of an unfinished run lists every missing cell


def make_report(rows: Iterable[Row], models: Sequence[str | PathLike[str]] = ()) -> str:
    """Return a page of HTML about runs of the experiment.

    The page is one file: it contains styles, script and figures, and requests nothing
    from any network. The same rows give the same page.

    Parameters
    ----------
    rows : iterable of dict
        What `spanforest.paper.run` wrote, as `RowFile` reads it.
    models : sequence of path, default=()
        Files of `spanforest.persistence.save`. The page shows their label graphs after
        those of the rows.

    Returns
    -------
    str
        The page. Each protocol has a section. If results have different settings, the
        page shows the settings with most results, and a quick run only if there is no
        other. Results whose parameters would be chosen otherwise today are shown only
        if there are no others. The page names what it leaves out.

    Raises
    ------
    ValueError
        If no row is a result, or if a model has no label graph that can be drawn.
    ImportError
        If matplotlib or Jinja2 is not installed.

    Examples
    --------
    >>> from spanforest.paper.report import make_report
    >>> def row(method, score):
    ...     return {"kind": "fold", "protocol": "paper", "dataset": "emotions",
    ...             "method": method, "fold": 0, "seed": 0, "n_folds": 1,
    ...             "n_trees": 60, "scores": dict.fromkeys(
    ...                 ("microlabel_accuracy", "multilabel_accuracy",
    ...                  "microlabel_f1"), score),
    ...             "data": {"n_samples": 593, "n_labels": 6, "n_features": 72,
    ...                      "cardinality": 1.87, "density": 0.31}}
    >>> page = make_report([row("svm", 0.75), row("mam", 0.8)])
    >>> page.count("<table"), "<strong>80.0" in page
    (4, True)
    """
    runs = find_runs(rows)
    sources = [*graphs_of_runs(runs), *map(graph_of_model, map(Path, models))]
    return _templates().render(**_contents(runs, sources))


def _contents(runs: Sequence[Run], sources: Sequence[GraphSource]) -> dict[str, Any]:
    """Return what the template shows: facts, tables and figures."""
    with page_style():
        sections = [protocol_section(run) for run in runs]
        graphs = [GraphArticle.of(one, one.display) for one in sources if one.display]
    panels = [panel for each in sections for row in each.curves for panel in row]
    datasets = in_order((name for run in runs for name in run.datasets), DATASETS)
    methods = in_order((name for run in runs for name in run.methods), METHODS)
    size = f"{count(len(datasets), 'data set')}, {count(len(methods), 'method')}"
    contents = {"Data sets": datasets, "Methods": methods}
    listed = (
        Fact(what, f"{len(keys)}: {', '.join(map(display_name, keys))}")
        for what, keys in contents.items()
    )
    return {
        "title": f"spanforest: {size}",
        "size": size,
        "abbreviations": spelled_out(methods),
        "facts": [*listed, *_facts(runs)],
        "failures": [
            (run.settings.protocol, failure)
            for run in runs
            for failure in failures(run)
        ],
        "data_table": dataset_table(row for run in runs for row in run.folds).layout(),
        "sections": sections,
        "graphs": graphs,
        "missing_graphs": [
            f"{one.name}: {one.text}" for one in sources if not one.display
        ],
        "curve_data": {"area": AREA, "panels": [panel.data for panel in panels]},
    }


def _templates() -> Templates:
    templates = Templates("spanforest.paper.report")
    environment = templates.environment
    environment.globals["measures"] = MEASURES
    environment.tests["number"] = _is_number
    environment.filters["word_columns"] = _word_columns
    environment.filters["split_places"] = lambda note: note.rsplit(": ", 1)
    environment.tests["long_note"] = lambda note: (
        len(note) > _LONG_NOTE and note.startswith("†")
    )
    return templates


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", text) is not None


def _word_columns(block: Block) -> list[bool]:
    """Tell which columns of a table have words; a dash among numbers is no word."""
    columns = zip(*(line.entries for line in block.lines), strict=True)
    values = [[entry.value for entry in column if entry.value] for column in columns]
    return [
        False,
        *(bool(texts) and not any(map(_is_number, texts)) for texts in values),
    ]


def _facts(runs: Sequence[Run]) -> Iterator[Fact]:
    """Yield facts about protocols, results, time and circumstances."""
    for run in runs:
        yield Fact("Protocol", str(run.settings).removeprefix("protocol "))
    folds = [row for run in runs for row in run.folds]
    n_failed = sum(row.get("error") is not None for row in folds)
    yield Fact("Results", f"{count(len(folds), 'result')}, {n_failed or 'none'} failed")
    seconds = zip(*map(measured_seconds, runs), strict=True)
    choose, fit, predict = (sum(each) for each in seconds)
    total = choose + fit + predict
    if total:
        yield Fact(
            "Time",
            f"{duration(total)} of one core, by the clock: {duration(choose)} choosing "
            f"parameters, {duration(fit)} training, {duration(predict)} predicting",
        )
    yield from circumstance_facts(
        [*folds, *(row for run in runs for row in run.choices)]
    )
