"""Time of one epoch, against the matrix products that it cannot avoid."""

import common
import numpy as np

from spanforest.solver import DenseForm, KernelForm, compiled_problem, solve_path

WARM_EPOCHS = 5  # epochs before the timed one, so that training is under way
SCALE = 1 / (1 + 0.5 * WARM_EPOCHS)  # step of the acceleration after these epochs
REPEATS = 101


def compare(what, form, problem, products, target):
    rng = np.random.default_rng(0)
    next(solve_path(form, problem, [problem.C], rng, tol=1e-9, max_iter=WARM_EPOCHS))
    state = (form.dual_coef, form.weights, form.intercept)
    saved = [array.copy() for array in state]
    order = np.random.default_rng(1).permutation(len(problem.Y))
    compiled = compiled_problem(problem)
    hinge = np.zeros(len(order))

    def rewind():
        for array, value in zip(state, saved, strict=True):
            array[...] = value

    form.scale[0] = SCALE
    epoch = form.epochs(order, compiled, hinge, None)
    weights = form.coordinates.expand(form.weights)
    A = form.coordinates.expand(form.dual_coef)
    epoch()
    # minima, because interruptions on a busy machine only make runs longer
    times = common.race(epoch, lambda: products(weights, A), REPEATS, rewind, min)
    return common.Comparison(what, *times, target)


def main():
    X, K, Y = common.yeast_part()
    problem = common.tree_problem(Y)
    coordinates = problem.coordinates
    size = f"{len(Y)} examples, {Y.shape[1]} labels"
    common.print_comparisons(
        [
            compare(
                f"epoch, kernel form, {size}, against `K @ A`",
                KernelForm(K, coordinates, fit_intercept=True),
                problem,
                lambda weights, A: K @ weights,
                target=1.3,
            ),
            compare(
                f"epoch, linear dense form, {size}, against `X @ W` and `X.T @ A`",
                DenseForm(X, coordinates, fit_intercept=True),
                problem,
                lambda weights, A: (X @ weights, X.T @ A),
                target=3.0,
            ),
        ]
    )
    print(
        f"\nA and W have a column per cell, {problem.factors.n_cells}; an epoch "
        f"multiplies by their coordinates, {coordinates.n}."
    )


if __name__ == "__main__":
    main()
