"""How candidates are judged."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from searches import UNIT, mean_of_three, tuned
from sklearn.metrics import hamming_loss
from small_data import GRADES, X
from small_data import NOISY_Y as Y

from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)


def test_of_equal_candidates_the_first_and_smallest_is_chosen():
    fitted = tuned(
        kernels=["rbf", "linear"],
        gammas=[2.0, 1.0],
        Cs=[1.0, 0.1],
        losses=["hamming", "edge"],
        scoring=lambda y_true, y_pred: 1.0,
    ).fit(X, Y)
    assert fitted.best_index_ == 0
    assert (fitted.kernel_, fitted.C_, fitted.loss_) == ("rbf", 0.1, "hamming")
    assert fitted.gamma_ == pytest.approx(UNIT)
    assert set(fitted.cv_results_["rank_test_score"]) == {1}
    final = fitted.best_estimator_.get_params()
    assert {name: final[name] for name in fitted.best_params_} == fitted.best_params_


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("multilabel_accuracy", multilabel_accuracy),
        ("microlabel_accuracy", microlabel_accuracy),
        ("microlabel_f1", microlabel_f1),
        ("mean", mean_of_three),
        (lambda t, p: -hamming_loss(t, p), lambda t, p: microlabel_accuracy(t, p) - 1),
    ],
)
@pytest.mark.parametrize("signs", [False, True])
def test_candidates_are_judged_by_the_measure_asked_for(name, measure, signs):
    always = np.ones((60, 1), int)
    labels = np.hstack([Y, always])
    labels = 2 * labels - 1 if signs else labels
    by_name = tuned(scoring=name).fit(X, labels)
    by_hand = tuned(scoring=lambda t, p: measure(t > 0, p > 0)).fit(X, labels)
    assert_allclose(
        by_name.cv_results_["mean_test_score"], by_hand.cv_results_["mean_test_score"]
    )


def test_f1_of_labels_with_many_values_is_refused():
    with pytest.raises(
        ValueError, match=r"label 0 has 3. Pass scoring=\"microlabel_acc"
    ):
        tuned(scoring="microlabel_f1").fit(X, GRADES)
