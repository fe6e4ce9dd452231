"""Forests in model files: indices that would lead out of their arrays are refused."""

import numpy as np
import pytest
from model_files import X, Y, assert_not_built, mmcrf

from spanforest.kernels import ForestKernel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.spanforest"


# --- forest kernels -------------------------------------------------------------------


def leaf_map_with(name, value):
    def change(fitted):
        getattr(fitted.leaf_map, name)[0] = value

    return change


def fewer_leaves_than_trees_have(fitted):
    fitted.members = fitted.members[:-1]


def members_outside(fitted):
    fitted.members.indices[0] = 10**6


@pytest.mark.parametrize(
    "change",
    [
        leaf_map_with("left", 0),  # its own child: an endless walk
        leaf_map_with("right", 10**6),
        leaf_map_with("feature", 10**6),
        leaf_map_with("root", -1),
        fewer_leaves_than_trees_have,
        members_outside,
    ],
)
def test_a_forest_kernel_with_wrong_indices_is_refused(change, path):
    model = mmcrf(kernel=ForestKernel(3)).fit(X, Y)
    change(model._input)
    assert_not_built(model, path, "")


# --- probabilities of a forest --------------------------------------------------------


def values_of_fewer_examples(shares):
    object.__setattr__(shares, "targets", shares.targets[:-1])


def more_values_than_cells(shares):
    shares.n_values[0] += 1


def no_value(shares):
    shares.n_values[:2] = 0, 4


def leaves_elsewhere(shares):
    shares.forest.leaf_map.root[0] = -1


def values_as_a_plain_array(shares):
    object.__setattr__(shares, "targets", shares.targets.toarray())


def negative_weights(shares):
    shares.targets.data[0] = -1.0


def unknown_weights(shares):
    shares.targets.data[0] = np.nan


def no_forest(shares):
    object.__setattr__(shares, "forest", None)


@pytest.mark.parametrize(
    "change",
    [
        values_of_fewer_examples,
        more_values_than_cells,
        no_value,
        leaves_elsewhere,
        values_as_a_plain_array,
        negative_weights,
        unknown_weights,
        no_forest,
    ],
)
def test_shares_that_do_not_fit_their_forest_are_refused(change, path):
    model = mmcrf(probability=ForestKernel(3)).fit(X, Y)
    change(model._leaf_shares)
    assert_not_built(model, path, "")


def test_shares_that_are_none_are_refused(path):
    model = mmcrf(probability=ForestKernel(3)).fit(X, Y)
    model._leaf_shares = [1]
    assert_not_built(model, path, "have no forest")
