"""What all figures share: colours, axes, number formats, and how extras are asked for.

The colours are those of Okabe and Ito, which people with any of the common kinds of
colour blindness can tell apart.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

BLACK, GREY, LIGHT_GREY = "#222222", "#666666", "#d9d9d9"
ORANGE, SKY, GREEN = "#e69f00", "#56b4e9", "#009e73"
BLUE, VERMILION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"

_METHOD_COLOURS = {"mve": GREEN, "amm": BLUE, "mam": VERMILION}
_MEASURE_NAMES = {
    "microlabel_accuracy": "Microlabel accuracy",
    "multilabel_accuracy": "Multilabel accuracy",
    "microlabel_f1": "Microlabel F1",
}


def method_colour(method: str) -> str:
    """Return the colour a method has in every figure.

    Parameters
    ----------
    method : str
        Such as ``"mam"``; upper and lower case do not matter. The aggregations of the
        ensemble have colours of their own, all other methods are grey.

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


def measure_label(measure: str) -> str:
    """Return what stands at the axis of a measure that is shown in per cent."""
    name = _MEASURE_NAMES.get(measure, measure.replace("_", " ").capitalize())
    return f"{name} (%)"


def optional(module: str, extra: str = "plot") -> Any:
    """Import a module that comes with an extra, or say which one to install."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise ImportError(
            f"this figure needs {package}, which is not installed. Install it with "
            f'pip install "spanforest[{extra}]".'
        ) from error


def axes_for(ax: Any, width: float = 6.0, height: float = 4.0) -> Any:
    """Return `ax`, or the axes of a new figure of this size in inches."""
    if ax is not None:
        return ax
    pyplot = optional("matplotlib.pyplot")
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


def tidy(ax: Any, grid: str = "y") -> None:
    """Give axes a thin light grid behind the data, and no frame on the far sides."""
    ax.grid(axis=grid, color=LIGHT_GREY, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY)


def count_from_one(ax: Any, largest: int) -> None:
    """Let the x axis count from one to `largest`, in whole numbers."""
    if largest == 1:
        ax.set(xlim=(0.5, 1.5), xticks=[1])
        return
    ticker = optional("matplotlib.ticker")
    whole = ticker.MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10])
    ax.set_xlim(1, largest)
    ax.xaxis.set_major_locator(whole)
