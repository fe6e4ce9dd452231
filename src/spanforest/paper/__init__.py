"""The paper's experiment: its runs, and the tables and ranks made from their rows."""

from spanforest.paper._dataset_table import DatasetTable, dataset_table
from spanforest.paper._experiment import Experiment
from spanforest.paper._learning_curves import LearningCurves, learning_curves
from spanforest.paper._names import METHODS, display_name, in_order, spelled_out
from spanforest.paper._performance_table import PerformanceTable, performance_table
from spanforest.paper._protocols import PROTOCOLS
from spanforest.paper._published import DATASETS
from spanforest.paper._rank_comparison import RankComparison, compare_ranks
from spanforest.paper._row_selection import RunSettings, outdated, select_folds
from spanforest.paper._rows import Row, RowFile, identity, latest
from spanforest.paper._run import run
from spanforest.paper._stored_graph import StoredGraph
from spanforest.paper._table_formats import Block, Entry, Line

__all__ = [
    "DATASETS",
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
    "RunSettings",
    "StoredGraph",
    "compare_ranks",
    "dataset_table",
    "display_name",
    "identity",
    "in_order",
    "latest",
    "learning_curves",
    "outdated",
    "performance_table",
    "run",
    "select_folds",
    "spelled_out",
]
