"""Offsets: label sets gain a number for every label that is on, in every model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import label_sets
from sklearn.base import clone
from small_data import (
    CALIBRATED,
    GRADES,
    PATH,
    STAR,
    TRIANGLE,
    X,
    X_new,
    Y,
    new_calibrated,
)
from strategies import PLAIN, any_factors, seeds, trials

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest._offsets import check_offset, offset_cells, read_offset
from spanforest.aggregation import AGGREGATIONS

OFFSETS = [0.7, [0.5, -1.0, 0.0, 2.0]]
GRAPHS = {
    "tree": "random_tree",
    "forest with a label alone": [(0, 1), (1, 2)],
    "no edges": "independent",
    "cycle": [*TRIANGLE, (2, 3)],
}


@trials(100)
@given(any_factors, seeds)
def test_every_label_set_gains_the_offsets_of_its_labels_that_are_on(factors, seed):
    offset = np.random.default_rng(seed).normal(size=factors.n_labels)
    sets = label_sets(factors)
    gains = offset_cells(factors, offset)[factors.cells(sets)].sum(axis=1)
    assert_allclose(gains, (sets == 1) @ np.where(factors.n_values == 2, offset, 0.0))


@given(any_factors)
def test_one_number_is_the_offset_of_all_labels(factors):
    same = np.full(factors.n_labels, 0.25)
    assert_array_equal(offset_cells(factors, 0.25), offset_cells(factors, same))


def fitted_pair(offset, **params):
    """Return an ensemble without and with an offset."""
    tol = 0.5 if PLAIN else 0.1
    plain = RandomGraphEnsembleClassifier(3, tol=tol, random_state=0, **params)
    return plain.fit(X, Y), clone(plain).set_params(offset=offset).fit(X, Y)


@pytest.mark.parametrize("offset", OFFSETS, ids=["one", "per label"])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_predictions_are_the_best_label_sets_of_all_with_the_offset(graph, offset):
    plain, shifted = fitted_pair(offset, graph=graph)
    sets = label_sets(plain._factors)
    for one in (None, *range(3)):  # MAM of all, then each member
        before = plain if one is None else plain.estimators_[one]
        after = shifted if one is None else shifted.estimators_[one]
        scores = before._scores(before._input.rows(X_new))
        totals = scores[:, before._factors.cells(sets)].sum(axis=2)
        totals += sets @ np.broadcast_to(offset, 4)
        assert_allclose(after.predict_certified(X_new).score, totals.max(axis=1))
        assert_array_equal(after.predict(X_new), sets[totals.argmax(axis=1)])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_training_does_not_see_the_offset(kernel):
    plain, shifted = fitted_pair(0.7, kernel=kernel)
    assert_array_equal(shifted._weights, plain._weights)
    assert_array_equal(shifted.dual_objective_, plain.dual_objective_)
    assert_array_equal(shifted.gap_history_[0], plain.gap_history_[0])
    assert shifted.predict(X_new).sum() > plain.predict(X_new).sum()


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_every_way_to_predict_agrees_on_the_offset(aggregation):
    _, shifted = fitted_pair(OFFSETS[1], graph=[STAR, PATH, TRIANGLE])
    shifted.set_params(aggregation=aggregation)
    predicted = shifted.predict(X_new)
    *_, last = shifted.staged_predict(X_new)
    assert_array_equal(last, predicted)
    assert_array_equal(shifted.decision_function(X_new) > 0, predicted)
    if aggregation == "mam":
        assert_array_equal(shifted.predict_topk(X_new, k=1).labels[:, 0], predicted)


def test_a_huge_offset_turns_every_label_on_that_can_be_on():
    labels = Y.copy()
    labels[:, 1] = 0
    model = MMCRFClassifier(offset=1e6, random_state=0)
    assert_array_equal(model.fit(X, labels).predict(X_new), [[1, 0, 1, 1]] * 25)
    assert not model.set_params(offset=-1e6).fit(X, labels).predict(X_new).any()


def test_missing_labels_change_nothing_about_offsets():
    labels = Y.astype(float)
    labels[::3, 0] = np.nan
    assert_array_equal(
        MMCRFClassifier(offset=[1e6, -1e6] * 2, random_state=0)
        .fit(X, labels)
        .predict(X_new),
        [[1.0, 0.0] * 2] * 25,
    )


@pytest.mark.parametrize("labels", [Y[:, 0], np.array(["no", "yes"])[Y[:, 0]]])
def test_the_higher_of_two_classes_is_on(labels):
    model = RandomGraphEnsembleClassifier(2, offset=1e6, random_state=0)
    assert set(model.fit(X, labels).predict(X_new)) == {max(labels)}


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kind", CALIBRATED)
@pytest.mark.parametrize("labels", [Y, Y[:, 0]], ids=["four labels", "one label"])
def test_probabilities_do_not_depend_on_the_offset(kind, labels):
    plain = new_calibrated(kind).fit(X, labels)
    shifted = new_calibrated(kind).set_params(offset=1.5).fit(X, labels)
    assert_allclose(shifted.predict_proba(X_new), plain.predict_proba(X_new))
    assert shifted.predict(X_new).mean() > plain.predict(X_new).mean() + 0.1
    shifted.set_params(offset=-5.0)  # for the next fit
    assert_allclose(shifted.predict_proba(X_new), plain.predict_proba(X_new))


def test_labels_with_more_values_may_stand_beside_an_offset_of_others():
    model = MMCRFClassifier(offset=[0, 1e6], random_state=0)
    predicted = model.fit(X, GRADES).predict(X_new)
    assert predicted[:, 1].all()
    assert set(np.unique(predicted[:, 0])) <= {0, 1, 2}


@pytest.mark.parametrize("model", [MMCRFClassifier, RandomGraphEnsembleClassifier])
@pytest.mark.parametrize(
    ("offset", "labels", "message"),
    [
        ("high", Y, "offset must be a finite number, or a list .* got 'high'"),
        ("1", Y, "offset must be a finite number"),
        (None, Y, "offset must be a finite number"),
        (np.nan, Y, "offset must be a finite number"),
        ([0, 1, np.inf, 0], Y, "offset must be a finite number"),
        ([[0.1] * 4], Y, "offset must be a finite number"),
        ([1, [2]], Y, "offset must be a finite number"),
        ([0, -1e308, 0, 0], Y, "offset must be between -1e.100 and 1e.100; got"),
        ([0.1, 0.2], Y, "one number for each of the 4 labels; got 2"),
        (0.3, GRADES, "label 0 has 3 values and offset 0.3"),
        ([1, 0], GRADES, "label 0 has 3 values and offset 1"),
    ],
)
def test_bad_offsets_are_refused_with_a_reason(model, offset, labels, message):
    with pytest.raises(ValueError, match=message):
        model(offset=offset).fit(X, labels)


@given(st.floats(-9, 9))
def test_an_offset_is_read_as_it_is(offset):
    assert read_offset(offset) == offset
    check_offset(read_offset([offset, 0.0, offset]), np.array([2, 3, 1]))
