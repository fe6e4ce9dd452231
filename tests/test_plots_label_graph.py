"""The label graph of a model as a figure."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn_models import X, X_new, Y, Y_new, fitted_ensemble
from numpy.testing import assert_allclose, assert_array_equal

from spanforest import MMCRFClassifier
from spanforest.diagnostics import Couplings, edge_couplings, label_frequencies
from spanforest.plots import LabelGraphDisplay, LabelMeasuresDisplay

rng = np.random.default_rng(0)


def random_couplings(n_labels, signed=True):
    edges = np.argwhere(np.triu(np.ones((n_labels, n_labels)), k=1))
    strength = rng.normal(size=len(edges))
    return Couplings(edges, strength, np.full(len(edges), signed))


def label_graph(n_labels, **options):
    names = [f"label name {j}" for j in range(n_labels)]
    couplings = random_couplings(n_labels)
    return LabelGraphDisplay(couplings, rng.random(n_labels), names, **options)


@pytest.mark.needs_compiled
def test_the_label_graph_of_a_model_shows_its_couplings_and_frequencies():
    ensemble = fitted_ensemble()
    names = ["sun", "rain", "wind", "snow", "fog"]
    display = LabelGraphDisplay.from_estimator(ensemble, X, Y, label_names=names)
    expected = edge_couplings(ensemble, X, Y)
    assert_array_equal(display.couplings.strength, expected.strength)
    assert_array_equal(display.couplings.edges, ensemble.consensus_graph_.edges)
    assert_allclose(display.frequencies, Y.mean(axis=0))
    assert [text.get_text() for text in display.ax_.texts] == names
    predicted = LabelGraphDisplay.from_estimator(ensemble, X_new)
    expected = label_frequencies(ensemble.predict(X_new))
    assert_array_equal(predicted.frequencies, expected)
    assert predicted.label_names == [f"label{j}" for j in range(5)]
    measures = LabelMeasuresDisplay.from_predictions(Y_new, Y_new)
    assert measures.label_names == predicted.label_names


@pytest.mark.parametrize("max_edges", [None, 3])
def test_the_strongest_edges_are_drawn_and_the_rest_is_counted(max_edges):
    display = label_graph(12, max_edges=max_edges)
    shown = np.abs(display.couplings.strength[display.shown_edges])
    hidden = np.delete(np.abs(display.couplings.strength), display.shown_edges)
    assert len(shown) == (18 if max_edges is None else 3)
    assert shown.min() > hidden.max()
    ax = display.plot().ax_
    assert len(ax.patches) == len(shown)
    title = ax.get_legend().get_title().get_text()
    assert title == f"the {len(shown)} strongest of 66 edges"
    whole = label_graph(5).plot().ax_.get_legend()
    assert whole.get_title().get_text() == ""


def test_width_is_strength_and_colour_is_sign():
    display = label_graph(5).plot()
    patches = display.ax_.patches[::-1]  # drawn weakest first
    strength = display.couplings.strength[display.shown_edges]
    widths = [patch.get_linewidth() for patch in patches]
    assert widths == sorted(widths, reverse=True)
    share = np.abs(strength) / np.abs(strength).max()
    assert np.corrcoef(widths, share)[0, 1] == pytest.approx(1)
    legend = display.ax_.get_legend()
    colours = {
        text.get_text(): mpl.colors.to_rgb(line.get_color())
        for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
    }
    assert set(colours) == {"attract each other", "repel each other"}
    for patch, value in zip(patches, strength, strict=True):
        name = "attract each other" if value > 0 else "repel each other"
        assert patch.get_edgecolor()[:3] == pytest.approx(colours[name])


def test_an_edge_is_a_curve_between_the_places_of_its_labels():
    display = label_graph(6).plot()
    patches = display.ax_.patches[::-1]
    for e, patch in zip(display.shown_edges, patches, strict=True):
        begin, control, end = display.curve(e)
        assert_array_equal(patch.get_path().vertices, [begin, control, end])
        assert_array_equal([begin, end], display.positions[display.couplings.edges[e]])
        middle = (begin + end) / 2
        assert np.linalg.norm(control) <= np.linalg.norm(middle)


def test_labels_of_many_values_are_joined_without_a_sign():
    grades = np.digitize(X[:, :3], [-0.5, 0.5])
    fitted = MMCRFClassifier(tol=0.1, random_state=0).fit(X, grades)
    legend = LabelGraphDisplay.from_estimator(fitted, X, grades).ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["depend on each other"]


@pytest.mark.parametrize("n_labels", [1, 2, 6, 14])
def test_names_of_few_labels_do_not_overlap(n_labels):
    ax = label_graph(n_labels).plot().ax_
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_names_of_many_labels_stand_a_line_apart():
    ax = label_graph(53).plot().ax_
    ax.figure.draw_without_rendering()
    anchors = np.array([ax.transData.transform(t.get_position()) for t in ax.texts])
    distances = np.linalg.norm(anchors[:, None] - anchors, axis=2)
    np.fill_diagonal(distances, np.inf)
    line = ax.texts[0].get_fontsize() * ax.figure.dpi / 72
    assert distances.min() > line


def test_labels_stand_next_to_those_they_are_coupled_to():
    order = rng.permutation(8)
    edges = np.sort(np.column_stack([order[:-1], order[1:]]), axis=1)
    strength = np.where((edges == order[0]).any(axis=1), 3.0, 1.0)
    couplings = Couplings(edges, strength, np.full(7, True))
    display = LabelGraphDisplay(couplings, np.full(8, 0.5), range(8)).plot()
    place = np.array([text.get_position() for text in display.ax_.texts])
    gaps = np.linalg.norm(place[order[1:]] - place[order[:-1]], axis=1)
    assert (gaps < 1.1 * gaps.min()).sum() >= 6


def test_a_graph_without_edges_is_drawn():
    fitted = MMCRFClassifier(graph="independent", tol=0.1).fit(X, Y)
    display = LabelGraphDisplay.from_estimator(fitted, X)
    assert len(display.ax_.patches) == 0
    assert display.ax_.get_legend() is None


@pytest.mark.needs_compiled
def test_names_must_fit_the_labels():
    ensemble = fitted_ensemble()
    with pytest.raises(ValueError, match="got 1 names and 5 frequencies"):
        LabelGraphDisplay(random_couplings(5), np.ones(5), ["a"])
    with pytest.raises(ValueError, match="got 1 names and 5 frequencies"):
        LabelGraphDisplay.from_estimator(ensemble, X, label_names=["a"])


def test_without_a_legend_dots_are_black_and_their_size_is_the_frequency():
    display = label_graph(5).plot(legend=False)
    assert display.ax_.get_legend() is None
    assert display.figure_.axes == [display.ax_]  # no bar of colours
    assert len(display.dots_.get_facecolor()) == 1
    order = np.argsort(display.frequencies)
    assert (np.diff(display.dots_.get_sizes()[order]) > 0).all()


def test_labels_of_unknown_frequency_have_small_dots():
    frequencies = [np.nan, 0.9, np.nan]
    display = LabelGraphDisplay(random_couplings(3), frequencies).plot(legend=False)
    unknown, known, other = display.dots_.get_sizes()
    assert 0 < unknown == other < known
