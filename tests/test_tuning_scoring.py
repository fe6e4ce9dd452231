"""How candidates are judged."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from searches import UNIT, mean_of_three, tuned
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    coverage_error,
    f1_score,
    hamming_loss,
    hinge_loss,
    jaccard_score,
    log_loss,
    make_scorer,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)
from small_data import GRADES, X
from small_data import NOISY_Y as Y

from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_accuracy_scorer,
    microlabel_f1,
    multilabel_accuracy,
    ranking_loss,
)
from spanforest.tuning._cross_validation import Search


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


OF_PROBABILITIES = [
    *(log_loss, brier_score_loss, roc_auc_score, average_precision_score, hinge_loss),
    *(coverage_error, ranking_loss),
]


@pytest.mark.parametrize("measure", OF_PROBABILITIES)
@pytest.mark.parametrize("form", [lambda f: f, partial, make_scorer])
def test_measures_of_probabilities_are_refused_in_any_form(measure, form):
    message = rf"cannot: it needs probabilities .*{SCORERS_OF_SETS}\.$"
    with pytest.raises(ValueError, match=message):
        tuned(scoring=form(measure)).fit(X, Y)


SCORERS_OF_SETS = "such as 'f1_micro', 'f1_macro' or 'jaccard_samples'"
SCORERS_OF_ONE = "such as 'f1_macro' or 'f1_weighted'"


@pytest.mark.parametrize(
    ("scoring", "instead"),
    [
        ("r2", r"\(if yours are numbers: lambda y_true, y_pred: r2_score"),
        ("explained_variance", "lambda y_true, y_pred: explained_variance_score"),
        ("neg_max_error", "lambda y_true, y_pred: -max_error"),
        (r2_score, "lambda y_true, y_pred: r2_score"),
        (mean_absolute_error, "lambda y_true, y_pred: -mean_absolute_error"),
        (make_scorer(r2_score), "lambda y_true, y_pred: r2_score"),
    ],
)
def test_measures_of_numbers_are_refused(scoring, instead):
    with pytest.raises(ValueError, match=f"compares numbers, not labels.*{instead}"):
        tuned(scoring=scoring).fit(X, Y)


def test_a_function_may_compare_numbers():
    grades = GRADES[:, 0]
    fitted = tuned(scoring=lambda t, p: -mean_absolute_error(t, p)).fit(X, grades)
    assert -1 < fitted.best_score_ < 0


def by_name(truth, predicted):
    return truth["happy"] == predicted["happy"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (f1_score, f"f1_score cannot: Target is multilabel.*{SCORERS_OF_SETS}"),
        (by_name, f"by_name cannot: IndexError: .*{SCORERS_OF_SETS}"),
        (lambda t, p: None, "<lambda> returned None"),
        (lambda t, p: True, "<lambda> returned True"),
        (lambda t, p: np.inf, "<lambda> returned inf"),
        (
            partial(f1_score, average=None),
            r"f1_score returned an array of shape \(4,\)",
        ),
        (make_scorer(f1_score, average=None), r"returned an array of shape \(4,\)"),
        (partial(hamming_loss), r"make_scorer\(hamming_loss, greater_is_better=False"),
    ],
)
def test_a_function_that_cannot_judge_is_refused_before_training(
    monkeypatch, function, message
):
    monkeypatch.setattr(Search, "train", None)
    with pytest.raises(ValueError, match=message):
        tuned(scoring=function).fit(X, Y)


@pytest.mark.parametrize("labels", [Y[:, 0], Y[:, :1], GRADES[:, 0]])
def test_one_label_is_advised_scorers_that_suit_it(labels):
    with pytest.raises(ValueError, match=SCORERS_OF_ONE):
        tuned(scoring="jaccard_samples").fit(X, labels)
    for name in ("f1_macro", "f1_weighted"):
        assert 0 < tuned(scoring=name, Cs=1.0).fit(X, labels).best_score_ <= 1


def test_labels_of_many_values_are_advised_no_scorer_of_scikit_learn():
    with pytest.raises(ValueError, match=r"'multilabel_accuracy'\.$"):
        tuned(scoring="f1_macro").fit(X, GRADES)
