"""Options of train: their choices are those of the library."""

import re

import numpy as np
import pytest
from sklearn.metrics import get_scorer_names

from spanforest._weights import read_targets
from spanforest.aggregation import AGGREGATIONS
from spanforest.cli import _options, _train_options
from spanforest.graphs import FROM_LABELS, GENERATORS
from spanforest.kernels import KERNEL_NAMES
from spanforest.losses import LOSSES
from spanforest.tuning._scoring import SCORINGS, Judge


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


def accepts(measure, targets):
    try:
        Judge.of(measure, targets)
    except ValueError:
        return False
    return True


def test_the_measures_are_those_that_compare_label_sets():
    """Of scikit-learn's, all but those of numbers, which know nothing of labels."""
    Y = np.random.default_rng(0).integers(0, 2, (20, 3))
    targets = read_targets(20, Y, None, None, None)
    known = {name for name in get_scorer_names() if accepts(name, targets)}
    of_numbers = re.compile("neg_(mean|median|root)_|r2|d2_|explained_variance")
    known = {name for name in known if not of_numbers.match(name)}
    assert set(_train_options.MEASURES) == {*SCORINGS, *known, "neg_hamming_loss"}
    assert all(accepts(name, targets) for name in _train_options.MEASURES)
