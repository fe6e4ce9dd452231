"""Results that were wrong or falsely proven when strangers first tried the library."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from strategies import problems

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest._classifier import find_decoder
from spanforest._labels import read_labels
from spanforest.branch_and_bound import decode_exactly
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, as_label_graph
from spanforest.inference import max_sum, score_labels, tree_reweighted

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
Y = (X[:, :3] > 0).astype(int)
TRIANGLE = FactorGraph(LabelGraph(3, [(0, 1), (1, 2), (0, 2)]), [2, 2, 2])


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("decode", [tree_reweighted, decode_exactly])
def test_scores_that_are_not_finite_prove_nothing(decode, value):
    scores = rng.normal(size=(1, TRIANGLE.n_cells))
    scores[0, 5] = value
    decoding = decode(TRIANGLE, scores)
    assert not (decoding.proven & ~np.isfinite(decoding.score)).any()


def test_a_forest_with_infinite_scores_proves_nothing():
    pair = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
    assert not max_sum(pair, [[0.0, np.inf, 0.0, 0.0]]).proven.any()


def test_scores_that_overflow_are_refused():
    clf = MMCRFClassifier(kernel="linear", random_state=0).fit(X, Y)
    clf.coef_ *= 1e160
    with pytest.raises(ValueError, match=r"some scores overflow.*far outside"):
        clf.predict(X * 1e149)


@given(problems())
@settings(deadline=None)
def test_max_product_is_exact_on_forests(problem):
    factors, scores = problem
    labels = find_decoder("max_product")(factors, scores).labels
    best = max_sum(factors, scores).score
    assert_allclose(score_labels(factors, scores, labels), best, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", "poly"])
def test_another_kernel_set_after_fit_changes_no_prediction(kernel):
    clf = RandomGraphEnsembleClassifier(3, max_iter=1000, random_state=0).fit(X, Y)
    expected = clf.predict(X)
    assert_array_equal(clf.set_params(kernel=kernel).predict(X), expected)
    assert_array_equal(clf.predict(sparse.csr_matrix(X)), expected)


@pytest.mark.parametrize("large", [5, 2**63 + 5])
def test_whole_numbers_of_two_types_stay_whole(large):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"a": np.array([1, large], dtype=np.uint64), "b": np.array([-1, 2])}
    )
    codes, coding = read_labels(frame)
    assert coding.to_labels(codes).tolist() == [[1, -1], [large, 2]]
    assert coding.dtype.kind in "iO"


@given(st.integers(0, 2), st.integers(0, 2))
def test_nan_in_an_adjacency_matrix_is_called_by_its_name(row, column):
    adjacency = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    adjacency[row, column] = np.nan
    with pytest.raises(ValueError, match=f"row {row}, column {column} is NaN"):
        as_label_graph(adjacency, 3)
