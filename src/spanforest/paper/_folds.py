"""Which rows of an experiment a table is made of.

A row is a dictionary, one line of ``rows.jsonl``. Rows of an unknown kind are ignored;
where a fold was run again the `latest` row counts.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from spanforest._wording import count
from spanforest.paper._rows import latest

__all__ = ["Row", "Settings", "select_folds"]

Row = Mapping[str, Any]


class Settings(NamedTuple):
    """What the rows of one table have in common."""

    protocol: str
    n_trees: int | None
    n_folds: int
    quick: bool
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        parts = [f"protocol {self.protocol}"]
        if self.n_trees is not None:
            parts.append(count(self.n_trees, "tree"))
        parts.append(count(self.n_folds, "fold"))
        seeds = ", ".join(map(str, self.seeds))
        parts.append(f"seed{'s' if len(self.seeds) > 1 else ''} {seeds}")
        if self.quick:
            parts.append("quick run, not comparable with the paper")
        return "; ".join(parts)


def select_folds(rows: Iterable[Row], protocol: str) -> tuple[Settings, list[Row]]:
    """Give what the folds of a protocol have in common, and one row for each.

    The rows come sorted by data set, method, seed and fold.

    Raises
    ------
    ValueError
        If there are none, or if they differ in the number of trees or folds or in
        being a quick run: their means would not be comparable.

    Examples
    --------
    >>> from spanforest.paper._folds import select_folds
    >>> fold = {"kind": "fold", "protocol": "paper", "dataset": "emotions", "seed": 0,
    ...         "method": "mam", "fold": 0, "n_folds": 5, "n_trees": 60}
    >>> settings, folds = select_folds(
    ...     [{**fold, "error": "ValueError: no"}, fold], "paper"
    ... )
    >>> str(settings), len(folds), folds[0] is fold
    ('protocol paper; 60 trees; 5 folds; seed 0', 1, True)
    """
    folds = [row for row in rows if row.get("kind") == "fold"]
    chosen = [row for row in folds if row["protocol"] == protocol]
    if not chosen:
        found = sorted({row["protocol"] for row in folds})
        raise ValueError(
            f"rows must have folds of protocol {protocol!r}; found "
            f"{', '.join(map(repr, found)) or 'none of any protocol'}. Run the "
            "experiment first, or ask for another protocol."
        )
    common: dict[str, Any] = {}
    for key in ("n_trees", "n_folds", "quick"):
        # a method without trees may leave their number out
        values = {row[key] for row in chosen if row.get(key) is not None}
        if len(values) > 1:
            raise ValueError(
                f"rows of one table must have the same {key}; found "
                f"{', '.join(map(str, sorted(values)))}. Pass the rows of one of them."
            )
        common[key] = values.pop() if values else None
    seeds = tuple(sorted({row["seed"] for row in chosen}))
    common["quick"] = bool(common["quick"])
    settings = Settings(protocol, seeds=seeds, **common)
    return settings, sorted(latest(chosen, _place), key=_place)


def _place(row: Row) -> tuple[str, str, int, int]:
    return row["dataset"], row["method"], row["seed"], row["fold"]
