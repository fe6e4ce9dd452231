"""How candidates are judged."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from searches import UNIT, mean_of_three, tuned
from sklearn.metrics import f1_score, hamming_loss, jaccard_score
from small_data import GRADES, X
from small_data import NOISY_Y as Y

from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_accuracy_scorer,
    microlabel_f1,
    multilabel_accuracy,
)


@pytest.mark.needs_compiled
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


def own_scorer(model, X, y, sample_weight=None):
    return microlabel_accuracy(y, model.predict(X), sample_weight)


SCORERS = {
    "accuracy": multilabel_accuracy,
    "f1_micro": microlabel_f1,
    "f1_macro": partial(f1_score, average="macro", zero_division=0.0),
    "neg_hamming_loss": lambda t, p, **w: microlabel_accuracy(t, p, **w) - 1,
    "f1_samples": partial(f1_score, average="samples", zero_division=0.0),
    "jaccard_samples": partial(jaccard_score, average="samples", zero_division=0.0),
    microlabel_accuracy_scorer: microlabel_accuracy,
    own_scorer: microlabel_accuracy,
}


@pytest.mark.needs_compiled
@pytest.mark.parametrize(("scorer", "measure"), SCORERS.items())
@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scorers_of_scikit_learn_judge_as_their_measures_do(
    scorer, measure, signs, weighted
):
    labels = np.hstack([Y, np.zeros((60, 1), int)])  # no candidate predicts the last
    weights = 1.0 + np.arange(60) % 3 if weighted else None

    def by_hand(truth, predicted, sample_weight=None):
        return measure(truth > 0, predicted > 0, sample_weight=sample_weight)

    shown = 2 * labels - 1 if signs else labels
    one, other = (
        tuned(scoring=scoring).fit(X, shown, sample_weight=weights).cv_results_
        for scoring in (scorer, by_hand)
    )
    assert_allclose(one["mean_test_score"], other["mean_test_score"])
    assert np.ptp(one["mean_test_score"]) > 0


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "balanced_accuracy"])
def test_one_label_of_many_values_has_the_scorers_of_classes(scoring):
    fitted = tuned(scoring=scoring).fit(X, np.array(["a", "b", "c"])[GRADES[:, 0]])
    assert 0.4 < fitted.best_score_ <= 1


def test_f1_of_labels_with_many_values_is_refused():
    with pytest.raises(
        ValueError, match=r"label 0 has 3. Pass scoring=\"microlabel_acc"
    ):
        tuned(scoring="microlabel_f1").fit(X, GRADES)
