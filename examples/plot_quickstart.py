"""
Train, score, draw a learning curve
===================================

This example compares an ensemble of random trees with one support vector machine per
label, on generated data. It compares whole label sets: an example counts as right if
all of its ten labels are right.
"""

from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import make_circle
from spanforest.metrics import microlabel_accuracy, microlabel_f1, multilabel_accuracy
from spanforest.plots import EnsembleCurveDisplay, LabelMeasuresDisplay

# %%
# The examples are points in a disc. A label is a half-plane, or the union of two.
# Labels that share a half-plane depend on each other, and a union has no straight
# border.

X, Y = make_circle(1000, n_labels=10, random_state=0)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)

# %%
# One fit gives all three ways to combine the members.

ensemble = RandomGraphEnsembleClassifier(
    30,
    kernel="linear",
    scaling=None,
    normalize_kernel=True,
    C=10,
    max_iter=1000,
    random_state=0,
    n_jobs=2,
)
ensemble.fit(X_train, Y_train)

machines = OneVsRestClassifier(SVC(C=10, kernel="linear"))
machines.fit(normalize(X_train), Y_train)

predictions = {
    name: ensemble.predict(X_test, aggregation=name) for name in ("mve", "amm", "mam")
}
predictions["one tree"] = ensemble.estimators_[0].predict(X_test)
predictions["SVM per label"] = machines.predict(normalize(X_test))

measures = (microlabel_accuracy, multilabel_accuracy, microlabel_f1)
print(f"{'':<14}", *(f"{measure.__name__:>20}" for measure in measures))
for name, prediction in predictions.items():
    row = [f"{measure(Y_test, prediction):20.1%}" for measure in measures]
    print(f"{name:<14}", *row)

# %%
# How many trees are enough? A larger ensemble contains the smaller ones, so one fit
# gives the whole curve. The dashed line is the average of single trees.

EnsembleCurveDisplay.from_estimator(
    ensemble, X_test, Y_test, measure="multilabel_accuracy"
)

# %%
# Which labels are hard? The bars are their frequencies.

LabelMeasuresDisplay.from_estimator(ensemble, X_test, Y_test)
