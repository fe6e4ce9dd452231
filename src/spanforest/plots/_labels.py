"""Figures with one row per label, or over all microlabels: quality and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spanforest._parameters import check_count
from spanforest._wording import numbered_labels
from spanforest.diagnostics import (
    LabelMeasures,
    Positives,
    final_step,
    in_training_order,
)
from spanforest.plots._style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    VERMILION,
    axes_for,
    tidy,
)


class LabelMeasuresDisplay:
    """Precision, recall, F1, accuracy and frequency of every label.

    Make it with `from_predictions` or `from_estimator`.

    Parameters
    ----------
    measures : LabelMeasures
        The numbers, between 0 and 1.
    label_names : sequence of str
        One name per label.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the dots are, once drawn.
    figure_ : matplotlib Figure
        The figure around them.

    Examples
    --------
    >>> from spanforest.plots import LabelMeasuresDisplay
    >>> display = LabelMeasuresDisplay.from_predictions(
    ...     [[1, 0], [1, 1], [0, 0]], [[1, 0], [0, 1], [0, 1]], ["sun", "rain"]
    ... )
    >>> display.measures.recall.tolist()
    [0.5, 1.0]
    """

    def __init__(self, measures: LabelMeasures, label_names: Sequence[str]) -> None:
        self.measures = measures
        self.label_names = [str(name) for name in label_names]

    @classmethod
    def from_predictions(
        cls,
        Y_true: Any,
        Y_pred: Any,
        label_names: Sequence[str] | None = None,
        *,
        ax: Any = None,
    ) -> Self:
        """Compare true and predicted labels, and draw the measures.

        Parameters
        ----------
        Y_true : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            True labels, each of two values.
        Y_pred : array-like, DataFrame or sparse matrix of the same shape
            Predicted labels.
        label_names : sequence of str, optional
            By default the columns of a DataFrame, or ``"label0"``, ``"label1"`` ...
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        LabelMeasuresDisplay
            With the figure drawn.
        """
        if label_names is None:
            columns = getattr(Y_true, "columns", None)
            n_labels = 1 if len(np.shape(Y_true)) == 1 else np.shape(Y_true)[1]
            label_names = numbered_labels(n_labels) if columns is None else columns
        measures = Positives.of(Y_true, Y_pred).measures()
        n_labels = len(measures.frequency)
        if n_labels != len(label_names):
            raise ValueError(
                f"label_names must name the {n_labels} labels; got "
                f"{len(label_names)} names."
            )
        return cls(measures, label_names).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        Y: Any,
        label_names: Sequence[str] | None = None,
        *,
        ax: Any = None,
    ) -> Self:
        """Predict, compare with the true labels, and draw the measures.

        Parameters
        ----------
        model : estimator
            Fitted; any classifier whose `predict` gives a label matrix.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples.
        Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Their true labels.
        label_names : sequence of str, optional
            By default those the model was trained with, or ``"label0"`` ...
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        LabelMeasuresDisplay
            With the figure drawn.
        """
        Y = in_training_order(model, Y)
        if label_names is None:
            label_names = getattr(final_step(model)[0], "label_names_", None)
        return cls.from_predictions(Y, model.predict(X), label_names, ax=ax)

    def plot(self, *, ax: Any = None, max_labels: int = 60) -> Self:
        """Draw a row per label, the most frequent at the top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        max_labels : int, default=60
            Only so many labels, the most frequent ones, are shown.

        Returns
        -------
        LabelMeasuresDisplay
            Itself.
        """
        values = self.measures
        order = np.argsort(-values.frequency, kind="stable")
        order = order[: check_count("max_labels", max_labels)]
        n_hidden = len(self.label_names) - len(order)
        ax = axes_for(ax, width=7.0, height=1.2 + 0.24 * len(order))
        rows = np.arange(len(order))
        bar = {"color": LIGHT_GREY, "height": 0.8, "label": "frequency"}
        ax.barh(rows, 100 * values.frequency[order], **bar)
        for name, colour, marker in (
            ("accuracy", GREY, "|"),
            ("precision", BLUE, ">"),
            ("recall", ORANGE, "<"),
            ("f1", VERMILION, "o"),
        ):
            level = 100 * getattr(values, name)[order]
            style = {"color": colour, "marker": marker, "s": 26, "zorder": 3}
            ax.scatter(level, rows, label=name.replace("f1", "F1"), **style)
        tidy(ax, grid="x")
        ax.set_yticks(rows, [self.label_names[j] for j in order])
        ax.set(xlim=(-1, 101), ylim=(len(order) - 0.4, -0.6), xlabel="Per cent")
        ax.tick_params(axis="y", length=0)
        if n_hidden:
            ax.set_ylabel(f"the {len(order)} most frequent of {order.size + n_hidden}")
        ax.legend(frameon=False, ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ScoreCalibrationDisplay:
    """Share of positives against the score, over the microlabels of all examples.

    The microlabels are put into bins of nearly equal size by their score. If scores
    mean the same for all labels, the share rises with the score and passes one half
    at zero.

    Parameters
    ----------
    mean_score : array-like of shape (n_bins,)
        Mean decision function of the microlabels of each bin.
    positive_share : array-like of shape (n_bins,)
        Share of them that are on in truth.
    count : array-like of shape (n_bins,)
        How many there are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the points are, once drawn.
    figure_ : matplotlib Figure
        The figure around them.

    Examples
    --------
    >>> from spanforest.plots import ScoreCalibrationDisplay
    >>> display = ScoreCalibrationDisplay([-1.0, 0.5], [0.1, 0.8], [50, 50])
    >>> display.plot().ax_.get_ylabel()
    'Positive microlabels (%)'
    """

    def __init__(
        self, mean_score: ArrayLike, positive_share: ArrayLike, count: ArrayLike
    ) -> None:
        self.mean_score = np.asarray(mean_score, dtype=float)
        self.positive_share = np.asarray(positive_share, dtype=float)
        self.count = np.asarray(count)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, Y: Any, *, n_bins: int = 15, ax: Any = None
    ) -> Self:
        """Score examples, compare with their true labels, and draw the shares.

        Parameters
        ----------
        model : estimator
            Fitted; any classifier of binary labels with a `decision_function`.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, best not those of training.
        Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Their true labels.
        n_bins : int, default=15
            Number of bins; fewer if many scores are equal.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ScoreCalibrationDisplay
            With the figure drawn.

        Examples
        --------
        >>> from spanforest import MMCRFClassifier
        >>> from spanforest.datasets import make_circle
        >>> from spanforest.plots import ScoreCalibrationDisplay
        >>> X, Y = make_circle(60, random_state=0)
        >>> model = MMCRFClassifier(tol=0.1, random_state=0).fit(X, Y)
        >>> display = ScoreCalibrationDisplay.from_estimator(model, X, Y, n_bins=5)
        >>> display.count.sum() == Y.size
        np.True_
        """
        n_bins = check_count("n_bins", n_bins)
        Y = in_training_order(model, Y)
        is_on = Positives.of(Y, Y).truth.ravel()
        scores = np.asarray(model.decision_function(X), dtype=float).ravel()
        if len(scores) != len(is_on):
            raise ValueError(
                f"decision_function must give one score per label of each example, "
                f"{len(is_on)} in all; got {len(scores)}. Labels must be binary."
            )
        edges = np.unique(np.quantile(scores, np.linspace(0, 1, n_bins + 1)[1:-1]))
        place = np.searchsorted(edges, scores, side="left")
        count = np.bincount(place)
        used = count > 0
        mean_score = np.bincount(place, scores)[used] / count[used]
        share = np.bincount(place, is_on)[used] / count[used]
        return cls(mean_score, share, count[used]).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw a point per bin, with two standard errors on either side.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ScoreCalibrationDisplay
            Itself.
        """
        ax = axes_for(ax)
        share, count = self.positive_share, np.maximum(self.count, 1)
        error = 2 * np.sqrt(share * (1 - share) / count)
        sizes = " to ".join(f"{n:,}" for n in np.unique([count.min(), count.max()]))
        ax.errorbar(
            self.mean_score,
            100 * share,
            yerr=100 * error,
            color=GREEN,
            marker="o",
            markersize=4,
            linewidth=1.2,
            label=f"{len(count)} bins of {sizes} microlabels",
        )
        dashed = {"color": BLACK, "linestyle": (0, (4, 3)), "linewidth": 0.8}
        ax.axvline(0, zorder=1, **dashed)
        ax.axhline(50, zorder=1, **dashed)
        tidy(ax, grid="both")
        ax.set(xlabel="Decision function", ylabel="Positive microlabels (%)")
        ax.set_ylim(-3, 106)
        ax.legend(frameon=False, loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self
