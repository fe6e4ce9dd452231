"""The page: which parts it has, in which order, in one file without a network."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from string import Template

from spanforest import __version__
from spanforest._wording import count
from spanforest.paper import (
    DATASETS,
    METHODS,
    Row,
    dataset_table,
    display_name,
    in_order,
)
from spanforest.paper.report._collect import (
    Fact,
    Run,
    circumstance_facts,
    duration,
    failures,
    find_runs,
    measured_seconds,
)
from spanforest.paper.report._curves import Panel, script_data
from spanforest.paper.report._html import Html, element, together
from spanforest.paper.report._label_graph import LabelGraph, NoLabelGraph, graph_section
from spanforest.paper.report._models import read_label_graph
from spanforest.paper.report._sections import (
    PROTOCOL_TITLES,
    protocol_section,
    section_id,
)
from spanforest.paper.report._tables import html_table, notes_list


def make_report(
    rows: Iterable[Row],
    models: Sequence[str | PathLike[str]] = (),
    graphs: Sequence[LabelGraph | NoLabelGraph] = (),
) -> str:
    """Give a page of HTML about a run of the experiment.

    It is one file: styles, script and figures are in it, and it asks for nothing from
    any network. The same rows give the same page.

    Parameters
    ----------
    rows : iterable of dict
        What `spanforest.paper.run` wrote, as `RowFile` reads it.
    models : sequence of path, default=()
        Files of `spanforest.persistence.save` whose label graphs are shown.
    graphs : sequence of LabelGraph or NoLabelGraph, default=()
        More label graphs, of `read_label_graphs` or `fit_label_graphs`.

    Returns
    -------
    str
        The page. Each protocol has a section; of results under different settings,
        those with most results are shown, a quick run only if there is no other. Nor
        are results shown whose parameters would be chosen otherwise today, unless
        there are no others. It is said what was left out.

    Raises
    ------
    ValueError
        If no row is a result, or if a model has no label graph that can be drawn.

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
    graphs = [*graphs, *(read_label_graph(Path(path)) for path in models)]
    panels: list[Panel] = []
    sections = [_data_section(runs)]
    sections += [protocol_section(run, panels) for run in runs]
    sections += [graph_section(graphs)] if graphs else []
    style, script = _resource("page.css"), _resource("page.js")
    datasets, methods = _datasets(runs), _methods(runs)
    summary = f"{count(len(datasets), 'data set')}, {count(len(methods), 'method')}"
    return Template(_resource("page.html")).substitute(
        title=together([f"spanforest: {summary}"]),
        heading="Random graph ensembles: results",
        version=__version__,
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        facts=_facts(runs),
        contents=_contents(runs, has_graphs=bool(graphs)),
        body=together(sections),
        data=script_data(panels),
    )


def _resource(name: str) -> str:
    text = files("spanforest.paper.report").joinpath(name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def _hash(text: str) -> str:
    """Give what the page's policy calls a style or script by: no other is run."""
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _datasets(runs: Sequence[Run]) -> tuple[str, ...]:
    return in_order((name for run in runs for name in run.datasets), DATASETS)


def _methods(runs: Sequence[Run]) -> tuple[str, ...]:
    return in_order((name for run in runs for name in run.methods), METHODS)


def _facts(runs: Sequence[Run]) -> Html:
    """Say what was run, how long it took, where, and what failed."""
    rows = [row for run in runs for row in (*run.folds, *run.choices)]
    datasets, methods = _datasets(runs), _methods(runs)
    facts = [
        Fact("Data sets", f"{len(datasets)}: {_listed(datasets)}"),
        Fact("Methods", f"{len(methods)}: {_listed(methods)}"),
        *(
            Fact("Protocol", str(run.settings).removeprefix("protocol "))
            for run in runs
        ),
        Fact("Results", _outcome(runs)),
        Fact("Time", _time(runs)),
        *circumstance_facts(rows),
    ]
    items = [
        element("div", element("dt", fact.name), element("dd", fact.text))
        for fact in facts
        if fact.text
    ]
    return together([element("dl", *items, class_="facts"), _failure_list(runs)])


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(map(display_name, keys))


def _outcome(runs: Sequence[Run]) -> str:
    folds = [row for run in runs for row in run.folds]
    n_failed = sum(row.get("error") is not None for row in folds)
    failed = f"{n_failed} failed" if n_failed else "none failed"
    return f"{count(len(folds), 'result')}, {failed}"


def _time(runs: Sequence[Run]) -> str:
    seconds = [measured_seconds(run) for run in runs]
    choose, fit, predict = (sum(part) for part in zip(*seconds, strict=True))
    total = choose + fit + predict
    if not total:
        return ""
    return (
        f"{duration(total)} of one core, by the clock: {duration(choose)} choosing "
        f"parameters, "
        f"{duration(fit)} training, {duration(predict)} predicting"
    )


def _failure_list(runs: Sequence[Run]) -> Html | None:
    items = []
    for run in runs:
        protocol = f", protocol {run.settings.protocol}" if len(runs) > 1 else ""
        for failure in failures(run):
            where = (
                f"{failure.method} on {failure.dataset}, {failure.folds}{protocol}: "
            )
            items.append(element("li", where, element("code", failure.message)))
    if not items:
        return None
    title = element("h2", "Failures", id="failures")
    return element("section", title, element("ul", *items), class_="failures")


def _contents(runs: Sequence[Run], *, has_graphs: bool) -> Html:
    links = [("data", "Data sets")]
    for run in runs:
        protocol = run.settings.protocol
        title = PROTOCOL_TITLES.get(protocol, protocol)
        links.append((section_id(run, "protocol"), title))
    links += [("graphs", "Label graphs")] if has_graphs else []
    items = (element("li", element("a", text, href=f"#{id_}")) for id_, text in links)
    return element("nav", element("ul", *items), aria_label="Contents")


def _data_section(runs: Sequence[Run]) -> Html:
    layout = dataset_table(row for run in runs for row in run.folds).layout()
    return element(
        "section",
        element("h2", "Data sets", id="data"),
        element("p", "Table 1 of the paper. The second value is the paper's."),
        html_table(layout.blocks[0], "data"),
        notes_list(layout.notes),
    )
