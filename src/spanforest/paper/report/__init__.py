"""One HTML page about runs of the experiment, made from their rows."""

from spanforest.paper.report._fits import fit_label_graphs
from spanforest.paper.report._label_graph import LabelGraph, NoLabelGraph
from spanforest.paper.report._page import make_report
from spanforest.paper.report._stored import read_label_graphs

__all__ = [
    "LabelGraph",
    "NoLabelGraph",
    "fit_label_graphs",
    "make_report",
    "read_label_graphs",
]
