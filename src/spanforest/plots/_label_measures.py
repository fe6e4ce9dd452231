"""Quality of the predictions of every label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from spanforest._parameters import check_count
from spanforest._wording import numbered_labels
from spanforest.diagnostics import (
    LabelMeasures,
    Positives,
    final_step,
    in_training_order,
)
from spanforest.plots._style import (
    BLUE,
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
