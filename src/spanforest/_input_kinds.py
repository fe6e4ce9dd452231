"""Which kind of input goes with which kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spanforest._forest_input import ForestInput
from spanforest._inputs import (
    Input,
    KernelInput,
    LinearInput,
    PrecomputedInput,
    Resources,
)
from spanforest._several_inputs import SeveralInputs, SumInput
from spanforest.kernels import ForestKernel, KernelSpec, SumKernel
from spanforest.kernels._sum import is_kernel_list


def kinds_of_inputs(kernel: Any) -> list[type[Input]]:
    """Return the kinds of input of all kernels in lists and sums, or of a single one.

    Examples
    --------
    >>> [kind.__name__ for kind in kinds_of_inputs(["rbf", SumKernel(["forest"])])]
    ['KernelInput', 'ForestInput']
    """
    inside = kernel.kernels if isinstance(kernel, SumKernel) else kernel
    if is_kernel_list(inside):
        return [kind for one in inside for kind in kinds_of_inputs(one)]
    return [kind_of_input(kernel)]


def kind_of_input(kernel: Any) -> type[Input]:
    """Return the kind of input that goes with a single kernel.

    Examples
    --------
    >>> kind_of_input("rbf").__name__, kind_of_input("precomputed").__name__
    ('KernelInput', 'PrecomputedInput')
    """
    if isinstance(kernel, ForestKernel):
        return ForestInput
    if isinstance(kernel, str):
        kinds = {
            "cosine": LinearInput,
            "forest": ForestInput,
            "linear": LinearInput,
            "precomputed": PrecomputedInput,
        }
        return kinds.get(kernel, KernelInput)
    return KernelInput


def is_linear(kernel: Any) -> bool:
    """Return whether a kernel is trained on features, at a cost linear in examples.

    Examples
    --------
    >>> is_linear("cosine"), is_linear("rbf"), is_linear(SumKernel(["linear"]))
    (True, False, False)
    """
    return kind_of_input(kernel) is LinearInput


def input_for(
    spec: KernelSpec, normalize: bool, resources: Resources | None = None
) -> Input:
    """Return the input of a kernel, not yet fitted.

    Examples
    --------
    >>> import numpy as np
    >>> given = input_for(KernelSpec("linear"), normalize=True)
    >>> Y = np.zeros((1, 1), dtype=np.int32)
    >>> given.fit(np.array([[3.0, 4.0]]), Y).rows.tolist()
    [[0.6, 0.8]]
    """
    resources = resources or Resources()
    if isinstance(spec.name, SumKernel):
        return _sum_input(spec, normalize, resources)
    return kind_of_input(spec.name)(spec, normalize, resources)


def several_inputs(
    specs: Sequence[KernelSpec], normalize: bool, resources: Resources
) -> SeveralInputs:
    """Return the input of an ensemble whose members differ in kernel.

    Examples
    --------
    >>> specs = [KernelSpec("rbf"), KernelSpec("linear")]
    >>> given = several_inputs(specs, False, Resources())
    >>> type(given.of_member(3)).__name__
    'LinearInput'
    """
    return SeveralInputs(
        [
            input_for(spec, normalize, resources.at(number))
            for number, spec in enumerate(specs)
        ]
    )


def _sum_input(spec: KernelSpec, normalize: bool, resources: Resources) -> SumInput:
    """Return the input of a sum, for which the linear kernel needs a matrix too."""
    terms = []
    for number, term in enumerate(spec.terms):
        kind = kind_of_input(term.name)
        kind = KernelInput if kind is LinearInput else kind
        terms.append(kind(term, normalize, resources.at(number)))
    return SumInput(spec, terms)
