"""What all classifiers share: decoders, and parameters that change after fit."""

import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from small_data import X, Y

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier


def test_scores_that_overflow_are_refused():
    clf = MMCRFClassifier(kernel="linear", random_state=0).fit(X, Y)
    clf.cell_coef_ *= 1e160
    with pytest.raises(ValueError, match=r"some scores overflow.*far outside"):
        clf.predict(X * 1e149)


@pytest.mark.needs_compiled
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", "poly"])
def test_another_kernel_set_after_fit_changes_no_prediction(kernel):
    clf = RandomGraphEnsembleClassifier(3, max_iter=1000, random_state=0).fit(X, Y)
    expected = clf.predict(X)
    assert_array_equal(clf.set_params(kernel=kernel).predict(X), expected)
    assert_array_equal(clf.predict(sparse.csr_matrix(X)), expected)
