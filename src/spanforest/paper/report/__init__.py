"""One HTML page about runs of the experiment, made from their rows."""

from spanforest.paper.report._page import make_report

__all__ = ["make_report"]
