"""What the search chooses beside kernels and C: thresholds of labels, how to train."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from searches import tuned
from small_data import NOISY_Y as Y
from small_data import X, X_new

from spanforest import RandomGraphEnsembleClassifier, load, save
from spanforest.graphs import LabelGraph
from spanforest.tuning import _estimator
from spanforest.tuning._entrants import Entrant

# --- thresholds of single labels ------------------------------------------------------

RARE = np.column_stack([Y[:, 0], Y[:, 1] & (X[:, 2] > 0.8), Y[:, 2]])


def with_thresholds(**params):
    options = {"kernels": "linear", "offsets": -9.0, "scoring": "f1_macro", "cv": 4}
    return tuned(**options | params)


@pytest.mark.needs_compiled
def test_thresholds_of_labels_are_chosen_for_the_f1_of_labels(tmp_path):
    fitted = with_thresholds(thresholds=[1.0, "labels"]).fit(X, RARE)
    thresholds = fitted.threshold_
    assert len(thresholds) == 3
    assert all(0.0 < one <= 0.5 for one in thresholds)
    assert fitted.best_params_["threshold"] == thresholds
    shown = f"from {min(thresholds):.2g} to {max(thresholds):.2g}"
    assert f"thresholds of labels {shown}: f1_macro" in fitted.chosen_
    plain = RandomGraphEnsembleClassifier(
        4, scaling=None, max_iter=1000, random_state=0, **fitted.best_params_
    )
    assert_array_equal(plain.fit(X, RARE).predict(X_new), fitted.predict(X_new))
    P = fitted.predict_proba(X_new)
    assert_array_equal(fitted.predict(X_new), np.array(thresholds) < P)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.best_params_ == fitted.best_params_
    assert_array_equal(again.predict(X_new), fitted.predict(X_new))


@pytest.mark.needs_compiled
def test_thresholds_of_labels_are_tried_unless_the_measure_is_ours():
    def tries_labels(**params):
        results = with_thresholds(thresholds="auto", **params).fit(X, RARE).cv_results_
        return any(isinstance(one.get("threshold"), list) for one in results["params"])

    assert tries_labels()
    assert tries_labels(scoring=lambda truth, predicted: (truth == predicted).mean())
    assert not tries_labels(scoring="mean")
    assert not tries_labels(scoring="microlabel_f1")


@pytest.mark.needs_compiled
def test_thresholds_with_a_number_for_each_label_are_tried():
    given = [[0.5, 0.1, 0.4], 0.3]
    fitted = with_thresholds(thresholds=given).fit(X, RARE)
    tried = [
        one["threshold"] for one in fitted.cv_results_["params"] if "threshold" in one
    ]
    assert tried == [0.3, [0.5, 0.1, 0.4]]


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        (["label"], "a list with one for each label, or 'labels'; got 'label'"),
        ([[0.5, 0.1]], "one for each of the 3 labels; got .* shape \\(2,\\)"),
        ([[0.5, 0.1, 2.0]], "must be between 0 and 1"),
    ],
)
def test_bad_thresholds_of_labels_are_refused(thresholds, message):
    with pytest.raises(ValueError, match=message):
        with_thresholds(thresholds=thresholds).fit(X, RARE)


# --- joint training, by default -------------------------------------------------------


def tuned_anyhow(**params):
    options = {"kernels": "rbf", "training": "auto", "losses": ["edge", "hamming"]}
    return tuned(**options | params)


@pytest.mark.needs_compiled
def test_the_best_kernel_is_also_trained_jointly():
    fitted = tuned_anyhow(n_estimators=7, offsets=[0.0, 0.3]).fit(X, Y)
    results = pd.DataFrame(fitted.cv_results_)
    is_joint = np.array([one.get("n_estimators") == 5 for one in results["params"]])
    apart = results[~is_joint]
    best = apart.loc[apart["mean_test_score"].idxmax()]
    assert len(apart) == 2 * 2 + 3  # values of C, losses; the three best at an offset
    assert set(results[is_joint]["param_loss"]) == {best["param_loss"]}
    assert results[is_joint]["param_C"].max() == best["param_C"]
    assert "the best one also trained jointly" in fitted.chosen_


@pytest.mark.needs_compiled
def test_if_joint_training_is_chosen_the_final_ensemble_is_trained_so(monkeypatch):
    monkeypatch.setattr(Entrant, "is_ahead_of", lambda self, other, n_folds: True)
    fitted = tuned_anyhow(n_estimators=7).fit(X, Y)
    assert fitted.best_params_["training"] == "joint"
    assert fitted.best_params_["n_estimators"] == 5
    assert len(fitted.graphs_) == 5
    assert len(fitted.estimators_) == 1
    assert "rbf, gamma" in fitted.chosen_
    assert ", trained jointly on 5 graphs, C " in fitted.chosen_
    plain = RandomGraphEnsembleClassifier(
        scaling=None, max_iter=1000, random_state=0, **fitted.best_params_
    )
    assert_array_equal(plain.fit(X, Y).predict(X_new), fitted.predict(X_new))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("is_ahead", [False, True])
def test_of_a_list_of_graphs_the_first_are_trained_jointly(monkeypatch, is_ahead):
    monkeypatch.setattr(Entrant, "is_ahead_of", lambda self, other, n_folds: is_ahead)
    graphs = [LabelGraph(4, [(0, k % 3 + 1), (1, 2)]) for k in range(7)]
    fitted = tuned_anyhow(n_estimators=7, graph=graphs).fit(X, Y)
    assert fitted.graphs_ == graphs[:5] if is_ahead else graphs
    plain = RandomGraphEnsembleClassifier(
        7, scaling=None, max_iter=1000, random_state=0, graph=graphs
    ).set_params(**fitted.best_params_)
    assert_array_equal(plain.fit(X, Y).predict(X_new), fitted.predict(X_new))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("limit", ["MOST_JOINT_LABELS", "MOST_JOINT_EXAMPLES"])
def test_joint_training_is_not_tried_above_its_limits(monkeypatch, limit):
    monkeypatch.setattr(_estimator, limit, 3)
    fitted = tuned_anyhow().fit(X, Y)
    assert not any("training" in one for one in fitted.cv_results_["params"])


def test_graphs_with_cycles_are_expected_to_take_longer():
    search, template = tuned(), RandomGraphEnsembleClassifier(20)
    slow = {
        way: [search._members(template, [], way, n).slowness for n in (2, 8, 100)]
        for way in ("separate", "joint")
    }
    assert slow == {"separate": [1.0, 1.0, 1.0], "joint": [1.0, 16.0, 400.0]}


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    ("params", "labels"),
    [
        ({}, 2),
        ({"aggregation": "amm"}, 4),
        ({"n_estimators": 1, "n_estimators_search": 1}, 4),
        ({"training": "separate"}, 4),
    ],
)
def test_joint_training_is_not_tried_where_it_is_no_choice(params, labels):
    fitted = tuned_anyhow(**params).fit(X, Y[:, :labels])
    assert not any("training" in one for one in fitted.cv_results_["params"])


@pytest.mark.needs_compiled
def test_joint_training_that_was_asked_for_is_named():
    fitted = tuned(training="joint").fit(X, Y)
    assert fitted.best_params_["training"] == "joint"
    assert ", trained jointly, C " in fitted.chosen_
    assert "separately" not in fitted.chosen_
    both = tuned(training=["separate", "joint"]).fit(X, Y)
    assert "trained separately and jointly" in both.chosen_
