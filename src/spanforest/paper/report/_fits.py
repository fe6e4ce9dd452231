"""Label graphs of old rows, which hold none: small ensembles, fitted for the page.

What such rows hold is how the ensembles of the run were set up, and the data sets are
to be had by name.
"""

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from spanforest._progress import track
from spanforest._wording import count
from spanforest.aggregation import AGGREGATIONS as ENSEMBLES
from spanforest.datasets import drop_degenerate, list_datasets, load_dataset
from spanforest.diagnostics import edge_couplings, label_frequencies, relative_gaps
from spanforest.paper import (
    DATASETS,
    PROTOCOLS,
    Row,
    display_name,
    ensemble_setup,
    in_order,
)
from spanforest.paper.report._collect import Run, find_runs, setup_text
from spanforest.paper.report._label_graph import (
    MOST_LABELS,
    LabelGraph,
    NoLabelGraph,
    too_many_labels,
)
from spanforest.paper.report._stored import rows_with_graph
from spanforest.plots import LabelGraphDisplay

N_TREES = 20
MOST_EXAMPLES = 1000  # a few seconds for a data set


class _Recipe(NamedTuple):
    """How the ensembles of a run were set up on one data set."""

    dataset: str
    protocol: str
    params: dict[str, Any]  # those of most folds


def fit_label_graphs(
    rows: Iterable[Row],
    data_home: str | os.PathLike[str] | None = None,
    *,
    verbose: bool = False,
) -> tuple[LabelGraph | NoLabelGraph, ...]:
    """Fit an ensemble to each data set whose rows hold no label graph.

    Rows of an early version hold none. The ensemble has 20 trees, the kernel and
    parameters that the run chose in most folds, and at most 1000 examples: a few
    seconds for a data set. Where a data set was run under both protocols, those of the
    tuned one count. Nothing is fetched from a network.

    Parameters
    ----------
    rows : iterable of dict
        As for `make_report`.
    data_home : path or None, default=None
        The folder of the data sets. None stands for the environment variable
        ``SPANFOREST_DATA``.
    verbose : bool, default=False
        Show progress on a terminal.

    Returns
    -------
    tuple of LabelGraph or NoLabelGraph
        One for each data set on which the ensembles succeeded and of which
        `read_label_graphs` gives nothing: for `make_report`. A data set that is not to
        be had, or has more than 60 labels, gives the reason.

    Raises
    ------
    ValueError
        If no row is a result.

    Examples
    --------
    >>> from spanforest.paper.report import fit_label_graphs
    >>> row = {"kind": "fold", "protocol": "paper", "dataset": "my_data", "fold": 0,
    ...        "method": "mam", "seed": 0, "n_folds": 5, "n_trees": 60,
    ...        "params": {"C": 1.0}}
    >>> fit_label_graphs([row])
    (NoLabelGraph(name='my_data', reason='not a data set that is known by name.'),)
    """
    rows = list(rows)
    stored = rows_with_graph(rows)
    recipes = {
        recipe.dataset: recipe
        for run in find_runs(rows)
        for recipe in _recipes(run)
        if recipe.dataset not in stored
    }
    graphs = (_graph(recipes[name], data_home) for name in in_order(recipes, DATASETS))
    return tuple(track(graphs, len(recipes), "label graphs", verbose=verbose))


def _recipes(run: Run) -> Iterator[_Recipe]:
    if run.settings.protocol not in PROTOCOLS:
        return
    for dataset in run.datasets:
        chosen = Counter(
            tuple(sorted(row["params"].items()))
            for row in run.folds
            if row["dataset"] == dataset and row["method"] in ENSEMBLES
            if row.get("error") is None and row.get("params")
        )
        if chosen:
            [(params, _)] = chosen.most_common(1)
            yield _Recipe(dataset, run.settings.protocol, dict(params))


def _graph(
    recipe: _Recipe, data_home: str | os.PathLike[str] | None
) -> LabelGraph | NoLabelGraph:
    name = display_name(recipe.dataset)
    reason = _obstacle(recipe.dataset, data_home)
    if reason:
        return NoLabelGraph(name, reason)
    try:
        dataset = drop_degenerate(load_dataset(recipe.dataset, data_home))
    except (OSError, ValueError) as error:
        return NoLabelGraph(name, str(error))
    drawn = np.random.default_rng(0).permutation(dataset.n_samples)[:MOST_EXAMPLES]
    train = np.sort(drawn)
    ensemble, inputs = ensemble_setup(
        dataset, train, recipe.params, recipe.protocol, N_TREES
    )
    Y = dataset.Y[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the page tells the gap
        ensemble.fit(inputs.train, Y)
    couplings = edge_couplings(ensemble, inputs.train, Y)
    frequencies = label_frequencies(dataset.Y)
    display = LabelGraphDisplay(couplings, frequencies, dataset.label_names or None)
    examples = count(len(train), "example")
    if len(train) < dataset.n_samples:
        examples = f"{len(train)} of {dataset.n_samples} examples"
    gap = float(relative_gaps(ensemble).max())
    setup = setup_text(N_TREES, recipe.params, examples, gap)
    return LabelGraph(name, f"Fitted for this page: {setup}", display)


def _obstacle(name: str, data_home: str | os.PathLike[str] | None) -> str:
    """Say why a data set gives no label graph, as far as is seen without loading it."""
    known = {known.name: known for known in list_datasets(data_home)}.get(name)
    if known is None:
        return "not a data set that is known by name."
    if known.n_labels <= MOST_LABELS and known.source in ("", "OpenML"):
        return "its data are not here; name their folder, or set SPANFOREST_DATA."
    return too_many_labels(known.n_labels)
