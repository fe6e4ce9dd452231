"""Diversity and coherence of an ensemble, the terms of Theorem 1."""

from __future__ import annotations

from typing import Any, Self

from spanforest.diagnostics import DiversityCurve, diversity_curve
from spanforest.plots._style import (
    BLACK,
    GREY,
    ORANGE,
    PURPLE,
    Display,
    count_from_one,
    tidy,
)


class DiversityDisplay(Display):
    """Diversity and coherence against the number of trees.

    Averaging the members lowers their mean squared error by the sum of both
    (Theorem 1).

    Parameters
    ----------
    curve : DiversityCurve
        The numbers, from `spanforest.diagnostics.diversity_curve`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curves are, once drawn.
    figure_ : matplotlib Figure
        The figure around them.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest.diagnostics import DiversityCurve
    >>> from spanforest.plots import DiversityDisplay
    >>> curve = DiversityCurve(*np.array([[3, 3], [3, 2], [0, 0.8], [0, 0.2]]))
    >>> DiversityDisplay(curve).plot().ax_.get_xlabel()
    'Number of trees'
    """

    def __init__(self, curve: DiversityCurve) -> None:
        self.curve = curve

    @classmethod
    def from_estimator(cls, ensemble: Any, X: Any, Y: Any, *, ax: Any = None) -> Self:
        """Compute the terms of a fitted ensemble on some examples, and draw them.

        Parameters
        ----------
        ensemble : RandomGraphEnsembleClassifier
            Fitted; also as the last step of a pipeline, or inside a search.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples.
        Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Their true labels.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DiversityDisplay
            With the figure drawn.

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> from spanforest.datasets import make_circle
        >>> from spanforest.plots import DiversityDisplay
        >>> X, Y = make_circle(60, random_state=0)
        >>> ensemble = RandomGraphEnsembleClassifier(3, tol=0.1, random_state=0)
        >>> display = DiversityDisplay.from_estimator(ensemble.fit(X, Y), X, Y)
        >>> len(display.curve.diversity)
        3
        """
        return cls(diversity_curve(ensemble, X, Y)).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        """Draw the curves."""
        curve, sizes = self.curve, self.curve.n_trees
        marker = "o" if len(sizes) == 1 else None
        for values, colour, label in (
            (curve.diversity, PURPLE, "diversity"),
            (curve.coherence, ORANGE, "coherence"),
            (curve.variance, BLACK, "their sum"),
        ):
            ax.plot(sizes, values, color=colour, label=label, lw=1.4, marker=marker)
        ax.axhline(0, color=GREY, linewidth=0.8, zorder=1.5)
        tidy(ax)
        count_from_one(ax, len(sizes))
        ax.set(xlabel="Number of trees", ylabel="Squared score")
        ax.legend(frameon=False)
