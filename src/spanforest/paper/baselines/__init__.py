"""The methods that the paper compares with, as scikit-learn estimators.

`AdaBoostMHClassifier` and `MultiTaskFeatureClassifier` learn all labels together.
`svm_per_label` sets up a support vector machine per label, as in the paper, with
`PerLabelClassifier`; `BaggedSVMClassifier` is its bagging.
"""

from spanforest.paper.baselines._adaboost_mh import AdaBoostMHClassifier
from spanforest.paper.baselines._multitask import MultiTaskFeatureClassifier
from spanforest.paper.baselines._svm import (
    BaggedSVMClassifier,
    PerLabelClassifier,
    svm_per_label,
)

__all__ = [
    "AdaBoostMHClassifier",
    "BaggedSVMClassifier",
    "MultiTaskFeatureClassifier",
    "PerLabelClassifier",
    "svm_per_label",
]
