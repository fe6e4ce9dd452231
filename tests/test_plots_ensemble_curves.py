"""Curves of growing ensembles: the drawn lines are the stored numbers."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from drawn_models import X, X_new, Y, Y_new, fitted_ensemble, lines
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import RandomGraphEnsembleClassifier
from spanforest.metrics import microlabel_f1, multilabel_accuracy
from spanforest.plots import (
    EnsembleCurveDisplay,
    method_colour,
    plot_learning_curves,
)

MEASURES = ("microlabel_accuracy", "multilabel_accuracy", "microlabel_f1")


def curves(n_trees=3):
    values = dict.fromkeys(("mve", "amm", "mam"), np.linspace(0.5, 0.6, n_trees))
    return {measure: {**values, "member": 0.5} for measure in MEASURES}


@pytest.mark.needs_compiled
def test_curves_of_an_ensemble_are_the_quality_of_its_stages():
    ensemble = fitted_ensemble()
    display = EnsembleCurveDisplay.from_estimator(
        ensemble, X_new, Y_new, measure="microlabel_f1"
    )
    for aggregation in ("mve", "amm", "mam"):
        stages = ensemble.staged_predict(X_new, aggregation)
        expected = [microlabel_f1(Y_new, stage) for stage in stages]
        assert_array_equal(display.curves[aggregation], expected)
    alone = [microlabel_f1(Y_new, m.predict(X_new)) for m in ensemble.estimators_]
    assert_allclose(display.member, np.mean(alone))


@pytest.mark.needs_compiled
def test_drawn_curves_are_the_stored_numbers_in_per_cent():
    ensemble = fitted_ensemble()
    display = EnsembleCurveDisplay.from_estimator(
        ensemble, X_new, Y_new, measure=multilabel_accuracy, aggregations=["mam"]
    )
    drawn = lines(display.ax_)
    assert set(drawn) == {"MAM", "mean member"}
    assert_allclose(drawn["MAM"].get_ydata(), 100 * display.curves["mam"])
    assert_array_equal(drawn["MAM"].get_xdata(), [1, 2, 3, 4])
    assert_allclose(drawn["mean member"].get_ydata(), 100 * display.member)
    assert display.ax_.get_ylabel() == "Multilabel accuracy (%)"


@pytest.mark.needs_compiled
def test_an_ensemble_in_a_pipeline_is_found_and_labels_are_put_in_order():
    frame = pd.DataFrame(Y, columns=list("abcde"))
    classifier = RandomGraphEnsembleClassifier(2, tol=0.1, random_state=0)
    pipeline = make_pipeline(StandardScaler(), classifier).fit(X, frame)
    display = EnsembleCurveDisplay.from_estimator(pipeline, X, frame[list("edcba")])
    expected = (pipeline.predict(X) == Y).mean()
    assert_allclose(display.curves["mam"][-1], expected)


@pytest.mark.needs_compiled
def test_an_unknown_measure_is_refused_with_the_known_ones():
    ensemble = fitted_ensemble()
    with pytest.raises(ValueError, match=r"one of 'microlabel_accuracy', .*'accuracy'"):
        EnsembleCurveDisplay.from_estimator(ensemble, X, Y, measure="accuracy")


@pytest.mark.parametrize("n_sets", [1, 5, 7, 10])
@pytest.mark.parametrize("n_measures", [1, 3])
def test_learning_curves_have_a_titled_panel_per_data_set_and_measure(
    n_sets, n_measures
):
    names = [f"set {i}" for i in range(n_sets)]
    figure = plot_learning_curves(
        {name: curves() for name in names}, MEASURES[:n_measures]
    )
    assert [ax.get_title() for ax in figure.axes] == names * n_measures
    (legend,) = figure.legends
    methods = [text.get_text() for text in legend.get_texts()]
    assert methods == ["MVE", "AMM", "MAM", "mean member"]
    columns = {ax.get_subplotspec().colspan.start for ax in figure.axes}
    named = [ax for ax in figure.axes if ax.get_xlabel() == "Number of trees"]
    assert {ax.get_subplotspec().colspan.start for ax in named} == columns


def test_a_panel_shows_the_numbers_of_its_data_set_and_measure():
    values = {"mve": [0.1, 0.2], "amm": [0.2, 0.3], "mam": [0.3, 0.4], "member": 0.15}
    others = curves()
    figure = plot_learning_curves(
        {"one": others, "two": {**others, "microlabel_f1": values}}, MEASURES
    )
    panel = figure.axes[-1]
    assert panel.get_title() == "two"
    drawn = lines(panel)
    for method in ("mve", "amm", "mam"):
        line = drawn[method.upper()]
        assert_allclose(line.get_ydata(), 100 * np.array(values[method]))
        assert line.get_color() == method_colour(method)
    assert_allclose(drawn["mean member"].get_ydata(), 15)


def test_mappings_and_objects_of_curves_are_drawn_alike():
    values = curves()["microlabel_f1"]
    both = {"map": {"m": values}, "object": {"m": SimpleNamespace(**values)}}
    one, other = plot_learning_curves(both, "m").axes
    for method, line in lines(one).items():
        assert_array_equal(line.get_ydata(), lines(other)[method].get_ydata())


def test_what_is_missing_is_left_out_of_the_learning_curves():
    partial = {"mam": [0.5, float("nan")], "amm": None}
    sets = {"part": {"m": partial}, "none": {}, "empty": {"m": None}}
    part, *rest = plot_learning_curves(sets, "m").axes
    assert set(lines(part)) == {"MAM"}
    for ax in rest:
        assert [text.get_text() for text in ax.texts] == ["no results"]
        assert not ax.get_lines()


def test_a_single_member_is_a_point_above_the_number_one():
    ax = EnsembleCurveDisplay({"mam": [0.5]}, member=0.5).plot().ax_
    assert lines(ax)["MAM"].get_marker() == "o"
    assert_array_equal(ax.get_xticks(), [1])


def test_curves_without_a_single_number_are_drawn_empty():
    nothing = {"mam": [np.nan, np.nan]}
    (ax,) = plot_learning_curves({"set": {"m": nothing}}, "m").axes
    assert np.isfinite(ax.get_ylim()).all()


def test_learning_curves_of_nothing_are_refused():
    with pytest.raises(ValueError, match=r"at least one data set .* got 0 and 1"):
        plot_learning_curves({})


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_flat_curve_lies_inside_a_panel_of_at_least_one_per_cent(value):
    flat = {"mam": [value] * 3, "member": value}
    (ax,) = plot_learning_curves({"flat": {"m": flat}}, "m").axes
    bottom, top = ax.get_ylim()
    assert bottom < 100 * value < top
    assert top - bottom == pytest.approx(1, abs=0.05) or value in (0, 1)
