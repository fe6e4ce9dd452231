"""Looking at fitted models: couplings, explanations, features that matter, Theorem 1.

All functions take a fitted `MMCRFClassifier` or `RandomGraphEnsembleClassifier`, also
as the last step of a scikit-learn pipeline or as the best estimator of a search.
"""

from spanforest.diagnostics._couplings import (
    Couplings,
    edge_couplings,
    keep_summary,
    label_frequencies,
    training_couplings,
    training_frequencies,
)
from spanforest.diagnostics._explain import (
    Contribution,
    Explanation,
    FeatureContribution,
    LabelExplanation,
    explain,
)
from spanforest.diagnostics._feature_importance import (
    FeatureImportance,
    feature_importance,
)
from spanforest.diagnostics._measures import LabelMeasures, Positives
from spanforest.diagnostics._models import (
    final_step,
    graph_of,
    in_training_order,
    relative_gaps,
)
from spanforest.diagnostics._theorem import (
    DiversityCurve,
    ReconstructionGap,
    diversity_curve,
    node_scores,
    reconstruction_gap,
)

__all__ = [
    "Contribution",
    "Couplings",
    "DiversityCurve",
    "Explanation",
    "FeatureContribution",
    "FeatureImportance",
    "LabelExplanation",
    "LabelMeasures",
    "Positives",
    "ReconstructionGap",
    "diversity_curve",
    "edge_couplings",
    "explain",
    "feature_importance",
    "final_step",
    "graph_of",
    "in_training_order",
    "keep_summary",
    "label_frequencies",
    "node_scores",
    "reconstruction_gap",
    "relative_gaps",
    "training_couplings",
    "training_frequencies",
]
