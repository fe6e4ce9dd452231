"""The ensemble against its definition: members, votes, averages, one member, order."""

import threading

import networkx as nx
import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from threadpoolctl import threadpool_info

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest.ensemble import AGGREGATIONS, Ballot
from spanforest.factors import FactorGraph, consensus_factors
from spanforest.graphs import (
    LabelGraph,
    consensus_graph,
    random_pairing,
)
from spanforest.inference import (
    decode,
    exhaustive_search,
    max_marginals,
    max_product,
    score_labels,
)
from spanforest.metrics import microlabel_accuracy

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
X_new = rng.normal(size=(200, 4))
Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(80, 5)) > 0).astype(int)
GRADES = np.digitize(X @ rng.normal(size=(4, 3)) + rng.normal(size=(80, 3)), [-1, 1])


def ensemble(n_estimators=5, **params):
    defaults = {"random_state": 0, "tol": 0.05, "max_iter": 1000}
    return RandomGraphEnsembleClassifier(n_estimators, **{**defaults, **params})


def member_scores(fitted, member, X):
    return fitted._input.rows(X) @ member._weights + member.intercept_


def average_scores(fitted, X):
    """The members' scores averaged on the consensus graph; a missing edge is zero."""
    union = consensus_factors([member._factors for member in fitted.estimators_])
    total = np.zeros((len(X), union.n_cells))
    for member in fitted.estimators_:
        places = union.places_of(member._factors)
        total[:, places] += member_scores(fitted, member, X)
    return union, total / len(fitted.estimators_)


# --- MAM -----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("labels", [Y, GRADES], ids=["binary", "three values"])
def test_mam_of_averaged_weights_is_mam_of_averaged_scores(kernel, labels):
    fitted = ensemble(kernel=kernel).fit(X, labels)
    union, scores = average_scores(fitted, X_new)
    own = fitted._input.rows(X_new) @ fitted._weights + fitted.intercept_
    assert_allclose(own, scores, atol=1e-9)
    reached = score_labels(union, scores, fitted.predict(X_new))
    best = decode(union, scores)
    assert best.proven.mean() > 0.9
    assert_allclose(reached[best.proven], best.score[best.proven], atol=1e-9)
    assert (reached <= best.bound + 1e-9).all()


def test_mam_predicts_a_best_label_set_of_the_consensus_graph():
    fitted = ensemble().fit(X, Y)
    union, scores = average_scores(fitted, X_new)
    assert not union.graph.is_forest
    assert union.graph == fitted.consensus_graph_ == consensus_graph(fitted.graphs_)
    reached = score_labels(union, scores, fitted.predict(X_new))
    assert_allclose(reached, exhaustive_search(union, scores).score)


def test_mam_by_max_product_is_the_papers_decoding():
    fitted = ensemble().fit(X, Y)
    union, scores = average_scores(fitted, X_new)
    found, _ = max_product(union, scores)
    predicted = fitted.predict(X_new, inference="max_product")
    assert_allclose(score_labels(union, scores, predicted), found.score)
    assert microlabel_accuracy(predicted, fitted.predict(X_new)) > 0.95


@pytest.mark.parametrize("graph", ["random_pairing", lambda n, rng: [(0, 1)]])
def test_labels_without_an_edge_keep_a_unary_factor_in_the_consensus(graph):
    fitted = ensemble(graph=graph).fit(X, Y)
    union, scores = average_scores(fitted, X_new)
    alone = {j for g in fitted.graphs_ for j in np.flatnonzero(g.degrees == 0).tolist()}
    assert len(alone) > 0
    assert set(union.unary_labels.tolist()) == alone
    assert fitted.intercept_.shape == (union.n_cells,)
    reached = score_labels(union, scores, fitted.predict(X_new))
    assert_allclose(reached, exhaustive_search(union, scores).score)


# --- MVE and AMM ---------------------------------------------------------------------


@pytest.mark.parametrize("labels", [Y, GRADES], ids=["binary", "three values"])
def test_amm_maximises_the_mean_max_marginal(labels):
    fitted = ensemble().fit(X, labels)
    predicted = fitted.predict(X_new, aggregation="amm")
    marginals = [
        max_marginals(member._factors, member_scores(fitted, member, X_new))
        for member in fitted.estimators_
    ]
    for j, column in enumerate(predicted.T):
        mean = np.mean([of_member[j] for of_member in marginals], axis=0)
        chosen = mean[np.arange(len(mean)), column]
        assert_allclose(chosen, mean.max(axis=1))


@pytest.mark.parametrize("n_estimators", [4, 5])
@pytest.mark.parametrize("labels", [Y, GRADES], ids=["binary", "three values"])
def test_mve_is_the_vote_and_the_mean_max_marginal_breaks_ties(n_estimators, labels):
    fitted = ensemble(n_estimators).fit(X, labels)
    predicted = fitted.predict(X_new, aggregation="mve")
    ballots = np.array([member.predict(X_new) for member in fitted.estimators_])
    marginals = [
        max_marginals(member._factors, member_scores(fitted, member, X_new))
        for member in fitted.estimators_
    ]
    n_ties = 0
    for i, j in np.ndindex(predicted.shape):
        votes = np.bincount(ballots[:, i, j], minlength=labels.max() + 1)
        tied = np.flatnonzero(votes == votes.max())
        mean = np.mean([of_member[j][i] for of_member in marginals], axis=0)
        assert predicted[i, j] == tied[mean[tied].argmax()]
        n_ties += len(tied) > 1
    assert n_ties > 0 or n_estimators == 5


def test_no_margin_however_large_outweighs_a_vote():
    votes = [np.array([[2.0, 1.0], [1.0, 1.0], [1.0, 1.0]])]
    margins = [np.array([[-1e9, 0.0], [-1e9, -2e9], [-2e-9, -1e-9]])]
    ballot = Ballot(votes, margins, 3)
    (shares,) = ballot.strengths("mve")
    assert shares.argmax(axis=1).tolist() == [0, 0, 1]
    assert ballot.choose("mve").ravel().tolist() == [0, 0, 1]


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_votes_and_margins_break_each_others_ties_at_any_scale(size):
    votes = [np.array([[1.0, 1.0], [0.0, 2.0]])]
    margins = [size * np.array([[-2.0, -1.0], [0.0, 0.0]])]
    ballot = Ballot(votes, margins, 2)
    assert ballot.choose("mve").ravel().tolist() == [1, 1]
    assert ballot.choose("amm").ravel().tolist() == [1, 1]


def test_on_ties_one_tree_still_predicts_one_optimal_label_set():
    opposite = np.array([[0, 1], [1, 0]])
    fitted = ensemble(1, graph=[(0, 1)]).fit([[1.0], [-1.0]], opposite)
    for aggregation in ("mve", "amm", "mam"):
        predicted = fitted.predict([[0.0]], aggregation=aggregation)
        assert predicted.tolist() in [[[0, 1]], [[1, 0]]]


# --- what does not matter -------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_with_one_tree_all_aggregations_are_the_member(kernel):
    fitted = ensemble(1, kernel=kernel).fit(X, Y)
    (member,) = fitted.estimators_
    assert fitted.consensus_graph_ == member.graph_
    assert_array_equal(fitted._weights, member._weights)
    expected = member.predict(X_new)
    for aggregation in AGGREGATIONS:
        assert_array_equal(fitted.predict(X_new, aggregation), expected)


def test_a_larger_ensemble_contains_the_smaller():
    large, small = ensemble(15).fit(X, Y), ensemble(10).fit(X, Y)
    assert large.graphs_[:10] == small.graphs_
    assert_array_equal(large.duality_gap_[:10], small.duality_gap_)
    for one, other in zip(large.estimators_, small.estimators_, strict=False):
        assert_array_equal(one.coef_, other.coef_)
        assert_array_equal(one.intercept_, other.intercept_)
    for aggregation in AGGREGATIONS:
        tenth = list(large.staged_predict(X_new, aggregation))[9]
        assert_array_equal(tenth, small.predict(X_new, aggregation))


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
    assert_array_equal(one.intercept_, other.intercept_)


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


# --- members and graphs ---------------------------------------------------------------


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


def test_every_member_draws_its_own_graph():
    graphs = ensemble(10).fit(X, Y).graphs_
    assert len(set(graphs)) > 5
    assert all(graph.is_forest and graph.n_edges == 4 for graph in graphs)


TREES = [[(0, 1), (1, 2)], [(0, 2), (2, 3)], [(3, 4)]]


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


def test_members_may_have_names_of_different_generators():
    tree, pairs = ensemble(2, graph=["chow_liu", random_pairing]).fit(X, Y).graphs_
    assert (tree.n_edges, pairs.n_edges) == (4, 2)


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
    ],
)
def test_bad_parameters_are_refused_with_a_reason(params, message):
    with pytest.raises(ValueError, match=message):
        ensemble().set_params(**params).fit(X, Y)


def test_unknown_options_of_prediction_are_refused():
    fitted = ensemble(2).fit(X, Y)
    with pytest.raises(ValueError, match="one of 'mve', 'amm', 'mam'; got 'mean'"):
        fitted.predict(X, aggregation="mean")
    with pytest.raises(ValueError, match="one of 'mve', 'amm', 'mam'; got 'mean'"):
        next(fitted.staged_predict(X, aggregation="mean"))
    with pytest.raises(ValueError, match="one of 'certified', 'max_product'; got 'x'"):
        fitted.predict(X, inference="x")


def test_prediction_in_chunks_is_prediction_at_once(monkeypatch):
    fitted = ensemble(3).fit(X, Y)
    whole = [fitted.predict(X_new, aggregation) for aggregation in AGGREGATIONS]
    decisions = fitted.decision_function(X_new)
    monkeypatch.setattr("spanforest._classifier.CHUNK_CELLS", 100)
    for aggregation, expected in zip(AGGREGATIONS, whole, strict=True):
        assert_array_equal(fitted.predict(X_new, aggregation), expected)
    assert_allclose(fitted.decision_function(X_new), decisions, atol=1e-12)


def test_averages_have_a_cell_per_factor_of_the_consensus():
    fitted = ensemble(3).fit(X, GRADES)
    cells = FactorGraph(fitted.consensus_graph_, [3, 3, 3]).n_cells
    assert fitted.coef_.shape == (4, cells)
    assert ensemble(3, kernel="rbf").fit(X, GRADES).dual_coef_.shape == (80, cells)


def test_fits_at_the_same_time_leave_the_blas_threads_as_they_were():
    def n_threads():
        return [pool["num_threads"] for pool in threadpool_info()]

    before = n_threads()
    fits = [threading.Thread(target=ensemble(3).fit, args=(X, Y)) for _ in range(4)]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    assert n_threads() == before
