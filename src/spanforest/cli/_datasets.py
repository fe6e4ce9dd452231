"""The command ``spanforest datasets``."""

from typing import TYPE_CHECKING, Annotated

import typer

from spanforest.cli._options import DataHomeOption, JsonOption
from spanforest.cli._output import echo, percent, print_json, print_table

if TYPE_CHECKING:
    from spanforest.datasets import Dataset, KnownDataset

EXAMPLE = "spanforest datasets circle10"


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A data set to show in detail."),
    ] = None,
    data_home: DataHomeOption = None,
    json: JsonOption = False,
) -> None:
    """List the data sets that can be used by name.

    The list shows their sizes, the average number of labels of an example, and their
    source: generated, a file, OpenML, or a page where their files can be found. With
    NAME, that data set is loaded and its label frequencies are shown.
    """
    from spanforest.datasets import list_datasets, load_dataset

    if name is not None:
        _show(load_dataset(name, data_home), json)
        return
    known = list_datasets(data_home)
    if json:
        print_json([dataset._asdict() for dataset in known])
    else:
        header = ("name", "examples", "features", "labels", "cardinality", "source")
        print_table(header, [_row(dataset) for dataset in known])


def _row(known: "KnownDataset") -> tuple[str, ...]:
    return (
        known.name,
        str(known.n_samples),
        str(known.n_features) if known.n_features else "-",  # a kernel matrix
        str(known.n_labels),
        f"{known.cardinality:.2f}",
        known.source or f"not found; see {known.home}",
    )


def _show(dataset: "Dataset", as_json: bool) -> None:
    sizes = ("n_samples", "n_features", "n_labels", "cardinality", "density")
    names = dataset.label_names or tuple(map(str, range(dataset.n_labels)))
    counts = dataset.is_on.sum(axis=0).tolist()
    if as_json:
        labels = [
            {"name": name, "n_positive": n_positive}
            for name, n_positive in zip(names, counts, strict=True)
        ]
        facts = {key: getattr(dataset, key) for key in ("name", *sizes, "note")}
        print_json({**facts, "labels": labels})
        return
    inputs = f"{dataset.n_features} features" if dataset.n_features else "kernel matrix"
    rows = [
        ("examples", str(dataset.n_samples)),
        ("inputs", inputs),
        ("labels", str(dataset.n_labels)),
        ("cardinality", f"{dataset.cardinality:.3f}"),
        ("density", f"{dataset.density:.3f}"),
    ]
    if dataset.note:
        rows.append(("note", dataset.note))
    print_table(("", ""), rows, dataset.name)
    echo()
    shares = [
        (label, str(count), percent(count / dataset.n_samples))
        for label, count in zip(names, counts, strict=True)
    ]
    print_table(("label", "examples", "share"), shares)
