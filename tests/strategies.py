"""Hypothesis strategies of the tests: graphs, factor graphs, scores, and trials."""

import itertools

import numba
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from spanforest.factors import FactorGraph
from spanforest.graphs import (
    LabelGraph,
    independent_labels,
    random_pairing,
    random_spanning_tree,
    recursive_random_tree,
    uniform_random_tree,
)

PLAIN = bool(numba.config.DISABLE_JIT)  # routines run as plain Python, much slower


def trials(n):
    """Let a test try n examples; a tenth of them, at least five, as plain Python."""
    return settings(max_examples=max(5, n // 10) if PLAIN else n)


seeds = st.integers(0, 2**32 - 1)


def random_forest(n_labels, rng):
    """A random tree that lost some of its edges."""
    edges = random_spanning_tree(n_labels, rng).edges
    return LabelGraph(n_labels, edges[rng.random(len(edges)) < 0.7])


def random_graph(n_labels, rng):
    """Any graph, most often with cycles."""
    pairs = np.argwhere(np.triu(np.ones((n_labels, n_labels)), k=1))
    return LabelGraph(n_labels, pairs[rng.random(len(pairs)) < 0.6])


FORESTS = [
    random_spanning_tree,
    uniform_random_tree,
    recursive_random_tree,
    random_forest,
    random_pairing,
    independent_labels,
]
any_kind = st.sampled_from([*FORESTS, random_graph])


@st.composite
def factor_graphs(draw, draw_graph, max_labels=8, extra_unary=False):
    """A factor graph over 1 to `max_labels` labels of 1 to 4 values each."""
    rng = np.random.default_rng(draw(seeds))
    n_labels = draw(st.integers(1, max_labels))
    graph = draw(draw_graph)(n_labels, rng)
    n_values = rng.choice([1, 2, 2, 3, 4], size=n_labels)
    unary = None
    if extra_unary and draw(st.booleans()):
        unary = np.arange(n_labels)
    return FactorGraph(graph, n_values, unary)


@st.composite
def scores_for(draw, factors, n=3):
    """Random scores; rounded ones have many optima."""
    rng = np.random.default_rng(draw(seeds))
    scores = rng.normal(size=(n, factors.n_cells))
    return np.round(scores) if draw(st.booleans()) else scores


@st.composite
def problems(draw, draw_graph=None, **options):
    """A pair (factors, scores)."""
    kinds = st.sampled_from(FORESTS) if draw_graph is None else draw_graph
    factors = draw(factor_graphs(kinds, **options))
    return factors, draw(scores_for(factors))


any_factors = factor_graphs(any_kind, max_labels=4, extra_unary=True)
loopy_problems = problems(st.just(random_graph), max_labels=6, extra_unary=True)


def random_problem(n_labels, n_values, seed, ties=False, density=1.0):
    """Return factors of labels with equally many values, and scores of 3 examples."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(n_labels), 2))
    edges = [pair for pair in pairs if rng.random() < density]
    factors = FactorGraph(LabelGraph(n_labels, edges), [n_values] * n_labels)
    scores = rng.normal(size=(3, factors.n_cells))
    return factors, np.round(scores) if ties else scores


@st.composite
def uneven_scores(draw, factors, n=2):
    """Scores with large offsets, of huge, tiny or mixed sizes, or with penalties."""
    rng = np.random.default_rng(draw(seeds))
    noise = rng.normal(size=(n, factors.n_cells))
    shape = noise.shape
    kind = draw(st.sampled_from(["offset", "huge", "tiny", "mixed", "penalties"]))
    if kind == "offset":
        return rng.choice([-1.0, 1.0]) * 1e9 + 1e-3 * np.round(noise)
    if kind == "penalties":
        size = 10.0 ** draw(st.integers(0, 300))
        return np.where(rng.random(shape) < 0.3, -size, noise)
    sizes = {"huge": (290, 300), "tiny": (-323, -305), "mixed": (-20, 20)}
    return noise * 10.0 ** rng.uniform(*sizes[kind], size=shape)
