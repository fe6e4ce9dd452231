"""Training problems: their loss as a linear function of the dual variables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import FOREST, TREE, indicators, label_sets, make_task


@pytest.mark.parametrize("loss", ["edge", "hamming"])
@pytest.mark.parametrize("graph", [TREE, FOREST])
def test_the_rows_of_the_loss_give_the_loss_of_every_label_set(graph, loss):
    task = make_task(graph, [2, 3, 2], n=20, loss=loss)
    problem, Z = task.problem, label_sets(task.factors)
    basis = problem.coordinates.expand(np.eye(problem.coordinates.n))
    rows = problem.loss_rows()
    for y, row in zip(task.Y, rows, strict=True):
        A = indicators(task.factors, y[None]) - indicators(task.factors, Z)
        values = np.linalg.lstsq(basis.T, A.T, rcond=None)[0].T
        assert_allclose(values @ row, loss_of(task, y, Z), atol=1e-12)


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
