"""Examples of the page: which are shown, and what is said about them."""

import numpy as np
import pytest
from model_pages import LABELS, TEST, X, Y, ensemble, outcomes_of, trained
from numpy.testing import assert_allclose

from spanforest.diagnostics import explain
from spanforest.model_page._examples import N_REASONS, examples, mistakes_text, select

OUTCOMES = outcomes_of(trained(), X[TEST], LABELS[TEST])
ROWS = np.array([0, 3, 4, 11])


@pytest.fixture(scope="module")
def shown():
    return examples(trained(), X[TEST], OUTCOMES, ROWS, 4)


@pytest.mark.parametrize("number", [2, 9, 20])
def test_half_of_the_chosen_examples_have_mistakes_if_there_are_as_many(number):
    selection = select(OUTCOMES, number)
    wrong = OUTCOMES.wrong().any(axis=1)
    n_wrong = int(wrong[selection.rows].sum())
    assert len(set(selection.rows.tolist())) == number
    assert n_wrong >= min(number // 2, wrong.sum())
    assert number - n_wrong >= min(number // 2, (~wrong).sum())
    assert f"{n_wrong} of the {wrong.sum()} with mistakes" in selection.text
    assert select(OUTCOMES, number).rows.tolist() == selection.rows.tolist()


def test_few_examples_are_all_shown():
    assert select(OUTCOMES, 30).rows.tolist() == list(range(30))
    assert select(OUTCOMES, 99).text == "All examples are shown."


def test_marks_are_the_labels_that_are_on_in_truth_or_prediction(shown):
    for i, example in zip(ROWS, shown, strict=True):
        truth, predicted = OUTCOMES.truth[i], OUTCOMES.predicted[i]
        kinds = {(1, 1): "right", (1, 0): "missed", (0, 1): "extra"}
        pairs = zip(OUTCOMES.names, truth.tolist(), predicted.tolist(), strict=True)
        expected = {(name, kinds[a, b]) for name, a, b in pairs if a or b}
        assert set(example.marks) == expected
        assert example.n_wrong == (truth != predicted).sum()
        assert example.number == i + 1


def test_the_best_label_sets_are_those_of_predict_topk(shown):
    lists = trained().predict_topk(X[TEST][ROWS], 4)
    names = np.array(OUTCOMES.names)
    for at, example in enumerate(shown):
        first = set(names[lists.labels[at, 0] == 1])
        for each, labels, score in zip(
            example.sets, lists.labels[at], lists.scores[at], strict=True
        ):
            on = set(names[labels == 1])
            assert set(each.labels) == on
            assert (set(each.added), set(each.removed)) == (on - first, first - on)
            assert each.score == score
            assert each.is_true == (labels == OUTCOMES.truth[ROWS[at]]).all()
            assert each.is_predicted == (labels == OUTCOMES.predicted[ROWS[at]]).all()


def test_reasons_are_those_of_explain_and_mistakes_come_first(shown):
    for i, example in zip(ROWS, shown, strict=True):
        explanation = explain(trained(), X[TEST][i])
        flags = [reason.is_wrong for reason in example.reasons]
        assert flags == sorted(flags, reverse=True)
        assert sum(flags) == example.n_wrong
        for reason in example.reasons:
            told = explanation.of(reason.label)
            assert reason.margin == f"{told.margin:.3g}"
            for sides in (reason.edges, reason.features):  # the kernel is linear
                causes = [cause for side in sides for cause in side]
                total = sum(float(cause.difference) for cause in causes)
                assert_allclose(total, told.margin, rtol=0.02, atol=0.02)


@pytest.mark.needs_compiled
def test_many_labels_have_few_reasons():
    wide = np.hstack([Y, Y, Y])
    model = ensemble().fit(X, wide)
    [example] = examples(model, X, outcomes_of(model, X), np.array([0]), 2)
    assert len(example.reasons) == N_REASONS
    assert example.n_unexplained == wide.shape[1] - N_REASONS
    assert {mark.kind for mark in example.marks} <= {"predicted"}
    assert mistakes_text(example, 15) == "its true labels are not known"


def test_a_prediction_that_is_not_that_of_mam_says_so():
    model = ensemble(aggregation="mve").fit(X[TRAIN_ROWS], Y[TRAIN_ROWS])
    outcomes = outcomes_of(model, X, Y)
    shown = examples(model, X, outcomes, np.arange(len(X)), 1)
    differs = (model.predict(X) != model.predict(X, aggregation="mam")).any(axis=1)
    assert [example.is_other for example in shown] == differs.tolist()


TRAIN_ROWS = slice(0, 20)
