"""Diversity and coherence of an ensemble."""

from drawn_models import X, Y, fitted_ensemble, lines
from numpy.testing import assert_allclose, assert_array_equal

from spanforest.diagnostics import (
    diversity_curve,
)
from spanforest.plots import (
    DiversityDisplay,
)


def test_diversity_and_coherence_are_drawn_with_their_sum():
    ensemble = fitted_ensemble()
    curve = diversity_curve(ensemble, X, Y)
    display = DiversityDisplay.from_estimator(ensemble, X, Y)
    drawn = lines(display.ax_)
    assert_allclose(drawn["diversity"].get_ydata(), curve.diversity)
    assert_allclose(drawn["coherence"].get_ydata(), curve.coherence)
    assert_allclose(drawn["their sum"].get_ydata(), curve.diversity + curve.coherence)
    assert_array_equal(drawn["their sum"].get_xdata(), [1, 2, 3, 4])
