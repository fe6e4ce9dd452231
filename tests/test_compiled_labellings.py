"""Steps between listed labellings: the lists describe the dual variables."""

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose
from oracles import cyclic_tasks, indicators
from strategies import trials

from spanforest import solver
from spanforest._cycles import Cycles
from spanforest.solver import KernelForm


@given(cyclic_tasks)
@trials(30)
def test_the_masses_of_the_lists_are_those_of_the_dual_variables(task):
    if task.factors.graph.is_forest:
        return
    form, compiled = task.form(KernelForm), solver.compiled_problem(task.problem)
    cycles = Cycles(task.factors, task.Y.astype(np.int32))
    n = len(task.X)
    for _ in range(4):
        cycles.make_room()
        form.epochs(np.arange(n), compiled, np.zeros(n), cycles.mixtures)()
    mixtures, A = cycles.mixtures, form.coordinates.expand(form.dual_coef)
    atol = 1e-9 * (1.0 + task.C)
    for i in range(n):
        own = slice(mixtures.start[i], mixtures.start[i] + mixtures.length[i])
        mass = mixtures.mass[own]
        assert (mass >= 0.0).all()
        assert (mass[1:] > 0.0).all()
        assert_allclose(mass.sum(), task.C, atol=atol)
        marginals = mass @ indicators(task.factors, mixtures.labels[own])
        true = indicators(task.factors, task.Y[i : i + 1])[0]
        assert_allclose(A[i], task.C * true - marginals, atol=atol)
