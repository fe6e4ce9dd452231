"""Learning from labels that are not all observed, against oracles over all label sets.

The oracles know nothing of the solver: they write down the features and the loss of
every example and label set, over the factors whose labels the example has, and
enumerate label sets.
"""

import pickle
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from strategies import FORESTS, factor_graphs, random_graph, seeds

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier, load, save
from spanforest._labels import read_labels
from spanforest._training import model_factors
from spanforest.datasets import make_circle
from spanforest.diagnostics import (
    edge_couplings,
    explain,
    final_step,
    keep_summary,
    label_frequencies,
    reconstruction_gap,
    training_frequencies,
)
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, chow_liu_tree, mutual_information
from spanforest.losses import find_loss
from spanforest.metrics import (
    microlabel_accuracy,
    microlabel_f1,
    multilabel_accuracy,
)
from spanforest.paper import StoredGraph
from spanforest.plots import LabelGraphDisplay
from spanforest.solver import DenseForm, KernelForm, Problem, SparseForm, solve

PATH = LabelGraph(3, [(0, 1), (1, 2)])
PAIR = LabelGraph(3, [(0, 2)])
TRIANGLE = LabelGraph(3, [(0, 1), (1, 2), (0, 2)])


# --- problems and oracles ----------------------------------------------------------


class Task(NamedTuple):
    """A problem with its features; Y is -1 where a label was not observed."""

    factors: FactorGraph
    loss: str
    X: np.ndarray
    Y: np.ndarray
    C: float

    @property
    def parts(self):
        """The labels of every factor, in the order of the cells."""
        singles = [[j] for j in self.factors.unary_labels.tolist()]
        return [*self.factors.graph.edges.tolist(), *singles]

    @property
    def weights_of_loss(self):
        ends = self.factors.arrays.factor
        return find_loss(self.loss)(ends["first"], ends["second"])

    @property
    def kernel(self):
        return self.X @ self.X.T

    def solve(self, form=KernelForm, seed=0, **options):
        data = {
            KernelForm: self.kernel,
            DenseForm: self.X,
            SparseForm: sparse.csr_array(self.X),
        }[form]
        problem = Problem(self.factors, self.weights_of_loss, self.Y, self.C)
        fresh = form(data, problem.coordinates)
        return solve(fresh, problem, np.random.default_rng(seed), **options)


def make_task(graph, n_values, *, loss="edge", seed=0, n=6, C=0.5):
    """Labels of which a third is hidden; examples 0 and 1 have none and all."""
    rng = np.random.default_rng(seed)
    Y = rng.integers(n_values, size=(n, len(n_values)))
    Y[rng.random(Y.shape) < 1 / 3] = -1
    Y[0] = -1
    Y[1] = rng.integers(n_values)
    factors = model_factors(graph, np.array(n_values), node_factors=True)
    return Task(factors, loss, rng.normal(size=(n, 2)), Y.astype(np.int32), C)


def label_sets(factors):
    return np.array(list(np.ndindex(*factors.n_values)))


def is_taught(task, i, part):
    return all(task.Y[i, j] >= 0 for j in part)


def taught_indicators(task, i, Z):
    """U(z) of every row, written cell by cell; 0 in factors i does not teach."""
    columns = []
    for part in task.parts:
        for values in np.ndindex(*task.factors.n_values[part]):
            columns.append(
                (Z[:, part] == values).all(axis=1) & is_taught(task, i, part)
            )
    return np.array(columns, dtype=float).T


def taught_losses(task, i, Z):
    """The loss of every row, summed over the factors that i teaches."""
    total = np.zeros(len(Z))
    weights = task.weights_of_loss
    for f, part in enumerate(task.parts):
        if is_taught(task, i, part):
            wrong = Z[:, part] != task.Y[i, part]
            total += weights.joint[f] * wrong.any(axis=1)
            total += weights.first[f] * wrong[:, 0]
            if len(part) == 2:
                total += weights.second[f] * wrong[:, 1]
    return total


def true_indicators(task):
    """U(y_i) of every example; 0 in factors that it does not teach."""
    return np.array(
        [taught_indicators(task, i, y[None])[0] for i, y in enumerate(task.Y)]
    )


def optimum(task):
    """The least value of the primal, its constraints written out, by SLSQP."""
    Z = label_sets(task.factors)
    n, (_, d), q = len(task.Y), task.X.shape, task.factors.n_cells
    true = true_indicators(task)
    rows, losses = [], []
    for i in range(n):  # <w, phi(x_i) (U(y_i) - U(z))> + slack_i >= loss_i(z)
        for z in np.unique(taught_indicators(task, i, Z), axis=0):
            rows.append(np.append(np.outer(task.X[i], true[i] - z), np.eye(n)[i]))
        _, first = np.unique(taught_indicators(task, i, Z), axis=0, return_index=True)
        losses += taught_losses(task, i, Z)[first].tolist()
    constraints, losses = np.array(rows), np.array(losses)
    is_weight = np.arange(d * q + n) < d * q
    found = optimize.minimize(
        lambda x: 0.5 * x[is_weight] @ x[is_weight] + task.C * x[~is_weight].sum(),
        np.append(np.zeros(d * q), np.full(n, losses.max())),
        jac=lambda x: np.where(is_weight, x, task.C),
        constraints={
            "type": "ineq",
            "fun": lambda x: constraints @ x - losses,
            "jac": lambda x: constraints,
        },
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    )
    assert found.success
    return found.fun


def primal_and_dual(task, A):
    """Both objectives at the dual variables A, from scratch."""
    Z = label_sets(task.factors)
    scores = task.kernel @ A
    primal = dual = 0.5 * (A * scores).sum()
    dual = -dual
    mu = task.C * true_indicators(task) - A
    for i, own in enumerate(true_indicators(task)):
        cells, losses = taught_indicators(task, i, Z), taught_losses(task, i, Z)
        primal += task.C * ((losses + cells @ scores[i]).max() - own @ scores[i])
        # the loss is linear in the cells: its weights follow from all label sets
        of_cells = np.linalg.lstsq(cells, losses, rcond=None)[0]
        dual += of_cells @ mu[i]
    return primal, dual


CASES = [
    pytest.param(PATH, [2, 2, 2], id="path"),
    pytest.param(PATH, [2, 3, 1], id="path, other numbers of values"),
    pytest.param(PAIR, [2, 2, 3], id="pair"),
    pytest.param(LabelGraph(3, []), [2, 3, 2], id="no edges"),
]


@st.composite
def tasks(draw, kinds):
    """A task on any factor graph, any labels hidden, with or without node factors."""
    factors = draw(
        factor_graphs(st.sampled_from(kinds), max_labels=4, extra_unary=True)
    )
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, 6))
    Y = rng.integers(factors.n_values, size=(n, factors.n_labels))
    Y[rng.random(Y.shape) < draw(st.sampled_from([0.2, 0.5, 0.8, 1.0]))] = -1
    X = rng.normal(size=(n, 3))
    if draw(st.booleans()):
        X = np.round(X)  # ties, zero rows
    loss = draw(st.sampled_from(["edge", "hamming"]))
    C = draw(st.sampled_from([0.01, 0.5, 10.0]))
    return Task(factors, loss, X, Y.astype(np.int32), C)


# --- the optimum and its certificate -----------------------------------------------


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize(("graph", "n_values"), CASES)
def test_the_optimum_on_forests_is_that_of_a_general_purpose_solver(
    graph, n_values, loss
):
    task = make_task(graph, n_values, loss=loss)
    found = task.solve(tol=1e-6, max_iter=5000)
    assert found.converged
    assert_allclose(found.dual_objective, optimum(task), rtol=1e-5)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_on_a_cycle_lies_between_the_objectives_found(loss, seed):
    task = make_task(TRIANGLE, [2, 2, 2], loss=loss, seed=seed, n=5)
    found = task.solve(tol=1e-3, max_iter=3000)
    best = optimum(task)
    assert found.dual_objective <= best * (1 + 1e-6)
    assert_allclose(found.dual_objective, best, rtol=5e-3)
    assert found.dual_objective + found.gap >= best * (1 - 1e-6)


@given(tasks(FORESTS), st.integers(1, 20))
@settings(deadline=None, max_examples=60)
def test_primal_minus_dual_from_scratch_is_the_gap_on_forests(task, max_iter):
    found = task.solve(tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, found.weights)
    scale = 1e-7 * (1.0 + abs(primal))
    assert_allclose(found.dual_objective, dual, rtol=1e-6, atol=scale)
    assert_allclose(found.gap, primal - dual, rtol=1e-6, atol=scale)


@given(tasks([random_graph]), st.integers(1, 10))
@settings(deadline=None, max_examples=40)
def test_the_gap_on_cycles_is_never_too_small(task, max_iter):
    found = task.solve(tol=1e-3, max_iter=max_iter)
    primal, dual = primal_and_dual(task, found.weights)
    scale = 1e-7 * (1.0 + abs(primal))
    assert_allclose(found.dual_objective, dual, rtol=1e-6, atol=scale)
    assert found.gap >= primal - dual - scale


@given(tasks([*FORESTS, random_graph]), st.integers(1, 10))
@settings(deadline=None, max_examples=60)
def test_an_example_moves_the_factors_it_teaches_and_no_others(task, max_iter):
    A = task.solve(tol=1e-3, max_iter=max_iter).weights
    n_cells = task.factors.arrays.factor["n_cells"]
    for i, row in enumerate(A):
        mu = np.split(task.C * true_indicators(task)[i] - row, np.cumsum(n_cells)[:-1])
        shares = {}  # of every label's values, as each of its factors says
        for part, table in zip(task.parts, mu, strict=True):
            if not is_taught(task, i, part):
                assert not table.any()
                continue
            table = table.reshape(task.factors.n_values[part])
            assert table.min() >= -1e-9 * task.C
            assert_allclose(table.sum(), task.C, rtol=1e-9)
            for axis, j in enumerate(part):
                other = tuple(k for k in range(table.ndim) if k != axis)
                shares.setdefault(j, []).append(table.sum(axis=other))
        for found in shares.values():
            assert_allclose(found, np.tile(found[0], (len(found), 1)), atol=1e-9)


@pytest.mark.parametrize("graph", [PATH, TRIANGLE])
def test_all_forms_walk_the_same_iterates(graph):
    task = make_task(graph, [2, 3, 2], n=9)
    found = {
        form: task.solve(form, tol=1e-9, max_iter=7)
        for form in (KernelForm, DenseForm, SparseForm)
    }
    W = task.X.T @ found[KernelForm].weights
    for form in (DenseForm, SparseForm):
        assert_allclose(found[form].weights, W, atol=1e-9)
        assert_allclose(found[form].gap, found[KernelForm].gap, rtol=1e-6)


def test_independent_labels_are_svms_of_the_examples_that_have_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(60, 4)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    model = MMCRFClassifier(
        graph="independent", C=0.5, tol=1e-7, max_iter=5000, random_state=0
    )
    found = model.fit(X, Y).decision_function(X)
    for j, y in enumerate(Y.T):
        known = ~np.isnan(y)
        svm = LinearSVC(C=1.0, loss="hinge", tol=1e-10, max_iter=10**6, random_state=0)
        expected = svm.fit(X[known], y[known]).decision_function(X)
        assert_allclose(found[:, j], expected, atol=5e-3)


@given(tasks([*FORESTS, random_graph]))
@settings(deadline=None, max_examples=30)
def test_the_hamming_loss_counts_the_wrong_labels_among_the_observed(task):
    everyone = np.arange(task.factors.n_labels)
    factors = FactorGraph(task.factors.graph, task.factors.n_values, everyone)
    task = task._replace(factors=factors, loss="hamming")
    Z = label_sets(factors)
    for i, y in enumerate(task.Y):
        expected = ((y != Z) & (y >= 0)).sum(axis=1)
        assert_allclose(taught_losses(task, i, Z), expected)


# --- estimators --------------------------------------------------------------------


@pytest.fixture(scope="module")
def circle():
    """Examples, labels, and which labels are hidden."""
    X, Y = make_circle(60, n_labels=4, random_state=0)
    rng = np.random.default_rng(0)
    hidden = rng.random(Y.shape) < 0.3
    hidden[3] = True
    return X, Y, hidden


def with_nan(Y, hidden):
    return np.where(hidden, np.nan, Y)


def small_ensemble(**params):
    return RandomGraphEnsembleClassifier(3, **{"tol": 0.1, "random_state": 0, **params})


def same_model(one, other):
    assert one.has_node_factors_ == other.has_node_factors_
    assert_array_equal(one.coef_, other.coef_)
    assert_array_equal(one.intercept_, other.intercept_)
    assert_array_equal(one.duality_gap_, other.duality_gap_)


@pytest.mark.parametrize(
    "write",
    [
        lambda Y: Y.astype(float),
        lambda Y: Y.astype(object),
        lambda Y: np.ma.masked_array(Y, np.zeros(Y.shape, dtype=bool)),
        lambda Y: pd.DataFrame(Y).astype("Int64"),
    ],
    ids=["float", "object", "nothing masked", "nullable"],
)
def test_where_all_labels_are_observed_nothing_changes(circle, write):
    X, Y, _ = circle
    plain = small_ensemble().fit(X, Y)
    assert not plain.has_node_factors_
    same_model(small_ensemble().fit(X, write(Y)), plain)
    same_model(small_ensemble(missing_label=-1).fit(X, write(Y)), plain)


WRITINGS = {
    "None": lambda Y, hidden: np.where(hidden, None, Y),
    "None in lists": lambda Y, hidden: np.where(
        hidden, None, Y.astype(object)
    ).tolist(),
    "nan among objects": lambda Y, hidden: np.where(hidden, np.nan, Y.astype(object)),
    "pandas.NA": lambda Y, hidden: pd.DataFrame(Y).astype("Int64").mask(hidden),
    "DataFrame of floats": lambda Y, hidden: pd.DataFrame(with_nan(Y, hidden)),
    "masked": np.ma.masked_array,
    "sparse": lambda Y, hidden: sparse.csr_array(with_nan(Y, hidden)),
    "booleans": lambda Y, hidden: pd.DataFrame(Y == 1).astype("boolean").mask(hidden),
    "words": lambda Y, hidden: np.where(hidden, None, np.where(Y, "yes", "no")),
}


@pytest.mark.parametrize("write", WRITINGS.values(), ids=WRITINGS)
def test_however_a_missing_label_is_written_the_model_is_the_same(circle, write):
    X, Y, hidden = circle
    expected = small_ensemble().fit(X, with_nan(Y, hidden))
    assert expected.has_node_factors_
    same_model(small_ensemble().fit(X, write(Y, hidden)), expected)


@pytest.mark.parametrize("missing_label", [-1, -1.0, 7, "?", pd.NA, np.nan], ids=repr)
def test_a_value_can_be_told_to_mean_missing(circle, missing_label):
    X, Y, hidden = circle
    written = np.where(hidden, missing_label, Y.astype(object))
    found = small_ensemble(missing_label=missing_label).fit(X, written)
    same_model(found, small_ensemble().fit(X, with_nan(Y, hidden)))


def test_a_value_that_means_missing_adds_to_the_others():
    Y = pd.DataFrame({"a": [0, -1, None, 1]}, dtype="Int64")
    codes, coding = read_labels(Y, allow_missing=True, missing_label=-1)
    assert codes[:, 0].tolist() == [0, -1, -1, 1]
    assert coding.classes[0].tolist() == [0, 1]


def test_only_one_value_can_be_told_to_mean_missing():
    with pytest.raises(ValueError, match=r"the one number or string .* got \[-1, 9\]"):
        read_labels([[0, 1], [-1, 1]], allow_missing=True, missing_label=[-1, 9])


@pytest.mark.parametrize("graph", ["random_tree", "chow_liu", TRIANGLE, "independent"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_what_stands_in_the_place_of_a_missing_label_does_not_matter(
    circle, graph, kernel
):
    X, Y, hidden = circle
    Y, hidden = Y[:, :3], hidden[:, :3]
    scores = []
    for other in (Y, 1 - Y, np.full_like(Y, 9)):
        masked = np.ma.masked_array(np.where(hidden, other, Y), hidden)
        model = MMCRFClassifier(graph, kernel, tol=0.1, random_state=0)
        scores.append(model.fit(X, masked).decision_function(X))
    assert_array_equal(scores[0], scores[1])
    assert_array_equal(scores[0], scores[2])


def test_an_example_without_any_label_changes_nothing(circle):
    X, Y, hidden = circle
    Y = with_nan(Y, hidden)
    some = ~hidden.all(axis=1)
    assert not some.all()
    params = {"graph": [(0, 1), (1, 2), (2, 3)], "tol": 1e-6, "max_iter": 5000}
    found = MMCRFClassifier(**params, random_state=0).fit(X, Y)
    expected = MMCRFClassifier(**params, random_state=0).fit(X[some], Y[some])
    assert_allclose(found.dual_objective_, expected.dual_objective_, rtol=1e-5)
    difference = found.decision_function(X) - expected.decision_function(X)
    assert_allclose(difference, 0.0, atol=0.02)


def test_a_label_never_observed_is_refused_by_name(circle):
    X, Y, hidden = circle
    Y = with_nan(Y, hidden)
    Y[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"label 2 never is\. Leave it out of Y"):
        small_ensemble().fit(X, Y)
    with pytest.raises(ValueError, match="label rain never is"):
        small_ensemble().fit(X, pd.DataFrame(Y, columns=["sun", "fog", "rain", "ice"]))


def test_messages_name_the_example_and_not_its_place_among_the_observed():
    with pytest.raises(ValueError, match="label 0 of example 2 is infinity"):
        read_labels([[np.nan], [1.0], [np.inf]], allow_missing=True)
    with pytest.raises(ValueError, match=r"label 0 of example 2 is 0\.5"):
        read_labels([[np.nan], [1.0], [0.5]], allow_missing=True)


def test_labels_observed_one_per_example_are_learned_as_if_independent():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    Y = (X @ rng.normal(size=(5, 4)) > 0).astype(float)
    rows = np.arange(200)
    one = np.full((200, 4), np.nan)
    one[rows, rows % 4] = Y[rows, rows % 4]
    params = {"C": 1.0, "tol": 1e-5, "max_iter": 5000, "random_state": 0}
    ensemble = RandomGraphEnsembleClassifier(3, **params).fit(X[:200], one)
    n_on_edges = 4 * ensemble.consensus_graph_.n_edges
    assert not ensemble.coef_[:, :n_on_edges].any()
    alone = MMCRFClassifier("independent", **params).fit(X[:200], one)
    assert_allclose(ensemble.coef_[:, n_on_edges:], alone.coef_, atol=0.01)
    predicted = ensemble.predict(X[200:])
    assert (predicted == alone.predict(X[200:])).mean() > 0.99
    assert ((predicted == Y[200:]).mean(axis=0) > 0.8).all()


def test_every_observed_label_is_learned_from_whatever_the_graph():
    X = np.linspace(-1, 1, 20)[:, None]
    Y = np.full((20, 2), np.nan)
    Y[::2, 0] = X[::2, 0] > 0
    Y[1::2, 1] = X[1::2, 0] < 0
    found = MMCRFClassifier(graph=[(0, 1)], C=10, random_state=0).fit(X, Y).predict(X)
    assert_array_equal(found, np.hstack([X > 0, X < 0]))


def test_a_vector_may_have_missing_labels_too(circle):
    X, _, hidden = circle
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.3, 0.3])]
    known = ~hidden[:, 0]
    partly = np.where(known, y, None)
    params = {"C": 1.0, "tol": 1e-6, "max_iter": 5000, "random_state": 0}
    found = MMCRFClassifier(**params).fit(X, partly)
    expected = MMCRFClassifier(**params).fit(X[known], y[known])
    assert found.classes_.tolist() == ["high", "low", "mid"]
    assert found.predict(X).shape == (60,)
    difference = found.decision_function(X) - expected.decision_function(X)
    assert_allclose(difference, 0.0, atol=0.02)


def test_a_label_with_one_observed_value_has_it_always(circle):
    X, Y, hidden = circle
    Y = with_nan(Y, hidden)
    Y[:, 1] = np.where(hidden[:, 1], np.nan, 1)
    ensemble = small_ensemble(probability=True).fit(X, Y)
    assert (ensemble.predict(X)[:, 1] == 1).all()
    assert (ensemble.predict_proba(X)[:, 1] == 1).all()
    assert (ensemble.predict_topk(X, 3).labels[..., 1] == 1).all()


def test_predictions_have_no_missing_labels_and_the_type_of_the_observed(circle):
    X, Y, hidden = circle
    masked = np.ma.masked_array(Y, hidden)
    predicted = small_ensemble().fit(X, masked).predict(X)
    assert type(predicted) is np.ndarray
    assert predicted.dtype == Y.dtype
    assert set(np.unique(predicted)) <= {0, 1}
    listed = np.where(hidden, None, Y).tolist()
    assert small_ensemble().fit(X, listed).predict(X).dtype == Y.dtype


def test_a_second_fit_forgets_that_labels_were_missing(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    same_model(model.fit(X, Y), small_ensemble().fit(X, Y))


def test_members_in_parallel_are_the_same(circle):
    X, Y, hidden = circle
    Y = with_nan(Y, hidden)
    same_model(small_ensemble(n_jobs=2).fit(X, Y), small_ensemble().fit(X, Y))


def test_copies_and_files_keep_what_was_learned(circle, tmp_path):
    pytest.importorskip("skops")
    X, Y, hidden = circle
    model = small_ensemble(missing_label=-1).fit(X, np.where(hidden, -1, Y))
    assert clone(model).missing_label == -1
    save(model, tmp_path / "model.spanforest")
    copies = load(tmp_path / "model.spanforest"), pickle.loads(pickle.dumps(model))
    for copy in copies:
        same_model(copy, model)
        assert copy.missing_label == -1
        assert all(member.has_node_factors_ for member in copy.estimators_)
        assert_array_equal(copy.predict(X, "amm"), model.predict(X, "amm"))


def test_a_search_over_parameters_works_with_a_measure_of_observed_labels(circle):
    X, Y, hidden = circle

    def accuracy(model, X, Y):
        known = ~np.isnan(Y)
        return (model.predict(X) == Y)[known].mean()

    search = GridSearchCV(
        small_ensemble(), {"C": [0.01, 1.0]}, scoring=accuracy, cv=KFold(2)
    )
    assert search.fit(X, with_nan(Y, hidden)).best_score_ > 0.5


# --- what looks at a model or at labels --------------------------------------------


def test_explanations_add_up_with_factors_of_single_labels(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    for found in explain(model, X[0]).labels:
        assert [part.other for part in found.contributions].count(None) == 1
        total = sum(part.difference for part in found.contributions)
        assert_allclose(total, found.margin)
        assert found.margin >= -1e-9


def test_both_sides_of_theorem_1_agree_with_factors_of_single_labels(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, np.ma.masked_array(Y, hidden))
    found = reconstruction_gap(model, X, Y)
    assert_allclose(found.gap, found.variance, rtol=1e-9)


def test_couplings_are_those_of_the_edges_only(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, np.ma.masked_array(Y, hidden))
    found = edge_couplings(model, X, Y)
    assert_array_equal(found.edges, model.consensus_graph_.edges)
    assert len(found.strength) == model.consensus_graph_.n_edges


def test_theorem_1_is_refused_where_labels_are_missing(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    with pytest.raises(ValueError, match="label 0 of example 3 is nan"):
        reconstruction_gap(model, X, with_nan(Y, hidden))


def test_frequencies_and_couplings_are_of_the_labels_that_are_known(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    shares = np.array([y[~out].mean() for y, out in zip(Y.T, hidden.T, strict=True)])
    for partly in (with_nan(Y, hidden), np.ma.masked_array(Y, hidden)):
        assert_allclose(label_frequencies(partly), shares)
    coded = np.where(hidden, -1, Y)
    assert_allclose(label_frequencies(coded, missing_label=-1), shares)
    # labels that are all known and have the same frequencies give the same couplings
    n = np.lcm.reduce((~hidden).sum(axis=0))
    counts = np.rint(shares * n).astype(int)
    same = (np.arange(n)[:, None] < counts).astype(int)
    expected = edge_couplings(model, X, same)
    found = edge_couplings(model, X, with_nan(Y, hidden))
    assert_allclose(found.strength, expected.strength)
    # and so does the value that the model was told means missing
    told = small_ensemble(missing_label=-1).fit(X, coded)
    assert_allclose(edge_couplings(told, X, coded).strength, expected.strength)


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_summaries_and_pictures_count_no_missing_label_as_a_value(circle, in_pipeline):
    X, Y, hidden = circle
    coded = np.where(hidden, -1, Y)
    model = small_ensemble(missing_label=-1)
    if in_pipeline:
        model = make_pipeline(StandardScaler(), model)
    model.fit(X, coded)
    shares = np.ma.masked_array(Y, hidden).mean(axis=0)
    keep_summary(model, X, coded)
    assert_allclose(training_frequencies(model), shares)
    pytest.importorskip("matplotlib").use("Agg")
    display = LabelGraphDisplay.from_estimator(model, X, coded)
    assert_allclose(display.frequencies, shares)
    stored = StoredGraph.of(final_step(model)[0], final_step(model, X)[1], coded)
    assert_allclose(stored.frequencies, shares)


@pytest.mark.parametrize(
    "metric", [microlabel_accuracy, multilabel_accuracy, microlabel_f1]
)
@pytest.mark.parametrize("write", [with_nan, *WRITINGS.values()])
def test_metrics_refuse_labels_that_are_missing(circle, metric, write):
    _, Y, hidden = circle
    with pytest.raises(ValueError, match="Y_true must be fully observed; label"):
        metric(write(Y, hidden), Y)


def test_score_refuses_labels_that_are_missing(circle):
    X, Y, hidden = circle
    model = small_ensemble().fit(X, with_nan(Y, hidden))
    assert 0 < model.score(X, Y) <= 1
    with pytest.raises(ValueError, match="Y_true must be fully observed; label"):
        model.score(X, with_nan(Y, hidden))
    model = small_ensemble(missing_label=-1).fit(X, np.where(hidden, -1, Y))
    with pytest.raises(ValueError, match="label 0 of example 3 is -1"):
        model.score(X, np.where(hidden, -1, Y))


# --- mutual information ------------------------------------------------------------


@given(seeds, st.integers(2, 5))
@settings(deadline=None, max_examples=30)
def test_mutual_information_is_that_of_the_rows_with_both_labels(seed, n_labels):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, [2, 3, 2, 4, 1][:n_labels], size=(12, n_labels))
    Y[rng.random(Y.shape) < rng.choice([0.1, 0.5, 0.9])] = -1
    found = mutual_information(Y)
    for a in range(n_labels):
        for b in range(n_labels):
            both = (Y[:, a] >= 0) & (Y[:, b] >= 0)
            expected = mutual_info_score(Y[both, a], Y[both, b]) if both.any() else 0.0
            assert_allclose(found[a, b], expected, atol=1e-12)
    assert chow_liu_tree(Y).n_edges == n_labels - 1
