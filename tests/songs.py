"""A small data set of songs for the tests of the commands, and what to expect.

pandas is an extra: it is imported only where it is used.
"""

import io

import numpy as np
from arff_writer import write_arff
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from spanforest import RandomGraphEnsembleClassifier
from spanforest.datasets import Attribute, Relation

FEATURES = ["tempo", "loudness", "length"]
LABELS = ["happy", "sad", "calm"]
FEW = ("--trees", "3", "--C", "1")  # without tuning
RAW = ("--scale", "none")
# an ARFF file that does not say which attributes are labels
BARE = "@relation r\n@attribute title string\n@attribute a {0, 1}\n@data\nx,1\n"


def make_songs(n_samples, seed):
    """Return features and labels of random songs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3)).round(3)
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] < 0.3, X[:, 1] + X[:, 2] > 0]).astype(int)
    return X, Y


def frame_of(X, Y):
    """Return a table with named columns."""
    import pandas as pd

    return pd.DataFrame(X, columns=FEATURES).join(pd.DataFrame(Y, columns=LABELS))


def write_data(name, X, Y, features=FEATURES, labels=LABELS):
    """Write songs in the format that the name tells, with columns in a given order.

    A label that is None is missing.
    """
    frame = frame_of(X, Y)[[*features, *labels]]
    if Y.dtype == object:
        frame = frame.astype(dict.fromkeys(labels, "Int64"))
    if name.endswith(".parquet"):
        frame.to_parquet(name)
    elif name.endswith(".npz"):
        X, Y = (
            frame[features].to_numpy(),
            frame[labels].to_numpy(float, na_value=np.nan),
        )
        np.savez(name, X=X, Y=Y, feature_names=features, label_names=labels)
    elif name.endswith(".arff"):
        attributes = [Attribute(name) for name in features]
        attributes += [Attribute(name, "nominal", ("0", "1")) for name in labels]
        data = frame.to_numpy(float, na_value=np.nan)
        write_arff(Relation("songs", tuple(attributes), data), name)
    else:
        frame.to_csv(name, sep="\t" if name.endswith(".tsv") else ",", index=False)


def write_libsvm(X, Y, name, **options):
    """Write a LIBSVM file, whose features and labels have numbers for names."""
    dump_svmlight_file(X, sparse.csr_matrix(Y), name, multilabel=True, **options)


def reference(Y=None, **params):
    """Return the classifier that train makes without scaling, made in Python."""
    X, full = make_songs(40, 0)
    Y = full if Y is None else Y
    params = {"scaling": None, "random_state": 0, **params}
    ensemble = RandomGraphEnsembleClassifier(3, **params)
    return ensemble.fit(X, Y)


def predictions(ok, *args):
    """Return the predicted labels, or their scores if args has --scores."""
    import pandas as pd

    frame = pd.read_csv(io.StringIO(ok("predict", *args)))
    if "--scores" not in args:
        return frame
    scores = frame.filter(regex=" score$")
    labels = frame.drop(columns=scores.columns)
    assert list(scores.columns) == [f"{name} score" for name in labels.columns]
    return scores.set_axis(labels.columns, axis="columns")
