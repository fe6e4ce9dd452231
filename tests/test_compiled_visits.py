"""Visits: dual variables stay feasible, and trees move on their own."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import (
    TREE,
    any_form,
    cyclic_tasks,
    dual_coefficients,
    forest_tasks,
    independent_features,
    indicators,
    label_sets,
    make_task,
    marginals,
    tables,
)
from scipy import optimize
from strategies import trials

from spanforest import solver
from spanforest._compiled.decorators import from_python
from spanforest._compiled.passes import block_buffers
from spanforest._compiled.visits import visitor
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph
from spanforest.solver import (
    KernelForm,
    linear_form,
)


@given(forest_tasks, any_form, st.integers(1, 20))
@trials(100)
def test_marginals_lie_in_the_marginal_polytope_of_a_forest(task, form, max_iter):
    form = form if independent_features(task) else KernelForm
    solution = task.solve(form, tol=1e-6, max_iter=max_iter)
    mu = marginals(task, dual_coefficients(task, form, solution))
    atol = 1e-9 * task.C if form is KernelForm else 1e-6 * task.C
    assert (mu >= -atol).all()
    for row in mu:
        seen = {}
        for labels, table in tables(task.factors, row):
            assert_allclose(table.sum(), task.C, atol=atol)
            for axis, j in enumerate(labels):
                other = tuple(a for a in range(len(labels)) if a != axis)
                single = table.sum(axis=other)
                assert_allclose(single, seen.setdefault(j, single), atol=atol)


@given(cyclic_tasks)
@trials(30)
def test_marginals_on_a_cycle_are_a_mixture_of_label_sets(task):
    solution = task.solve(KernelForm, max_iter=3)
    Z = indicators(task.factors, label_sets(task.factors))
    for row in marginals(task, solution.weights) / task.C:
        system = np.vstack([Z.T, np.ones(len(Z))])
        _, residual = optimize.nnls(system, np.append(row, 1.0))
        assert residual <= 1e-7


def one_step_each(task):
    """The dual variables after a few visits of every example, one step per visit."""
    form = linear_form(task.X, task.problem.coordinates, task.fit_intercept)
    n, block = len(task.X), block_buffers(1, form.coordinates.n)
    state, problem = form._state(np.zeros(n)), solver.compiled_problem(task.problem)
    call, _kept = visitor(np.arange(n), block, problem, state, None)
    for i in [*range(n)] * 4:  # later rounds start from mixtures of label sets
        block.scores[0, : form.coordinates.n] = task.X[i] @ form.weights
        block.gram[0, 0] = task.X[i] @ task.X[i]
        numbers = call.routines, i, i + 1, 1, call.work, call.problem, call.lists
        from_python(call.visit, numbers)()
        form.weights += np.outer(task.X[i], block.change[0])
    return form.coordinates.expand(form.dual_coef)


@pytest.mark.parametrize("loss", ["edge", "hamming"])
def test_trees_of_a_forest_take_the_steps_they_would_take_alone(loss):
    forest = LabelGraph(6, [(0, 1), (1, 2), (3, 4), (4, 5)])
    task = make_task(forest, [2, 2, 3, 3, 2, 2], n=30, loss=loss, intercept=True)
    alone = []
    for labels in ([0, 1, 2], [3, 4, 5]):
        factors = FactorGraph(TREE, task.factors.n_values[labels])
        alone.append(one_step_each(task._replace(factors=factors, Y=task.Y[:, labels])))
    assert_allclose(one_step_each(task), np.hstack(alone), atol=1e-12)


@pytest.mark.needs_compiled
def test_a_pass_keeps_the_memory_alive_that_it_reads():
    task = make_task(TREE, [2, 3, 2], n=20)
    form, problem = task.form(KernelForm), solver.compiled_problem(task.problem)
    memory = weakref.ref(problem.memory)
    epoch = form.epochs(np.arange(20), problem, np.zeros(20), None)
    del problem
    gc.collect()
    assert memory() is not None
    epoch()
    del epoch
    gc.collect()
    assert memory() is None
