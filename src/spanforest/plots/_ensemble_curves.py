"""Learning curves: quality against the number of trees (the paper's Figure 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest._parameters import check_option
from spanforest.aggregation import AGGREGATIONS
from spanforest.diagnostics import final_step, in_training_order
from spanforest.metrics import MEASURES
from spanforest.plots._style import (
    BLACK,
    Display,
    count_from_one,
    measure_label,
    method_colour,
    method_dashes,
    optional,
    tidy,
)

N_COLUMNS = 5
LEAST_SPAN = 0.01  # shortest y axis; a shorter one would make noise look like a trend


class EnsembleCurveDisplay(Display):
    """Quality of the first 1, 2, ..., n_trees members, combined in different ways.

    Make it with `from_estimator`, or from numbers.

    Parameters
    ----------
    curves : mapping of str to array-like of shape (n_trees,)
        Per aggregation (``"mve"``, ``"amm"``, ``"mam"``) the quality, between 0 and 1.
    member : float, optional
        Average quality of a single member.
    measure : str, default="microlabel_accuracy"
        Name of the measure of quality.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curves are, once drawn.
    figure_ : matplotlib Figure
        The figure around them.

    Examples
    --------
    >>> from spanforest.plots import EnsembleCurveDisplay
    >>> display = EnsembleCurveDisplay({"mam": [0.70, 0.74, 0.76]}, member=0.71)
    >>> display.plot().ax_.get_ylabel()
    'Microlabel accuracy (%)'
    """

    def __init__(
        self,
        curves: Mapping[str, ArrayLike],
        member: float | None = None,
        measure: str = "microlabel_accuracy",
    ) -> None:
        self.curves = {name: np.asarray(curve) for name, curve in curves.items()}
        self.member = member
        self.measure = measure

    @classmethod
    def from_estimator(
        cls,
        ensemble: Any,
        X: Any,
        Y: Any,
        *,
        measure: str | Callable[[Any, Any], float] = "microlabel_accuracy",
        aggregations: Sequence[str] = AGGREGATIONS,
        ax: Any = None,
    ) -> Self:
        """Compute the curves of a fitted ensemble on some examples, and draw them.

        Parameters
        ----------
        ensemble : RandomGraphEnsembleClassifier
            Fitted; also as the last step of a pipeline, or inside a search.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples to predict. Prefer examples that were not used for training.
        Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Their true labels.
        measure : str or callable, default="microlabel_accuracy"
            A function of `spanforest.metrics` by name, or any function of true and
            predicted labels.
        aggregations : sequence of {"mve", "amm", "mam"}
            Which curves to draw.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        EnsembleCurveDisplay
            With the figure drawn.

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> from spanforest.datasets import make_circle
        >>> from spanforest.plots import EnsembleCurveDisplay
        >>> X, Y = make_circle(60, random_state=0)
        >>> ensemble = RandomGraphEnsembleClassifier(3, tol=0.1, random_state=0)
        >>> display = EnsembleCurveDisplay.from_estimator(ensemble.fit(X, Y), X, Y)
        >>> sorted(display.curves), len(display.curves["mam"])
        (['amm', 'mam', 'mve'], 3)
        """
        quality, name = _find_measure(measure)
        ensemble, X = final_step(ensemble, X)
        Y = in_training_order(ensemble, Y)
        curves = {
            aggregation: [
                quality(Y, prediction)
                for prediction in ensemble.staged_predict(X, aggregation)
            ]
            for aggregation in aggregations
        }
        alone = [quality(Y, member.predict(X)) for member in ensemble.estimators_]
        return cls(curves, float(np.mean(alone)), name).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        """Draw the curves."""
        _draw_curves(ax, self.curves, self.member)
        ax.set(xlabel="Number of trees", ylabel=measure_label(self.measure))
        ax.legend(frameon=False)


def plot_learning_curves(
    curves: Mapping[str, Mapping[str, Any]],
    measures: str | Sequence[str] = "microlabel_accuracy",
) -> Any:
    """Draw the learning curves of many data sets side by side (the paper's Figure 1).

    Parameters
    ----------
    curves : mapping of str to mapping of str to curves
        ``curves["Emotions"]["microlabel_f1"]`` holds ``"mve"``, ``"amm"`` and
        ``"mam"``, each an array of the quality of the first 1, 2, ... members, and
        ``"member"``, the average quality of a single member. They are keys of a
        mapping, or attributes. Missing or None values are not drawn.
    measures : str or sequence of str, default="microlabel_accuracy"
        Measures to draw; each gets a block of panels.

    Returns
    -------
    matplotlib Figure
        One panel per data set and measure, five to a row. Each panel has its own axis
        in per cent. Close the figure with ``matplotlib.pyplot.close`` when you no
        longer need it.

    Examples
    --------
    >>> from spanforest.plots import plot_learning_curves
    >>> one = {"microlabel_accuracy": {"mam": [0.7, 0.8], "member": 0.7}}
    >>> figure = plot_learning_curves({"Emotions": one, "Yeast": one})
    >>> [ax.get_title() for ax in figure.axes]
    ['Emotions', 'Yeast']
    """
    measures = [measures] if isinstance(measures, str) else list(measures)
    if not curves or not measures:
        raise ValueError(
            f"at least one data set and one measure are needed; got {len(curves)} and "
            f"{len(measures)}. Pass curves[data set][measure]."
        )
    pyplot = optional("matplotlib.pyplot")
    n_columns = min(len(curves), N_COLUMNS)
    n_rows = -(-len(curves) // n_columns)
    figure, grid = pyplot.subplots(
        len(measures) * n_rows,
        n_columns,
        figsize=(2.4 * n_columns + 0.4, 2.1 * len(measures) * n_rows + 0.4),
        layout="constrained",
        squeeze=False,
    )
    for place, measure in enumerate(measures):
        block = grid[place * n_rows : (place + 1) * n_rows]
        for ax, (name, of_set) in zip(block.flat, curves.items(), strict=False):
            _draw_panel(ax, name, of_set.get(measure))
        for ax in block.flat[len(curves) :]:
            ax.remove()
        for ax in block[:, 0]:
            ax.set_ylabel(measure_label(measure), fontsize=9)
    for column in grid.T:
        lowest = [ax for ax in column if ax in figure.axes][-1]
        lowest.set_xlabel("Number of trees", fontsize=9)
    _share_legend(figure)
    return figure


def _draw_panel(ax: Any, name: str, values: Any) -> None:
    ax.set_title(name, fontsize=10)
    ax.tick_params(labelsize=8)
    drawn = {method: _field(values, method) for method in AGGREGATIONS}
    known = {
        method: np.asarray(curve, float)
        for method, curve in drawn.items()
        if curve is not None
    }
    if known:
        _draw_curves(ax, known, _field(values, "member"))
    else:
        ax.text(
            0.5, 0.5, "no results", ha="center", va="center", transform=ax.transAxes
        )
        ax.set(xticks=[], yticks=[])
        tidy(ax)


def _field(values: Any, name: str) -> Any:
    if isinstance(values, Mapping):
        return values.get(name)
    return getattr(values, name, None)


def _draw_curves(
    ax: Any, curves: Mapping[str, NDArray[Any]], member: float | None
) -> None:
    for method, curve in curves.items():
        sizes = np.arange(1, len(curve) + 1)
        ax.plot(
            sizes,
            100 * curve,
            color=method_colour(method),
            linestyle=method_dashes(method),
            label=method.upper(),
            linewidth=1.4,
            marker="o" if len(curve) == 1 else None,
        )
    seen = [np.ravel(curve) for curve in curves.values()]
    if member is not None:
        line = {"color": BLACK, "linestyle": (0, (4, 3)), "linewidth": 1.0}
        ax.axhline(100 * member, label="mean member", zorder=1.5, **line)
        seen.append(np.array([member]))
    tidy(ax)
    ax.ticklabel_format(axis="y", useOffset=False)
    count_from_one(ax, max(map(len, curves.values())))
    _fit_y(ax, np.concatenate(seen))


def _fit_y(ax: Any, values: NDArray[Any]) -> None:
    """Set the limits of y: a margin around the values, at most 0 to 1 if they are."""
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return
    low, high = values.min(), values.max()
    middle, half = (low + high) / 2, max(1.12 * (high - low), LEAST_SPAN) / 2
    bottom, top = middle - half, middle + half
    if low >= 0 and bottom < 0:
        bottom, top = -0.04 * top, max(top, LEAST_SPAN)
    if high <= 1 and top > 1:
        top = 1 + 0.04 * (1 - bottom)
    ax.set_ylim(100 * bottom, 100 * top)


def _share_legend(figure: Any) -> None:
    lines = {
        label: line
        for ax in figure.axes
        for line, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        lines.values(),
        lines.keys(),
        loc="outside upper center",
        ncols=len(lines) or 1,
        frameon=False,
        fontsize=9,
    )


def _find_measure(
    measure: str | Callable[[Any, Any], float],
) -> tuple[Callable[[Any, Any], float], str]:
    if callable(measure):
        return measure, getattr(measure, "__name__", "quality")
    name = check_option("measure", measure, tuple(MEASURES))
    return MEASURES[name].function, name
