"""The paper's experiment: rows of results, tables and ranks made from them."""

from spanforest.experiments._dataset_table import DatasetTable, dataset_table
from spanforest.experiments._paper import MEASURES, display_name
from spanforest.experiments._ranks import RankComparison, compare_ranks
from spanforest.experiments._rows import Row, RowFile, identity
from spanforest.experiments._run import Experiment, run
from spanforest.experiments._tables import (
    PerformanceTable,
    learning_curves,
    performance_table,
)

__all__ = [
    "MEASURES",
    "DatasetTable",
    "Experiment",
    "PerformanceTable",
    "RankComparison",
    "Row",
    "RowFile",
    "compare_ranks",
    "dataset_table",
    "display_name",
    "identity",
    "learning_curves",
    "performance_table",
    "run",
]
