"""What all figures share: axes, colours and optional packages."""

import sys

import matplotlib.pyplot as plt
import pytest
from drawn_models import lines
from numpy.testing import assert_array_equal

from spanforest.plots import (
    CriticalDifferenceDisplay,
    EnsembleCurveDisplay,
)


def test_a_display_draws_on_the_axes_it_is_given_and_keeps_them():
    _, axes = plt.subplots(1, 2)
    display = EnsembleCurveDisplay({"mam": [0.5, 0.6]})
    assert display.plot(ax=axes[0]) is display
    assert (display.ax_, display.figure_) == (axes[0], axes[0].figure)
    display.plot(ax=axes[1])
    assert_array_equal(*[lines(ax)["MAM"].get_ydata() for ax in axes])
    assert "mean member" not in lines(axes[1])


@pytest.mark.parametrize(
    ("module", "display", "extra"),
    [
        ("matplotlib.pyplot", EnsembleCurveDisplay({"mam": [0.5]}), "plot"),
        (
            "scikit_posthocs",
            CriticalDifferenceDisplay(["a"], [1.0], [[1.0]]),
            "paper",
        ),
    ],
)
def test_a_missing_package_is_asked_for_by_its_extra(
    monkeypatch, module, display, extra
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'pip install "spanforest\[{extra}\]"'):
        display.plot()
