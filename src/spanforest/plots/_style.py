"""What all figures share: colours, axes, labels of axes and optional imports.

The colours are those of Okabe and Ito. People with any common kind of colour blindness
can tell them apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, Self

from spanforest.metrics import MEASURES

BLACK, GREY, LIGHT_GREY = "#222222", "#666666", "#d9d9d9"
ORANGE, SKY, GREEN = "#e69f00", "#56b4e9", "#009e73"
BLUE, VERMILION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"

_METHOD_COLOURS = {"mve": GREEN, "amm": BLUE, "mam": VERMILION}
# for readers who cannot tell the colours apart
_METHOD_DASHES = {"mve": (0, (1, 1.3)), "amm": (0, (6, 1.5, 1.2, 1.5))}


def method_colour(method: str) -> str:
    """Return the colour a method has in every figure.

    Parameters
    ----------
    method : str
        For example ``"mam"``; case does not matter. Each aggregation of the ensemble
        has its own colour. All other methods are grey.

    Returns
    -------
    str
        A colour in hexadecimal notation.

    Examples
    --------
    >>> from spanforest.plots import method_colour
    >>> method_colour("MAM") == method_colour("mam") != method_colour("amm")
    True
    """
    return _METHOD_COLOURS.get(method.lower(), GREY)


def method_dashes(method: str) -> Any:
    """Return the style of line that the curve of a method has, as matplotlib takes it.

    Examples
    --------
    >>> method_dashes("mam"), method_dashes("AMM")
    ('solid', (0, (6, 1.5, 1.2, 1.5)))
    """
    return _METHOD_DASHES.get(method.lower(), "solid")


def measure_label(measure: str) -> str:
    """Return the label of an axis that shows a measure in per cent."""
    if measure in MEASURES:
        return f"{MEASURES[measure].title} (%)"
    return f"{measure.replace('_', ' ').capitalize()} (%)"


def optional(module: str, extra: str = "plot") -> Any:
    """Import a module of an extra; if it is missing, name the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise ImportError(
            f"{package} is needed here, but it is not installed. Install it with "
            f'pip install "spanforest[{extra}]".'
        ) from error


def axes_for(ax: Any, width: float = 6.0, height: float = 4.0) -> Any:
    """Return `ax`, or the axes of a new figure of this size in inches."""
    if ax is not None:
        return ax
    pyplot = optional("matplotlib.pyplot")
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


class Display(ABC):
    """Base of figures that keep their numbers: a subclass draws them in `_draw`."""

    ax_: Any
    figure_: Any

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Display
            Itself; the axes are `ax_`, the figure is `figure_`.
        """
        ax = axes_for(ax, *self._size)
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 6.0, 4.0

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw the numbers on `ax`."""


def tidy(ax: Any, grid: str = "y") -> None:
    """Draw a thin light grid behind the data; hide the top and right of the frame."""
    ax.grid(axis=grid, color=LIGHT_GREY, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY)


def count_from_one(ax: Any, largest: int) -> None:
    """Make the x axis run from one to `largest`, with whole numbers as ticks."""
    if largest == 1:
        ax.set(xlim=(0.5, 1.5), xticks=[1])
        return
    ticker = optional("matplotlib.ticker")
    whole = ticker.MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10])
    ax.set_xlim(1, largest)
    ax.xaxis.set_major_locator(whole)
