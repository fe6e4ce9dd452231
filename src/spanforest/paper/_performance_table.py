"""The paper's Table 2 and the numbers of its Figure 1, from rows alone."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spanforest.paper._dataset_table import (
    SECOND_VALUE,
    remarks,
    statistics_of,
)
from spanforest.paper._folds import Row, Settings, select_folds
from spanforest.paper._notes import origin_notes, training_notes
from spanforest.paper._paper import (
    DATASETS,
    MEASURES,
    METHODS,
    PAPER_METHODS,
    TABLE_2,
    Mark,
    PublishedScore,
    display_name,
    in_order,
    marks,
    printed_ranks,
    published_top2,
)
from spanforest.paper._render import Block, Entry, Layout, Line, Table

__all__ = [
    "Cell",
    "LearningCurves",
    "PerformanceTable",
    "learning_curves",
    "performance_table",
]

State = Literal["value", "no positives", "failed", "absent"]
ENSEMBLES = ("mve", "amm", "mam")


@dataclass(frozen=True)
class Cell:
    """Score of a method on a data set by one measure, over folds and seeds."""

    state: State
    mean: float | None = None  # percent
    deviation: float | None = None  # percent, ddof=1; None for a single fold
    n_folds: int = 0  # folds, over all seeds, that the mean is over
    n_failed: int = 0
    n_missing: int = 0  # folds that were not run, of the seeds that were
    rank: int | None = None  # 1 is best; None if it does not take part
    mark: Mark = ""
    paper: PublishedScore | None = None

    @property
    def is_partial(self) -> bool:
        """Whether some folds succeeded, but not all of them."""
        return self.n_folds > 0 and self.n_failed + self.n_missing > 0


@dataclass(frozen=True)
class PerformanceTable(Table):
    """Table 2: data sets x methods for each measure, beside what the paper prints.

    A cell is the mean over folds and seeds, in percent, with the sample deviation
    (divisor n - 1). The rank of a cell in its line is one more than the number of
    methods that are better at the printed precision of one decimal: so ties share
    a rank, and two best leave no second best. These are the paper's rules: they give
    each of its @Top2 counts. The best is bold, the second best italic, nothing if all
    methods tie. '-' stands for an F1 score without any positive prediction. Such a
    cell is not ranked, nor is one with failed or missing folds: the mean over other
    folds is no match.
    """

    settings: Settings
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    cells: Mapping[tuple[str, str, str], Cell]  # by measure, data set and method
    notes: tuple[str, ...]

    def cell(self, measure: str, dataset: str, method: str) -> Cell:
        """Give one cell; its state is "absent" where the method was not run."""
        return self.cells[measure, dataset, method]

    def top2(self, measure: str, among: Iterable[str] | None = None) -> dict[str, int]:
        """Count the data sets on which each method is at least second best.

        Parameters
        ----------
        measure : str
            One of `MEASURES`.
        among : iterable of str, optional
            The methods that are compared; all of the table by default. The others
            are as if they were not there.
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
        """Give captions, entries and notes as text, without any format."""
        return Layout(
            caption=(
                "Prediction performance in percent, mean and deviation over folds "
                f"({self.settings})."
            ),
            blocks=tuple(map(self._block, MEASURES)),
            notes=self.notes,
        )

    def _block(self, measure: str) -> Block:
        lines = [
            Line(
                display_name(dataset),
                tuple(
                    _entry(self.cells[measure, dataset, method])
                    for method in self.methods
                ),
            )
            for dataset in self.datasets
        ]
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
        entries = [
            Entry(
                str(counts.get(method, "")),
                paper=str(published.get(method, "")),
                mark=mark,
            )
            for method, mark in zip(self.methods, emphasis, strict=True)
        ]
        return Line(name, tuple(entries))

    def records(self) -> list[dict[str, Any]]:
        """Give one dictionary per cell, in percent and full precision."""
        records = []
        for (measure, dataset, method), cell in self.cells.items():
            paper = cell.paper or PublishedScore(None, None)
            records.append(
                {
                    "protocol": self.settings.protocol,
                    "dataset": dataset,
                    "method": method,
                    "measure": measure,
                    "mean": cell.mean,
                    "deviation": cell.deviation,
                    "n_folds": cell.n_folds,
                    "rank": cell.rank,
                    "paper_mean": paper.mean,
                    "paper_deviation": paper.deviation,
                    "state": cell.state,
                }
            )
        return records


def performance_table(rows: Iterable[Row], protocol: str = "paper") -> PerformanceTable:
    r"""Give Table 2 for the data sets and methods that occur in the rows.

    Parameters
    ----------
    rows : iterable of dict
        Rows of other protocols are ignored; those of several seeds are pooled.
    protocol : str, default="paper"
        "paper" or "tuned".

    Returns
    -------
    table : PerformanceTable
        Its notes say how it was made and which data sets are not the paper's own.

    Raises
    ------
    ValueError
        If there are no rows, or if they differ in the number of trees or folds, in
        being a quick run, or in the data behind one name.

    Examples
    --------
    >>> from spanforest.paper._tables import performance_table
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
    datasets = in_order((row["dataset"] for row in folds), DATASETS)
    methods = in_order((row["method"] for row in folds), METHODS)
    by_cell: dict[tuple[str, str], list[Row]] = {}
    for row in folds:
        by_cell.setdefault((row["dataset"], row["method"]), []).append(row)

    cells: dict[tuple[str, str, str], Cell] = {}
    for measure in MEASURES:
        for dataset in datasets:
            line = [
                _cell(by_cell.get((dataset, method), []), measure, settings.n_folds)
                for method in methods
            ]
            ranked = [
                cell.mean if cell.state == "value" and not cell.is_partial else None
                for cell in line
            ]
            ranks = printed_ranks(ranked)
            for method, cell, rank, mark in zip(
                methods, line, ranks, marks(ranks), strict=True
            ):
                paper = TABLE_2[measure].get((dataset, method))
                cells[measure, dataset, method] = replace(
                    cell, rank=rank, mark=mark, paper=paper
                )
    frozen = MappingProxyType(cells)
    notes = _notes(frozen)
    cells_seeds = {
        tuple(sorted({row["seed"] for row in each})) for each in by_cell.values()
    }
    if cells_seeds != {settings.seeds}:
        notes += ("Not every method was run with every seed on every data set.",)
    notes += (*training_notes(folds), *origin_notes(folds))
    notes += remarks(statistics_of(folds))
    return PerformanceTable(settings, datasets, methods, frozen, notes)


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
    paper = cell.paper or PublishedScore(None, None)
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


def _compared(methods: Collection[str]) -> str:
    """End the sentence about @Top2: among which methods it is."""
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


def _notes(cells: Mapping[tuple[str, str, str], Cell]) -> tuple[str, ...]:
    """Say how to read the cells; signs that do not occur are not explained."""
    notes = [
        f"Deviation is the sample deviation (ddof = 1). {SECOND_VALUE}",
        "Bold is best and italic second best of the methods shown; values that are "
        "equal as printed share a rank. @Top2 counts the data sets on which a method "
        f"is at least second best{_compared({method for _, _, method in cells})}",
    ]
    states = {cell.state for cell in cells.values()}
    in_paper = {cell.paper.mean for cell in cells.values() if cell.paper is not None}
    if "no positives" in states or None in in_paper:
        notes.append("A dash: no positive label predicted.")
    if "failed" in states:
        notes.append("failed: no fold succeeded.")
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
        notes.append(f"†: mean over some of the folds only, not ranked: {places}.")
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """Scores of the first 1, 2, ... members of the ensembles on one data set.

    Means over the folds on which all ensembles found have a curve; scores lie
    between 0 and 1, as in the rows.
    """

    dataset: str
    settings: Settings
    n_folds: int  # over all seeds
    curves: Mapping[
        str, Mapping[str, NDArray[np.float64]]
    ]  # measure, method: (n_trees,)
    member_scores: Mapping[str, float]  # by measure: mean over members and folds

    @property
    def sizes(self) -> NDArray[np.int_]:
        """Sizes of the ensemble, 1 to n_trees."""
        lengths = {
            len(curve) for each in self.curves.values() for curve in each.values()
        }
        return np.arange(1, max(lengths) + 1)


def learning_curves(
    rows: Iterable[Row], protocol: str = "paper"
) -> dict[str, LearningCurves]:
    """Give the numbers of Figure 1 by data set, in the paper's order.

    Parameters
    ----------
    rows : iterable of dict
        Rows without a curve are ignored.
    protocol : str, default="paper"
        "paper" or "tuned".

    Returns
    -------
    curves : dict of LearningCurves
        Empty if no row has a curve. A data set is left out where the ensembles have no
        fold in common.

    Raises
    ------
    ValueError
        As for `performance_table`.

    Examples
    --------
    >>> from spanforest.paper._tables import learning_curves
    >>> scores = {"microlabel_accuracy": [0.7, 0.8], "multilabel_accuracy": [0.2, 0.3],
    ...           "microlabel_f1": [0.5, 0.6]}
    >>> row = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...        "method": "mam", "fold": 0, "n_folds": 5, "n_trees": 2,
    ...        "curve": scores, "members": scores}
    >>> emotions = learning_curves([row])["emotions"]
    >>> emotions.curves["microlabel_f1"]["mam"], emotions.sizes
    (array([0.5, 0.6]), array([1, 2]))
    >>> round(emotions.member_scores["microlabel_accuracy"], 2)
    0.75
    """
    settings, folds = select_folds(rows, protocol)
    by_dataset: dict[str, dict[str, dict[tuple[int, int], Row]]] = {}
    for row in folds:
        if row.get("curve"):
            by_method = by_dataset.setdefault(row["dataset"], {})
            by_method.setdefault(row["method"], {})[row["seed"], row["fold"]] = row
    found = {}
    for dataset in in_order(by_dataset, DATASETS):
        by_method = by_dataset[dataset]
        common = sorted(set.intersection(*map(set, by_method.values())))
        if common:
            found[dataset] = _curves(dataset, settings, by_method, common)
    return found


def _curves(
    dataset: str,
    settings: Settings,
    by_method: Mapping[str, Mapping[tuple[int, int], Row]],
    folds: Sequence[tuple[int, int]],
) -> LearningCurves:
    curves, member_scores = {}, {}
    methods = in_order(by_method, ENSEMBLES)
    for measure in MEASURES:
        of_method = {}
        for method in methods:
            rows = [by_method[method][fold] for fold in folds]
            of_method[method] = np.mean([row["curve"][measure] for row in rows], axis=0)
            of_method[method].setflags(write=False)
        curves[measure] = MappingProxyType(of_method)
        # the ensembles of a fold share their members: any of them will do
        members = [by_method[methods[0]][fold]["members"][measure] for fold in folds]
        member_scores[measure] = float(np.mean(members))
    return LearningCurves(
        dataset,
        settings,
        len(folds),
        MappingProxyType(curves),
        MappingProxyType(member_scores),
    )
