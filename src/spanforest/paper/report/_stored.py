"""Label graphs that the rows of a run hold."""

from collections.abc import Iterable

from spanforest._wording import count
from spanforest.paper import (
    DATASETS,
    Row,
    StoredGraph,
    display_name,
    in_order,
)
from spanforest.paper.report._collect import find_runs, setup_text
from spanforest.paper.report._label_graph import (
    LabelGraph,
    NoLabelGraph,
    too_many_labels,
)
from spanforest.plots import LabelGraphDisplay


def read_label_graphs(rows: Iterable[Row]) -> tuple[LabelGraph | NoLabelGraph, ...]:
    """Give the label graphs that rows hold: nothing is fitted.

    Parameters
    ----------
    rows : iterable of dict
        As for `make_report`. The rows of MAM have a ``label_graph``; those of an early
        version have none, see `fit_label_graphs`.

    Returns
    -------
    tuple of LabelGraph or NoLabelGraph
        One for each data set whose rows hold a graph, of the first fold that does: for
        `make_report`. Where a data set was run under both protocols, the tuned one
        counts. More than 60 labels give the reason why they are not drawn.

    Raises
    ------
    ValueError
        If no row is a result.

    Examples
    --------
    >>> from spanforest.paper.report import read_label_graphs
    >>> graph = {"edges": [[0, 1]], "strength": [2.0], "is_signed": [True],
    ...          "n_edges": 1, "frequencies": [0.5, 0.4], "n_samples": 80,
    ...          "label_names": ["sun", "warm"]}
    >>> row = {"kind": "fold", "protocol": "paper", "dataset": "weather", "fold": 0,
    ...        "method": "mam", "seed": 0, "n_folds": 5, "n_trees": 60, "gap": 0.01,
    ...        "params": {"C": 1.0}, "label_graph": graph}
    >>> [found] = read_label_graphs([row])
    >>> print(found.made_of)
    Fold 1 of 5: 60 trees, C=1, the data set's own kernel, 80 examples; duality gap at
    most 1.0 %.
    """
    found = rows_with_graph(rows)
    return tuple(_graph(found[name]) for name in in_order(found, DATASETS))


def rows_with_graph(rows: Iterable[Row]) -> dict[str, Row]:
    """Give by data set the row whose label graph counts."""
    found: dict[str, Row] = {}
    for run in find_runs(rows):
        of_run: dict[str, Row] = {}
        for row in run.folds:
            if row.get("label_graph"):
                of_run.setdefault(row["dataset"], row)
        found |= of_run
    return found


def _graph(row: Row) -> LabelGraph | NoLabelGraph:
    name = display_name(row["dataset"])
    stored = StoredGraph.from_field(row["label_graph"])
    reason = too_many_labels(len(stored.frequencies))
    if reason:
        return NoLabelGraph(name, reason)
    examples = count(stored.n_samples, "example")
    made_of = (
        f"Fold {row['fold'] + 1} of {row['n_folds']}: "
        f"{setup_text(row['n_trees'], row['params'], examples, row['gap'])}"
    )
    display = LabelGraphDisplay(
        stored.couplings, stored.frequencies, stored.label_names or None
    )
    n_left_out = stored.n_edges - len(stored.couplings.strength)
    return LabelGraph(name, made_of, display, n_left_out)
