"""The run in several processes: the same results, and a quiet end."""

import gc
import time
from unittest import mock

import pytest
from joblib import Parallel, delayed
from paper_helpers import PEERS, make_dataset, no_waiting, outcomes, rows_at

from spanforest.paper import Experiment, RowFile, _run, identity, run
from spanforest.paper._methods import methods_of
from spanforest.paper._protocols import PROTOCOLS, TUNED


@pytest.fixture(autouse=True)
def quick():
    with no_waiting():
        yield


def small_world(dataset, protocol):
    """Give a Parallel whose processes know one more data set and few candidates."""

    def inside(function, *args):  # goes to the worker as it stands
        from spanforest.paper import _run  # the worker's own

        with (
            mock.patch.object(_run, "load_dataset", return_value=dataset),
            mock.patch.dict(_run.PROTOCOLS, {protocol.name: protocol}),
        ):
            return function(*args)

    class SmallWorld(Parallel):
        def __call__(self, calls):
            return super().__call__(
                delayed(inside)(function, *args) for function, args, _ in calls
            )

    return SmallWorld


@pytest.mark.slow
@pytest.mark.parametrize("learner", TUNED.learners)
def test_tuned_results_do_not_depend_on_the_number_of_processes(
    tmp_path, monkeypatch, learner
):
    if learner in PEERS:
        pytest.importorskip(PEERS[learner])
    family = TUNED.families[learner]
    # the first two are a whole grid, as a family that tunes itself must have
    few = family._replace(candidates=family.candidates[:2])
    protocol = TUNED._replace(families={**TUNED.families, learner: few})
    monkeypatch.setitem(PROTOCOLS, "tuned", protocol)
    world = small_world(make_dataset("dense", n_samples=45, n_labels=4), protocol)
    monkeypatch.setattr(_run, "Parallel", world)
    experiment = Experiment(
        ("tiny",), methods_of(learner), "tuned", n_trees=3, quick=True
    )
    one = run(experiment, rows_at(tmp_path), n_jobs=1)
    two = run(experiment, rows_at(tmp_path, "two.jsonl"), n_jobs=2)
    assert len(one) == experiment.n_rows
    assert all(row["error"] is None for row in one)
    assert outcomes(two) == outcomes(one)
    choices = [
        [row for row in rows_at(tmp_path, name) if row["kind"] == "choice"]
        for name in ("rows.jsonl", "two.jsonl")
    ]
    assert outcomes(choices[0]) == outcomes(choices[1])


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    experiment = Experiment(
        ("circle10",), ("svm", "bagging", "mam"), n_trees=3, quick=True
    )
    one = run(experiment, rows_at(tmp_path), n_jobs=1)
    two = run(experiment, rows_at(tmp_path, "two.jsonl"), n_jobs=2)
    assert len(one) == 6
    assert outcomes(two) == outcomes(one)
    assert [identity(row) for row in two] == [identity(row) for row in one]


@pytest.mark.slow
def test_a_run_stopped_while_a_row_is_written_ends_in_silence(tmp_path):
    class Interrupted(RowFile):
        def append(self, rows):
            super().append(rows)
            time.sleep(0.3)  # while loky hands out work, it does not like to be stopped
            raise KeyboardInterrupt

    experiment = Experiment(("circle10",), ("mtl", "adaboost"), quick=True)
    file = rows_at(tmp_path)
    for n_rows in (1, 2):  # a warning of joblib would be an error here
        with pytest.raises(KeyboardInterrupt):
            run(experiment, Interrupted(file.path), n_jobs=2)
        gc.collect()
        assert len(file.read()) == n_rows
