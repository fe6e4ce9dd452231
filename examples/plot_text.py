"""
Tags for texts
==============

Texts go through a vectoriser of scikit-learn. The matrix stays sparse, and the kernel
is linear by default. The texts here are drawn at random from words that go with topics.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from spanforest import RandomGraphEnsembleClassifier

# %%
# A text has one or two topics that go together. Its words come from all topics, mostly
# from its own.

TOPICS = ["sport", "politics", "economy", "music", "film", "science"]
PAIRS = [(0,), (1,), (1, 2), (2,), (3,), (3, 4), (4,), (5,), (2, 5)]
rng = np.random.default_rng(0)


def draw_text(topics):
    """Return forty words, two in three of them about one of the topics."""
    words = [f"word{rng.integers(300)}" for _ in range(15)]
    for _ in range(25):
        topic = rng.choice(topics) if rng.random() < 0.6 else rng.integers(6)
        words.append(f"{TOPICS[topic]}{int(rng.exponential(12))}")
    return " ".join(words)


drawn = [PAIRS[number] for number in rng.integers(len(PAIRS), size=1200)]
texts = [draw_text(topics) for topics in drawn]
Y = np.array([[int(j in topics) for j in range(6)] for topics in drawn])
X_train, X_test, Y_train, Y_test = train_test_split(texts, Y, random_state=0)

# %%
# Train it beside one logistic regression per tag, on the same weights of words.

models = {
    "spanforest": RandomGraphEnsembleClassifier(20, C=3, random_state=0, n_jobs=2),
    "one per tag": OneVsRestClassifier(LogisticRegression(C=3)),
}
scores = {}
for name, model in models.items():
    pipeline = make_pipeline(TfidfVectorizer(), model).fit(X_train, Y_train)
    predicted = pipeline.predict(X_test)
    whole = (predicted == Y_test).all(axis=1).mean()
    scores[name] = whole, f1_score(Y_test, predicted, average="micro")
    print(f"{name:>12}: {whole:.1%} of the tag sets right, F1 {scores[name][1]:.1%}")

# %%
# Knowing which tags go together helps most with whole sets of tags.

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
places = np.arange(2)
for shift, (name, values) in zip((-0.2, 0.2), scores.items(), strict=True):
    bars = ax.bar(places + shift, 100 * np.array(values), width=0.38, label=name)
    ax.bar_label(bars, fmt="%.0f")
ax.set(xticks=places, xticklabels=["whole tag sets", "F1"], ylabel="right, %")
ax.set_ylim(0, 105)
figure.legend(loc="outside upper center", ncols=2, frameon=False)
plt.show()
