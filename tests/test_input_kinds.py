"""Which kind of input goes with which kernel."""

import pytest

from spanforest._forest_input import ForestInput
from spanforest._input_kinds import input_for, kind_of_input, kinds_of_inputs
from spanforest._inputs import KernelInput, LinearInput, PrecomputedInput
from spanforest._several_inputs import SumInput
from spanforest.kernels import KERNELS, ForestKernel, KernelSpec, SumKernel

OTHERS = {
    "cosine": LinearInput,
    "forest": ForestInput,
    "linear": LinearInput,
    "precomputed": PrecomputedInput,
}


@pytest.mark.parametrize("name", sorted({*KERNELS, *OTHERS}))
def test_every_name_has_its_kind(name):
    assert kind_of_input(name) is OTHERS.get(name, KernelInput)


@pytest.mark.parametrize(
    ("kernel", "kind"), [(ForestKernel(5), ForestInput), (max, KernelInput)]
)
def test_objects_have_their_kind(kernel, kind):
    assert kind_of_input(kernel) is kind
    assert type(input_for(KernelSpec(kernel), normalize=False)) is kind


def test_lists_and_sums_have_the_kinds_of_their_kernels():
    kernel = SumKernel(["rbf", "forest"])
    assert kinds_of_inputs([kernel, "linear"]) == [
        *(KernelInput, ForestInput),
        LinearInput,
    ]
    kernel = SumKernel(["linear", "cosine", "forest"])
    given = input_for(KernelSpec(kernel), normalize=False)
    assert type(given) is SumInput
    # linear kernels of a sum make a matrix
    assert [type(one) for one in given.singles] == [
        *(KernelInput, KernelInput),
        ForestInput,
    ]
