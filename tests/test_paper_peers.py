"""Optional methods of other libraries, in this environment or in one of their own."""

import os
import subprocess
import venv
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from paper_helpers import PEERS, check_one_valued_labels, check_that_it_learns
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

from spanforest.datasets import make_circle
from spanforest.paper._peers import ClassifierChains, Thresholded
from spanforest.paper._protocols import TUNED
from spanforest.paper.baselines import svm_per_label


@pytest.mark.parametrize("learner", PEERS)
def test_peers_run_on_labels_with_one_value(learner):
    pytest.importorskip(PEERS[learner])
    check_one_valued_labels(TUNED, learner)


@pytest.mark.parametrize("learner", PEERS)
def test_peers_learn_more_than_the_most_frequent_values(learner):
    pytest.importorskip(PEERS[learner])
    check_that_it_learns(learner)


@pytest.mark.parametrize(
    "estimator",
    [
        svm_per_label(),
        ExtraTreesClassifier(20, random_state=0),
        ClassifierChains(n_chains=2),
    ],
    ids=["margins", "a list of chances", "chances"],
)
def test_a_lower_threshold_turns_more_labels_on_and_keeps_constant_ones(estimator):
    X, Y = make_circle(80, 6, random_state=0)
    Y[:, 0], Y[:, 1] = 0, 1
    model = Thresholded(estimator, threshold=-np.inf).fit(X, Y)
    assert_array_equal(model.predict(X)[0], [0, 1, 1, 1, 1, 1])
    counts = [
        model.set_params(threshold=threshold).predict(X)[:, 2:].sum()
        for threshold in (-0.5, 0.0, 0.3, 0.5, 0.7, np.inf)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0 < counts[2]
    usual = 0.5 if hasattr(estimator, "predict_proba") else 0.0
    plain = clone(estimator).fit(X, Y).predict(X)
    assert_array_equal(model.set_params(threshold=usual).predict(X), plain)


@pytest.mark.slow
def test_peers_work_in_an_environment_of_their_own(tmp_path):
    # BOOMER wants older packages than the rest of the tests are run with
    root = Path(__file__).parents[1]
    venv.create(tmp_path / "peers", with_pip=True)
    python = tmp_path / "peers" / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def call(*args):
        return subprocess.run(
            [python, "-m", *args],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
        )

    wanted = (f"{root}[peers]", "pytest", "hypothesis")
    installed = call("pip", "install", "--quiet", *wanted)
    if installed.returncode:
        reason = (installed.stderr.strip().splitlines() or ["no message"])[-1]
        pytest.skip(f"the extra peers cannot be installed: {reason}")

    tests = "test_peers_run or test_peers_learn"
    options = ("-q", "-p", "no:cacheprovider", "-k", tests)
    done = call("pytest", *options, str(Path(__file__).relative_to(root)))

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * len(PEERS)} passed" in done.stdout
    assert "skipped" not in done.stdout
