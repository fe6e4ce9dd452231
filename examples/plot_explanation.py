"""
Why was this predicted?
=======================

A prediction is explained label by label. The margin of a label is the score of the
predicted label set, minus the score with this label turned over. It is a sum over the
edges at the label. With a linear or a forest kernel it is also a sum over the features.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spanforest import RandomGraphEnsembleClassifier
from spanforest.diagnostics import explain, feature_importance
from spanforest.plots import FeatureImportanceDisplay

# %%
# Some weather
# ------------
# Labels depend on warmth and wetness, which are measured with errors. The third column
# has nothing to do with them. The columns of the tables name features and labels.

rng = np.random.default_rng(0)
warmth, wetness = rng.normal(size=(2, 800))
days = pd.DataFrame(
    {
        "temperature": warmth + 0.5 * rng.normal(size=800),
        "humidity": wetness + 0.5 * rng.normal(size=800),
        "weekday": rng.integers(0, 7, 800),
    }
)
labels = pd.DataFrame(
    {
        "rain": (wetness > 0.6) & (warmth > -0.8),
        "snow": (wetness > 0.3) & (warmth < -0.8),
        "umbrella": wetness > 0.5,
        "heating": warmth < -0.3,
        "swimming": (warmth > 0.6) & (wetness < 0.4),
    }
).astype(int)
model = RandomGraphEnsembleClassifier(20, kernel="forest", random_state=0)
model.fit(days[:500], labels[:500])

# %%
# One day
# -------
# Take the new day whose prediction was closest. The label of the smallest margin comes
# first. Neighbours and features that speak for the predicted value have a plus.

new_days = days[500:]
margins = np.abs(model.decision_function(new_days)).min(axis=1)
closest = new_days.iloc[[margins.argmin()]]
explanation = explain(model, closest)
print(explanation.describe(n_labels=1))
print("\nNo label set scores higher:", explanation.is_proven)

# %%
# The same as a picture. All bars of one side add up to the margin.

label = min(explanation.labels, key=lambda one: one.margin)
sides = {
    "by labels": [
        (f"{c.other} = {c.value}", c.difference) for c in label.contributions
    ],
    "by features": [
        *((f"{c.feature} = {c.value:.2g}", c.difference) for c in label.features),
        ("constant", label.constant),
    ],
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for ax, (title, bars) in zip(axes, sides.items(), strict=True):
    causes, parts = zip(*bars[::-1], strict=True)
    ax.barh(causes, parts, color=["tab:blue" if p > 0 else "tab:orange" for p in parts])
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_title(title)
figure.suptitle(
    f"Why {label.label} = {label.value}, not {label.alternative}: "
    f"{label.margin:.2g} in all"
)
plt.show()

# %%
# All days
# --------
# Which features matter to which labels? Each feature is shuffled in turn, and the loss
# of accuracy is counted.

importance = feature_importance(model, new_days, labels[500:], random_state=0)
FeatureImportanceDisplay(importance).plot()
plt.show()
