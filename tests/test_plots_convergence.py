"""Duality gaps over passes and time."""

import numpy as np
import pytest
from drawn_models import X, Y, fitted_ensemble, lines
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import MMCRFClassifier
from spanforest.plots import (
    DualityGapDisplay,
)


@pytest.mark.needs_compiled
def test_gaps_are_drawn_relative_to_the_dual_objective_for_every_member():
    ensemble = fitted_ensemble()
    display = DualityGapDisplay.from_estimator(ensemble)
    ax = display.ax_
    assert ax.get_yscale() == "log"
    drawn = [line for line in ax.get_lines() if line.get_marker() == "None"]
    *members, tolerance = drawn
    assert len(members) == 4
    for line, member in zip(members, ensemble.estimators_, strict=True):
        assert_array_equal(line.get_xdata(), np.arange(1, member.n_iter_ + 1))
        relative = member.gap_history_ / member.dual_objective_
        assert_allclose(line.get_ydata(), relative)
        assert line.get_ydata()[-1] <= ensemble.tol
    assert_allclose(tolerance.get_ydata(), ensemble.tol)


def test_gaps_may_be_drawn_against_the_time_since_the_first_pass():
    pipeline = make_pipeline(StandardScaler(), MMCRFClassifier(tol=0.1, random_state=0))
    model = pipeline.fit(X, Y)[-1]
    ax = DualityGapDisplay.from_estimator(pipeline, against="seconds").ax_
    assert ax.get_xlabel() == "Seconds after the first pass"
    times = lines(ax)["model"].get_xdata()
    assert_allclose(np.diff(times), np.diff(model.gap_seconds_))
    assert len(times) == model.n_iter_
    assert (np.diff(times) > 0).all()


def test_what_came_before_the_first_pass_moves_no_curve():
    gaps = [[0.5, 0.2, 0.1], [0.4, 0.1]]
    compiled, loaded = [[9.0, 9.5, 10.0], [0.5, 1.0]], [[0.5, 1.0, 1.5], [0.5, 1.0]]
    axes = [DualityGapDisplay(gaps, 0.1, s).plot().ax_ for s in (compiled, loaded)]
    for one, other in zip(*(ax.get_lines() for ax in axes), strict=True):
        assert_array_equal(one.get_xdata(), other.get_xdata())
    assert_array_equal(lines(axes[0])["2 members"].get_xdata(), [0, 0.5, 1])


def test_times_must_match_the_gaps():
    with pytest.raises(ValueError, match=r"of lengths \[2\]; got \[1\]"):
        DualityGapDisplay([[0.5, 0.1]], tol=0.1, seconds=[[0.5]])


def test_a_gap_of_zero_is_left_out_of_the_logarithms():
    ax = DualityGapDisplay([[0.5, 0.0]], tol=0.1).plot().ax_
    assert_array_equal(lines(ax)["model"].get_ydata(), [0.5, np.nan])
