"""Label sets chosen from probabilities, against all label sets and all outcomes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds, trials

from spanforest import decisions as module
from spanforest.decisions import (
    expected_f1,
    expected_f1_decisions,
    f1_thresholds,
    hamming_decisions,
    threshold_decisions,
)


def f1(chosen, truth):
    if not chosen.any() and not truth.any():
        return 1.0
    return 2 * (chosen & truth).sum() / (chosen.sum() + truth.sum())


def average_over_outcomes(measure, chosen, p):
    """The oracle: every outcome of independent labels, weighted by its probability."""
    total = 0.0
    for outcome in product([False, True], repeat=len(p)):
        truth = np.array(outcome)
        total += np.prod(np.where(truth, p, 1 - p)) * measure(chosen, truth)
    return total


@st.composite
def probabilities(draw, max_labels=5, n=3):
    """Probabilities; coarse ones have ties, zeros and ones."""
    rng = np.random.default_rng(draw(seeds))
    P = rng.random((n, draw(st.integers(1, max_labels)))) ** draw(
        st.sampled_from([1, 4])
    )
    return np.round(3 * P) / 3 if draw(st.booleans()) else P


@given(probabilities())
@trials(40)
def test_no_label_set_has_a_higher_expected_f1(P):
    found = expected_f1_decisions(P)
    sets = np.array(list(product([False, True], repeat=P.shape[1])))
    for p, chosen in zip(P, found.astype(bool), strict=True):
        best = max(average_over_outcomes(f1, one, p) for one in sets)
        assert_allclose(average_over_outcomes(f1, chosen, p), best, rtol=1e-10)


@given(probabilities(), seeds)
@trials(60)
def test_expected_f1_is_the_average_over_all_outcomes(P, seed):
    chosen = np.random.default_rng(seed).random(P.shape) < 0.5
    expected = [average_over_outcomes(f1, h, p) for h, p in zip(chosen, P, strict=True)]
    assert_allclose(expected_f1(P, chosen), expected, rtol=1e-10)


@given(probabilities())
@trials(40)
def test_no_label_set_has_more_labels_right_than_the_most_probable_values(P):
    found = hamming_decisions(P).astype(bool)
    sets = np.array(list(product([False, True], repeat=P.shape[1])))

    def n_right(chosen, truth):
        return (chosen == truth).sum()

    for p, chosen in zip(P, found, strict=True):
        best = max(average_over_outcomes(n_right, one, p) for one in sets)
        assert_allclose(average_over_outcomes(n_right, chosen, p), best, rtol=1e-10)


def test_certain_labels_are_predicted_as_they_are():
    truth = np.random.default_rng(0).integers(0, 2, size=(20, 7))
    assert_array_equal(expected_f1_decisions(truth), truth)
    assert_array_equal(hamming_decisions(truth), truth)


def test_ties_go_to_lower_values_and_smaller_sets():
    assert_array_equal(hamming_decisions([[0.5, 0.5]]), [[0, 0]])
    assert_array_equal(expected_f1_decisions([[0.5]]), [[0]])


def test_expected_f1_of_many_labels_agrees_with_sampling():
    rng = np.random.default_rng(0)
    P = rng.random((2, 300)) ** 12
    chosen = expected_f1_decisions(P)
    draws = rng.random((20000, 300)) < P[0]
    hits = draws @ chosen[0]
    sampled = np.mean(2 * hits / np.maximum(chosen[0].sum() + draws.sum(axis=1), 1))
    assert_allclose(expected_f1(P, chosen)[0], sampled, atol=0.005)
    assert np.all(expected_f1(P, chosen) >= expected_f1(P, hamming_decisions(P)))


def test_the_size_of_a_block_of_examples_does_not_matter(monkeypatch):
    P = np.random.default_rng(0).random((11, 6))
    at_once, values = expected_f1_decisions(P), expected_f1(P, P > 0.3)
    monkeypatch.setattr(module, "CHUNK_CELLS", 100)
    assert_array_equal(expected_f1_decisions(P), at_once)
    assert_array_equal(expected_f1(P, P > 0.3), values)


def test_labels_of_many_values_get_their_most_probable_one():
    P = [np.array([[0.1, 0.2, 0.7], [0.4, 0.4, 0.2]]), np.array([[1.0], [1.0]])]
    assert_array_equal(hamming_decisions(P), [[2, 0], [0, 0]])


@pytest.mark.parametrize("decide", [hamming_decisions, expected_f1_decisions])
@pytest.mark.parametrize(
    ("P", "message"),
    [
        ([0.5, 0.5], r"shape \(n, n_labels\); got an array of shape \(2,\)"),
        ([[0.5, 1.5]], "between 0 and 1; got values from 0.5 to 1.5"),
        ([[0.5, np.nan]], "between 0 and 1"),
    ],
)
def test_values_that_are_not_probabilities_are_refused(decide, P, message):
    with pytest.raises(ValueError, match=message):
        decide(P)


def test_decisions_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape of P, \(1, 2\); got \(2,\)"):
        expected_f1([[0.5, 0.5]], [1, 0])


@given(probabilities())
def test_a_threshold_of_one_half_is_the_decision_for_hamming_loss(P):
    assert_array_equal(threshold_decisions(P, 0.5), hamming_decisions(P))
    own = P.mean(axis=0)  # a threshold for every label
    shifted = 0.5 + (P - own) / 2  # above one half where P is above its threshold
    assert_array_equal(threshold_decisions(P, own), hamming_decisions(shifted))


@pytest.mark.parametrize("threshold", [-0.1, 1.1, np.nan, [0.5, 0.5, 0.5], [[0.5]]])
def test_bad_thresholds_are_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be"):
        threshold_decisions([[0.5, 0.5]], threshold)


# --- thresholds for the F1 of single labels -------------------------------------------


@given(P=probabilities(n=7), weighted=st.booleans(), seed=seeds)
@trials(60)
def test_no_threshold_has_a_higher_expected_f1_of_the_label(P, weighted, seed):
    weight = np.random.default_rng(seed).integers(1, 4, len(P)) if weighted else None
    w = np.ones(len(P)) if weight is None else weight
    for p, best in zip(P.T, f1_thresholds(P, weight), strict=True):
        values = [
            2 * (w * p)[chosen].sum() / (w[chosen].sum() + (w * p).sum())
            for limit in [0.0, *p, best]
            if (chosen := p > limit).any()
        ]
        reached = (p > best - 1e-9) & (p > 0)
        if reached.any():
            own = 2 * (w * p)[reached].sum() / (w[reached].sum() + (w * p).sum())
            assert own >= max(values) - 1e-6
            assert_allclose(own / 2, best, atol=1e-6)


def test_weights_of_examples_are_copies_for_thresholds():
    rng = np.random.default_rng(0)
    P, times = rng.random((20, 3)), rng.integers(0, 3, 20)
    copies = P[np.repeat(np.arange(20), times)]
    assert_allclose(f1_thresholds(P, times), f1_thresholds(copies))


@pytest.mark.parametrize(
    ("P", "weight", "message"),
    [
        (np.zeros((0, 2)), None, "at least one example; got none"),
        ([[0.5]], [-1.0], "at least 0"),
        ([[0.5]], [0.0], "positive for at least one example"),
        ([[0.5]], [1.0, 1.0], "one number per example"),
        ([0.5], None, "shape"),
    ],
)
def test_thresholds_need_probabilities_and_weights(P, weight, message):
    with pytest.raises(ValueError, match=message):
        f1_thresholds(P, weight)


def test_examples_of_weight_zero_do_not_count_for_thresholds():
    assert_allclose(f1_thresholds([[0.0], [0.5]], [0.0, 1.0]), f1_thresholds([[0.5]]))


def test_a_label_that_is_never_on_has_no_reason_to_be_predicted():
    assert not threshold_decisions(np.zeros((3, 1)), f1_thresholds([[0.0]])).any()


def test_a_rare_label_has_a_smaller_threshold():
    p = np.random.default_rng(0).random((500, 1))
    thresholds = f1_thresholds(np.hstack([p, p**4]))
    assert 0.0 < thresholds[1] < thresholds[0] <= 0.5
