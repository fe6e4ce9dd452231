"""The measures agree with scikit-learn, for labels in every form."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    coverage_error,
    f1_score,
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from strategies import seeds, trials

from spanforest.metrics import (
    MEASURES,
    RANKING_MEASURES,
    microlabel_accuracy,
    microlabel_accuracy_scorer,
    microlabel_f1,
    microlabel_f1_scorer,
    multilabel_accuracy,
    multilabel_accuracy_scorer,
)

FUNCTIONS = [measure.function for measure in MEASURES.values()]
REPRESENTATIONS = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "float": lambda Y: Y.astype(float),
    "bool": lambda Y: Y.astype(bool),
    "object": lambda Y: Y.astype(object),
    "frame": lambda Y: pd.DataFrame(Y).add_prefix("label"),
    "csr": sparse.csr_matrix,
    "coo": sparse.coo_array,
    "fortran": np.asfortranarray,
}


@st.composite
def label_matrices(draw, n_values=2, min_labels=1):
    """A true and a predicted label matrix of one shape."""
    shape = draw(st.tuples(st.integers(1, 8), st.integers(min_labels, 5)))
    matrices = arrays(np.int64, shape, elements=st.integers(0, n_values - 1))
    return draw(matrices), draw(matrices)


@given(label_matrices(min_labels=2))
def test_measures_of_indicator_matrices_agree_with_scikit_learn(pair):
    truth, prediction = pair

    assert multilabel_accuracy(truth, prediction) == pytest.approx(
        accuracy_score(truth, prediction)
    )
    assert microlabel_accuracy(truth, prediction) == pytest.approx(
        1 - hamming_loss(truth, prediction)
    )
    assert microlabel_f1(truth, prediction) == pytest.approx(
        f1_score(truth, prediction, average="micro", zero_division=0)
    )


@given(label_matrices())
def test_microlabel_f1_equals_binary_f1_of_the_pooled_labels(pair):
    truth, prediction = pair
    assert microlabel_f1(truth, prediction) == pytest.approx(
        f1_score(truth.ravel(), prediction.ravel(), zero_division=0)
    )


@given(label_matrices(n_values=4), st.booleans())
def test_accuracies_of_many_valued_labels_equal_a_plain_count(pair, as_strings):
    truth, prediction = pair
    right = [
        [a == b for a, b in zip(*rows, strict=True)]
        for rows in zip(truth.tolist(), prediction.tolist(), strict=True)
    ]
    if as_strings:
        truth, prediction = truth.astype(str), prediction.astype(str)

    assert microlabel_accuracy(truth, prediction) == pytest.approx(
        sum(map(sum, right)) / truth.size
    )
    assert multilabel_accuracy(truth, prediction) == pytest.approx(
        sum(map(all, right)) / len(right)
    )


@given(
    label_matrices(),
    st.sampled_from(sorted(REPRESENTATIONS)),
    st.sampled_from(sorted(REPRESENTATIONS)),
)
@trials(200)
def test_the_form_of_the_labels_does_not_matter(pair, true_kind, pred_kind):
    truth, prediction = pair
    for measure in FUNCTIONS:
        value = measure(
            REPRESENTATIONS[true_kind](truth), REPRESENTATIONS[pred_kind](prediction)
        )
        assert value == measure(truth, prediction)
        assert type(value) is float


@given(label_matrices())
def test_a_vector_counts_as_one_label(pair):
    truth, prediction = pair[0][:, :1], pair[1][:, :1]
    for measure in FUNCTIONS:
        expected = measure(truth, prediction)
        assert measure(truth.ravel(), prediction.ravel()) == expected
        assert measure(truth.ravel().tolist(), prediction) == expected
        assert measure(pd.Series(truth.ravel()), prediction) == expected
    assert microlabel_accuracy(truth, prediction) == pytest.approx(
        accuracy_score(truth.ravel(), prediction.ravel())
    )


@given(label_matrices(), st.randoms(use_true_random=False))
def test_measures_ignore_the_order_of_examples_and_labels(pair, random):
    truth, prediction = pair
    rows, columns = (random.sample(range(n), n) for n in truth.shape)
    for measure in FUNCTIONS:
        moved = (Y[np.ix_(rows, columns)] for Y in pair)
        assert measure(*moved) == pytest.approx(measure(truth, prediction))


@given(label_matrices())
def test_multilabel_accuracy_is_never_above_microlabel_accuracy(pair):
    assert multilabel_accuracy(*pair) <= microlabel_accuracy(*pair)


def test_without_positive_labels_the_f1_score_is_zero():
    zeros = np.zeros((3, 2), dtype=int)
    assert microlabel_f1(zeros, zeros) == 0.0
    assert microlabel_f1(sparse.csr_matrix(zeros), zeros) == 0.0


def test_mixed_columns_compare_value_by_value():
    truth = pd.DataFrame({"colour": ["red", "blue"], "size": [1, 2]})
    prediction = np.array([["red", 1], ["blue", 3]], dtype=object)

    for same in (truth, truth.to_numpy().tolist()):
        assert microlabel_accuracy(same, prediction) == 0.75
        assert multilabel_accuracy(prediction, same) == 0.5


@pytest.mark.parametrize("measure", FUNCTIONS)
@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        ([[1, 0]], [[1, 0], [1, 0]], "got 1 examples x 2 labels and 2 examples x 2"),
        ([[1, 0], [1, 0]], [1, 0], "got 2 examples x 2 labels and 2 examples x 1"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "At least one example"),
        (np.zeros((2, 0)), np.zeros((2, 0)), "At least one example"),
        (np.zeros((2, 1, 1)), np.zeros((2, 1)), "Y_true must.*got 3 dimensions"),
        ([1, 0], np.float64(1), "Y_pred must have.*got 0 dimensions"),
        (np.array(["1", "0"]), [1, 0], "same kind of values"),
    ],
)
def test_labels_that_do_not_belong_together_are_refused(
    measure, truth, prediction, message
):
    with pytest.raises(ValueError, match=message):
        measure(truth, prediction)


@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        ([[0, 1, 2]], [[0, 1, 1]], "binary labels, 0 and 1; Y_true holds .*2"),
        ([[0, 1]], [[-1, 1]], "Y_pred holds .*-1"),
        ([["yes", "no"]], [["yes", "no"]], "Y_true holds 'yes'"),
        ([[0.0, 1.0]], [[np.nan, 1.0]], "Y_pred holds .*nan"),
    ],
)
def test_the_f1_score_refuses_labels_other_than_0_and_1(truth, prediction, message):
    with pytest.raises(ValueError, match=message):
        microlabel_f1(truth, prediction)


@pytest.mark.parametrize(
    ("measure", "scorer"),
    [
        (microlabel_accuracy, microlabel_accuracy_scorer),
        (multilabel_accuracy, multilabel_accuracy_scorer),
        (microlabel_f1, microlabel_f1_scorer),
    ],
)
def test_a_scorer_returns_the_measure_of_the_prediction_in_a_grid_search(
    measure, scorer
):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 4)) > 0).astype(int)

    search = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, 15]}, scoring=scorer, cv=2
    ).fit(X, Y)

    assert search.score(X, Y) == pytest.approx(measure(Y, search.predict(X)))
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


ORACLES = {
    "average_precision": label_ranking_average_precision_score,
    "ranking_loss": label_ranking_loss,
    "coverage": coverage_error,
}
rankings = pytest.mark.parametrize("name", ORACLES)


@rankings
@trials(50)
@given(pair=label_matrices(min_labels=2), seed=seeds, ties=st.booleans())
def test_measures_of_rankings_agree_with_scikit_learn(name, pair, seed, ties):
    Y, _ = pair
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=Y.shape)
    strengths = np.round(strengths) if ties else strengths
    weights = rng.uniform(0.5, 2.0, size=len(Y))
    for options in ({}, {"sample_weight": weights}):
        expected = ORACLES[name](Y, strengths, **options)
        assert RANKING_MEASURES[name](Y, strengths, **options) == pytest.approx(
            expected
        )


@rankings
@pytest.mark.parametrize("kind", REPRESENTATIONS)
def test_the_form_of_the_labels_does_not_matter_in_rankings(name, kind):
    rng = np.random.default_rng(0)
    Y, strengths = rng.integers(2, size=(9, 4)), rng.normal(size=(9, 4))
    measure = RANKING_MEASURES[name]
    assert measure(REPRESENTATIONS[kind](Y), strengths) == measure(Y, strengths)


def test_a_single_label_has_nothing_to_rank():
    y, strengths = [0, 1, 1], [0.3, 0.2, -5.0]
    values = {name: one(y, strengths) for name, one in RANKING_MEASURES.items()}
    expected = {"average_precision": 1.0, "ranking_loss": 0.0, "coverage": 2 / 3}
    assert values == pytest.approx(expected)


@rankings
def test_rankings_refuse_what_they_cannot_order(name):
    measure = RANKING_MEASURES[name]
    with pytest.raises(ValueError, match="binary labels, 0 and 1"):
        measure([[0, 2]], [[0.1, 0.2]])
    with pytest.raises(ValueError, match="finite numbers"):
        measure([[0, 1]], [[np.nan, 0.2]])
    with pytest.raises(ValueError, match="missing"):
        measure([[0, np.nan]], [[0.1, 0.2]])
    with pytest.raises(ValueError, match="same labels of the same examples"):
        measure([[0, 1]], [[0.1, 0.2, 0.3]])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "finite numbers of at least 0; the weight of example 1 is -1"),
        ([np.nan, 1.0], "the weight of example 0 is nan"),
        ([0.0, 0.0], "positive for at least one example"),
        ([1.0], r"one number per example, shape \(2,\); got shape \(1,\)"),
        (["a", "b"], "must be an array of numbers"),
    ],
    ids=["negative", "NaN", "zero", "too few", "text"],
)
@pytest.mark.parametrize("function", [*FUNCTIONS, *RANKING_MEASURES.values()])
def test_weights_that_cannot_be_used_are_refused(function, weight, message):
    with pytest.raises(ValueError, match=message):
        function([[1, 0], [0, 1]], [[1, 0], [1, 1]], sample_weight=weight)
