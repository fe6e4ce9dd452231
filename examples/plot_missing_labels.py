"""
Labels that nobody knows
========================

Annotators skip questions. A label that is not known is NaN, and training uses the
others. Here more and more training labels are hidden, and predictions are compared with
the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import make_circle

X, Y = make_circle(900, n_labels=10, random_state=0)
X_train, Y_train, X_test, Y_test = X[:300], Y[:300], X[300:], Y[300:]
hide = np.random.default_rng(0).random(Y_train.shape)

# %%
# One support vector machine per label can only use the examples for which its own label
# is known. The ensemble also learns from the other labels of an example.

shares = [0.0, 0.2, 0.4, 0.6, 0.8]
ours, theirs = [], []
for share in shares:
    partly = np.where(hide < share, np.nan, Y_train)
    ensemble = RandomGraphEnsembleClassifier(10, C=10, random_state=0, n_jobs=2)
    ours.append((ensemble.fit(X_train, partly).predict(X_test) == Y_test).mean())
    right = []
    for label, truth in zip(partly.T, Y_test.T, strict=True):
        known = ~np.isnan(label)
        machine = SVC(C=10).fit(X_train[known], label[known])
        right.append((machine.predict(X_test) == truth).mean())
    theirs.append(np.mean(right))

# %%
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
percent = 100 * np.array(shares)
ax.plot(percent, 100 * np.array(ours), "o-", label="random graph ensemble")
ax.plot(percent, 100 * np.array(theirs), "s--", label="one SVM per label")
ax.set(xlabel="training labels hidden, %", ylabel="labels right, %")
ax.legend()
plt.show()
