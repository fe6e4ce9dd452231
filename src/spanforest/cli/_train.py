"""The command ``spanforest train``."""

import sys
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanforest._whole_files import check_target, is_stream
from spanforest._wording import count
from spanforest.cli import _train_options as options
from spanforest.cli._data import Request, read_training_data
from spanforest.cli._ensembles import Wanted, make_ensemble, read_graph
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
from spanforest.cli._preprocessing import categories_that_occur, preprocessing
from spanforest.cli._train_options import Missing, Scaling, TrainingMode

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
    measure: options.MeasureOption = None,
    time_limit: options.TimeLimitOption = None,
    scale: options.ScaleOption = Scaling.auto,
    missing: options.MissingOption = None,
    trees: options.TreesOption = None,
    aggregation: options.AggregationOption = Aggregation.mam,
    training: options.TrainingOption = TrainingMode.auto,
    graph: options.GraphOption = None,
    class_weight: options.ClassWeightOption = None,
    probability: options.ProbabilityOption = False,
    kernel: options.KernelOption = None,
    gamma: options.GammaOption = None,
    degree: options.DegreeOption = None,
    C: options.COption = None,
    loss: options.LossOption = None,
    normalize: options.NormalizeOption = False,
    tol: options.TolOption = 0.05,
    max_iter: options.MaxIterOption = None,
    jobs: options.JobsOption = None,
    seed: options.SeedOption = 0,
) -> None:
    """Train an ensemble on a file and save it.

    By default it tunes: it compares kernels, values of C, losses, offsets and
    thresholds on folds of DATA, and trains an ensemble with the best of them. With
    --kernel, --gamma, --degree, --C or --loss it trains a plain ensemble at once,
    without tuning.

    The model file stores the names of labels and features and how the features were
    scaled, so that predict and evaluate need nothing else.
    """
    is_joint = training in (TrainingMode.joint, TrainingMode.both)
    if is_joint and aggregation is not Aggregation.mam:
        raise bad_option(
            f"{aggregation.value} needs members that are trained apart. Leave it out, "
            f"or leave out --training {training.value}.",
            "--aggregation",
        )
    tries_both = training is TrainingMode.both
    parameters = {
        "aggregation": aggregation.value,
        "training": ("separate", "joint") if tries_both else training.value,
        "normalize_kernel": normalize,
        "class_weight": None if class_weight is None else class_weight.value,
        "probability": probability,
        "tol": tol,
        "n_jobs": jobs,
        "random_state": seed,
    }
    if max_iter is not None:
        parameters["max_iter"] = max_iter
    plain = {
        "--kernel": kernel,
        "--gamma": gamma,
        "--degree": degree,
        "--C": C,
        "--loss": None if loss is None else loss.value,
    }
    search = {
        "--measure": measure,
        "--time-limit": time_limit,
        "--training both": tries_both or None,
    }
    wanted = Wanted(plain, search, graph, trees, scale, parameters)
    wanted.check()
    request = Request(
        *(data, labels, drop, format, data_home),
        *(delimiter, decimal, encoding, max_memory),
    )
    _train(request, output, missing, wanted)


def _train(
    request: Request, output: Path, missing: Missing | None, wanted: Wanted
) -> None:
    from spanforest._compilation import clock
    from spanforest.persistence import save

    _check_model_file(output, request.data, wanted.graph)
    graph = read_graph(wanted.graph)
    fill_with = None if missing in (None, Missing.refuse) else str(missing)
    dataset = read_training_data(
        request,
        fills_gaps=fill_with is not None,
        keeps_gaps=missing is None and wanted.accepts_gaps,
    )
    classifier = make_ensemble(dataset, wanted, graph)
    steps = preprocessing(dataset, fill_with, takes_categories=wanted.is_tuned)
    start = clock()
    model = fit(dataset, steps, classifier)
    seconds = clock() - start
    save(model, output)
    echo(f"{output}: {_summary(classifier, dataset, seconds)}")
    if wanted.is_tuned and not (sys.stdout.isatty() and sys.stderr.isatty()):
        # on a terminal, tuning has written this line to the standard error output
        echo(f"chosen: {classifier.chosen_}")
    echo(_label_summary(dataset))
    if dataset.categories:
        echo(_category_summary(dataset))
    if n_missing := int(dataset.missing_labels.sum()):
        echo(
            f"{n_missing} of {dataset.Y.size} labels are missing in {request.data}; "
            "training ignored them."
        )


def _check_model_file(output: Path, *inputs: str | None) -> None:
    check_target(output, *filter(None, inputs))
    if is_stream(output):
        raise bad_option(
            f"{output} is not an ordinary file, so no model can be read from it.",
            "--output",
        )


def _summary(classifier: Any, dataset: "Dataset", seconds: float) -> str:
    from spanforest.diagnostics import relative_gaps

    gap = float(relative_gaps(classifier).max())
    is_tuned = hasattr(classifier, "chosen_")
    return (
        f"{count(classifier.n_estimators, 'graph')} over "
        f"{count(dataset.n_labels, 'label')}, {'tuned and ' * is_tuned}trained on "
        f"{count(dataset.n_samples, 'example')} in {seconds:.1f} s; duality gap at "
        f"most {percent(gap)} of the dual objective."
    )


def _label_summary(dataset: "Dataset") -> str:
    """Return how many labels there are, how often they are on, and the first names.

    Of a label with more than two values it says how many. Whoever takes the wrong
    columns for labels sees it here.
    """
    n_known = (~dataset.missing_labels).sum(axis=0)
    shares = dataset.is_on.sum(axis=0) / n_known.clip(min=1)
    n_values = dataset.n_values.tolist()
    first = [
        f"{name} ({percent(float(share)) if n <= 2 else count(n, 'value')})"
        for name, share, n in zip(dataset.label_names, shares, n_values, strict=True)
    ][:_LABELS_SHOWN]
    rest = ", ..." if dataset.n_labels > _LABELS_SHOWN else ""
    how_many = count(dataset.n_labels, "label")
    if max(n_values, default=0) <= 2:
        how_many += f", {shares.sum():.2f} of them on in an average example"
    return f"{how_many}: {', '.join(first)}{rest}"


def _category_summary(dataset: "Dataset") -> str:
    """Return which features of text were encoded."""
    occurring = categories_that_occur(dataset)
    first = [
        f"{name} ({len(texts)})"
        for name, texts in islice(occurring.items(), _LABELS_SHOWN)
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
    from spanforest.diagnostics import final_step, keep_summary

    X = dataset.K if dataset.X is None else dataset.X
    names = tuple(map(str, dataset.feature_names)) or None
    labels = pandas.DataFrame(_known_labels(dataset), columns=list(dataset.label_names))
    for name in dataset.boolean_labels:  # predictions are true and false too
        labels[name] = labels[name].map(bool, na_action="ignore")
    model = Pipeline([*steps, ("classifier", classifier)])
    nominal: Any = dataset.nominal_features
    nominal = () if nominal is None else nominal
    columns = list(compress(names or (), nominal))
    texts = {
        name: own for name, own in dataset.categories.items() if name in set(columns)
    }
    inputs = named_matrix(X, names, texts)
    if columns and "nominal" not in dict(steps):
        inputs = inputs.astype(dict.fromkeys(columns, "category"))
    for name in texts:  # a file may declare values that no example has
        inputs[name] = inputs[name].cat.remove_unused_categories()
    model.fit(inputs, labels)
    for fitted in (classifier, final_step(classifier)[0]):
        fitted.set_params(verbose=0)
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
