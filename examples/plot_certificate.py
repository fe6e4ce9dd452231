"""
How far from the optimum?
=========================

Training reports a *duality gap*, which bounds how far the objective is from its
minimum. Prediction reports a *bound* on the score of any label set. Both can be checked
from the returned numbers, without trust in the optimiser.
"""

import matplotlib.pyplot as plt
import numpy as np

from spanforest import RandomGraphEnsembleClassifier
from spanforest.branch_and_bound import decode_exactly
from spanforest.datasets import make_circle
from spanforest.factors import FactorGraph
from spanforest.graphs import consensus_graph, random_spanning_tree
from spanforest.inference import max_product, tree_reweighted
from spanforest.plots import DualityGapDisplay

X, Y = make_circle(600, n_labels=20, random_state=0)

# %%
# Training: the gap against passes over the data
# ----------------------------------------------
# A larger C takes more passes. Every line is a member of the ensemble. It ends where
# the exact gap of the member is below the tolerance.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, C in zip(axes, (1.0, 10.0), strict=True):
    ensemble = RandomGraphEnsembleClassifier(
        10, kernel="linear", C=C, tol=0.01, max_iter=300, random_state=0, n_jobs=2
    ).fit(X[:400], Y[:400])
    DualityGapDisplay.from_estimator(ensemble, ax=ax)
    ax.set_title(f"C = {C:g}")
    gap = ensemble.duality_gap_ / ensemble.dual_objective_
    print(f"C = {C:g}: {ensemble.n_iter_.mean():.0f} passes, gap {gap.max():.2%}")

# %%
# Prediction: a score, and a bound that no label set exceeds
# ----------------------------------------------------------
# MAM looks for the best of 2\ :sup:`20` label sets on a graph with many cycles. Where
# score and bound are equal, the label set is proven best.

certified = ensemble.predict_certified(X[400:])
graph = ensemble.consensus_graph_
print(f"{graph.n_edges} edges over {graph.n_labels} labels")
print(f"proven best: {certified.proven.mean():.0%} of {len(certified.proven)} examples")

# %%
# The paper's method is loopy max-product, stopped at the diameter of the graph. Its
# label sets have no proof. How many of them are not the best?

quick = ensemble.predict(X[400:], inference="max_product")
differ = (quick != certified.labels).any(axis=1)
print(f"max-product gives another label set for {differ.mean():.0%} of the examples")

# %%
# Other problems are harder. On tables of random scores, message passing proves fewer
# label sets, and the search that follows proves the rest.

rng = np.random.default_rng(0)
graph = consensus_graph([random_spanning_tree(15, rng) for _ in range(5)])
factors = FactorGraph(graph, np.full(graph.n_labels, 2))
scores = rng.normal(size=(100, factors.n_cells))
messages, searched = tree_reweighted(factors, scores), decode_exactly(factors, scores)
loopy, _ = max_product(factors, scores)
print(f"{graph.n_edges} edges over {graph.n_labels} labels")
print(f"proven best by messages {messages.proven.mean():.0%}", end=", ")
print(f"with the search {searched.proven.mean():.0%}")

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, score in (
    ("loopy max-product", loopy.score),
    ("tree-reweighted messages", messages.score),
):
    shortfall = np.sort(1 - score / searched.score)[::-1]
    ax.plot(np.arange(1, 101), 100 * shortfall, label=name)
ax.set(
    xlabel="Example, the largest shortfall first",
    ylabel="Score below the proven best (%)",
)
ax.legend(frameon=False)
plt.show()
