"""Which kind of input goes with which kernel."""

import pytest

from spanforest._forest_input import ForestInput
from spanforest._input_kinds import input_for, kind_of_input
from spanforest._inputs import KernelInput, LinearInput, PrecomputedInput
from spanforest.kernels import KERNELS, ForestKernel, KernelSpec

OTHERS = {"linear": LinearInput, "precomputed": PrecomputedInput, "forest": ForestInput}


@pytest.mark.parametrize("name", sorted({*KERNELS, *OTHERS}))
def test_every_name_has_its_kind(name):
    assert kind_of_input(name) is OTHERS.get(name, KernelInput)


@pytest.mark.parametrize(
    ("kernel", "kind"), [(ForestKernel(5), ForestInput), (max, KernelInput)]
)
def test_objects_have_their_kind(kernel, kind):
    assert kind_of_input(kernel) is kind
    assert type(input_for(KernelSpec(kernel), normalize=False)) is kind
