"""The paper's experiment: rows of results, tables and ranks made from them."""

from spanforest.experiments._dataset_table import DatasetTable, dataset_table
from spanforest.experiments._folds import Settings, select_folds
from spanforest.experiments._label_graphs import StoredGraph
from spanforest.experiments._paper import (
    DATASETS,
    MEASURES,
    METHODS,
    display_name,
    in_order,
)
from spanforest.experiments._protocols import PROTOCOLS, ensemble_setup
from spanforest.experiments._ranks import RankComparison, compare_ranks
from spanforest.experiments._render import Block, Entry, Line
from spanforest.experiments._rows import Row, RowFile, identity, latest
from spanforest.experiments._run import Experiment, run
from spanforest.experiments._standing import outdated
from spanforest.experiments._tables import (
    ENSEMBLES,
    LearningCurves,
    PerformanceTable,
    learning_curves,
    performance_table,
)

__all__ = [
    "DATASETS",
    "ENSEMBLES",
    "MEASURES",
    "METHODS",
    "PROTOCOLS",
    "Block",
    "DatasetTable",
    "Entry",
    "Experiment",
    "LearningCurves",
    "Line",
    "PerformanceTable",
    "RankComparison",
    "Row",
    "RowFile",
    "Settings",
    "StoredGraph",
    "compare_ranks",
    "dataset_table",
    "display_name",
    "ensemble_setup",
    "identity",
    "in_order",
    "latest",
    "learning_curves",
    "outdated",
    "performance_table",
    "run",
    "select_folds",
]
