"""
Does a diverse ensemble gain more?
==================================

Theorem 1 of Su and Rousu (2013) compares two squared distances to the optimal score:
that of the members' scores, on average, and that of the average score of the ensemble.
The second is smaller, by the variance of the score over the members. This variance is
the *diversity* of the members, label by label, plus their *coherence*, the covariance
between labels. Scores are not predictions, though, and the paper leaves open whether
ensembles with a larger variance also predict better. This example looks at data: one
ensemble per data set, its diversity and coherence on test examples, and how far its
accuracy is above that of a single member.

The environment variable ``SPANFOREST_DATA`` names a folder with data sets. The example
uses a few hundred examples of each, and the two Circle sets. Without such a folder it
uses the Circle sets and some random ones.
"""

import os
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import rankdata, spearmanr
from sklearn.datasets import make_multilabel_classification
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import PAPER_DATASETS, Dataset, load_dataset
from spanforest.diagnostics import ReconstructionGap, reconstruction_gap
from spanforest.metrics import microlabel_accuracy, microlabel_f1, multilabel_accuracy
from spanforest.plots import DiversityDisplay

# sphinx_gallery_thumbnail_number = 2

N_TRAIN, N_TEST, N_TREES = 200, 300, 10
MEASURES = {
    "microlabel accuracy": microlabel_accuracy,
    "multilabel accuracy": multilabel_accuracy,
    "microlabel F1": microlabel_f1,
}

# %%
# The data
# --------
# Circle10 and Circle50 are generated. The others are read if their files exist.


def files_of(name):
    folder = os.environ.get("SPANFOREST_DATA")
    return list(Path(folder).glob(f"{name}*")) if folder else []


def random_set(number):
    X, Y = make_multilabel_classification(
        n_samples=600,
        n_features=20,
        n_classes=4 + 4 * number,
        n_labels=2 + number,
        random_state=number,
    )
    return Dataset(f"random {Y.shape[1]}", Y, X)


extra = ("genbase", "bibtex", "tmc2007_500")
names = [
    name
    for name in (*PAPER_DATASETS, *extra)
    if name.startswith("circle") or files_of(name)
]
datasets = [load_dataset(name) for name in names]
if len(datasets) == 2:
    datasets += [random_set(number) for number in range(6)]
print("Data sets:", ", ".join(data.name for data in datasets))

# %%
# One ensemble per data set
# -------------------------
# Most sets get a linear kernel of unit length on scaled features, or on TF-IDF for
# words. The two chemical sets have their own kernels. Labels that do not vary in the
# training set are left out: they have no scores to compare.


class Split(NamedTuple):
    classifier: RandomGraphEnsembleClassifier
    X_train: np.ndarray
    Y_train: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray


def split(data):
    order = np.random.default_rng(0).permutation(data.n_samples)
    train, test = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_TEST]
    kernel = "cosine"  # the linear one, at unit length
    if data.K is not None:
        kernel = "precomputed"
        size = np.sqrt(np.diagonal(data.K))
        K = data.K / np.outer(size, size)
        X_train, X_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    elif data.name == "nci60":
        kernel = "tanimoto"
        X_train, X_test = data.X[train], data.X[test]
    else:
        scaler = TfidfTransformer() if data.is_text else StandardScaler(with_mean=False)
        scaler.fit(data.X[train])
        X_train, X_test = map(scaler.transform, (data.X[train], data.X[test]))
    varies = np.ptp(data.Y[train], axis=0) > 0
    classifier = RandomGraphEnsembleClassifier(
        N_TREES, kernel=kernel, scaling=None, tol=0.1, random_state=0, n_jobs=2
    )
    return Split(
        classifier, X_train, data.Y[train][:, varies], X_test, data.Y[test][:, varies]
    )


class Finding(NamedTuple):
    name: str
    terms: ReconstructionGap
    gains: dict[str, float]  # of the ensemble over its mean member, in points


def study(data):
    classifier, X_train, Y_train, X_test, Y_test = split(data)
    ensemble = classifier.fit(X_train, Y_train)
    predicted = ensemble.predict(X_test)
    alone = [member.predict(X_test) for member in ensemble.estimators_]
    gains = {
        measure: 100
        * (
            quality(Y_test, predicted)
            - np.mean([quality(Y_test, one) for one in alone])
        )
        for measure, quality in MEASURES.items()
    }
    return Finding(data.name, reconstruction_gap(ensemble, X_test, Y_test), gains)


findings = [study(data) for data in datasets]

# %%
# Theorem 1 holds on every set: its two sides are computed separately and agree. The
# first three columns are its terms, divided by the members' mean squared error. This
# makes data sets with scores of different sizes comparable. The other columns are the
# gain of the ensemble over its mean member, in points. Diversity can be larger than the
# whole error; coherence is then negative.

header = ("diversity", "coherence", "sum", *MEASURES)
print(f"{'':<12}", *(f"{title:>19}" for title in header))
for name, terms, gains in findings:
    assert np.isclose(terms.gap, terms.variance)
    shares = np.array([terms.diversity, terms.coherence, terms.variance])
    cells = [f"{share:19.1%}" for share in shares / terms.member_error]
    cells += [f"{gain:+19.2f}" for gain in gains.values()]
    print(f"{name:<12}", *cells)

# %%
# Variance and gain
# -----------------
# The rank correlation over the data sets. With so few sets, and one split of each, only
# a strong relation would show. The p-value says how often chance alone gives a
# correlation as strong. There are nine p-values, so a single one below 0.1 means
# little. They also change with ``N_TRAIN`` and with the seed.

shares = {
    "diversity": [terms.diversity / terms.member_error for _, terms, _ in findings],
    "coherence": [terms.coherence / terms.member_error for _, terms, _ in findings],
    "sum": [terms.relative_gap for _, terms, _ in findings],
}
print(f"Spearman's rank correlation with the gain over {len(findings)} data sets:")
for measure in MEASURES:
    gain = [finding.gains[measure] for finding in findings]
    for term, values in shares.items():
        rho, p_value = spearmanr(values, gain)
        print(f"  {term:<9}  {measure:<19}  {rho:+.2f}  (p = {p_value:.2f})")

# %%
# The same as a picture, for microlabel accuracy. It shows ranks, because ranks are
# correlated and because the values are too far apart to draw.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", sharey=True)
gain = [finding.gains["microlabel accuracy"] for finding in findings]
for ax, term in zip(axes, ("diversity", "coherence"), strict=True):
    columns, rows = rankdata(shares[term]), rankdata(gain)
    ax.scatter(columns, rows, color="#0072b2", s=25)
    for x, y, finding in zip(columns, rows, findings, strict=True):
        beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(finding.name, (x, y), fontsize=9, **beside)
    rho, p_value = spearmanr(shares[term], gain)
    ax.set_title(f"rank correlation {rho:+.2f} (p = {p_value:.2f})", fontsize=10)
    ax.set_xlabel(f"{term.capitalize()}, from lowest to highest")
    ax.set(xticks=[], yticks=[], xlim=(0.5, len(findings) + 2.5))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("Gain in microlabel accuracy, from lowest to highest")

# %%
# Both terms against the number of trees, on Circle10.

(circle,) = (data for data in datasets if data.name == "circle10")
classifier, X_train, Y_train, X_test, Y_test = split(circle)
ensemble = classifier.fit(X_train, Y_train)
DiversityDisplay.from_estimator(ensemble, X_test, Y_test)
plt.show()
