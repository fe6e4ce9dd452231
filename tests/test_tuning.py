"""The ensemble that tunes itself: the same choice as a plain search, at less cost."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import hamming_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from small_data import GRADES, X, X_new
from small_data import NOISY_Y as Y

from spanforest import RandomGraphEnsembleClassifier, _training
from spanforest.graphs import FROM_LABELS, LabelGraph, informed_random_tree
from spanforest.kernels import median_gamma
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1,
    microlabel_f1_scorer,
    multilabel_accuracy,
)
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.solver import solve_path
from spanforest.tuning import RandomGraphEnsembleClassifierCV

UNIT = median_gamma(X)


def weights_of(model):
    """Return the weights of an ensemble, or of the final ensemble of a search."""
    return getattr(model, "best_estimator_", model)._weights


def tuned(**params):
    """Return a small search that takes no time."""
    defaults = {
        "n_estimators": 4,
        "graph": "random_tree",
        "kernels": "rbf",
        "gammas": [1.0],
        "Cs": [0.1, 1.0],
        "losses": "edge",
        "n_estimators_search": 2,
        "scaling": None,
        "max_iter": 1000,
        "random_state": 0,
    }
    if params.get("kernels", "rbf") not in ("rbf", "poly"):
        defaults["gammas"] = None
    return RandomGraphEnsembleClassifierCV(**(defaults | params))


def mean_of_three(truth, predicted):
    measures = (multilabel_accuracy, microlabel_accuracy, microlabel_f1)
    return np.mean([measure(truth, predicted) for measure in measures])


@pytest.fixture
def exactly(monkeypatch):
    """Let the search train to the tolerance that it is given."""
    monkeypatch.setattr("spanforest.tuning._estimator.SEARCH_TOL", 0.0)
    monkeypatch.setattr("spanforest.tuning._estimator.SEARCH_PASSES", 1000)


# --- the oracle -----------------------------------------------------------------------


@pytest.mark.parametrize("aggregation", ["mve", "amm", "mam"])
def test_scores_and_choice_are_those_of_a_plain_loop(exactly, aggregation):
    fitted = tuned(
        aggregation=aggregation,
        kernels=["linear", "rbf"],
        gammas=[4.0, 0.5],
        Cs=[2.0, 0.1],
        losses=["edge", "hamming"],
        normalize_kernel=True,
        tol=1e-3,
    ).fit(X, Y)
    kernels = [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": 0.5 * UNIT},
        {"kernel": "rbf", "gamma": 4.0 * UNIT},
    ]
    plain = RandomGraphEnsembleClassifier(
        2, aggregation, normalize_kernel=True, tol=1e-3, max_iter=1000, random_state=0
    ).set_params(scaling=None)
    folds = list(LabelCardinalityKFold(3, random_state=0).split(X, Y))
    expected = []
    for kernel, C, loss in product(kernels, (0.1, 2.0), ("edge", "hamming")):
        plain.set_params(**kernel, C=C, loss=loss)
        predictions = [
            plain.fit(X[train], Y[train]).predict(X[test]) for train, test in folds
        ]
        truths = [Y[test] for _, test in folds]
        expected.append(list(map(mean_of_three, truths, predictions)))
    results = fitted.cv_results_
    scores = np.column_stack([results[f"split{f}_test_score"] for f in range(3)])
    # two solutions within 1e-3 of the optimum may differ in a label or two
    assert np.mean(np.isclose(scores, expected)) > 0.8
    assert_allclose(scores, expected, atol=0.05)
    means = np.mean(expected, axis=1)
    assert means[fitted.best_index_] >= means.max() - 0.01
    assert np.ptp(means) > 0.05  # there was something to choose


def test_a_warm_start_reaches_the_optimum_of_every_c(exactly):
    seen = {}

    def remember(y_true, y_pred):
        seen.setdefault(len(seen), y_pred.copy())
        return 0.0

    Cs = [0.1, 1.0, 10.0]
    tuned(Cs=Cs, tol=1e-5, cv=[(range(40), range(40, 60))], scoring=remember).fit(X, Y)
    for C, predicted in zip(Cs, seen.values(), strict=True):
        cold = RandomGraphEnsembleClassifier(
            2, kernel="rbf", gamma=UNIT, C=C, tol=1e-5, max_iter=1000, random_state=0
        ).set_params(scaling=None)
        assert_array_equal(predicted, cold.fit(X[:40], Y[:40]).predict(X[40:]))


@pytest.mark.parametrize("kernels", ["linear", "rbf", "precomputed"])
def test_the_final_ensemble_is_the_plain_one_with_the_chosen_parameters(kernels):
    data, new = (X @ X.T, X_new @ X.T) if kernels == "precomputed" else (X, X_new)
    fitted = tuned(kernels=kernels, losses=["hamming", "edge"]).fit(data, Y)
    plain = RandomGraphEnsembleClassifier(
        4, scaling=None, max_iter=1000, random_state=0
    )
    plain.set_params(**fitted.best_params_).fit(data, Y)
    for one in (fitted, fitted.best_estimator_):
        assert one.graphs_ == plain.graphs_
        assert_array_equal(weights_of(one), weights_of(plain))
        assert_array_equal(one.intercept_, plain.intercept_)
        assert_array_equal(one.predict(new), plain.predict(new))
        assert_array_equal(one.decision_function(new), plain.decision_function(new))
    assert fitted.best_estimator_.get_params() == plain.get_params()
    assert fitted.best_params_ == {
        name: value
        for name, value in plain.get_params().items()
        if name in fitted.best_params_
    }


def test_the_search_has_the_first_members_of_the_final_ensemble(exactly):
    whole = [(range(60), range(60))]
    fitted = tuned(cv=whole, tol=1e-4, n_estimators_search=9).fit(X, Y)  # has 4
    assert fitted.best_score_ == pytest.approx(mean_of_three(Y, fitted.predict(X)))


def test_a_list_of_graphs_is_searched_from_its_beginning():
    trees = [LabelGraph(4, [(0, k), (1, 2)]) for k in (1, 2, 3, 3)]
    asked = []

    def second(n_labels, rng):
        asked.append(n_labels)
        return trees[1]

    fitted = tuned(graph=[trees[0], second, *trees[2:]], n_estimators_search=1)
    assert fitted.fit(X, Y).graphs_ == trees
    assert len(asked) == 1  # in the final ensemble only


# --- the results --------------------------------------------------------------------


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
        for name in ("kernel", "gamma", "C", "loss"):
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
    if fitted.gamma_ is not None:
        chosen["gamma"] = fitted.gamma_
    assert chosen == fitted.best_params_
    for name in ("fit", "score"):
        assert np.all(results[f"mean_{name}_time"] > 0)
        assert np.all(results[f"std_{name}_time"] >= 0)


def test_the_columns_are_those_of_a_grid_search():
    ensemble = RandomGraphEnsembleClassifier(1, kernel="rbf", tol=0.5)
    grid = {"kernel": ["rbf"], "gamma": [1.0], "C": [1.0], "loss": ["edge"]}
    search = GridSearchCV(ensemble, grid, cv=3).fit(X, Y)
    results = tuned(Cs=1.0, n_estimators=1).fit(X, Y).cv_results_
    assert set(results) == set(search.cv_results_)


def test_of_equal_candidates_the_first_and_smallest_is_chosen():
    fitted = tuned(
        kernels=["rbf", "linear"],
        gammas=[2.0, 1.0],
        Cs=[1.0, 0.1],
        losses=["hamming", "edge"],
        scoring=lambda y_true, y_pred: 1.0,
    ).fit(X, Y)
    assert fitted.best_index_ == 0
    assert (fitted.kernel_, fitted.C_, fitted.loss_) == ("rbf", 0.1, "hamming")
    assert fitted.gamma_ == pytest.approx(UNIT)
    assert set(fitted.cv_results_["rank_test_score"]) == {1}
    final = fitted.best_estimator_.get_params()
    assert {name: final[name] for name in fitted.best_params_} == fitted.best_params_


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("multilabel_accuracy", multilabel_accuracy),
        ("microlabel_accuracy", microlabel_accuracy),
        ("microlabel_f1", microlabel_f1),
        ("mean", mean_of_three),
        (lambda t, p: -hamming_loss(t, p), lambda t, p: microlabel_accuracy(t, p) - 1),
    ],
)
@pytest.mark.parametrize("signs", [False, True])
def test_candidates_are_judged_by_the_measure_asked_for(name, measure, signs):
    always = np.ones((60, 1), int)
    labels = np.hstack([Y, always])
    labels = 2 * labels - 1 if signs else labels
    by_name = tuned(scoring=name).fit(X, labels)
    by_hand = tuned(scoring=lambda t, p: measure(t > 0, p > 0)).fit(X, labels)
    assert_allclose(
        by_name.cv_results_["mean_test_score"], by_hand.cv_results_["mean_test_score"]
    )


# --- what it costs --------------------------------------------------------------------


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


# --- what does not matter -------------------------------------------------------------


def without_times(results):
    return {name: value for name, value in results.items() if "time" not in name}


@pytest.mark.parametrize("other", [{"n_jobs": 2}, {"verbose": 1}])
def test_threads_and_progress_change_no_bit(other):
    params = {"kernels": ["linear", "rbf"], "losses": ["edge", "hamming"]}
    plain, fitted = tuned(**params).fit(X, Y), tuned(**params, **other).fit(X, Y)
    assert fitted.best_params_ == plain.best_params_
    for name, value in without_times(plain.cv_results_).items():
        assert_array_equal(fitted.cv_results_[name], value)
    assert_array_equal(weights_of(fitted), weights_of(plain))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("kernels", ["linear", "rbf", "poly"])
def test_sparse_examples_are_tuned_like_dense_ones(form, kernels):
    params = {"kernels": kernels, "normalize_kernel": True, "Cs": [1e-6, 1.0]}
    dense, fitted = tuned(**params).fit(X, Y), tuned(**params).fit(form(X), Y)
    assert fitted.C_ == dense.C_ == 1.0
    if kernels != "linear":
        assert fitted.gamma_ == pytest.approx(dense.gamma_)
    assert_allclose(fitted.best_score_, dense.best_score_, atol=0.05)
    assert fitted.predict(form(X_new)).shape == (25, 4)


def test_scaling_the_features_changes_gamma_and_no_score():
    one, other = tuned().fit(X, Y), tuned().fit(1000 * X + 5, Y)
    assert other.gamma_ == pytest.approx(one.gamma_ / 1e6)
    assert_allclose(other.best_score_, one.best_score_, atol=0.05)
    assert tuned().fit(np.ones((60, 2)), Y).gamma_ == 1.0  # all distances are zero


def test_a_precomputed_kernel_is_the_kernel():
    K = rbf_kernel(X, gamma=UNIT)
    given, fitted = tuned(kernels="precomputed").fit(K, Y), tuned().fit(X, Y)
    assert given.best_score_ == pytest.approx(fitted.best_score_, abs=0.02)
    assert given.C_ == fitted.C_
    assert given.predict(rbf_kernel(X_new, X, gamma=UNIT)).shape == (25, 4)


def test_parameters_of_a_callable_are_kept_from_other_kernels():
    def scaled(A, B, scale):
        return rbf_kernel(A, B, gamma=scale)

    kernels = ["linear", scaled]
    fitted = tuned(kernels=kernels, kernel_params={"scale": UNIT}).fit(X, Y)
    assert fitted.kernel_ in kernels
    plain = RandomGraphEnsembleClassifier(
        4, scaling=None, kernel_params={"scale": UNIT}
    )
    plain.set_params(**fitted.best_params_, max_iter=1000, random_state=0).fit(X, Y)
    assert_array_equal(weights_of(plain), weights_of(fitted))
    for own in (["linear"], [scaled]):  # either may win
        only = tuned(kernels=[*own, scaled], kernel_params={"scale": UNIT})
        only.fit(X, Y)
        expected = only.best_estimator_.predict(X_new)
        assert_array_equal(only.predict(X_new), expected)
    few = tuned(kernels=["linear", scaled], kernel_params={"scale": 1e9}).fit(X, Y)
    assert few.kernel_ == "linear"  # the other says nothing of new examples
    assert few.predict(X_new).shape == (25, 4)


# --- labels and folds of every kind ---------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        GRADES,
        GRADES[:, 0],
        np.array(["low", "middle", "top"])[GRADES[:, 0]],
        Y[:, 0],
        np.array(["no", "yes"])[Y],
        pd.DataFrame(Y, columns=list("abcd")),
        sparse.csr_matrix(Y),
        np.zeros((60, 3), int),
    ],
    ids=["grades", "classes", "names", "vector", "strings", "frame", "csr", "constant"],
)
def test_labels_of_any_kind_are_tuned(labels):
    fitted = tuned(n_estimators=2).fit(X, labels)
    plain = fitted.best_estimator_.predict(X_new)
    assert_array_equal(fitted.predict(X_new), plain)
    assert np.isfinite(fitted.best_score_)
    assert fitted.score(X, labels) > 0.3


def test_values_that_a_fold_does_not_show_are_as_unknown_as_to_a_plain_fit(exactly):
    labels = np.column_stack([Y, GRADES[:, 0] + 1, np.eye(60, dtype=int)[:, 0]])
    labels[:3, 4] = [0, 0, 7]  # the lowest and the highest value
    seen = []

    def keep(y_true, y_pred):
        seen.append((y_true, y_pred))
        return 1.0

    folds = [(range(20, 60), range(20))]
    tuned(cv=folds, scoring=keep, Cs=1.0, tol=1e-4).fit(X, labels)
    ((truth, predicted),) = seen
    assert_array_equal(truth, labels[:20])
    plain = RandomGraphEnsembleClassifier(
        2, kernel="rbf", gamma=UNIT, tol=1e-4, max_iter=1000, random_state=0
    ).set_params(scaling=None)
    assert_array_equal(predicted, plain.fit(X[20:], labels[20:]).predict(X[:20]))


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
    for (truth, predicted), (_, test) in zip(seen[:4:2], folds, strict=True):
        known = np.isfinite(labels[test])
        assert_array_equal(truth[known], labels[test][known])
        assert_array_equal(truth[~known], predicted[~known])
        per_fold.append((truth == predicted)[known].mean())
    assert micro.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(per_fold))
    assert np.all(scores > 0)


def test_a_label_that_a_fold_never_observes_is_predicted_nonetheless():
    labels = Y.astype(float)
    labels[:40, 1] = np.nan
    fitted = tuned(cv=[(range(40), range(40, 60))]).fit(X, labels)
    assert set(np.unique(fitted.predict(X_new))) <= {0, 1}


@pytest.mark.parametrize(
    "cv", [KFold(4), list(KFold(4).split(X)), iter(KFold(4).split(X))]
)
def test_folds_may_be_given(cv):
    results = tuned(cv=cv, kernels=["linear", "rbf"]).fit(X, Y).cv_results_
    assert "split3_test_score" in results
    expected = tuned(cv=KFold(4), kernels=["linear", "rbf"]).fit(X, Y).cv_results_
    assert_array_equal(results["mean_test_score"], expected["mean_test_score"])


def test_a_tree_of_most_information_is_learned_from_each_fold():
    fitted = tuned(graph="chow_liu", n_estimators=1).fit(X, Y)
    assert fitted.graphs_[0].n_edges == 3


def test_trees_of_the_search_see_the_labels_of_training_rows_only(monkeypatch):
    seen = []

    def remember(labels, rng):
        seen.append(labels.copy())
        return informed_random_tree(labels, rng)

    monkeypatch.setitem(FROM_LABELS, "informed_tree", remember)
    folds = list(KFold(3).split(X))
    graph = RandomGraphEnsembleClassifierCV().graph
    tuned(graph=graph, cv=folds, n_estimators=4, n_estimators_search=2).fit(X, Y)

    labels = [Y[train] for train, _ in folds for _ in range(2)] + [Y] * 4
    for drawn_from, expected in zip(seen, labels, strict=True):
        assert_array_equal(drawn_from, expected)


# --- life as an estimator -------------------------------------------------------------


def test_a_refit_forgets_the_first_fit():
    again = tuned().fit(pd.DataFrame(X, columns=list("abcd")), Y)
    again.set_params(kernels="linear", gammas=None).fit(X[:, :3], Y[:, :2])
    fresh = clone(again).fit(X[:, :3], Y[:, :2])
    assert vars(again).keys() == vars(fresh).keys()
    assert again.kernel_ == fresh.kernel_ == "linear"
    assert_array_equal(again.coef_, fresh.coef_)


def test_a_saved_model_predicts_the_same():
    fitted = tuned(probability=True).fit(X, Y)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(loaded.predict_proba(X_new), fitted.predict_proba(X_new))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_gives_one_seed_to_the_search_and_the_ensemble(make):
    fitted = tuned(random_state=make(3)).fit(X, Y)
    same = tuned(random_state=make(3)).fit(X, Y)
    assert_array_equal(weights_of(same), weights_of(fitted))
    plain = clone(fitted.best_estimator_).fit(X, Y)
    assert_array_equal(weights_of(plain), weights_of(fitted))
    folds = LabelCardinalityKFold(3, random_state=plain.random_state)
    again = tuned(random_state=plain.random_state, cv=folds).fit(X, Y)
    assert again.best_score_ == fitted.best_score_


def test_a_final_fit_that_stops_short_warns_the_caller_once():
    with pytest.warns(ConvergenceWarning, match="4 of 4 members stopped") as caught:
        tuned(Cs=100.0, tol=1e-6, max_iter=2).fit(X, Y)
    (warning,) = caught
    assert warning.filename == __file__


def test_switching_the_aggregation_needs_no_refit():
    fitted = tuned().fit(X, Y)
    expected = fitted.best_estimator_.predict(X_new, aggregation="mve")
    assert_array_equal(fitted.set_params(aggregation="mve").predict(X_new), expected)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": []}, "Cs must hold at least one value"),
        ({"Cs": [1.0, 0.0]}, "each of Cs must be a number greater than 0; got 0"),
        ({"Cs": "1"}, "each of Cs must be a number greater than 0; got '1'"),
        ({"gammas": [-1.0]}, "each of gammas must be a number greater than 0; got -1"),
        ({"gammas": []}, "gammas must hold at least one value"),
        ({"kernels": "linear", "gammas": [1.0]}, "kernels are 'linear'. Leave gammas"),
        ({"kernels": []}, "kernels must hold at least one value"),
        ({"kernels": ["rbf", "gaussian"]}, "Unknown kernel 'gaussian'. Pass one of"),
        ({"kernels": ["rbf", "precomputed"]}, 'Pass kernels="precomputed"; got'),
        ({"kernel_params": {"scale": 1}}, "arguments of a callable kernel"),
        ({"losses": ["edge", "hinge"]}, "loss must be one of .* got 'hinge'"),
        ({"losses": ()}, "losses must hold at least one value"),
        ({"cv": 1}, "cv=1 folds cannot be made of n_samples=60"),
        ({"cv": 61}, "cv=61 folds cannot be made of n_samples=60"),
        ({"cv": "three"}, "Expected `cv` as an integer"),
        ({"scoring": "accuracy"}, "scoring must be one of 'mean', .* got 'accuracy'"),
        ({"scoring": lambda t, p: np.nan}, "the result of scoring must be a number"),
        ({"n_estimators_search": 0}, "n_estimators_search must be a whole number"),
        ({"n_estimators": 0}, "n_estimators must be a whole number"),
        ({"aggregation": "mean"}, "aggregation must be one of"),
        ({"tol": 0}, "tol must be a number greater than 0"),
    ],
)
def test_bad_parameters_are_refused_with_a_reason(params, message):
    with pytest.raises(ValueError, match=message):
        tuned(**params).fit(X, Y)


def test_f1_of_labels_with_many_values_is_refused():
    with pytest.raises(
        ValueError, match=r"label 0 has 3. Pass scoring=\"microlabel_acc"
    ):
        tuned(scoring="microlabel_f1").fit(X, GRADES)


def test_parameters_that_are_tuned_cannot_be_set():
    with pytest.raises(ValueError, match="Invalid parameter 'C'"):
        tuned().set_params(C=1.0)


def test_a_search_that_cannot_be_made_is_refused_with_a_reason():
    with pytest.raises(ValueError, match="scoring must be one of 'mean'"):
        tuned(scoring=microlabel_f1_scorer).fit(X, Y)
    with pytest.raises(ValueError, match="Unknown kernel 'foo'"):
        tuned(kernels=["foo"], gammas=[1.0]).fit(X, Y)
    rare = np.full(60, np.nan)
    rare[:2] = 0, 1
    with pytest.raises(ValueError, match="no label is observed in the test"):
        tuned(cv=3).fit(X, rare)
