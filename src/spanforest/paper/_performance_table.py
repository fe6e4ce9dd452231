"""The paper's Table 2, prediction performance, from rows alone."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from spanforest.metrics import MEASURES
from spanforest.paper._dataset_table import SECOND_VALUE, data_notes
from spanforest.paper._names import METHODS, display_name, in_order
from spanforest.paper._published import (
    DATASETS,
    NOT_PUBLISHED,
    PAPER_METHODS,
    TABLE_2,
    Mark,
    PublishedScore,
    marks,
    printed_ranks,
    published_top2,
)
from spanforest.paper._row_selection import RunSettings, select_folds
from spanforest.paper._rows import Row
from spanforest.paper._table_formats import Block, Entry, Layout, Line, Table

State = Literal["value", "no positives", "failed", "absent"]


@dataclass(frozen=True)
class Cell:
    """Score of a method on a data set by one measure, over folds and seeds."""

    state: State
    mean: float | None = None  # percent
    deviation: float | None = None  # percent, ddof=1; None for a single fold
    n_folds: int = 0  # folds, over all seeds, that the mean is over
    n_failed: int = 0
    n_missing: int = 0  # folds that were not run, of the seeds in the rows
    rank: int | None = None  # 1 is best; None if the cell is not ranked
    mark: Mark = ""
    paper: PublishedScore | None = None

    @property
    def is_partial(self) -> bool:
        """Whether some folds succeeded, but not all of them."""
        return self.n_folds > 0 and self.n_failed + self.n_missing > 0


@dataclass(frozen=True)
class PerformanceTable(Table):
    """Table 2: data sets x methods for each measure, beside the paper's own numbers.

    A cell is the mean over folds and seeds, in percent, with the sample deviation
    (divisor n - 1). The rank of a cell in its line is one more than the number of
    methods that are better at the printed precision of one decimal. So ties share a
    rank, and two best cells leave no second best. These rules reproduce every @Top2
    count of the paper. The best cell is bold and the second best italic; no cell is
    marked if all methods tie. '-' stands for an F1 score without any positive
    prediction. Such a cell is not ranked. Nor is a cell with failed or missing folds,
    whose mean is over other folds than the others.
    """

    settings: RunSettings
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    cells: Mapping[tuple[str, str, str], Cell]  # by measure, data set and method
    notes: tuple[str, ...]

    def cell(self, measure: str, dataset: str, method: str) -> Cell:
        """Return one cell; its state is "absent" if the method was not run."""
        return self.cells[measure, dataset, method]

    def top2(self, measure: str, among: Iterable[str] | None = None) -> dict[str, int]:
        """Count the data sets on which each method is at least second best.

        Parameters
        ----------
        measure : str
            One of `spanforest.metrics.MEASURES`.
        among : iterable of str, optional
            The methods to compare; all of the table by default. The others are ignored.
        """
        compared = set(self.methods if among is None else among)
        methods = [method for method in self.methods if method in compared]
        counts = dict.fromkeys(methods, 0)
        for dataset in self.datasets:
            line = [self.cells[measure, dataset, method] for method in methods]
            means = [None if cell.rank is None else cell.mean for cell in line]
            for method, rank in zip(methods, printed_ranks(means), strict=True):
                counts[method] += rank in (1, 2)
        return counts

    def layout(self) -> Layout:
        """Return captions, entries and notes as text, without any format."""
        return Layout(
            caption=(
                "Prediction performance in percent, mean and deviation over folds "
                f"({self.settings})."
            ),
            blocks=tuple(map(self._block, MEASURES)),
            notes=self.notes,
        )

    def _block(self, measure: str) -> Block:
        lines = []
        for dataset in self.datasets:
            cells = (self.cells[measure, dataset, method] for method in self.methods)
            lines.append(Line(display_name(dataset), tuple(map(_entry, cells))))
        return Block(
            title=display_name(measure),
            header=("Data set", *map(display_name, self.methods)),
            lines=tuple(lines),
            footer=tuple(self._counts(measure)),
        )

    def _counts(self, measure: str) -> Iterator[Line]:
        """Count @Top2 as the paper does, among its methods, and among all."""
        own = [method for method in self.methods if method in PAPER_METHODS]
        if own:
            published = published_top2(measure, self.datasets)
            yield self._count_line("@Top2", self.top2(measure, own), published)
        if len(own) < len(self.methods):
            name = "@Top2 of all" if own else "@Top2"
            yield self._count_line(name, self.top2(measure), {})

    def _count_line(
        self, name: str, counts: Mapping[str, int], published: Mapping[str, int]
    ) -> Line:
        emphasis = marks(printed_ranks([counts.get(method) for method in self.methods]))
        entries = []
        for method, mark in zip(self.methods, emphasis, strict=True):
            value, paper = (str(each.get(method, "")) for each in (counts, published))
            entries.append(Entry(value, paper=paper, mark=mark))
        return Line(name, tuple(entries))

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per cell, in percent and full precision."""
        return [
            {
                "protocol": self.settings.protocol,
                "dataset": dataset,
                "method": method,
                "measure": measure,
                "mean": cell.mean,
                "deviation": cell.deviation,
                "n_folds": cell.n_folds,
                "rank": cell.rank,
                "paper_mean": cell.paper and cell.paper.mean,
                "paper_deviation": cell.paper and cell.paper.deviation,
                "state": cell.state,
            }
            for (measure, dataset, method), cell in self.cells.items()
        ]


def performance_table(rows: Iterable[Row], protocol: str = "paper") -> PerformanceTable:
    r"""Return Table 2 for the data sets and methods that occur in the rows.

    Parameters
    ----------
    rows : iterable of dict
        Rows of other protocols are ignored; those of several seeds are pooled.
    protocol : str, default="paper"
        "paper" or "tuned".

    Returns
    -------
    table : PerformanceTable
        Its notes say how to read it and which data sets are not the paper's own.

    Raises
    ------
    ValueError
        If there are no rows, or if they differ in the number of trees or folds, in
        being a quick run, or in the statistics of a data set.

    Examples
    --------
    >>> from spanforest.paper import performance_table
    >>> def row(method, fold, score):
    ...     return {"kind": "fold", "protocol": "paper", "dataset": "emotions",
    ...             "method": method, "fold": fold, "seed": 0, "n_folds": 2,
    ...             "n_trees": 60, "scores": {"microlabel_accuracy": score,
    ...             "multilabel_accuracy": score / 2, "microlabel_f1": score}}
    >>> rows = [row("svm", 0, 0.75), row("svm", 1, 0.77), row("mam", 0, 0.8),
    ...         row("mam", 1, 0.82)]
    >>> table = performance_table(rows)
    >>> cell = table.cell("microlabel_accuracy", "emotions", "mam")
    >>> round(cell.mean, 1), round(cell.deviation, 1), cell.rank, cell.paper.mean
    (81.0, 1.4, 1, 80.5)
    >>> print("\n".join(table.to_markdown().split("\n")[4:8]))
    | Data set |                   SVM |                     MAM |
    | -------- | --------------------: | ----------------------: |
    | Emotions | *76.0±1.4* (77.3±1.9) | **81.0±1.4** (80.5±1.4) |
    | @Top2    |                 1 (0) |                   1 (1) |
    """
    settings, folds = select_folds(rows, protocol)
    by_place: dict[tuple[str, str], list[Row]] = {}
    for row in folds:
        by_place.setdefault((row["dataset"], row["method"]), []).append(row)
    datasets = in_order((dataset for dataset, _ in by_place), DATASETS)
    methods = in_order((method for _, method in by_place), METHODS)
    cells: dict[tuple[str, str, str], Cell] = {}
    for measure in MEASURES:
        for dataset in datasets:
            by_method = {name: by_place.get((dataset, name), []) for name in methods}
            cells.update(_line(measure, dataset, by_method, settings.n_folds))
    notes = (
        *_reading_notes(cells),
        *_seed_notes(by_place, settings),
        *_training_notes(folds),
        *_origin_notes(folds),
        *data_notes(folds),
    )
    frozen = MappingProxyType(cells)
    return PerformanceTable(settings, datasets, methods, frozen, notes)


def _line(
    measure: str, dataset: str, by_method: Mapping[str, Sequence[Row]], n_folds: int
) -> Iterator[tuple[tuple[str, str, str], Cell]]:
    """Yield the cells of one line, ranked and marked, by their place in the table."""
    line = [_cell(folds, measure, n_folds) for folds in by_method.values()]
    means = [
        cell.mean if cell.state == "value" and not cell.is_partial else None
        for cell in line
    ]
    ranks = printed_ranks(means)
    ranked = zip(by_method, line, ranks, marks(ranks), strict=True)
    for method, cell, rank, mark in ranked:
        paper = TABLE_2.get(measure, {}).get((dataset, method))
        place = measure, dataset, method
        yield place, replace(cell, rank=rank, mark=mark, paper=paper)


def _cell(folds: Sequence[Row], measure: str, n_folds: int) -> Cell:
    """Summarise the folds of one method on one data set."""
    good = [
        row
        for row in folds
        if row.get("error") is None and row["scores"].get(measure) is not None
    ]
    n_failed = sum(row.get("error") is not None for row in folds)
    n_expected = n_folds * len({row["seed"] for row in folds})
    state: State = "value"
    if not good:
        state = "failed" if n_failed else "absent"
    elif measure == "microlabel_f1" and all(row.get("n_positive") == 0 for row in good):
        state = "no positives"
    scores = [100 * row["scores"][measure] for row in good if state == "value"]
    return Cell(
        state,
        mean=math.fsum(scores) / len(scores) if scores else None,
        deviation=float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
        n_folds=len(good),
        n_failed=n_failed,
        n_missing=max(n_expected - len(good) - n_failed, 0),
    )


def _entry(cell: Cell) -> Entry:
    value = {"no positives": "-", "failed": "failed"}.get(cell.state, "")
    if cell.mean is not None:
        value = f"{cell.mean:.1f}"
    paper = cell.paper or NOT_PUBLISHED
    printed = "" if cell.paper is None else "-"
    return Entry(
        value,
        spread=_spread(cell.deviation),
        flag="†" if cell.is_partial else "",
        paper=printed if paper.mean is None else f"{paper.mean:.1f}",
        paper_spread=_spread(paper.deviation),
        mark=cell.mark,
    )


def _spread(deviation: float | None) -> str:
    return "" if deviation is None else f"±{deviation:.1f}"


def _reading_notes(cells: Mapping[tuple[str, str, str], Cell]) -> Iterator[str]:
    """Say how to read the cells; signs that do not occur are not explained."""
    compared = _compared({method for _, _, method in cells})
    yield f"Deviation is the sample deviation (ddof = 1). {SECOND_VALUE}"
    yield (
        "Bold is best and italic second best of the methods shown; values that are "
        "equal as printed share a rank. @Top2 counts the data sets on which a method "
        f"is at least second best{compared}"
    )
    states = {cell.state for cell in cells.values()}
    in_paper = {cell.paper.mean for cell in cells.values() if cell.paper is not None}
    if "no positives" in states or None in in_paper:
        yield "A dash: no positive label predicted."
    if "failed" in states:
        yield "failed: no fold succeeded."
    partial = {}
    for (_, dataset, method), cell in cells.items():
        if cell.is_partial:
            n_all = cell.n_folds + cell.n_failed + cell.n_missing
            partial[dataset, method] = (
                f"{display_name(method)} on {display_name(dataset)} "
                f"({cell.n_folds} of {n_all}, {cell.n_failed} failed)"
            )
    if partial:
        places = "; ".join(partial.values())
        yield f"†: mean over some of the folds only, not ranked: {places}."


def _compared(methods: Collection[str]) -> str:
    """Return the end of the sentence about @Top2: among which methods it counts."""
    own = [method for method in PAPER_METHODS if method in methods]
    if not own:
        return "."
    text = f" among {', '.join(map(display_name, own))}"
    if len(own) == len(PAPER_METHODS):
        text += ", which is how the paper counts"
    else:
        text += f"; the paper's is among {', '.join(map(display_name, PAPER_METHODS))}"
    text += ", on the same sets."
    if len(own) < len(methods):
        text += " @Top2 of all is among all methods shown."
    return text


def _seed_notes(cells: Mapping[Any, list[Row]], settings: RunSettings) -> Iterator[str]:
    """Say so if some cells lack a seed."""
    seeds = set(settings.seeds)
    if any({row["seed"] for row in folds} != seeds for folds in cells.values()):
        yield "Not every method was run with every seed on every data set."


def _training_notes(folds: Sequence[Row]) -> Iterator[str]:
    """Name the methods whose training did not converge, in one note per data set."""
    by_set: dict[str, dict[str, list[Row]]] = {}
    for row in folds:
        by_set.setdefault(row["dataset"], {}).setdefault(row["method"], []).append(row)
    for dataset, by_method in by_set.items():
        # the ensembles come from one fit, so their extents are equal
        methods: dict[str, list[str]] = {}
        for method in in_order(by_method, METHODS):
            extent = _extent(by_method[method])
            if extent:
                methods.setdefault(extent, []).append(display_name(method))
        if methods:
            cells = (f"{', '.join(names)} ({how})" for how, names in methods.items())
            yield (
                f"{display_name(dataset)}: training stopped short of its goal: "
                f"{'; '.join(cells)}."
            )


def _extent(folds: Sequence[Row]) -> str:
    """Say in how many folds training did not converge; empty if in none."""
    short = [row for row in folds if row.get("warnings")]
    if not short:
        return ""
    gap = max(row.get("gap") or 0.0 for row in short)
    how_far = f", duality gap up to {gap:.0%} of the dual objective" if gap else ""
    return f"{len(short)} of {len(folds)} folds{how_far}"


def _origin_notes(folds: Sequence[Row]) -> Iterator[str]:
    """Say so if the rows do not all come from the same code.

    Examples
    --------
    >>> print(*_origin_notes([{"commit": "a1"}, {"commit": "b2"}]))
    The rows were made with 2 different commits.
    """
    for what, key in (("commits", "commit"), ("sets of versions", "versions")):
        n_kinds = len({str(row.get(key)) for row in folds})
        if n_kinds > 1:
            yield f"The rows were made with {n_kinds} different {what}."
