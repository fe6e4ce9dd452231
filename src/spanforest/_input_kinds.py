"""Which kind of input goes with which kernel."""

from __future__ import annotations

from typing import Any

from spanforest._forest_input import ForestInput
from spanforest._inputs import (
    Input,
    KernelInput,
    LinearInput,
    PrecomputedInput,
    Resources,
)
from spanforest.kernels import ForestKernel, KernelSpec


def kind_of_input(kernel: Any) -> type[Input]:
    """Return the kind of input that goes with a kernel.

    Examples
    --------
    >>> kind_of_input("rbf").__name__, kind_of_input("precomputed").__name__
    ('KernelInput', 'PrecomputedInput')
    """
    if isinstance(kernel, ForestKernel):
        return ForestInput
    if isinstance(kernel, str):
        kinds = {
            "forest": ForestInput,
            "linear": LinearInput,
            "precomputed": PrecomputedInput,
        }
        return kinds.get(kernel, KernelInput)
    return KernelInput


def input_for(
    spec: KernelSpec, normalize: bool, resources: Resources | None = None
) -> Input:
    """Return the input of a kernel, not yet fitted.

    Examples
    --------
    >>> import numpy as np
    >>> given = input_for(KernelSpec("linear"), normalize=True)
    >>> given.fit(np.array([[3.0, 4.0]]), np.zeros((1, 1), dtype=np.int32)).X.tolist()
    [[0.6, 0.8]]
    """
    return kind_of_input(spec.name)(spec, normalize, resources or Resources())
