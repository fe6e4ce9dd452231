"""What inspect shows of a search: the best candidate of every kernel."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from small_data import NOISY_Y as Y
from small_data import X

from spanforest import RandomGraphEnsembleClassifierCV
from spanforest.kernels import ForestKernel

pytest.importorskip("typer")
pytest.importorskip("skops")

from spanforest.cli._candidates import candidate_rows, search_facts
from spanforest.persistence import save


def candidate(kernel, C=1.0, offset=0.0):
    return {"kernel": kernel, "C": C, "loss": "edge", "offset": offset}


def test_a_kernel_stands_for_its_best_candidate_and_the_chosen_one_comes_first():
    nan = np.nan
    search = SimpleNamespace(
        chosen_="poly",
        scoring="f1_micro",
        best_index_=4,
        cv_results_={
            "params": [
                candidate("linear", 1.0),
                candidate("linear", 3.0),
                candidate("rbf"),
                candidate("poly", 3.0),
                candidate("poly", 10.0),  # chosen, although the last one is as good
                candidate("untried"),
            ],
            "split0_test_score": np.array([0.9, 0.95, 0.8, 0.7, 0.7, nan]),
            "split1_test_score": np.array([nan, nan, 0.6, 0.8, 0.8, nan]),
        },
    )
    facts = search_facts(search)
    assert (facts["measure"], facts["n_candidates"]) == ("f1_micro", 5)
    assert [row[:2] + row[4:] for row in candidate_rows(facts)] == [
        ("poly", "10", "0.750", "2"),
        ("rbf", "1", "0.700", "2"),
        ("linear", "3", "0.950", "1"),
    ]
    assert {one["forest"] for one in facts["kernels"]} == {None}
    search.scoring = max
    assert search_facts(search)["measure"] == "a function"


def test_the_forest_of_a_threshold_is_a_fact_of_its_own():
    decision = {"threshold": 0.3, "probability": ForestKernel(50)}
    params = {"kernel": "linear", "C": 1.0, "loss": "edge", **decision}
    results = {"params": [params], "split0_test_score": np.array([0.5])}
    search = SimpleNamespace(chosen_="", scoring="mean", best_index_=0)
    search.cv_results_ = results
    (fact,) = search_facts(search)["kernels"]
    assert (fact["threshold"], fact["forest"]) == (0.3, "ForestKernel(n_estimators=50)")
    assert fact["decision"] == "threshold 0.3 with ForestKernel(n_estimators=50)"


@pytest.mark.needs_compiled
def test_inspect_shows_the_candidates_of_a_model_that_was_saved(ok, tmp_path):
    model = RandomGraphEnsembleClassifierCV(
        2, kernels=["linear", "rbf"], gammas=[1, 2], Cs=[0.1, 1], offsets=[0, 0.3]
    )
    model.set_params(losses="edge", n_estimators_search=1, training="separate")
    model.set_params(random_state=0).fit(X, Y)
    save(model, tmp_path / "m")
    facts = json.loads(ok("inspect", tmp_path / "m", "--json"))
    assert facts["model"] == "RandomGraphEnsembleClassifierCV"
    tuning = facts["tuning"]
    assert tuning["chosen"] == model.chosen_
    assert tuning["n_candidates"] == len(model.cv_results_["params"])
    first, *others = tuning["kernels"]
    assert first["is_chosen"]
    assert first["score"] == pytest.approx(model.best_score_)
    assert (first["C"], first["threshold"]) == (model.C_, model.threshold_)
    assert (first["offset"] or 0.0) == model.offset_
    assert first["decision"] in model.chosen_
    assert len(others) == 2
    assert not any(one["is_chosen"] for one in others)
    results = model.cv_results_
    of_linear = np.array([params["kernel"] == "linear" for params in results["params"]])
    (linear,) = (one for one in tuning["kernels"] if one["kernel"] == "linear")
    best = results["mean_test_score"][of_linear].max()
    assert linear["score"] == pytest.approx(best)
    shown = ok("inspect", tmp_path / "m").splitlines()
    (place,) = (i for i, line in enumerate(shown) if line.endswith("score  folds"))
    assert shown[place - 1].endswith("with each kernel, the chosen one first")
    assert f"{first['score']:.3f}" in shown[place + 1]
