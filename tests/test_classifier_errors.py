"""Bad input: both estimators say what was expected, what came and what to do."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import linear_kernel
from small_data import CLASSIFIERS, TRIANGLE, X, X_new, Y, new_classifier

from spanforest.graphs import LabelGraph


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return new_classifier(request.param)


def spoiled(value):
    bad = X.copy()
    bad[3, 1] = value
    return bad


K = linear_kernel(X)


K_asymmetric = K + np.triu(np.ones_like(K), 1)


DISTANCES = -2 * K + np.diag(K)[:, None] + np.diag(K)


K_GAP = K.copy()
K_GAP[[3, 5], [5, 3]] = np.nan


INDEFINITE = 0.6 * np.array([[0, 1, 1], [1, 0, -1], [1, -1, 0]]) + np.eye(3)


given = {"kernel": "precomputed"}


@pytest.mark.parametrize(
    ("params", "X", "Y", "message"),
    [
        ({}, spoiled(np.nan), Y, r"Input X contains NaN(.|\n)*SimpleImputer"),
        ({}, spoiled(np.inf), Y, "Input X contains infinity or a value too large"),
        ({}, sparse.csr_array(spoiled(np.nan)), Y, "Input X contains NaN"),
        ({}, X[:, 0], Y, r"Expected 2D array, got 1D array(.|\n)*Reshape your data"),
        ({}, X[:50], Y, "one row per example each; got 50 rows in X and 60 in y. Pass"),
        ({}, X, Y[:50, 0], "got 60 rows in X and 50 in y. Pass the labels of exactly"),
        ({}, X, Y[:, :0], r"at least one example and one label; got shape \(60, 0\)"),
        ({}, X, Y[:0], r"at least one example and one label; got shape \(0, 4\)"),
        ({}, X, Y[:, :, None], r"\(n_samples, n_labels\).*3 dimensions, shape \(60, 4"),
        ({}, X, np.full(Y.shape, np.nan), "label 0 never is. Leave it out of Y"),
        ({}, X, X, "Unknown label type: continuous.*Bin such values"),
        ({}, X, [["a"], ["a", "b"]] * 30, "different lengths.*MultiLabelBinarizer"),
        ({"graph": LabelGraph(3, TRIANGLE)}, X, Y, "must have 4 nodes.*it has 3. Pass"),
        ({"graph": nx.path_graph(5)}, X, Y, "must have 4 nodes.*it has 5. Pass"),
        ({"graph": np.ones((3, 3)) - np.eye(3)}, X, Y, "must have 4 nodes.*it has 3"),
        ({"graph": [(0, 4)]}, X, Y, r"labels 0 to 3 \(there are 4.*found label 4"),
        ({"graph": [(1, 1)]}, X, Y, r"two different labels.*\(1, 1\)\. Remove it"),
        ({"graph": [(0, 1), (1, 0)]}, X, Y, r"\(0, 1\) was given 2 times. Remove"),
        ({"graph": []}, X, Y, 'the graph is empty.*Pass graph="independent"'),
        ({"graph": nx.Graph([("a", "b"), ("c", "d")])}, X, Y, "label names; found 'a'"),
        ({"graph": "tree"}, X, Y, "'random_tree', .*or a graph; got 'tree'"),
        ({"graph": None}, X, Y, "graph must be a name, a callable.*got NoneType"),
        (
            {"kernel": "gaussian"},
            X,
            Y,
            "Unknown kernel 'gaussian'. Pass one of ",
        ),
        ({"kernel": None}, X, Y, "Unknown kernel None. Pass one of .*'rbf'"),
        ({"loss": "hinge"}, X, Y, "loss must be one of 'edge', 'hamming'; got 'hinge'"),
        ({"C": 0}, X, Y, "C must be a number greater than 0; got 0"),
        ({"C": -1.0}, X, Y, "C must be a number greater than 0; got -1.0"),
        ({"C": np.nan}, X, Y, "C must be a number greater than 0; got nan"),
        ({"C": "1"}, X, Y, "C must be a number greater than 0; got '1'"),
        ({"tol": 0}, X, Y, "tol must be a number greater than 0; got 0"),
        ({"max_iter": 0}, X, Y, "max_iter must be a whole number of at least 1; got 0"),
        ({"max_iter": 1.5}, X, Y, "max_iter must be a whole number .* got 1.5"),
        ({"verbose": -1}, X, Y, "verbose must be True, False or .* at least 0; got -1"),
        ({"kernel": "rbf", "gamma": -1}, X, Y, "gamma must be a positive .* got -1"),
        ({"kernel": "poly", "degree": 0}, X, Y, "degree must be a positive .* got 0"),
        (
            {"kernel_params": {"a": 1}},
            X,
            Y,
            "of a callable kernel.*Set gamma",
        ),
        (
            {"kernel": lambda X, Z: X},
            X,
            Y,
            r"\(60, 60\); it returned shape \(60, 4",
        ),
        (given, K[:, :30], Y, "K must be square.*got 60 rows and 30 columns"),
        (given, K_asymmetric, Y, r"K must be symmetric; K\[.*Pass \(K \+ K.T\) / 2"),
        (given, -K, Y, "positive semidefinite.*is negative. Pass a kernel matrix"),
        (given, DISTANCES, Y, "positive semidefinite.*Pass a kernel matrix, not dist"),
        (given, INDEFINITE, Y[:3], "smallest eigenvalue.*-0.2.*clipping the negative"),
        (given, K_GAP, Y, r"contains NaN: .* 2 gaps, the first at row 3, column 5"),
        (given, pd.DataFrame(K_GAP), Y, r"row 3, column 5\..*Compute these values"),
        ({**given, "normalize_kernel": True}, K, Y, "diagonal is not 1.*unit_diagonal"),
    ],
)
def test_bad_training_data_is_refused_with_a_reason(classifier, params, X, Y, message):
    with pytest.raises(ValueError, match=message):
        classifier.set_params(**params).fit(X, Y)


def test_a_sparse_precomputed_kernel_is_refused(classifier):
    with pytest.raises(TypeError, match=r"dense data is required. Use '.toarray\(\)'"):
        classifier.set_params(kernel="precomputed").fit(sparse.csr_array(K), Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_whose_squares_overflow_are_refused(classifier, dtype):
    with pytest.raises(ValueError, match="Divide them first"):
        classifier.fit((X * np.sqrt(np.finfo(dtype).max)).astype(dtype), Y)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_bad_new_data_is_refused_with_a_reason(classifier, method):
    with pytest.raises(NotFittedError, match=r"not fitted yet\. Call 'fit'"):
        getattr(classifier, method)(X)
    call = getattr(classifier.fit(X, Y), method)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 4"):
        call(X_new[:, :3])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        call(spoiled(np.nan))
    call = getattr(classifier.set_params(kernel="precomputed").fit(K, Y), method)
    with pytest.raises(ValueError, match=r"has 1 gap at row 0, column 5\. It needs"):
        call(K_GAP[3:4])
    with pytest.raises(
        ValueError,
        match=r"with the 60 training examples.*got 25 columns. Compute K\(X_test, X_tr",
    ):
        call(np.ones((60, 25)))


@pytest.mark.needs_compiled
def test_an_unknown_inference_is_refused(classifier):
    with pytest.raises(ValueError, match="one of 'certified', 'max_product'; got 'bp'"):
        classifier.fit(X, Y).predict(X, inference="bp")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "poly", "degree": 999}, "must have finite values"),
        ({"offset": [1.0]}, "a list of offsets must have one number for each"),
        ({"class_weight": {7: 1}}, "not a value of any label"),
        ({"graph": [(0, 99)]}, "99"),
    ],
)
def test_a_fit_that_fails_leaves_nothing_half_fitted(classifier, params, message):
    with pytest.raises(ValueError, match=message):
        classifier.fit(X, Y).set_params(**params).fit(100 * X[:, :2], Y)
    for method in ("predict", "decision_function", "predict_certified"):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            getattr(classifier, method)(X_new)
    if hasattr(classifier, "aggregation"):  # it has members of the fit before
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            classifier.predict(X_new, aggregation="mve")
    assert [name for name in vars(classifier) if name.endswith("_")] == []


@pytest.mark.parametrize("place", ["spanforest._training", "spanforest._classifier"])
def test_a_fit_that_is_stopped_leaves_no_attribute(classifier, place, monkeypatch):
    def stop(*_, **options):
        raise KeyboardInterrupt

    name = "solve_path" if place.endswith("training") else "read_targets"
    monkeypatch.setattr(f"{place}.{name}", stop)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert [name for name in vars(classifier) if name.endswith("_")] == []


def test_the_parameter_c_has_an_upper_limit(classifier):
    with pytest.raises(ValueError, match=r"C must be at most 1e.100; got 1e.308"):
        classifier.set_params(C=1e308).fit(X, Y)


@pytest.mark.parametrize("name", ["fit", "predict"])
def test_a_vector_is_refused_without_showing_it(classifier, name):
    classifier.fit(X, Y)
    arguments = (np.arange(900.0), np.arange(900) % 2)[: 1 + (name == "fit")]
    with pytest.raises(ValueError, match="Reshape your data") as caught:
        getattr(classifier, name)(*arguments)
    assert len(str(caught.value)) < 250


LONG = "a name that is as long as a paragraph " * 100


@pytest.mark.parametrize(
    ("params", "X", "Y"),
    [
        ({"kernel": LONG}, X, Y),
        ({"C": [LONG]}, X, Y),
        ({"missing_label": LONG}, X, Y),
        ({"missing_label": [LONG]}, X, Y),
        ({}, pd.DataFrame({LONG: ["text"] * 60}), Y),
        ({}, X, pd.DataFrame({LONG: [None] * 60})),
        ({}, X, pd.DataFrame({LONG: [np.inf] * 60})),
        ({}, X, pd.DataFrame(np.zeros((60, 2)), columns=[LONG, LONG])),
    ],
)
def test_no_message_shows_long_values(classifier, params, X, Y):
    with pytest.raises(ValueError, match=" ") as caught:
        classifier.set_params(**params).fit(X, Y)
    assert len(str(caught.value)) < 500
