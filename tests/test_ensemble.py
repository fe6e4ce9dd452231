"""The ensemble: its members, their graphs, and what changes no result."""

import networkx as nx
import numpy as np
import pytest
from ensembles import GRADES, X, X_new, Y, average_scores, ensemble
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.aggregation import AGGREGATIONS
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, random_pairing
from spanforest.inference import decode, score_labels
from spanforest.persistence import save

# --- what changes no result ----------------------------------------------------------


@pytest.mark.needs_compiled
def test_a_larger_ensemble_contains_the_smaller():
    large, small = ensemble(15).fit(X, Y), ensemble(10).fit(X, Y)
    assert large.graphs_[:10] == small.graphs_
    assert_array_equal(large.duality_gap_[:10], small.duality_gap_)
    for one, other in zip(large.estimators_, small.estimators_, strict=False):
        assert_array_equal(one.cell_coef_, other.cell_coef_)
        assert_array_equal(one.cell_intercept_, other.cell_intercept_)
    for aggregation in AGGREGATIONS:
        tenth = list(large.staged_predict(X_new, aggregation))[9]
        assert_array_equal(tenth, small.predict(X_new, aggregation))


@pytest.mark.needs_compiled
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_stages_are_one_per_member_and_end_in_the_prediction(aggregation):
    fitted = ensemble(4, aggregation=aggregation).fit(X, Y.astype(str))
    stages = list(fitted.staged_predict(X_new))
    assert len(stages) == 4
    assert_array_equal(stages[0], fitted.estimators_[0].predict(X_new))
    assert_array_equal(stages[-1], fitted.predict(X_new))


def assert_same_ensemble(one, other):
    assert one.graphs_ == other.graphs_
    for mine, yours in zip(one.estimators_, other.estimators_, strict=True):
        assert_array_equal(mine._weights, yours._weights)
        assert_array_equal(mine.gap_history_, yours.gap_history_)
    assert_array_equal(one._weights, other._weights)
    assert_array_equal(one.cell_intercept_, other.cell_intercept_)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_threads_change_no_bit(kernel):
    alone = ensemble(kernel=kernel).fit(X, Y)
    threads = ensemble(kernel=kernel, n_jobs=2).fit(X, Y)
    assert_same_ensemble(threads, alone)


@pytest.mark.slow
def test_processes_change_no_bit():
    alone = ensemble().fit(X, Y)
    with parallel_config(backend="loky", n_jobs=2):
        assert_same_ensemble(ensemble().fit(X, Y), alone)


@pytest.mark.needs_compiled
def test_permuting_labels_and_graphs_permutes_the_prediction():
    fitted = ensemble(4, tol=1e-3).fit(X, Y)
    order = np.array([3, 0, 4, 2, 1])  # column j of the new Y is column order[j]
    place = np.argsort(order)
    graphs = [LabelGraph(5, place[graph.edges]) for graph in fitted.graphs_]
    permuted = ensemble(4, tol=1e-3, graph=graphs).fit(X, Y[:, order])
    # two solutions of one problem: objectives agree to the gap, scores nearly
    assert_allclose(permuted.dual_objective_, fitted.dual_objective_, rtol=1e-3)
    union, scores = average_scores(fitted, X)
    best = decode(union, scores)
    reached = score_labels(union, scores, permuted.predict(X)[:, place])
    sure = best.proven & decode(*average_scores(permuted, X)).proven
    assert sure.mean() > 0.9
    nearly = {"atol": 0.05 * best.score.max()}
    assert_allclose(reached[sure], best.score[sure], **nearly)
    assert_allclose(
        permuted.decision_function(X)[sure],
        fitted.decision_function(X)[sure][:, order],
        **nearly,
    )


@pytest.mark.needs_compiled
def test_switching_the_aggregation_needs_no_refit():
    fitted = ensemble(aggregation="mam").fit(X, Y)
    for aggregation in AGGREGATIONS:
        other = ensemble(aggregation=aggregation).fit(X, Y)
        expected = other.predict(X_new)
        assert_array_equal(fitted.predict(X_new, aggregation=aggregation), expected)
        fitted.set_params(aggregation=aggregation)
        assert_array_equal(fitted.predict(X_new), expected)
        assert_array_equal(
            fitted.decision_function(X_new), other.decision_function(X_new)
        )


@pytest.mark.needs_compiled
def test_prediction_in_chunks_is_prediction_at_once(monkeypatch):
    fitted = ensemble(3).fit(X, Y)
    whole = [fitted.predict(X_new, aggregation) for aggregation in AGGREGATIONS]
    decisions = fitted.decision_function(X_new)
    monkeypatch.setattr("spanforest._classifier.CHUNK_CELLS", 100)
    for aggregation, expected in zip(AGGREGATIONS, whole, strict=True):
        assert_array_equal(fitted.predict(X_new, aggregation), expected)
    assert_allclose(fitted.decision_function(X_new), decisions, atol=1e-12)


# --- members and graphs --------------------------------------------------------------


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_members_are_classifiers_of_their_own(kernel):
    basis, basis_new = (X @ X.T, X_new @ X.T) if kernel == "precomputed" else (X, X_new)
    labels = Y.astype(str)
    fitted = ensemble(3, kernel=kernel, C=0.5).fit(basis, labels)
    for member, graph in zip(fitted.estimators_, fitted.graphs_, strict=True):
        assert isinstance(member, MMCRFClassifier)
        assert member.graph_ == member.graph == graph
        assert member.C == 0.5
        assert member.predict(basis_new).dtype == labels.dtype
        assert member.score(basis, labels) > 0.2  # 1 / 32 by chance
        assert member.decision_function(basis_new).shape == (200, 5)
        again = clone(member).fit(basis, labels)
        assert again.graph_ == graph
        assert_allclose(again.dual_objective_, member.dual_objective_, rtol=0.05)


@pytest.mark.needs_compiled
def test_every_member_draws_its_own_graph():
    graphs = ensemble(10).fit(X, Y).graphs_
    assert len(set(graphs)) > 5
    assert all(graph.is_forest and graph.n_edges == 4 for graph in graphs)


TREES = [[(0, 1), (1, 2)], [(0, 2), (2, 3)], [(3, 4)]]


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    "graphs",
    [
        TREES,
        tuple(TREES),
        [np.array(tree) for tree in TREES],
        [LabelGraph(5, tree) for tree in TREES],
        [LabelGraph(5, tree).adjacency for tree in TREES],
        [LabelGraph(5, tree).adjacency.toarray() for tree in TREES],
        [LabelGraph(5, tree).to_networkx() for tree in TREES],
        [lambda n, rng, tree=tree: LabelGraph(n, tree) for tree in TREES],
    ],
    ids=["lists", "tuple", "arrays", "graphs", "sparse", "dense", "networkx", "calls"],
)
def test_a_list_of_graphs_gives_one_to_each_member(graphs):
    fitted = ensemble(3, graph=graphs).fit(X, Y)
    assert fitted.graphs_ == [LabelGraph(5, tree) for tree in TREES]


@pytest.mark.parametrize(
    "graph",
    [
        TREES[0],
        LabelGraph(5, TREES[0]),
        LabelGraph(5, TREES[0]).adjacency.toarray().tolist(),
        nx.Graph(LabelGraph(5, TREES[0]).to_networkx()),
    ],
    ids=["pairs", "graph", "rows of a matrix", "networkx"],
)
def test_one_graph_is_shared_by_all_members(graph):
    assert ensemble(2, graph=graph).fit(X, Y).graphs_ == [LabelGraph(5, TREES[0])] * 2


@pytest.mark.needs_compiled
def test_members_may_have_names_of_different_generators():
    tree, pairs = ensemble(2, graph=["chow_liu", random_pairing]).fit(X, Y).graphs_
    assert (tree.n_edges, pairs.n_edges) == (4, 2)


@pytest.mark.needs_compiled
def test_averages_have_a_cell_per_factor_of_the_consensus():
    fitted = ensemble(3).fit(X, GRADES)
    cells = FactorGraph(fitted.consensus_graph_, [3, 3, 3]).n_cells
    assert fitted.cell_coef_.shape == (4, cells)
    assert ensemble(3, kernel="rbf").fit(X, GRADES).dual_coef_.shape == (80, cells)


# --- bad parameters ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"graph": TREES}, "one per member; got 3 graphs .*=5. Set n_estimators=3"),
        ({"graph": ["chow_liu"] * 6}, "got 6 graphs for n_estimators=5. Set"),
        ({"graph": [LabelGraph(4, [(0, 1)])] * 5}, "must have 5 nodes.*it has 4. Pass"),
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1; got"),
        ({"n_estimators": 2.0}, "n_estimators must be a whole number .* got 2.0"),
        ({"aggregation": "mean"}, "one of 'mve', 'amm', 'mam'; got 'mean'"),
        ({"aggregation": None}, "one of 'mve', 'amm', 'mam'; got None"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number that is not 0.* got 0"),
        ({"n_jobs": 1.5}, "n_jobs must be None or a whole number .* got 1.5"),
    ],
)
def test_bad_parameters_are_refused_with_a_reason(params, message):
    with pytest.raises(ValueError, match=message):
        ensemble().set_params(**params).fit(X, Y)


@pytest.mark.needs_compiled
def test_unknown_options_of_prediction_are_refused():
    fitted = ensemble(2).fit(X, Y)
    with pytest.raises(ValueError, match="one of 'mve', 'amm', 'mam'; got 'mean'"):
        fitted.predict(X, aggregation="mean")
    with pytest.raises(ValueError, match="one of 'mve', 'amm', 'mam'; got 'mean'"):
        next(fitted.staged_predict(X, aggregation="mean"))
    with pytest.raises(ValueError, match="one of 'certified', 'max_product'; got 'x'"):
        fitted.predict(X, inference="x")


@pytest.mark.needs_compiled
def test_a_threshold_turns_on_the_labels_whose_probability_is_larger(tmp_path):
    clf = ensemble(3, probability=True, threshold=0.2).fit(X, Y)
    expected = clf.predict_proba(X_new) > 0.2
    assert_array_equal(clf.predict(X_new), expected)
    assert clf.score(X_new, expected.astype(int)) == 1.0
    assert_array_equal(clf.decision_function(X_new) > 0, expected)
    limits = np.linspace(0.1, 0.9, Y.shape[1])
    clf.set_params(threshold=limits)
    assert_array_equal(clf.predict(X_new), clf.predict_proba(X_new) > limits)
    # whole label sets, if these are asked for
    plain = ensemble(3).fit(X, Y)
    for aggregation in AGGREGATIONS:
        assert_array_equal(
            clf.predict(X_new, aggregation), plain.predict(X_new, aggregation)
        )


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"threshold": 0.5}, Y, "none with probability=False. Set probability=True"),
        ({"threshold": 2, "probability": True}, Y, "between 0 and 1.* got 2"),
        ({"threshold": "a", "probability": True}, Y, "between 0 and 1.* got 'a'"),
        ({"threshold": [0.5], "probability": True}, Y, "or one for each of the"),
        ({"threshold": 0.5, "probability": True}, GRADES, "labels with two values"),
    ],
)
def test_a_threshold_that_does_not_fit_is_refused(params, y, message):
    with pytest.raises(ValueError, match=message):
        ensemble(2, **params).fit(X, y)
    fitted = ensemble(2).fit(X, y).set_params(**params)
    with pytest.raises(ValueError, match=message):
        fitted.predict(X)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("stop", [ValueError("bad data"), KeyboardInterrupt()])
def test_a_fit_that_ends_early_leaves_nothing(stop, monkeypatch, tmp_path):
    pytest.importorskip("skops")
    clf = RandomGraphEnsembleClassifier(3, random_state=0).fit(X, Y)

    def fail(*args):
        raise stop

    monkeypatch.setattr(RandomGraphEnsembleClassifier, "_train", fail)
    with pytest.raises(type(stop)):
        clf.fit(X[:, :2], Y[:, :2])
    assert [name for name in vars(clf) if name.endswith("_")] == []
    save(clf, tmp_path / "unfitted.spanforest")
