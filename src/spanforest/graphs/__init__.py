"""Output graphs over the labels: drawing them, and reading those that users pass.

A graph has a node per label and undirected edges. It may be a tree or a forest, and may
have cycles and isolated labels.
"""

from spanforest.graphs._generators import (
    FROM_LABELS,
    GENERATORS,
    chow_liu_tree,
    draw_graph,
    independent_labels,
    informed_random_tree,
    maximum_spanning_tree,
    mutual_information,
    random_pairing,
    random_spanning_tree,
    recursive_random_tree,
    uniform_random_tree,
)
from spanforest.graphs._label_graph import LabelGraph, consensus_graph
from spanforest.graphs._reading import as_label_graph

__all__ = [
    "FROM_LABELS",
    "GENERATORS",
    "LabelGraph",
    "as_label_graph",
    "chow_liu_tree",
    "consensus_graph",
    "draw_graph",
    "independent_labels",
    "informed_random_tree",
    "maximum_spanning_tree",
    "mutual_information",
    "random_pairing",
    "random_spanning_tree",
    "recursive_random_tree",
    "uniform_random_tree",
]
