"""The figures: they show what the model says, and drawing needs only numbers."""

import sys
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_fscore_support
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.diagnostics import (
    diversity_curve,
)
from spanforest.metrics import microlabel_f1, multilabel_accuracy
from spanforest.plots import (
    CriticalDifferenceDisplay,
    DiversityDisplay,
    DualityGapDisplay,
    EnsembleCurveDisplay,
    LabelMeasuresDisplay,
    ScoreCalibrationDisplay,
    method_colour,
    plot_learning_curves,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(60, 5)) > 0).astype(int)
X_new = rng.normal(size=(40, 4))
Y_new = rng.integers(2, size=(40, 5))
MEASURES = ("microlabel_accuracy", "multilabel_accuracy", "microlabel_f1")


@pytest.fixture(scope="module")
def ensemble():
    return RandomGraphEnsembleClassifier(4, tol=0.1, random_state=0).fit(X, Y)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def curves(n_trees=3):
    values = dict.fromkeys(("mve", "amm", "mam"), np.linspace(0.5, 0.6, n_trees))
    return {measure: {**values, "member": 0.5} for measure in MEASURES}


# --- learning curves -----------------------------------------------------------------


def test_curves_of_an_ensemble_are_the_quality_of_its_stages(ensemble):
    display = EnsembleCurveDisplay.from_estimator(
        ensemble, X_new, Y_new, measure="microlabel_f1"
    )
    for aggregation in ("mve", "amm", "mam"):
        stages = ensemble.staged_predict(X_new, aggregation)
        expected = [microlabel_f1(Y_new, stage) for stage in stages]
        assert_array_equal(display.curves[aggregation], expected)
    alone = [microlabel_f1(Y_new, m.predict(X_new)) for m in ensemble.estimators_]
    assert_allclose(display.member, np.mean(alone))


def test_drawn_curves_are_the_stored_numbers_in_per_cent(ensemble):
    display = EnsembleCurveDisplay.from_estimator(
        ensemble, X_new, Y_new, measure=multilabel_accuracy, aggregations=["mam"]
    )
    drawn = lines(display.ax_)
    assert set(drawn) == {"MAM", "mean member"}
    assert_allclose(drawn["MAM"].get_ydata(), 100 * display.curves["mam"])
    assert_array_equal(drawn["MAM"].get_xdata(), [1, 2, 3, 4])
    assert_allclose(drawn["mean member"].get_ydata(), 100 * display.member)
    assert display.ax_.get_ylabel() == "Multilabel accuracy (%)"


def test_a_display_draws_on_the_axes_it_is_given_and_keeps_them():
    _, axes = plt.subplots(1, 2)
    display = EnsembleCurveDisplay({"mam": [0.5, 0.6]})
    assert display.plot(ax=axes[0]) is display
    assert (display.ax_, display.figure_) == (axes[0], axes[0].figure)
    display.plot(ax=axes[1])
    assert_array_equal(*[lines(ax)["MAM"].get_ydata() for ax in axes])
    assert "mean member" not in lines(axes[1])


def test_an_ensemble_in_a_pipeline_is_found_and_labels_are_put_in_order():
    frame = pd.DataFrame(Y, columns=list("abcde"))
    classifier = RandomGraphEnsembleClassifier(2, tol=0.1, random_state=0)
    pipeline = make_pipeline(StandardScaler(), classifier).fit(X, frame)
    display = EnsembleCurveDisplay.from_estimator(pipeline, X, frame[list("edcba")])
    expected = (pipeline.predict(X) == Y).mean()
    assert_allclose(display.curves["mam"][-1], expected)


def test_an_unknown_measure_is_refused_with_the_known_ones(ensemble):
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


# --- convergence ---------------------------------------------------------------------


def test_gaps_are_drawn_relative_to_the_dual_objective_for_every_member(ensemble):
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


# --- diversity -----------------------------------------------------------------------


def test_diversity_and_coherence_are_drawn_with_their_sum(ensemble):
    curve = diversity_curve(ensemble, X, Y)
    display = DiversityDisplay.from_estimator(ensemble, X, Y)
    drawn = lines(display.ax_)
    assert_allclose(drawn["diversity"].get_ydata(), curve.diversity)
    assert_allclose(drawn["coherence"].get_ydata(), curve.coherence)
    assert_allclose(drawn["their sum"].get_ydata(), curve.diversity + curve.coherence)
    assert_array_equal(drawn["their sum"].get_xdata(), [1, 2, 3, 4])


# --- measures of single labels -------------------------------------------------------


def test_measures_of_labels_are_those_of_scikit_learn(ensemble):
    predicted = ensemble.predict(X)
    assert predicted.any(axis=0).all()
    found = LabelMeasuresDisplay.from_estimator(ensemble, X, Y).measures
    precision, recall, f1, support = precision_recall_fscore_support(Y, predicted)
    assert_allclose(found.precision, precision)
    assert_allclose(found.recall, recall)
    assert_allclose(found.f1, f1)
    assert_allclose(found.accuracy, (predicted == Y).mean(axis=0))
    assert_allclose(found.frequency, support / len(Y))


def test_rows_of_labels_are_sorted_by_frequency():
    truth = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 0]])
    display = LabelMeasuresDisplay.from_predictions(truth, truth, ["a", "b", "c"])
    ax = display.ax_
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "c", "b"]
    assert_allclose([bar.get_width() for bar in ax.patches], [100, 100 / 3, 0])
    f1 = next(dots for dots in ax.collections if dots.get_label() == "F1")
    assert_allclose(f1.get_offsets().filled(np.nan)[:, 0], [100, 100, np.nan])
    assert ax.yaxis_inverted()


def test_what_is_not_defined_is_not_a_number():
    truth, predicted = np.array([[0, 1], [0, 1]]), np.array([[1, 0], [0, 0]])
    found = LabelMeasuresDisplay.from_predictions(truth, predicted).measures
    assert_array_equal(found.precision, [0, np.nan])
    assert_array_equal(found.recall, [np.nan, 0])
    assert_array_equal(found.f1, [0, 0])


def test_many_labels_show_the_most_frequent_and_say_so():
    truth = rng.integers(2, size=(50, 9))
    display = LabelMeasuresDisplay.from_predictions(truth, truth)
    ax = display.plot(max_labels=4).ax_
    assert len(ax.get_yticklabels()) == 4
    assert ax.get_ylabel() == "the 4 most frequent of 9"


def test_columns_of_data_frames_name_the_labels():
    frame = pd.DataFrame(Y, columns=list("abcde"))
    fitted = MMCRFClassifier(tol=0.1, random_state=0).fit(X, frame)
    reordered = frame[list("edcba")]
    display = LabelMeasuresDisplay.from_estimator(fitted, X, reordered)
    assert display.label_names == list("abcde")
    assert_allclose(display.measures.frequency, Y.mean(axis=0))
    shown = LabelMeasuresDisplay.from_predictions(reordered, Y[:, ::-1])
    assert shown.label_names == list("edcba")


@pytest.mark.parametrize(
    ("truth", "predicted", "names", "message"),
    [
        ([[0, 2], [1, 1], [1, 0]], np.ones((3, 2)), None, r"label 1 has 3. Look at"),
        (Y, Y[1:], None, r"shapes \(60, 5\) and \(59, 5\)"),
        (Y, Y, ["a"], "must name the 5 labels; got 1 names"),
    ],
)
def test_predictions_that_cannot_be_compared_are_refused(
    truth, predicted, names, message
):
    with pytest.raises(ValueError, match=message):
        LabelMeasuresDisplay.from_predictions(truth, predicted, names)


# --- calibration ---------------------------------------------------------------------


class Scorer:
    """A model that scores as it is told."""

    def __init__(self, scores):
        self.scores = scores

    def decision_function(self, X):
        return self.scores


def test_shares_of_positives_are_those_of_the_bins():
    scores = rng.permutation(np.arange(200.0)).reshape(40, 5)
    truth = scores >= 150
    display = ScoreCalibrationDisplay.from_estimator(
        Scorer(scores), None, truth, n_bins=4
    )
    assert_array_equal(display.count, [50, 50, 50, 50])
    assert_allclose(display.positive_share, [0, 0, 0, 1])
    assert_allclose(display.mean_score, [24.5, 74.5, 124.5, 174.5])
    (line, *_), labels = display.ax_.get_legend_handles_labels()
    assert labels == ["4 bins of 50 microlabels"]
    assert_allclose(line[0].get_ydata(), [0, 0, 0, 100])


def test_equal_scores_share_a_bin():
    scores = np.repeat([-1.0, 0.0, 1.0], [10, 80, 10]).reshape(20, 5)
    display = ScoreCalibrationDisplay.from_estimator(Scorer(scores), None, scores > 0)
    assert_array_equal(display.count, [10, 80, 10])
    assert_array_equal(display.mean_score, [-1, 0, 1])
    assert_array_equal(display.positive_share, [0, 0, 1])
    flat = Scorer(np.zeros((20, 5)))
    assert (
        len(ScoreCalibrationDisplay.from_estimator(flat, None, scores > 0).count) == 1
    )


def test_scores_of_the_right_chances_are_calibrated_aggregation():
    scores = rng.normal(size=(4000, 5))
    truth = rng.random(size=scores.shape) < 1 / (1 + np.exp(-2 * scores))
    display = ScoreCalibrationDisplay.from_estimator(Scorer(scores), None, truth)
    expected = 1 / (1 + np.exp(-2 * display.mean_score))
    assert_allclose(display.positive_share, expected, atol=0.06)


@pytest.mark.parametrize(
    "model",
    [
        RandomGraphEnsembleClassifier(3, tol=0.1, random_state=0),
        RandomGraphEnsembleClassifier(3, "mve", tol=0.1, random_state=0),
        make_pipeline(StandardScaler(), MMCRFClassifier(tol=0.1, random_state=0)),
        ClassifierChain(LogisticRegression()),
    ],
    ids=["mam", "mve", "pipeline", "scikit-learn"],
)
def test_any_model_with_a_decision_function_can_be_calibrated_aggregation(model):
    display = ScoreCalibrationDisplay.from_estimator(model.fit(X, Y), X, Y, n_bins=5)
    assert display.count.sum() == Y.size
    total = (display.positive_share * display.count).sum()
    assert total == pytest.approx(Y.sum())
    assert display.positive_share[-1] > display.positive_share[0]


def test_scores_that_do_not_fit_the_labels_are_refused():
    with pytest.raises(ValueError, match=r"300 in all; got 12. Labels must be binary"):
        ScoreCalibrationDisplay.from_estimator(Scorer(np.zeros((4, 3))), None, Y)
    with pytest.raises(ValueError, match="labels must have two values; label 0 has 3"):
        ScoreCalibrationDisplay.from_estimator(Scorer([]), None, [[0], [1], [2]])


# --- extras --------------------------------------------------------------------------


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
