"""One HTML page about runs of the experiment, made from their rows."""

from spanforest.report._fits import fit_label_graphs
from spanforest.report._label_graph import LabelGraph, NoLabelGraph
from spanforest.report._page import make_report
from spanforest.report._stored import read_label_graphs

__all__ = [
    "LabelGraph",
    "NoLabelGraph",
    "fit_label_graphs",
    "make_report",
    "read_label_graphs",
]
