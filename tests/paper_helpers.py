"""Small data, folds and checks of learners, for the tests of the paper's experiment."""

import io
import json
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_multilabel_classification

from spanforest._blas import single_blas_thread
from spanforest.datasets import Dataset, make_circle
from spanforest.metrics import MEASURES
from spanforest.paper import RowFile, identity
from spanforest.paper._fold_inputs import FoldInputs
from spanforest.paper._methods import Effort, fit_and_score, methods_of, run_learner
from spanforest.paper._protocols import TUNED

TINY = Effort(n_trees=2, n_bags=2, n_rounds=2, n_chains=2, n_forest=3)
PEERS = {"boomer": "mlrl.boosting", "mlknn": "skmultilearn.adapt"}
KINDS = ("dense", "constant", "sparse", "text", "tanimoto", "kernel")


@contextmanager
def no_waiting():
    """Wait neither for the disk nor for threads that other processes hold up."""
    with mock.patch("os.fsync"), single_blas_thread():
        yield


def multilabel_data():
    """Return features and labels for the baselines."""
    return make_multilabel_classification(
        n_samples=80, n_features=12, n_classes=5, random_state=1
    )


def make_dataset(kind="dense", n_samples=24, n_labels=3, seed=0):
    """Return small data of any kind that the experiment meets."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_samples, n_labels)) < 0.4).astype(int)
    X = rng.normal(size=(n_samples, 5)) * [1, 10, 0.1, 3, 1] + [5, 0, -1, 0, 0]
    if kind == "constant":
        X[:, 2] = 1.0
    if kind in ("sparse", "text", "tanimoto"):
        counts = rng.poisson(0.5, size=(n_samples, 12))
        counts[:, 0] += 1  # no example without features
        bits = np.minimum(counts, 1) if kind == "tanimoto" else counts
        X = sparse.csr_array(bits.astype(float))
    if kind == "kernel":
        return Dataset(kind, Y, K=(X @ X.T + 3.0) ** 2)
    return Dataset(
        kind,
        Y,
        X,
        is_text=kind == "text",
        kernel="tanimoto" if kind == "tanimoto" else "linear",
    )


def make_fold(kind="dense", scaling="unit", n_train=16, seed=0):
    rows = np.random.default_rng(seed).permutation(24)
    return FoldInputs(
        make_dataset(kind, seed=seed), rows[:n_train], rows[n_train:], scaling
    )


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def params_for(family, number):
    """Return a candidate as its learner takes it: one that tunes itself takes lists."""
    params = family.candidates[number]
    if family.tunes_itself:
        return {name: [value] for name, value in params.items()}
    return params


def check_one_valued_labels(protocol, learner):
    """Fit with the first and last candidate, to data with one-valued labels."""
    family = protocol.families[protocol.learners[learner]]
    for kind in ("dense", "text", "kernel"):
        fold = make_fold(kind, protocol.scaling)
        for number, value in enumerate((0, 1)):
            fold.Y.train[:, number] = value
        for params in (params_for(family, 0), params_for(family, -1)):
            results = run_learner(learner, fold, params, TINY, 0)
            assert tuple(results) == methods_of(learner)
            for result in results.values():
                assert set(result.scores) == set(MEASURES)
                assert all(0 <= score <= 1 for score in result.scores.values())
                json.dumps(result, allow_nan=False)
            [again] = fit_and_score(learner, fold, [params], TINY, 0)
            mean = np.mean(list(results[methods_of(learner)[-1]].scores.values()))
            assert_allclose(again, mean)


def check_that_it_learns(learner):
    """Its first or last candidate must beat the most frequent value of each label."""
    X, Y = make_circle(120, 6, random_state=0)
    fold = FoldInputs(Dataset("circle", Y, X), np.arange(60), np.arange(60, 120))
    effort = Effort(n_trees=2, n_bags=5, n_rounds=20, n_chains=3, n_forest=20)
    most_frequent = np.maximum(fold.Y.test.mean(0), 1 - fold.Y.test.mean(0)).mean()
    family = TUNED.families[TUNED.learners[learner]]
    results = [
        run_learner(learner, fold, params_for(family, number), effort, 0)
        for number in (0, -1)
    ]
    for method in methods_of(learner):
        scores = [each[method].scores["microlabel_accuracy"] for each in results]
        assert max(scores) > most_frequent + 0.02, method


def terminal_text(table, width):
    """Return a table as a terminal of some width shows it."""
    console_module = pytest.importorskip("rich.console")
    stream = io.StringIO()
    console = console_module.Console(file=stream, width=width, color_system=None)
    console.print(table.to_terminal())
    return stream.getvalue()


def rows_at(tmp_path, name="rows.jsonl"):
    return RowFile(tmp_path / name)


def outcomes(rows):
    """Return rows without what differs from run to run, sorted."""
    left = [
        {k: v for k, v in row.items() if k not in ("seconds", "finished")}
        for row in rows
    ]
    return sorted(left, key=lambda row: str(identity(row)))
