"""Training on a Dask cluster: the same members, even if a worker dies."""

import os
import signal
import threading
from contextlib import contextmanager, suppress
from typing import NamedTuple

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import normalize

from spanforest import RandomGraphEnsembleClassifier
from spanforest._parallel import LARGE, Workers
from spanforest.graphs import random_spanning_tree
from spanforest.tuning import RandomGraphEnsembleClassifierCV

distributed = pytest.importorskip("distributed", reason="needs the distributed extra")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # the cluster warns of ports and lost workers
]


@contextmanager
def cluster_of(n_workers):
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def client():
    with cluster_of(2) as client:
        yield client


def data():
    X, Y = make_multilabel_classification(300, 30, n_classes=8, random_state=0)
    return normalize(X), Y


def assert_same_members(one_fit, other_fit):
    for one, other in zip(one_fit.estimators_, other_fit.estimators_, strict=True):
        assert one.graph_ == other.graph_
        assert_array_equal(one._weights, other._weights)
        assert_array_equal(one.cell_intercept_, other.cell_intercept_)
        assert_array_equal(one.gap_history_, other.gap_history_)


@pytest.mark.parametrize("kernel", ["linear", "rbf", ["linear", "rbf"]])
def test_a_cluster_trains_the_same_members_bit_by_bit(client, kernel):
    X, Y = data()
    ensemble = RandomGraphEnsembleClassifier(6, kernel=kernel, random_state=0)
    local = clone(ensemble).fit(X, Y)
    with joblib.parallel_config(backend="dask"):
        remote = clone(ensemble).fit(X, Y)
    assert_same_members(remote, local)


@pytest.mark.parametrize("kernels", ["linear", ["rbf", ["linear", "rbf"]]])
def test_a_cluster_chooses_the_same_parameters(client, kernels):
    X, Y = data()
    search = RandomGraphEnsembleClassifierCV(
        4, kernels=kernels, Cs=[0.1, 1.0], losses="edge", random_state=0
    )
    local = clone(search).fit(X, Y)
    with joblib.parallel_config(backend="dask"):
        remote = clone(search).fit(X, Y)
    assert remote.best_params_ == local.best_params_
    assert_array_equal(
        remote.cv_results_["mean_test_score"], local.cv_results_["mean_test_score"]
    )
    assert_same_members(remote, local)


class Counted(np.ndarray):
    """An array that counts how often this process pickles it."""

    n_pickled = 0

    def __reduce__(self):
        Counted.n_pickled += 1
        return (np.ones, (self.shape,))


class Pair(NamedTuple):
    data: np.ndarray
    others: list


def total(pair, number):
    return number + sum(array.sum() for array in [pair.data, *pair.others])


def test_arrays_inside_records_are_sent_once_and_not_with_every_call(client):
    counted = np.ones(LARGE // 8).view(Counted)
    pair = Pair(counted, [np.ones(2)])
    calls = [(pair, number) for number in range(50)]
    with joblib.parallel_config(backend="dask"):
        totals = Workers().run(total, calls, "sums")
    assert totals == [number + LARGE // 8 + 2 for number in range(50)]
    assert Counted.n_pickled <= 5  # not once per call


def total_at_the_second_try(array, path):
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return array.sum()


@pytest.mark.usefixtures("client")
def test_arrays_that_only_dead_workers_had_are_sent_again(tmp_path):
    array = np.ones(LARGE // 8)
    calls = [(array, tmp_path / name) for name in "ab"]  # one for each worker
    with joblib.parallel_config(backend="dask"):
        totals = Workers().run(total_at_the_second_try, calls, "sums")
    assert totals == [LARGE // 8] * 2


def test_calls_run_here_if_one_worker_is_left():
    array = np.ones(LARGE // 8)
    with cluster_of(1), joblib.parallel_config(backend="dask"):
        assert Workers().run(np.sum, [(array,)], "sums") == [LARGE // 8]


def announced_tree(n_labels, rng):
    """Draw a random tree, and announce the worker that begins to train on it.

    The first member is trained in the process of the test.
    """
    with suppress(ValueError):  # no worker here
        client = distributed.get_worker().client
        distributed.Queue("training", client=client).put(os.getpid())
    return random_spanning_tree(n_labels, rng)


def kill_a_training_worker(client, killed):
    pid = distributed.Queue("training", client=client).get(timeout=120)
    os.kill(pid, signal.SIGKILL)
    killed.append(pid)


def test_a_fit_survives_the_death_of_a_worker_that_trains(client):
    X, Y = data()
    # hundreds of passes, so that the worker dies in the middle of them
    settings = {"kernel": "rbf", "tol": 1e-9, "max_iter": 300, "random_state": 0}
    expected = RandomGraphEnsembleClassifier(12, graph="random_tree", **settings)
    expected.fit(X, Y)

    killed = []
    killer = threading.Thread(target=kill_a_training_worker, args=(client, killed))
    killer.start()
    with joblib.parallel_config(backend="dask"):
        fitted = RandomGraphEnsembleClassifier(12, graph=announced_tree, **settings)
        fitted.fit(X, Y)
    assert killed, "the fit was over before the worker died: make it longer"
    killer.join()
    assert_same_members(fitted, expected)
