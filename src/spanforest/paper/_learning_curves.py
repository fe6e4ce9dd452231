"""The numbers of the paper's Figure 1, learning curves, from rows alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanforest.aggregation import AGGREGATIONS
from spanforest.metrics import MEASURES
from spanforest.paper._names import in_order
from spanforest.paper._published import DATASETS
from spanforest.paper._row_selection import RunSettings, select_folds
from spanforest.paper._rows import Row


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """Scores of the first 1, 2, ... members of the ensembles on one data set.

    They are means over the folds in which every ensemble has a curve, between 0 and 1.
    """

    dataset: str
    settings: RunSettings
    n_folds: int  # over all seeds
    # by measure and method, each (n_trees,)
    curves: Mapping[str, Mapping[str, NDArray[np.float64]]]
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
    """Return the numbers of Figure 1 by data set, in the paper's order.

    Parameters
    ----------
    rows : iterable of dict
        Rows without a curve are ignored.
    protocol : str, default="paper"
        "paper" or "tuned".

    Returns
    -------
    curves : dict of LearningCurves
        Empty if no row has a curve. A data set is left out if its ensembles share no
        fold.

    Raises
    ------
    ValueError
        As for `performance_table`.

    Examples
    --------
    >>> from spanforest.paper import learning_curves
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
    curves = {}
    for dataset in in_order(by_dataset, DATASETS):
        by_method = by_dataset[dataset]
        common = sorted(set.intersection(*map(set, by_method.values())))
        if common:
            shared = {
                method: [by_method[method][fold] for fold in common]
                for method in in_order(by_method, AGGREGATIONS)
            }
            curves[dataset] = _curves(dataset, settings, shared)
    return curves


def _curves(
    dataset: str, settings: RunSettings, by_method: Mapping[str, list[Row]]
) -> LearningCurves:
    """Average the curves of each method over its rows, which are of the same folds."""
    curves = {
        measure: {
            method: np.mean([row["curve"][measure] for row in rows], axis=0)
            for method, rows in by_method.items()
        }
        for measure in MEASURES
    }
    for curve in (curve for each in curves.values() for curve in each.values()):
        curve.setflags(write=False)
    # the ensembles of a fold share their members, so the first stands for all
    first = next(iter(by_method.values()))
    member_scores = {
        measure: float(np.mean([row["members"][measure] for row in first]))
        for measure in MEASURES
    }
    return LearningCurves(dataset, settings, len(first), curves, member_scores)
