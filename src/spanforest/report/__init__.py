"""One HTML page about a run of the experiment, made from its rows alone."""

from spanforest.report._page import make_report

__all__ = ["make_report"]
