"""Options of train: their choices are those of the library."""

import pytest

from spanforest.aggregation import AGGREGATIONS
from spanforest.cli import _options, _train_options
from spanforest.graphs import FROM_LABELS, GENERATORS
from spanforest.kernels import KERNEL_NAMES
from spanforest.losses import LOSSES


def test_the_choices_are_those_of_the_library():
    assert set(_train_options.GRAPHS) == {*GENERATORS, *FROM_LABELS}
    assert {*_train_options.KernelName} | {"precomputed"} == set(KERNEL_NAMES)
    assert {*_train_options.Loss} == set(LOSSES)
    assert {*_options.Aggregation} == set(AGGREGATIONS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("rbf", [["rbf"]]),
        ("rbf, forest", [["rbf"], ["forest"]]),
        ("linear,rbf + forest", [["linear"], ["rbf", "forest"]]),
    ],
)
def test_commas_separate_the_kernels_of_members_and_plus_signs_add(text, names):
    assert _train_options.kernel_names(text) == names
