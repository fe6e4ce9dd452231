"""The public object for sums of kernels."""

import pytest
from sklearn.base import clone

from spanforest.kernels import ForestKernel, KernelSpec, SumKernel
from spanforest.kernels._sum import check_kernels


def test_weights_are_divided_by_their_sum():
    assert SumKernel(["linear", "rbf", "poly"], [1, 2, 1]).shares == [0.25, 0.5, 0.25]
    assert SumKernel(("linear", "rbf")).shares == [0.5, 0.5]
    assert SumKernel(("linear", "rbf"), (1e308, 1e308)).shares == [0.5, 0.5]


def test_sums_are_equal_if_kernels_and_weights_are():
    kernel = SumKernel(["rbf", ForestKernel(5)], [1, 2])
    assert kernel == SumKernel(("rbf", ForestKernel(5)), (1, 2))
    assert kernel == clone(kernel)
    assert kernel != SumKernel(["rbf", ForestKernel(6)], [1, 2])
    assert kernel != SumKernel(["rbf", ForestKernel(5)])
    assert kernel != "rbf"


def test_it_prints_as_it_was_made():
    kernel = SumKernel(["rbf", ForestKernel(5)])
    assert eval(repr(kernel)) == kernel


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (SumKernel("rbf"), "the kernels of a SumKernel must be a list"),
        (SumKernel([]), "the kernels of a SumKernel must be a list"),
        (SumKernel(["rbf", SumKernel(["rbf"])]), "cannot be part of a SumKernel"),
        (SumKernel(["rbf", ["rbf"]]), "flat list"),
        (SumKernel(["rbf"], [1, 2]), "one number per kernel, here 1"),
        (SumKernel(["rbf"], 2.0), "one number per kernel, here 1"),
        (SumKernel(["rbf", "linear"], [1, 0]), "weights of a SumKernel must be a num"),
        (SumKernel(["rbf", "linear"], [1, float("nan")]), "weights of a SumKernel"),
    ],
)
def test_bad_parameters_are_refused_with_a_reason(kernel, message):
    with pytest.raises(ValueError, match=message):
        KernelSpec(kernel)


def test_a_sum_has_no_values_before_it_is_fitted():
    with pytest.raises(ValueError, match="Pass them to a classifier"):
        KernelSpec(SumKernel(["rbf"])).matrix([[1.0]])


def test_a_sum_may_be_one_of_several_kernels():
    check_kernels(["linear", SumKernel(["rbf"])], "kernel")
