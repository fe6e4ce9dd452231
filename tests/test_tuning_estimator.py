"""The ensemble that tunes itself behaves like the one that it chooses."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from searches import UNIT, tuned
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import hamming_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from small_data import GRADES, X, X_new
from small_data import NOISY_Y as Y

from spanforest import RandomGraphEnsembleClassifier, load, save
from spanforest.graphs import LabelGraph
from spanforest.kernels import ForestKernel
from spanforest.model_selection import LabelCardinalityKFold
from spanforest.tuning import _examples
from spanforest.tuning._cross_validation import Search


def weights_of(model):
    """Return the weights of an ensemble, or of the final ensemble of a search."""
    return getattr(model, "best_estimator_", model)._weights


@pytest.mark.needs_compiled
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
        assert_array_equal(one.cell_intercept_, plain.cell_intercept_)
        assert_array_equal(one.predict(new), plain.predict(new))
        assert_array_equal(one.decision_function(new), plain.decision_function(new))
    assert fitted.best_estimator_.get_params() == plain.get_params()
    assert fitted.best_params_ == {
        name: value
        for name, value in plain.get_params().items()
        if name in fitted.best_params_
    }


def test_a_list_of_graphs_is_searched_from_its_beginning():
    trees = [LabelGraph(4, [(0, k), (1, 2)]) for k in (1, 2, 3, 3)]
    asked = []

    def second(n_labels, rng):
        asked.append(n_labels)
        return trees[1]

    fitted = tuned(graph=[trees[0], second, *trees[2:]], n_estimators_search=1)
    assert fitted.fit(X, Y).graphs_ == trees
    assert len(asked) == 1  # in the final ensemble only


def without_times(results):
    return {name: value for name, value in results.items() if "time" not in name}


@pytest.mark.needs_compiled
@pytest.mark.parametrize("other", [{"n_jobs": 2}, {"verbose": 1}])
def test_threads_and_progress_change_no_bit(other):
    params = {"kernels": ["linear", "rbf"], "losses": ["edge", "hamming"]}
    plain, fitted = tuned(**params).fit(X, Y), tuned(**params, **other).fit(X, Y)
    assert fitted.best_params_ == plain.best_params_
    for name, value in without_times(plain.cv_results_).items():
        assert_array_equal(fitted.cv_results_[name], value)
    assert_array_equal(weights_of(fitted), weights_of(plain))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("kernels", ["linear", "rbf", "laplacian", "poly"])
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


@pytest.mark.needs_compiled
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


@pytest.mark.needs_compiled
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
    found, plain = (one.predict(X_new) for one in (fitted, fitted.best_estimator_))
    if sparse.issparse(labels):
        found, plain = found.toarray(), plain.toarray()
    assert_array_equal(found, plain)
    assert np.isfinite(fitted.best_score_)
    assert fitted.score(X, labels) > 0.3


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "cv", [KFold(4), list(KFold(4).split(X)), iter(KFold(4).split(X))]
)
def test_folds_may_be_given(cv):
    results = tuned(cv=cv, kernels=["linear", "rbf"]).fit(X, Y).cv_results_
    assert "split3_test_score" in results
    expected = tuned(cv=KFold(4), kernels=["linear", "rbf"]).fit(X, Y).cv_results_
    assert_array_equal(results["mean_test_score"], expected["mean_test_score"])


@pytest.mark.needs_compiled
def test_a_refit_forgets_the_first_fit():
    again = tuned().fit(pd.DataFrame(X, columns=list("abcd")), Y)
    again.set_params(kernels="linear", gammas=None).fit(X[:, :3], Y[:, :2])
    fresh = clone(again).fit(X[:, :3], Y[:, :2])
    assert vars(again).keys() == vars(fresh).keys()
    assert again.kernel_ == fresh.kernel_ == "linear"
    assert_array_equal(again.cell_coef_, fresh.cell_coef_)


@pytest.mark.needs_compiled
def test_a_saved_model_predicts_the_same():
    fitted = tuned(probability=True).fit(X, Y)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(loaded.predict_proba(X_new), fitted.predict_proba(X_new))


@pytest.mark.needs_compiled
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
        ({"Cs": [1e101]}, "each of Cs must be at most 1e.100; got 1e.101"),
        ({"Cs": "1"}, "each of Cs must be a number greater than 0; got '1'"),
        ({"gammas": [-1.0]}, "each of gammas must be a number greater than 0; got -1"),
        ({"gammas": []}, "gammas must hold at least one value"),
        ({"kernels": "linear", "gammas": [1.0]}, "kernels are 'linear'. Leave gammas"),
        ({"kernels": []}, "kernels must hold at least one value"),
        ({"kernels": ["rbf", "gaussian"]}, "Unknown kernel 'gaussian'. Pass one of"),
        ({"kernels": ["rbf", "precomputed"]}, 'Pass kernels="precomputed"; got'),
        ({"kernel_params": {"scale": 1}}, "arguments of a callable kernel"),
        ({"losses": ["edge", "hinge"]}, "each of losses must be .* got 'hinge'"),
        ({"losses": ()}, "losses must hold at least one value"),
        ({"offsets": ()}, "offsets must hold at least one value"),
        ({"offsets": ["0"]}, "each of offsets must be a finite number"),
        (
            {"offsets": [1e308]},
            "each of offsets must be between .* and 1e.100; got 1e.308",
        ),
        ({"thresholds": [1.5]}, "each of thresholds must be at most 1; got 1.5"),
        ({"thresholds": "0.5"}, "each of thresholds must be a number"),
        ({"cv": 1}, "cv=1 folds cannot be made of n_samples=60"),
        ({"cv": 61}, "cv=61 folds cannot be made of n_samples=60"),
        ({"cv": None}, "cv must be a number, a splitter or folds; got None"),
        ({"cv": "three"}, "Expected `cv` as an integer"),
        ({"scoring": "accurate"}, "scoring must be one of 'mean', .* got 'accurate'"),
        ({"scoring": 3}, "scoring must be one of 'mean', .* got 3"),
        ({"scoring": "roc_auc"}, "must compare true and predicted .* 'roc_auc' cannot"),
        ({"scoring": "neg_log_loss"}, "'neg_log_loss' cannot: it needs prob"),
        ({"scoring": lambda t, p: np.nan}, "<lambda> returned nan"),
        (
            {"scoring": lambda truth: 1.0},
            "true and predicted labels.* needs 1 argument",
        ),
        ({"scoring": hamming_loss}, r"make_scorer\(hamming_loss, greater_is_better"),
        ({"cv": []}, r"cv must hold at least one fold.* got \[\]\.$"),
        ({"cv": iter([])}, r"can be used once: pass list\(\.\.\.\)"),
        ({"cv": GroupKFold(3)}, r"cv=list\(GroupKFold\(\.\.\.\)\.split\(X, y, groups"),
        ({"cv": LeaveOneGroupOut()}, "LeaveOneGroupOut needs groups"),
        ({"cv": StratifiedGroupKFold(3)}, "StratifiedGroupKFold needs groups"),
        ({"cv": StratifiedKFold(3)}, "Supported target types are"),
        ({"cv": [([0, 1], [2, 99])]}, "must hold rows of X, which has 60"),
        ({"kernels": ["auto", "rbf"]}, '"auto" chooses all kernels'),
        ({"kernels": [ForestKernel]}, r"class ForestKernel. Pass .*ForestKernel\("),
        ({"n_estimators_search": 0}, "n_estimators_search must be a whole number"),
        ({"n_estimators": 0}, "n_estimators must be a whole number"),
        ({"aggregation": "mean"}, "aggregation must be one of"),
        ({"tol": 0}, "tol must be a number greater than 0"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number that is not 0.* got 0"),
        ({"verbose": -1}, "verbose must be True, False or a whole number"),
        ({"training": ()}, "training must hold at least one value"),
        ({"training": "both"}, "must be one of 'auto', 'separate', 'joint'; got"),
        ({"training": ["joint", "both"]}, "each of training must be .* got 'both'"),
        (
            {"training": ["separate", "joint"], "kernels": [["rbf", "linear"]]},
            'with training="joint" there is',
        ),
    ],
)
def test_bad_parameters_are_refused_with_a_reason(params, message):
    with pytest.raises(ValueError, match=message):
        tuned(**params).fit(X, Y)


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "ways", [("separate", "joint"), np.array(["joint", "separate"])]
)
@pytest.mark.parametrize("better", ["separate", "joint"])
def test_of_both_ways_of_training_the_better_one_is_chosen(monkeypatch, ways, better):
    score = Search.score

    def in_favour(search, held_out, table, members):
        score(search, held_out, table, members)
        table.scores -= members.training != better

    options = {"kernels": ["rbf", "linear"], "gammas": [1.0], "scoring": "mean"}
    alone = tuned(training=better, **options).fit(X, Y)
    monkeypatch.setattr(Search, "score", in_favour)
    both = tuned(training=ways, **options).fit(X, Y)
    chosen = both.cv_results_["param_training"] == better
    assert_array_equal(
        both.cv_results_["mean_test_score"][chosen],
        alone.cv_results_["mean_test_score"],
    )
    assert both.best_score_ == alone.best_score_
    assert both.best_estimator_.training == better
    assert_array_equal(both.predict(X_new), alone.predict(X_new))
    assert ("rbf, gamma" in both.chosen_) == ("rbf, gamma" in alone.chosen_)
    assert ("trained jointly, C" in both.chosen_) == (better == "joint")
    assert "with 2 kernels, trained separately and jointly" in both.chosen_
    assert ("param_training" in alone.cv_results_) == (better == "joint")


def test_both_ways_of_training_read_a_kernel_once(monkeypatch):
    read, begin = [], RandomGraphEnsembleClassifier._begin_fit

    def counted(ensemble, *data, **options):
        read.append((ensemble.kernel, ensemble.gamma))
        return begin(ensemble, *data, **options)

    monkeypatch.setattr(RandomGraphEnsembleClassifier, "_begin_fit", counted)
    tuned(training=("separate", "joint", "joint"), kernels=["rbf", "linear"]).fit(X, Y)
    assert len(read) == len(set(read)) == 4  # the Gaussian kernel has three widths


@pytest.mark.parametrize(
    "params", [{"aggregation": "mve"}, {"kernels": ["rbf", ["rbf", "linear"]]}]
)
def test_what_joint_training_refuses_is_refused_before_any_training(
    monkeypatch, params
):
    monkeypatch.setattr(Search, "train", None)
    with pytest.raises(ValueError, match='with training="joint" there is'):
        tuned(training=["separate", "joint"], **params).fit(X, Y)


def test_a_method_that_needs_probabilities_says_so():
    fitted = tuned().fit(X, Y)
    with pytest.raises(AttributeError, match="Set probability=True and call 'fit'"):
        fitted.predict_proba(X_new)
    for absent in ("predict_log_proba", "__qualname__", "mro"):
        assert not hasattr(fitted, absent)


def test_a_fit_that_is_stopped_after_the_search_leaves_no_half_fitted_model(
    monkeypatch,
):
    fitted = tuned(Cs=[1.0]).fit(X, Y)

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(RandomGraphEnsembleClassifier, "_learn", stop)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, Y)
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(fitted, method)(X)


def test_parameters_that_are_tuned_cannot_be_set():
    with pytest.raises(ValueError, match="Invalid parameter 'C'"):
        tuned().set_params(C=1.0)


def test_a_search_that_cannot_be_made_is_refused_with_a_reason():
    with pytest.raises(ValueError, match="Unknown kernel 'foo'"):
        tuned(kernels=["foo"], gammas=[1.0]).fit(X, Y)
    rare = np.full(60, np.nan)
    rare[:2] = 0, 1
    with pytest.raises(ValueError, match="of n_samples=2 that have weight and a known"):
        tuned(cv=3).fit(X, rare)
    with pytest.raises(ValueError, match="no label is observed in the test"):
        tuned(cv=[(range(2), range(2, 60))]).fit(X, rare)


def test_without_examples_to_calibrate_on_no_threshold_is_tried():
    folds = [(np.arange(20), np.arange(20, 40))] * 2
    fitted = tuned(cv=folds, thresholds=[0.3]).fit(X, Y)
    tried = [name for params in fitted.cv_results_["params"] for name in params]
    assert "offset" in tried
    assert "threshold" not in tried


def test_offsets_of_single_labels_are_chosen_and_saved(tmp_path):
    rarest = int(Y.mean(axis=0).argmin())
    of_labels = np.where(np.arange(Y.shape[1]) == rarest, 50.0, 0.0).tolist()

    def recall_of_the_rarest(truth, predicted):
        return predicted[:, rarest].mean()

    options = {"scoring": recall_of_the_rarest, "Cs": 1.0}
    fitted = tuned(offsets=[0.0, of_labels], **options).fit(X, Y)
    assert fitted.offset_ == of_labels
    assert "offsets of labels: recall_of_the_rarest 1.000" in fitted.chosen_
    assert fitted.predict(X_new)[:, rarest].all()
    fitted = tuned(offsets=[0.0, of_labels], Cs=1.0).fit(X, Y)
    save(fitted, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_array_equal(loaded.predict(X_new), fitted.predict(X_new))
    assert loaded.cv_results_["param_offset"].tolist() == [0.0, of_labels]


def test_a_search_whose_final_training_is_stopped_leaves_nothing(monkeypatch):
    search = tuned(kernels="linear").fit(X, Y)

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(RandomGraphEnsembleClassifier, "_learn", stop)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert [name for name in vars(search) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        search.predict(X)


# --- a search that sees only some of the examples -------------------------------------


@pytest.fixture
def sees_thirty(monkeypatch):
    """Let the search see few examples, the others of which the first is one."""
    monkeypatch.setattr(_examples, "MOST_COMPARED", 30)
    monkeypatch.setattr(_examples, "MOST_LINEAR", 30)
    rows = _examples.search_rows(np.zeros((60, 1), int), ["rbf"], 0)
    assert 0 not in rows
    return np.r_[0, rows]


@pytest.mark.needs_compiled
def test_a_value_that_the_search_may_miss_is_a_value(sees_thirty):
    codes = Y.copy()
    codes[0, 0] = 2
    fitted = tuned(kernels="linear", offsets="auto").fit(X, codes)
    assert fitted.offset_ == 0.0
    assert fitted.classes_[0].tolist() == [0, 1, 2]
    weighted = tuned(kernels="linear", class_weight={2: 5.0})
    assert weighted.fit(X, codes).classes_[0].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="label 0 has 3"):
        tuned(scoring="microlabel_f1").fit(X, codes)


@pytest.mark.needs_compiled
def test_a_column_with_values_that_the_search_may_miss_is_a_column(sees_thirty):
    features = X.copy()
    features[sees_thirty[1:], 1] = np.nan
    forest = ForestKernel(5, 1)
    fitted = tuned(kernels=forest, gammas=None).fit(features, Y)
    assert fitted.predict(features).shape == Y.shape
    features[:, 1] = np.nan
    for kernels in (forest, "auto"):
        with pytest.raises(ValueError, match="column 1 of X is NaN everywhere"):
            tuned(kernels=kernels, gammas=None).fit(features, Y)


def test_a_kernel_matrix_is_no_table_also_for_the_search():
    K = X @ X.T + 5 * np.eye(60)
    for kernels in ("auto", ["linear", "forest"]):
        with pytest.raises(ValueError, match='choose the kernel "precomputed"'):
            tuned(kernels=kernels, gammas=None).fit(K, Y)


@pytest.mark.needs_compiled
def test_a_search_that_chose_a_threshold_has_probabilities():
    fitted = tuned(kernels="linear", offsets=-9.0, thresholds=[0.5]).fit(X, Y)
    assert fitted.threshold_ == 0.5
    assert not fitted.probability
    chances = fitted.best_estimator_.predict_proba(X_new)
    assert_array_equal(fitted.predict_proba(X_new), chances)
    assert fitted.predict_for(X_new, threshold=0.5).shape == (25, 4)
    without = tuned(kernels="linear").fit(X, Y)
    with pytest.raises(AttributeError, match="Set probability=True"):
        without.predict_proba(X_new)
