"""Comparison of methods over many data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spanforest.plots._style import BLACK, GREY, Display, method_colour, optional


class CriticalDifferenceDisplay(Display):
    """Average ranks of methods; bars join methods whose difference may be chance.

    `scikit_posthocs.critical_difference_diagram` draws it, in the style of Demšar
    (2006).

    Parameters
    ----------
    methods : sequence of str
        Names to show.
    average_ranks : array-like of shape (n_methods,)
        Rank of each method, averaged over the data sets; 1 is best.
    p_values : array-like of shape (n_methods, n_methods)
        p-value of each pair of methods, corrected for the number of pairs.
    alpha : float, default=0.05
        A bar joins methods whose pairs all have a p-value of at least `alpha`.
    critical_difference : float, optional
        Distance of average ranks from which a pair differs; a bar above the axis
        shows it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the diagram is, once drawn.
    figure_ : matplotlib Figure
        The figure around it.
    bars_ : list of matplotlib Line2D
        The bars that join methods.

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
        critical_difference: float | None = None,
    ) -> None:
        self.methods = list(methods)
        self.average_ranks = np.asarray(average_ranks, dtype=float)
        self.p_values = np.asarray(p_values, dtype=float)
        self.alpha = alpha
        self.critical_difference = critical_difference
        n = len(self.methods)
        shapes = (self.average_ranks.shape, self.p_values.shape)
        if len(set(self.methods)) < n or shapes != ((n,), (n, n)):
            raise ValueError(
                f"one rank per method and one p-value per pair are needed, under "
                f"different names; got {n} names, ranks of shape {shapes[0]} and "
                f"p-values of shape {shapes[1]}."
            )

    @property
    def groups(self) -> list[list[str]]:
        """Largest groups of methods in which no pair differs, best ranks first.

        Examples
        --------
        >>> from spanforest.plots import CriticalDifferenceDisplay
        >>> p_values = [[1.0, 0.3, 0.01], [0.3, 1.0, 0.2], [0.01, 0.2, 1.0]]
        >>> CriticalDifferenceDisplay("abc", [2.8, 2.0, 1.2], p_values).groups
        [['c', 'b'], ['b', 'a']]
        """
        networkx = optional("networkx")
        order = np.argsort(self.average_ranks, kind="stable")
        alike = networkx.from_numpy_array(
            self.p_values[np.ix_(order, order)] >= self.alpha
        )
        cliques = sorted(map(sorted, networkx.find_cliques(alike)))
        names = [self.methods[s] for s in order]
        return [[names[s] for s in clique] for clique in cliques if len(clique) > 1]

    @property
    def _size(self) -> tuple[float, float]:
        return 7.0, 1.2 + 0.32 * ((len(self.methods) + 1) // 2)

    def _draw(self, ax: Any) -> None:
        """Draw the diagram."""
        posthocs = optional("scikit_posthocs", extra="paper")
        pandas = optional("pandas", extra="paper")
        names = self.methods
        drawn = posthocs.critical_difference_diagram(
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
        if self.critical_difference is not None:
            self._draw_critical_difference(ax, self.critical_difference)
        self.bars_ = [line for [line] in drawn["crossbars"]]
        for bar in self.bars_:  # its points come from a set, in any order
            bar.set_xdata(np.sort(bar.get_xdata()))

    def _draw_critical_difference(self, ax: Any, difference: float) -> None:
        """Draw a bar as long as the difference above the numbers of the axis."""
        transforms = optional("matplotlib.transforms")
        upwards = transforms.ScaledTranslation(0, 30 / 72, ax.figure.dpi_scale_trans)
        style = {"color": GREY, "transform": ax.transData + upwards, "clip_on": False}
        best = self.average_ranks.min()
        ends = [best, best + difference]
        ax.set_xlim(right=max(ax.get_xlim()[1], ends[1]))
        ax.plot(ends, [0, 0], marker="|", markersize=7, linewidth=1.1, **style)
        text = f"critical difference {difference:.2f}\n"
        ax.text(best, 0, text, linespacing=0.8, va="bottom", **style)
