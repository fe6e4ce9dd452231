"""An ensemble that chooses its parameters by cross-validation as it is fitted.

For every kernel the training examples are compared once, and folds are slices of the
result. On each fold a few trees learn all values of C one after the other, from where
the last one ended. All candidates have the same folds, graphs and seeds.
"""

from spanforest.tuning._estimator import RandomGraphEnsembleClassifierCV

__all__ = ["RandomGraphEnsembleClassifierCV"]
