"""The options of ``spanforest train`` that other commands do not have."""

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from spanforest._wording import quoted
from spanforest.cli._options import Aggregation, positive

# The names of graphs, kernels and losses are copies: importing the modules that define
# them would slow down ``--help`` by seconds. A test compares the copies.
GRAPHS = (
    *("random_tree", "uniform_tree", "recursive_tree", "random_pairing"),
    *("informed_tree", "chow_liu", "independent"),
)
NOT_RANDOM = ("chow_liu", "independent")
# What tuning may be for. Scorers of scikit-learn that need probabilities, or a single
# column, are not among them.
MEASURES = (
    *("mean", "multilabel_accuracy", "microlabel_accuracy", "microlabel_f1"),
    *("accuracy", "neg_hamming_loss"),
    *("f1_micro", "f1_macro", "f1_samples", "f1_weighted"),
    *("jaccard_micro", "jaccard_macro", "jaccard_samples", "jaccard_weighted"),
    *("precision_micro", "precision_macro", "precision_samples", "precision_weighted"),
    *("recall_micro", "recall_macro", "recall_samples", "recall_weighted"),
)


class KernelName(StrEnum):
    """Kernels between examples."""

    linear = "linear"
    poly = "poly"
    rbf = "rbf"
    laplacian = "laplacian"
    tanimoto = "tanimoto"
    cosine = "cosine"
    forest = "forest"


# Options of some kernels only.
OF_KERNELS = {
    "--gamma": (KernelName.rbf, KernelName.laplacian, KernelName.poly),
    "--degree": (KernelName.poly,),
}


class Loss(StrEnum):
    """What counts as an error in training."""

    edge = "edge"
    hamming = "hamming"


class TrainingMode(StrEnum):
    """Whether every graph has a model of its own, or tuning tries both ways."""

    auto = "auto"
    separate = "separate"
    joint = "joint"
    both = "both"


class ClassWeight(StrEnum):
    """How much wrong labels count in training."""

    balanced = "balanced"


class Scaling(StrEnum):
    """How the features are scaled."""

    auto = "auto"
    standard = "standard"
    max_abs = "max_abs"
    none = "none"


class Missing(StrEnum):
    """How missing values of features are treated."""

    refuse = "refuse"
    mean = "mean"
    median = "median"


def kernel_names(text: str) -> list[list[str]]:
    """Return the kernels of the members in turn, each with the names that it adds up.

    Examples
    --------
    >>> kernel_names("linear,rbf+forest")
    [['linear'], ['rbf', 'forest']]
    """
    return [
        [name.strip() for name in one.split("+")] for one in text.strip().split(",")
    ]


def _known_kernels(text: str | None) -> str | None:
    if text is None:
        return None
    names = chain.from_iterable(kernel_names(text))
    unknown = [name for name in names if name not in {*KernelName}]
    if unknown:
        known = ", ".join(repr(str(name)) for name in KernelName)
        raise typer.BadParameter(
            f"{quoted(unknown[0])} is not one of {known}. Separate several kernels by "
            "commas, or add them up with +."
        )
    return text


def _known_measure(name: str | None) -> str | None:
    if name is None or name in MEASURES:
        return name
    raise typer.BadParameter(f"{quoted(name)} is not one of {', '.join(MEASURES)}.")


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
MeasureOption = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE",
        callback=_known_measure,
        help="What tuning chooses for: multilabel_accuracy (whole label sets), "
        "microlabel_accuracy (single labels), microlabel_f1, their mean, or a scorer "
        "of scikit-learn, such as f1_macro or jaccard_samples. By default mean.",
        show_default=False,
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        callback=positive,
        help="Seconds that tuning and training should take: kernels that are not "
        "expected to end in time are not tried. One always is. By default there is no "
        "limit.",
        show_default=False,
    ),
]
ScaleOption = Annotated[
    Scaling,
    typer.Option(
        help="How to scale the features. standard: to mean 0 and standard deviation 1. "
        "max_abs: by the largest absolute value. auto: standard for features with few "
        "zeros, max_abs for words, bits and counts; with a linear kernel, examples "
        "then get an average length of 1; no scaling for tanimoto and forest. none: "
        "not at all.",
    ),
]
MissingOption = Annotated[
    Missing | None,
    typer.Option(
        help="Refuse missing values of features, or fill them in. By default tuning "
        "accepts them and tries forests only, and so does --kernel forest; other "
        "kernels refuse them.",
        show_default=False,
    ),
]
KernelOption = Annotated[
    str | None,
    typer.Option(
        metavar="KERNEL",
        callback=_known_kernels,
        help=f"The kernel of a plain ensemble: {', '.join(KernelName)}. forest is "
        "learned from the examples and their labels. With commas, as in rbf,forest, "
        "members take the kernels in turn; rbf+forest is the sum of two kernels. By "
        "default, if another option asks for a plain ensemble, rbf for tables of at "
        "most 5000 examples, linear for more and for words, bits and counts, or the "
        "one that suits a known data set. If DATA has a kernel matrix, that one is "
        "used.",
        show_default=False,
    ),
]
GammaOption = Annotated[
    float | None,
    typer.Option(
        callback=positive,
        help="Parameter of rbf, laplacian and poly in a plain ensemble; above 0. By "
        "default, for rbf, one over the median squared distance between examples; for "
        "laplacian, half of one over the median sum of absolute differences; for poly, "
        "one over the number of features.",
        show_default=False,
    ),
]
DegreeOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Degree of --kernel poly. By default 3.",
        show_default=False,
    ),
]
NormalizeOption = Annotated[
    bool,
    typer.Option(help="Scale every example to unit length in feature space."),
]
COption = Annotated[
    float | None,
    typer.Option(
        "--C",
        callback=positive,
        help="Weight of the training errors in a plain ensemble; above 0. By default "
        "1.",
        show_default=False,
    ),
]
TreesOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of members. By default 20 after tuning and 30 in a plain "
        "ensemble; 1 if the graphs are not random.",
        show_default=False,
    ),
]
AggregationOption = Annotated[
    Aggregation, typer.Option(help="How the members are combined.")
]
TrainingOption = Annotated[
    TrainingMode,
    typer.Option(
        help="separate: a model for every graph. joint: one model on the union of the "
        "graphs; a few graphs (--trees 5) then suffice. both: tuning tries both with "
        "every kernel. auto: separate, but tuning also tries the best kernel jointly, "
        "with few labels and examples.",
    ),
]
GraphOption = Annotated[
    str | None,
    typer.Option(
        metavar="GRAPH",
        help=f"How to draw the members' graphs: {', '.join(GRAPHS)}. Or a CSV file "
        "with an edge, the names of two labels, in every line. By default "
        "informed_tree after tuning and random_tree in a plain ensemble.",
        show_default=False,
    ),
]
LossOption = Annotated[
    Loss | None,
    typer.Option(
        help="Errors that a plain ensemble counts: wrong edges, as in the paper, or "
        "wrong labels. By default edge.",
        show_default=False,
    ),
]
ClassWeightOption = Annotated[
    ClassWeight | None,
    typer.Option(
        help="balanced: an error on a rare value of a label counts more, an error on a "
        "frequent one less. Rare labels are then predicted more often. By default all "
        "errors count the same.",
        show_default=False,
    ),
]
ProbabilityOption = Annotated[
    bool,
    typer.Option(
        "--probability",
        help="Also learn the probabilities of labels, on five folds; 'report' shows "
        "them, and Python has them as predict_proba.",
    ),
]
TolOption = Annotated[
    float,
    typer.Option(
        callback=positive,
        help="Stop at this duality gap, relative to the dual objective.",
    ),
]
MaxIterOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Maximum number of passes over the data; 1000 if tuned, else 100.",
        show_default=False,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        callback=_not_zero,
        help="Members trained at the same time; -1 for one per core.",
        show_default=False,
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(min=0, help="Seed of the graphs and of the order of examples."),
]
