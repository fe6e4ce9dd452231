"""
Let it choose
=============

`~spanforest.RandomGraphEnsembleClassifierCV` tries kernels, values of C and losses on
folds of the training examples. The figure shows what it saw.
"""

import matplotlib.pyplot as plt
import pandas as pd

from spanforest import RandomGraphEnsembleClassifierCV
from spanforest.datasets import make_circle

X, Y = make_circle(600, n_labels=10, random_state=0)
tuned = RandomGraphEnsembleClassifierCV(
    kernels=("linear", "rbf"), random_state=0, n_jobs=2
)
tuned.fit(X[:400], Y[:400])
print("chosen:", tuned.best_params_)
print(f"all ten labels right on new examples: {tuned.score(X[400:], Y[400:]):.1%}")

# %%
# ``cv_results_`` has a row for every candidate. A data frame of it can be sorted,
# grouped and drawn. Each line is one kernel; the best loss counts.

table = pd.DataFrame(tuned.cv_results_)
table["kernel"] = [
    candidate["kernel"]
    + (f", gamma {candidate['gamma']:.2g}" if candidate.get("gamma") else "")
    for candidate in tuned.cv_results_["params"]
]
best = table.groupby(["kernel", "param_C"], sort=False)["mean_test_score"].max()

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for marker, kernel in zip("o^sD", best.index.unique("kernel"), strict=False):
    line = best[kernel]
    ax.semilogx(line.index, 100 * line.to_numpy(), f"{marker}-", label=kernel)
ax.set(xlabel="C", ylabel="mean of three measures, %")
ax.legend()
plt.show()
