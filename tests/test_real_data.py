"""The paper's data, which is not part of the package.

`SPANFOREST_DATA` names the folder that holds it. What was reached is logged:
``pytest tests/test_real_data.py -rP --log-level=INFO`` shows it.
"""

import logging
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import load_npz
from spanforest.metrics import microlabel_f1, multilabel_accuracy
from spanforest.model_selection import LabelCardinalityKFold


class Expected(NamedTuple):
    """What the paper's MAM reached, in per cent."""

    multilabel_accuracy: float
    microlabel_f1: float


PAPER = {
    "emotions": Expected(30.4, 66.3),
    "yeast": Expected(14.0, 62.4),
    "scene": Expected(5.4, 11.6),
    "medical": Expected(36.9, 50.3),
}
# The paper's figures on these two are those of an unfinished optimiser: a fall back to
# them would go unseen. These are what this library reached, rounded down.
REACHED = {"scene": Expected(63.0, 72.0), "medical": Expected(62.0, 78.0)}
# In points of a per cent: less than one label set of the smallest set, 593 examples.
# On medical, members and ensemble tie in F1, and rounding tips the balance.
TIE = 0.1


def read(name):
    folder = os.environ.get("SPANFOREST_DATA")
    if not folder:
        pytest.skip("SPANFOREST_DATA does not name a folder with the paper's data")
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"SPANFOREST_DATA has no {path.name}")
    return load_npz(path)


def per_cent(truth, prediction):
    return np.array(
        [
            100 * multilabel_accuracy(truth, prediction),
            100 * microlabel_f1(truth, prediction),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER)
def test_mam_is_no_worse_than_in_the_paper_and_than_its_members(name):
    data = read(name)
    scaler = TfidfTransformer() if name == "medical" else StandardScaler()
    classifier = RandomGraphEnsembleClassifier(
        20,
        kernel="linear",
        scaling=None,
        normalize_kernel=True,
        tol=0.05,
        random_state=0,
        n_jobs=2,
    )
    model = make_pipeline(scaler, classifier)
    folds = LabelCardinalityKFold(n_splits=5, random_state=0)
    ensemble, members = [], []
    for train, test in folds.split(data.X, data.Y):
        model.fit(data.X[train], data.Y[train])
        X_test = model[:-1].transform(data.X[test])
        ensemble.append(per_cent(data.Y[test], classifier.predict(X_test)))
        members += [
            per_cent(data.Y[test], member.predict(X_test))
            for member in classifier.estimators_
        ]
    accuracy, f1 = np.mean(ensemble, axis=0)
    member_accuracy, member_f1 = np.mean(members, axis=0)
    reason = (
        f"{name}: multilabel accuracy {accuracy:.1f}, microlabel F1 {f1:.1f}; "
        f"mean member {member_accuracy:.1f}, {member_f1:.1f}"
    )
    logging.getLogger(__name__).info(reason)
    assert accuracy >= PAPER[name].multilabel_accuracy, reason
    assert f1 >= PAPER[name].microlabel_f1, reason
    assert accuracy >= member_accuracy - TIE, reason
    assert f1 >= member_f1 - TIE, reason
    if name in REACHED:
        assert accuracy >= REACHED[name].multilabel_accuracy, reason
        assert f1 >= REACHED[name].microlabel_f1, reason
