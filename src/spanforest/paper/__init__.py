"""The paper's experiment: rows of results, tables and ranks made from them."""

from spanforest.paper._dataset_table import DatasetTable, dataset_table
from spanforest.paper._folds import Settings, select_folds
from spanforest.paper._label_graphs import StoredGraph
from spanforest.paper._paper import (
    DATASETS,
    MEASURES,
    METHODS,
    display_name,
    in_order,
)
from spanforest.paper._protocols import PROTOCOLS, ensemble_setup
from spanforest.paper._ranks import RankComparison, compare_ranks
from spanforest.paper._render import Block, Entry, Line
from spanforest.paper._rows import Row, RowFile, identity, latest
from spanforest.paper._run import Experiment, run
from spanforest.paper._standing import outdated
from spanforest.paper._tables import (
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
