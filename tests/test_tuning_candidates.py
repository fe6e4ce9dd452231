"""What is tried if nobody names it: kernels that suit the data, and offsets."""

import numpy as np
import pytest
from scipy import sparse

from spanforest.kernels import ForestKernel
from spanforest.tuning._candidates import (
    kernels_for,
    read_offsets,
    with_fewer_trees,
)

TABLE = np.random.default_rng(0).normal(size=(30, 4))
WORDS = sparse.random_array((30, 101), density=0.1, format="csr", rng=0)
OF_TABLE = [
    ForestKernel(min_samples_leaf=size, max_features=share)
    for share in ("sqrt", 4)
    for size in (5, 2, 1)
]
BOOSTED = ForestKernel(100, min_samples_leaf=5, max_features=4, kind="boosted")
OF_WORDS = [ForestKernel(min_samples_leaf=5), ForestKernel(min_samples_leaf=1)]


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (TABLE, ["linear", "rbf", *OF_TABLE, BOOSTED]),
        (sparse.csr_matrix(TABLE), ["linear", "rbf", *OF_TABLE, BOOSTED]),
        (TABLE * (TABLE > 1), ["linear", "rbf", *OF_TABLE, BOOSTED]),
        (WORDS, ["cosine", *OF_WORDS]),
        (WORDS.toarray(), ["cosine", *OF_WORDS]),
        (np.where(TABLE > 2, np.nan, TABLE), [*OF_TABLE, BOOSTED]),
    ],
    ids=["table", "sparse table", "table of zeros", "words", "dense words", "gaps"],
)
def test_kernels_suit_the_examples(X, expected):
    menu = kernels_for(X)
    assert menu.kernels == expected
    assert ("NaN" in menu.note) == menu.has_gaps == (expected[0] == OF_TABLE[0])


@pytest.mark.parametrize("n_features", [2, 5, 30])
def test_forests_of_a_table_differ_in_the_features_of_a_split(n_features):
    kernels = kernels_for(np.ones((9, n_features))).kernels
    forests = [kernel for kernel in kernels if isinstance(kernel, ForestKernel)]
    few = [one for one in forests if one.max_features == "sqrt"]
    many = [one.max_features for one in forests if one not in few]
    assert (len(few), len(many)) == (3, 4)  # boosted trees are among the latter
    assert int(n_features**0.5) < min(many)
    assert max(many) <= n_features


def test_no_matrix_of_many_examples_is_made():
    assert "rbf" in kernels_for(np.ones((10_000, 3))).kernels
    menu = kernels_for(np.ones((10_001, 3)))
    assert menu.kernels[0] == "linear"
    assert {one.kind for one in menu.kernels[1:]} == {"extra"}
    assert "no Gaussian kernel and no boosted forest" in menu.note


def test_the_offset_nearest_to_zero_comes_first():
    assert read_offsets([0.5, -0.2, 1, 0.5], np.array([2])) == [-0.2, 0.5, 1.0]
    assert read_offsets(0.5, np.array([2, 1])) == [0.5]
    assert read_offsets("auto", np.array([2, 1]))[0] == 0.0


def test_labels_with_more_values_have_no_offsets():
    assert read_offsets("auto", np.array([3, 2])) == [0.0]
    assert read_offsets([0], np.array([3, 2])) == [0.0]
    with pytest.raises(ValueError, match="label 0 has 3"):
        read_offsets([0, 0.5], np.array([3, 2]))


@pytest.mark.parametrize("offsets", [[], "high", [0.0, np.nan], [None]])
def test_bad_offsets_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets must"):
        read_offsets(offsets, np.array([2]))


def test_offsets_may_have_a_number_for_every_label():
    few, many = [0.0, 0.5], [1.0, 1.0]
    assert read_offsets([many, few, 0.3, np.array(few)], np.array([2, 2])) == [
        0.3,
        few,
        many,
    ]
    with pytest.raises(ValueError, match="one number for each of the 3 labels; got 2"):
        read_offsets([few], np.array([2, 2, 2]))


def test_forests_of_the_search_have_fewer_trees():
    kernel = ForestKernel(500, min_samples_leaf=7, kind="random")
    expected = ForestKernel(100, min_samples_leaf=7, kind="random")
    assert with_fewer_trees(kernel) == expected
    small = ForestKernel(20)
    assert with_fewer_trees(small) is small
    assert with_fewer_trees(len) is len
