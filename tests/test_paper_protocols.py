"""The two protocols: fair candidates for every method, and optional methods."""

import json
import math
from collections import Counter

import pytest
from paper_helpers import PEERS, TINY, make_fold

from spanforest.metrics import MEASURES
from spanforest.paper import METHODS, _protocols
from spanforest.paper._methods import LEARNERS, methods_of
from spanforest.paper._protocols import (
    PAPER,
    PROTOCOLS,
    STUDY,
    TUNED,
    available_learners,
)
from spanforest.paper._published import PAPER_METHODS
from spanforest.tuning import RandomGraphEnsembleClassifierCV


def test_every_method_of_the_tables_is_run_and_no_other():
    def methods(protocol):
        return tuple(m for name in protocol.learners for m in methods_of(name))

    assert (*methods(TUNED), *methods(STUDY)) == METHODS
    assert set(methods(PAPER)) == {*PAPER_METHODS, "mve", "amm"}
    assert {name for p in PROTOCOLS.values() for name in p.learners} == set(LEARNERS)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_every_family_is_chosen_by_one_of_its_learners(protocol):
    assert set(protocol.learners.values()) == set(protocol.families)
    for name, family in protocol.families.items():
        assert protocol.learners[name] == name
        points = [json.dumps(each, sort_keys=True) for each in family.candidates]
        assert 1 <= len(points) == len(set(points))


def test_every_tuned_method_chooses_for_itself_among_as_many_fits():
    assert {name: name for name in TUNED.learners} == dict(TUNED.learners)
    n_fits = {n: len(f.fits) for n, f in TUNED.families.items() if not f.tunes_itself}
    assert set(n_fits.values()) == {12}


def test_methods_with_scores_choose_among_three_thresholds_for_each_fit():
    for name, family in TUNED.families.items():
        for group in family.fits:
            thresholds = [each.get("threshold") for each in group]
            assert len(set(thresholds)) == (1 if thresholds == [None] else 3), name
            assert len({json.dumps({**each, "threshold": 0}) for each in group}) == 1
    chances, odds = (
        {each["threshold"] for each in TUNED.families[name].candidates}
        for name in ("forest", "boosting")
    )
    assert {round(1 / (1 + math.exp(-odd)), 1) for odd in odds} == chances


def test_all_methods_with_kernels_try_the_same_kernels():
    trees = {"adaboost", "forest", "extra_trees", "boosting"}
    without = {*trees, "boomer", "mlknn"}  # rules and neighbours
    families = {n: f for n, f in TUNED.families.items() if not f.tunes_itself}
    for name, family in families.items():
        widths = Counter(group[0].get("width", "none") for group in family.fits)
        wanted = {"none": 12} if name in without else {None: 3, 0.5: 3, 1.0: 3, 2.0: 3}
        assert widths == wanted, name


def test_the_ensemble_that_tunes_itself_is_used_without_arguments():
    estimator = LEARNERS["selftuned"](make_fold(), {}, TINY, 0).estimator
    wanted = RandomGraphEnsembleClassifierCV(TINY.n_trees, random_state=0)
    assert estimator.get_params() == wanted.get_params()


@pytest.mark.parametrize("measure", MEASURES)
def test_the_study_tunes_an_ensemble_for_each_measure(measure):
    estimator = LEARNERS[f"tuned_for_{measure}"](make_fold(), {}, TINY, 0).estimator
    assert estimator.scoring == measure


def test_an_empty_folder_of_a_name_is_not_an_installed_peer(monkeypatch, tmp_path):
    for name in ("mlrl", "skmultilearn"):
        (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        _protocols,
        "_MODULES",
        {"boomer": "mlrl.no_such_module", "mlknn": "no_such_package.adapt"},
    )
    assert not set(available_learners(TUNED)) & set(PEERS)
    assert available_learners(PAPER) == tuple(PAPER.learners)
