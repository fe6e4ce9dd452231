"""Thresholds on probabilities, calibrated on the other folds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spanforest.calibration import fit_calibration
from spanforest.decisions import f1_thresholds
from spanforest.tuning._thresholds import (
    BY_LABEL,
    HeldOutMargins,
    label_thresholds,
    threshold_predictions,
)

N_LABELS = 3


@pytest.fixture
def folds():
    """Return three folds whose labels are likely where margins are above a half."""
    rng = np.random.default_rng(0)
    margins = rng.normal(size=(3, 40, N_LABELS))
    codes = (rng.logistic(size=margins.shape) < 4 * margins - 2).astype(np.int32)
    both = np.full(N_LABELS, -1)
    return [
        HeldOutMargins(
            np.arange(40) + 40 * number, margins[number], both, codes[number]
        )
        for number in range(3)
    ]


def test_probabilities_are_calibrated_on_the_other_folds(folds):
    thresholds = [0.5, 0.2]
    for here, predicted in enumerate(threshold_predictions(folds, thresholds)):
        others = [fold for there, fold in enumerate(folds) if there != here]
        margins = np.concatenate([fold.margins for fold in others])
        pairs = [np.column_stack([0 * m, m]) for m in margins.T]
        codes = np.concatenate([fold.codes for fold in others])
        calibration = fit_calibration(pairs, codes)
        own = [np.column_stack([0 * m, m]) for m in folds[here].margins.T]
        P = np.column_stack([p[:, 1] for p in calibration.probabilities(own)])
        for threshold, labels in zip(thresholds, predicted, strict=True):
            assert_array_equal(labels, threshold < P)


def chances_of(fold, others):
    """Return the probabilities of a fold, calibrated on others."""
    margins = np.concatenate([one.margins for one in others])
    pairs = [np.column_stack([0 * m, m]) for m in margins.T]
    calibration = fit_calibration(pairs, np.concatenate([one.codes for one in others]))
    own = [np.column_stack([0 * m, m]) for m in fold.margins.T]
    return np.column_stack([p[:, 1] for p in calibration.probabilities(own)])


def test_thresholds_of_labels_are_learned_from_the_other_folds(folds):
    for here, (predicted,) in enumerate(threshold_predictions(folds, [BY_LABEL])):
        others = [fold for there, fold in enumerate(folds) if there != here]
        P = np.concatenate([chances_of(one, others) for one in others])
        limits = f1_thresholds(P)
        assert_array_equal(predicted, chances_of(folds[here], others) > limits)
    changed = [folds[0]._replace(codes=1 - folds[0].codes), *folds[1:]]
    before, after = (threshold_predictions(one, [BY_LABEL]) for one in (folds, changed))
    assert_array_equal(after[0], before[0])


def test_the_final_thresholds_of_labels_are_learned_from_all_folds(folds):
    P = np.concatenate([chances_of(one, folds) for one in folds])
    assert_allclose(label_thresholds(folds), f1_thresholds(P))
    weighted = [
        fold._replace(sample_weight=np.where(np.arange(40) < 20, 2.0, 1.0))
        for fold in folds
    ]
    assert label_thresholds(weighted) != label_thresholds(folds)


def test_a_label_without_margins_has_half_as_its_threshold(folds):
    gone = [
        fold._replace(
            margins=np.where([True, False, False], np.nan, fold.margins),
            only_values=np.array([1, -1, -1]),
        )
        for fold in folds
    ]
    assert label_thresholds(gone)[0] == 0.5
    assert all(one[0][:, 0].all() for one in threshold_predictions(gone, [BY_LABEL]))


def test_a_single_label_is_calibrated_without_a_bias_as_in_an_ensemble(folds):
    alone = [
        fold._replace(
            margins=fold.margins[:, :1],
            only_values=fold.only_values[:1],
            codes=fold.codes[:, :1],
        )
        for fold in folds
    ]
    for fold, (half,) in zip(alone, threshold_predictions(alone, [0.5]), strict=True):
        assert_array_equal(half, fold.margins > 0)


def test_the_labels_of_a_fold_do_not_change_its_own_predictions(folds):
    changed = [folds[0]._replace(codes=1 - folds[0].codes), *folds[1:]]
    before, after = (threshold_predictions(one, [0.3]) for one in (folds, changed))
    assert_array_equal(after[0], before[0])
    assert not np.array_equal(after[1], before[1])


def test_a_label_with_one_value_in_a_fold_keeps_it(folds):
    margins = folds[0].margins.copy()
    margins[:, 1:] = np.nan
    first = folds[0]._replace(margins=margins, only_values=np.array([-1, 1, 0]))
    predicted, *_ = threshold_predictions([first, *folds[1:]], [0.5])
    assert predicted[0][:, 1].all()
    assert not predicted[0][:, 2].any()


def test_examples_without_a_margin_or_a_label_do_not_count(folds):
    few = [
        fold._replace(
            **{
                name: value[:30]
                for name, value in fold._asdict().items()
                if name in ("rows", "margins", "codes")
            }
        )
        for fold in folds
    ]
    gaps = []
    for fold in folds:
        codes = fold.codes.copy()
        codes[30:] = -1
        gaps.append(fold._replace(codes=codes))
    for one, other in zip(
        threshold_predictions(few, [0.4]),
        threshold_predictions(gaps, [0.4]),
        strict=True,
    ):
        assert_array_equal(other[0][:30], one[0])


def test_weight_two_is_an_example_twice(folds):
    twice = np.r_[np.arange(40), np.arange(10)]
    weight = np.where(np.arange(40) < 10, 2.0, 1.0)
    weighted = [fold._replace(sample_weight=weight) for fold in folds]
    repeated = [
        fold._replace(
            rows=fold.rows[twice], margins=fold.margins[twice], codes=fold.codes[twice]
        )
        for fold in folds
    ]
    for one, other in zip(
        threshold_predictions(weighted, [0.35]),
        threshold_predictions(repeated, [0.35]),
        strict=True,
    ):
        assert_array_equal(other[0][:40], one[0])


def test_an_example_in_two_folds_is_not_calibrated_on_itself(folds):
    # the first fold again, and ten examples more: as if it had these ten alone
    ten = folds[1]._replace(
        rows=folds[1].rows[:10],
        margins=folds[1].margins[:10],
        codes=folds[1].codes[:10],
    )
    both = HeldOutMargins(
        np.r_[folds[0].rows, ten.rows],
        np.r_[folds[0].margins, ten.margins],
        ten.only_values,
        np.r_[folds[0].codes, ten.codes],
    )
    expected = threshold_predictions([folds[0], ten], [0.3])[0]
    assert_array_equal(threshold_predictions([folds[0], both], [0.3])[0], expected)


def test_the_shares_of_a_forest_are_half_of_the_probabilities(folds):
    rng = np.random.default_rng(1)
    shares = [rng.random((40, N_LABELS)) for _ in folds]
    both = [one._replace(shares=own) for one, own in zip(folds, shares, strict=True)]
    thresholds = [0.5, 0.2]
    for here, predicted in enumerate(threshold_predictions(both, thresholds)):
        others = [fold for there, fold in enumerate(folds) if there != here]
        P = (chances_of(folds[here], others) + shares[here]) / 2
        for threshold, labels in zip(thresholds, predicted, strict=True):
            assert_array_equal(labels, threshold < P)
    P = [chances_of(fold, folds) for fold in folds]
    mean = (np.concatenate(P) + np.concatenate(shares)) / 2
    assert_allclose(label_thresholds(both), f1_thresholds(mean))


def test_a_label_with_one_value_in_the_fold_has_it_whatever_the_forest_says(folds):
    only, margins = np.array([-1, 0, 1]), folds[0].margins.copy()
    margins[:, 1:] = np.nan
    shares = np.full((40, N_LABELS), 0.5)
    first = folds[0]._replace(margins=margins, only_values=only, shares=shares)
    others = [one._replace(shares=shares) for one in folds[1:]]
    (predicted,), *_ = threshold_predictions([first, *others], [0.4])
    assert_array_equal(predicted[:, 1:], np.tile([0, 1], (40, 1)))
