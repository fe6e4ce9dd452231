"""The numbers of Figure 1 from rows made by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rows import curve_row, failed_row, make_row

from spanforest.metrics import MEASURES
from spanforest.paper import learning_curves


def test_learning_curves_are_means_over_folds_and_seeds():
    rng = np.random.default_rng(0)
    curves = rng.random((3, 2, 2, 4))  # method, seed, fold, size
    members = rng.random((2, 2, 4))
    rows = [
        curve_row(method, fold, curves[m, seed, fold], members[seed, fold], seed=seed)
        for m, method in enumerate(("mam", "amm", "mve"))
        for seed in range(2)
        for fold in range(2)
    ]
    rows += [make_row(method="svm", n_trees=4), make_row("yeast", n_trees=4)]

    found = learning_curves(rows[::-1])

    assert list(found) == ["emotions"]
    emotions = found["emotions"]
    assert_array_equal(emotions.sizes, [1, 2, 3, 4])
    assert not emotions.curves["microlabel_f1"]["mam"].flags.writeable
    assert emotions.n_folds == 4
    for measure, factor in zip(MEASURES, (1, 0.5, 0.25), strict=True):
        assert list(emotions.curves[measure]) == ["mve", "amm", "mam"]
        for m, method in enumerate(("mam", "amm", "mve")):
            expected = factor * curves[m].mean(axis=(0, 1))
            assert_allclose(emotions.curves[measure][method], expected)
        assert math.isclose(emotions.member_scores[measure], factor * members.mean())


def test_learning_curves_compare_the_methods_on_the_folds_they_share():
    rows = [
        curve_row("mve", 0, [0.1, 0.2], [0.1, 0.3]),
        curve_row("mve", 1, [0.5, 0.6], [0.5, 0.7]),
        curve_row("mam", 1, [0.7, 0.8], [0.5, 0.7]),
        failed_row(method="mam", fold=0, n_trees=2),
    ]
    emotions = learning_curves(rows)["emotions"]
    assert emotions.n_folds == 1
    assert_allclose(emotions.curves["microlabel_accuracy"]["mve"], [0.5, 0.6])
    assert emotions.member_scores["microlabel_accuracy"] == pytest.approx(0.6)


def test_without_curves_or_common_folds_there_is_nothing_to_draw():
    assert learning_curves([make_row()]) == {}
    rows = [curve_row("mve", 0, [0.1], [0.1]), curve_row("mam", 1, [0.1], [0.1])]
    assert learning_curves(rows) == {}
