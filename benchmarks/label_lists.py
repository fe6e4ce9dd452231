"""Lists of the k best label sets: share of proven places, cost, and time against k.

Data and training are those of certificates.py, but with 60 trees for every data set.
The k best label sets of MAM are listed for up to 200 held-out examples. Then come the
lists of one random tree over 174 labels, for k up to 1000. Arguments choose what to
run: names of data sets, "hard" for data made hard on purpose, and "tree":

    python benchmarks/label_lists.py cal500 tree
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import common
import numpy as np
from certificates import Inputs, clock, made_hard, percent, split, train

from spanforest.branch_and_bound import k_best
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, random_spanning_tree
from spanforest.inference import decode

NAMES = (
    *("emotions", "yeast", "scene", "enron", "cal500", "fingerprint", "nci60"),
    *("medical", "genbase"),
)
LENGTHS = (5, 10, 100)
MOST_EXAMPLES = 200
TREE_LENGTHS = (1, 10, 100, 1000)


def list_cells(inputs: Inputs, n_trees: int, max_iter: int) -> list[Any]:
    """Return the cells of a data set in the first table."""
    trained = train(inputs, n_trees, max_iter)
    factors = trained.factors
    scores = trained.scores(inputs.X_test[:MOST_EXAMPLES])
    cells = [factors.n_labels, factors.graph.n_edges, len(scores)]
    _, best = clock(lambda: decode(factors, scores))
    cells.append(f"{1000 * best / len(scores):.2g}")
    for k in LENGTHS:
        lists, seconds = clock(lambda k=k: k_best(factors, scores, k))
        cells.append(percent(lists.proven.sum(), lists.proven.size, 2))
        cells.append(f"{1000 * seconds / len(scores):.2g}")
    return cells


def cases(names: Sequence[str]) -> Iterator[tuple[str, Inputs, int, int]]:
    """Yield the cases: name, data, number of trees, passes of training."""
    for name in names:
        if name != "hard":
            yield name, split(name), 60, 30
    if "hard" in names:
        for n_labels in (20, 80, 174):
            inputs = made_hard(split("cal500"), 0, n_labels)
            yield f"cal500, hard, {n_labels}", inputs, 20, 50


def lists_of_ensembles(names: Sequence[str]) -> None:
    header = ["data", "labels", "edges", "examples", "best one alone, ms"]
    for k in LENGTHS:
        header += [f"k = {k}: proven, %", "ms"]
    rows = ([name, *list_cells(*rest)] for name, *rest in cases(names))
    common.print_table(header, rows)
    print(
        "\nProven: share of the places of the lists. Processor time per example. Hard: "
        "20 trees, C = 100, 30 % of the training labels flipped.\n"
    )


def lists_of_a_tree(n_labels: int = 174, n: int = 20) -> None:
    rng = np.random.default_rng(0)
    tree = random_spanning_tree(n_labels, rng)
    factors = FactorGraph(tree, np.full(n_labels, 2))
    scores = rng.normal(size=(n, factors.n_cells))

    def row(k: int) -> list[Any]:
        _, seconds = clock(lambda: k_best(factors, scores, k))
        each, per_label = 1000 * seconds / n, 1e6 * seconds / n / n_labels
        return [k, f"{each:.2g}", f"{per_label:.2g}", f"{per_label / k:.2g}"]

    header = ["k", "ms per example", "microseconds per label", "the same over k"]
    common.print_table(header, map(row, TREE_LENGTHS))
    print(f"\nOne random tree over {n_labels} labels, random scores.")


def warm_up() -> None:
    inputs = made_hard(split("emotions"), 0)
    trained = train(inputs, 5, max_iter=2)
    k_best(trained.factors, trained.scores(inputs.X_test[:5]), 5)
    pairs = np.argwhere(np.triu(np.ones((14, 14)), k=1))
    for edges in (pairs, pairs[:13]):  # with cycles and without
        factors = FactorGraph(LabelGraph(14, edges), np.full(14, 2))
        k_best(factors, np.random.default_rng(0).normal(size=(2, factors.n_cells)), 50)


def main() -> None:
    chosen = sys.argv[1:] or [*NAMES, "hard", "tree"]
    warm_up()
    names = [name for name in chosen if name != "tree"]
    if names:
        lists_of_ensembles(names)
    if "tree" in chosen:
        lists_of_a_tree()


if __name__ == "__main__":
    main()
