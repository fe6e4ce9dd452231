"""The tools around scikit-learn work with the estimators, with a test each."""

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
)
from spanforest.metrics import multilabel_accuracy
from spanforest.persistence import TRUSTED_TYPES

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X[:, [0, 1, 0]] + 0.2 * rng.normal(size=(60, 3)) > 0).astype(int)
y = np.array(["no", "yes"])[Y[:, 0]]


def crf(**options):
    return MMCRFClassifier(tol=0.1, random_state=0, **options)


def ensemble(**options):
    return RandomGraphEnsembleClassifier(2, tol=0.1, random_state=0, **options)


@pytest.mark.parametrize("kind", [GridSearchCV, HalvingGridSearchCV])
def test_searches_choose_parameters(kind):
    options = {"random_state": 0, "min_resources": 20} if "Halving" in str(kind) else {}
    search = kind(crf(), {"C": [0.001, 1.0]}, cv=2, **options).fit(X, Y)
    assert search.best_params_ == {"C": 1.0}
    assert search.predict(X).shape == Y.shape


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=str)
def test_cross_val_predict_returns_all_labels(container):
    found = cross_val_predict(crf(), X, container(Y), cv=3)
    assert sparse.issparse(found) == (container is not np.asarray)
    assert multilabel_accuracy(Y, found) > 0.5
    decisions = cross_val_predict(crf(), X, Y, cv=3, method="decision_function")
    assert_array_equal(
        decisions > 0, found.toarray() if sparse.issparse(found) else found
    )


@pytest.mark.needs_compiled
def test_learning_curves_rise():
    sizes, _, scores = learning_curve(ensemble(), X, Y, cv=3, train_sizes=[5, 40])
    assert_array_equal(sizes, [5, 40])
    assert scores[1].mean() > scores[0].mean()


def test_permutation_importance_finds_the_feature_that_says_nothing():
    found = permutation_importance(ensemble().fit(X, Y), X, Y, random_state=0)
    assert found.importances_mean.argmin() == 2


def test_partial_dependence_is_drawn_for_a_single_label():
    model = crf().fit(X, y)
    display = PartialDependenceDisplay.from_estimator(model, X, [0], grid_resolution=5)
    (curve,) = display.pd_results[0]["average"]
    assert curve[-1] > curve[0]


def test_a_stack_learns_from_its_decisions():
    stack = StackingClassifier([("crf", crf()), ("trees", ensemble())], cv=2)
    assert stack.fit(X, y).score(X, y) > 0.9
    assert stack.get_feature_names_out().shape == (2,)


def test_a_threshold_is_tuned_for_a_single_label():
    tuned = TunedThresholdClassifierCV(
        crf(), scoring="balanced_accuracy", cv=2, thresholds=5
    )
    assert tuned.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_single_label_is_calibrated(method):
    model = CalibratedClassifierCV(crf(), method=method, cv=2).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.9


def test_a_column_transformer_may_come_first():
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["colour"] = np.array(["red", "blue"])[Y[:, 1]]
    columns = make_column_transformer(
        (StandardScaler(), ["a", "b", "c"]), (OneHotEncoder(), ["colour"])
    )
    model = make_pipeline(columns, crf()).fit(frame, Y)
    assert model.score(frame, Y) > 0.8
    assert len(model[:-1].get_feature_names_out()) == model[-1].n_features_in_ == 5


def test_features_that_are_selected_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abc"))
    chosen = SelectFromModel(crf(kernel="linear"), max_features=2, threshold=-np.inf)
    assert_array_equal(chosen.fit(frame, Y).get_feature_names_out(), ["a", "b"])


@pytest.mark.slow
def test_processes_give_the_scores_of_one_process():
    with joblib.parallel_backend("loky"):
        scores = cross_val_score(ensemble(), X, Y, cv=2, n_jobs=2)
    assert_array_equal(scores, cross_val_score(ensemble(), X, Y, cv=2))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.needs_compiled
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "model",
    [
        crf(),
        ensemble(),
        RandomGraphEnsembleClassifierCV(
            1, kernels="linear", Cs=[1.0], losses="edge", random_state=0
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_weights_are_routed_through_pipelines_and_searches(model):
    weights = np.where(np.arange(60) < 40, 1.0, 0.0)
    asked = model.set_fit_request(sample_weight=True)
    asked = asked.set_score_request(sample_weight=True)
    pipeline = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=True), asked
    )
    grid = {f"{type(model).__name__.lower()}__max_iter": [50]}
    folds = [(np.arange(0, 60, 2), np.arange(1, 60, 2))]
    search = GridSearchCV(pipeline, grid, cv=folds).fit(X, Y, sample_weight=weights)
    alone = make_pipeline(StandardScaler(), model).set_params(
        **{f"{grid_name}": 50 for grid_name in grid}
    )
    alone.fit(X[:40], Y[:40])
    expected = alone.decision_function(X)
    assert_allclose(search.decision_function(X), expected, atol=1e-6)
    assert search.best_score_ == pytest.approx(
        pipeline.set_params(**search.best_params_)
        .fit(X[::2], Y[::2], sample_weight=weights[::2])
        .score(X[1::2], Y[1::2], sample_weight=weights[1::2])
    )


@pytest.mark.parametrize(
    "model", [crf(), ensemble(), RandomGraphEnsembleClassifierCV()], ids=str
)
def test_the_html_form_links_to_the_page_of_the_estimator(model):
    name = type(model).__name__
    assert f"/api/spanforest.{name}.html" in model._repr_html_()


def test_a_fitted_model_has_an_html_form_too():
    assert "n_features_in_" in crf(kernel="linear").fit(X, Y)._repr_html_()


def test_polars_tables_name_labels_and_features():
    polars = pytest.importorskip("polars")
    frame, labels = polars.DataFrame(X, list("abc")), polars.DataFrame(Y, list("uvw"))
    model = crf().fit(frame, labels)
    assert_array_equal(model.label_names_, list("uvw"))
    assert_array_equal(model.feature_names_in_, list("abc"))
    assert model.score(frame, labels.select("w", "u", "v")) > 0.8
    single = crf().fit(frame, labels["v"])
    assert_array_equal(single.label_names_, ["v"])
    assert single.predict(frame).shape == (60,)
    assert crf().fit(frame, polars.Series(y)).label_names_ is None


@pytest.mark.needs_compiled
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix], ids=str)
@pytest.mark.parametrize("model", [crf(), ensemble(probability=True)], ids=str)
def test_sparse_labels_give_sparse_predictions(model, container):
    dense = model.fit(X, Y).predict(X)
    model.fit(X, container(Y))
    predictions = [model.predict(X)]
    if model.probability:
        predictions += [*model.staged_predict(X)][-1:]
    for found in predictions:
        assert isinstance(found, sparse.csr_array)
        assert found.dtype == dense.dtype
        assert_array_equal(found.toarray(), dense)
    assert f1_score(Y, found, average="micro") > 0.8
    assert model.score(X, container(Y)) == multilabel_accuracy(Y, dense)
    if model.probability:
        assert sparse.issparse(model.predict_for(X, "f1"))


def test_shap_explains_the_decisions_of_every_label():
    shap = pytest.importorskip("shap", reason="the group integrations has shap")
    model = crf().fit(X, Y)
    explainer = shap.KernelExplainer(model.decision_function, X[:10])
    values = explainer.shap_values(X[10:12], nsamples=50)
    decisions = model.decision_function(X[10:12])
    total = np.asarray(values).sum(axis=1) + explainer.expected_value
    assert_allclose(total, decisions, atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # of mlflow itself
def test_mlflow_keeps_a_model_without_pickle(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="the group integrations has mlflow")
    pytest.importorskip("skops")
    model = ensemble(probability=True).fit(X, Y)
    mlflow.sklearn.save_model(
        model,
        tmp_path / "model",
        serialization_format="skops",
        skops_trusted_types=TRUSTED_TYPES,
        pip_requirements=["spanforest"],
    )
    again = mlflow.sklearn.load_model(str(tmp_path / "model"))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
