"""
Larger data
===========

With a linear kernel the time of training is proportional to the number of examples, and
no kernel matrix is made. Sparse features stay sparse.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from spanforest import RandomGraphEnsembleClassifier

# %%
# Sparse examples with 2,000 features and 20 labels, each the sign of a linear function.

rng = np.random.default_rng(0)
X = sparse.random(10_000, 2_000, density=0.01, format="csr", random_state=0)
directions = rng.normal(size=(2_000, 20)) + rng.normal(size=(2_000, 1))
Y = (X @ directions > 0.5).astype(int)
test = slice(8_000, None)

# %%
# The first fit compiles, if it is the first one on this machine. It must not count.

ensemble = RandomGraphEnsembleClassifier(5, random_state=0)
ensemble.fit(X[:200], Y[:200])
sizes, seconds, right = [1_000, 2_000, 4_000, 8_000], [], []
for size in sizes:
    start = time.perf_counter()
    ensemble.fit(X[:size], Y[:size])
    seconds.append(time.perf_counter() - start)
    right.append((ensemble.predict(X[test]) == Y[test]).mean())
    print(f"{size:>6} examples: {seconds[-1]:.2f} s, {right[-1]:.1%} of labels right")

# %%
# The dotted line is growth in proportion to the examples.

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(sizes, seconds, "o-", label="fit of 5 trees")
in_proportion = seconds[-1] * np.array([0, sizes[-1]]) / sizes[-1]
ax.plot([0, sizes[-1]], in_proportion, ":", color="grey", label="in proportion")
ax.set(xlabel="examples", ylabel="seconds", xlim=(0, None), ylim=(0, None))
ax.legend()
plt.show()
