"""The ensemble that ``train`` fits: tuned, or plain if parameters of it are given."""

import csv
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spanforest._wording import quoted
from spanforest.cli._options import bad_option
from spanforest.cli._train_options import (
    GRAPHS,
    NOT_RANDOM,
    OF_KERNELS,
    KernelName,
    Scaling,
    kernel_names,
)

if TYPE_CHECKING:
    from spanforest.datasets import Dataset

_PLAIN_TREES = 30


class Wanted(NamedTuple):
    """The options that describe the ensemble; None for those that were not given."""

    plain: dict[str, Any]  # parameters that tuning would choose, by their options
    search: dict[str, Any]  # of tuning, by their options
    graph: str | None  # the name of a generator, or a file
    n_trees: int | None
    scale: Scaling
    parameters: dict[str, Any]  # of every ensemble, passed to it as they are

    @property
    def is_tuned(self) -> bool:
        """Whether tuning chooses kernel, C, loss, and offset or threshold."""
        return all(value is None for value in self.plain.values())

    @property
    def accepts_gaps(self) -> bool:
        """Whether missing features are taken as they are: forests do so."""
        kernel = self.plain["--kernel"]
        names = set(chain.from_iterable(kernel_names(kernel or "")))
        return self.is_tuned or names == {KernelName.forest}

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.is_tuned:
            return
        if kernel := self.plain["--kernel"]:
            self.check_kernel(list(chain.from_iterable(kernel_names(kernel))))
        given = [option for option, value in self.plain.items() if value is not None]
        plain = " and ".join(given)
        for option, value in self.search.items():
            if value is not None:
                raise bad_option(
                    f"it is for tuning, and there is no tuning with {plain}. Leave out "
                    f"{option} to train a plain ensemble, or {plain} to tune.",
                    option,
                )

    def check_kernel(self, names: list[str]) -> None:
        """Refuse options that none of these kernels has."""
        for option, kernels in OF_KERNELS.items():
            if self.plain[option] is None or set(names) & set(kernels):
                continue
            another = f", or use --kernel {kernels[0]}"
            if names == ["precomputed"]:
                another = ": it cannot change a kernel matrix"
            raise bad_option(
                f"it is for {' or '.join(kernels)}, and the kernel is "
                f"{' and '.join(names)}. Leave it out{another}.",
                option,
            )


def read_graph(graph: str | None) -> str | list[list[str]] | None:
    """Return the name of a generator, or the edges in a file."""
    if graph is None or graph in GRAPHS:
        return graph
    if not Path(graph).is_file():
        raise bad_option(
            f"expected one of {', '.join(GRAPHS)}, or a file; got {quoted(graph)}.",
            "--graph",
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


def make_ensemble(dataset: "Dataset", wanted: Wanted, graph: Any) -> Any:
    """Return the classifier for a data set, not fitted; `graph` is None by default."""
    parameters = {
        **wanted.parameters,
        "scaling": _choose_scaling(dataset, wanted.scale),
        "verbose": 1,
    }
    if wanted.n_trees is not None:
        parameters["n_estimators"] = wanted.n_trees
    elif isinstance(graph, list) or graph in NOT_RANDOM:
        parameters["n_estimators"] = 1
    if graph is not None:
        parameters["graph"] = graph
    make = _tuned if wanted.is_tuned else _plain
    return make(dataset, wanted, parameters)


def _tuned(dataset: "Dataset", wanted: Wanted, parameters: dict[str, Any]) -> Any:
    from spanforest.tuning import RandomGraphEnsembleClassifierCV

    kernels: Any = "auto"
    if dataset.X is None:
        kernels = "precomputed"
    elif dataset.kernel != "linear":  # it is known to suit these features
        kernels = [dataset.kernel, "forest"]
    return RandomGraphEnsembleClassifierCV(
        kernels=kernels,
        scoring=wanted.search["--measure"] or "mean",
        time_limit=wanted.search["--time-limit"],
        **parameters,
    )


def _plain(dataset: "Dataset", wanted: Wanted, parameters: dict[str, Any]) -> Any:
    from spanforest.ensemble import RandomGraphEnsembleClassifier

    given = {
        option.removeprefix("--"): value
        for option, value in wanted.plain.items()
        if value is not None and option != "--kernel"
    }
    if parameters["training"] == "auto":
        parameters = {**parameters, "training": "separate"}
    defaults = {"n_estimators": _PLAIN_TREES}
    kernel = _choose_kernel(dataset, wanted.plain["--kernel"])
    if wanted.plain["--kernel"] is None:
        wanted.check_kernel([_foreseen(dataset, kernel)])
    return RandomGraphEnsembleClassifier(
        kernel=kernel, **{**defaults, **parameters, **given}
    )


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


def _foreseen(dataset: "Dataset", kernel: str) -> str:
    """Return which kernel "auto" will be.

    With columns of categories, which become indicators, it may be Gaussian, and counts
    as such.
    """
    from spanforest._scaling import kernel_for

    if kernel != "auto":
        return kernel
    nominal = dataset.nominal_features
    has_categories = nominal is not None and bool(nominal.any())
    return "rbf" if has_categories else kernel_for(dataset.X)


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
