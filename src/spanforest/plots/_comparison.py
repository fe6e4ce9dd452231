"""Comparison of methods over many data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spanforest.plots._style import (
    BLACK,
    GREY,
    axes_for,
    method_colour,
    optional,
)


class CriticalDifferenceDisplay:
    """Average ranks of methods; bars join those whose difference may be chance.

    Drawn by `scikit_posthocs.critical_difference_diagram`, in the style of Demšar
    (2006).

    Parameters
    ----------
    methods : sequence of str
        Names as they shall be shown.
    average_ranks : array-like of shape (n_methods,)
        Rank of each method, averaged over the data sets; 1 is best.
    p_values : array-like of shape (n_methods, n_methods)
        Of the comparison of each pair, corrected for their number.
    alpha : float, default=0.05
        Pairs whose p-value is not below it are joined.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the diagram is, once drawn.
    figure_ : matplotlib Figure
        The figure around it.

    Examples
    --------
    >>> from spanforest.plots import CriticalDifferenceDisplay
    >>> display = CriticalDifferenceDisplay(
    ...     ["SVM", "MAM"], [1.9, 1.1], [[1.0, 0.02], [0.02, 1.0]]
    ... )
    >>> display.plot().ax_.get_title()
    'Average rank (1 is best)'
    """

    def __init__(
        self,
        methods: Sequence[str],
        average_ranks: ArrayLike,
        p_values: ArrayLike,
        alpha: float = 0.05,
    ) -> None:
        self.methods = list(methods)
        self.average_ranks = np.asarray(average_ranks, dtype=float)
        self.p_values = np.asarray(p_values, dtype=float)
        self.alpha = alpha
        n = len(self.methods)
        found = (self.average_ranks.shape, self.p_values.shape)
        if len(set(self.methods)) < n or found != ((n,), (n, n)):
            raise ValueError(
                f"one rank per method and one p-value per pair are needed, under "
                f"different names; got {n} names, ranks of shape {found[0]} and "
                f"p-values of shape {found[1]}."
            )

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CriticalDifferenceDisplay
            Itself.
        """
        posthocs = optional("scikit_posthocs", extra="experiments")
        pandas = optional("pandas", extra="experiments")
        n_rows = (len(self.methods) + 1) // 2
        ax = axes_for(ax, width=7.0, height=1.2 + 0.32 * n_rows)
        names = self.methods
        posthocs.critical_difference_diagram(
            dict(zip(names, self.average_ranks.tolist(), strict=True)),
            pandas.DataFrame(self.p_values, index=names, columns=names),
            alpha=self.alpha,
            ax=ax,
            label_fmt_left="{label}  {rank:.2f} ",
            label_fmt_right=" {rank:.2f}  {label}",
            label_props={"fontsize": 10},
            marker_props={"s": 20},
            elbow_props={"linewidth": 1.1},
            crossbar_props={"color": BLACK, "linewidth": 3},
            color_palette={name: method_colour(name) for name in names},
            text_h_margin=0.15,
        )
        ax.set_title("Average rank (1 is best)", fontsize=10, color=GREY)
        ax.tick_params(colors=GREY)
        ax.spines["top"].set_color(GREY)
        self.ax_, self.figure_ = ax, ax.figure
        return self
