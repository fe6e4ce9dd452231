"""Data sets from NumPy archives."""

import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from spanforest.datasets import (
    load_npz,
)


def test_npz_with_features_with_sparse_features_and_with_a_kernel(tmp_path):
    X = np.array([[0.0, 1.5], [2.0, 0.0]])
    Y = np.array([[0, 1], [1, 1]], dtype=np.uint8)
    parts = sparse.csr_array(X.astype(np.float32))
    np.savez(
        tmp_path / "a.npz", X=X, Y=Y, label_names=["p", "q"], split=[1, 1], other=[1]
    )
    np.savez(
        tmp_path / "b.npz",
        X_data=parts.data,
        X_indices=parts.indices,
        X_indptr=parts.indptr,
        X_shape=parts.shape,
        Y=Y,
    )
    np.savez(tmp_path / "c.npz", K=X @ X.T, Y=Y, feature_names=np.array([], dtype=str))

    a, b, c = (load_npz(tmp_path / f"{name}.npz") for name in "abc")
    assert a.name == "a"
    assert a.label_names == ("p", "q")
    assert a.split == (1, 1)
    assert_array_equal(a.X, X)
    assert_array_equal(b.X.toarray(), X)
    assert b.X.dtype == np.float64
    assert c.X is None
    assert c.n_features == 0
    assert_array_equal(c.K, X @ X.T)
    for dataset in (a, b, c):
        assert_array_equal(dataset.Y, Y)
        assert (dataset.Y - 1).min() == -1  # signed: uint8 would wrap around
        assert dataset.cardinality == 1.5
        assert dataset.density == 0.75


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros((2, 1))}, "expected Y .* found X"),
        ({"z": [1]}, "found none of these"),
        ({"X": np.zeros((2, 1)), "K": np.eye(2), "Y": np.eye(2)}, "one of"),
        ({"X": np.zeros((3, 1)), "Y": np.eye(2)}, r"\(2, 2\) and \(3, 1\)"),
        ({"X": np.zeros((2, 1)), "Y": np.ones(2)}, "must be a matrix"),
        ({"X": np.zeros(2), "Y": np.eye(2)}, "must be a matrix"),
        ({"K": np.ones((2, 3)), "Y": np.eye(2)}, "square"),
        ({"X_data": np.ones(1), "Y": np.eye(2)}, "CSR matrix"),
        ({"X": np.zeros((2, 1)), "Y": np.array([["a"], [None]])}, "plain arrays"),
    ],
)
def test_an_archive_whose_arrays_do_not_fit_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=r"bad\.npz: .*" + message):
        load_npz(tmp_path / "bad.npz")


def test_examples_to_predict_for_need_no_labels_and_no_square_kernel(tmp_path):
    path = tmp_path / "new.npz"
    np.savez(path, X=np.eye(3))
    with pytest.raises(ValueError, match="expected Y and one of X"):
        load_npz(path)
    assert load_npz(path, is_complete=False).Y.shape == (3, 0)
    np.savez(path, K=np.ones((2, 5)), Y=[[1], [0]])
    with pytest.raises(ValueError, match="K must be square"):
        load_npz(path)
    assert load_npz(path, is_complete=False).K.shape == (2, 5)
    np.savez(path, Y=[[1]])
    with pytest.raises(ValueError, match="expected one of X, X_data"):
        load_npz(path, is_complete=False)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04", None])
def test_a_file_that_is_not_an_archive_is_refused(tmp_path, content):
    path = tmp_path / "bad.npz"
    if content is None:
        with path.open("wb") as file:
            np.save(file, np.eye(2))
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz: expected a NumPy archive"):
        load_npz(path)


def test_an_archive_keeps_missing_labels_and_refuses_other_strange_ones(tmp_path):
    path, Y = tmp_path / "gaps.npz", np.array([[0.0, np.nan], [1.0, 1.0]])
    np.savez(path, X=np.eye(2), Y=Y)
    assert_array_equal(load_npz(path).Y, Y)
    for strange in (np.inf, 0.5):
        np.savez(path, X=np.eye(2), Y=np.array([[0.0, strange], [1.0, 1.0]]))
        with pytest.raises(ValueError, match=r"gaps\.npz: .*Y\[0, 1\] is"):
            load_npz(path)


PLAIN = {"X": np.zeros((3, 2)), "Y": np.eye(3, 1)}
CSR = sparse.csr_array(np.eye(3, 2))
CSR_PARTS = {
    **{"X_data": CSR.data, "X_indices": CSR.indices, "X_indptr": CSR.indptr},
    **{"X_shape": CSR.shape, "Y": np.eye(3, 1)},
}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({**PLAIN, "X": np.full((3, 2), "a")}, "X must be a matrix of numbers"),
        ({**PLAIN, "Y": np.full((3, 1), b"1")}, "Y must be a matrix of numbers"),
        ({**PLAIN, "Y": 1}, r"Y must be a matrix.* the shape \(\)"),
        ({**PLAIN, "X": np.zeros((3, 2), complex)}, "found values of type complex"),
        ({**PLAIN, "Y": np.full((3, 1), 2**63, np.uint64)}, "labels must be below"),
        ({**PLAIN, "feature_names": ["a"]}, "feature_names must have 2 entries"),
        ({**PLAIN, "feature_names": [["a", "b"]]}, "feature_names must be a list"),
        ({**PLAIN, "label_names": ["a", "b"]}, "label_names must have 1 entries"),
        ({**PLAIN, "nominal_features": [True]}, "nominal_features must have 2"),
        ({**PLAIN, "nominal_features": [0, 1]}, "a list of true and false"),
        ({**PLAIN, "split": 3}, "split must be a list of whole numbers"),
        ({**PLAIN, "split": [3]}, "split must have 2 entries; found 1"),
        ({**PLAIN, "split": [4, -1]}, "which add up to 3 rows; found 4 and -1"),
        ({**CSR_PARTS, "X_indptr": 3}, "X_indptr must be a list"),
        ({**CSR_PARTS, "X_shape": [3]}, "parts of a CSR matrix"),
        ({**CSR_PARTS, "X_shape": [3, -1]}, "parts of a CSR matrix"),
        ({**CSR_PARTS, "X_indices": [0, 9]}, "parts of a CSR matrix"),
        ({**CSR_PARTS, "X_indptr": [3, 2, 1, 0]}, "parts of a CSR matrix"),
        ({**CSR_PARTS, "split": [3, 3]}, "which add up to 3 rows"),
    ],
)
def test_arrays_of_a_wrong_kind_are_refused_by_name(tmp_path, arrays, message):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=r"bad\.npz: .*" + message):
        load_npz(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("header", "method"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }", 0),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (", 0),
        ("{'descr': '<f8'" + " " * 20_000 + "}", 0),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", 14),
    ],
)
def test_a_damaged_member_is_refused_without_words_of_libraries(
    tmp_path, header, method
):
    path = tmp_path / "bad.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        text = header.encode()
        start = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little")
        archive.writestr("X.npy", start + text + bytes(48))
        archive.writestr("Y.npy", b"")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"]\x00\x00\x80\x00", b"]\x00\x00\x80\xff"))
    with pytest.raises(ValueError, match="another kind of file, or it is damaged") as e:
        load_npz(path)
    assert "pickle" not in str(e.value)


def test_names_are_text_however_they_are_stored(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **PLAIN, feature_names=[b"a", b"\xff"], label_names=[7])
    dataset = load_npz(path)
    assert dataset.feature_names == ("a", "\ufffd")
    assert dataset.label_names == ("7",)
    np.savez(path, **PLAIN, label_names=[], nominal_features=[], split=[])
    dataset = load_npz(path)
    assert dataset.label_names == ()
    assert dataset.nominal_features is dataset.split is None
    names = np.array(["a", "b"])
    names.view(np.uint32)[0] = 2**31  # no such character
    np.savez(path, **PLAIN, feature_names=names)
    with pytest.raises(ValueError, match=r"a\.npz: expected a NumPy archive"):
        load_npz(path)
