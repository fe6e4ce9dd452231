"""The guarantees of iterative stratification, one test each."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold
from strategies import seeds
from test_model_selection import cases, fold_of, indicators

from spanforest.model_selection import (
    IterativeLabelKFold,
    deal_out,
    train_test_split_labels,
)


def iterative_fold_of(Y, **options):
    return fold_of(Y, IterativeLabelKFold, **options)


def by_the_paper(Y, room, shares):
    """Algorithm 1 of the paper, word by word, with ties to the first.

    Full parts get no more examples.
    """
    left, wanted = set(range(len(Y))), [[s * n for n in Y.sum(axis=0)] for s in shares]
    part, room = np.full(len(Y), -1), list(room)

    def count(j):
        return sum(Y[i, j] for i in left)

    while any(count(j) for j in range(Y.shape[1])):
        label = min((j for j in range(Y.shape[1]) if count(j)), key=count)
        for i in sorted(i for i in left if Y[i, label]):
            places = [p for p in range(len(room)) if room[p]]
            most = max(wanted[p][label] for p in places)
            places = [p for p in places if wanted[p][label] > most - 1e-9]
            roomiest = max(room[p] for p in places)
            part[i] = chosen = next(p for p in places if room[p] == roomiest)
            left.remove(i)
            room[chosen] -= 1
            for j in np.flatnonzero(Y[i]):
                wanted[chosen][j] -= 1
    for i in sorted(left):
        part[i] = chosen = next(p for p in range(len(room)) if room[p])
        room[chosen] -= 1
    return part


@given(Y=indicators(), seed=seeds, n_parts=st.integers(2, 4))
def test_it_is_the_algorithm_of_the_paper(Y, seed, n_parts):
    cuts = np.sort(np.random.default_rng(seed).integers(len(Y) + 1, size=n_parts - 1))
    room = np.diff([0, *cuts, len(Y)])
    found = deal_out(sparse.csr_array(Y), room, room / len(Y), None)
    assert_array_equal(found, by_the_paper(Y, room, room / len(Y)))


@cases
def test_the_rarest_label_is_spread_evenly(Y, n_splits, seed):
    fold = iterative_fold_of(Y, n_splits=n_splits, random_state=seed)
    counts = Y.sum(axis=0)
    if not counts.any():
        return
    rarest = np.where(counts > 0, counts, len(Y) + 1).argmin()
    spread = np.bincount(fold[Y[:, rarest] == 1], minlength=n_splits)
    assert np.ptp(spread) <= 1


@given(seed=seeds, n_values=st.integers(1, 5), n_splits=st.integers(2, 6))
def test_every_value_of_a_single_label_is_spread_evenly(seed, n_values, n_splits):
    rng = np.random.default_rng(seed)
    y = rng.choice(np.array(["a", "b", "c", "d", "e"])[:n_values], size=40)
    gaps = pd.Series(np.where(rng.random(40) < 0.1, None, y))
    fold = iterative_fold_of(gaps, n_splits=n_splits, random_state=seed)
    for is_value in [gaps.isna(), *(gaps == value for value in gaps.dropna().unique())]:
        assert np.ptp(np.bincount(fold[is_value], minlength=n_splits)) <= 1


def mean_deviation(Y, folds):
    counts = [Y[test].sum(axis=0) for _, test in folds.split(Y, Y)]
    return np.abs(counts - Y.sum(axis=0) / len(counts)).mean()


@pytest.mark.parametrize("seed", range(5))
def test_all_labels_are_spread_more_evenly_than_by_chance(seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((200, 12)) < rng.uniform(0.02, 0.4, size=12)).astype(int)
    iterative = IterativeLabelKFold(5, random_state=seed)
    chance = KFold(5, shuffle=True, random_state=seed)
    assert mean_deviation(Y, iterative) < 0.5 * mean_deviation(Y, chance)


def test_gaps_and_values_of_many_valued_labels_are_spread_like_labels():
    rng = np.random.default_rng(0)
    Y = rng.integers(4, size=(80, 3)).astype(float)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    columns = [[c == 1, c == 2, c == 3, np.isnan(c)] for c in Y.T]
    asked = np.column_stack([one for label in columns for one in label]).astype(int)
    assert_array_equal(
        iterative_fold_of(Y, random_state=0), iterative_fold_of(asked, random_state=0)
    )


@pytest.mark.parametrize(
    "container", [sparse.csr_array, sparse.csc_matrix, list, pd.DataFrame]
)
def test_the_form_of_y_does_not_matter(container):
    Y = np.random.default_rng(0).integers(0, 2, size=(30, 3))
    found = [test for _, test in IterativeLabelKFold(random_state=0).split(Y, Y)]
    y = container(Y.tolist() if container is list else Y)
    others = [test for _, test in IterativeLabelKFold(random_state=0).split(Y, y)]
    for one, other in zip(found, others, strict=True):
        assert_array_equal(one, other)


def test_an_integer_seed_repeats_and_without_shuffling_there_is_none():
    Y = np.random.default_rng(0).integers(0, 2, size=(50, 4))
    one, other = (iterative_fold_of(Y, random_state=s) for s in (3, 4))
    assert_array_equal(one, iterative_fold_of(Y, random_state=3))
    assert (one != other).any()
    fixed = iterative_fold_of(Y, shuffle=False)
    assert_array_equal(fixed, iterative_fold_of(Y, shuffle=False))


def test_labels_that_never_or_always_occur_do_not_matter():
    Y = np.column_stack([np.zeros(11), np.ones(11)]).astype(int)
    assert np.ptp(np.bincount(iterative_fold_of(Y, n_splits=5, random_state=0))) <= 1
    assert np.ptp(np.bincount(iterative_fold_of(0 * Y, random_state=0))) <= 1


@given(Y=indicators(), seed=seeds, size=st.floats(0.1, 0.85))
def test_a_split_has_its_size_and_its_share_of_the_rarest_label(Y, seed, size):
    X = np.arange(len(Y))
    *parts, Y_train, Y_test = train_test_split_labels(
        X, Y, test_size=size, random_state=seed
    )
    assert_array_equal(np.sort(np.concatenate(parts)), X)
    assert len(parts[1]) == np.ceil(size * len(Y))
    assert_array_equal(Y_test, Y[parts[1]])
    assert_array_equal(Y_train, Y[parts[0]])
    counts = Y.sum(axis=0)
    if counts.any():
        rarest = np.where(counts > 0, counts, len(Y) + 1).argmin()
        expected = len(Y_test) / len(Y) * counts[rarest]
        assert abs(Y_test[:, rarest].sum() - expected) <= 0.5 + 1e-9


def test_a_split_keeps_the_kinds_of_its_arrays():
    X = pd.DataFrame({"a": np.arange(20.0)}, index=np.arange(20) + 100)
    Y = sparse.csr_array(np.arange(40).reshape(20, 2) % 3 == 0)
    weights = list(range(20))
    parts = train_test_split_labels(X, Y, weights, test_size=5, random_state=0)
    assert [type(part) for part in parts[::2]] == [pd.DataFrame, type(Y), list]
    assert len(parts[1]) == parts[3].shape[0] == len(parts[5]) == 5
    assert parts[1].index.tolist() == [100 + weight for weight in parts[5]]


@pytest.mark.parametrize("size", [0, 1.0, 1.5, -0.1, 20, "half", True])
def test_sizes_that_leave_nothing_are_refused(size):
    Y = np.arange(20) % 2
    with pytest.raises(ValueError, match="test_size"):
        train_test_split_labels(Y, Y, test_size=size)
