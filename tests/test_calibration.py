"""Probabilities: the map from margins, and the estimators that fit it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from small_data import log_loss
from strategies import seeds, trials

from spanforest.calibration import Calibration, fit_calibration


def two_sided(differences):
    """Margins of labels with two values, from their differences (n, n_labels)."""
    return [np.column_stack([0 * z, z]) for z in np.asarray(differences, float).T]


def drawn(slopes, biases, n, seed):
    """Margin differences, and labels that are on with the given sigmoids."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, len(slopes)))
    return z, (rng.random(z.shape) < expit(z * slopes + biases)).astype(int)


def shares_on(calibration, z):
    return np.column_stack([p[:, 1] for p in calibration.probabilities(two_sided(z))])


# --- from margins to probabilities ----------------------------------------------------


def test_true_sigmoids_are_recovered_from_many_examples():
    slopes, biases = np.array([0.5, 2.0, 4.0]), np.array([-1.0, 0.0, 2.0])
    z, Y = drawn(slopes, biases, 20_000, seed=0)
    calibration = fit_calibration(two_sided(z), Y)
    assert_allclose(calibration.slopes, slopes, rtol=0.06)
    assert_allclose([b[1] for b in calibration.biases], biases, atol=0.1)
    assert all(b[0] == 0 for b in calibration.biases)


def test_a_true_softmax_is_recovered_from_many_examples():
    rng = np.random.default_rng(0)
    margins, bias = rng.normal(size=(20_000, 4)), np.array([0.0, 1.0, -1.0, 0.5])
    noise = rng.gumbel(size=margins.shape)
    codes = np.argmax(2.0 * margins + bias + noise, axis=1)
    calibration = fit_calibration([margins], codes[:, None])
    assert_allclose(calibration.slopes, [2.0], rtol=0.05)
    assert_allclose(calibration.biases[0], bias, atol=0.1)


def test_one_label_alone_is_calibrated_as_by_platt():
    z, Y = drawn([1.5], [-2.0], 80, seed=1)
    n_on, n_off = Y.sum(), len(Y) - Y.sum()
    targets = np.where(Y[:, 0], (n_on + 1) / (n_on + 2), 1 / (n_off + 2))

    def cost(params):
        logits = log_softmax(
            np.column_stack([0 * z, z * params[0] + params[1]]), axis=1
        )
        return -np.sum(targets * logits[:, 1] + (1 - targets) * logits[:, 0])

    platt = minimize(cost, [0.0, 0.0], tol=1e-10).x
    calibration = fit_calibration(two_sided(z), Y)
    assert_allclose([calibration.slopes[0], calibration.biases[0][1]], platt, rtol=2e-2)


@pytest.mark.needs_compiled
@given(seeds)
@trials(5)
def test_rare_labels_gain_from_the_other_labels(seed):
    rng = np.random.default_rng(seed)
    n_labels = 20
    slopes, biases = rng.normal(2.0, 0.3, n_labels), rng.normal(-4.0, 0.3, n_labels)
    z, Y = drawn(slopes, biases, 60, seed)
    z_new, Y_new = drawn(slopes, biases, 2000, seed + 1)
    together = shares_on(fit_calibration(two_sided(z), Y), z_new)
    alone = [
        shares_on(fit_calibration(two_sided(z[:, [j]]), Y[:, [j]]), z_new[:, [j]])
        for j in range(n_labels)
    ]
    assert log_loss(together, Y_new) < log_loss(np.hstack(alone), Y_new)


@given(seeds, st.integers(2, 6))
@trials(20)
def test_probabilities_sum_to_one_and_grow_with_the_margin(seed, n):
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 3, 4]
    codes = np.column_stack([rng.integers(0, size, n) for size in sizes])
    scale = 10.0 ** rng.integers(-6, 7)
    calibration = fit_calibration(
        [scale * rng.normal(size=(n, s)) for s in sizes], codes
    )
    assert np.all(calibration.slopes >= 0)
    new = [scale * rng.normal(size=(20, size)) for size in sizes]
    before = calibration.probabilities(new)
    for P in before:
        assert_allclose(P.sum(axis=1), 1.0)
        assert np.all(P >= 0)
    assert_array_equal(before[0], np.ones((20, 1)))
    after = calibration.probabilities([z + scale * np.eye(z.shape[1])[-1] for z in new])
    for j, size in enumerate(sizes):
        assert np.all(after[j][:, -1] >= before[j][:, -1] - 1e-15), size


@given(seeds, st.floats(1e-6, 1e6))
@trials(10)
def test_multiplying_all_margins_by_a_number_does_not_change_probabilities(seed, unit):
    z, Y = drawn([1.0, 3.0], [0.0, -1.0], 50, seed)
    plain, scaled = (fit_calibration(two_sided(s * z), Y) for s in (1.0, unit))
    assert_allclose(shares_on(scaled, unit * z), shares_on(plain, z), atol=1e-5)
    stretched = plain.for_margins_of([unit, unit])
    assert_allclose(shares_on(stretched, unit * z), shares_on(plain, z), atol=1e-9)


def test_adding_a_number_to_all_margins_of_an_example_changes_nothing():
    rng = np.random.default_rng(0)
    margins, codes = rng.normal(size=(50, 3)), rng.integers(0, 3, size=(50, 1))
    shifted = margins + rng.normal(size=(50, 1))
    plain, moved = fit_calibration([margins], codes), fit_calibration([shifted], codes)
    assert_allclose(moved.probabilities([shifted]), plain.probabilities([margins]))


def test_margins_that_separate_the_labels_give_finite_slopes():
    z = np.linspace(-1, 1, 40)[:, None]
    calibration = fit_calibration(two_sided(z), z > 0)
    assert np.isfinite(calibration.slopes).all()
    P = shares_on(calibration, z)
    assert np.all((P > 0) & (P < 1))
    assert_array_equal(P > 0.5, z > 0)


@pytest.mark.parametrize("biases", [False, True])
def test_misleading_margins_never_get_a_negative_slope(biases):
    z, Y = drawn([3.0, 2.0], [0.0, 0.0], 200, seed=0)
    z[:, 0] *= -1
    calibration = fit_calibration(two_sided(z), Y, biases=biases)
    assert calibration.slopes[0] >= 0
    assert calibration.slopes[1] > 1


def test_margins_without_information_give_the_frequencies():
    Y = np.repeat([[1, 0, 0, 0]], 250, axis=0).reshape(-1, 1)
    calibration = fit_calibration(two_sided(np.zeros((1000, 1))), Y)
    assert_allclose(shares_on(calibration, [[0.0]]), 0.25, atol=0.01)


def test_without_biases_the_most_probable_value_has_the_highest_margin():
    rng = np.random.default_rng(0)
    margins = rng.normal(size=(100, 3))
    codes = np.minimum(rng.integers(0, 9, size=(100, 1)), 2)
    calibration = fit_calibration([margins], codes, biases=False)
    (P,) = calibration.probabilities([margins])
    assert_array_equal(P.argmax(axis=1), margins.argmax(axis=1))


def test_labels_that_were_not_observed_do_not_count():
    z, Y = drawn([1.0, 2.0], [0.0, -1.0], 60, seed=0)
    hidden = Y.copy()
    hidden[::3, 1] = -1
    z_other = z.copy()
    z_other[::3, 1] += 100.0
    one, other = (fit_calibration(two_sided(z), hidden) for z in (z, z_other))
    assert_array_equal(one.slopes, other.slopes)
    assert_array_equal(np.concatenate(one.biases), np.concatenate(other.biases))


def test_labels_with_one_value_need_no_evidence():
    calibration = fit_calibration([np.zeros((0, 1))] * 2, np.zeros((0, 2)))
    (P, _) = calibration.probabilities([np.zeros((3, 1))] * 2)
    assert_array_equal(P, np.ones((3, 1)))


def test_margins_of_another_number_of_labels_are_refused():
    calibration = Calibration(np.ones(2), [np.zeros(2)] * 2)
    with pytest.raises(ValueError, match="shorter"):
        calibration.probabilities([np.zeros((3, 2))])


# --- the estimators -------------------------------------------------------------------
