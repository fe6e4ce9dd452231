"""Starts of training at another member's dual variables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import FOREST, TREE, TRIANGLE, factor_labels, indicators, make_task, solve

from spanforest._starts import independent_start
from spanforest.factors import Coordinates, FactorGraph
from spanforest.graphs import LabelGraph

GRAPHS = [TREE, FOREST, TRIANGLE, LabelGraph(3, [])]


def random_marginals(n_values, box, rng):
    """Return random masses of the values of each label, which sum to `box`."""
    shares = [rng.dirichlet(np.ones(n), size=len(box)) for n in n_values]
    return [box[:, None] * share for share in shares]


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("n_values", [[2, 2, 2], [3, 2, 4], [1, 2, 2]])
def test_the_start_has_the_products_of_the_marginals_of_the_labels(graph, n_values):
    rng = np.random.default_rng(0)
    n, factors = 1500, FactorGraph(graph, n_values)  # more than one chunk
    Y, box = rng.integers(n_values, size=(n, 3)), rng.uniform(0.5, 2.0, size=n)
    masses = random_marginals(n_values, box, rng)
    is_true = [Y[:, [j]] == np.arange(n_values[j]) for j in range(3)]
    sums = np.hstack([(box[:, None] * is_true[j] - masses[j])[:, 1:] for j in range(3)])

    start = independent_start(factors, Y.astype(np.int32), box, sums)

    marginals = box[:, None] * indicators(factors, Y)
    marginals -= Coordinates.of(factors).expand(start)
    expected = []
    for labels in factor_labels(factors):
        for values in np.ndindex(*factors.n_values[labels]):
            shares = [
                masses[j][:, v] / box for j, v in zip(labels, values, strict=True)
            ]
            expected.append(box * np.prod(shares, axis=0))
    assert_allclose(marginals, np.array(expected).T, atol=1e-12)


def test_labels_without_mass_on_other_values_give_pairs_that_are_exactly_zero():
    factors = FactorGraph(TREE, [2, 2, 2])
    Y = np.random.default_rng(0).integers(2, size=(20, 3)).astype(np.int32)
    start = independent_start(factors, Y, np.full(20, 0.1), np.zeros((20, 3)))
    assert_array_equal(start, 0.0)


@pytest.mark.parametrize("other", [TREE, FOREST, LabelGraph(3, [])])
def test_training_from_the_start_ends_at_the_optimum(other):
    task = make_task(TREE, [2, 3, 2], n=40, intercept=True)
    first = task.form()
    solve(first, task.problem, np.random.default_rng(0))
    task = task._replace(factors=FactorGraph(other, [2, 3, 2]))
    form, problem = task.form(), task.problem
    sums = first.dual_coef[:, :4]
    form.begin(independent_start(task.factors, problem.Y, problem.box, sums))

    solution = solve(form, problem, np.random.default_rng(0), tol=1e-4, max_iter=5000)

    cold = task.solve(tol=1e-4, max_iter=5000)
    assert solution.converged
    assert_allclose(solution.dual_objective, cold.dual_objective, rtol=2e-4)
