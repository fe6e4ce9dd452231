"""The figure of features and labels."""

import numpy as np
from numpy.testing import assert_allclose

from spanforest.diagnostics import FeatureImportance
from spanforest.plots import FeatureImportanceDisplay

LABEL_SETS = np.array([0.1, 0.3, 0.0])
LABELS = np.array([[0.2, 0.0, 0.1], [0.0, 0.4, 0.0]])
IMPORTANCE = FeatureImportance(
    LABEL_SETS, LABELS, LABEL_SETS, LABELS, list("xyz"), ["sun", "rain"]
)


def test_rows_are_features_by_importance_and_columns_are_labels():
    ax = FeatureImportanceDisplay(IMPORTANCE).plot().ax_
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["y", "x", "z"]
    columns = [tick.get_text() for tick in ax.get_xticklabels()]
    assert columns == ["label sets", "sun", "rain"]
    (image,) = ax.images
    assert_allclose(image.get_array(), [[30, 0, 40], [10, 20, 0], [0, 10, 0]])


def test_many_features_show_the_strongest_and_say_so():
    display = FeatureImportanceDisplay(IMPORTANCE).plot(max_features=2)
    assert display.ax_.get_ylabel() == "2 of 3 features"
    assert len(display.ax_.get_yticklabels()) == 2


def test_all_zeros_can_be_drawn():
    nothing = IMPORTANCE._replace(label_sets=0 * LABEL_SETS, labels=0 * LABELS)
    assert not FeatureImportanceDisplay(nothing).plot().ax_.images[0].get_array().any()
