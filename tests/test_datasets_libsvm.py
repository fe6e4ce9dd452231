"""Data sets from LIBSVM files."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from spanforest.datasets import (
    load_libsvm,
)


@pytest.mark.parametrize("zero_based", [True, False])
def test_files_that_scikit_learn_writes_are_read_back(tmp_path, zero_based):
    rng = np.random.default_rng(0)
    X = sparse.random_array((8, 5), density=0.4, rng=rng, format="csr")
    X[0, 0], X[0, 4] = 1.0, 2.0  # or the file does not tell the number of features
    Y = rng.integers(2, size=(8, 3))
    Y[0], Y[1] = 1, 0
    path = str(tmp_path / "data.svm")
    dump_svmlight_file(
        X, sparse.csr_matrix(Y), path, zero_based=zero_based, multilabel=True
    )
    dataset = load_libsvm(path)
    assert sparse.issparse(dataset.X)
    assert_allclose(dataset.X.toarray(), X.toarray(), rtol=1e-14)
    assert_array_equal(dataset.Y, Y)
    assert dataset.feature_names[0] == ("0" if zero_based else "1")
    assert dataset.label_names == ("0", "1", "2")


def test_a_test_set_is_read_with_the_names_of_its_training_set(tmp_path):
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    train.write_text("3 0:1 4:2\n1,3 2:1\n2 1:5\n")
    test.write_text("3 2:7\n 4:1\n1 1:1\n")  # no feature 0, and not all labels
    like = load_libsvm(train)
    dataset = load_libsvm(
        test, feature_names=like.feature_names, label_names=like.label_names
    )
    assert_array_equal(
        dataset.X.toarray(), [[0, 0, 7, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 0, 0]]
    )
    assert_array_equal(dataset.Y, [[0, 0, 1], [0, 0, 0], [1, 0, 0]])


def test_features_with_other_names_count_from_one(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:5 2:6\n")
    dataset = load_libsvm(path, feature_names=["tempo", "loud"])
    assert dataset.feature_names == ("tempo", "loud")
    assert_array_equal(dataset.X.toarray(), [[5, 6]])
    for beyond in ("1 3:1\n", "1 0:1\n"):
        path.write_text(beyond)
        with pytest.raises(ValueError, match="features from 1 to 2; found feature"):
            load_libsvm(path, feature_names=["tempo", "loud"])


def test_labels_unknown_to_the_training_set_are_left_out_with_a_warning(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1,7 1:5\n9 1:1\n")
    with pytest.warns(UserWarning, match="2 labels are not among .* left out: 7, 9"):
        dataset = load_libsvm(path, label_names=["1", "2"])
    assert_array_equal(dataset.Y, [[1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-1 1:5\n", "whole numbers from 0 on; found -1"),
        ("0.5 1:5\n", r"found 0\.5"),
        ("1 b:5\n", "expected lines like"),
        ("happy 1:5\n", "line 1: expected lines like"),
        ("1 1:5\n\n1 1:x\n", "line 3: expected lines like"),
    ],
)
def test_files_that_are_not_libsvm_are_refused(tmp_path, text, message):
    path = tmp_path / "a.svm"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_libsvm(path)


def test_a_damaged_archive_is_told_from_a_wrong_line(tmp_path):
    path = tmp_path / "a.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:2\n")[:-4])
    with pytest.raises(ValueError, match=r"a\.svm\.gz, line .* cannot be decompressed"):
        load_libsvm(path)
    path = tmp_path / "a.svm"
    path.write_text(f"1 1:2\n1 1:{'x' * 9000}\n")
    with pytest.raises(ValueError, match=r"line 2: .* Correct this line") as caught:
        load_libsvm(path)
    assert len(str(caught.value)) < 300
