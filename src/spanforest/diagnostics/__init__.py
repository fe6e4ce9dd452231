"""What a fitted model did: Theorem 1 in numbers, couplings of labels, explanations.

All functions take a fitted `MMCRFClassifier` or `RandomGraphEnsembleClassifier`, also
as the last step of a scikit-learn pipeline or as the best estimator of a search.
"""

from spanforest.diagnostics._couplings import (
    Couplings,
    edge_couplings,
    label_frequencies,
)
from spanforest.diagnostics._explain import (
    Contribution,
    Explanation,
    LabelExplanation,
    explain,
)
from spanforest.diagnostics._models import relative_gaps
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
    "LabelExplanation",
    "ReconstructionGap",
    "diversity_curve",
    "edge_couplings",
    "explain",
    "label_frequencies",
    "node_scores",
    "reconstruction_gap",
    "relative_gaps",
]
