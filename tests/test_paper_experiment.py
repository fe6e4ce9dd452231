"""What an experiment consists of, and what it refuses to run."""

import pytest
from paper_helpers import PEERS

from spanforest.paper import METHODS, Experiment, _protocols


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"protocol": "other"},
            "protocol must be one of paper, tuned, study; got 'other'",
        ),
        ({"methods": ("svm", "forest")}, r"are svm, .*, mam; got 'forest'"),
        ({"methods": ("lstm",), "protocol": "tuned"}, r"ecc, .*; got 'lstm'\.$"),
        ({"methods": "svm"}, "methods must be a sequence of different names; got"),
        ({"methods": ()}, "methods must be a sequence of different names"),
        ({"datasets": "yeast"}, "datasets must be a sequence of different names"),
        ({"datasets": ("yeast", "yeast")}, "datasets must be a sequence of different"),
        ({"n_trees": 0}, "n_trees must be at least 1; got 0"),
        ({"n_folds": 1}, "n_folds must be at least 2; got 1"),
        ({"seed": -1}, "seed must be at least 0; got -1"),
        ({"seed": 2**32}, r"seed must be less than 2\*\*32"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(settings, message):
    with pytest.raises(ValueError, match=message):
        Experiment(**settings)


def test_a_method_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(_protocols, "_is_installed", lambda _: False)
    for name in PEERS:
        with pytest.raises(ValueError, match=rf"got '{name}'\. .*spanforest\[peers\]"):
            Experiment(methods=("svm", name), protocol="tuned")
        with pytest.raises(ValueError, match=rf"got '{name}'\.$"):
            Experiment(methods=(name,))  # of no use to the paper's protocol


def test_the_experiment_of_the_paper_is_the_default():
    experiment = Experiment()
    assert len(experiment.datasets) == 10
    assert experiment.chosen_methods == METHODS[:8]
    assert (experiment.folds, experiment.effort.n_trees) == (5, 60)
    assert experiment.n_rows == 400


def test_given_sizes_count_in_a_quick_run_too():
    quick = Experiment(quick=True)
    assert (quick.folds, quick.effort.n_trees) == (2, 10)
    given_sizes = Experiment(quick=True, n_trees=3, n_folds=4)
    assert (given_sizes.folds, given_sizes.effort.n_trees) == (4, 3)
