"""The command ``spanforest train``."""

import csv
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanforest._files import is_stream
from spanforest.cli._data import Request, read_training_data
from spanforest.cli._options import (
    Aggregation,
    DataArgument,
    DataHomeOption,
    DropOption,
    FormatOption,
    LabelsOption,
    bad_option,
    positive,
)
from spanforest.cli._output import check_target, count, if_stopped, percent

if TYPE_CHECKING:
    from spanforest.datasets import Dataset

EXAMPLE = "spanforest train songs.csv --labels happy,sad,calm -o songs.spanforest"

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


# What suits a kernel. Linear training on features of any size takes hundreds of passes,
# on examples of unit length twenty; gamma = 1 / number of features is for the others.
_DEFAULT_SCALES = {
    "linear": Scale.unit,
    "rbf": Scale.standard,
    "poly": Scale.standard,
    "cosine": Scale.standard,
    "tanimoto": Scale.none,
    "precomputed": Scale.none,
}


class Missing(StrEnum):
    """What is done about missing values of features."""

    refuse = "refuse"
    mean = "mean"
    median = "median"


def _not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("it must be 1 or more, or -1 for all cores; got 0.")
    return jobs


@if_stopped("nothing was written.")
def train(
    data: DataArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="MODEL", help="The file to write the model to."
        ),
    ],
    labels: LabelsOption = None,
    drop: DropOption = None,
    format: FormatOption = None,
    data_home: DataHomeOption = None,
    scale: Annotated[
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
    ] = None,
    missing: Annotated[
        Missing, typer.Option(help="What to do about missing values of features.")
    ] = Missing.refuse,
    kernel: Annotated[
        Kernel | None,
        typer.Option(
            help="By default linear, or what suits a known data set. If DATA has a "
            "kernel matrix, that one is used.",
            show_default=False,
        ),
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Scale of rbf and poly; by default 1 / number of features.",
            show_default=False,
        ),
    ] = None,
    degree: Annotated[int, typer.Option(min=1, help="Degree of poly.")] = 3,
    normalize: Annotated[
        bool,
        typer.Option(help="Scale every example to unit length in feature space."),
    ] = False,
    C: Annotated[
        float,
        typer.Option(
            "--C", callback=positive, help="Weight of the training errors; above 0."
        ),
    ] = 1,
    trees: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of members. By default 50, or 1 if their graphs are not drawn "
            "at random.",
            show_default=False,
        ),
    ] = None,
    aggregation: Annotated[
        Aggregation, typer.Option(help="How the members are combined.")
    ] = Aggregation.mam,
    graph: Annotated[
        str,
        typer.Option(
            metavar="GRAPH",
            help=f"How the members' graphs are drawn: {', '.join(GRAPHS)}. Or a CSV "
            "file with the names of two labels, an edge, in every line.",
        ),
    ] = "random_tree",
    loss: Annotated[
        Loss, typer.Option(help="Count wrong edges, as in the paper, or wrong labels.")
    ] = Loss.edge,
    tol: Annotated[
        float,
        typer.Option(
            callback=positive,
            help="Stop at this duality gap, relative to the dual objective.",
        ),
    ] = 0.01,
    max_iter: Annotated[
        int, typer.Option(min=1, help="Most passes over the data.")
    ] = 100,
    jobs: Annotated[
        int | None,
        typer.Option(
            callback=_not_zero,
            help="Members trained at the same time; -1 for one per core.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Draws the graphs and the order of examples.")
    ] = 0,
) -> None:
    """Train an ensemble on a file and save it.

    The model file remembers the names of labels and features and how the features were
    scaled, so that predict and evaluate need nothing else.
    """
    from spanforest.diagnostics import relative_gaps
    from spanforest.ensemble import RandomGraphEnsembleClassifier
    from spanforest.persistence import save

    check_target(output, data, str(graph))
    if is_stream(output):
        raise bad_option(
            f"{output} is not an ordinary file, from which a model could be read.",
            "--output",
        )
    graph_spec = _read_graph(graph)
    is_random = isinstance(graph_spec, str) and graph_spec not in NOT_RANDOM
    dataset = read_training_data(
        Request(data, labels, drop, format, data_home),
        fills_gaps=missing is not Missing.refuse,
    )
    kernel_name = _choose_kernel(dataset, kernel)
    classifier = RandomGraphEnsembleClassifier(
        n_estimators=trees or (50 if is_random else 1),
        aggregation=aggregation.value,
        graph=graph_spec,
        kernel=kernel_name,
        gamma=gamma,
        degree=degree,
        normalize_kernel=normalize,
        C=C,
        loss=loss.value,
        tol=tol,
        max_iter=max_iter,
        random_state=seed,
        verbose=1,
        n_jobs=jobs,
    )
    steps = _preprocessing(dataset, _choose_scale(dataset, scale, kernel_name), missing)
    start = time.perf_counter()
    model = fit(dataset, steps, classifier)
    seconds = time.perf_counter() - start
    save(model, output)
    gap = float(relative_gaps(classifier).max())
    typer.echo(
        f"{output}: {count(classifier.n_estimators, 'graph')} over "
        f"{count(dataset.n_labels, 'label')}, learnt from "
        f"{count(dataset.n_samples, 'example')} in {seconds:.1f} s; duality gap at "
        f"most {percent(gap)} of the dual objective."
    )


def fit(dataset: "Dataset", steps: list[tuple[str, Any]], classifier: Any) -> Any:
    """Fit a pipeline that remembers the names of features and labels."""
    import pandas
    from scipy import sparse
    from sklearn.pipeline import Pipeline

    from spanforest.cli._model import named_matrix
    from spanforest.diagnostics import keep_summary

    X = dataset.K if dataset.X is None else dataset.X
    names = tuple(map(str, dataset.feature_names)) or None
    labels = pandas.DataFrame(dataset.Y, columns=list(dataset.label_names))
    model = Pipeline([*steps, ("classifier", classifier)])
    inputs = named_matrix(X, names)
    model.fit(inputs, labels)
    classifier.set_params(verbose=0)
    # scikit-learn keeps neither the names of sparse features nor the examples, which
    # `inspect` and `report` would need
    if sparse.issparse(X) and names is not None:
        model.sparse_feature_names_ = names
    keep_summary(model, inputs, labels)
    return model


def _read_graph(graph: str) -> str | list[list[str]]:
    """Return the name of a generator, or the edges in a file."""
    if graph in GRAPHS:
        return graph
    if not Path(graph).is_file():
        raise bad_option(
            f"expected one of {', '.join(GRAPHS)}, or a file; got {graph!r}.", "--graph"
        )
    with open(graph, encoding="utf-8-sig", newline="") as file:
        edges = [
            [name.strip() for name in row]
            for row in csv.reader(file, skipinitialspace=True)
            if row
        ]
    wrong = [row for row in edges if len(row) != 2]
    if wrong or not edges:
        found = f"found {', '.join(wrong[0])}" if wrong else "it is empty"
        raise ValueError(
            f"{graph}: expected the names of two labels in every line, with a comma "
            f"between them; {found}."
        )
    return edges


def _choose_kernel(dataset: "Dataset", kernel: Kernel | None) -> str:
    if dataset.X is not None:
        return dataset.kernel if kernel is None else kernel.value
    if kernel is not None:
        raise bad_option(
            f"{dataset.name} has a kernel matrix and no features; leave it out.",
            "--kernel",
        )
    return "precomputed"


def _choose_scale(dataset: "Dataset", scale: Scale | None, kernel: str) -> Scale:
    if scale is None:
        return Scale.tfidf if dataset.is_text else _DEFAULT_SCALES[kernel]
    if dataset.X is None and scale is not Scale.none:
        raise bad_option(
            f"{dataset.name} has a kernel matrix and no features.", "--scale"
        )
    return scale


def _preprocessing(
    dataset: "Dataset", scale: Scale, missing: Missing
) -> list[tuple[str, Any]]:
    """Return the steps before the classifier, not fitted."""
    from scipy import sparse
    from sklearn.impute import SimpleImputer

    if dataset.X is None:
        return []
    is_sparse = sparse.issparse(dataset.X)
    steps: list[tuple[str, Any]] = []
    nominal = dataset.nominal_features
    if nominal is not None and nominal.any():
        steps.append(("nominal", _one_hot(nominal, is_sparse)))
    if missing is not Missing.refuse:
        imputer = SimpleImputer(strategy=missing.value, keep_empty_features=True)
        steps.append(("missing", imputer))
    return steps + _scalers(scale, is_sparse)


def _scalers(scale: Scale, is_sparse: bool) -> list[tuple[str, Any]]:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import (
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        PolynomialFeatures,
        StandardScaler,
    )

    standard = ("scale", StandardScaler(with_mean=not is_sparse))
    # without a constant, unit length would hide how far few features are from the mean
    even: list[tuple[str, Any]] = [standard, ("constant", PolynomialFeatures(1))]
    if (
        is_sparse
    ):  # a rare feature deviates little: divided by that, such ones would rule
        even = [("scale", MaxAbsScaler())]
    return {
        Scale.unit: [*even, ("unit", Normalizer())],
        Scale.standard: [standard],
        Scale.minmax: [("scale", MaxAbsScaler() if is_sparse else MinMaxScaler())],
        Scale.tfidf: [("scale", TfidfTransformer())],
        Scale.none: [],
    }[scale]


def _one_hot(nominal: Any, is_sparse: bool) -> Any:
    """Return the step that gives every value of a nominal feature a column."""
    import numpy as np
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    return ColumnTransformer(
        [
            (
                "one_hot",
                OneHotEncoder(handle_unknown="ignore"),
                np.flatnonzero(nominal).tolist(),
            )
        ],
        remainder="passthrough",
        sparse_threshold=1.0 if is_sparse else 0.0,
    )
