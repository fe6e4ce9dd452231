"""True and predicted labels, read as codes of the values of training."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from spanforest import MMCRFClassifier
from spanforest._labels import read_labels
from spanforest.diagnostics._models import FittedModel
from spanforest.model_page._outcomes import UNKNOWN, UNSEEN, Outcomes, codes_of

BITS = np.array([[0, 1, 0], [1, 1, 0], [1, 0, 0]])


def fitted(Y, X=None):
    X = np.arange(float(len(Y)))[:, None] if X is None else X
    model = MMCRFClassifier(kernel="linear", scaling=None, tol=0.5, random_state=0)
    return FittedModel.of(model.fit(X, Y), X)


def outcomes_of(Y, truth):
    model, X = fitted(Y)
    return Outcomes.of(model, X[: len(truth)], truth)


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        lambda Y: Y.tolist(),
        sparse.csr_array,
        pd.DataFrame,
        lambda Y: Y.astype(float),
        lambda Y: Y.astype(bool),
        lambda Y: pd.DataFrame(Y).astype("Int64"),
    ],
)
def test_labels_of_any_form_have_the_same_codes(form):
    coding = read_labels([[0, 0, 0], [1, 1, 1]])[1]
    assert codes_of(form(BITS), coding).tolist() == BITS.tolist()


@pytest.mark.parametrize(
    "form",
    [
        lambda Y, gaps: np.where(gaps, np.nan, Y),
        lambda Y, gaps: np.where(gaps, None, Y.astype(object)),
        lambda Y, gaps: np.ma.masked_array(Y, gaps),
        lambda Y, gaps: pd.DataFrame(Y).astype("Int64").mask(gaps),
    ],
)
def test_missing_labels_are_unknown_even_all_of_one_label(form):
    gaps = np.array([[True, False, True], [False, False, True], [False, False, True]])
    coding = read_labels([[0, 0, 0], [1, 1, 1]])[1]
    codes = codes_of(form(BITS, gaps), coding)
    assert codes.tolist() == np.where(gaps, UNKNOWN, BITS).tolist()


def test_another_value_may_mean_missing():
    coding = read_labels([[0], [1]])[1]
    codes = codes_of(np.array([[0], [-1], [1], [2]]), coding, missing_label=-1)
    assert codes.ravel().tolist() == [0, UNKNOWN, 1, UNSEEN]


def test_labels_of_two_values_ask_one_question_and_others_one_for_each_value():
    Y = np.array(
        [[0, "red", "no"], [1, "blue", "yes"], [1, "green", "no"]], dtype=object
    )
    outcomes = outcomes_of(pd.DataFrame(Y, columns=["a", "b", "c"]), Y)
    asked = [(question.name, question.label) for question in outcomes.questions]
    colours = [(f"b = {colour}", 1) for colour in ("blue", "green", "red")]
    assert asked == [("a", 0), *colours, ("c", 2)]
    assert outcomes.label_set(np.array([0, 2, 0])) == ["b = red"]
    assert outcomes.label_set(np.array([1, 0, 1])) == ["a", "b = blue", "c = yes"]


def test_a_label_that_never_occurred_in_training_asks_for_unseen_values():
    outcomes = outcomes_of(BITS, [[0, 1, 1]])
    assert outcomes.questions[2].code == UNSEEN
    assert outcomes.truth.tolist() == [[0, 1, UNSEEN]]
    assert outcomes.wrong()[0].tolist()[2]


def test_labels_without_any_known_value_are_no_truth():
    assert outcomes_of(BITS, np.full((2, 3), np.nan)).truth is None
    assert outcomes_of(BITS, np.full((2, 3), np.nan)).wrong().sum() == 0


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([["0", "1", "0"]], "none of them did.*'0', and was 0 in training"),
        ([[0, 1]], "3 labels of 1 examples; got 2 labels of 1"),
    ],
)
def test_labels_that_do_not_fit_the_model_are_refused(truth, message):
    with pytest.raises(ValueError, match=message):
        outcomes_of(BITS, truth)
