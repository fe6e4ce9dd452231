"""One HTML page about runs of the experiment, made from their rows."""

from spanforest.report._fits import fit_label_graphs
from spanforest.report._label_graph import LabelGraph, NoLabelGraph
from spanforest.report._page import make_report

__all__ = ["LabelGraph", "NoLabelGraph", "fit_label_graphs", "make_report"]
