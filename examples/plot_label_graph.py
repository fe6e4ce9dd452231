"""
Which labels belong together
============================

The members' trees together form the *consensus graph*, on which MAM predicts. Its edges
show which labels attract and which repel each other.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spanforest import RandomGraphEnsembleClassifier
from spanforest.diagnostics import edge_couplings
from spanforest.plots import LabelGraphDisplay

# %%
# Some weather
# ------------
# The labels have names, so we can judge the graph. They depend on warmth and wetness,
# which are only measured with errors. So each label says something about warmth and
# wetness that helps to predict the others. The columns of a DataFrame name the labels.

rng = np.random.default_rng(0)
warmth, wetness = rng.normal(size=(2, 800))
days = pd.DataFrame(
    {
        "temperature": warmth + 0.5 * rng.normal(size=800),
        "humidity": wetness + 0.5 * rng.normal(size=800),
    }
)
labels = pd.DataFrame(
    {
        "sun": wetness < 0.2,
        "rain": (wetness > 0.6) & (warmth > -0.8),
        "snow": (wetness > 0.3) & (warmth < -0.8),
        "ice": warmth < -1,
        "swimming": (warmth > 0.6) & (wetness < 0.4),
        "umbrella": wetness > 0.5,
        "heating": warmth < -0.3,
    }
).astype(int)

X_train, Y_train = days[:500], labels[:500]
ensemble = RandomGraphEnsembleClassifier(20, kernel="rbf", random_state=0, n_jobs=2)
ensemble.fit(X_train, Y_train)
print(f"All seven labels right on {ensemble.score(days[500:], labels[500:]):.0%}.")

# %%
# A tree and the consensus graph
# ------------------------------
# One member has six edges. Twenty members together have all 21.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, model, title in (
    (axes[0], ensemble.estimators_[0], "One member"),
    (axes[1], ensemble, "Consensus of 20 members"),
):
    LabelGraphDisplay.from_estimator(model, X_train, Y_train, ax=ax)
    ax.set_title(title)

# %%
# The same in numbers: the three strongest couplings.

couplings = edge_couplings(ensemble, X_train, Y_train)
strongest = np.argsort(-np.abs(couplings.strength))[:3]
for (u, v), strength in zip(
    couplings.edges[strongest], couplings.strength[strongest], strict=True
):
    print(f"{labels.columns[u]:>9} and {labels.columns[v]:<9} {strength:+.2f}")

# %%
# :ref:`sphx_glr_auto_examples_plot_explanation.py` asks the same graph why it predicted
# the labels of one day.
