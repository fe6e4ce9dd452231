"""
Kernels by name, as a matrix, approximated
==========================================

A kernel says how similar two examples are. It can be given by name or as a matrix of
your own. Where the matrix would be too large, features can approximate it.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import make_circle
from spanforest.metrics import multilabel_accuracy

X, Y = make_circle(1200, n_labels=10, random_state=0)
X = X[:, :2]  # without the constant: the classifier has an intercept
train, test = np.arange(400), np.arange(600, 1200)
settings = {"n_estimators": 10, "scaling": None, "random_state": 0, "n_jobs": 2}

# %%
# By name
# -------
# The labels are half-planes and unions of them. Unions have bent borders, which a
# linear kernel cannot follow and a Gaussian one can.

kernels = {
    "linear": {"kernel": "linear"},
    "poly, degree 2": {"kernel": "poly", "degree": 2},
    "rbf, gamma 0.5": {"kernel": "rbf", "gamma": 0.5},
    "rbf, gamma 5": {"kernel": "rbf", "gamma": 5.0},
}
for name, kernel in kernels.items():
    ensemble = RandomGraphEnsembleClassifier(**settings, **kernel)
    score = ensemble.fit(X[train], Y[train]).score(X[test], Y[test])
    print(f"{name:<16} {score:.1%} of the label sets right")

# %%
# Your own matrix
# ---------------
# With a precomputed kernel, training takes the square matrix. Prediction takes the
# values between new and training examples. The predictions equal those of the kernel by
# name.

K = rbf_kernel(X, gamma=5.0)
own = RandomGraphEnsembleClassifier(kernel="precomputed", **settings)
own.fit(K[np.ix_(train, train)], Y[train])
same = own.predict(K[np.ix_(test, train)]) == ensemble.predict(X[test])
print(f"equal predictions: {same.all()}")

# %%
# More examples than a matrix holds
# ---------------------------------
# Nystroem's features approximate the kernel by its values with a few examples. A linear
# kernel on these features costs time proportional to the number of examples, not to its
# square.

sizes = (10, 20, 40, 80)
scores, seconds = [], []
for size in sizes:
    pipeline = make_pipeline(
        Nystroem(gamma=5.0, n_components=size, random_state=0),
        RandomGraphEnsembleClassifier(kernel="linear", **settings),
    )
    start = time.perf_counter()
    pipeline.fit(X[:600], Y[:600])
    seconds.append(time.perf_counter() - start)
    scores.append(100 * multilabel_accuracy(Y[test], pipeline.predict(X[test])))

exact = RandomGraphEnsembleClassifier(kernel="rbf", gamma=5.0, **settings)
exact_score = 100 * exact.fit(X[:600], Y[:600]).score(X[test], Y[test])

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(sizes, scores, "o-", label="Nystroem features, linear form")
ax.axhline(exact_score, color="#222222", linestyle="--", label="exact kernel")
ax.set(
    xlabel="Number of features",
    ylabel="Multilabel accuracy (%)",
    xscale="log",
    xticks=sizes,
    xticklabels=sizes,
)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()
