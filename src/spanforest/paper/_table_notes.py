"""Notes under Table 2: how far training came, and whether all rows have one origin."""

from collections.abc import Iterator, Sequence

from spanforest.paper._folds import Row
from spanforest.paper._paper import METHODS, display_name, in_order

__all__ = ["origin_notes", "training_notes"]

WIDE_GAP = 0.1  # for rows that do not say: twice what training aims at


def training_notes(folds: Sequence[Row]) -> Iterator[str]:
    """Name the cells whose training stopped short of its goal, a note per data set.

    Examples
    --------
    >>> from spanforest.paper._notes import training_notes
    >>> fold = {"dataset": "emotions", "method": "mam", "fold": 0, "gap": 0.07}
    >>> list(training_notes([{**fold, "warnings": []}]))
    []
    >>> print(*training_notes([{**fold, "warnings": ["The gap is ..."]}]))
    Emotions: training stopped short of its goal: MAM (1 of 1 folds, duality gap up
    to 7% of the dual objective).
    """
    by_set: dict[str, dict[str, list[Row]]] = {}
    for row in folds:
        by_set.setdefault(row["dataset"], {}).setdefault(row["method"], []).append(row)
    for dataset, by_method in by_set.items():
        # the ensembles come from one fit: what is said of one is said of all
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
    """Say in how many folds of a method training stopped short; empty if in none."""
    short = [row for row in folds if _stopped_short(row)]
    if not short:
        return ""
    gap = max(row.get("gap") or 0.0 for row in short)
    how_far = f", duality gap up to {gap:.0%} of the dual objective" if gap else ""
    return f"{len(short)} of {len(folds)} folds{how_far}"


def _stopped_short(row: Row) -> bool:
    if row.get("warnings") is not None:
        return bool(row["warnings"])
    return (row.get("gap") or 0.0) > WIDE_GAP


def origin_notes(folds: Sequence[Row]) -> Iterator[str]:
    """Say so if the rows do not all come from the same code.

    Examples
    --------
    >>> from spanforest.paper._notes import origin_notes
    >>> print(*origin_notes([{"commit": "a1"}, {"commit": "b2"}]))
    The rows were made with 2 different commits.
    """
    for what, key in (("commits", "commit"), ("sets of versions", "versions")):
        n_kinds = len({str(row.get(key)) for row in folds})
        if n_kinds > 1:
            yield f"The rows were made with {n_kinds} different {what}."
