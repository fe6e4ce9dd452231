"""The methods that the paper compares with, as scikit-learn estimators.

`AdaBoostMHClassifier` and `MultiTaskFeatureClassifier` learn all labels together.
`svm_per_label` and `bagged_svm` set up support vector machines as in the paper, with
`PerLabelClassifier` and `BaggedSVMClassifier`.
"""

from spanforest.paper.baselines._adaboost_mh import AdaBoostMHClassifier
from spanforest.paper.baselines._multitask import MultiTaskFeatureClassifier
from spanforest.paper.baselines._svm import (
    BaggedSVMClassifier,
    PerLabelClassifier,
    bagged_svm,
    svm_per_label,
)

__all__ = [
    "AdaBoostMHClassifier",
    "BaggedSVMClassifier",
    "MultiTaskFeatureClassifier",
    "PerLabelClassifier",
    "bagged_svm",
    "svm_per_label",
]
