"""
Probabilities, and decisions made with them
===========================================

With ``probability=True`` each label has a calibrated probability. It serves to rank, to
set thresholds, and to decide for the measure that counts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import f1_score, hamming_loss

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import make_circle

# %%
# The points are seen with noise, so that no model can be certain. A label is on outside
# of its half-planes here, which is rare.

X, inside = make_circle(1500, n_labels=10, random_state=0)
Y = 1 - inside
X = X + 0.3 * np.random.default_rng(0).normal(size=X.shape)
X_train, Y_train, X_test, Y_test = X[:500], Y[:500], X[500:], Y[500:]
ensemble = RandomGraphEnsembleClassifier(10, probability=True, random_state=0, n_jobs=2)
P = ensemble.fit(X_train, Y_train).predict_proba(X_test)

# %%
# Of the labels that are said to be on with a probability of 70 %, about 70 % are on.

figure, ax = plt.subplots(figsize=(4.4, 4.2), layout="constrained")
on, said = calibration_curve(Y_test.ravel(), P.ravel(), n_bins=10)
ax.plot([0, 1], [0, 1], color="grey", linewidth=1)
ax.plot(said, on, "o-")
ax.set(xlabel="predicted probability", ylabel="share of labels that are on")
plt.show()

# %%
# ``predict`` returns the label set of highest score. ``predict_for`` decides by
# probabilities, for single labels or for the F1 of each label set.

decisions = {
    "predict": ensemble.predict(X_test),
    "for Hamming loss": ensemble.predict_for(X_test, "hamming"),
    "for F1": ensemble.predict_for(X_test, "f1"),
}
for name, predicted in decisions.items():
    whole = (predicted == Y_test).all(axis=1).mean()
    labels = 1 - hamming_loss(Y_test, predicted)
    f1 = f1_score(Y_test, predicted, average="samples", zero_division=1)
    print(f"{name:>16}: sets {whole:.1%}, labels {labels:.1%}, F1 {f1:.1%}")
