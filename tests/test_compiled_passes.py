"""One pass over some examples: weights follow the dual variables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.event import install_recorder
from numpy.testing import assert_allclose, assert_array_equal
from oracles import (
    FOREST,
    TREE,
    any_form,
    forest_tasks,
    make_task,
    primal_and_dual,
)
from scipy import sparse
from small_data import read_only
from strategies import trials

from spanforest import solver
from spanforest.solver import DenseForm, KernelForm, SparseForm

FORMS = [DenseForm, KernelForm, SparseForm]


def one_pass(task, kind, order):
    """Return the form and the margin violations after examples were visited."""
    form = task.form(kind)
    hinge = np.full(len(task.X), np.nan)
    compiled = solver.compiled_problem(task.problem)
    form.epochs(np.asarray(order), compiled, hinge, None)()
    return form, hinge


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("graph", [TREE, FOREST])
def test_a_pass_changes_the_examples_of_its_order_and_no_others(graph, kind):
    task = make_task(graph, [2, 3, 2], n=20, intercept=True)
    order = [5, 2, 17, 11, 8, 3, 0, 1, 19, 6]  # more than a block
    form, hinge = one_pass(task, kind, order)
    others = np.setdiff1d(np.arange(20), order)
    assert_array_equal(form.dual_coef[others], 0.0)
    assert form.dual_coef[order].any(axis=1).all()
    assert np.isnan(hinge[others]).all()
    assert (hinge[order] >= 0).all()


@pytest.mark.parametrize("kind", FORMS)
def test_after_a_pass_the_weights_are_those_of_the_dual_variables(kind):
    task = make_task(TREE, [2, 3, 2], n=20, intercept=True)
    form, _ = one_pass(task, kind, np.arange(20))
    data = np.eye(20) if kind is KernelForm else task.X
    assert_allclose(form.weights, data.T @ form.dual_coef, atol=1e-12)
    assert_allclose(form.intercept, form.dual_coef.sum(axis=0), atol=1e-12)


@given(forest_tasks, any_form, st.randoms(use_true_random=False))
@trials(50)
def test_a_pass_in_any_order_raises_the_dual_objective(task, kind, random):
    order = list(range(len(task.X)))
    random.shuffle(order)
    form, _ = one_pass(task, kind, order)
    _, dual = primal_and_dual(task, form.coordinates.expand(form.dual_coef))
    assert dual >= -1e-9  # it is 0 at the start


def with_large_indices(X):
    """Return a CSR matrix with indices of 64 bits."""
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    ("kind", "usual", "unusual"),
    [
        (DenseForm, np.array, [read_only, np.asfortranarray]),
        (KernelForm, lambda X: X @ X.T, [lambda X: read_only(X @ X.T)]),
        (SparseForm, sparse.csr_array, [with_large_indices]),
    ],
)
def test_routines_are_not_compiled_for_arrays_of_an_unusual_layout(
    kind, usual, unusual
):
    task = make_task(TREE, [2, 3, 2], n=20, intercept=True)
    problem, coordinates = task.problem, task.problem.coordinates

    def dual_coef(data):
        form, compiled = kind(data, coordinates), solver.compiled_problem(problem)
        form.epochs(np.arange(20), compiled, np.zeros(20), None)()
        return form.dual_coef

    expected = dual_coef(usual(task.X))
    with install_recorder("numba:compile") as recorder:
        for change in unusual:
            assert_array_equal(dual_coef(change(task.X)), expected)
    assert not recorder.buffer
