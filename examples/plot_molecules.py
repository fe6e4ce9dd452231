"""
Molecules, and a kernel matrix of your own
==========================================

A fingerprint of a molecule is a set of bits: which substructures it has. The Tanimoto
kernel compares sets. Kernels from other programs, such as graph kernels, come as a
matrix. Both ways are shown, on made-up molecules with ten assays.
"""

import matplotlib.pyplot as plt
import numpy as np

from spanforest import RandomGraphEnsembleClassifier
from spanforest.kernels import tanimoto_kernel

# %%
# Families of molecules share substructures. An assay answers to some families.

rng = np.random.default_rng(0)
families = rng.random((12, 200)) < 0.12
responds = rng.random((12, 10)) < 0.3
member_of = rng.random((700, 12)) < 0.15
bits = (member_of @ families > 0) ^ (rng.random((700, 200)) < 0.03)
active = ((member_of @ responds > 0) ^ (rng.random((700, 10)) < 0.02)).astype(int)
train, test = np.arange(400), np.arange(400, 700)

# %%
# By name
# -------

named = RandomGraphEnsembleClassifier(
    20, kernel="tanimoto", C=3, random_state=0, n_jobs=2
)
named.fit(bits[train].astype(float), active[train])
print(f"by name:   {named.score(bits[test].astype(float), active[test]):.1%}")

# %%
# As a matrix
# -----------
# ``fit`` takes the values between training molecules, ``predict`` those between new and
# training molecules. The result is the same.

K = tanimoto_kernel(bits.astype(float), bits.astype(float))
given = RandomGraphEnsembleClassifier(
    20, kernel="precomputed", C=3, random_state=0, n_jobs=2
)
given.fit(K[np.ix_(train, train)], active[train])
print(f"by matrix: {given.score(K[np.ix_(test, train)], active[test]):.1%}")

# %%
# Molecules that are alike are active in the same assays. That is what the kernel sees.

alike = np.corrcoef(active[train])[np.triu_indices(400, 1)]
values = K[np.ix_(train, train)][np.triu_indices(400, 1)]
edges = np.quantile(values, np.linspace(0, 1, 13))
group = np.clip(np.searchsorted(edges, values) - 1, 0, 11)
seen = np.isfinite(alike)
means = [alike[seen & (group == number)].mean() for number in range(12)]
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot((edges[:-1] + edges[1:]) / 2, means, "o-")
ax.set(xlabel="Tanimoto kernel of two molecules", ylabel="correlation of their assays")
plt.show()
