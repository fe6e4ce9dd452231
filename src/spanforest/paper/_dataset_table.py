"""The paper's Table 1, the data sets, from rows alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from spanforest._wording import quoted
from spanforest.paper._names import display_name, in_order
from spanforest.paper._published import DATASETS, TABLE_1, DatasetSize
from spanforest.paper._rows import Row
from spanforest.paper._table_formats import Block, Entry, Layout, Line, Table

SECOND_VALUE = "The second value, in brackets or below, is the paper's."


class DatasetStatistics(NamedTuple):
    """A line of Table 1, with the paper's own line if it has one."""

    name: str
    size: DatasetSize
    note: str
    paper: DatasetSize | None

    @property
    def remark(self) -> str:
        """The reason why the data are not the paper's own; empty if they are."""
        if self.note:
            return self.note
        if self.paper is None:
            return "Not in the paper."
        if self.name.startswith("circle"):
            return "Generated anew: the paper's own points are not published."
        if self.size[:2] == self.paper[:2]:
            return ""
        return (
            f"{self.size.n_samples} instances and {self.size.n_labels} labels here, "
            f"{self.paper.n_samples} and {self.paper.n_labels} in the paper."
        )


@dataclass(frozen=True)
class DatasetTable(Table):
    """Table 1: the size of each data set, beside the paper's own numbers."""

    datasets: tuple[DatasetStatistics, ...]

    def layout(self) -> Layout:
        """Return captions, entries and notes as text, without any format."""
        header = ("Data set", "Instances", "Labels", "Features")
        block = Block(
            title="",
            header=(*header, "Cardinality", "Density"),
            lines=tuple(map(_dataset_line, self.datasets)),
        )
        return Layout(
            caption=f"Data sets. {SECOND_VALUE}",
            blocks=(block,),
            notes=_remarks(self.datasets),
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per data set, the paper's numbers as ``paper_...``."""
        names = DatasetSize._fields
        return [
            {
                "dataset": dataset.name,
                **dataset.size._asdict(),
                **{f"paper_{key}": getattr(dataset.paper, key, None) for key in names},
                "note": dataset.remark,
            }
            for dataset in self.datasets
        ]


def _dataset_line(dataset: DatasetStatistics) -> Line:
    def texts(size: DatasetSize) -> list[str]:
        return [*map(str, size[:3]), *(f"{number:.2f}" for number in size[3:])]

    values = texts(dataset.size)
    paper = [""] * len(values) if dataset.paper is None else texts(dataset.paper)
    pairs = zip(values, paper, strict=True)
    entries = (Entry(value, paper=printed) for value, printed in pairs)
    return Line(display_name(dataset.name), tuple(entries))


def _remarks(datasets: Iterable[DatasetStatistics]) -> tuple[str, ...]:
    """Return each remark once, with the names of its data sets."""
    names: dict[str, list[str]] = {}
    for dataset in datasets:
        names.setdefault(dataset.remark, []).append(display_name(dataset.name))
    return tuple(f"{', '.join(names[each])}: {each}" for each in names if each)


def dataset_table(rows: Iterable[Row]) -> DatasetTable:
    """Return Table 1 for the data sets that occur in the rows.

    Parameters
    ----------
    rows : iterable of dict
        Rows of any protocol.

    Returns
    -------
    table : DatasetTable
        A line per data set, in the paper's order, and a note for each data set that
        is not the paper's own.

    Raises
    ------
    ValueError
        If no row has statistics, or if two rows describe one data set differently.

    Examples
    --------
    >>> from spanforest.paper import dataset_table
    >>> data = {"n_samples": 593, "n_labels": 6, "n_features": 72,
    ...         "cardinality": 1.868, "density": 0.311, "note": ""}
    >>> table = dataset_table([{"kind": "fold", "dataset": "emotions", "data": data}])
    >>> print(table.to_markdown())
    Data sets. The second value, in brackets or below, is the paper's.
    <BLANKLINE>
    | Data set | Instances | Labels | Features | Cardinality |     Density |
    | -------- | --------: | -----: | -------: | ----------: | ----------: |
    | Emotions | 593 (593) |  6 (6) |  72 (72) | 1.87 (1.87) | 0.31 (0.31) |
    """
    statistics = _statistics(row for row in rows if row.get("kind") == "fold")
    if not statistics:
        raise ValueError(
            "rows must have a fold with statistics of its data set; found none. Run "
            "the experiment first."
        )
    return DatasetTable(statistics)


def data_notes(folds: Iterable[Row]) -> tuple[str, ...]:
    """Name the data sets of some results that are not the paper's own."""
    return _remarks(_statistics(folds))


def _statistics(folds: Iterable[Row]) -> tuple[DatasetStatistics, ...]:
    """Return the statistics of each data set, in the paper's order."""
    by_name: dict[str, DatasetStatistics] = {}
    for row in folds:
        name, data = row["dataset"], row.get("data")
        if not data:
            continue
        size = DatasetSize(*(data[key] for key in DatasetSize._fields))
        note = data.get("note") or ""
        statistics = DatasetStatistics(name, size, note, TABLE_1.get(name))
        known = by_name.setdefault(name, statistics)
        if known != statistics:
            before, after = (
                {**each.size._asdict(), "note": each.note}
                for each in (known, statistics)
            )
            differing = [
                f"{key} {quoted(before[key])} and {quoted(after[key])}"
                for key in before
                if before[key] != after[key]
            ]
            raise ValueError(
                f"rows of {name} must describe the same data; found "
                f"{'; '.join(sorted(differing))}. Pass the rows of one of them."
            )
    return tuple(by_name[name] for name in in_order(by_name, DATASETS))
