"""The label graph of a model: which labels attract and which repel each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanforest._parameters import check_count
from spanforest._wording import numbered_labels
from spanforest.diagnostics import (
    Couplings,
    edge_couplings,
    final_step,
    in_training_order,
    label_frequencies,
)
from spanforest.plots._style import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    axes_for,
    optional,
)

FEW_LABELS = 16
WIDEST = 5.0  # width of the strongest edge, in points
EDGE_KINDS = {  # text in the legend, and colour
    "attract": ("attract each other", BLUE),
    "depend": ("depend on each other", GREY),
    "repel": ("repel each other", VERMILION),
}


class LabelGraphDisplay:
    """The labels on a circle, joined where they depend on each other.

    The width of an edge shows the strength of the coupling, and its colour the sign.
    The size and shade of a dot show the frequency of the label. Strongly coupled labels
    are neighbours on the circle. Large graphs show only their strongest edges; the
    legend says how many.

    Parameters
    ----------
    couplings : Couplings
        From `spanforest.diagnostics.edge_couplings`.
    frequencies : array-like of shape (n_labels,)
        Share of examples that have each label; nan if it is not known.
    label_names : sequence of str, optional
        One name per label; by default ``"label0"``, ``"label1"`` and so on.
    max_edges : int, optional
        The most edges to draw. By default 1.5 times the number of labels, and at
        least 15.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the graph is, once drawn.
    figure_ : matplotlib Figure
        The figure around it.
    dots_ : matplotlib PathCollection
        The dots of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.diagnostics import Couplings
    >>> from spanforest.plots import LabelGraphDisplay
    >>> couplings = Couplings(
    ...     np.array([[0, 1], [1, 2]]), np.array([2.0, -1.0]), np.array([True, True])
    ... )
    >>> display = LabelGraphDisplay(couplings, [0.5, 0.4, 0.1], ["sun", "warm", "rain"])
    >>> [text.get_text() for text in display.plot().ax_.texts]
    ['sun', 'warm', 'rain']
    """

    def __init__(
        self,
        couplings: Couplings,
        frequencies: ArrayLike,
        label_names: Sequence[str] | None = None,
        max_edges: int | None = None,
    ) -> None:
        self.couplings = couplings
        self.frequencies = np.asarray(frequencies, dtype=float)
        if label_names is None:
            label_names = numbered_labels(len(self.frequencies))
        self.label_names = [str(name) for name in label_names]
        self.max_edges = max_edges
        if len(self.label_names) != len(self.frequencies):
            raise ValueError(
                f"one name and one frequency per label are needed; got "
                f"{len(self.label_names)} names and {len(self.frequencies)} "
                "frequencies."
            )

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        Y: Any = None,
        *,
        label_names: Sequence[str] | None = None,
        max_edges: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Measure the couplings of a fitted model on some examples and draw them.

        Parameters
        ----------
        model : MMCRFClassifier or RandomGraphEnsembleClassifier
            Fitted; also as the last step of a pipeline, or inside a search. For an
            ensemble, the consensus graph is drawn.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples over which couplings are averaged, for example the training set.
        Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels), \
        optional
            Labels that give the frequencies; by default the predictions for X.
        label_names : sequence of str, optional
            By default the names from training, or ``"label0"`` ...
        max_edges : int, optional
            The most edges to draw.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        LabelGraphDisplay
            With the figure drawn.

        Examples
        --------
        >>> from spanforest import MMCRFClassifier
        >>> from spanforest.datasets import make_circle
        >>> from spanforest.plots import LabelGraphDisplay
        >>> X, Y = make_circle(60, random_state=0)
        >>> model = MMCRFClassifier(tol=0.1, random_state=0).fit(X, Y)
        >>> display = LabelGraphDisplay.from_estimator(model, X, Y)
        >>> len(display.couplings.strength)
        9
        """
        labels = model.predict(X) if Y is None else in_training_order(model, Y)
        couplings = edge_couplings(model, X, labels)
        classifier, _ = final_step(model)
        if label_names is None:
            label_names = classifier.label_names_
        frequencies = label_frequencies(labels, classifier.missing_label)
        return cls(couplings, frequencies, label_names, max_edges).plot(ax=ax)

    @property
    def has_few_labels(self) -> bool:
        """Whether names are horizontal; with more labels they point outwards."""
        return len(self.label_names) <= FEW_LABELS

    @property
    def shown_edges(self) -> NDArray[np.intp]:
        """Indices of the edges to draw, strongest first."""
        most = max(15, 3 * len(self.label_names) // 2)
        if self.max_edges is not None:
            most = check_count("max_edges", self.max_edges)
        order = np.argsort(-np.abs(self.couplings.strength), kind="stable")
        return order[:most]

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """Positions of the labels on the unit circle, of shape (n_labels, 2)."""
        return _around_circle(self.couplings, len(self.label_names))

    def curve(self, e: int) -> NDArray[np.float64]:
        """Return the quadratic curve of an edge: one end, control point, other end.

        Examples
        --------
        >>> import numpy as np
        >>> from spanforest.diagnostics import Couplings
        >>> from spanforest.plots import LabelGraphDisplay
        >>> edge = Couplings(np.array([[0, 1]]), np.array([2.0]), np.array([True]))
        >>> LabelGraphDisplay(edge, [0.5, 0.4]).curve(0).round(2).tolist()
        [[0.0, 1.0], [0.0, 0.0], [0.0, -1.0]]
        """
        one, other = self.positions[self.couplings.edges[e]]
        bend = 0.33 * np.linalg.norm(one - other)  # the longer, the more
        return np.array([one, (1 - bend) * (one + other) / 2, other])

    def edge_kind(self, e: int) -> str:
        """Return "attract", "repel" or, for labels of many values, "depend".

        Examples
        --------
        >>> import numpy as np
        >>> from spanforest.diagnostics import Couplings
        >>> from spanforest.plots import LabelGraphDisplay
        >>> edge = Couplings(np.array([[0, 1]]), np.array([2.0]), np.array([True]))
        >>> LabelGraphDisplay(edge, [0.5, 0.4]).edge_kind(0)
        'attract'
        """
        if not self.couplings.is_signed[e]:
            return "depend"
        return "attract" if self.couplings.strength[e] >= 0 else "repel"

    def plot(self, *, ax: Any = None, legend: bool = True) -> Self:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        legend : bool, default=True
            Whether to explain the colours of edges and dots beside the graph. Without
            a legend all dots are black.

        Returns
        -------
        LabelGraphDisplay
            Itself.
        """
        n_labels = len(self.label_names)
        side = np.clip(4.5 + 0.09 * n_labels, 5.0, 11.0)
        ax = axes_for(ax, width=side + 1.0, height=side)
        self._draw_edges(ax)
        self._draw_names(ax)
        self.dots_ = self._draw_dots(ax, shaded=legend)
        if legend:
            self._explain_edges(ax)
            bar = ax.figure.colorbar(self.dots_, ax=ax, shrink=0.5, pad=0.02, aspect=25)
            bar.set_label("Examples with the label (%)")
            bar.outline.set_visible(False)
        ax.set(aspect="equal", xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_edges(self, ax: Any) -> None:
        patches, path = optional("matplotlib.patches"), optional("matplotlib.path")
        strength, shown = self.couplings.strength, self.shown_edges
        largest = np.abs(strength).max(initial=0.0) or 1.0
        for e in shown[::-1]:  # strong edges on top
            share = abs(strength[e]) / largest
            _, colour = EDGE_KINDS[self.edge_kind(e)]
            moves = [path.Path.MOVETO, path.Path.CURVE3, path.Path.CURVE3]
            curve = path.Path(self.curve(e), moves)
            style = {"edgecolor": colour, "linewidth": 0.3 + (WIDEST - 0.3) * share}
            fade = {"alpha": 0.25 + 0.65 * share, "capstyle": "round", "zorder": 1}
            ax.add_patch(patches.PathPatch(curve, facecolor="none", **style, **fade))

    def _explain_edges(self, ax: Any) -> None:
        lines = optional("matplotlib.lines")
        kinds = {self.edge_kind(e) for e in self.shown_edges}
        handles = [
            lines.Line2D([], [], color=colour, linewidth=3, label=text)
            for text, colour in (EDGE_KINDS[kind] for kind in sorted(kinds))
        ]
        n_edges, n_shown = len(self.couplings.strength), len(self.shown_edges)
        title = None
        if n_shown < n_edges:
            title = f"the {n_shown} strongest of {n_edges} edges"
        if handles:
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02)}
            ax.legend(handles=handles, title=title, frameon=False, ncols=3, **below)

    def _draw_dots(self, ax: Any, *, shaded: bool) -> Any:
        frequencies, n_labels = self.frequencies, len(self.label_names)
        largest = np.fmax.reduce(frequencies, initial=0.0) or 1.0
        share = np.nan_to_num(frequencies / largest, nan=0.2)  # small if not known
        style: dict[str, Any] = {"color": BLACK, "edgecolors": "white"}
        if shaded:
            style = {"c": 100 * frequencies, "cmap": "Greys", "edgecolors": "black"}
            style |= {"vmin": 0.0, "vmax": 100 * largest}
        size = (12 + 130 * share) * min(1.0, 30 / n_labels + 0.3)
        return ax.scatter(*self.positions.T, s=size, linewidths=0.7, zorder=3, **style)

    def _draw_names(self, ax: Any) -> None:
        for (x, y), name in zip(1.07 * self.positions, self.label_names, strict=True):
            angle = np.degrees(np.arctan2(y, x))
            is_left = abs(angle) > 90.0 + 1e-6
            style: dict[str, Any] = {"va": "center"}
            style["ha"] = "right" if is_left else "left"
            if not self.has_few_labels:
                style |= {"rotation": angle + 180 * is_left, "fontsize": 8}
                style |= {"rotation_mode": "anchor"}
            elif abs(x) < 0.2:
                style = {"va": "bottom" if y > 0 else "top", "ha": "center"}
            ax.text(x, y, name, **style)


def _around_circle(couplings: Couplings, n_labels: int) -> NDArray[np.float64]:
    """Place the labels on the unit circle, strongly coupled labels near each other.

    The first label is the one with the largest total coupling. The next label is
    always the one most strongly coupled to the last few, so that strong edges are
    short.
    """
    weights = np.zeros((n_labels, n_labels))
    u, v = couplings.edges.T
    weights[u, v] = weights[v, u] = np.abs(couplings.strength)
    order = [int(weights.sum(axis=1).argmax())]
    pull = np.zeros(n_labels)
    while len(order) < n_labels:
        pull = 0.5 * pull + weights[order[-1]]  # labels placed last count most
        pull[order] = -1.0
        order.append(int(pull.argmax()))
        pull[order] = 0.0
    angle = np.empty(n_labels)
    angle[order] = np.pi / 2 - 2 * np.pi * np.arange(n_labels) / n_labels
    return np.column_stack([np.cos(angle), np.sin(angle)])
