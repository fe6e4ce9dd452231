"""The options of ``spanforest train`` that other commands do not have."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from spanforest.cli._options import Aggregation, positive

# The names are written out because importing the modules that know them takes seconds;
# tests compare.
GRAPHS = (
    *("random_tree", "uniform_tree", "recursive_tree", "random_pairing"),
    *("informed_tree", "chow_liu", "independent"),
)
NOT_RANDOM = ("chow_liu", "independent")


class Kernel(StrEnum):
    """Kernels between examples."""

    linear = "linear"
    poly = "poly"
    rbf = "rbf"
    tanimoto = "tanimoto"
    cosine = "cosine"


class Loss(StrEnum):
    """What counts as an error in training."""

    edge = "edge"
    hamming = "hamming"


class Scale(StrEnum):
    """What is done to the features first."""

    unit = "unit"
    standard = "standard"
    minmax = "minmax"
    tfidf = "tfidf"
    none = "none"


class Missing(StrEnum):
    """What is done about missing values of features."""

    refuse = "refuse"
    mean = "mean"
    median = "median"


def _not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("it must be 1 or more, or -1 for all cores; got 0.")
    return jobs


ModelFileOption = Annotated[
    Path,
    typer.Option(
        "-o", "--output", metavar="MODEL", help="The file to write the model to."
    ),
]
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        help="standard: every feature gets mean 0 and deviation 1. unit: the same, "
        "a constant is added, and every example gets unit length. minmax: features "
        "range from 0 to 1. tfidf: they are counts of words, to be weighted. none: "
        "they stay as they are. Sparse features are not shifted. By default unit "
        "for the linear kernel, standard for rbf, poly and cosine, none for "
        "tanimoto; tfidf for data sets known to be text.",
        show_default=False,
    ),
]
MissingOption = Annotated[
    Missing, typer.Option(help="What to do about missing values of features.")
]
KernelOption = Annotated[
    Kernel | None,
    typer.Option(
        help="By default linear, or what suits a known data set. If DATA has a "
        "kernel matrix, that one is used.",
        show_default=False,
    ),
]
GammaOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Scale of rbf and poly. By default, for rbf, one over the median of "
        "the squared distances between examples; for poly, over the number of "
        "features.",
        show_default=False,
    ),
]
DegreeOption = Annotated[int, typer.Option(min=1, help="Degree of poly.")]
NormalizeOption = Annotated[
    bool,
    typer.Option(help="Scale every example to unit length in feature space."),
]
COption = Annotated[
    float,
    typer.Option(
        "--C", callback=positive, help="Weight of the training errors; above 0."
    ),
]
TreesOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of members. By default 50, or 1 if their graphs are not drawn "
        "at random.",
        show_default=False,
    ),
]
AggregationOption = Annotated[
    Aggregation, typer.Option(help="How the members are combined.")
]
GraphOption = Annotated[
    str,
    typer.Option(
        metavar="GRAPH",
        help=f"How the members' graphs are drawn: {', '.join(GRAPHS)}. Or a CSV "
        "file with the names of two labels, an edge, in every line.",
    ),
]
LossOption = Annotated[
    Loss, typer.Option(help="Count wrong edges, as in the paper, or wrong labels.")
]
TolOption = Annotated[
    float,
    typer.Option(
        callback=positive,
        help="Stop at this duality gap, relative to the dual objective.",
    ),
]
MaxIterOption = Annotated[int, typer.Option(min=1, help="Most passes over the data.")]
JobsOption = Annotated[
    int | None,
    typer.Option(
        callback=_not_zero,
        help="Members trained at the same time; -1 for one per core.",
        show_default=False,
    ),
]
SeedOption = Annotated[
    int, typer.Option(min=0, help="Draws the graphs and the order of examples.")
]
