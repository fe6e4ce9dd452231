"""
A table with categories and gaps
================================

A kernel that is learned by a forest takes columns as they are: numbers of any size,
categories, and cells that nobody filled in.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spanforest import RandomGraphEnsembleClassifier

# %%
# A made-up survey: what households own. One answer in eight is missing.

rng = np.random.default_rng(0)
n = 900
people = pd.DataFrame(
    {
        "age": rng.integers(18, 90, n).astype(float),
        "income": rng.lognormal(10, 0.8, n),
        "children": rng.poisson(1.0, n).astype(float),
        "home": pd.Categorical(rng.choice(["city", "suburb", "country"], n)),
    }
)
far = people.home != "city"
owns = pd.DataFrame(
    {
        "car": far | (people.income > 30_000),
        "second car": far & (people.income > 35_000),
        "bicycle": (people.age < 60)
        & ((people.home == "city") | (people.children > 0)),
        "garden": people.home == "country",
        "boat": (people.income > 40_000) & (people.age > 45),
    }
).astype(int)
for column in ("age", "income", "children"):
    people.loc[rng.random(n) < 0.125, column] = np.nan
print(people.head(4).to_string())

# %%
# No step before the classifier is needed.

train, test = slice(0, 600), slice(600, None)
ensemble = RandomGraphEnsembleClassifier(
    20, kernel="forest", C=3, random_state=0, n_jobs=2
)
ensemble.fit(people[train], owns[train])
print(f"All five answers right: {ensemble.score(people[test], owns[test]):.0%}")

# %%
# Where cells are missing, predictions become less certain, and wrong more often.

right = ensemble.predict(people[test]) == owns[test].to_numpy()
n_missing = people[test].isna().sum(axis=1).to_numpy()
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
groups = [right[n_missing == missing] for missing in range(3)]
shares = [100 * group.all(axis=1).mean() for group in groups]
bars = ax.bar([f"{len(group)} rows" for group in groups], shares, width=0.6)
ax.bar_label(bars, fmt="%.0f %%")
ax.set_xticks(range(3), ["no gap", "one gap", "two gaps"])
ax.set(ylabel="all five answers right, %", ylim=(0, 105))
plt.show()
