"""Joint training: one model on the union of the graphs."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import spanforest
from spanforest import (
    MMCRFClassifier,
    RandomGraphEnsembleClassifier,
    RandomGraphEnsembleClassifierCV,
    diagnostics,
)
from spanforest.datasets import make_circle
from spanforest.graphs import consensus_graph

X, Y = make_circle(60, 5, random_state=0)


def joint(**params):
    defaults = {"n_estimators": 3, "training": "joint", "random_state": 0}
    return RandomGraphEnsembleClassifier(**(defaults | params))


@pytest.fixture(scope="module")
def fitted():
    return joint().fit(X, Y)


@pytest.mark.needs_compiled
def test_the_model_is_that_of_one_classifier_on_the_union(fitted):
    apart = joint(training="separate").fit(X, Y)
    assert fitted.graphs_ == apart.graphs_
    assert fitted.consensus_graph_ == consensus_graph(fitted.graphs_)
    (model,) = fitted.estimators_
    assert model.graph_ == fitted.consensus_graph_
    alone = MMCRFClassifier(graph=fitted.consensus_graph_, tol=1e-4, max_iter=1000)
    tight = joint(tol=1e-4, max_iter=1000).fit(X, Y)
    dual = alone.fit(X, Y).dual_objective_
    assert_allclose(tight.dual_objective_, [dual], rtol=2e-4)
    assert fitted.duality_gap_ <= fitted.tol * fitted.dual_objective_


def test_one_graph_trained_jointly_is_the_same_as_trained_apart():
    one, other = (joint(n_estimators=1, training=t) for t in ("joint", "separate"))
    assert_array_equal(one.fit(X, Y).dual_coef_, other.fit(X, Y).dual_coef_)


def test_every_way_to_predict_agrees(fitted):
    labels = fitted.predict(X)
    certified = fitted.predict_certified(X)
    assert certified.proven.all()
    assert_array_equal(certified.labels, labels)
    assert_array_equal(fitted.predict_topk(X, k=2).labels[:, 0], labels)
    (only,) = fitted.staged_predict(X)
    assert_array_equal(only, labels)
    assert_array_equal(fitted.decision_function(X) > 0, labels == 1)


@pytest.mark.parametrize("aggregation", ["mve", "amm"])
def test_votes_of_members_are_refused(fitted, aggregation):
    with pytest.raises(ValueError, match='aggregation="mam"'):
        joint(aggregation=aggregation).fit(X, Y)
    with pytest.raises(ValueError, match='training="separate"'):
        fitted.predict(X, aggregation=aggregation)
    with pytest.raises(ValueError, match='training="separate"'):
        fitted.staged_predict(X, aggregation=aggregation)
    other = pickle.loads(pickle.dumps(fitted)).set_params(aggregation=aggregation)
    with pytest.raises(ValueError, match='training="separate"'):
        other.decision_function(X)


def test_a_model_on_the_union_stays_one_if_the_parameter_changes(fitted):
    other = pickle.loads(pickle.dumps(fitted)).set_params(training="separate")
    with pytest.raises(ValueError, match="trained apart"):
        other.predict(X, aggregation="mve")


@pytest.mark.parametrize(
    "params", [{"kernel": ["rbf", "linear"]}, {"warm_start": True}]
)
def test_what_needs_members_is_refused(params):
    with pytest.raises(ValueError, match='training="separate"'):
        joint(**params).fit(X, Y)


def test_an_unknown_way_to_train_is_refused():
    with pytest.raises(ValueError, match="'separate', 'joint'"):
        joint(training="both").fit(X, Y)


def test_saved_models_predict_the_same(fitted, tmp_path):
    spanforest.save(fitted, tmp_path / "model.spanforest")
    loaded = spanforest.load(tmp_path / "model.spanforest")
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.graphs_ == fitted.graphs_


@pytest.mark.needs_compiled
def test_workers_weights_and_missing_labels_are_no_obstacle():
    labels = Y.astype(float)
    labels[::4, 1] = np.nan
    weight = np.linspace(0.5, 1.5, len(X))
    options = {"class_weight": "balanced", "probability": True}
    one, two = (
        joint(n_jobs=n_jobs, **options).fit(X, labels, sample_weight=weight)
        for n_jobs in (None, 2)
    )
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert one.predict_proba(X).shape == Y.shape
    assert diagnostics.explain(one, X[:1])


@pytest.mark.parametrize("kernel", ["linear", "forest", "precomputed"])
def test_all_kinds_of_input_can_be_trained_jointly(kernel):
    data = X @ X.T if kernel == "precomputed" else sparse.csr_array(X)
    if kernel == "forest":
        data = X
    model = joint(kernel=kernel, graph="random_pairing").fit(data, Y)
    assert model.predict(data).shape == Y.shape


@pytest.mark.needs_compiled
def test_self_tuning_passes_the_way_to_train_on():
    model = RandomGraphEnsembleClassifierCV(
        3, training="joint", kernels="linear", Cs=[1.0], losses="edge", cv=2,
        random_state=0,
    ).fit(X, Y)  # fmt: skip
    assert len(model.estimators_) == 1
    assert len(model.graphs_) == 3
