"""Fitted models as the diagnostics see them: unwrapped, in training order."""

from ensembles import X, Y, ensemble
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spanforest import (
    RandomGraphEnsembleClassifierCV,
)
from spanforest.diagnostics import (
    edge_couplings,
    explain,
    final_step,
    graph_of,
    reconstruction_gap,
    relative_gaps,
)


def test_models_inside_pipelines_and_searches_are_unwrapped():
    scaler = StandardScaler().fit(X)
    inner = ensemble(2)
    expected = reconstruction_gap(
        inner.fit(scaler.transform(X), Y), scaler.transform(X), Y
    )
    pipeline = make_pipeline(StandardScaler(), ensemble(2))
    search = GridSearchCV(pipeline, {"randomgraphensembleclassifier__C": [1.0]}, cv=2)
    assert_allclose(reconstruction_gap(search.fit(X, Y), X, Y), expected)


def test_a_self_tuned_ensemble_is_looked_at_through_its_best_estimator():
    grid = {"Cs": (1.0,), "kernels": "linear", "losses": "edge", "cv": 2}
    tuned = RandomGraphEnsembleClassifierCV(2, random_state=0, **grid).fit(X, Y)
    best = tuned.best_estimator_
    assert final_step(tuned)[0] is best
    assert final_step(make_pipeline(StandardScaler(), tuned))[0] is best
    assert reconstruction_gap(tuned, X, Y) == reconstruction_gap(best, X, Y)
    assert explain(tuned, X[0]) == explain(best, X[0])
    assert graph_of(tuned) == graph_of(best)
    assert_array_equal(relative_gaps(tuned), relative_gaps(best))
    for field, expected in zip(
        edge_couplings(tuned, X), edge_couplings(best, X), strict=True
    ):
        assert_array_equal(field, expected)
