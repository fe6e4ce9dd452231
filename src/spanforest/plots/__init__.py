"""Figures of what an ensemble did: numbers in, numbers kept, drawing last.

Every ``...Display`` stores the numbers it shows; its ``from_...`` class methods compute
them and draw, `plot` only draws. matplotlib comes with ``pip install
"spanforest[plot]"``.
"""

from spanforest.diagnostics import LabelMeasures
from spanforest.plots._comparison import CriticalDifferenceDisplay
from spanforest.plots._convergence import DualityGapDisplay
from spanforest.plots._curves import EnsembleCurveDisplay, plot_learning_curves
from spanforest.plots._diversity import DiversityDisplay
from spanforest.plots._label_graph import LabelGraphDisplay
from spanforest.plots._labels import LabelMeasuresDisplay, ScoreCalibrationDisplay
from spanforest.plots._style import method_colour

__all__ = [
    "CriticalDifferenceDisplay",
    "DiversityDisplay",
    "DualityGapDisplay",
    "EnsembleCurveDisplay",
    "LabelGraphDisplay",
    "LabelMeasures",
    "LabelMeasuresDisplay",
    "ScoreCalibrationDisplay",
    "method_colour",
    "plot_learning_curves",
]
