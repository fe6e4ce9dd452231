"""The loss term: a linear function of the dual variables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import FOREST, TREE, indicators, label_sets, make_task

from spanforest._compiled import LossTerm
from spanforest.solver import compiled_problem


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("graph", [TREE, FOREST])
def test_the_loss_term_of_a_label_set_is_its_loss(graph, loss):
    task = make_task(graph, [2, 3, 2], n=20, loss=loss)
    problem, Z = task.problem, label_sets(task.factors)
    basis = problem.coordinates.expand(np.eye(problem.coordinates.n))
    dual_coef = np.zeros((20, problem.coordinates.n))
    measure = LossTerm(compiled_problem(problem), dual_coef)
    assert measure() == 0.0
    for i, y in enumerate(task.Y):
        A = indicators(task.factors, y[None]) - indicators(task.factors, Z)
        values = np.linalg.lstsq(basis.T, A.T, rcond=None)[0].T
        for z, expected in zip(values, loss_of(task, y, Z), strict=True):
            dual_coef[i] = z
            assert_allclose(measure(), expected, atol=1e-12)
        dual_coef[i] = 0.0


def loss_of(task, y, Z):
    """The loss of every label set in Z, factor by factor."""
    total = np.zeros(len(Z))
    factor = task.factors.arrays.factor
    for f, (joint, first, second) in enumerate(zip(*task.problem.loss, strict=True)):
        u, v = factor[f]["first"], factor[f]["second"]
        wrong_first = Z[:, u] != y[u]
        wrong_second = (Z[:, v] != y[v]) & (v >= 0)
        total += joint * (wrong_first | wrong_second)
        total += first * wrong_first + second * wrong_second
    return total
