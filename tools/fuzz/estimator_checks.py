"""The checks of scikit-learn, with estimators that get their arrays in odd forms."""

import random
import unittest
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from harness import Target
from input_kinds import MATRICES, TABLES
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)
from spanforest.kernels import ForestKernel

FORMS = {**TABLES, **MATRICES}
KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "OneGraph": (MMCRFClassifier, {}),
    "Ensemble": (RandomGraphEnsembleClassifier, {"n_estimators": 2}),
    "Joint": (RandomGraphEnsembleClassifier, {"n_estimators": 2, "training": "joint"}),
    "Forest": (
        RandomGraphEnsembleClassifier,
        {"n_estimators": 2, "kernel": ForestKernel(5)},
    ),
    "Several": (
        RandomGraphEnsembleClassifier,
        {"n_estimators": 2, "kernel": ["rbf", ForestKernel(5)]},
    ),
    "Tuned": (
        RandomGraphEnsembleClassifierCV,
        {"n_estimators": 2, "gammas": (1.0,), "Cs": (1.0,), "n_estimators_search": 1},
    ),
}
# these forms have names of columns, whose check comes before that of their number
NAMED = {name for name in FORMS if "frame" in name or name in ("polars", "arrow table")}


class Case(NamedTuple):
    """A check, and the form in which the estimator gets features and labels."""

    kind: str
    form: str
    check: str


def _converted(form: str, array: Any) -> Any:
    """Return a plain table of numbers in another form, and anything else as it is."""
    is_plain = type(array) is np.ndarray and array.ndim == 2 and array.size > 0
    if not is_plain or array.dtype.kind not in "fiu":
        return array
    if form in MATRICES and np.isnan(array).any():
        return array  # NaN is accepted in dense tables only
    return FORMS[form](array)


@cache
def class_in_form(kind: str, form: str) -> type:
    """Return a subclass whose methods convert their arguments first."""
    base, _ = KINDS[kind]
    label_form = form if form in TABLES else "plain"  # matrices may change the type

    class Converting(base):
        def fit(self, X, y, sample_weight=None):
            y = _converted(label_form, y)
            return super().fit(_converted(form, X), y, sample_weight)

        def predict(self, X):
            return super().predict(_converted(form, X))

        def decision_function(self, X):
            return super().decision_function(_converted(form, X))

        def score(self, X, y, sample_weight=None):
            y = _converted(label_form, y)
            return super().score(_converted(form, X), y, sample_weight)

    name = f"{kind}{list(FORMS).index(form)}"
    Converting.__name__ = Converting.__qualname__ = name
    globals()[name] = Converting  # where pickle looks for it
    return Converting


def _checks(kind: str, form: str) -> dict[str, Any]:
    """Return the checks by name, each with the estimator that it wants."""
    estimator = class_in_form(kind, form)(**KINDS[kind][1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names of private tags
        return {
            repr(getattr(check, "keywords", {})) + check.func.__name__: (check, one)
            for one, check in estimator_checks_generator(estimator)
            if form not in NAMED or "n_features_in_after" not in check.func.__name__
        }


def make(rng: random.Random) -> Case:
    """Draw a combination."""
    kind = rng.choice([*KINDS, "OneGraph", "Ensemble"])
    form = rng.choice(list(FORMS))
    return Case(kind, form, rng.choice(list(_checks(kind, form))))


def check(case: Case) -> None:
    """Run the check; an error is a finding, a check that skips itself is none."""
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, sparse.SparseEfficiencyWarning):
            warnings.simplefilter("ignore", kind)
        # a check that passes a row, or a sparse matrix, passes it without names
        for message in ("X does not have valid", "X has"):
            warnings.filterwarnings("ignore", message=f"{message} feature names")
        run, estimator = _checks(case.kind, case.form)[case.check]
        try:
            run(estimator)
        except unittest.SkipTest:
            return


TARGETS = [(Target("checks", make, check, most_seconds=60), 0.005)]
