"""The methods of the experiment: what each is fitted to, and what its result holds."""

import json
import re

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paper_helpers import (
    PEERS,
    TINY,
    check_one_valued_labels,
    check_that_it_learns,
    make_fold,
    no_waiting,
    params_for,
)

from spanforest.paper._methods import (
    LEARNERS,
    has_trees,
    run_learner,
    score,
)
from spanforest.paper._protocols import PROTOCOLS, STUDY, TUNED


@pytest.fixture(autouse=True)
def quick():
    with no_waiting():
        yield


@pytest.mark.parametrize("kind", ["dense", "kernel"])
def test_mtl_gets_explicit_features_of_a_kernel_only_when_it_is_tuned(kind):
    fold = make_fold(kind)
    setup = LEARNERS["mtl"]
    for width in (None, 1.0):
        inputs = setup(fold, {"gamma": 1.0, "width": width}, TINY, 0).inputs
        for X, wanted in zip(inputs, fold.explicit_features(width), strict=True):
            assert_array_equal(X, wanted)
    inputs = setup(fold, {"gamma": 1.0}, TINY, 0).inputs
    for X, wanted in zip(inputs, fold.features, strict=True):
        assert_array_equal(X, wanted)


def test_learners_with_trees_are_those_that_their_number_changes():
    fold = make_fold()
    for learner, make in LEARNERS.items():
        if learner in PEERS:
            assert not has_trees(learner)
            continue
        protocol = STUDY if learner in STUDY.learners else TUNED
        params = params_for(protocol.families[learner], 0)
        few, many = (
            str(make(fold, params, TINY._replace(n_trees=n), 0).estimator.get_params())
            for n in (3, 4)
        )
        assert has_trees(learner) == (without_addresses(few) != without_addresses(many))


def without_addresses(text):
    return re.sub(r"0x[0-9a-f]+", "", text)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kind", ["dense", "kernel"])
def test_an_ensemble_that_tuned_itself_scores_as_one_with_the_chosen_parameters(kind):
    fold = make_fold(kind)
    result = run_learner("selftuned", fold, {}, TINY, 0)["selftuned"]

    estimator, inputs = LEARNERS["selftuned"](fold, {}, TINY, 0)
    estimator.fit(inputs.train, fold.Y.train)
    assert result.scores == score(fold.Y.test, estimator.predict(inputs.test))
    assert json.loads(json.dumps(result.choice.params)).keys() == (
        estimator.best_params_.keys()
    )
    (candidate,) = result.choice.candidates
    assert candidate == {"params": {}, "score": estimator.best_score_}
    assert run_learner("svm", fold, {"C": 0.1}, TINY, 0)["svm"].choice is None


CASES = [
    pytest.param(protocol, learner, id=f"{protocol.name}-{learner}")
    for protocol in PROTOCOLS.values()
    for learner in protocol.learners
    if learner not in PEERS
]


@pytest.mark.needs_compiled
@pytest.mark.parametrize(("protocol", "learner"), CASES)
def test_every_learner_runs_on_labels_with_one_value(protocol, learner):
    check_one_valued_labels(protocol, learner)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("learner", [n for n in TUNED.learners if n not in PEERS])
def test_every_learner_beats_the_most_frequent_values(learner):
    check_that_it_learns(learner)


@pytest.mark.parametrize("learner", ["mmcrf", "ensemble"])
def test_the_gap_is_zero_where_there_is_nothing_to_learn(learner):
    fold = make_fold()
    fold.Y.train[:] = [0, 1, 1]
    for result in run_learner(learner, fold, {"C": 1.0}, TINY, 0).values():
        assert result.gap == 0.0


@pytest.mark.parametrize("kind", ["dense", "kernel"])
def test_the_gap_is_that_of_the_worst_member(kind):
    fold = make_fold(kind)
    for learner in ("mmcrf", "ensemble"):
        estimator, inputs = LEARNERS[learner](fold, {"C": 0.1}, TINY, 0)
        estimator.fit(inputs.train, fold.Y.train)
        members = getattr(estimator, "estimators_", [estimator])
        worst = max(one.duality_gap_ / one.dual_objective_ for one in members)
        for result in run_learner(learner, fold, {"C": 0.1}, TINY, 0).values():
            assert_allclose(result.gap, worst)
            assert 0 < result.gap <= estimator.tol
    assert run_learner("svm", fold, {"C": 0.1}, TINY, 0)["svm"].gap is None


@pytest.mark.needs_compiled
def test_seeds_change_what_is_random():
    fold = make_fold()
    for learner in ("bagging", "ensemble"):
        effort = TINY._replace(n_bags=1, n_trees=4)
        runs = [run_learner(learner, fold, {"C": 1.0}, effort, s) for s in (0, 0, 1, 2)]
        facts = [
            [(r.scores, r.n_positive, r.members) for r in one.values()] for one in runs
        ]
        assert facts[0] == facts[1]
        assert facts[0] != facts[2] or facts[0] != facts[3]
