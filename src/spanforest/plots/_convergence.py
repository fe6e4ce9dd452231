"""How training closed the duality gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spanforest._parameters import check_option
from spanforest.diagnostics import final_step
from spanforest.plots._style import BLACK, BLUE, Display, optional, tidy


class DualityGapDisplay(Display):
    """Relative duality gap after every pass over the training data.

    Make it with `from_estimator`, or from numbers.

    Parameters
    ----------
    relative_gaps : sequence of array-like
        Per member, the gap after every pass, divided by the final dual objective.
    tol : float
        The gap at which training stops.
    seconds : sequence of array-like, optional
        Per member, the time of every gap. With times, the x axis is the time since
        the first pass. The first pass itself is left out because it may include
        compilation.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curves are, once drawn.
    figure_ : matplotlib Figure
        The figure around them.

    Examples
    --------
    >>> from spanforest.plots import DualityGapDisplay
    >>> display = DualityGapDisplay([[0.5, 0.05, 0.009], [0.6, 0.01]], tol=0.01)
    >>> display.plot().ax_.get_xlabel()
    'Passes over the data'
    """

    def __init__(
        self,
        relative_gaps: Sequence[ArrayLike],
        tol: float,
        seconds: Sequence[ArrayLike] | None = None,
    ) -> None:
        self.relative_gaps = [np.asarray(gaps, dtype=float) for gaps in relative_gaps]
        self.tol = tol
        self.seconds = None
        if seconds is not None:
            times = [np.asarray(of_member, dtype=float) for of_member in seconds]
            self.seconds = times
            sizes = [len(gaps) for gaps in self.relative_gaps]
            given = [len(of_member) for of_member in times]
            if sizes != given:
                raise ValueError(
                    f"seconds must hold one array per member with one time per gap, "
                    f"of lengths {sizes}; got {given}."
                )

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        against: str = "passes",
        ax: Any = None,
    ) -> Self:
        """Draw the gaps of a fitted model.

        Parameters
        ----------
        model : MMCRFClassifier or RandomGraphEnsembleClassifier
            Fitted; also as the last step of a pipeline, or inside a search.
        against : {"passes", "seconds"}, default="passes"
            Unit of the x axis.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DualityGapDisplay
            With the figure drawn.

        Examples
        --------
        >>> from spanforest import MMCRFClassifier
        >>> from spanforest.datasets import make_circle
        >>> from spanforest.plots import DualityGapDisplay
        >>> model = MMCRFClassifier(tol=0.1, random_state=0)
        >>> model = model.fit(*make_circle(60, random_state=0))
        >>> display = DualityGapDisplay.from_estimator(model)
        >>> len(display.relative_gaps), bool(display.relative_gaps[0][-1] <= 0.1)
        (1, True)
        """
        check_option("against", against, ("passes", "seconds"))
        model, _ = final_step(model)
        histories, seconds = model.gap_history_, model.gap_seconds_
        if not isinstance(histories, list):
            histories, seconds = [histories], [seconds]
        objectives = np.atleast_1d(model.dual_objective_)
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = [
                history / objective
                for history, objective in zip(histories, objectives, strict=True)
            ]
        times = seconds if against == "seconds" else None
        return cls(gaps, model.tol, times).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        """Draw the curves, and the tolerance as a line."""
        n_members = len(self.relative_gaps)
        many = n_members > 1
        style = {"color": BLUE, "linewidth": 0.9, "alpha": 0.5 if many else 1.0}
        label = f"{n_members} members" if many else "model"
        for t, gaps in enumerate(self.relative_gaps):
            progress = np.arange(1, len(gaps) + 1.0)
            if self.seconds is not None:
                progress = self.seconds[t] - self.seconds[t][:1]
            shown = np.where(gaps > 0, gaps, np.nan)  # no logarithm of zero
            ax.plot(progress, shown, label=label if t == 0 else None, **style)
            ax.plot(progress[-1:], shown[-1:], "o", markersize=3, **style)
        dashed = {"color": BLACK, "linestyle": (0, (4, 3)), "linewidth": 1.0}
        ax.axhline(self.tol, label=f"tolerance {100 * self.tol:g} %", **dashed)
        ax.set_yscale("log")
        tidy(ax)
        ticker = optional("matplotlib.ticker")
        ax.yaxis.set_major_formatter(lambda gap, _: f"{100 * gap:g} %")
        ax.yaxis.set_minor_formatter(ticker.NullFormatter())
        xlabel = "Seconds after the first pass"
        if self.seconds is None:
            xlabel = "Passes over the data"
            ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        ax.set(xlabel=xlabel, ylabel="Duality gap / dual objective")
        ax.legend(frameon=False)
