"""MVE, AMM and MAM against their definitions, computed by hand."""

from fractions import Fraction

import numpy as np
import pytest
from ensembles import GRADES, X, X_new, Y, average_scores, ensemble, member_scores
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import exact_scores
from strategies import (
    random_forest,
    random_graph,
    scores_for,
    seeds,
    trials,
    uneven_scores,
)

from spanforest.aggregation import (
    AGGREGATIONS,
    Ballot,
    average_margins,
    combine,
    consensus_margins,
    count_ballots,
)
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, consensus_graph
from spanforest.inference import (
    decode,
    exhaustive_search,
    label_margins,
    max_marginals,
    max_product,
    score_labels,
)
from spanforest.metrics import microlabel_accuracy

# --- MAM: the best label set of the average scores -----------------------------------


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("labels", [Y, GRADES], ids=["binary", "three values"])
def test_mam_of_averaged_weights_is_mam_of_averaged_scores(kernel, labels):
    fitted = ensemble(kernel=kernel).fit(X, labels)
    union, scores = average_scores(fitted, X_new)
    own = fitted._input.rows(X_new) @ fitted._weights + fitted.cell_intercept_
    assert_allclose(own, scores, atol=1e-9)
    reached = score_labels(union, scores, fitted.predict(X_new))
    best = decode(union, scores)
    assert best.proven.mean() > 0.9
    assert_allclose(reached[best.proven], best.score[best.proven], atol=1e-9)
    assert (reached <= best.bound + 1e-9).all()


@pytest.mark.needs_compiled
def test_mam_predicts_a_best_label_set_of_the_consensus_graph():
    fitted = ensemble().fit(X, Y)
    union, scores = average_scores(fitted, X_new)
    assert not union.graph.is_forest
    assert union.graph == fitted.consensus_graph_ == consensus_graph(fitted.graphs_)
    reached = score_labels(union, scores, fitted.predict(X_new))
    assert_allclose(reached, exhaustive_search(union, scores).score)


@pytest.mark.needs_compiled
def test_mam_by_max_product_is_the_papers_decoding():
    fitted = ensemble().fit(X, Y)
    union, scores = average_scores(fitted, X_new)
    decoding, _ = max_product(union, scores)
    predicted = fitted.predict(X_new, inference="max_product")
    assert_allclose(score_labels(union, scores, predicted), decoding.score)
    assert microlabel_accuracy(predicted, fitted.predict(X_new)) > 0.95


@pytest.mark.needs_compiled
@pytest.mark.parametrize("graph", ["random_pairing", lambda n, rng: [(0, 1)]])
def test_labels_without_an_edge_keep_a_unary_factor_in_the_consensus(graph):
    fitted = ensemble(graph=graph).fit(X, Y)
    union, scores = average_scores(fitted, X_new)
    alone = {j for g in fitted.graphs_ for j in np.flatnonzero(g.degrees == 0).tolist()}
    assert len(alone) > 0
    assert set(union.unary_labels.tolist()) == alone
    assert fitted.cell_intercept_.shape == (union.n_cells,)
    reached = score_labels(union, scores, fitted.predict(X_new))
    assert_allclose(reached, exhaustive_search(union, scores).score)


# --- AMM and MVE: mean max-marginals and votes ---------------------------------------


@pytest.mark.needs_compiled
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


@pytest.mark.needs_compiled
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
    ballot = Ballot(votes, margins, 3, np.zeros(3))
    (shares,) = ballot.strengths("mve")
    assert shares.argmax(axis=1).tolist() == [0, 0, 1]
    assert ballot.choose("mve").ravel().tolist() == [0, 0, 1]


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_votes_and_margins_break_each_others_ties_at_any_scale(size):
    votes = [np.array([[1.0, 1.0], [0.0, 2.0]])]
    margins = [size * np.array([[-2.0, -1.0], [0.0, 0.0]])]
    ballot = Ballot(votes, margins, 2, np.zeros(2))
    assert ballot.choose("mve").ravel().tolist() == [1, 1]
    assert ballot.choose("amm").ravel().tolist() == [1, 1]


def test_on_ties_one_tree_still_predicts_one_optimal_label_set():
    opposite = np.array([[0, 1], [1, 0]])
    fitted = ensemble(1, graph=[(0, 1)]).fit([[1.0], [-1.0]], opposite)
    for aggregation in ("mve", "amm", "mam"):
        predicted = fitted.predict([[0.0]], aggregation=aggregation)
        assert predicted.tolist() in [[[0, 1]], [[1, 0]]]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_with_one_tree_all_aggregations_are_the_member(kernel):
    fitted = ensemble(1, kernel=kernel).fit(X, Y)
    (member,) = fitted.estimators_
    assert fitted.consensus_graph_ == member.graph_
    assert_array_equal(fitted._weights, member._weights)
    expected = member.predict(X_new)
    for aggregation in AGGREGATIONS:
        assert_array_equal(fitted.predict(X_new, aggregation), expected)


# --- the definitions, by enumerating label sets ---------------------------------------


@st.composite
def ensembles(draw, max_members=4, scores_for=scores_for):
    """Draw members of 1 to 4 labels, with scores of a few examples for each."""
    rng = np.random.default_rng(draw(seeds))
    n_labels = draw(st.integers(1, 4))
    n_values = rng.choice([1, 2, 2, 3], size=n_labels)
    kinds = st.lists(
        st.sampled_from([random_forest, random_graph]), min_size=1, max_size=max_members
    )
    members = [FactorGraph(kind(n_labels, rng), n_values) for kind in draw(kinds)]
    return members, [draw(scores_for(factors)) for factors in members]


def label_sets(factors):
    """Return every label set, one per row."""
    return np.array(list(np.ndindex(*factors.n_values)))


def mean_scores(members, scores):
    """Return the members' mean score of every example and label set."""
    Z = label_sets(members[0])
    tables = []
    for factors, own in zip(members, scores, strict=True):
        columns = [score_labels(factors, own, np.tile(z, (len(own), 1))) for z in Z]
        tables.append(np.column_stack(columns))
    return np.mean(tables, axis=0)


@given(ensembles())
@trials(60)
def test_mam_reaches_the_highest_mean_score_of_all_label_sets(problem):
    members, scores = problem
    means, Z = mean_scores(members, scores), label_sets(members[0])
    predicted = combine("mam", members, scores)
    rows = [int(np.flatnonzero((z == Z).all(axis=1))[0]) for z in predicted]
    reached = means[np.arange(len(means)), rows]
    assert_allclose(reached, means.max(axis=1), atol=1e-9)


@given(ensembles())
@trials(60)
def test_margins_of_mam_are_zero_at_the_prediction_and_nowhere_positive(problem):
    members, scores = problem
    predicted = combine("mam", members, scores)
    margins = consensus_margins(members, scores)
    for j, margin in enumerate(margins):
        assert_allclose(np.take_along_axis(margin, predicted[:, [j]], 1), 0, atol=1e-9)
        assert margin.max() <= 1e-9


@given(ensembles())
@trials(60)
def test_the_ballot_of_the_first_members_has_their_votes_and_margins(problem):
    members, scores = problem
    chosen = [decode(*pair).labels for pair in zip(members, scores, strict=True)]
    margins = [label_margins(*pair) for pair in zip(members, scores, strict=True)]
    for t, ballot in enumerate(count_ballots(members, scores), start=1):
        assert ballot.n_members == t
        for j, n in enumerate(members[0].n_values):
            columns = np.array(chosen[:t])[:, :, j]
            expected = (columns[..., None] == np.arange(n)).sum(axis=0)
            assert_array_equal(ballot.votes[j], expected)
            total = sum(of_member[j] for of_member in margins[:t])
            assert_allclose(ballot.margins[j], total, atol=1e-9)
    assert t == len(members)


@given(ensembles(), st.sampled_from(["mve", "amm"]))
@trials(60)
def test_the_winner_of_the_last_ballot_is_what_is_predicted(problem, aggregation):
    members, scores = problem
    *_, ballot = count_ballots(members, scores)
    predicted = combine(aggregation, members, scores)
    assert_array_equal(predicted, ballot.choose(aggregation))
    of_labels = ballot.votes if aggregation == "mve" else ballot.margins
    for values, column in zip(of_labels, predicted.T, strict=True):
        reached = values[np.arange(len(values)), column]
        assert_allclose(reached, values.max(axis=1), atol=1e-8)


@given(ensembles())
@trials(60)
def test_margins_of_amm_are_the_mean_of_the_members(problem):
    members, scores = problem
    *_, ballot = count_ballots(members, scores)
    averages = average_margins(members, scores)
    for average, total in zip(averages, ballot.margins, strict=True):
        assert_allclose(average, total / len(members), atol=1e-9)
    for strength, average in zip(ballot.strengths("amm"), averages, strict=True):
        assert_allclose(strength, average, atol=1e-9)


@given(ensembles())
@trials(60)
def test_strengths_of_mve_are_highest_at_the_value_with_most_votes(problem):
    members, scores = problem
    *_, ballot = count_ballots(members, scores)
    for votes, strength in zip(ballot.votes, ballot.strengths("mve"), strict=True):
        strongest = np.take_along_axis(votes, strength.argmax(axis=1)[:, None], 1)
        assert_array_equal(strongest[:, 0], votes.max(axis=1))
        assert np.all(np.abs(strength - votes / len(members)) < 0.5 / len(members))


@given(ensembles(max_members=1), st.sampled_from(AGGREGATIONS))
@trials(60)
def test_one_member_is_combined_to_its_own_best_label_set(problem, aggregation):
    (factors,), (scores,) = problem
    predicted = combine(aggregation, [factors], [scores])
    best = exhaustive_search(factors, scores).score
    assert_allclose(score_labels(factors, scores, predicted), best, atol=1e-9)


# --- ties of AMM: what rounding may hide, and no more ---------------------------------


def exact_margins(factors, row, labels, j):
    """Return the margins of label j as fractions; `labels` is the decoded label set."""
    exact, values = exact_scores(factors, row), range(factors.n_values[j])
    if not factors.graph.is_forest:
        flipped = [(*labels[:j], a, *labels[j + 1 :]) for a in values]
        return [exact[one] - exact[tuple(labels)] for one in flipped]
    best = max(exact.values())
    return [max(exact[z] for z in exact if z[j] == a) - best for a in values]


def exact_totals(members, scores, decoded, i, j):
    """Return the sum over members of the margins of label j for example i."""
    margins = [
        exact_margins(factors, own[i], labels[i].tolist(), j)
        for factors, own, labels in zip(members, scores, decoded, strict=True)
    ]
    return [sum(column) for column in zip(*margins, strict=True)]


def decode_all(members, scores):
    """Return the label sets that every member predicts."""
    return [decode(*pair).labels for pair in zip(members, scores, strict=True)]


@given(ensembles(scores_for=uneven_scores))
@trials(60)
def test_rounding_moves_a_difference_of_margins_by_no_more_than_the_slack(problem):
    members, scores = problem
    *_, ballot = count_ballots(members, scores)
    decoded = decode_all(members, scores)
    for i, slack in enumerate(ballot.slack):
        if not np.isfinite(slack):
            continue
        for j, margins in enumerate(ballot.margins):
            exact = exact_totals(members, scores, decoded, i, j)
            errors = [Fraction(m) - x for m, x in zip(margins[i], exact, strict=True)]
            assert max(errors) - min(errors) <= Fraction(slack)
        sizes = sum(np.abs(own[i]).sum() for own in scores)
        assert slack <= 500 * np.finfo(float).eps * sizes + 1e-300


@given(ensembles())
@trials(60)
def test_margins_that_tie_exactly_leave_the_choice_to_the_votes(problem):
    members, scores = problem
    scores = [np.round(own) / 10 for own in scores]  # tenths are rounded
    *_, ballot = count_ballots(members, scores)
    whole = [np.round(10 * own) for own in scores]
    decoded = decode_all(members, scores)
    for (i, j), chosen in np.ndenumerate(ballot.choose("amm")):
        exact = exact_totals(members, whole, decoded, i, j)
        tied = [a for a, total in enumerate(exact) if total == max(exact)]
        votes = ballot.votes[j][i]
        assert chosen == max(tied, key=lambda a, votes=votes: (votes[a], -a))


def test_a_small_difference_of_large_margins_decides():
    alone = FactorGraph(LabelGraph(1, []), [2])
    scores = [np.array([[0.0, -1e9]]), np.array([[-1e9 - 1e-2, 0.0]])]
    assert combine("amm", [alone, alone], scores).tolist() == [[1]]
    assert combine("mve", [alone, alone], scores).tolist() == [[1]]
