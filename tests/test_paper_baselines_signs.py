"""The contract of all baselines: targets of any coding, and predictions by sign."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paper_helpers import multilabel_data
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import minmax_scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from spanforest.paper.baselines import (
    AdaBoostMHClassifier,
    BaggedSVMClassifier,
    MultiTaskFeatureClassifier,
    PerLabelClassifier,
    svm_per_label,
)

CLASSIFIERS = [
    AdaBoostMHClassifier(n_estimators=5, max_leaf_nodes=8, random_state=0),
    MultiTaskFeatureClassifier(),
    svm_per_label(),
    BaggedSVMClassifier(n_estimators=7, random_state=0),
]


def name_of(value):
    return type(value).__name__


every_classifier = pytest.mark.parametrize("classifier", CLASSIFIERS, ids=name_of)


@pytest.fixture
def data():
    return multilabel_data()


@parametrize_with_checks(
    [
        *CLASSIFIERS,
        svm_per_label(kernel="precomputed"),
        BaggedSVMClassifier(kernel="precomputed", n_estimators=7),
    ]
)
def test_scikit_learn_accepts_the_classifier(estimator, check):
    check(estimator)


@every_classifier
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, bool])
def test_predictions_have_the_dtype_and_shape_of_the_labels(classifier, data, dtype):
    X, Y = data
    predicted = clone(classifier).fit(X, Y.astype(dtype)).predict(X)
    assert predicted.dtype == dtype
    assert predicted.shape == Y.shape


@every_classifier
@pytest.mark.parametrize("values", [(-1, 1), (1, 2), ("no", "yes")])
def test_the_coding_of_the_labels_does_not_matter(classifier, data, values):
    X, Y = data
    expected = np.array(values)[clone(classifier).fit(X, Y).predict(X)]
    assert_array_equal(
        clone(classifier).fit(X, np.array(values)[Y]).predict(X), expected
    )


@every_classifier
def test_labels_are_predicted_by_the_sign_of_their_score(classifier, data):
    X, Y = data
    fitted = clone(classifier).fit(X, Y)
    scores = fitted.decision_function(X)
    assert scores.shape == Y.shape
    assert_array_equal(fitted.predict(X), scores > 0)


@every_classifier
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_labels_with_one_value_are_predicted_as_seen(classifier, data, fit_intercept):
    X, Y = data
    Y[:, 0], Y[:, 3] = 0, 1
    classifier = clone(classifier)
    if "fit_intercept" in classifier.get_params():
        classifier.set_params(fit_intercept=fit_intercept)
    far = np.vstack([X, 50 * X, -50 * X])
    predicted = classifier.fit(X, Y).predict(far)
    assert_array_equal(predicted[:, [0, 3]], np.tile([0, 1], (len(far), 1)))
    assert_array_equal(classifier.decision_function(far) > 0, predicted)


@every_classifier
@pytest.mark.parametrize("value", [0, 1])
def test_labels_may_all_have_one_value(classifier, data, value):
    X, Y = data
    Y[:] = value
    fitted = clone(classifier).fit(X, Y)
    assert_array_equal(fitted.predict(X), Y)
    assert_array_equal(fitted.decision_function(X) > 0, Y)


@every_classifier
def test_one_column_equals_a_flat_target(classifier, data):
    X, Y = data
    flat = clone(classifier).fit(X, Y[:, 0])
    column = clone(classifier).fit(X, Y[:, :1])
    assert flat.decision_function(X).shape == (len(X),)
    assert_array_equal(column.predict(X), flat.predict(X)[:, None])


@every_classifier
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_a_single_target_may_have_many_classes(classifier, shape):
    rng = np.random.default_rng(0)
    names = np.array(["ash", "birch", "cedar"])
    which = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 2)) + 4 * np.array([[0, 0], [3, 0], [0, 3]])[which]
    y = names[which].reshape(shape)
    fitted = clone(classifier).fit(X, y)
    assert fitted.decision_function(X).shape == (90, 3)
    assert fitted.predict(X).shape == y.shape
    assert np.mean(fitted.predict(X) == y) > 0.9


@every_classifier
def test_sparse_data_give_what_dense_data_give(classifier, data):
    X, Y = data
    X = np.where(X > 4, X, 0.0)
    dense = clone(classifier).fit(X, Y)
    thin = clone(classifier).fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert_allclose(
        thin.decision_function(sparse.csc_array(X)),
        dense.decision_function(X),
        atol=2e-3 if isinstance(classifier, PerLabelClassifier) else 1e-7,
    )


@every_classifier
def test_more_than_two_values_are_refused_with_advice(classifier, data):
    X, Y = data
    Y[4, 2] = 7
    with pytest.raises(ValueError, match=r"3 values \(column 2 .* Binarise y"):
        clone(classifier).fit(X, Y)


@every_classifier
def test_columns_of_different_coding_are_refused(classifier, data):
    X, Y = data
    Y[:, 1] += 1
    with pytest.raises(ValueError, match="columns differ"):
        clone(classifier).fit(X, Y)


@every_classifier
def test_a_saved_classifier_predicts_the_same(classifier, data):
    X, Y = data
    fitted = clone(classifier).fit(X, Y)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize(
    ("classifier", "name"),
    [
        (AdaBoostMHClassifier(n_estimators=0), "n_estimators"),
        (AdaBoostMHClassifier(max_leaf_nodes=1), "max_leaf_nodes"),
        (MultiTaskFeatureClassifier(gamma=0), "gamma"),
        (MultiTaskFeatureClassifier(epsilon=0), "epsilon"),
        (MultiTaskFeatureClassifier(tol=-1), "tol"),
        (MultiTaskFeatureClassifier(max_iter=0), "max_iter"),
        (BaggedSVMClassifier(n_estimators=0), "n_estimators"),
        (BaggedSVMClassifier(max_samples=0), "max_samples"),
        (BaggedSVMClassifier(max_samples=1.5), "max_samples"),
        (BaggedSVMClassifier(gamma=-1), "gamma"),
        (BaggedSVMClassifier(gamma="wide"), "gamma"),
    ],
)
def test_a_bad_parameter_is_named(classifier, name, data):
    with pytest.raises(ValueError, match=name):
        classifier.fit(*data)


@pytest.fixture(scope="module")
def emotions():
    folder = os.environ.get("SPANFOREST_DATA")
    if not folder or not (Path(folder) / "emotions.npz").exists():
        pytest.skip("SPANFOREST_DATA does not name a folder with emotions.npz")
    with np.load(Path(folder) / "emotions.npz", allow_pickle=False) as stored:
        return minmax_scale(stored["X"]), stored["Y"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classifier", "paper"),
    [
        (AdaBoostMHClassifier(random_state=0), (76.8, 23.8, 66.2)),
        (MultiTaskFeatureClassifier(), (79.8, 25.5, 64.6)),
        (svm_per_label(), (77.3, 21.2, 57.1)),
        (BaggedSVMClassifier(random_state=0), (74.1, 20.9, 61.5)),
    ],
    ids=name_of,
)
def test_emotions_is_predicted_at_least_as_well_as_in_the_paper(
    emotions, classifier, paper
):
    X, Y = emotions
    rows = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        predicted = clone(classifier).fit(X[train], Y[train]).predict(X[test])
        right = predicted == Y[test]
        f1 = f1_score(Y[test], predicted, average="micro")
        rows.append([right.mean(), right.all(axis=1).mean(), f1])
    assert np.all(100 * np.mean(rows, axis=0) >= np.array(paper) - 1.0)
