"""The checks of scikit-learn, with estimators that get their arrays in odd forms."""

import random
import unittest
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from harness import Target
from input_kinds import MATRICES, TABLES
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)

FORMS = {**TABLES, **MATRICES}
KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "OneGraph": (MMCRFClassifier, {}),
    "Ensemble": (RandomGraphEnsembleClassifier, {"n_estimators": 2}),
    "Tuned": (
        RandomGraphEnsembleClassifierCV,
        {"n_estimators": 2, "gammas": (1.0,), "Cs": (1.0,), "n_estimators_search": 1},
    ),
}
METHODS = ("fit", "predict", "decision_function", "score")


class Case(NamedTuple):
    """A check, and the form in which the estimator gets features and labels."""

    kind: str
    form: str
    check: str


def _converted(form: str, array: Any) -> Any:
    """Return a plain table of numbers in another form, and anything else as it is."""
    is_plain = type(array) is np.ndarray and array.ndim == 2 and array.size > 0
    return FORMS[form](array) if is_plain and array.dtype.kind in "fiu" else array


@cache
def class_in_form(kind: str, form: str) -> type:
    """Return a subclass whose methods convert their arguments first."""
    base, _ = KINDS[kind]

    def converting(name: str) -> Any:
        def method(self: Any, *arrays: Any, **options: Any) -> Any:
            arrays = tuple(_converted(form, array) for array in arrays)
            return getattr(base, name)(self, *arrays, **options)

        return method

    name = f"{kind}{list(FORMS).index(form)}"
    methods = {name: converting(name) for name in METHODS}
    made = type(name, (base,), {**methods, "__module__": __name__})
    globals()[name] = made  # where pickle looks for it
    return made


def _checks(kind: str, form: str) -> dict[str, Any]:
    """Return the checks by name, each with the estimator that it wants."""
    estimator = class_in_form(kind, form)(**KINDS[kind][1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names of private tags
        return {
            repr(getattr(check, "keywords", {})) + check.func.__name__: (check, one)
            for one, check in estimator_checks_generator(estimator)
        }


def make(rng: random.Random) -> Case:
    """Draw a combination."""
    kind = rng.choice([*KINDS, "OneGraph", "Ensemble"])
    form = rng.choice(list(FORMS))
    return Case(kind, form, rng.choice(list(_checks(kind, form))))


def check(case: Case) -> None:
    """Run the check; an error is a finding, a check that skips itself is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run, estimator = _checks(case.kind, case.form)[case.check]
        try:
            run(estimator)
        except unittest.SkipTest:
            return


TARGETS = [(Target("checks", make, check, most_seconds=60), 0.005)]
