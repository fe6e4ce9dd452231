"""The command ``spanforest train``."""

import csv
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spanforest._whole_files import check_target, is_stream
from spanforest._wording import count
from spanforest.cli import _train_options as options
from spanforest.cli._data import Request, read_training_data
from spanforest.cli._options import (
    Aggregation,
    DataArgument,
    DataHomeOption,
    DecimalOption,
    DelimiterOption,
    DropOption,
    EncodingOption,
    FormatOption,
    LabelsOption,
    MaxMemoryOption,
    bad_option,
)
from spanforest.cli._output import echo, if_stopped, percent
from spanforest.cli._preprocessing import preprocessing
from spanforest.cli._train_options import (
    GRAPHS,
    NOT_RANDOM,
    KernelName,
    Loss,
    Missing,
    Scaling,
    TrainingMode,
    kernel_names,
)

if TYPE_CHECKING:
    from spanforest.datasets import Dataset

EXAMPLE = "spanforest train songs.csv --labels happy,sad,calm -o songs.spanforest"

_LABELS_SHOWN = 5


@if_stopped("nothing was written.")
def train(
    data: DataArgument,
    output: options.ModelFileOption,
    labels: LabelsOption = None,
    drop: DropOption = None,
    format: FormatOption = None,
    data_home: DataHomeOption = None,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    max_memory: MaxMemoryOption = None,
    scale: options.ScaleOption = Scaling.auto,
    missing: options.MissingOption = Missing.refuse,
    kernel: options.KernelOption = None,
    gamma: options.GammaOption = None,
    degree: options.DegreeOption = 3,
    normalize: options.NormalizeOption = False,
    C: options.COption = 1,
    trees: options.TreesOption = None,
    aggregation: options.AggregationOption = Aggregation.mam,
    training: options.TrainingOption = TrainingMode.separate,
    graph: options.GraphOption = "random_tree",
    loss: options.LossOption = Loss.edge,
    class_weight: options.ClassWeightOption = None,
    tol: options.TolOption = 0.05,
    max_iter: options.MaxIterOption = 100,
    jobs: options.JobsOption = None,
    seed: options.SeedOption = 0,
) -> None:
    """Train an ensemble on a file and save it.

    The model file stores the names of labels and features and how the features were
    scaled, so that predict and evaluate need nothing else.
    """
    if training is TrainingMode.joint and aggregation is not Aggregation.mam:
        raise bad_option(
            f"{aggregation.value} needs members that are trained apart. Leave it out, "
            "or leave out --training joint.",
            "--aggregation",
        )
    parameters = {
        "aggregation": aggregation.value,
        "training": training.value,
        "gamma": gamma,
        "degree": degree,
        "normalize_kernel": normalize,
        "C": C,
        "loss": loss.value,
        "class_weight": None if class_weight is None else class_weight.value,
        "tol": tol,
        "max_iter": max_iter,
        "n_jobs": jobs,
        "random_state": seed,
    }
    request = Request(
        *(data, labels, drop, format, data_home),
        *(delimiter, decimal, encoding, max_memory),
    )
    _train(Training(request, output, scale, missing, kernel, graph, trees, parameters))


class Training(NamedTuple):
    """The options of a training, sorted by who needs them."""

    request: Request
    output: Path
    scale: Scaling
    missing: Missing
    kernel: str | None
    graph: str  # the name of a generator, or a file
    n_trees: int | None
    parameters: dict[str, Any]  # passed to the classifier as they are


def _train(training: Training) -> None:
    from spanforest._compilation import clock
    from spanforest.ensemble import RandomGraphEnsembleClassifier
    from spanforest.persistence import save

    output, data = training.output, training.request.data
    _check_model_file(output, data, training.graph)
    graph = _read_graph(training.graph)
    is_random = isinstance(graph, str) and graph not in NOT_RANDOM
    names = chain.from_iterable(kernel_names(training.kernel or ""))
    takes_gaps = set(names) == {KernelName.forest}
    dataset = read_training_data(
        training.request,
        fills_gaps=takes_gaps or training.missing is not Missing.refuse,
    )
    kernel = _choose_kernel(dataset, training.kernel)
    scaling = _choose_scaling(dataset, training.scale)
    classifier = RandomGraphEnsembleClassifier(
        n_estimators=training.n_trees or (30 if is_random else 1),
        graph=graph,
        kernel=kernel,
        scaling=scaling,
        verbose=1,
        **training.parameters,
    )
    steps = preprocessing(dataset, training.missing)
    start = clock()
    model = fit(dataset, steps, classifier)
    seconds = clock() - start
    save(model, output)
    echo(f"{output}: {_summary(classifier, dataset, seconds)}")
    echo(_label_summary(dataset))
    if dataset.categories:
        echo(_category_summary(dataset))
    if n_missing := int(dataset.missing_labels.sum()):
        echo(
            f"{n_missing} of {dataset.Y.size} labels are missing in {data}; training "
            "ignored them."
        )


def _check_model_file(output: Path, *inputs: str) -> None:
    check_target(output, *inputs)
    if is_stream(output):
        raise bad_option(
            f"{output} is not an ordinary file, so no model can be read from it.",
            "--output",
        )


def _summary(classifier: Any, dataset: "Dataset", seconds: float) -> str:
    from spanforest.diagnostics import relative_gaps

    gap = float(relative_gaps(classifier).max())
    return (
        f"{count(classifier.n_estimators, 'graph')} over "
        f"{count(dataset.n_labels, 'label')}, trained on "
        f"{count(dataset.n_samples, 'example')} in {seconds:.1f} s; duality gap at "
        f"most {percent(gap)} of the dual objective."
    )


def _label_summary(dataset: "Dataset") -> str:
    """Return how many labels there are, how often they are on, and the first names.

    Whoever takes the wrong columns for labels sees it here.
    """
    n_known = (~dataset.missing_labels).sum(axis=0)
    shares = dataset.is_on.sum(axis=0) / n_known.clip(min=1)
    first = [
        f"{name} ({percent(float(share))})"
        for name, share in zip(dataset.label_names, shares, strict=True)
    ][:_LABELS_SHOWN]
    rest = ", ..." if dataset.n_labels > _LABELS_SHOWN else ""
    return (
        f"{count(dataset.n_labels, 'label')}, {shares.sum():.2f} of them on in an "
        f"average example: {', '.join(first)}{rest}"
    )


def _category_summary(dataset: "Dataset") -> str:
    """Return which features of text were encoded."""
    first = [
        f"{name} ({len(texts)})"
        for name, texts in islice(dataset.categories.items(), _LABELS_SHOWN)
    ]
    rest = ", ..." if len(dataset.categories) > _LABELS_SHOWN else ""
    return (
        f"{count(len(dataset.categories), 'feature')} of text, encoded by its "
        f"categories (so many): {', '.join(first)}{rest}"
    )


def fit(dataset: "Dataset", steps: list[tuple[str, Any]], classifier: Any) -> Any:
    """Fit a pipeline that stores the names of features and labels."""
    import pandas
    from scipy import sparse
    from sklearn.pipeline import Pipeline

    from spanforest.cli._model import named_matrix
    from spanforest.diagnostics import keep_summary

    X = dataset.K if dataset.X is None else dataset.X
    names = tuple(map(str, dataset.feature_names)) or None
    labels = pandas.DataFrame(_known_labels(dataset), columns=list(dataset.label_names))
    model = Pipeline([*steps, ("classifier", classifier)])
    inputs = named_matrix(X, names)
    model.fit(inputs, labels)
    classifier.set_params(verbose=0)
    # scikit-learn stores neither the names of sparse features, nor what codes stand
    # for, nor the training examples, of which `inspect` and `report` need a summary
    if sparse.issparse(X) and names is not None:
        model.sparse_feature_names_ = names
    if dataset.categories:
        model.feature_categories_ = {
            name: list(texts) for name, texts in dataset.categories.items()
        }
    keep_summary(model, inputs, labels)
    return model


def _known_labels(dataset: "Dataset") -> Any:
    """Return labels as integers and None, not as floats and NaN.

    Predictions are of the same type.
    """
    missing = dataset.missing_labels
    if dataset.Y.dtype.kind != "f" or not missing.any():
        return dataset.Y
    Y = dataset.Y.astype(object)
    Y[~missing] = dataset.Y[~missing].astype(int)
    Y[missing] = None
    return Y


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
        problem = f"found {', '.join(wrong[0])}" if wrong else "it is empty"
        raise ValueError(
            f"{graph}: expected the names of two labels in every line, separated by a "
            f"comma; {problem}."
        )
    return edges


def _choose_kernel(dataset: "Dataset", kernel: str | None) -> Any:
    if dataset.X is not None and kernel is not None:
        return _read_kernel(kernel)
    if dataset.X is not None:
        # data sets have "linear" unless something else is known about them
        return "auto" if dataset.kernel == "linear" else dataset.kernel
    if kernel is not None:
        raise bad_option(
            f"{dataset.name} has a kernel matrix and no features; leave it out.",
            "--kernel",
        )
    return "precomputed"


def _read_kernel(text: str) -> Any:
    """Return a kernel, a sum of kernels, or a list of these for the members."""
    from spanforest.kernels import SumKernel

    kernels: list[Any] = [
        SumKernel(names) if len(names) > 1 else names[0] for names in kernel_names(text)
    ]
    return kernels if len(kernels) > 1 else kernels[0]


def _choose_scaling(dataset: "Dataset", scale: Scaling) -> str | None:
    if dataset.X is None and scale in (Scaling.standard, Scaling.max_abs):
        raise bad_option(
            f"{dataset.name} has a kernel matrix and no features.", "--scale"
        )
    return None if scale is Scaling.none else scale.value
