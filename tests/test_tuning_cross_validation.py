"""The search over candidates: the same scores as a plain loop, at less cost."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata
from searches import UNIT, mean_of_three, tuned
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from small_data import GRADES, X, X_new
from small_data import NOISY_Y as Y

from spanforest import RandomGraphEnsembleClassifier, _training
from spanforest.aggregation import AGGREGATIONS
from spanforest.calibration import fit_calibration
from spanforest.graphs import FROM_LABELS, informed_random_tree
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.solver import solve_path
from spanforest.tuning import RandomGraphEnsembleClassifierCV


@pytest.fixture
def exactly(monkeypatch):
    """Let the search train to the tolerance that it is given."""
    monkeypatch.setattr("spanforest.tuning._estimator.SEARCH_TOL", 0.0)
    monkeypatch.setattr("spanforest.tuning._estimator.SEARCH_PASSES", 1000)


@cache
def scores_of_a_plain_loop():
    """Return the scores of every candidate on every fold, for each aggregation."""
    kernels = [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": 0.5 * UNIT},
        {"kernel": "rbf", "gamma": 4.0 * UNIT},
    ]
    plain = RandomGraphEnsembleClassifier(
        2, normalize_kernel=True, tol=1e-5, max_iter=5000, random_state=0, scaling=None
    )
    folds = list(LabelCardinalityKFold(3, random_state=0).split(X, Y))
    scores = {name: [] for name in AGGREGATIONS}
    for kernel, C, loss in product(kernels, (0.1, 2.0), ("edge", "hamming")):
        plain.set_params(**kernel, C=C, loss=loss)
        fitted = [clone(plain).fit(X[train], Y[train]) for train, _ in folds]
        for name, rows in scores.items():
            predictions = [
                one.predict(X[test], aggregation=name)
                for one, (_, test) in zip(fitted, folds, strict=True)
            ]
            truths = [Y[test] for _, test in folds]
            rows.append(list(map(mean_of_three, truths, predictions)))
    return scores


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", ["mam", "mve", "amm"])
def test_scores_and_choice_are_those_of_a_plain_loop(exactly, aggregation):
    fitted = tuned(
        aggregation=aggregation,
        kernels=["linear", "rbf"],
        gammas=[4.0, 0.5],
        Cs=[2.0, 0.1],
        losses=["edge", "hamming"],
        normalize_kernel=True,
        tol=1e-5,
        max_iter=5000,
    ).fit(X, Y)
    expected = scores_of_a_plain_loop()[aggregation]
    results = fitted.cv_results_
    scores = np.column_stack([results[f"split{f}_test_score"] for f in range(3)])
    # two solutions within 1e-5 of the optimum may differ in a label
    assert np.mean(np.isclose(scores, expected)) > 0.8
    assert_allclose(scores, expected, atol=0.05)
    means = np.mean(expected, axis=1)
    assert means[fitted.best_index_] >= means.max() - 0.01
    assert np.ptp(means) > 0.05  # there was something to choose


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", ["mam", "amm"])
def test_scores_with_offsets_are_those_of_plain_ensembles(exactly, aggregation):
    options = {"tol": 1e-3, "aggregation": aggregation}
    offsets = [0.0, -0.4, 0.8]
    fitted = tuned(offsets=offsets, Cs=1.0, **options).fit(X, Y)
    results = fitted.cv_results_
    assert results["param_offset"].tolist() == offsets
    plain = RandomGraphEnsembleClassifier(
        2, kernel="rbf", gamma=UNIT, scaling=None, max_iter=1000, random_state=0
    ).set_params(**options)
    for fold, (train, test) in enumerate(
        LabelCardinalityKFold(3, random_state=0).split(X, Y)
    ):
        for offset, score in zip(
            offsets, results[f"split{fold}_test_score"], strict=True
        ):
            plain.set_params(offset=offset).fit(X[train], Y[train])
            expected = mean_of_three(Y[test], plain.predict(X[test]))
            assert score == pytest.approx(expected, abs=0.02)
    assert fitted.best_estimator_.offset == fitted.offset_


def test_offsets_are_tried_with_the_best_values_of_c_and_loss():
    fitted = tuned(
        offsets=[0.0, 0.2], Cs=[1e-5, 1e-4, 0.1, 1.0], losses=["edge", "hamming"]
    ).fit(X, Y)
    table = pd.DataFrame(fitted.cv_results_)
    plain, moved = (table[table["param_offset"] == offset] for offset in (0.0, 0.2))
    best = plain.nlargest(3, "mean_test_score")
    pairs = [
        set(zip(t["param_C"], t["param_loss"], strict=True)) for t in (best, moved)
    ]
    assert len(plain) == 8
    assert pairs[0] == pairs[1]


def test_an_offset_that_helps_the_measure_is_chosen():
    rare = (X[:, :2] + np.random.default_rng(1).normal(size=(60, 2)) > 1.2).astype(int)
    fitted = tuned(offsets=[0.0, 1.0, -1.0], scoring="f1_micro", Cs=1.0).fit(X, rare)
    plain = tuned(scoring="f1_micro", Cs=1.0).fit(X, rare)
    assert fitted.offset_ == 1.0
    assert fitted.best_score_ > plain.best_score_ + 0.05
    assert fitted.predict(X_new).sum() > plain.predict(X_new).sum()


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", ["mam", "amm"])
def test_scores_with_thresholds_are_those_of_calibrated_ensembles(exactly, aggregation):
    options = {"tol": 1e-3, "aggregation": aggregation, "loss": "hamming"}
    thresholds, n_folds = [0.5, 0.3, 0.15], 3
    fitted = tuned(
        thresholds=thresholds,
        Cs=1.0,
        losses="hamming",
        tol=1e-3,
        aggregation=aggregation,
    ).fit(X, Y)
    plain = RandomGraphEnsembleClassifier(
        2, kernel="rbf", gamma=UNIT, scaling=None, max_iter=1000, random_state=0
    ).set_params(**options)
    folds = list(LabelCardinalityKFold(n_folds, random_state=0).split(X, Y))
    margins = [
        clone(plain).fit(X[train], Y[train]).decision_function(X[test])
        for train, test in folds
    ]
    results = pd.DataFrame(fitted.cv_results_).set_index("param_threshold")
    for f, (_, test) in enumerate(folds):
        others = [g for g in range(n_folds) if g != f]
        pairs, own = (
            [np.column_stack([0 * m, m]) for m in np.concatenate(some).T]
            for some in ([margins[g] for g in others], [margins[f]])
        )
        known = np.concatenate([Y[folds[g][1]] for g in others])
        calibration = fit_calibration(pairs, known)
        P = np.column_stack([p[:, 1] for p in calibration.probabilities(own)])
        for threshold in thresholds:
            expected = mean_of_three(Y[test], (threshold < P).astype(int))
            score = results.loc[threshold, f"split{f}_test_score"]
            assert score == pytest.approx(expected, abs=0.02)


def test_a_threshold_that_helps_the_measure_is_chosen():
    def how_many_are_on(truth, predicted):
        return predicted.mean()

    fitted = tuned(scoring=how_many_are_on, thresholds=[0.4, 0.02], Cs=1.0).fit(X, Y)
    assert (fitted.threshold_, fitted.offset_) == (0.02, 0.0)
    assert "threshold 0.02: how_many_are_on" in fitted.chosen_
    final = fitted.best_estimator_
    assert (final.threshold, final.probability) == (0.02, True)
    expected = (final.predict_proba(X_new) > 0.02).astype(int)
    assert_array_equal(fitted.predict(X_new), expected)
    again = RandomGraphEnsembleClassifier(
        **final.get_params() | fitted.best_params_
    ).fit(X, Y)
    assert_array_equal(again.predict(X_new), expected)
    label_sets = final.predict(X_new, "amm")
    fitted.set_params(aggregation="amm")
    assert_array_equal(fitted.predict(X_new), label_sets)


def test_thresholds_are_for_several_labels_with_two_values():
    for y in (GRADES, Y[:, 0]):
        fitted = tuned(thresholds="auto", scoring="microlabel_accuracy").fit(X, y)
        assert "param_threshold" not in fitted.cv_results_


def test_many_examples_are_not_calibrated_unless_thresholds_are_named(monkeypatch):
    monkeypatch.setattr("spanforest.tuning._candidates.MOST_CALIBRATED", len(X) - 1)
    for thresholds in ("auto", [0.4]):
        fitted = tuned(thresholds=thresholds, Cs=1.0).fit(X, Y)
        is_tried = "param_threshold" in fitted.cv_results_
        assert is_tried == (thresholds != "auto")


@pytest.mark.needs_compiled
def test_larger_values_of_c_change_nothing_about_smaller_ones():
    rng = np.random.default_rng(0)
    clean = (X @ rng.normal(size=(X.shape[1], 3)) > 0).astype(int)
    options = {"kernels": "rbf", "gammas": [0.3], "n_estimators": 2}
    chosen = tuned(Cs="auto", **options).fit(X, clean)
    assert 100.0 in chosen.cv_results_["param_C"]  # 10 was best after the first round
    given = tuned(Cs=[0.3, 1, 3, 10, 30, 100], **options).fit(X, clean)
    for name, values in given.cv_results_.items():
        if "time" not in name:
            assert_array_equal(chosen.cv_results_[name], values)


@pytest.mark.needs_compiled
def test_a_warm_start_reaches_the_optimum_of_every_c(exactly):
    seen = []

    def remember(y_true, y_pred):
        seen.append(y_pred.copy())
        return 0.0

    Cs = [0.1, 1.0, 10.0]
    tuned(Cs=Cs, tol=1e-5, cv=[(range(40), range(40, 60))], scoring=remember).fit(X, Y)
    for C, predicted in zip(Cs, seen[1:], strict=True):  # the first was a trial
        cold = RandomGraphEnsembleClassifier(
            2, kernel="rbf", gamma=UNIT, C=C, tol=1e-5, max_iter=1000, random_state=0
        ).set_params(scaling=None)
        assert_array_equal(predicted, cold.fit(X[:40], Y[:40]).predict(X[40:]))


@pytest.mark.needs_compiled
def test_the_search_has_the_first_members_of_the_final_ensemble(exactly):
    whole = [(range(60), range(60))]
    fitted = tuned(cv=whole, tol=1e-4, n_estimators_search=9).fit(X, Y)  # has 4
    assert fitted.best_score_ == pytest.approx(mean_of_three(Y, fitted.predict(X)))


@pytest.mark.needs_compiled
def test_results_are_a_row_per_candidate_that_fit_together():
    fitted = tuned(
        kernels=("linear", "rbf"),
        gammas=(2, 1),
        Cs=(1, 0.1),
        losses=("hamming", "edge"),
    ).fit(X, Y)
    results = fitted.cv_results_
    table = pd.DataFrame(results)
    assert len(table) == 3 * 2 * 2
    assert table["param_C"].tolist() == [0.1, 0.1, 1.0, 1.0] * 3
    assert table["param_loss"].tolist() == ["hamming", "edge"] * 6
    assert table["param_kernel"].tolist() == ["linear"] * 4 + ["rbf"] * 8
    gammas = results["param_gamma"]
    assert_array_equal(gammas.mask, [True] * 4 + [False] * 8)
    assert_allclose(gammas[4:].data, np.repeat([UNIT, 2 * UNIT], 4))
    for i, params in enumerate(results["params"]):
        for name in ("kernel", "gamma", "C", "loss", "offset"):
            value = results[f"param_{name}"][i]
            assert params[name] == value if name in params else value is np.ma.masked
    splits = np.column_stack([results[f"split{f}_test_score"] for f in range(3)])
    assert_allclose(results["mean_test_score"], splits.mean(axis=1))
    assert_allclose(results["std_test_score"], splits.std(axis=1))
    ranks = rankdata(-results["mean_test_score"], method="min")
    assert_array_equal(results["rank_test_score"], ranks)
    assert results["rank_test_score"][fitted.best_index_] == 1
    assert results["mean_test_score"][fitted.best_index_] == fitted.best_score_
    assert results["params"][fitted.best_index_] == fitted.best_params_
    chosen = {"kernel": fitted.kernel_, "C": fitted.C_, "loss": fitted.loss_}
    chosen["offset"] = fitted.offset_
    if fitted.gamma_ is not None:
        chosen["gamma"] = fitted.gamma_
    assert chosen == fitted.best_params_
    for name in ("fit", "score"):
        assert np.all(results[f"mean_{name}_time"] > 0)
        assert np.all(results[f"std_{name}_time"] >= 0)


def test_the_columns_are_those_of_a_grid_search():
    ensemble = RandomGraphEnsembleClassifier(1, kernel="rbf", tol=0.5)
    grid = {"kernel": ["rbf"], "gamma": [1.0], "C": [1.0], "loss": ["edge"]}
    grid["offset"] = [0.0]
    search = GridSearchCV(ensemble, grid, cv=3).fit(X, Y)
    results = tuned(Cs=1.0, n_estimators=1).fit(X, Y).cv_results_
    assert set(results) == set(search.cv_results_)


def test_the_kernel_of_the_training_examples_is_computed_once():
    calls = []

    def kernel(A, B):
        calls.append((len(A), len(B)))
        return rbf_kernel(A, B)

    fitted = tuned(kernels=kernel, losses=["edge", "hamming"]).fit(X, Y)
    assert calls == [(60, 60)]
    fitted.predict(X_new)
    assert calls == [(60, 60), (25, 60)]


def test_the_kernel_is_computed_once_per_gamma(monkeypatch):
    calls = []

    def counted(X, Y, gamma):
        calls.append(gamma)
        return rbf_kernel(X, Y, gamma=gamma)

    monkeypatch.setattr("spanforest.kernels._registry.gaussian_kernel", counted)
    tuned(kernels=["linear", "rbf"], gammas=[0.5, 1, 2]).fit(X, Y)
    assert_allclose(calls, [0.5 * UNIT, UNIT, 2 * UNIT])


@pytest.mark.needs_compiled
def test_a_path_makes_fewer_passes_than_fits_from_scratch(monkeypatch):
    passes = []

    def counted(*args, **options):
        for solution in solve_path(*args, **options):
            passes.append(solution.n_iter)
            yield solution

    monkeypatch.setattr(_training, "solve_path", counted)
    Cs = [0.3, 1.0, 3.0, 10.0]
    options = {"cv": [(range(60), range(60))], "n_estimators_search": 1}
    tuned(Cs=Cs, n_estimators=1, **options).fit(X, Y)
    along_path = sum(passes[:4])
    passes.clear()
    for C in Cs:
        tuned(Cs=C, n_estimators=1, **options).fit(X, Y)
    assert along_path < sum(passes[::2])  # each is followed by the final fit


@pytest.mark.needs_compiled
def test_values_that_a_fold_does_not_show_are_as_unknown_as_to_a_plain_fit(exactly):
    labels = np.column_stack([Y, GRADES[:, 0] + 1, np.eye(60, dtype=int)[:, 0]])
    labels[:3, 4] = [0, 0, 7]  # the lowest and the highest value
    seen = []

    def keep(y_true, y_pred):
        seen.append((y_true, y_pred))
        return 1.0

    folds = [(range(20, 60), range(20))]
    tuned(cv=folds, scoring=keep, Cs=1.0, tol=1e-4).fit(X, labels)
    (truth, predicted) = seen[1]  # the first call tries the function out
    assert_array_equal(truth, labels[:20])
    plain = RandomGraphEnsembleClassifier(
        2, kernel="rbf", gamma=UNIT, tol=1e-4, max_iter=1000, random_state=0
    ).set_params(scaling=None)
    assert_array_equal(predicted, plain.fit(X[20:], labels[20:]).predict(X[:20]))


@pytest.mark.needs_compiled
def test_missing_labels_do_not_count():
    labels = Y.astype(float)
    labels[::3, 0] = np.nan
    labels[5] = np.nan
    seen = []

    def keep(y_true, y_pred):
        seen.append((y_true, y_pred))
        return 1.0

    folds = [(range(30, 60), range(30)), (range(30), range(30, 60))]
    tuned(scoring=keep, cv=folds).fit(X, labels)
    scores = tuned(cv=folds).fit(X, labels).cv_results_["mean_test_score"]
    micro = tuned(cv=folds, scoring="microlabel_accuracy").fit(X, labels)
    per_fold = []
    for (truth, predicted), (_, test) in zip(seen[1:5:2], folds, strict=True):
        own = np.delete(labels, 5, 0)[[i - (i > 5) for i in test if i != 5]]
        known = np.isfinite(own)  # example 5 is left out
        assert_array_equal(truth[known], own[known])
        assert_array_equal(truth[~known], predicted[~known])
        per_fold.append((truth == predicted)[known].mean())
    assert micro.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(per_fold))
    assert np.all(scores > 0)


def test_a_label_that_a_fold_never_observes_is_predicted_nonetheless():
    labels = Y.astype(float)
    labels[:40, 1] = np.nan
    fitted = tuned(cv=[(range(40), range(40, 60))]).fit(X, labels)
    assert set(np.unique(fitted.predict(X_new))) <= {0, 1}


def test_a_tree_of_most_information_is_learned_from_each_fold():
    fitted = tuned(graph="chow_liu", n_estimators=1).fit(X, Y)
    assert fitted.graphs_[0].n_edges == 3


def test_trees_of_the_search_see_the_labels_of_training_rows_only(monkeypatch):
    seen = []

    def remember(labels, rng, sample_weight):
        seen.append(labels.copy())
        return informed_random_tree(labels, rng, sample_weight)

    monkeypatch.setitem(FROM_LABELS, "informed_tree", remember)
    folds = list(KFold(3).split(X))
    graph = RandomGraphEnsembleClassifierCV().graph
    tuned(graph=graph, cv=folds, n_estimators=4, n_estimators_search=2).fit(X, Y)

    labels = [Y[train] for train, _ in folds for _ in range(2)] + [Y] * 4
    for drawn_from, expected in zip(seen, labels, strict=True):
        assert_array_equal(drawn_from, expected)
