"""The kernels that a search tries, with their parameters."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from spanforest._classifier import is_auto
from spanforest._copies import put_together
from spanforest._inputs import KernelInput
from spanforest._leaf_shares import check_probability
from spanforest._member_choices import check_member_kernels
from spanforest._parameters import check_count, check_number
from spanforest._weights import WeightedLabels
from spanforest._wording import quoted
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel, KernelSpec
from spanforest.kernels._registry import kernel_specs, takes_params
from spanforest.kernels._sum import is_kernel_list
from spanforest.tuning._candidates import (
    GAMMAS,
    Menu,
    as_list,
    check_alone,
    forest_of_probabilities,
    kernels_for,
)
from spanforest.tuning._examples import Examples


def read_menu(
    kernels: Any, template: RandomGraphEnsembleClassifier, examples: Examples
) -> Menu:
    """Return the kernels that were named, or those that suit the examples.

    Examples that some kernel cannot learn from are refused here, before the search,
    which may see only some of them.
    """
    if not is_auto(kernels):
        menu = Menu(as_list("kernels", kernels), is_open=False)
        check_alone(menu.kernels)
        n_estimators = check_count("n_estimators", template.n_estimators)
        for kernel in menu.kernels:
            check_member_kernels(kernel, n_estimators)
            _read(template, kernel, examples)
        return menu
    reader, X = _read(template, "forest", examples)
    menu = kernels_for(X)
    if menu.has_gaps:  # other kernels refuse NaN, also in rows that do not count
        return menu
    targets = reader._read_targets(X, examples.y, examples.sample_weight)
    return kernels_for(_that_count(X, targets)[0])


def read_kernels(
    menu: Menu,
    gammas: Any,
    template: RandomGraphEnsembleClassifier,
    examples: Examples,
) -> tuple[list[dict[str, Any]], WeightedLabels]:
    """Return the parameters of every kernel, and the labels and weights.

    Scales of kernels are multiples, `gammas`, of one that is derived from the examples.
    """
    kernels = menu.kernels
    scaled = [
        kernel
        for kernel in kernels
        if not is_kernel_list(kernel) and KernelSpec(kernel).has_gamma
    ]
    if gammas is not None and not (scaled or menu.is_open):
        raise ValueError(
            "gammas are scales of kernels that have one, such as 'rbf'; kernels are "
            f"{', '.join(map(quoted, kernels))}. Leave gammas at None, or add such a "
            "kernel."
        )
    reader = clone(template)
    reader.set_params(kernel=[*scaled, kernels[0]][0], kernel_params=None)
    X = reader._read_examples(examples.X, reset=True)
    targets = reader._read_targets(X, examples.y, examples.sample_weight)
    multiples = sorted(
        {
            check_number("each of gammas", gamma)
            for gamma in as_list("gammas", GAMMAS if gammas is None else gammas)
        }
    )
    once = _that_count(X, targets) if scaled else None
    params: list[dict[str, Any]] = []
    for kernel in kernels:
        own = {"kernel": kernel}
        if any(map(takes_params, kernels)) and not takes_params(kernel):
            own["kernel_params"] = None  # they are meant for the callable
        kernel_params = own.get("kernel_params", template.kernel_params)
        inside = kernel if is_kernel_list(kernel) else [kernel]
        # refuses unknown names and wrong parameters of all kernels
        degree, coef0 = template.degree, template.coef0
        spec, *_ = kernel_specs(inside, None, degree, coef0, kernel_params)
        if once is None or is_kernel_list(kernel) or not spec.has_gamma:
            params.append(own)
            continue
        unit = _unit_gamma(spec, template.scaling, *once)
        params += [{**own, "gamma": multiple * unit} for multiple in multiples]
    return params, targets


def read_probabilities(probability: Any, menu: Menu) -> list[Any]:
    """Return the probabilities that thresholds are tried on: True or a forest each.

    Examples
    --------
    >>> read_probabilities(False, Menu(["linear", "rbf"]))
    [True, ForestKernel(kind='random', min_samples_leaf=2)]
    >>> read_probabilities(ForestKernel(50), Menu(["linear"], is_open=False))
    [ForestKernel(n_estimators=50)]
    """
    check_probability(probability, is_pairwise="precomputed" in menu.kernels)
    if isinstance(probability, ForestKernel):
        return [probability]
    return [True, forest_of_probabilities()] if menu.is_open else [True]


def _read(
    template: RandomGraphEnsembleClassifier, kernel: Any, examples: Examples
) -> tuple[RandomGraphEnsembleClassifier, Any]:
    """Return an ensemble with this kernel, and the examples as it reads them."""
    reader = clone(template).set_params(kernel=kernel)
    if not takes_params(kernel):
        reader.set_params(kernel_params=None)  # they are meant for a callable
    X = reader._read_examples(examples.X, reset=True)
    reader._input.check(X)
    return reader, X


def _unit_gamma(
    spec: KernelSpec, scaling: Any, X: Any, targets: WeightedLabels
) -> float:
    """Return the scale at which a typical size of scaled examples becomes 1."""
    given = KernelInput(spec, normalize=False)
    given.learn_scaling(scaling, X, targets.sample_weight)
    return spec.unit_gamma(given.scaled(X), targets.sample_weight)


def _that_count(X: Any, targets: WeightedLabels) -> tuple[Any, WeightedLabels]:
    """Return the examples that count, each once, with their labels and weights."""
    X = X if targets.rows is None else X[targets.rows]
    X, targets, _ = put_together(X, targets)
    return X, targets
