"""The solver against oracles and known machines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import (
    FOREST,
    FORMS,
    TREE,
    TRIANGLE,
    Task,
    assert_reaches_the_optimum,
    best_original_dual,
    cyclic_tasks,
    forest_tasks,
    hide_labels,
    label_sets,
    losses,
    make_task,
    original_dual,
    primal_and_dual,
    primal_value,
)
from scipy import optimize
from sklearn.svm import LinearSVC
from strategies import seeds, trials

from spanforest import solver
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, random_spanning_tree
from spanforest.solver import (
    KernelForm,
    solve_path,
)

# --- the optimum -------------------------------------------------------------------

SMALL_CASES = [
    pytest.param(TREE, [2, 2, 2], id="tree"),
    pytest.param(TREE, [2, 3, 2], id="tree, three values"),
    pytest.param(FOREST, [2, 2, 3], id="forest"),
    pytest.param(LabelGraph(3, []), [2, 3, 2], id="no edges"),
]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize(("graph", "n_values"), SMALL_CASES)
def test_the_dual_optimum_is_that_of_the_original_dual_over_all_label_sets(
    graph, n_values, loss, intercept
):
    task = make_task(graph, n_values, n=6, loss=loss, intercept=intercept)
    assert_reaches_the_optimum(task)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("seed", range(3))
def test_the_dual_optimum_on_a_cycle_is_that_of_the_original_dual(loss, seed):
    task = make_task(TRIANGLE, [2, 2, 3], seed=seed, n=6, loss=loss, C=0.3)
    assert_reaches_the_optimum(task)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("kind", ["edge", "hamming"])
def test_the_oracle_agrees_with_a_general_purpose_solver(kind, hidden):
    task = make_task(TREE, [2, 2, 2], n=4, loss=kind)
    task = hide_labels(task) if hidden else task
    loss, Psi = original_dual(task)
    joint = Psi @ Psi.T
    solution = optimize.minimize(
        lambda alpha: 0.5 * alpha @ joint @ alpha - loss.ravel() @ alpha,
        np.zeros(loss.size),
        jac=lambda alpha: joint @ alpha - loss.ravel(),
        bounds=[(0, None)] * loss.size,
        constraints={
            "type": "ineq",
            "fun": lambda alpha: task.C - alpha.reshape(loss.shape).sum(axis=1),
            "jac": lambda alpha: -np.kron(np.eye(4), np.ones(8)),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert_allclose(-solution.fun, best_original_dual(task), rtol=1e-5)


# --- special cases equal known machines --------------------------------------------


@pytest.mark.needs_compiled
@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_a_pairing_is_one_problem_per_pair(loss):
    pairing = LabelGraph(5, [(0, 3), (1, 4)])  # label 2 stays alone
    task = make_task(pairing, [2, 2, 3, 3, 2], n=30, loss=loss, intercept=True)
    whole = task.solve(tol=1e-6, max_iter=5000)
    assert whole.converged
    separate = 0.0
    for labels in ([0, 3], [1, 4], [2]):
        edges = [(0, 1)] if len(labels) == 2 else []
        factors = FactorGraph(
            LabelGraph(len(labels), edges), task.factors.n_values[labels]
        )
        alone = task._replace(factors=factors, Y=task.Y[:, labels])
        solution = alone.solve(tol=1e-6, max_iter=5000)
        assert solution.converged
        separate += solution.dual_objective
    assert_allclose(whole.dual_objective, separate, rtol=1e-5)


def svm_value(svm, X, y, C):
    """1/2 |d|^2 + C sum of hinge losses, the constant feature regularised too."""
    d = np.append(svm.coef_, svm.intercept_ * svm.fit_intercept)
    margins = np.where(y == 1, 1, -1) * svm.decision_function(X)
    return 0.5 * d @ d + C * np.maximum(1.0 - margins, 0.0).sum()


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_one_label_of_two_values_is_a_binary_svm(C, intercept, loss):
    """With d = w_1 - w_0 and w_0 = -w_1 at the optimum, |w|^2 = |d|^2 / 2.

    So the objective is 1/4 |d|^2 + C sum_i hinge_i: half of an SVM's at 2 C.
    """
    task = make_task(LabelGraph(1, []), [2], n=40, loss=loss, C=C, intercept=intercept)
    y = task.Y[:, 0]
    solution = task.solve(tol=1e-7, max_iter=20_000)
    assert solution.converged
    svm = LinearSVC(
        loss="hinge",
        C=2 * C,
        fit_intercept=intercept,
        tol=1e-10,
        max_iter=10**6,
        random_state=0,
    ).fit(task.X, y)
    expected = svm_value(svm, task.X, y, 2 * C)
    assert_allclose(solution.dual_objective, 0.5 * expected, rtol=1e-5)
    scores = task.X @ solution.weights + solution.intercept
    decisions = svm.decision_function(task.X)
    assert_allclose(scores[:, 1] - scores[:, 0], decisions, atol=5e-3)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_one_label_of_more_values_is_a_crammer_singer_svm(C, intercept):
    """1/2 sum_a |w_a|^2 + C sum_i max_a (1 - [a = y_i] + <w_a - w_yi, x_i>)."""
    task = make_task(LabelGraph(1, []), [4], n=40, C=C, intercept=intercept)
    solution = task.solve(tol=1e-6, max_iter=20_000)
    assert solution.converged
    svm = LinearSVC(
        multi_class="crammer_singer",
        C=C,
        fit_intercept=intercept,
        tol=1e-10,
        max_iter=10**6,
        random_state=0,
    ).fit(task.X, task.Y[:, 0])
    squared_norm = (svm.coef_**2).sum()
    squared_norm += (svm.intercept_**2).sum() if intercept else 0.0
    expected = primal_value(task, svm.decision_function(task.X), squared_norm)
    assert_allclose(solution.dual_objective, expected, rtol=1e-5)
    scores = task.X @ solution.weights + solution.intercept
    centred = scores - scores.mean(axis=1, keepdims=True)
    theirs = svm.decision_function(task.X)
    theirs = theirs - theirs.mean(axis=1, keepdims=True)
    assert_allclose(centred, theirs, atol=1e-2)


def test_hamming_and_edge_loss_are_one_problem_without_edges():
    graph = LabelGraph(3, [])
    edge, hamming = (
        make_task(graph, [2, 3, 2], n=20, loss=loss).solve(tol=0, max_iter=5)
        for loss in ("edge", "hamming")
    )
    assert_allclose(edge.weights, hamming.weights, atol=1e-12)


# --- progress and reporting --------------------------------------------------------


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_without_acceleration_the_dual_never_decreases(graph, form, C, monkeypatch):
    monkeypatch.setattr(solver.Pace, "kappa", lambda *_: 0.0)
    task = make_task(graph, [2, 3, 2], n=20, C=C, intercept=True)
    reached = 0.0
    for max_iter in range(1, 12):
        solution = task.solve(form, tol=0, max_iter=max_iter)
        assert solution.dual_objective >= reached * (1 - 1e-10)
        reached = solution.dual_objective


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_after_every_epoch_the_optimum_lies_between_dual_and_primal(graph, form, C):
    task = make_task(graph, [2, 2, 2], n=8, C=C, intercept=True)
    best = best_original_dual(task, rtol=1e-4)
    for max_iter in range(1, 12):
        solution = task.solve(form, tol=0, max_iter=max_iter)
        assert solution.dual_objective <= best * (1 + 1e-4)
        assert solution.dual_objective + solution.gap >= best * (1 - 1e-4)


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
@pytest.mark.parametrize("form", FORMS)
def test_a_longer_run_repeats_a_shorter_one(graph, form):
    task = make_task(graph, [2, 3, 2], n=20, intercept=True)
    shorter, longer = (task.solve(form, tol=0, max_iter=n) for n in (4, 9))
    assert (shorter.n_iter, longer.n_iter) == (4, 9)
    assert_array_equal(longer.gaps[:3], shorter.gaps[:3])  # the last one is exact


def test_the_gap_is_not_negative_where_only_rounding_is_left_of_it():
    factors = FactorGraph(LabelGraph(1, []), [2])
    for x in np.random.default_rng(1).normal(size=(200, 1, 1)):
        task = Task(factors, "edge", x, np.array([[0]]), C=0.01)
        assert task.solve(max_iter=1).gap >= 0, x


@given(st.one_of(forest_tasks, cyclic_tasks), st.integers(1, 6), seeds)
@trials(60)
def test_the_numbers_of_a_solution_are_consistent(task, max_iter, seed):
    solution = task.solve(seed=seed, tol=1e-2, max_iter=max_iter)
    assert solution.gap == solution.gaps[-1]
    assert solution.gap >= -1e-12 * solution.dual_objective
    assert 1 <= solution.n_iter == len(solution.gaps) <= max_iter
    assert solution.dual_objective >= 0
    assert solution.converged == (solution.gap <= 1e-2 * solution.dual_objective)
    assert solution.converged or solution.n_iter == max_iter
    if solution.dual_objective > 0:
        assert solution.relative_gap == solution.gap / solution.dual_objective
    else:
        assert solution.relative_gap == np.inf
    assert solution.weights.shape == (task.X.shape[1], task.factors.n_cells)
    assert solution.intercept.shape == (task.factors.n_cells,)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [1, 5, 20])
def test_no_estimate_of_the_gap_is_negative(n, form):
    for seed in range(10):
        task = make_task(TREE, [2, 3, 2], n=n, seed=seed)
        solution = task.solve(form, tol=0, max_iter=20)
        assert (solution.gaps >= 0).all(), seed


def test_convergence_ends_training_and_more_epochs_change_nothing():
    task = make_task(TREE, [2, 2, 2], n=30)
    solution = task.solve(tol=1e-2, max_iter=1000)
    assert solution.converged
    assert solution.n_iter < 1000
    longer = task.solve(tol=1e-2, max_iter=2000)
    assert_array_equal(longer.weights, solution.weights)


@pytest.mark.needs_compiled
def test_a_smaller_tolerance_gives_a_smaller_gap():
    task = make_task(TREE, [2, 3, 2], n=30, intercept=True)
    for tol in (1e-1, 1e-2, 1e-3, 1e-5):
        solution = task.solve(tol=tol, max_iter=5000)
        assert solution.gap <= tol * solution.dual_objective


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_the_order_of_the_examples_does_not_matter_at_a_small_tolerance(graph):
    task = make_task(graph, [2, 2, 2], n=20, C=0.3, intercept=True)
    order = np.random.default_rng(1).permutation(20)
    shuffled = task._replace(X=task.X[order], Y=task.Y[order])
    one, other = (t.solve(tol=1e-5, max_iter=1000) for t in (task, shuffled))
    assert_allclose(one.dual_objective, other.dual_objective, rtol=2e-5)
    assert one.converged


@given(forest_tasks)
@trials(40)
def test_any_seed_leads_to_the_same_optimum(task):
    one, other = (task.solve(seed=seed, tol=1e-4, max_iter=20_000) for seed in (0, 1))
    assert one.converged
    assert other.converged
    assert_allclose(one.dual_objective, other.dual_objective, rtol=2e-4, atol=1e-12)


# --- paths -------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
@pytest.mark.parametrize("form", FORMS)
def test_the_first_of_a_path_is_the_solution_from_scratch(graph, form):
    task = make_task(graph, [2, 3, 2], n=20, C=0.3, intercept=True)
    rng = np.random.default_rng(0)
    other_C = task.problem._replace(C=7.0)
    path = solve_path(task.form(form), other_C, [0.3, 3.0], rng, max_iter=5)
    assert_array_equal(next(path).weights, task.solve(form, max_iter=5).weights)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("form", FORMS)
def test_a_path_has_the_optimum_of_every_price_of_slack(form):
    task = make_task(TREE, [2, 2, 3], n=40, intercept=True)
    Cs, limits = [0.1, 0.3, 1.0, 5.0], {"tol": 1e-4, "max_iter": 2000}
    rng = np.random.default_rng(0)
    path = list(solve_path(task.form(form), task.problem, Cs, rng, **limits))
    assert len(path) == len(Cs)
    for C, solution in zip(Cs, path, strict=True):
        cold = task._replace(C=C).solve(form, **limits)
        assert solution.converged
        assert_allclose(solution.dual_objective, cold.dual_objective, rtol=2e-4)


@pytest.mark.needs_compiled
def test_a_path_makes_fewer_epochs_than_solutions_from_scratch():
    task = make_task(TREE, [2, 2, 2], n=60, intercept=True)
    Cs, rng = [1.0, 2.0, 4.0, 8.0], np.random.default_rng(0)
    path = solve_path(task.form(), task.problem, Cs, rng, max_iter=1000)
    along = sum(solution.n_iter for solution in path)
    assert along < sum(task._replace(C=C).solve(max_iter=1000).n_iter for C in Cs)


def test_a_path_tells_its_watcher_of_every_epoch():
    task = make_task(TREE, [2, 2, 2], n=20)
    seen, rng = [], np.random.default_rng(0)

    def watch(epoch, gap):
        seen.append((epoch, gap))

    path = list(
        solve_path(task.form(), task.problem, [0.5, 1.0], rng, tol=0.01, watch=watch)
    )
    epochs = [e for one in path for e in range(1, one.n_iter + 1)]
    assert [epoch for epoch, _ in seen] == epochs
    assert seen[-1][1] == path[-1].relative_gap


# --- limits and degenerate data ----------------------------------------------------


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_weights_vanish_with_the_price_of_slack(graph):
    task = make_task(graph, [2, 2, 2], C=1e-9, intercept=True)
    solution = task.solve(tol=1e-3)
    assert solution.converged
    assert np.abs(solution.weights).max() < 1e-7
    assert np.abs(solution.intercept).max() < 1e-7
    Z = label_sets(task.factors)
    largest = losses(task, Z).max(axis=1).sum()
    assert_allclose(solution.dual_objective, task.C * largest, rtol=2e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [1e4, 1e6, 1e8])
def test_a_huge_price_of_slack_reaches_the_hard_margin_and_certifies_it(C, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 8))  # independent rows: any labels can be learned
    Y = rng.integers(2, size=(6, 3))
    task = Task(FactorGraph(TREE, [2, 2, 2]), "edge", X, Y, C)
    solution = task.solve(form, tol=1e-3, max_iter=5000)
    assert solution.converged
    assert np.isfinite(solution.weights).all()
    hard_margin = best_original_dual(task._replace(C=1e3))
    assert_allclose(solution.dual_objective, hard_margin, rtol=2e-3)


@pytest.mark.parametrize("C", [1e8, 1e12])
def test_a_huge_price_of_slack_leaves_the_certificate_honest(C):
    task = make_task(TREE, [2, 2, 2], n=8, C=C)
    task = task._replace(X=np.ones((8, 1)))  # nothing can be separated
    solution = task.solve(KernelForm, tol=1e-3, max_iter=50)
    assert np.isfinite(solution.weights).all()
    assert np.isfinite(solution.gaps).all()
    primal, dual = primal_and_dual(task, solution.weights)
    assert_allclose(solution.dual_objective, dual, rtol=1e-6)
    assert_allclose(solution.gap, primal - dual, rtol=1e-3, atol=1e-6 * primal)


@pytest.mark.parametrize("form", FORMS)
def test_an_example_of_no_features_pays_its_largest_loss(form):
    task = make_task(TREE, [2, 2, 2], n=6)
    task = task._replace(X=np.vstack([task.X, np.zeros(3)]), Y=task.Y[[*range(6), 0]])
    with_zero = task.solve(form, tol=1e-6, max_iter=5000)
    rest = task._replace(X=task.X[:6], Y=task.Y[:6])
    without = rest.solve(form, tol=1e-6, max_iter=5000)
    assert with_zero.converged
    assert_allclose(
        with_zero.dual_objective - without.dual_objective, 2 * task.C, rtol=1e-4
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_without_features_every_example_pays_its_largest_loss(graph, form):
    task = make_task(graph, [2, 2, 2])
    task = task._replace(X=np.zeros((8, 2)))
    solution = task.solve(form, tol=1e-4)
    assert solution.converged
    assert_allclose(solution.dual_objective, 8 * task.C * graph.n_edges, rtol=2e-4)


@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_a_repeated_example_is_one_example_at_twice_the_price(graph):
    task = make_task(graph, [2, 2, 2], n=6, C=0.2)
    twice = task._replace(
        X=np.repeat(task.X, 2, axis=0), Y=np.repeat(task.Y, 2, axis=0)
    )
    solution = twice.solve(tol=1e-6, max_iter=2000)
    expected = best_original_dual(task._replace(C=2 * task.C))
    rtol = 2e-6 if graph.is_forest else 5e-3
    assert_allclose(solution.dual_objective, expected, rtol=rtol)
    assert solution.dual_objective + solution.gap >= expected * (1 - 1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("graph", [TREE, FOREST, TRIANGLE])
def test_constant_labels_cost_nothing_and_converge_in_one_epoch(graph, form):
    task = make_task(graph, [1, 1, 1], intercept=True)
    solution = task.solve(form)
    assert solution.converged
    assert (solution.n_iter, solution.gap, solution.dual_objective) == (1, 0.0, 0.0)
    assert_array_equal(solution.weights, 0.0)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_a_label_of_one_value_leaves_the_problem_of_the_others(loss):
    task = make_task(LabelGraph(3, [(0, 1)]), [2, 2, 1], n=10, loss=loss)
    solution = task.solve(tol=1e-6, max_iter=5000)
    others = task._replace(
        factors=FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2]), Y=task.Y[:, :2]
    )
    expected = others.solve(tol=1e-6, max_iter=5000)
    assert_allclose(solution.dual_objective, expected.dual_objective, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("graph", [TREE, TRIANGLE])
def test_one_example_is_learned(graph, form):
    task = make_task(graph, [2, 2, 2], n=1)
    solution = task.solve(form, tol=1e-4, max_iter=1000)
    expected = best_original_dual(task)
    assert_allclose(solution.dual_objective, expected, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_a_larger_problem_reaches_a_small_gap_that_holds_from_scratch(C, intercept):
    rng = np.random.default_rng(3)
    tree = random_spanning_tree(8, rng)
    task = make_task(tree, [2] * 8, n=120, C=C, intercept=intercept)
    solution = task.solve(KernelForm, tol=1e-3, max_iter=2000)
    assert solution.converged
    primal, dual = primal_and_dual(task, solution.weights)
    assert_allclose(solution.gap, primal - dual, rtol=1e-6)
    assert primal - dual <= 1e-3 * dual * (1 + 1e-6)
