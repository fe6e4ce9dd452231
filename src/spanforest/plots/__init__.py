"""Figures of a fitted model and of its results.

Every ``...Display`` stores the numbers it shows. Its ``from_...`` class methods compute
the numbers and draw them; `plot` only draws. They need matplotlib: ``pip install
"spanforest[plot]"``.
"""

from spanforest.diagnostics import LabelMeasures
from spanforest.plots._comparison import CriticalDifferenceDisplay
from spanforest.plots._convergence import DualityGapDisplay
from spanforest.plots._diversity import DiversityDisplay
from spanforest.plots._ensemble_curves import EnsembleCurveDisplay, plot_learning_curves
from spanforest.plots._feature_importance import FeatureImportanceDisplay
from spanforest.plots._label_graph import LabelGraphDisplay
from spanforest.plots._label_measures import LabelMeasuresDisplay
from spanforest.plots._score_calibration import ScoreCalibrationDisplay
from spanforest.plots._style import method_colour

__all__ = [
    "CriticalDifferenceDisplay",
    "DiversityDisplay",
    "DualityGapDisplay",
    "EnsembleCurveDisplay",
    "FeatureImportanceDisplay",
    "LabelGraphDisplay",
    "LabelMeasures",
    "LabelMeasuresDisplay",
    "ScoreCalibrationDisplay",
    "method_colour",
    "plot_learning_curves",
]
