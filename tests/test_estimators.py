"""Both estimators as a user of scikit-learn meets them."""

import pickle

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_data import (
    CLASSIFIERS,
    TRIANGLE,
    WORDS,
    X,
    X_new,
    Y,
    assert_same_model,
    assert_same_problem,
    names,
    new_classifier,
    weights,
)

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.graphs import LabelGraph
from spanforest.kernels import ForestKernel, SumKernel
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1_scorer,
    multilabel_accuracy,
)
from spanforest.tuning import RandomGraphEnsembleClassifierCV

FEW_TREES = ForestKernel(10, 1, kind="random")
BOOSTED = ForestKernel(10, 1, kind="boosted")


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return new_classifier(request.param)


AGREEMENT = ("check_classifiers_train", "check_decision_proba_consistency")
EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def not_expected(estimator):
    """Return checks that do not suit a classifier which predicts whole label sets."""
    if not estimator.probability:
        return {}
    reason = "the labels of the best label set need not be the most probable ones"
    folds = "probabilities are fitted on random folds, and other rows have other folds"
    failing = {
        "check_classifier_multioutput": reason,
        **dict.fromkeys(EQUIVALENCE, folds),
    }
    if isinstance(estimator.probability, ForestKernel):
        reason = "predict does not follow the forest unless it has a threshold"
        failing |= dict.fromkeys(AGREEMENT, reason)
    return failing


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.needs_compiled  # about the interface, in hundreds of fits
@parametrize_with_checks(
    [
        MMCRFClassifier(),
        # a fixed seed: with some others the check that is expected to fail passes
        MMCRFClassifier(probability=True, random_state=2),
        RandomGraphEnsembleClassifier(n_estimators=3),
        RandomGraphEnsembleClassifier(3, probability=True, random_state=2),
        RandomGraphEnsembleClassifierCV(
            2,
            kernels=("linear", "rbf"),
            gammas=(1.0,),
            Cs=(0.1, 1.0),
            losses="edge",
            n_estimators_search=1,
        ),
        RandomGraphEnsembleClassifier(2, kernel=ForestKernel(10, 1)),
        RandomGraphEnsembleClassifier(2, probability=FEW_TREES, random_state=2),
    ],
    expected_failed_checks=not_expected,
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "estimator",
    [
        RandomGraphEnsembleClassifierCV(),
        RandomGraphEnsembleClassifier(4, kernel=["rbf", "linear", FEW_TREES]),
        RandomGraphEnsembleClassifier(4, kernel=SumKernel(["rbf", FEW_TREES])),
        RandomGraphEnsembleClassifier(4, kernel=BOOSTED, training="joint"),
    ],
    ids=["self-tuned", "several kernels", "sum", "boosted, joint"],
)
@pytest.mark.parametrize("check", EQUIVALENCE)
def test_a_weight_of_two_is_the_example_twice_for_scikit_learn(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


# --- life as a scikit-learn estimator ------------------------------------------------


@pytest.mark.needs_compiled
def test_grid_search_picks_parameters_by_the_papers_measures(classifier):
    grid = {"C": [1e-6, 1.0], "loss": ["edge", "hamming"]}
    search = GridSearchCV(classifier, grid, scoring=microlabel_f1_scorer, cv=3)
    search.fit(X, Y)
    assert search.best_params_["C"] == 1.0
    assert multilabel_accuracy(Y, search.predict(X)) > 0.6


@pytest.mark.needs_compiled
def test_a_pipeline_passes_data_frames_through(classifier):
    frame = pd.DataFrame(X, columns=list("abcd"))
    scaler = StandardScaler().set_output(transform="pandas")
    classifier.set_params(tol=1e-3)
    model = make_pipeline(scaler, classifier).fit(frame, names(Y))
    assert classifier.feature_names_in_.tolist() == list("abcd")
    assert classifier.n_features_in_ == 4
    assert model.score(frame, names(Y)) > 0.6
    plain = clone(classifier).fit(StandardScaler().fit_transform(X), Y)
    assert_same_problem(classifier, plain)
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[list("dcba")])


@pytest.mark.needs_compiled
def test_decisions_can_be_cross_validated(classifier):
    decisions = cross_val_predict(classifier, X, Y, cv=3, method="decision_function")
    assert decisions.shape == Y.shape


@pytest.mark.needs_compiled
def test_clones_are_unfitted_and_equal(classifier):
    copy = clone(classifier.fit(X, Y))
    assert copy.get_params() == classifier.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert_same_model(copy.fit(X, Y), classifier)


def test_parameters_can_be_set_and_only_known_ones(classifier):
    assert classifier.set_params(C=3.0, loss="hamming").get_params()["C"] == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'c'"):
        classifier.set_params(c=1)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("way", ["pickle", "joblib"])
def test_saved_models_predict_the_same_bits(classifier, kernel, way, tmp_path):
    fitted = classifier.set_params(kernel=kernel).fit(X, names(WORDS))
    if way == "pickle":
        loaded = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib")
    assert_array_equal(loaded.predict(X_new), fitted.predict(X_new))
    assert_array_equal(loaded.decision_function(X_new), fitted.decision_function(X_new))


@pytest.mark.needs_compiled
def test_a_refit_forgets_the_first_fit(classifier):
    frame = pd.DataFrame(X, columns=list("abcd"))
    classifier.set_params(kernel="rbf").fit(frame, names(WORDS))
    classifier.set_params(kernel="linear").fit(X[:40, :3], Y[:40, :2])
    fresh = clone(classifier).fit(X[:40, :3], Y[:40, :2])
    assert vars(classifier).keys() == vars(fresh).keys()
    assert_same_model(classifier, fresh)
    assert_array_equal(classifier.predict(X_new[:, :3]), fresh.predict(X_new[:, :3]))


def test_a_failed_fit_leaves_no_gamma_that_pickling_would_restore(classifier):
    classifier.set_params(kernel="rbf")
    with pytest.raises(ValueError, match="one row per example"):
        classifier.fit(X, Y[:-1])
    assert not hasattr(pickle.loads(pickle.dumps(classifier)), "gamma_")


@pytest.mark.needs_compiled
@pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
def test_equal_random_states_give_equal_models(classifier, make):
    one = clone(classifier).set_params(random_state=make(3)).fit(X, Y)
    assert_same_model(one, classifier.set_params(random_state=make(3)).fit(X, Y))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_goes_on_from_fit_to_fit(classifier, make):
    classifier.set_params(random_state=make(3))
    first = weights(classifier.fit(X, Y)).copy()
    assert not np.array_equal(first, weights(classifier.fit(X, Y)))


@pytest.mark.needs_compiled
def test_no_random_state_leaves_the_global_one_alone(classifier):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = weights(classifier.set_params(random_state=None).fit(X, Y)).copy()
    assert not np.array_equal(first, weights(classifier.fit(X, Y)))
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.needs_compiled
def test_score_is_the_multilabel_accuracy(classifier):
    classifier.fit(X, Y)
    predicted = classifier.predict(X)
    right = (predicted == Y).all(axis=1)
    assert classifier.score(X, Y) == pytest.approx(right.mean())
    importance = np.arange(len(X))
    weighted = classifier.score(X, Y, sample_weight=importance)
    assert weighted == pytest.approx(np.average(right, weights=importance))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_verbose_changes_nothing_but_the_display(classifier, verbose):
    plain = clone(classifier).fit(X, Y)
    assert_same_model(classifier.set_params(verbose=verbose).fit(X, Y), plain)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", ["mve", "amm", "mam"])
@pytest.mark.parametrize("labels", [Y, WORDS, 2 * Y - 1, Y[:, :1], Y[:, 0]])
def test_decisions_agree_with_predictions(classifier, aggregation, labels):
    if "aggregation" in classifier.get_params():
        classifier.set_params(aggregation=aggregation)
    decisions = classifier.fit(X, labels).decision_function(X_new)
    predicted = classifier.predict(X_new)
    assert decisions.shape == predicted.shape
    assert_array_equal(decisions > 0, predicted == np.unique(labels)[-1])


# --- graphs --------------------------------------------------------------------------


PATH = [(0, 1), (1, 2), (2, 3)]


ADJACENCY = LabelGraph(4, PATH).adjacency


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "graph",
    [
        PATH,
        tuple(PATH),
        np.array(PATH)[::-1, ::-1],
        LabelGraph(4, PATH),
        ADJACENCY,
        ADJACENCY.toarray(),
        ADJACENCY.toarray().tolist(),
        nx.path_graph(4),
        lambda n_labels, rng: LabelGraph(n_labels, PATH),
        lambda n_labels, rng: nx.path_graph(n_labels),
    ],
)
def test_all_forms_of_a_graph_are_the_same_graph(classifier, graph):
    plain = clone(classifier).set_params(graph=LabelGraph(4, PATH)).fit(X, Y)
    assert_same_model(classifier.set_params(graph=graph).fit(X, Y), plain)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_graphs_with_cycles_are_trained_to_a_valid_gap(classifier, loss):
    classifier.set_params(graph=[*TRIANGLE, (2, 3)], loss=loss, tol=0.05)
    fitted = classifier.fit(X, Y)
    assert np.all(fitted.duality_gap_ >= 0)
    assert np.all(fitted.duality_gap_ <= 0.05 * fitted.dual_objective_)
    assert fitted.score(X, Y) > 0.6
    loopy = fitted.predict(X, inference="max_product")
    assert microlabel_accuracy(loopy, fitted.predict(X)) > 0.9


# --- the certificate -----------------------------------------------------------------


@pytest.mark.needs_compiled
@pytest.mark.parametrize("tol", [0.3, 0.01, 0.001])
def test_no_warning_means_that_the_gap_is_within_the_tolerance(classifier, tol):
    fitted = classifier.set_params(tol=tol).fit(X, Y)
    assert np.all(fitted.duality_gap_ >= 0)
    assert np.all(fitted.duality_gap_ <= tol * fitted.dual_objective_)


@pytest.mark.needs_compiled
def test_the_gap_history_has_an_entry_per_pass_and_ends_in_the_gap(classifier):
    fitted = classifier.fit(X, Y)
    members = getattr(fitted, "estimators_", [fitted])
    assert_array_equal(fitted.duality_gap_, [m.duality_gap_ for m in members])
    assert_array_equal(fitted.n_iter_, [m.n_iter_ for m in members])
    for member in members:
        assert member.gap_history_[-1] == member.duality_gap_
        assert len(member.gap_history_) == member.n_iter_
        assert np.all(member.gap_history_ >= 0)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_stopping_short_warns_with_the_gap_the_tolerance_and_a_remedy(
    classifier, max_iter
):
    classifier.set_params(C=1000.0, tol=1e-4, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning) as caught:
        classifier.fit(X, Y)
    (warning,) = caught
    assert warning.filename == __file__  # points at the call of fit
    text = str(warning.message)
    relative = np.max(classifier.duality_gap_ / classifier.dual_objective_)
    assert f"{relative:.2g} times the dual objective" in text
    assert f"{max_iter} passes" in text
    assert "tol is 0.0001" in text
    assert "Raise max_iter" in text
    assert np.max(classifier.n_iter_) == max_iter


# --- limits of C ---------------------------------------------------------------------


@pytest.mark.needs_compiled
def test_giving_every_example_twice_is_the_same_as_doubling_c(classifier):
    plain = clone(classifier).set_params(tol=1e-3).fit(X, Y)
    twice = classifier.set_params(tol=1e-3, C=0.5).fit(np.tile(X, (2, 1)), [*Y, *Y])
    assert_same_problem(twice, plain)


@pytest.mark.needs_compiled
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_huge_c_gives_finite_numbers_and_an_honest_gap(classifier):
    fitted = classifier.set_params(C=1e10, max_iter=20).fit(X, Y)
    assert np.isfinite(weights(fitted)).all()
    assert np.isfinite(fitted.dual_objective_).all()
    assert np.all(fitted.duality_gap_ >= 0)


def test_a_tiny_c_gives_weights_near_zero(classifier):
    assert np.abs(weights(classifier.set_params(C=1e-10).fit(X, Y))).max() < 1e-6
