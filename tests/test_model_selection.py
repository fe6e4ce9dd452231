"""The guarantees of the folds, one test each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict

from spanforest.model_selection import (
    IterativeLabelKFold,
    LabelCardinalityKFold,
)


def fold_of(y, kind=LabelCardinalityKFold, **kwargs):
    """Number of the test fold of every example."""
    fold = np.full(y.shape[0], -1)
    for number, (_, test) in enumerate(
        kind(**kwargs).split(np.zeros((y.shape[0], 1)), y)
    ):
        fold[test] = number
    return fold


@st.composite
def indicators(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples, n_labels = draw(st.integers(7, 60)), draw(st.integers(1, 8))
    return (rng.uniform(size=(n_samples, n_labels)) < rng.uniform()).astype(int)


cases = given(
    Y=indicators(),
    n_splits=st.integers(2, 7),
    seed=st.one_of(st.none(), st.integers(0, 2**32 - 1)),
)


kinds = pytest.mark.parametrize("kind", [LabelCardinalityKFold, IterativeLabelKFold])


@kinds
@cases
def test_test_folds_partition_the_examples(kind, Y, n_splits, seed):
    folds = kind(n_splits, random_state=seed)
    n_samples = len(Y)
    tests = []
    for train, test in folds.split(np.zeros((n_samples, 2)), Y):
        assert_array_equal(np.sort(np.r_[train, test]), np.arange(n_samples))
        tests.append(test)
    assert len(tests) == folds.get_n_splits() == n_splits
    assert_array_equal(np.sort(np.concatenate(tests)), np.arange(n_samples))


@kinds
@cases
def test_fold_sizes_differ_by_at_most_one(kind, Y, n_splits, seed):
    sizes = np.bincount(fold_of(Y, kind, n_splits=n_splits, random_state=seed))
    assert len(sizes) == n_splits
    assert np.ptp(sizes) <= 1


@cases
def test_class_counts_differ_by_at_most_one(Y, n_splits, seed):
    fold = fold_of(Y, n_splits=n_splits, random_state=seed)
    cardinality = Y.sum(axis=1)
    for value in np.unique(cardinality):
        counts = np.bincount(fold[cardinality == value], minlength=n_splits)
        assert np.ptp(counts) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_many_small_classes_do_not_pile_up_in_one_fold(seed):
    Y = np.tril(np.ones((20, 20), dtype=int))  # every example is a class of its own
    assert_array_equal(
        np.bincount(fold_of(Y, n_splits=5, random_state=seed)), [4, 4, 4, 4, 4]
    )


@pytest.mark.parametrize(
    "container",
    [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, list, np.asfortranarray],
)
def test_the_form_of_y_does_not_matter(container):
    Y = np.random.default_rng(0).integers(0, 2, size=(30, 4))
    y = Y.tolist() if container is list else container(Y)
    for one, other in zip(
        LabelCardinalityKFold(random_state=1).split(np.zeros((30, 1)), Y),
        LabelCardinalityKFold(random_state=1).split(np.zeros((30, 1)), y),
        strict=True,
    ):
        assert_array_equal(one[0], other[0])
        assert_array_equal(one[1], other[1])


def test_a_dataframe_of_mixed_types_gives_the_folds_of_its_numbers():
    pd = pytest.importorskip("pandas")
    Y = np.random.default_rng(0).integers(0, 2, size=(30, 3))
    frame = pd.DataFrame({"a": Y[:, 0].astype(bool), "b": Y[:, 1], "c": 1.0 * Y[:, 2]})
    assert_array_equal(fold_of(frame, random_state=0), fold_of(Y, random_state=0))
    objects = frame.astype(object)
    assert_array_equal(fold_of(objects, random_state=0), fold_of(Y, random_state=0))


def test_signs_and_codes_count_as_their_positive_entries():
    Y = np.random.default_rng(0).integers(0, 2, size=(30, 3))
    expected = fold_of(Y, random_state=0)
    assert_array_equal(fold_of(2 * Y - 1, random_state=0), expected)
    assert_array_equal(fold_of(3 * Y, random_state=0), expected)
    assert_array_equal(fold_of(Y.astype(bool), random_state=0), expected)


def test_one_label_may_be_a_vector():
    y = np.arange(10) % 2
    assert_array_equal(
        fold_of(y, n_splits=2, random_state=0),
        fold_of(y[:, np.newaxis], n_splits=2, random_state=0),
    )


def test_labels_with_one_positive_or_none_do_not_matter():
    Y = np.zeros((11, 3), dtype=int)
    Y[4, 0] = 1
    assert np.ptp(np.bincount(fold_of(Y, n_splits=5, random_state=0))) <= 1


def test_an_integer_seed_repeats_and_another_seed_differs():
    Y = np.random.default_rng(0).integers(0, 2, size=(50, 4))
    assert_array_equal(fold_of(Y, random_state=3), fold_of(Y, random_state=3))
    assert (fold_of(Y, random_state=3) != fold_of(Y, random_state=4)).any()


def test_a_random_state_instance_moves_on():
    Y = np.random.default_rng(0).integers(0, 2, size=(50, 4))
    state = np.random.RandomState(0)
    assert (fold_of(Y, random_state=state) != fold_of(Y, random_state=state)).any()


def test_without_shuffling_a_class_is_dealt_out_in_order():
    Y = np.array([[0], [1], [0], [1], [0], [1]])
    assert_array_equal(fold_of(Y, n_splits=3, shuffle=False), [0, 0, 1, 1, 2, 2])


def test_every_fold_is_sometimes_the_larger_one():
    Y = np.zeros((6, 1), dtype=int)
    larger = {
        int(np.argmax(np.bincount(fold_of(Y, n_splits=5, random_state=seed))))
        for seed in range(60)
    }
    assert larger == {0, 1, 2, 3, 4}


def test_scikit_learn_uses_it_as_a_splitter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] > 0).astype(int)
    folds = LabelCardinalityKFold(n_splits=3, random_state=0)
    assert cross_val_predict(RidgeClassifier(), X, Y, cv=folds).shape == Y.shape
    search = GridSearchCV(RidgeClassifier(), {"alpha": [0.1, 10]}, cv=folds).fit(X, Y)
    assert search.n_splits_ == 3
    copied = clone(search)
    assert "LabelCardinalityKFold(n_splits=3, random_state=0" in repr(copied.cv)


@pytest.mark.parametrize("n_splits", [1, 0, -3, 2.5])
def test_too_few_folds_are_refused(n_splits):
    with pytest.raises(ValueError, match="at least 2"):
        LabelCardinalityKFold(n_splits)


def test_a_seed_without_shuffling_is_refused():
    with pytest.raises(ValueError, match="shuffle=True"):
        LabelCardinalityKFold(shuffle=False, random_state=0)
    with pytest.raises(TypeError, match="True or False"):
        LabelCardinalityKFold(shuffle="yes")


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (None, "got None"),
        (np.zeros((3, 2)), "smaller n_splits"),
        (np.array([["a"]] * 9), "MultiLabelBinarizer"),
        (np.array([["a"]] * 9, dtype=object), "MultiLabelBinarizer"),
        (np.full((9, 1), np.nan), "missing"),
        (np.zeros((9, 2, 2)), "shape"),
        (np.zeros((8, 2)), "inconsistent"),
    ],
)
def test_a_y_that_defines_no_folds_is_refused(Y, message):
    n_samples = 3 if Y is not None and len(Y) == 3 else 9
    with pytest.raises(ValueError, match=message):
        next(LabelCardinalityKFold().split(np.zeros((n_samples, 1)), Y))
